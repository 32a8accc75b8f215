//! managedFields: who is recorded, under which name, for which subresource, and how the record is cleared.

use serde_json::json;

use crate::{
    Outcome, World,
    crd::{Crd, widget},
    json::{Json, applied, cases, check, entry, equal},
    samples::{config_map, deployment},
};

async fn a_create_is_recorded_as_an_update(w: World) -> Outcome {
    let made = w.config_maps().as_manager("m").create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    let entry = entry(&made, "m", "Update");
    equal!(entry.at("fieldsV1"), {"f:data": {".": {}, "f:k": {}}});
    equal!(entry.text("apiVersion"), "v1");
    equal!(made.list("metadata/managedFields").len(), 1);
    Ok(())
}

async fn without_a_name_the_manager_is_the_user_agent(w: World) -> Outcome {
    let maps = w.config_maps().header("user-agent", "my-agent/1.2 (linux)");
    let made = maps.create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    check!(!entry(&made, "my-agent", "Update").is_null(), "{made}");
    Ok(())
}

async fn a_manager_has_one_entry_for_all_its_updates(w: World) -> Outcome {
    let maps = w.config_maps().as_manager("m");
    maps.create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    let now = maps.merge("a", &json!({"data": {"l": "v"}})).await?.ok()?;
    equal!(now.list("metadata/managedFields").len(), 1);
    check!(entry(&now, "m", "Update").has("fieldsV1/f:data/f:l"), "{now}");
    Ok(())
}

async fn apply_and_update_of_one_manager_are_two_entries(w: World) -> Outcome {
    w.config_maps().as_manager("m").create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    let now = w.config_maps().apply("m", &config_map("a", json!({"l": "v"}))).await?.ok()?;
    check!(!entry(&now, "m", "Update").is_null(), "{now}");
    equal!(applied(&now, "m"), {"f:data": {"f:l": {}}});
    Ok(())
}

