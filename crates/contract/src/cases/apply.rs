//! Server-side apply: who owns a field, and what happens when two want it.

use serde_json::{Value, json};

use crate::{
    Outcome, World,
    crd::{Crd, widget},
    json::{Json, applied, cases, check, entry, equal},
    resource::APPLY_PATCH,
    samples::{config_map, deployment, labelled},
};

/// The fields that a 409 names, sorted.
fn contested(status: &Value) -> Vec<&str> {
    let mut fields: Vec<&str> = status.list("details/causes").iter().map(|c| c.text("field")).collect();
    fields.sort_unstable();
    fields
}

async fn apply_creates_what_is_missing_with_201(w: World) -> Outcome {
    let made = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.is(201)?;
    equal!(made.at("data"), {"k": "v"});
    check!(!made.uid().is_empty(), "{made}");
    equal!(w.config_maps().get("a").await?.ok()?, made);
    Ok(())
}

async fn apply_changes_what_exists_with_200(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.is(201)?;
    let changed = w.config_maps().apply("m", &config_map("a", json!({"k": "w"}))).await?.is(200)?;
    equal!(changed.at("data"), {"k": "w"});
    Ok(())
}

async fn apply_records_its_manager_and_fields(w: World) -> Outcome {
    let made = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    let entry = entry(&made, "m", "Apply");
    equal!(entry.text("apiVersion"), "v1");
    equal!(entry.text("fieldsType"), "FieldsV1");
    check!(!entry.text("time").is_empty(), "{entry}");
    equal!(entry.at("fieldsV1"), {"f:data": {"f:k": {}}});
    Ok(())
}

async fn apply_does_not_own_what_identifies_the_object(w: World) -> Outcome {
    let mut body = labelled("a", json!({"x": "1"}));
    body.set("metadata/namespace", w.namespace());
    let made = w.config_maps().apply("m", &body).await?.ok()?;
    equal!(applied(&made, "m"), {"f:metadata": {"f:labels": {"f:x": {}}}});
    Ok(())
}

async fn apply_of_the_same_again_changes_nothing(w: World) -> Outcome {
    let first = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    let second = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.is(200)?;
    equal!(second, first);
    Ok(())
}

async fn apply_of_a_deployment_again_changes_nothing(w: World) -> Outcome {
    let first = w.deployments().apply("m", &deployment("a")).await?.ok()?;
    let second = w.deployments().apply("m", &deployment("a")).await?.is(200)?;
    equal!(second.generation(), first.generation());
    equal!(entry(&second, "m", "Apply"), entry(&first, "m", "Apply"));
    Ok(())
}

async fn a_field_left_out_is_removed(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v", "gone": "v"}))).await?.ok()?;
    let now = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    equal!(now.at("data"), {"k": "v"});
    equal!(applied(&now, "m"), {"f:data": {"f:k": {}}});
    Ok(())
}

async fn a_field_left_out_stays_when_another_owns_it_too(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v", "shared": "v"}))).await?.ok()?;
    w.config_maps().apply("n", &config_map("a", json!({"shared": "v"}))).await?.ok()?;
    let now = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    equal!(now.at("data"), {"k": "v", "shared": "v"});
    equal!(applied(&now, "m"), {"f:data": {"f:k": {}}});
    equal!(applied(&now, "n"), {"f:data": {"f:shared": {}}});
    Ok(())
}

async fn a_field_goes_when_its_last_owner_leaves_it_out(w: World) -> Outcome {
    for manager in ["m", "n"] {
        w.config_maps().apply(manager, &config_map("a", json!({"k": "v"}))).await?.ok()?;
    }
    w.config_maps().apply("m", &config_map("a", json!({"m": "v"}))).await?.ok()?;
    let now = w.config_maps().apply("n", &config_map("a", json!({"n": "v"}))).await?.ok()?;
    equal!(now.at("data"), {"m": "v", "n": "v"});
    Ok(())
}

async fn fields_of_others_are_left_alone(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({"theirs": "v"}))).await?.ok()?;
    let now = w.config_maps().apply("m", &config_map("a", json!({"mine": "v"}))).await?.ok()?;
    equal!(now.at("data"), {"theirs": "v", "mine": "v"});
    Ok(())
}

