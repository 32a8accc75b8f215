//! Create, read, replace and delete, and what is refused.

use http::Method;
use serde_json::json;

use crate::{
    Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal},
    resource::{JSON, YAML},
    samples::{config_map, deployment, labelled, pod, rule, service},
};

async fn create_answers_201_with_what_is_stored(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({"k": "v"}))).await?.is(201)?;
    equal!(made.text("kind"), "ConfigMap");
    equal!(made.text("apiVersion"), "v1");
    equal!(made.at("data"), {"k": "v"});
    equal!(w.config_maps().get("a").await?.is(200)?, made);
    Ok(())
}

async fn create_fills_in_the_metadata(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({}))).await?.is(201)?;
    equal!(made.text("metadata/namespace"), w.namespace());
    for field in ["metadata/uid", "metadata/creationTimestamp", "metadata/resourceVersion"] {
        check!(!made.text(field).is_empty(), "{field} in {made}");
    }
    Ok(())
}

async fn create_ignores_uid_and_times_of_the_client(w: World) -> Outcome {
    let mut body = config_map("a", json!({}));
    body.set("metadata/uid", "11111111-1111-1111-1111-111111111111");
    body.set("metadata/creationTimestamp", "2001-01-01T00:00:00Z");
    body.set("metadata/deletionTimestamp", "2001-01-01T00:00:00Z");
    let made = w.config_maps().create(&body).await?.is(201)?;
    check!(made.uid() != body.uid(), "uid {}", made.uid());
    check!(made.text("metadata/creationTimestamp") != "2001-01-01T00:00:00Z", "{made}");
    check!(!made.has("metadata/deletionTimestamp"), "{made}");
    Ok(())
}

