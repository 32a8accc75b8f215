//! /status and /scale.

use serde_json::json;

use crate::{
    Failure, Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal},
    resource::{JSON_PATCH, Resource},
    samples::{deployment, stateful_set},
};

async fn with_status(w: &World) -> Result<Resource, Failure> {
    let widgets = Crd::open(w).status().install(w).await?;
    let mut body = widget(w, "a", json!({"n": 1}));
    body.set("status/n", 1);
    widgets.create(&body).await?.ok()?;
    Ok(widgets)
}

async fn with_scale(w: &World) -> Result<Resource, Failure> {
    let number = json!({"type": "integer"});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": number}},
        "status": {"type": "object", "properties": {"size": number, "selector": {"type": "string"}}},
    }});
    let paths = json!({
        "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.selector",
    });
    let crd = Crd::with_schema(w, schema).status().set("spec/versions/0/subresources/scale", paths);
    let widgets = crd.install(w).await?;
    widgets.create(&widget(w, "a", json!({"size": 3}))).await?.ok()?;
    Ok(widgets)
}

async fn create_drops_status(w: World) -> Outcome {
    let widgets = with_status(&w).await?;
    check!(!widgets.get("a").await?.ok()?.has("status"), "there is a status");
    Ok(())
}

async fn a_write_of_the_whole_ignores_status(w: World) -> Outcome {
    let widgets = with_status(&w).await?;
    widgets.status().merge("a", &json!({"status": {"n": 1}})).await?.ok()?;
    let mut object = widgets.get("a").await?.ok()?;
    object.set("status/n", 9);
    object.set("spec/n", 2);
    let now = widgets.replace(&object).await?.ok()?;
    equal!(now.at("status/n"), 1);
    equal!(now.at("spec/n"), 2);
    equal!(widgets.merge("a", &json!({"status": {"n": 9}})).await?.ok()?.at("status/n"), 1);
    Ok(())
}

async fn a_write_of_status_ignores_the_rest(w: World) -> Outcome {
    let widgets = with_status(&w).await?;
    let mut object = widgets.get("a").await?.ok()?;
    object.set("status/n", 2);
    object.set("spec/n", 9);
    object.set("metadata/labels/x", "1");
    let now = widgets.status().replace(&object).await?.is(200)?;
    equal!(now.at("status/n"), 2);
    equal!(now.at("spec/n"), 1);
    check!(!now.has("metadata/labels"), "{now}");
    Ok(())
}

async fn a_write_of_status_moves_the_resource_version(w: World) -> Outcome {
    let widgets = with_status(&w).await?;
    let before = widgets.get("a").await?.ok()?;
    let now = widgets.status().merge("a", &json!({"status": {"n": 1}})).await?.ok()?;
    check!(now.version() != before.version(), "{}", now.version());
    equal!(widgets.get("a").await?.ok()?, now);
    Ok(())
}

async fn get_of_status_is_the_whole_object(w: World) -> Outcome {
    let widgets = with_status(&w).await?;
    equal!(widgets.status().get("a").await?.is(200)?, widgets.get("a").await?.ok()?);
    Ok(())
}

async fn status_can_be_patched_by_json_patch(w: World) -> Outcome {
    let widgets = with_status(&w).await?;
    let patch = json!([{"op": "add", "path": "/status", "value": {"n": 4}}]);
    equal!(widgets.status().patch("a", JSON_PATCH, &patch).await?.is(200)?.at("status/n"), 4);
    Ok(())
}

async fn status_is_validated_and_pruned(w: World) -> Outcome {
    let schema = json!({"type": "object", "properties": {
        "status": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}},
    }});
    let widgets = Crd::with_schema(&w, schema).status().install(&w).await?;
    let mut body = widget(&w, "a", json!({}));
    body.remove("spec");
    widgets.create(&body).await?.ok()?;
    widgets.status().merge("a", &json!({"status": {"n": 9}})).await?.refused(422, "Invalid")?;
    let now = widgets.status().merge("a", &json!({"status": {"n": 3, "unknown": 1}})).await?.ok()?;
    equal!(now.at("status"), {"n": 3});
    Ok(())
}