async fn another_value_for_an_applied_field_is_a_conflict(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v", "l": "v"}))).await?.ok()?;
    let status =
        w.config_maps().apply("n", &config_map("a", json!({"k": "w"}))).await?.refused(409, "Conflict")?;
    equal!(contested(&status), [".data.k"]);
    let cause = status.at("details/causes/0");
    equal!(cause.text("reason"), "FieldManagerConflict");
    check!(cause.text("message").contains(r#"conflict with "m""#), "{cause}");
    equal!(w.config_maps().get("a").await?.ok()?.at("data/k"), "v");
    Ok(())
}

async fn another_value_for_an_updated_field_is_a_conflict(w: World) -> Outcome {
    w.config_maps().as_manager("u").create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    let status =
        w.config_maps().apply("m", &config_map("a", json!({"k": "w"}))).await?.refused(409, "Conflict")?;
    let message = status.text("details/causes/0/message");
    check!(message.contains(r#"conflict with "u""#) && message.contains("using v1"), "{message}");
    Ok(())
}

async fn a_conflict_names_every_field(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "1"}))).await?.ok()?;
    w.config_maps().apply("n", &config_map("a", json!({"l": "1"}))).await?.ok()?;
    let mine = config_map("a", json!({"k": "2", "l": "2"}));
    let status = w.config_maps().apply("o", &mine).await?.refused(409, "Conflict")?;
    equal!(contested(&status), [".data.k", ".data.l"]);
    Ok(())
}

async fn a_conflict_changes_nothing_at_all(w: World) -> Outcome {
    let before = w.config_maps().apply("m", &config_map("a", json!({"k": "1"}))).await?.ok()?;
    let mine = config_map("a", json!({"k": "2", "l": "2"}));
    w.config_maps().apply("n", &mine).await?.refused(409, "Conflict")?;
    equal!(w.config_maps().get("a").await?.ok()?, before);
    Ok(())
}

async fn force_takes_the_field(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v", "l": "v"}))).await?.ok()?;
    let now = w.config_maps().force("n", &config_map("a", json!({"k": "w"}))).await?.is(200)?;
    equal!(now.at("data"), {"k": "w", "l": "v"});
    equal!(applied(&now, "n"), {"f:data": {"f:k": {}}});
    equal!(applied(&now, "m"), {"f:data": {"f:l": {}}});
    Ok(())
}

async fn force_on_the_same_value_shares_it(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    let now = w.config_maps().force("n", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    equal!(applied(&now, "m"), {"f:data": {"f:k": {}}});
    equal!(applied(&now, "n"), {"f:data": {"f:k": {}}});
    Ok(())
}

async fn who_lost_a_field_by_force_does_not_remove_it(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v", "l": "v"}))).await?.ok()?;
    w.config_maps().force("n", &config_map("a", json!({"k": "w"}))).await?.ok()?;
    let now = w.config_maps().apply("m", &config_map("a", json!({"l": "v"}))).await?.ok()?;
    equal!(now.at("data"), {"k": "w", "l": "v"});
    Ok(())
}

async fn the_same_value_is_shared_without_conflict(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    let now = w.config_maps().apply("n", &config_map("a", json!({"k": "v"}))).await?.is(200)?;
    equal!(applied(&now, "m"), applied(&now, "n"));
    Ok(())
}

async fn a_shared_field_cannot_be_changed_by_one_of_its_owners(w: World) -> Outcome {
    for manager in ["m", "n"] {
        w.config_maps().apply(manager, &config_map("a", json!({"k": "v"}))).await?.ok()?;
    }
    w.config_maps().apply("m", &config_map("a", json!({"k": "w"}))).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn an_update_takes_the_fields_it_changes(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v", "l": "v"}))).await?.ok()?;
    let now = w.config_maps().as_manager("u").merge("a", &json!({"data": {"k": "w"}})).await?.ok()?;
    equal!(applied(&now, "m"), {"f:data": {"f:l": {}}});
    equal!(entry(&now, "u", "Update").at("fieldsV1"), {"f:data": {"f:k": {}}});
    w.config_maps()
        .apply("m", &config_map("a", json!({"k": "v", "l": "v"})))
        .await?
        .refused(409, "Conflict")?;
    Ok(())
}

async fn an_update_to_the_same_value_takes_nothing(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    let now = w.config_maps().as_manager("u").merge("a", &json!({"data": {"k": "v"}})).await?.ok()?;
    equal!(applied(&now, "m"), {"f:data": {"f:k": {}}});
    equal!(entry(&now, "u", "Update"), null);
    Ok(())
}

async fn a_field_removed_by_an_update_belongs_to_nobody(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v", "l": "v"}))).await?.ok()?;
    let now = w.config_maps().as_manager("u").merge("a", &json!({"data": {"k": null}})).await?.ok()?;
    equal!(applied(&now, "m"), {"f:data": {"f:l": {}}});
    let again = w.config_maps().apply("n", &config_map("a", json!({"k": "w"}))).await?.is(200)?;
    equal!(again.at("data/k"), "w");
    Ok(())
}

async fn labels_and_annotations_are_owned_key_by_key(w: World) -> Outcome {
    let body = |label: &str| {
        let mut body = labelled("a", json!({label: "1"}));
        body.set(&format!("metadata/annotations/{label}"), "1");
        body
    };
    w.config_maps().apply("m", &body("m")).await?.ok()?;
    let now = w.config_maps().apply("n", &body("n")).await?.ok()?;
    equal!(now.at("metadata/labels"), {"m": "1", "n": "1"});
    equal!(
        applied(&now, "n"),
        {"f:metadata": {"f:labels": {"f:n": {}}, "f:annotations": {"f:n": {}}}}
    );
    Ok(())
}

async fn defaults_belong_to_nobody(w: World) -> Outcome {
    let made = w.deployments().apply("m", &deployment("a")).await?.ok()?;
    equal!(made.at("spec/revisionHistoryLimit"), 10);
    check!(!applied(&made, "m").has("f:spec/f:revisionHistoryLimit"), "{}", applied(&made, "m"));
    let mut other = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}});
    other.set("spec/revisionHistoryLimit", 3);
    let now = w.deployments().apply("n", &other).await?.is(200)?;
    equal!(now.at("spec/revisionHistoryLimit"), 3);
    Ok(())
}