async fn create_twice_is_already_exists(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.is(201)?;
    let status = w.config_maps().create(&config_map("a", json!({}))).await?.refused(409, "AlreadyExists")?;
    equal!(status.at("details"), {"name": "a", "kind": "configmaps"});
    equal!(status.text("message"), r#"configmaps "a" already exists"#);
    Ok(())
}

async fn create_with_a_resource_version_is_refused(w: World) -> Outcome {
    let mut body = config_map("a", json!({}));
    body.set("metadata/resourceVersion", "1");
    let reply = w.config_maps().create(&body).await?;
    check!(reply.code >= 400, "{} {}", reply.code, reply.body);
    check!(reply.body.text("message").contains("resourceVersion should not be set"), "{}", reply.body);
    check!(!w.config_maps().exists("a").await?, "the object was made");
    Ok(())
}

async fn create_in_another_namespace_than_the_urls_is_a_bad_request(w: World) -> Outcome {
    let mut body = config_map("a", json!({}));
    body.set("metadata/namespace", "elsewhere");
    w.config_maps().create(&body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_body_without_kind_is_taken_as_the_urls_kind(w: World) -> Outcome {
    let made =
        w.config_maps().create(&json!({"metadata": {"name": "a"}, "data": {"k": "v"}})).await?.is(201)?;
    equal!(made.text("kind"), "ConfigMap");
    equal!(made.at("data/k"), "v");
    Ok(())
}

async fn a_body_of_another_kind_is_a_bad_request(w: World) -> Outcome {
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
    w.config_maps().create(&body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_body_of_another_version_is_a_bad_request(w: World) -> Outcome {
    let body = json!({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}});
    w.config_maps().create(&body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_custom_object_of_another_group_is_a_bad_request(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    let mut body = widget(&w, "a", json!({}));
    body.set("apiVersion", "other.capstan.dev/v1");
    widgets.create(&body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_body_that_is_no_json_is_a_bad_request(w: World) -> Outcome {
    let body = Some((JSON, "{\"apiVersion\": \"v1\", ".to_owned()));
    w.config_maps().send(Method::POST, None, body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_field_of_the_wrong_type_is_a_bad_request(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({"k": 1}))).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_body_in_an_unknown_format_is_an_unsupported_media_type(w: World) -> Outcome {
    let body = Some(("text/plain", config_map("a", json!({})).to_string()));
    w.config_maps().send(Method::POST, None, body).await?.refused(415, "UnsupportedMediaType")?;
    Ok(())
}

async fn a_body_in_yaml_is_understood(w: World) -> Outcome {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n";
    let made = w.config_maps().send(Method::POST, None, Some((YAML, text.to_owned()))).await?.is(201)?;
    equal!(made.at("data"), {"k": "v"});
    Ok(())
}

async fn an_answer_in_an_unknown_format_is_not_acceptable(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    equal!(w.config_maps().accepting("application/x-unknown").get("a").await?.code, 406);
    Ok(())
}

async fn get_of_a_missing_object_is_not_found(w: World) -> Outcome {
    let status = w.config_maps().get("a").await?.refused(404, "NotFound")?;
    equal!(status.at("details"), {"name": "a", "kind": "configmaps"});
    equal!(status.text("message"), r#"configmaps "a" not found"#);
    Ok(())
}

async fn an_unknown_resource_is_404(w: World) -> Outcome {
    equal!(w.resource("v1", "gadgets").list().await?.code, 404);
    equal!(w.resource("nowhere.capstan.dev/v1", "gadgets").list().await?.code, 404);
    Ok(())
}

async fn an_unknown_subresource_is_404(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    equal!(w.config_maps().subresource("gadget").get("a").await?.code, 404);
    Ok(())
}

async fn a_post_to_an_object_is_405(w: World) -> Outcome {
    let body = Some((JSON, config_map("a", json!({})).to_string()));
    equal!(w.config_maps().send(Method::POST, Some("a"), body).await?.code, 405);
    Ok(())
}

async fn replace_answers_200_with_what_is_stored(w: World) -> Outcome {
    let mut object = w.config_maps().create(&config_map("a", json!({"k": "v", "gone": "v"}))).await?.ok()?;
    object.set("data", json!({"k": "w"}));
    let replaced = w.config_maps().replace(&object).await?.is(200)?;
    equal!(replaced.at("data"), {"k": "w"});
    check!(replaced.version() != object.version(), "{replaced}");
    equal!(w.config_maps().get("a").await?.ok()?, replaced);
    Ok(())
}

async fn replace_of_a_missing_object_is_not_found(w: World) -> Outcome {
    w.config_maps().replace(&config_map("a", json!({}))).await?.refused(404, "NotFound")?;
    Ok(())
}

async fn replace_under_another_name_is_a_bad_request(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    w.config_maps().replace_at("a", &config_map("b", json!({}))).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn replace_keeps_uid_and_creation_time(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let replaced = w.config_maps().replace(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    equal!(replaced.uid(), made.uid());
    equal!(replaced.at("metadata/creationTimestamp"), made.at("metadata/creationTimestamp"));
    Ok(())
}

async fn replace_drops_labels_that_are_left_out(w: World) -> Outcome {
    w.config_maps().create(&labelled("a", json!({"x": "1", "y": "2"}))).await?.ok()?;
    let replaced = w.config_maps().replace(&labelled("a", json!({"y": "2"}))).await?.ok()?;
    equal!(replaced.at("metadata/labels"), {"y": "2"});
    Ok(())
}

async fn replace_that_changes_nothing_keeps_the_resource_version(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    equal!(w.config_maps().replace(&made).await?.ok()?, made);
    Ok(())
}

async fn delete_answers_with_a_success_that_names_the_object(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let answer = w.config_maps().delete("a").await?.is(200)?;
    equal!(answer.text("kind"), "Status");
    equal!(answer.text("status"), "Success");
    equal!(answer.at("details"), {"name": "a", "kind": "configmaps", "uid": made.uid()});
    w.config_maps().get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn delete_of_a_missing_object_is_not_found(w: World) -> Outcome {
    w.config_maps().delete("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn delete_of_a_pod_or_service_answers_with_the_object(w: World) -> Outcome {
    let pods = w.pods().await?;
    pods.create(&pod("a")).await?.ok()?;
    equal!(pods.delete("a").await?.is(200)?.text("kind"), "Pod");
    w.services().create(&service("a", json!({"clusterIP": "None"}))).await?.ok()?;
    equal!(w.services().delete("a").await?.is(200)?.text("kind"), "Service");
    Ok(())
}

async fn the_same_name_can_be_created_again_after_delete(w: World) -> Outcome {
    let first = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    let second = w.config_maps().create(&config_map("a", json!({}))).await?.is(201)?;
    check!(first.uid() != second.uid(), "uid {}", second.uid());
    Ok(())
}

async fn a_list_has_its_kind_and_a_resource_version(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let list = w.config_maps().list().await?.is(200)?;
    equal!(list.text("kind"), "ConfigMapList");
    equal!(list.text("apiVersion"), "v1");
    check!(!list.version().is_empty(), "{list}");
    Ok(())
}

async fn an_empty_list_has_an_empty_array(w: World) -> Outcome {
    let list = w.secrets().list().await?.is(200)?;
    equal!(list.at("items"), []);
    Ok(())
}

async fn items_of_a_built_in_list_do_not_repeat_their_kind(w: World) -> Outcome {
    w.secrets().create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    let list = w.secrets().list().await?.ok()?;
    equal!(list.list("items").len(), 1);
    check!(!list.has("items/0/kind") && !list.has("items/0/apiVersion"), "{list}");
    Ok(())
}

async fn items_of_a_custom_list_carry_their_kind(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    widgets.create(&widget(&w, "a", json!({}))).await?.ok()?;
    let list = widgets.list().await?.ok()?;
    equal!(list.text("kind"), "WidgetList");
    equal!(list.text("items/0/kind"), "Widget");
    equal!(list.text("items/0/apiVersion"), format!("{}/v1", w.group()));
    Ok(())
}

async fn a_list_over_all_namespaces_has_each(w: World) -> Outcome {
    let other = w.another_namespace().await?;
    let label = w.unique("case");
    for namespace in [w.namespace(), &other] {
        let made = labelled("a", json!({"case": label}));
        w.config_maps().in_namespace(namespace).create(&made).await?.ok()?;
    }
    let all = w.config_maps().in_all_namespaces().with("labelSelector", format!("case={label}"));
    let list = all.list().await?.ok()?;
    let mut found: Vec<&str> =
        list.list("items").iter().map(|item| item.text("metadata/namespace")).collect();
    found.sort_unstable();
    let mut expected = [w.namespace(), &other];
    expected.sort_unstable();
    equal!(found, expected);
    Ok(())
}

async fn objects_of_one_namespace_are_not_seen_in_another(w: World) -> Outcome {
    w.secrets().create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    let other = w.secrets().in_namespace(&w.another_namespace().await?);
    other.get("a").await?.refused(404, "NotFound")?;
    equal!(other.list().await?.ok()?.at("items"), []);
    Ok(())
}

async fn a_cluster_scoped_object_has_no_namespace(w: World) -> Outcome {
    let name = w.unique("role");
    let body = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
        "rules": [rule(&[""], &["pods"], &["get"])],
    });
    let made = w.create_cluster("rbac.authorization.k8s.io/v1", "clusterroles", &body).await?;
    check!(!made.has("metadata/namespace"), "{made}");
    let roles = w.cluster("rbac.authorization.k8s.io/v1", "clusterroles");
    equal!(roles.get(&name).await?.is(200)?, made);
    Ok(())
}

async fn the_answer_to_a_create_has_the_defaults(w: World) -> Outcome {
    let made = w.deployments().create(&deployment("a")).await?.is(201)?;
    equal!(made.text("spec/strategy/type"), "RollingUpdate");
    equal!(made.text("spec/template/spec/restartPolicy"), "Always");
    Ok(())
}

async fn the_answer_is_json_and_says_so(w: World) -> Outcome {
    let reply = w.config_maps().create(&config_map("a", json!({}))).await?;
    let told = reply.headers.get("content-type").and_then(|v| v.to_str().ok()).unwrap_or_default();
    check!(told.starts_with("application/json"), "content-type {told}");
    Ok(())
}

cases! { "objects":
    create_answers_201_with_what_is_stored,
    create_fills_in_the_metadata,
    create_ignores_uid_and_times_of_the_client,
    create_twice_is_already_exists,
    create_with_a_resource_version_is_refused,
    create_in_another_namespace_than_the_urls_is_a_bad_request,
    a_body_without_kind_is_taken_as_the_urls_kind,
    a_body_of_another_kind_is_a_bad_request,
    a_body_of_another_version_is_a_bad_request,
    a_custom_object_of_another_group_is_a_bad_request,
    a_body_that_is_no_json_is_a_bad_request,
    a_field_of_the_wrong_type_is_a_bad_request,
    a_body_in_an_unknown_format_is_an_unsupported_media_type,
    a_body_in_yaml_is_understood,
    an_answer_in_an_unknown_format_is_not_acceptable,
    get_of_a_missing_object_is_not_found,
    an_unknown_resource_is_404,
    an_unknown_subresource_is_404,
    a_post_to_an_object_is_405,
    replace_answers_200_with_what_is_stored,
    replace_of_a_missing_object_is_not_found,
    replace_under_another_name_is_a_bad_request,
    replace_keeps_uid_and_creation_time,
    replace_drops_labels_that_are_left_out,
    replace_that_changes_nothing_keeps_the_resource_version,
    delete_answers_with_a_success_that_names_the_object,
    delete_of_a_missing_object_is_not_found,
    delete_of_a_pod_or_service_answers_with_the_object,
    the_same_name_can_be_created_again_after_delete,
    a_list_has_its_kind_and_a_resource_version,
    an_empty_list_has_an_empty_array,
    items_of_a_built_in_list_do_not_repeat_their_kind,
    items_of_a_custom_list_carry_their_kind,
    a_list_over_all_namespaces_has_each,
    objects_of_one_namespace_are_not_seen_in_another,
    a_cluster_scoped_object_has_no_namespace,
    the_answer_to_a_create_has_the_defaults,
    the_answer_is_json_and_says_so,
}
