//! The life of a CustomResourceDefinition.

use serde_json::{Value, json};

use crate::{
    Outcome, World,
    crd::{Crd, condition, widget},
    json::{Json, cases, cause, check, equal, names},
    resource::JSON_PATCH,
};

async fn a_new_crd_is_accepted_and_established(w: World) -> Outcome {
    let crd = Crd::open(&w);
    crd.install(&w).await?;
    let now = w.crds().get(crd.name()).await?.ok()?;
    equal!(condition(&now, "NamesAccepted"), "True");
    equal!(condition(&now, "Established"), "True");
    equal!(now.text("status/acceptedNames/kind"), "Widget");
    equal!(now.at("status/storedVersions"), ["v1"]);
    Ok(())
}

async fn names_have_defaults(w: World) -> Outcome {
    let crd = Crd::open(&w);
    crd.install(&w).await?;
    let names = w.crds().get(crd.name()).await?.ok()?.at("spec/names").clone();
    equal!(names.at("singular"), "widget");
    equal!(names.at("listKind"), "WidgetList");
    Ok(())
}

async fn the_name_is_plural_and_group(w: World) -> Outcome {
    let crd = Crd::open(&w).set("metadata/name", json!(format!("gadgets.{}", w.group())));
    let status = w.crds().create(&crd.body).await?.refused(422, "Invalid")?;
    check!(!cause(&status, "metadata.name").is_null(), "{status}");
    Ok(())
}

async fn exactly_one_version_is_stored(w: World) -> Outcome {
    let none = Crd::open(&w).set("spec/versions/0/storage", json!(false));
    w.crds().create(&none.body).await?.refused(422, "Invalid")?;
    let two = Crd::open(&w).version("v2", true).set("spec/versions/1/storage", json!(true));
    w.crds().create(&two.body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_version_needs_a_schema(w: World) -> Outcome {
    let mut crd = Crd::open(&w);
    crd.body.remove("spec/versions/0/schema");
    w.crds().create(&crd.body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_schema_must_be_structural(w: World) -> Outcome {
    let untyped = Crd::new(&w, json!({"type": "object", "properties": {"n": {"minimum": 1}}}));
    w.crds().create(&untyped.body).await?.refused(422, "Invalid")?;
    let no_items = Crd::new(&w, json!({"type": "object", "properties": {"n": {"type": "array"}}}));
    w.crds().create(&no_items.body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_default_must_fit_its_schema(w: World) -> Outcome {
    let wrong = json!({"type": "object", "properties": {"n": {"type": "integer", "default": "five"}}});
    w.crds().create(&Crd::new(&w, wrong).body).await?.refused(422, "Invalid")?;
    let outside =
        json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 3, "default": 5}}});
    w.crds().create(&Crd::new(&w, outside).body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_keyed_list_needs_its_keys_in_the_items(w: World) -> Outcome {
    let item = json!({"type": "object", "properties": {"value": {"type": "string"}}});
    let list = json!({
        "type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
    });
    let crd = Crd::new(&w, json!({"type": "object", "properties": {"list": list}}));
    w.crds().create(&crd.body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn an_unknown_kind_is_404_until_its_crd_comes(w: World) -> Outcome {
    let widgets = w.resource(&format!("{}/v1", w.group()), "widgets");
    equal!(widgets.list().await?.code, 404);
    Crd::open(&w).install(&w).await?;
    equal!(widgets.list().await?.code, 200);
    Ok(())
}

async fn a_kind_that_is_taken_is_not_accepted(w: World) -> Outcome {
    Crd::open(&w).install(&w).await?;
    let name = format!("gadgets.{}", w.group());
    let second = Crd::open(&w)
        .set("metadata/name", json!(name))
        .set("spec/names", json!({"plural": "gadgets", "kind": "Widget"}));
    w.create_cluster("apiextensions.k8s.io/v1", "customresourcedefinitions", &second.body).await?;
    let refused = |crd: &Value| condition(crd, "NamesAccepted") == "False";
    let now = w.crds().until(&name, "names not accepted", refused).await?;
    check!(condition(&now, "Established") != "True", "{now}");
    equal!(w.resource(&format!("{}/v1", w.group()), "gadgets").list().await?.code, 404);
    Ok(())
}

async fn a_kind_is_accepted_when_its_rival_goes(w: World) -> Outcome {
    let first = Crd::open(&w);
    first.install(&w).await?;
    let name = format!("gadgets.{}", w.group());
    let second = Crd::open(&w)
        .set("metadata/name", json!(name))
        .set("spec/names", json!({"plural": "gadgets", "kind": "Widget"}));
    w.create_cluster("apiextensions.k8s.io/v1", "customresourcedefinitions", &second.body).await?;
    w.crds().until(&name, "names not accepted", |crd| condition(crd, "NamesAccepted") == "False").await?;
    w.crds().delete(first.name()).await?.ok()?;
    w.crds().until(&name, "established", |crd| condition(crd, "Established") == "True").await?;
    Ok(())
}

async fn every_served_version_shows_the_same_objects(w: World) -> Outcome {
    let widgets = Crd::open(&w).version("v2", true).install(&w).await?;
    let made = widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    let second = w.resource(&format!("{}/v2", w.group()), "widgets");
    let read = second.get("a").await?.is(200)?;
    equal!(read.text("apiVersion"), format!("{}/v2", w.group()));
    equal!(read.at("spec"), {"n": 1});
    equal!(read.uid(), made.uid());
    equal!(read.version(), made.version());
    equal!(names(&second.list().await?.ok()?), ["a"]);
    Ok(())
}

async fn a_write_in_one_version_is_read_in_the_other(w: World) -> Outcome {
    let widgets = Crd::open(&w).version("v2", true).install(&w).await?;
    let second = w.resource(&format!("{}/v2", w.group()), "widgets");
    let mut body = widget(&w, "a", json!({"n": 1}));
    body.set("apiVersion", format!("{}/v2", w.group()));
    equal!(second.create(&body).await?.is(201)?.text("apiVersion"), format!("{}/v2", w.group()));
    equal!(widgets.get("a").await?.ok()?.text("apiVersion"), format!("{}/v1", w.group()));
    second.merge("a", &json!({"spec": {"n": 2}})).await?.is(200)?;
    equal!(widgets.get("a").await?.ok()?.at("spec/n"), 2);
    Ok(())
}

async fn each_version_has_its_own_schema(w: World) -> Outcome {
    let schema = |field: &str| {
        json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {field: {"type": "integer"}}},
        }})
    };
    let crd = Crd::with_schema(&w, schema("x")).version("v2", true);
    let crd = crd.set("spec/versions/1/schema/openAPIV3Schema", schema("y"));
    let widgets = crd.install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"x": 1, "y": 1}))).await?.ok()?;
    equal!(widgets.get("a").await?.ok()?.at("spec"), {"x": 1});
    let second = w.resource(&format!("{}/v2", w.group()), "widgets");
    equal!(second.get("a").await?.ok()?.at("spec"), {});
    Ok(())
}

