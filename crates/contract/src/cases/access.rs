//! RBAC decisions, and the reviews that ask for them.

use serde_json::{Value, json};

use crate::{
    Failure, Outcome, World,
    json::{Json, cases, check, equal},
    resource::Resource,
    samples::{config_map, role, role_binding, rule},
};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Gives a user these rules in the case's namespace and waits until they hold.
async fn grant(w: &World, user: &str, rules: Value) -> Outcome {
    w.resource(RBAC, "roles").create(&role("granted", rules)).await?.ok()?;
    w.resource(RBAC, "rolebindings").create(&role_binding("granted", "Role", "granted", user)).await?.ok()?;
    Ok(())
}

/// Waits until the request is no longer (or not yet) refused: authorizers read roles from a cache.
async fn allowed(w: &World, resource: &Resource) -> Outcome {
    let listed = async || Ok((resource.list().await?.code == 200).then_some(()));
    w.eventually("the list is allowed", listed).await
}

async fn review(w: &World, kind: &str, spec: Value) -> Result<Value, Failure> {
    let plural = format!("{}s", kind.to_lowercase());
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
    w.cluster("authorization.k8s.io/v1", &plural).create(&body).await?.is(201)
}

async fn may(w: &World, user: &str, attributes: Value) -> Result<bool, Failure> {
    let spec = json!({"user": user, "resourceAttributes": attributes});
    Ok(review(w, "SubjectAccessReview", spec).await?.at("status/allowed") == &json!(true))
}

async fn until_may(w: &World, user: &str, attributes: &Value) -> Outcome {
    let asked = async || Ok(may(w, user, attributes.clone()).await?.then_some(()));
    w.eventually(&format!("{user} may {attributes}"), asked).await
}

async fn without_a_role_nothing_is_allowed(w: World) -> Outcome {
    let user = w.unique("user");
    let maps = w.config_maps().as_user(&user);
    let status = maps.list().await?.refused(403, "Forbidden")?;
    let told = format!(
        r#"configmaps is forbidden: User "{user}" cannot list resource "configmaps" in API group "" in the namespace "{}""#,
        w.namespace()
    );
    equal!(status.text("message"), told);
    equal!(status.text("details/kind"), "configmaps");
    Ok(())
}

