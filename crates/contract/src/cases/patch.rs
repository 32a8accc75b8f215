//! JSON patch and JSON merge patch.

use http::Method;
use serde_json::json;

use crate::{
    Failure, Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal},
    resource::{JSON_PATCH, MERGE_PATCH, Resource, STRATEGIC_PATCH},
    samples::{config_map, deployment, labelled},
};

/// Widgets that keep anything, one of them made.
async fn widgets(w: &World, spec: serde_json::Value) -> Result<Resource, Failure> {
    let widgets = Crd::open(w).install(w).await?;
    widgets.create(&widget(w, "a", spec)).await?.ok()?;
    Ok(widgets)
}

async fn a_merge_patch_sets_and_keeps(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({"k": "v", "l": "v"}))).await?.ok()?;
    let now = w.config_maps().merge("a", &json!({"data": {"k": "w", "m": "v"}})).await?.is(200)?;
    equal!(now.at("data"), {"k": "w", "l": "v", "m": "v"});
    Ok(())
}

async fn null_in_a_merge_patch_removes(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({"k": "v", "l": "v"}))).await?.ok()?;
    let now = w.config_maps().merge("a", &json!({"data": {"k": null, "never": null}})).await?.ok()?;
    equal!(now.at("data"), {"l": "v"});
    Ok(())
}

async fn a_merge_patch_replaces_lists_as_a_whole(w: World) -> Outcome {
    let widgets = widgets(&w, json!({"list": [{"name": "x"}, {"name": "y"}]})).await?;
    let now = widgets.merge("a", &json!({"spec": {"list": [{"name": "z"}]}})).await?.ok()?;
    equal!(now.at("spec/list"), [{"name": "z"}]);
    Ok(())
}

async fn a_merge_patch_makes_the_maps_on_its_way(w: World) -> Outcome {
    let widgets = widgets(&w, json!({})).await?;
    let now = widgets.merge("a", &json!({"spec": {"x": {"y": {"z": 1}}}})).await?.ok()?;
    equal!(now.at("spec"), {"x": {"y": {"z": 1}}});
    Ok(())
}

async fn a_patch_that_changes_nothing_keeps_the_resource_version(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    equal!(w.config_maps().merge("a", &json!({"data": {"k": "v"}})).await?.is(200)?, made);
    equal!(w.config_maps().merge("a", &json!({})).await?.is(200)?, made);
    equal!(w.config_maps().patch("a", JSON_PATCH, &json!([])).await?.is(200)?, made);
    Ok(())
}

async fn a_patch_of_a_missing_object_is_not_found(w: World) -> Outcome {
    w.config_maps().merge("a", &json!({"data": {}})).await?.refused(404, "NotFound")?;
    w.config_maps().patch("a", JSON_PATCH, &json!([])).await?.refused(404, "NotFound")?;
    w.config_maps().patch("a", STRATEGIC_PATCH, &json!({})).await?.refused(404, "NotFound")?;
    Ok(())
}

async fn a_merge_patch_that_is_no_json_is_a_bad_request(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let body = Some((MERGE_PATCH, "{\"data\":".to_owned()));
    w.config_maps().send(Method::PATCH, Some("a"), body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_patch_of_an_unknown_type_is_an_unsupported_media_type(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let reply = w.config_maps().patch("a", "application/json", &json!({})).await?;
    reply.refused(415, "UnsupportedMediaType")?;
    Ok(())
}

async fn a_json_patch_adds_replaces_and_removes(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({"k": "v", "l": "v"}))).await?.ok()?;
    let patch = json!([
        {"op": "add", "path": "/data/m", "value": "new"},
        {"op": "replace", "path": "/data/k", "value": "w"},
        {"op": "remove", "path": "/data/l"},
    ]);
    let now = w.config_maps().patch("a", JSON_PATCH, &patch).await?.is(200)?;
    equal!(now.at("data"), {"k": "w", "m": "new"});
    Ok(())
}

async fn a_json_patch_moves_and_copies(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({"k": "v", "l": "w"}))).await?.ok()?;
    let patch = json!([
        {"op": "move", "from": "/data/k", "path": "/data/moved"},
        {"op": "copy", "from": "/data/l", "path": "/data/copied"},
    ]);
    let now = w.config_maps().patch("a", JSON_PATCH, &patch).await?.is(200)?;
    equal!(now.at("data"), {"l": "w", "moved": "v", "copied": "w"});
    Ok(())
}

async fn a_json_patch_inserts_into_lists(w: World) -> Outcome {
    let widgets = widgets(&w, json!({"list": ["x", "y"]})).await?;
    let patch = json!([
        {"op": "add", "path": "/spec/list/-", "value": "z"},
        {"op": "add", "path": "/spec/list/0", "value": "w"},
        {"op": "remove", "path": "/spec/list/1"},
    ]);
    equal!(widgets.patch("a", JSON_PATCH, &patch).await?.ok()?.at("spec/list"), ["w", "y", "z"]);
    Ok(())
}