async fn a_version_that_is_not_served_is_404(w: World) -> Outcome {
    Crd::open(&w).version("v2", false).install(&w).await?;
    equal!(w.resource(&format!("{}/v2", w.group()), "widgets").list().await?.code, 404);
    Ok(())
}

async fn a_version_can_be_served_later(w: World) -> Outcome {
    let crd = Crd::open(&w).version("v2", false);
    crd.install(&w).await?;
    let patch = json!([{"op": "replace", "path": "/spec/versions/1/served", "value": true}]);
    w.crds().patch(crd.name(), JSON_PATCH, &patch).await?.ok()?;
    let second = w.resource(&format!("{}/v2", w.group()), "widgets");
    let served = async || Ok((second.list().await?.code == 200).then_some(()));
    w.eventually("v2 is served", served).await
}

async fn stored_versions_remember(w: World) -> Outcome {
    let crd = Crd::open(&w).version("v2", true);
    crd.install(&w).await?;
    let patch = json!([
        {"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
    ]);
    w.crds().patch(crd.name(), JSON_PATCH, &patch).await?.ok()?;
    let both = |crd: &Value| crd.at("status/storedVersions") == &json!(["v1", "v2"]);
    w.crds().until(crd.name(), "both versions stored", both).await?;
    Ok(())
}

async fn a_version_that_is_stored_cannot_be_removed(w: World) -> Outcome {
    let crd = Crd::open(&w).version("v2", true);
    crd.install(&w).await?;
    let patch = json!([
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
        {"op": "remove", "path": "/spec/versions/0"},
    ]);
    let status = w.crds().patch(crd.name(), JSON_PATCH, &patch).await?.refused(422, "Invalid")?;
    check!(
        status.list("details/causes").iter().any(|c| c.text("field").contains("storedVersions")),
        "{status}"
    );
    Ok(())
}

async fn the_scope_of_an_established_crd_is_fixed(w: World) -> Outcome {
    let crd = Crd::open(&w);
    crd.install(&w).await?;
    let patch = json!({"spec": {"scope": "Cluster"}});
    w.crds().merge(crd.name(), &patch).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_cluster_scoped_kind_has_no_namespaces(w: World) -> Outcome {
    let widgets = Crd::open(&w).set("spec/scope", json!("Cluster")).install(&w).await?;
    let made = widgets.create(&widget(&w, "a", json!({}))).await?.is(201)?;
    check!(!made.has("metadata/namespace"), "{made}");
    equal!(widgets.in_namespace(w.namespace()).list().await?.code, 404);
    Ok(())
}

async fn deleting_a_crd_deletes_its_objects(w: World) -> Outcome {
    let crd = Crd::open(&w);
    let widgets = crd.install(&w).await?;
    widgets.create(&widget(&w, "a", json!({}))).await?.ok()?;
    w.crds().delete(crd.name()).await?.ok()?;
    w.crds().gone(crd.name()).await?;
    let unserved = async || Ok((widgets.list().await?.code == 404).then_some(()));
    w.eventually("the kind is no longer served", unserved).await?;
    let again = crd.install(&w).await?;
    equal!(again.list().await?.ok()?.at("items"), []);
    Ok(())
}

async fn a_crd_waits_for_objects_with_finalizers(w: World) -> Outcome {
    let crd = Crd::open(&w);
    let widgets = crd.install(&w).await?;
    let mut body = widget(&w, "a", json!({}));
    body.set("metadata/finalizers", json!(["capstan.dev/hold"]));
    widgets.create(&body).await?.ok()?;
    w.crds().delete(crd.name()).await?.ok()?;
    widgets.until("a", "dying", |object| object.has("metadata/deletionTimestamp")).await?;
    let dying = w.crds().get(crd.name()).await?.is(200)?;
    check!(dying.has("metadata/deletionTimestamp"), "{dying}");
    let probe = widget(&w, "b", json!({}));
    let refused = async || {
        let reply = widgets.with("dryRun", "All").create(&probe).await?;
        Ok(reply
            .body
            .text("message")
            .contains("create not allowed while custom resource definition is terminating")
            .then_some(()))
    };
    w.eventually("no new objects of a dying kind", refused).await?;
    widgets.merge("a", &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    w.crds().gone(crd.name()).await
}

async fn selectable_fields_can_be_selected(w: World) -> Outcome {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"colour": {"type": "string"}, "size": {"type": "integer"}}},
    }});
    let crd = Crd::with_schema(&w, schema).set(
        "spec/versions/0/selectableFields",
        json!([{"jsonPath": ".spec.colour"}, {"jsonPath": ".spec.size"}]),
    );
    let widgets = crd.install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"colour": "red", "size": 1}))).await?.ok()?;
    widgets.create(&widget(&w, "b", json!({"colour": "blue", "size": 1}))).await?.ok()?;
    widgets.create(&widget(&w, "c", json!({}))).await?.ok()?;
    let selected = widgets.with("fieldSelector", "spec.colour=red,spec.size=1");
    equal!(names(&selected.list().await?.ok()?), ["a"]);
    let not_red = widgets.with("fieldSelector", "spec.colour!=red");
    equal!(names(&not_red.list().await?.ok()?), ["b", "c"]);
    Ok(())
}

