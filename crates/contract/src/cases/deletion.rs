//! Finalizers, deletionTimestamp and grace periods.

use serde_json::json;

use crate::{
    Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, cause, check, equal},
    resource::JSON_PATCH,
    samples::{config_map, pod, with_finalizers},
};

const HOLD: &str = "capstan.dev/hold";

async fn a_finalizer_holds_a_deleted_object(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &[HOLD])).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    let held = w.config_maps().get("a").await?.is(200)?;
    check!(!held.text("metadata/deletionTimestamp").is_empty(), "{held}");
    equal!(held.at("metadata/deletionGracePeriodSeconds"), 0);
    equal!(held.at("metadata/finalizers"), [HOLD]);
    Ok(())
}

async fn the_answer_to_a_held_delete_is_the_object(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &[HOLD])).await?.ok()?;
    let answer = w.config_maps().delete("a").await?.ok()?;
    equal!(answer.text("kind"), "ConfigMap");
    check!(answer.has("metadata/deletionTimestamp"), "{answer}");
    Ok(())
}

async fn the_last_finalizer_gone_the_object_is_gone(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &[HOLD, "capstan.dev/more"])).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    let patch = json!({"metadata": {"finalizers": [HOLD]}});
    w.config_maps().merge("a", &patch).await?.is(200)?;
    check!(w.config_maps().exists("a").await?, "it is gone too early");
    let patch = json!([{"op": "remove", "path": "/metadata/finalizers"}]);
    w.config_maps().patch("a", JSON_PATCH, &patch).await?.is(200)?;
    w.config_maps().get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn a_replace_can_take_the_last_finalizer(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &[HOLD])).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    let mut held = w.config_maps().get("a").await?.ok()?;
    held.remove("metadata/finalizers");
    w.config_maps().replace(&held).await?.is(200)?;
    check!(!w.config_maps().exists("a").await?, "it is still there");
    Ok(())
}

async fn taking_the_finalizer_of_a_living_object_does_not_delete_it(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &[HOLD])).await?.ok()?;
    w.config_maps().merge("a", &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    check!(w.config_maps().exists("a").await?, "it is gone");
    Ok(())
}

async fn a_second_delete_changes_nothing(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &[HOLD])).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    let before = w.config_maps().get("a").await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    equal!(w.config_maps().get("a").await?.ok()?, before);
    Ok(())
}

async fn a_dying_object_gets_no_new_finalizers(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &[HOLD])).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    let patch = json!({"metadata": {"finalizers": [HOLD, "capstan.dev/late"]}});
    let status = w.config_maps().merge("a", &patch).await?.refused(422, "Invalid")?;
    equal!(cause(&status, "metadata.finalizers").text("reason"), "FieldValueForbidden");
    Ok(())
}

async fn a_dying_object_can_still_be_changed(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    let mut body = widget(&w, "a", json!({"n": 1}));
    body.set("metadata/finalizers", json!([HOLD]));
    widgets.create(&body).await?.ok()?;
    widgets.delete("a").await?.ok()?;
    equal!(widgets.merge("a", &json!({"spec": {"n": 2}})).await?.is(200)?.at("spec/n"), 2);
    widgets.status().merge("a", &json!({"status": {"n": 2}})).await?.is(200)?;
    widgets.merge("a", &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    check!(!widgets.exists("a").await?, "it is still there");
    Ok(())
}

async fn a_deletion_cannot_be_taken_back(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &[HOLD])).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    let mut held = w.config_maps().get("a").await?.ok()?;
    let since = held.text("metadata/deletionTimestamp").to_owned();
    held.remove("metadata/deletionTimestamp");
    held.set("metadata/labels/x", "1");
    let now = w.config_maps().replace(&held).await?.ok()?;
    equal!(now.text("metadata/deletionTimestamp"), since);
    Ok(())
}