async fn a_slash_in_a_key_is_written_as_tilde_one(w: World) -> Outcome {
    w.config_maps().create(&labelled("a", json!({"capstan.dev/x": "1"}))).await?.ok()?;
    let patch = json!([{"op": "replace", "path": "/metadata/labels/capstan.dev~1x", "value": "2"}]);
    let now = w.config_maps().patch("a", JSON_PATCH, &patch).await?.ok()?;
    equal!(now.at("metadata/labels"), {"capstan.dev/x": "2"});
    Ok(())
}

async fn a_json_patch_whose_test_fails_is_invalid_and_changes_nothing(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    let patch = json!([
        {"op": "replace", "path": "/data/k", "value": "w"},
        {"op": "test", "path": "/data/k", "value": "something else"},
    ]);
    w.config_maps().patch("a", JSON_PATCH, &patch).await?.refused(422, "Invalid")?;
    equal!(w.config_maps().get("a").await?.ok()?, made);
    Ok(())
}

async fn a_json_patch_whose_test_holds_passes(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    let patch = json!([
        {"op": "test", "path": "/data", "value": {"k": "v"}},
        {"op": "add", "path": "/data/l", "value": "v"},
    ]);
    w.config_maps().patch("a", JSON_PATCH, &patch).await?.is(200)?;
    Ok(())
}

async fn a_json_patch_of_a_path_that_is_not_there_is_invalid(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    let patch = json!([{"op": "remove", "path": "/data/never"}]);
    w.config_maps().patch("a", JSON_PATCH, &patch).await?.refused(422, "Invalid")?;
    let deep = json!([{"op": "add", "path": "/metadata/labels/x", "value": "v"}]);
    w.config_maps().patch("a", JSON_PATCH, &deep).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_json_patch_that_is_no_list_is_a_bad_request(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let patch = json!({"op": "remove", "path": "/data"});
    w.config_maps().patch("a", JSON_PATCH, &patch).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_patch_cannot_rename(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let reply = w.config_maps().merge("a", &json!({"metadata": {"name": "b"}})).await?;
    check!((400..500).contains(&reply.code), "{} {}", reply.code, reply.body);
    check!(!w.config_maps().exists("b").await?, "it was renamed");
    Ok(())
}

async fn a_patch_cannot_change_the_uid(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let patch = json!({"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}});
    let reply = w.config_maps().merge("a", &patch).await?;
    check!((400..500).contains(&reply.code), "{} {}", reply.code, reply.body);
    equal!(w.config_maps().get("a").await?.ok()?.uid(), made.uid());
    Ok(())
}

async fn a_patched_object_is_validated(w: World) -> Outcome {
    w.deployments().create(&deployment("a")).await?.ok()?;
    w.deployments().merge("a", &json!({"spec": {"replicas": -1}})).await?.refused(422, "Invalid")?;
    let spec = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let widgets = Crd::new(&w, spec).install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    widgets.merge("a", &json!({"spec": {"n": "many"}})).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_patched_object_is_defaulted(w: World) -> Outcome {
    let spec = json!({"type": "object", "properties": {"n": {"type": "integer", "default": 5}}});
    let widgets = Crd::new(&w, spec).install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    equal!(widgets.merge("a", &json!({"spec": {"n": null}})).await?.ok()?.at("spec/n"), 5);
    Ok(())
}

async fn custom_objects_know_no_strategic_merge(w: World) -> Outcome {
    let widgets = widgets(&w, json!({})).await?;
    let reply = widgets.patch("a", STRATEGIC_PATCH, &json!({"spec": {"n": 1}})).await?;
    reply.refused(415, "UnsupportedMediaType")?;
    Ok(())
}

async fn a_patch_answers_with_the_whole_object(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    let now = w.config_maps().merge("a", &json!({"metadata": {"labels": {"x": "1"}}})).await?.is(200)?;
    equal!(w.config_maps().get("a").await?.ok()?, now);
    equal!(now.at("data/k"), "v");
    Ok(())
}

cases! { "patch":
    a_merge_patch_sets_and_keeps,
    null_in_a_merge_patch_removes,
    a_merge_patch_replaces_lists_as_a_whole,
    a_merge_patch_makes_the_maps_on_its_way,
    a_patch_that_changes_nothing_keeps_the_resource_version,
    a_patch_of_a_missing_object_is_not_found,
    a_merge_patch_that_is_no_json_is_a_bad_request,
    a_patch_of_an_unknown_type_is_an_unsupported_media_type,
    a_json_patch_adds_replaces_and_removes,
    a_json_patch_moves_and_copies,
    a_json_patch_inserts_into_lists,
    a_slash_in_a_key_is_written_as_tilde_one,
    a_json_patch_whose_test_fails_is_invalid_and_changes_nothing,
    a_json_patch_whose_test_holds_passes,
    a_json_patch_of_a_path_that_is_not_there_is_invalid,
    a_json_patch_that_is_no_list_is_a_bad_request,
    a_patch_cannot_rename,
    a_patch_cannot_change_the_uid,
    a_patched_object_is_validated,
    a_patched_object_is_defaulted,
    custom_objects_know_no_strategic_merge,
    a_patch_answers_with_the_whole_object,
}