async fn a_refusal_names_the_object(w: World) -> Outcome {
    let user = w.unique("user");
    let status = w.config_maps().as_user(&user).get("a").await?.refused(403, "Forbidden")?;
    equal!(status.text("details/name"), "a");
    check!(status.text("message").starts_with(r#"configmaps "a" is forbidden: User "#), "{status}");
    Ok(())
}

async fn a_role_allows_its_verbs_only(w: World) -> Outcome {
    let user = w.unique("user");
    grant(&w, &user, json!([rule(&[""], &["configmaps"], &["list", "create"])])).await?;
    let maps = w.config_maps().as_user(&user);
    allowed(&w, &maps).await?;
    maps.create(&config_map("a", json!({}))).await?.is(201)?;
    maps.get("a").await?.refused(403, "Forbidden")?;
    maps.delete("a").await?.refused(403, "Forbidden")?;
    maps.delete_all().await?.refused(403, "Forbidden")?;
    maps.merge("a", &json!({})).await?.refused(403, "Forbidden")?;
    maps.replace(&config_map("a", json!({}))).await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn a_watch_is_a_verb_of_its_own(w: World) -> Outcome {
    let user = w.unique("user");
    grant(&w, &user, json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    let maps = w.config_maps().as_user(&user);
    allowed(&w, &maps).await?;
    let Err(reply) = maps.try_watch().await? else { return Err(Failure::new("the watch was accepted")) };
    reply.refused(403, "Forbidden")?;
    Ok(())
}

async fn a_role_holds_in_its_namespace_only(w: World) -> Outcome {
    let user = w.unique("user");
    grant(&w, &user, json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    let maps = w.config_maps().as_user(&user);
    allowed(&w, &maps).await?;
    maps.in_namespace("default").list().await?.refused(403, "Forbidden")?;
    maps.in_all_namespaces().list().await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn a_role_holds_for_its_group_only(w: World) -> Outcome {
    let user = w.unique("user");
    grant(&w, &user, json!([rule(&["apps"], &["deployments", "configmaps"], &["list"])])).await?;
    allowed(&w, &w.deployments().as_user(&user)).await?;
    w.config_maps().as_user(&user).list().await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn stars_stand_for_all(w: World) -> Outcome {
    let user = w.unique("user");
    grant(&w, &user, json!([rule(&["*"], &["*"], &["*"])])).await?;
    allowed(&w, &w.deployments().as_user(&user)).await?;
    w.config_maps().as_user(&user).create(&config_map("a", json!({}))).await?.is(201)?;
    w.config_maps().as_user(&user).delete_all().await?.is(200)?;
    Ok(())
}

async fn a_cluster_role_bound_in_a_namespace_holds_there(w: World) -> Outcome {
    let (user, name) = (w.unique("user"), w.unique("role"));
    cluster_role(&w, &name, json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    let binding = role_binding("granted", "ClusterRole", &name, &user);
    w.resource(RBAC, "rolebindings").create(&binding).await?.ok()?;
    let maps = w.config_maps().as_user(&user);
    allowed(&w, &maps).await?;
    maps.in_namespace("default").list().await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn cluster_role(w: &World, name: &str, rules: Value) -> Outcome {
    let body = json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
    w.create_cluster(RBAC, "clusterroles", &body).await?;
    Ok(())
}

async fn bind_everywhere(w: &World, role: &str, subject: Value) -> Outcome {
    let body = json!({
        "apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": w.unique("binding")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    });
    w.create_cluster(RBAC, "clusterrolebindings", &body).await?;
    Ok(())
}

async fn a_cluster_role_bound_everywhere_holds_everywhere(w: World) -> Outcome {
    let (user, name) = (w.unique("user"), w.unique("role"));
    cluster_role(&w, &name, json!([rule(&[""], &["configmaps", "nodes"], &["list"])])).await?;
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user});
    bind_everywhere(&w, &name, subject).await?;
    allowed(&w, &w.config_maps().as_user(&user)).await?;
    w.config_maps().as_user(&user).in_all_namespaces().list().await?.is(200)?;
    w.cluster("v1", "nodes").as_user(&user).list().await?.is(200)?;
    Ok(())
}

async fn a_group_can_be_given_a_role(w: World) -> Outcome {
    let (group, name) = (w.unique("group"), w.unique("role"));
    cluster_role(&w, &name, json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group});
    bind_everywhere(&w, &name, subject).await?;
    let user = w.unique("user");
    allowed(&w, &w.config_maps().as_user(&user).in_group(&group)).await?;
    w.config_maps().as_user(&user).list().await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn a_service_account_can_be_given_a_role(w: World) -> Outcome {
    w.resource(RBAC, "roles")
        .create(&role("r", json!([rule(&[""], &["configmaps"], &["list"])])))
        .await?
        .ok()?;
    let mut binding = role_binding("b", "Role", "r", "");
    binding.set("subjects", json!([{"kind": "ServiceAccount", "name": "robot", "namespace": w.namespace()}]));
    w.resource(RBAC, "rolebindings").create(&binding).await?.ok()?;
    let name = format!("system:serviceaccount:{}:robot", w.namespace());
    allowed(&w, &w.config_maps().as_user(&name)).await?;
    let other = format!("system:serviceaccount:{}:other", w.namespace());
    w.config_maps().as_user(&other).list().await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn service_accounts_are_in_their_groups(w: World) -> Outcome {
    let name = w.unique("role");
    cluster_role(&w, &name, json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    let group = format!("system:serviceaccounts:{}", w.namespace());
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group});
    bind_everywhere(&w, &name, subject).await?;
    let account = format!("system:serviceaccount:{}:any", w.namespace());
    allowed(&w, &w.config_maps().as_user(&account)).await
}

async fn a_rule_can_name_its_objects(w: World) -> Outcome {
    let user = w.unique("user");
    let mut named = rule(&[""], &["configmaps"], &["get", "update", "patch"]);
    named.set("resourceNames", json!(["a"]));
    grant(&w, &user, json!([named])).await?;
    for name in ["a", "b"] {
        w.config_maps().create(&config_map(name, json!({}))).await?.ok()?;
    }
    let maps = w.config_maps().as_user(&user);
    let read = async || Ok((maps.get("a").await?.code == 200).then_some(()));
    w.eventually("a can be read", read).await?;
    maps.merge("a", &json!({"data": {"k": "v"}})).await?.is(200)?;
    maps.get("b").await?.refused(403, "Forbidden")?;
    maps.merge("b", &json!({"data": {"k": "v"}})).await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn a_named_object_can_be_listed_by_its_name(w: World) -> Outcome {
    let user = w.unique("user");
    let mut named = rule(&[""], &["configmaps"], &["list", "watch"]);
    named.set("resourceNames", json!(["a"]));
    grant(&w, &user, json!([named])).await?;
    let maps = w.config_maps().as_user(&user);
    allowed(&w, &maps.with("fieldSelector", "metadata.name=a")).await?;
    maps.list().await?.refused(403, "Forbidden")?;
    maps.with("fieldSelector", "metadata.name=b").list().await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn a_subresource_is_a_resource_of_its_own(w: World) -> Outcome {
    let user = w.unique("user");
    let rules = json!([
        rule(&["apps"], &["deployments"], &["list", "get"]),
        rule(&["apps"], &["deployments/scale"], &["get"])
    ]);
    grant(&w, &user, rules).await?;
    w.deployments().create(&crate::samples::deployment("a")).await?.ok()?;
    let mine = w.deployments().as_user(&user);
    allowed(&w, &mine).await?;
    mine.scale().get("a").await?.is(200)?;
    let status = mine.status().get("a").await?.refused(403, "Forbidden")?;
    check!(status.text("message").contains(r#"resource "deployments/status""#), "{status}");
    Ok(())
}

async fn apply_needs_patch_and_to_create_also_create(w: World) -> Outcome {
    let user = w.unique("user");
    grant(&w, &user, json!([rule(&[""], &["configmaps"], &["list", "patch"])])).await?;
    let maps = w.config_maps().as_user(&user);
    allowed(&w, &maps).await?;
    let body = config_map("a", json!({"k": "v"}));
    maps.apply("m", &body).await?.refused(403, "Forbidden")?;
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    maps.apply("m", &body).await?.is(200)?;
    Ok(())
}

async fn a_dry_run_needs_the_same_rights(w: World) -> Outcome {
    let dry = w.config_maps().as_user(&w.unique("user")).with("dryRun", "All");
    dry.create(&config_map("a", json!({}))).await?.refused(403, "Forbidden")?;
    Ok(())
}

async fn rights_end_with_their_binding(w: World) -> Outcome {
    let user = w.unique("user");
    grant(&w, &user, json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    let maps = w.config_maps().as_user(&user);
    allowed(&w, &maps).await?;
    w.resource(RBAC, "rolebindings").delete("granted").await?.ok()?;
    let refused = async || Ok((maps.list().await?.code == 403).then_some(()));
    w.eventually("the list is refused", refused).await
}

async fn everybody_may_see_what_is_served(w: World) -> Outcome {
    for path in ["/version", "/api", "/apis", "/healthz", "/api/v1"] {
        equal!(w.get_with(path, &[("impersonate-user", w.unique("user"))]).await?.code, 200);
    }
    Ok(())
}

async fn one_can_ask_for_oneself(w: World) -> Outcome {
    let user = w.unique("user");
    let attributes = json!({"namespace": w.namespace(), "verb": "list", "resource": "configmaps"});
    let reviews = w.cluster("authorization.k8s.io/v1", "selfsubjectaccessreviews");
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    });
    equal!(reviews.create(&body).await?.is(201)?.at("status/allowed"), true);
    equal!(reviews.as_user(&user).create(&body).await?.is(201)?.at("status/allowed"), false);
    grant(&w, &user, json!([rule(&[""], &["configmaps"], &["list"])])).await?;
    let yes = async || {
        let review = reviews.as_user(&user).create(&body).await?.is(201)?;
        Ok((review.at("status/allowed") == &json!(true)).then_some(()))
    };
    w.eventually("the review says yes", yes).await
}

async fn one_can_ask_for_another(w: World) -> Outcome {
    let user = w.unique("user");
    grant(&w, &user, json!([rule(&["apps"], &["deployments"], &["update"])])).await?;
    let asked =
        json!({"namespace": w.namespace(), "verb": "update", "group": "apps", "resource": "deployments"});
    until_may(&w, &user, &asked).await?;
    for (field, other) in [
        ("verb", "delete"),
        ("group", ""),
        ("resource", "secrets"),
        ("namespace", "default"),
        ("subresource", "scale"),
    ] {
        let mut asked = asked.clone();
        asked.set(field, other);
        check!(!may(&w, &user, asked.clone()).await?, "allowed: {asked}");
    }
    Ok(())
}

async fn a_review_knows_groups_and_paths(w: World) -> Outcome {
    let (group, name) = (w.unique("group"), w.unique("role"));
    cluster_role(&w, &name, json!([{"nonResourceURLs": ["/custom/*"], "verbs": ["get"]}])).await?;
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group});
    bind_everywhere(&w, &name, subject).await?;
    let ask = |path: &str| json!({"user": "x", "groups": [group], "nonResourceAttributes": {"path": path, "verb": "get"}});
    let yes = async || {
        let review = review(&w, "SubjectAccessReview", ask("/custom/thing")).await?;
        Ok((review.at("status/allowed") == &json!(true)).then_some(()))
    };
    w.eventually("the path is allowed", yes).await?;
    equal!(review(&w, "SubjectAccessReview", ask("/other")).await?.at("status/allowed"), false);
    Ok(())
}

async fn a_review_in_a_namespace_is_about_it(w: World) -> Outcome {
    let reviews = w.resource("authorization.k8s.io/v1", "localsubjectaccessreviews");
    let body = |namespace: &str| {
        json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview",
            "metadata": {"namespace": w.namespace()},
            "spec": {"user": "x", "resourceAttributes": {"namespace": namespace, "verb": "get", "resource": "pods"}},
        })
    };
    equal!(reviews.create(&body(w.namespace())).await?.is(201)?.at("status/allowed"), false);
    reviews.create(&body("default")).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_review_must_ask_something(w: World) -> Outcome {
    let reviews = w.cluster("authorization.k8s.io/v1", "selfsubjectaccessreviews");
    let body =
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}});
    reviews.create(&body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn one_can_ask_for_all_ones_rules(w: World) -> Outcome {
    let user = w.unique("user");
    grant(&w, &user, json!([rule(&["apps"], &["deployments"], &["get", "list"])])).await?;
    let reviews = w.cluster("authorization.k8s.io/v1", "selfsubjectrulesreviews").as_user(&user);
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": w.namespace()},
    });
    let told = async || {
        let review = reviews.create(&body).await?.is(201)?;
        let mine = |rule: &&Value| {
            rule.at("resources") == &json!(["deployments"]) && rule.at("apiGroups") == &json!(["apps"])
        };
        Ok(review.list("status/resourceRules").iter().find(mine).cloned())
    };
    let rule = w.eventually("the rule is told", told).await?;
    equal!(rule.at("verbs"), ["get", "list"]);
    Ok(())
}

async fn one_can_ask_who_one_is(w: World) -> Outcome {
    let user = w.unique("user");
    let reviews = w.cluster("authentication.k8s.io/v1", "selfsubjectreviews").as_user(&user);
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let review = reviews.create(&body).await?.is(201)?;
    equal!(review.text("status/userInfo/username"), user);
    check!(review.list("status/userInfo/groups").contains(&json!("system:authenticated")), "{review}");
    Ok(())
}

cases! { "access":
    without_a_role_nothing_is_allowed [Impersonation],
    a_refusal_names_the_object [Impersonation],
    a_role_allows_its_verbs_only [Impersonation],
    a_watch_is_a_verb_of_its_own [Impersonation],
    a_role_holds_in_its_namespace_only [Impersonation],
    a_role_holds_for_its_group_only [Impersonation],
    stars_stand_for_all [Impersonation],
    a_cluster_role_bound_in_a_namespace_holds_there [Impersonation],
    a_cluster_role_bound_everywhere_holds_everywhere [Impersonation],
    a_group_can_be_given_a_role [Impersonation],
    a_service_account_can_be_given_a_role [Impersonation],
    service_accounts_are_in_their_groups [Impersonation],
    a_rule_can_name_its_objects [Impersonation],
    a_named_object_can_be_listed_by_its_name [Impersonation],
    a_subresource_is_a_resource_of_its_own [Impersonation],
    apply_needs_patch_and_to_create_also_create [Impersonation],
    a_dry_run_needs_the_same_rights [Impersonation],
    rights_end_with_their_binding [Impersonation],
    everybody_may_see_what_is_served [Impersonation],
    one_can_ask_for_oneself [Impersonation],
    one_can_ask_for_another,
    a_review_knows_groups_and_paths,
    a_review_in_a_namespace_is_about_it,
    a_review_must_ask_something,
    one_can_ask_for_all_ones_rules [Impersonation],
    one_can_ask_who_one_is [Impersonation],
}
