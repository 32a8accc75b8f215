//! Discovery documents: what a server says it serves.

use serde_json::{Value, json};

use crate::{
    Failure, Outcome, World,
    crd::Crd,
    json::{Json, cases, check, equal},
};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

async fn resource(w: &World, document: &str, name: &str) -> Result<Value, Failure> {
    let list = w.get(document).await?.is(200)?;
    let found = list.list("resources").iter().find(|r| r.text("name") == name).cloned();
    found.ok_or_else(|| Failure::new(format!("{document} does not name {name}")))
}

async fn until_served(w: &World, path: &str) -> Result<Value, Failure> {
    let probe = async || {
        let reply = w.get(path).await?;
        Ok((reply.code == 200).then_some(reply.body))
    };
    w.eventually(&format!("{path} is there"), probe).await
}

async fn the_version_is_told(w: World) -> Outcome {
    let version = w.get("/version").await?.is(200)?;
    equal!(version.text("major"), "1");
    check!(version.text("gitVersion").starts_with("v1."), "{version}");
    Ok(())
}

async fn the_server_says_that_it_is_well(w: World) -> Outcome {
    for path in ["/healthz", "/livez", "/readyz"] {
        equal!(w.get(path).await?.is(200)?, "ok");
    }
    Ok(())
}

async fn the_core_group_has_its_versions(w: World) -> Outcome {
    let versions = w.get("/api").await?.is(200)?;
    equal!(versions.text("kind"), "APIVersions");
    equal!(versions.at("versions"), ["v1"]);
    Ok(())
}

async fn groups_are_listed_with_their_versions(w: World) -> Outcome {
    let groups = w.get("/apis").await?.is(200)?;
    equal!(groups.text("kind"), "APIGroupList");
    let apps = groups.list("groups").iter().find(|g| g.text("name") == "apps").cloned().unwrap_or_default();
    equal!(apps.at("preferredVersion"), {"groupVersion": "apps/v1", "version": "v1"});
    equal!(apps.at("versions"), [{"groupVersion": "apps/v1", "version": "v1"}]);
    Ok(())
}

async fn a_group_has_a_document_of_its_own(w: World) -> Outcome {
    let group = w.get("/apis/apps").await?.is(200)?;
    equal!(group.text("kind"), "APIGroup");
    equal!(group.text("name"), "apps");
    equal!(w.get("/apis/no-such-group.capstan.dev").await?.code, 404);
    Ok(())
}

async fn core_resources_are_described(w: World) -> Outcome {
    let list = w.get("/api/v1").await?.is(200)?;
    equal!(list.text("kind"), "APIResourceList");
    equal!(list.text("groupVersion"), "v1");
    let maps = resource(&w, "/api/v1", "configmaps").await?;
    equal!(maps.text("kind"), "ConfigMap");
    equal!(maps.text("singularName"), "configmap");
    equal!(maps.at("namespaced"), true);
    equal!(maps.at("shortNames"), ["cm"]);
    for verb in ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] {
        check!(maps.list("verbs").contains(&json!(verb)), "{verb} in {maps}");
    }
    equal!(resource(&w, "/api/v1", "namespaces").await?.at("namespaced"), false);
    Ok(())
}

async fn subresources_are_described(w: World) -> Outcome {
    let scale = resource(&w, "/apis/apps/v1", "deployments/scale").await?;
    equal!(scale.text("kind"), "Scale");
    equal!(scale.text("group"), "autoscaling");
    equal!(scale.text("version"), "v1");
    let status = resource(&w, "/apis/apps/v1", "deployments/status").await?;
    equal!(status.text("kind"), "Deployment");
    check!(!status.list("verbs").contains(&json!("create")), "{status}");
    Ok(())
}

async fn categories_are_told(w: World) -> Outcome {
    let deployments = resource(&w, "/apis/apps/v1", "deployments").await?;
    equal!(deployments.at("categories"), ["all"]);
    equal!(deployments.at("shortNames"), ["deploy"]);
    Ok(())
}