async fn a_name_of_more_than_128_characters_is_refused(w: World) -> Outcome {
    let maps = w.config_maps().as_manager(&"m".repeat(129));
    maps.create(&config_map("a", json!({}))).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_replace_without_managed_fields_keeps_the_record(w: World) -> Outcome {
    let made = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    let mut body = made.clone();
    body.remove("metadata/managedFields");
    body.set("data/l", "v");
    let now = w.config_maps().as_manager("u").replace(&body).await?.ok()?;
    equal!(applied(&now, "m"), {"f:data": {"f:k": {}}});
    Ok(())
}

/// The documentation says that it does not; every server does it.
async fn an_empty_list_clears_the_record(w: World) -> Outcome {
    let mut object = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    object.set("metadata/managedFields", json!([]));
    object.set("data/l", "v");
    let now = w.config_maps().as_manager("u").replace(&object).await?.ok()?;
    check!(!now.has("metadata/managedFields"), "{now}");
    Ok(())
}

async fn a_list_with_one_empty_entry_clears_the_record(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    let now = w.config_maps().merge("a", &json!({"metadata": {"managedFields": [{}]}})).await?.ok()?;
    check!(!now.has("metadata/managedFields"), "{now}");
    Ok(())
}

async fn after_clearing_an_update_records_nothing(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    w.config_maps().merge("a", &json!({"metadata": {"managedFields": [{}]}})).await?.ok()?;
    let now = w.config_maps().as_manager("u").merge("a", &json!({"data": {"l": "v"}})).await?.ok()?;
    check!(!now.has("metadata/managedFields"), "{now}");
    Ok(())
}

async fn after_clearing_the_first_apply_finds_a_former_owner(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    w.config_maps().merge("a", &json!({"metadata": {"managedFields": [{}]}})).await?.ok()?;
    let other = config_map("a", json!({"k": "w"}));
    let status = w.config_maps().apply("n", &other).await?.refused(409, "Conflict")?;
    check!(status.text("details/causes/0/message").contains("before-first-apply"), "{status}");
    let now = w.config_maps().apply("n", &config_map("a", json!({"l": "v"}))).await?.ok()?;
    check!(entry(&now, "before-first-apply", "Update").has("fieldsV1/f:data/f:k"), "{now}");
    Ok(())
}

async fn a_status_update_has_an_entry_of_its_own(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    widgets.as_manager("m").create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    let now = widgets.status().as_manager("m").merge("a", &json!({"status": {"n": 1}})).await?.ok()?;
    let entries = now.list("metadata/managedFields");
    let of_status = entries.iter().find(|e| e.text("subresource") == "status").cloned().unwrap_or_default();
    equal!(of_status.text("manager"), "m");
    equal!(of_status.text("operation"), "Update");
    check!(of_status.has("fieldsV1/f:status/f:n"), "{of_status}");
    equal!(entries.len(), 2);
    Ok(())
}

async fn an_applied_status_has_an_entry_of_its_own(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    widgets.apply("m", &widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    let mut body = widget(&w, "a", json!({"n": 9}));
    body.set("status/n", 1);
    let now = widgets.status().apply("m", &body).await?.is(200)?;
    equal!(now.at("spec/n"), 1);
    equal!(now.at("status/n"), 1);
    let entries = now.list("metadata/managedFields");
    let of_status = entries.iter().find(|e| e.text("subresource") == "status").cloned().unwrap_or_default();
    check!(of_status.has("fieldsV1/f:status/f:n") && !of_status.has("fieldsV1/f:spec"), "{of_status}");
    equal!(of_status.text("operation"), "Apply");
    Ok(())
}

async fn status_in_an_apply_of_the_whole_is_neither_taken_nor_owned(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    let mut body = widget(&w, "a", json!({"n": 1}));
    body.set("status/n", 1);
    let made = widgets.apply("m", &body).await?.ok()?;
    check!(!made.has("status"), "{made}");
    check!(!applied(&made, "m").has("f:status"), "{made}");
    Ok(())
}

async fn an_applied_status_does_not_create(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    let mut body = widget(&w, "a", json!({}));
    body.set("status/n", 1);
    equal!(widgets.status().apply("m", &body).await?.code, 404);
    Ok(())
}

async fn a_status_applied_by_another_conflicts(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    let mut body = widget(&w, "a", json!({}));
    widgets.create(&body).await?.ok()?;
    body.set("status/n", 1);
    widgets.status().apply("m", &body).await?.ok()?;
    body.set("status/n", 2);
    let status = widgets.status().apply("n", &body).await?.refused(409, "Conflict")?;
    equal!(status.text("details/causes/0/field"), ".status.n");
    Ok(())
}

async fn scaling_takes_the_replicas_from_the_applier(w: World) -> Outcome {
    w.deployments().apply("m", &deployment("a")).await?.ok()?;
    let to_one = json!({"spec": {"replicas": 1}});
    w.deployments().scale().as_manager("scaler").merge("a", &to_one).await?.ok()?;
    let now = w.deployments().get("a").await?.ok()?;
    let entries = now.list("metadata/managedFields");
    let of_scale = entries.iter().find(|e| e.text("manager") == "scaler").cloned().unwrap_or_default();
    equal!(of_scale.text("subresource"), "scale");
    equal!(of_scale.at("fieldsV1"), {"f:spec": {"f:replicas": {}}});
    check!(!applied(&now, "m").has("f:spec/f:replicas"), "{now}");
    w.deployments().apply("m", &deployment("a")).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn a_no_op_keeps_the_times(w: World) -> Outcome {
    let made = w.config_maps().as_manager("m").create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    let now = w.config_maps().as_manager("n").merge("a", &json!({"data": {"k": "v"}})).await?.ok()?;
    equal!(now.at("metadata/managedFields"), made.at("metadata/managedFields"));
    Ok(())
}

async fn a_manager_can_be_handed_over_by_writing_the_record(w: World) -> Outcome {
    let mut object =
        w.config_maps().as_manager("old").create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    object.set("metadata/managedFields/0/manager", "new");
    object.set("metadata/managedFields/0/operation", "Apply");
    w.config_maps().as_manager("mover").replace(&object).await?.ok()?;
    let now = w.config_maps().apply("new", &config_map("a", json!({"l": "v"}))).await?.is(200)?;
    equal!(now.at("data"), {"l": "v"});
    check!(entry(&now, "old", "Update").is_null(), "{now}");
    Ok(())
}

cases! { "managers":
    a_create_is_recorded_as_an_update,
    without_a_name_the_manager_is_the_user_agent,
    a_manager_has_one_entry_for_all_its_updates,
    apply_and_update_of_one_manager_are_two_entries,
    a_name_of_more_than_128_characters_is_refused,
    a_replace_without_managed_fields_keeps_the_record,
    an_empty_list_clears_the_record,
    a_list_with_one_empty_entry_clears_the_record,
    after_clearing_an_update_records_nothing,
    after_clearing_the_first_apply_finds_a_former_owner,
    a_status_update_has_an_entry_of_its_own,
    an_applied_status_has_an_entry_of_its_own,
    status_in_an_apply_of_the_whole_is_neither_taken_nor_owned,
    an_applied_status_does_not_create,
    a_status_applied_by_another_conflicts,
    scaling_takes_the_replicas_from_the_applier,
    a_no_op_keeps_the_times,
    a_manager_can_be_handed_over_by_writing_the_record,
}