async fn a_client_cannot_mark_an_object_as_dying(w: World) -> Outcome {
    let mut object = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    object.set("metadata/deletionTimestamp", "2030-01-01T00:00:00Z");
    w.config_maps().replace(&object).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn the_name_of_a_dying_object_is_taken(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &[HOLD])).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    let status = w.config_maps().create(&config_map("a", json!({}))).await?.refused(409, "AlreadyExists")?;
    check!(status.text("message").contains("object is being deleted"), "{status}");
    Ok(())
}

async fn apply_to_a_dying_object_does_not_revive_it(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &[HOLD])).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    let now = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.is(200)?;
    check!(now.has("metadata/deletionTimestamp"), "{now}");
    Ok(())
}

async fn a_finalizer_of_a_built_in_kind_needs_a_domain(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &["hold"])).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_finalizer_that_is_no_name_is_invalid(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    let mut body = widget(&w, "a", json!({}));
    body.set("metadata/finalizers", json!(["not a name"]));
    widgets.create(&body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_pod_on_no_node_goes_at_once(w: World) -> Outcome {
    let pods = w.pods().await?;
    pods.create(&pod("a")).await?.ok()?;
    pods.delete("a").await?.is(200)?;
    check!(!pods.exists("a").await?, "it is still there");
    Ok(())
}

async fn a_pod_on_a_node_waits_for_the_kubelet(w: World) -> Outcome {
    let pods = w.pods().await?;
    let mut body = pod("a");
    body.set("spec/nodeName", "no-such-node");
    body.set("spec/terminationGracePeriodSeconds", 25);
    pods.create(&body).await?.ok()?;
    pods.delete("a").await?.is(200)?;
    let dying = pods.get("a").await?.is(200)?;
    check!(dying.has("metadata/deletionTimestamp"), "{dying}");
    equal!(dying.at("metadata/deletionGracePeriodSeconds"), 25);
    pods.delete_with("a", &json!({"gracePeriodSeconds": 0})).await?.is(200)?;
    check!(!pods.exists("a").await?, "it is still there");
    Ok(())
}

async fn the_grace_period_can_be_shortened(w: World) -> Outcome {
    let pods = w.pods().await?;
    let mut body = pod("a");
    body.set("spec/nodeName", "no-such-node");
    pods.create(&body).await?.ok()?;
    pods.delete_with("a", &json!({"gracePeriodSeconds": 20})).await?.is(200)?;
    equal!(pods.get("a").await?.ok()?.at("metadata/deletionGracePeriodSeconds"), 20);
    pods.delete_with("a", &json!({"gracePeriodSeconds": 10})).await?.is(200)?;
    equal!(pods.get("a").await?.ok()?.at("metadata/deletionGracePeriodSeconds"), 10);
    Ok(())
}

async fn a_grace_period_does_not_hold_what_has_none(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    w.config_maps().delete_with("a", &json!({"gracePeriodSeconds": 60})).await?.is(200)?;
    check!(!w.config_maps().exists("a").await?, "it is still there");
    Ok(())
}

cases! { "deletion":
    a_finalizer_holds_a_deleted_object,
    the_answer_to_a_held_delete_is_the_object,
    the_last_finalizer_gone_the_object_is_gone,
    a_replace_can_take_the_last_finalizer,
    taking_the_finalizer_of_a_living_object_does_not_delete_it,
    a_second_delete_changes_nothing,
    a_dying_object_gets_no_new_finalizers,
    a_dying_object_can_still_be_changed,
    a_deletion_cannot_be_taken_back,
    a_client_cannot_mark_an_object_as_dying,
    the_name_of_a_dying_object_is_taken,
    apply_to_a_dying_object_does_not_revive_it,
    a_finalizer_of_a_built_in_kind_needs_a_domain,
    a_finalizer_that_is_no_name_is_invalid,
    a_pod_on_no_node_goes_at_once,
    a_pod_on_a_node_waits_for_the_kubelet,
    the_grace_period_can_be_shortened,
    a_grace_period_does_not_hold_what_has_none,
}