async fn a_field_left_out_goes_back_to_its_default(w: World) -> Outcome {
    let mut with = deployment("a");
    with.set("spec/revisionHistoryLimit", 3);
    equal!(w.deployments().apply("m", &with).await?.ok()?.at("spec/revisionHistoryLimit"), 3);
    equal!(w.deployments().apply("m", &deployment("a")).await?.ok()?.at("spec/revisionHistoryLimit"), 10);
    Ok(())
}

async fn a_custom_field_left_out_goes_back_to_its_default(w: World) -> Outcome {
    let number = json!({"type": "integer", "default": 5});
    let spec = json!({"type": "object", "properties": {"n": number, "other": number}});
    let widgets = Crd::new(&w, spec).install(&w).await?;
    equal!(widgets.apply("m", &widget(&w, "a", json!({"n": 3, "other": 1}))).await?.ok()?.at("spec/n"), 3);
    equal!(widgets.apply("m", &widget(&w, "a", json!({"other": 1}))).await?.ok()?.at("spec/n"), 5);
    Ok(())
}

async fn apply_needs_a_manager(w: World) -> Outcome {
    let body = config_map("a", json!({}));
    w.config_maps().patch("a", APPLY_PATCH, &body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn apply_refuses_managed_fields_in_the_body(w: World) -> Outcome {
    let made = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    let mut body = config_map("a", json!({"k": "w"}));
    body.set("metadata/managedFields", made.at("metadata/managedFields").clone());
    w.config_maps().apply("m", &body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn apply_under_another_name_is_a_bad_request(w: World) -> Outcome {
    let body = config_map("b", json!({}));
    w.config_maps().as_manager("m").patch("a", APPLY_PATCH, &body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn apply_with_a_uid_does_not_create(w: World) -> Outcome {
    let mut body = config_map("a", json!({"k": "v"}));
    body.set("metadata/uid", "11111111-1111-1111-1111-111111111111");
    w.config_maps().apply("m", &body).await?.refused(409, "Conflict")?;
    check!(!w.config_maps().exists("a").await?, "the object was made");
    Ok(())
}

async fn apply_cannot_change_the_uid(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    let mut body = config_map("a", json!({"k": "w"}));
    body.set("metadata/uid", "11111111-1111-1111-1111-111111111111");
    w.config_maps().apply("m", &body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn apply_with_the_current_resource_version_passes(w: World) -> Outcome {
    let made = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    let mut body = config_map("a", json!({"k": "w"}));
    body.set("metadata/resourceVersion", made.version());
    equal!(w.config_maps().apply("m", &body).await?.is(200)?.at("data/k"), "w");
    Ok(())
}

async fn apply_with_an_old_resource_version_is_refused_even_by_force(w: World) -> Outcome {
    let made = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    w.config_maps().apply("m", &config_map("a", json!({"k": "w"}))).await?.ok()?;
    let mut body = config_map("a", json!({"k": "x"}));
    body.set("metadata/resourceVersion", made.version());
    w.config_maps().with("force", "true").apply("m", &body).await?.refused(409, "Conflict")?;
    equal!(w.config_maps().get("a").await?.is(200)?.at("data/k"), "w");
    Ok(())
}

async fn apply_is_validated_like_any_write(w: World) -> Outcome {
    let spec = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}});
    let widgets = Crd::new(&w, spec).install(&w).await?;
    widgets.apply("m", &widget(&w, "a", json!({"n": 9}))).await?.refused(422, "Invalid")?;
    check!(!widgets.exists("a").await?, "the object was made");
    Ok(())
}

async fn apply_of_a_field_of_the_wrong_type_is_refused(w: World) -> Outcome {
    let reply = w.config_maps().apply("m", &config_map("a", json!({"k": {"deep": 1}}))).await?;
    check!(reply.code >= 400, "{} {}", reply.code, reply.body);
    check!(!w.config_maps().exists("a").await?, "the object was made");
    Ok(())
}

async fn force_is_refused_on_other_patches(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let forced = w.config_maps().with("force", "true");
    forced.merge("a", &json!({"data": {"k": "v"}})).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn objects_without_a_schema_are_owned_map_by_map(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    widgets.apply("m", &widget(&w, "a", json!({"deep": {"m": 1}, "list": [1, 2]}))).await?.ok()?;
    let now = widgets.apply("n", &widget(&w, "a", json!({"deep": {"n": 1}}))).await?.ok()?;
    equal!(now.at("spec"), {"deep": {"m": 1, "n": 1}, "list": [1, 2]});
    check!(applied(&now, "n").has("f:spec/f:deep/f:n"), "{now}");
    check!(!applied(&now, "n").has("f:spec/f:deep/f:m"), "{now}");
    let list = widget(&w, "a", json!({"list": [1, 2, 3]}));
    let status = widgets.apply("n", &list).await?.refused(409, "Conflict")?;
    equal!(contested(&status), [".spec.list"]);
    Ok(())
}

cases! { "apply":
    apply_creates_what_is_missing_with_201,
    apply_changes_what_exists_with_200,
    apply_records_its_manager_and_fields,
    apply_does_not_own_what_identifies_the_object,
    apply_of_the_same_again_changes_nothing,
    apply_of_a_deployment_again_changes_nothing,
    a_field_left_out_is_removed,
    a_field_left_out_stays_when_another_owns_it_too,
    a_field_goes_when_its_last_owner_leaves_it_out,
    fields_of_others_are_left_alone,
    another_value_for_an_applied_field_is_a_conflict,
    another_value_for_an_updated_field_is_a_conflict,
    a_conflict_names_every_field,
    a_conflict_changes_nothing_at_all,
    force_takes_the_field,
    force_on_the_same_value_shares_it,
    who_lost_a_field_by_force_does_not_remove_it,
    the_same_value_is_shared_without_conflict,
    a_shared_field_cannot_be_changed_by_one_of_its_owners,
    an_update_takes_the_fields_it_changes,
    an_update_to_the_same_value_takes_nothing,
    a_field_removed_by_an_update_belongs_to_nobody,
    labels_and_annotations_are_owned_key_by_key,
    defaults_belong_to_nobody,
    a_field_left_out_goes_back_to_its_default,
    a_custom_field_left_out_goes_back_to_its_default,
    apply_needs_a_manager,
    apply_refuses_managed_fields_in_the_body,
    apply_under_another_name_is_a_bad_request,
    apply_with_a_uid_does_not_create,
    apply_cannot_change_the_uid,
    apply_with_the_current_resource_version_passes,
    apply_with_an_old_resource_version_is_refused_even_by_force,
    apply_is_validated_like_any_write,
    apply_of_a_field_of_the_wrong_type_is_refused,
    force_is_refused_on_other_patches,
    objects_without_a_schema_are_owned_map_by_map,
}