async fn other_fields_of_custom_objects_cannot_be_selected(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    widgets.with("fieldSelector", "spec.colour=red").list().await?.refused(400, "BadRequest")?;
    Ok(())
}

cases! { "crds":
    a_new_crd_is_accepted_and_established,
    names_have_defaults,
    the_name_is_plural_and_group,
    exactly_one_version_is_stored,
    a_version_needs_a_schema,
    a_schema_must_be_structural,
    a_default_must_fit_its_schema,
    a_keyed_list_needs_its_keys_in_the_items,
    an_unknown_kind_is_404_until_its_crd_comes,
    a_kind_that_is_taken_is_not_accepted,
    a_kind_is_accepted_when_its_rival_goes,
    every_served_version_shows_the_same_objects,
    a_write_in_one_version_is_read_in_the_other,
    each_version_has_its_own_schema,
    a_version_that_is_not_served_is_404,
    a_version_can_be_served_later,
    stored_versions_remember,
    a_version_that_is_stored_cannot_be_removed,
    the_scope_of_an_established_crd_is_fixed,
    a_cluster_scoped_kind_has_no_namespaces,
    deleting_a_crd_deletes_its_objects,
    a_crd_waits_for_objects_with_finalizers,
    selectable_fields_can_be_selected,
    other_fields_of_custom_objects_cannot_be_selected,
}