async fn status_of_a_missing_object_is_not_found(w: World) -> Outcome {
    let widgets = with_status(&w).await?;
    widgets.status().merge("b", &json!({"status": {"n": 1}})).await?.refused(404, "NotFound")?;
    widgets.status().get("b").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn a_kind_without_status_has_no_such_path(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    let mut body = widget(&w, "a", json!({}));
    body.set("status/n", 1);
    equal!(widgets.create(&body).await?.ok()?.at("status/n"), 1);
    equal!(widgets.status().get("a").await?.code, 404);
    equal!(widgets.scale().get("a").await?.code, 404);
    Ok(())
}

async fn status_of_a_built_in_kind_is_separate(w: World) -> Outcome {
    let sets = w.stateful_sets();
    let mut body = stateful_set("a");
    body.set("status/replicas", 5);
    let made = sets.create(&body).await?.ok()?;
    equal!(made.number("status/replicas"), 0);
    let patch = json!({"spec": {"replicas": 7}, "status": {"replicas": 0, "currentRevision": "x"}});
    let now = sets.status().merge("a", &patch).await?.is(200)?;
    equal!(now.at("spec/replicas"), 0);
    equal!(now.at("status/currentRevision"), "x");
    Ok(())
}

async fn scale_shows_the_replicas(w: World) -> Outcome {
    let widgets = with_scale(&w).await?;
    widgets.status().merge("a", &json!({"status": {"size": 2, "selector": "app=x"}})).await?.ok()?;
    let object = widgets.get("a").await?.ok()?;
    let scale = widgets.scale().get("a").await?.is(200)?;
    equal!(scale.text("kind"), "Scale");
    equal!(scale.text("apiVersion"), "autoscaling/v1");
    equal!(scale.at("spec"), {"replicas": 3});
    equal!(scale.at("status"), {"replicas": 2, "selector": "app=x"});
    equal!(scale.name(), "a");
    equal!(scale.text("metadata/namespace"), w.namespace());
    equal!(scale.uid(), object.uid());
    equal!(scale.version(), object.version());
    Ok(())
}

async fn scale_changes_the_replicas(w: World) -> Outcome {
    let widgets = with_scale(&w).await?;
    let mut scale = widgets.scale().get("a").await?.ok()?;
    scale.set("spec/replicas", 5);
    equal!(widgets.scale().replace(&scale).await?.is(200)?.at("spec/replicas"), 5);
    equal!(widgets.get("a").await?.ok()?.at("spec/size"), 5);
    Ok(())
}

async fn scale_can_be_patched(w: World) -> Outcome {
    let widgets = with_scale(&w).await?;
    widgets.scale().merge("a", &json!({"spec": {"replicas": 4}})).await?.is(200)?;
    equal!(widgets.get("a").await?.ok()?.at("spec/size"), 4);
    Ok(())
}

async fn scale_with_an_old_resource_version_is_a_conflict(w: World) -> Outcome {
    let widgets = with_scale(&w).await?;
    let mut old = widgets.scale().get("a").await?.ok()?;
    widgets.merge("a", &json!({"spec": {"size": 4}})).await?.ok()?;
    old.set("spec/replicas", 5);
    widgets.scale().replace(&old).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn scale_below_zero_is_invalid(w: World) -> Outcome {
    let widgets = with_scale(&w).await?;
    widgets.scale().merge("a", &json!({"spec": {"replicas": -1}})).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn scale_of_a_missing_object_is_not_found(w: World) -> Outcome {
    let widgets = with_scale(&w).await?;
    widgets.scale().get("b").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn scale_of_built_in_kinds_shows_and_changes_the_replicas(w: World) -> Outcome {
    w.deployments().create(&deployment("a")).await?.ok()?;
    w.stateful_sets().create(&stateful_set("a")).await?.ok()?;
    for workloads in [w.deployments(), w.stateful_sets()] {
        let scale = workloads.scale().get("a").await?.is(200)?;
        equal!(scale.text("kind"), "Scale");
        equal!(scale.number("spec/replicas"), 0);
        equal!(scale.text("status/selector"), "app=a");
        workloads.scale().merge("a", &json!({"spec": {"replicas": 1}})).await?.is(200)?;
        equal!(workloads.get("a").await?.ok()?.at("spec/replicas"), 1);
    }
    Ok(())
}

cases! { "subresources":
    create_drops_status,
    a_write_of_the_whole_ignores_status,
    a_write_of_status_ignores_the_rest,
    a_write_of_status_moves_the_resource_version,
    get_of_status_is_the_whole_object,
    status_can_be_patched_by_json_patch,
    status_is_validated_and_pruned,
    status_of_a_missing_object_is_not_found,
    a_kind_without_status_has_no_such_path,
    status_of_a_built_in_kind_is_separate,
    scale_shows_the_replicas,
    scale_changes_the_replicas,
    scale_can_be_patched,
    scale_with_an_old_resource_version_is_a_conflict,
    scale_below_zero_is_invalid,
    scale_of_a_missing_object_is_not_found,
    scale_of_built_in_kinds_shows_and_changes_the_replicas,
}