async fn a_custom_kind_is_described(w: World) -> Outcome {
    let names = json!({
        "plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"], "singular": "widget",
    });
    Crd::open(&w).status().set("spec/names", names).install(&w).await?;
    let group = w.group();
    until_served(&w, &format!("/apis/{group}/v1")).await?;
    let widgets = resource(&w, &format!("/apis/{group}/v1"), "widgets").await?;
    equal!(widgets.text("kind"), "Widget");
    equal!(widgets.text("singularName"), "widget");
    equal!(widgets.at("namespaced"), true);
    equal!(widgets.at("shortNames"), ["wd"]);
    equal!(widgets.at("categories"), ["all"]);
    let status = resource(&w, &format!("/apis/{group}/v1"), "widgets/status").await?;
    equal!(status.text("kind"), "Widget");
    Ok(())
}

async fn a_custom_group_is_listed(w: World) -> Outcome {
    Crd::open(&w).install(&w).await?;
    let group = w.group();
    let listed = async || {
        let groups = w.get("/apis").await?.is(200)?;
        Ok(groups.list("groups").iter().any(|g| g.text("name") == group).then_some(()))
    };
    w.eventually("the group is listed", listed).await
}

async fn the_most_stable_version_is_preferred(w: World) -> Outcome {
    let crd = Crd::open(&w).version("v1beta1", true).version("v2alpha1", true).version("v10", true);
    crd.install(&w).await?;
    let path = format!("/apis/{}", w.group());
    let complete = async || {
        let reply = w.get(&path).await?;
        Ok((reply.body.list("versions").len() == 4).then_some(reply.body))
    };
    let group = w.eventually("all versions are told", complete).await?;
    let versions: Vec<&str> = group.list("versions").iter().map(|v| v.text("version")).collect();
    equal!(versions, ["v10", "v1", "v1beta1", "v2alpha1"]);
    equal!(group.text("preferredVersion/version"), "v10");
    Ok(())
}

async fn a_version_that_is_not_served_is_not_told(w: World) -> Outcome {
    Crd::open(&w).version("v2", false).install(&w).await?;
    let group = until_served(&w, &format!("/apis/{}", w.group())).await?;
    let versions: Vec<&str> = group.list("versions").iter().map(|v| v.text("version")).collect();
    equal!(versions, ["v1"]);
    Ok(())
}

async fn a_deleted_kind_is_no_longer_told(w: World) -> Outcome {
    let crd = Crd::open(&w);
    crd.install(&w).await?;
    let path = format!("/apis/{}", w.group());
    until_served(&w, &path).await?;
    w.crds().delete(crd.name()).await?.ok()?;
    let gone = async || Ok((w.get(&path).await?.code == 404).then_some(()));
    w.eventually("the group is gone", gone).await
}

async fn all_can_be_had_at_once(w: World) -> Outcome {
    let list = w.get_with("/apis", &[("accept", AGGREGATED.to_owned())]).await?.is(200)?;
    equal!(list.text("kind"), "APIGroupDiscoveryList");
    equal!(list.text("apiVersion"), "apidiscovery.k8s.io/v2");
    let apps = list.list("items").iter().find(|g| g.name() == "apps").cloned().unwrap_or_default();
    equal!(apps.text("versions/0/version"), "v1");
    let resources = apps.list("versions/0/resources");
    let deployments =
        resources.iter().find(|r| r.text("resource") == "deployments").cloned().unwrap_or_default();
    equal!(deployments.text("responseKind/kind"), "Deployment");
    equal!(deployments.text("scope"), "Namespaced");
    equal!(deployments.text("singularResource"), "deployment");
    let subresources: Vec<&str> =
        deployments.list("subresources").iter().map(|s| s.text("subresource")).collect();
    equal!(subresources, ["scale", "status"]);
    Ok(())
}

async fn the_core_group_can_be_had_at_once(w: World) -> Outcome {
    let list = w.get_with("/api", &[("accept", AGGREGATED.to_owned())]).await?.is(200)?;
    equal!(list.text("kind"), "APIGroupDiscoveryList");
    let resources = list.list("items/0/versions/0/resources");
    check!(resources.iter().any(|r| r.text("resource") == "configmaps"), "{list}");
    Ok(())
}

cases! { "discovery":
    the_version_is_told,
    the_server_says_that_it_is_well,
    the_core_group_has_its_versions,
    groups_are_listed_with_their_versions,
    a_group_has_a_document_of_its_own,
    core_resources_are_described,
    subresources_are_described,
    categories_are_told,
    a_custom_kind_is_described,
    a_custom_group_is_listed,
    the_most_stable_version_is_preferred,
    a_version_that_is_not_served_is_not_told,
    a_deleted_kind_is_no_longer_told,
    all_can_be_had_at_once,
    the_core_group_can_be_had_at_once,
}
