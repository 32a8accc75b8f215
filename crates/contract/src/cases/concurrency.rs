//! Optimistic concurrency: resource versions and UIDs as preconditions of writes.

use futures::future::join_all;
use serde_json::json;

use crate::{
    Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, cause, check, equal},
    resource::JSON_PATCH,
    samples::config_map,
};

async fn replace_with_an_old_resource_version_is_a_conflict(w: World) -> Outcome {
    let old = w.config_maps().create(&config_map("a", json!({"k": "1"}))).await?.ok()?;
    w.config_maps().merge("a", &json!({"data": {"k": "2"}})).await?.ok()?;
    let mut mine = old.clone();
    mine.set("data/k", "3");
    let status = w.config_maps().replace(&mine).await?.refused(409, "Conflict")?;
    equal!(status.at("details"), {"name": "a", "kind": "configmaps"});
    check!(status.text("message").contains("the object has been modified"), "{status}");
    equal!(w.config_maps().get("a").await?.ok()?.at("data/k"), "2");
    Ok(())
}

async fn replace_with_an_old_resource_version_conflicts_even_when_nothing_differs(w: World) -> Outcome {
    let old = w.config_maps().create(&config_map("a", json!({"k": "1"}))).await?.ok()?;
    let mut same = w.config_maps().merge("a", &json!({"data": {"k": "2"}})).await?.ok()?;
    same.set("metadata/resourceVersion", old.version());
    w.config_maps().replace(&same).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn replace_without_a_resource_version_is_unconditional_for_config_maps(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({"k": "1"}))).await?.ok()?;
    w.config_maps().merge("a", &json!({"data": {"k": "2"}})).await?.ok()?;
    let replaced = w.config_maps().replace(&config_map("a", json!({"k": "3"}))).await?.is(200)?;
    equal!(replaced.at("data/k"), "3");
    Ok(())
}

async fn replace_of_a_custom_object_needs_a_resource_version(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    let status = widgets.replace(&widget(&w, "a", json!({"n": 2}))).await?.refused(422, "Invalid")?;
    equal!(cause(&status, "metadata.resourceVersion").text("reason"), "FieldValueInvalid");
    Ok(())
}

async fn replace_with_anothers_uid_is_a_conflict(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let mut body = config_map("a", json!({"k": "v"}));
    body.set("metadata/uid", "11111111-1111-1111-1111-111111111111");
    w.config_maps().replace(&body).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn an_object_of_a_former_life_cannot_overwrite_the_new_one(w: World) -> Outcome {
    let mut former = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    w.config_maps().delete("a").await?.ok()?;
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    former.set("data/k", "v");
    w.config_maps().replace(&former).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn a_merge_patch_with_an_old_resource_version_is_a_conflict(w: World) -> Outcome {
    let old = w.config_maps().create(&config_map("a", json!({"k": "1"}))).await?.ok()?;
    let new = w.config_maps().merge("a", &json!({"data": {"k": "2"}})).await?.ok()?;
    let patch = |version: &str| json!({"metadata": {"resourceVersion": version}, "data": {"k": "3"}});
    w.config_maps().merge("a", &patch(old.version())).await?.refused(409, "Conflict")?;
    equal!(w.config_maps().merge("a", &patch(new.version())).await?.is(200)?.at("data/k"), "3");
    Ok(())
}

async fn a_json_patch_can_test_the_resource_version(w: World) -> Outcome {
    let old = w.config_maps().create(&config_map("a", json!({"k": "1"}))).await?.ok()?;
    let new = w.config_maps().merge("a", &json!({"data": {"k": "2"}})).await?.ok()?;
    let patch = |version: &str| {
        json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "replace", "path": "/data/k", "value": "3"},
        ])
    };
    w.config_maps().patch("a", JSON_PATCH, &patch(old.version())).await?.refused(422, "Invalid")?;
    w.config_maps().patch("a", JSON_PATCH, &patch(new.version())).await?.is(200)?;
    Ok(())
}

async fn apply_with_an_old_resource_version_is_a_conflict(w: World) -> Outcome {
    let old = w.config_maps().apply("m", &config_map("a", json!({"k": "1"}))).await?.ok()?;
    w.config_maps().merge("a", &json!({"data": {"other": "2"}})).await?.ok()?;
    let mut mine = config_map("a", json!({"k": "3"}));
    mine.set("metadata/resourceVersion", old.version());
    w.config_maps().apply("m", &mine).await?.refused(409, "Conflict")?;
    equal!(w.config_maps().get("a").await?.ok()?.at("data/k"), "1");
    Ok(())
}

async fn status_with_an_old_resource_version_is_a_conflict(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    let mut old = widgets.create(&widget(&w, "a", json!({}))).await?.ok()?;
    widgets.merge("a", &json!({"spec": {"n": 1}})).await?.ok()?;
    old.set("status/n", 1);
    widgets.status().replace(&old).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn of_many_replaces_at_one_version_one_wins(w: World) -> Outcome {
    let old = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let writes = (0..8).map(|n| {
        let (mut mine, maps) = (old.clone(), w.config_maps());
        mine.set("data/winner", n.to_string());
        async move { maps.replace(&mine).await }
    });
    let mut codes = Vec::new();
    for reply in join_all(writes).await {
        codes.push(reply?.code);
    }
    codes.sort_unstable();
    equal!(codes, [200, 409, 409, 409, 409, 409, 409, 409]);
    Ok(())
}

async fn patches_of_different_fields_do_not_lose_each_other(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let writes = ["x", "y", "z"].map(|key| {
        let maps = w.config_maps();
        async move { maps.merge("a", &json!({"data": {key: "1"}})).await }
    });
    for reply in join_all(writes).await {
        reply?.is(200)?;
    }
    equal!(w.config_maps().get("a").await?.ok()?.at("data"), {"x": "1", "y": "1", "z": "1"});
    Ok(())
}

async fn of_many_creates_of_one_name_one_wins(w: World) -> Outcome {
    let writes = (0..5).map(|n| {
        let maps = w.config_maps();
        async move { maps.create(&config_map("a", json!({"winner": n.to_string()}))).await }
    });
    let mut codes = Vec::new();
    for reply in join_all(writes).await {
        codes.push(reply?.code);
    }
    codes.sort_unstable();
    equal!(codes, [201, 409, 409, 409, 409]);
    Ok(())
}

async fn resource_versions_grow_with_every_write(w: World) -> Outcome {
    let mut last = 0;
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    for n in 0..4 {
        let now = w.config_maps().merge("a", &json!({"data": {"n": n.to_string()}})).await?.ok()?;
        let version: u64 = now.version().parse().unwrap_or_default();
        check!(version > last, "{version} after {last}");
        last = version;
    }
    Ok(())
}

async fn resource_versions_order_writes_of_different_objects(w: World) -> Outcome {
    let first = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let second = w.secrets().create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    check!(number(second.version()) > number(first.version()), "{} {}", first.version(), second.version());
    Ok(())
}

async fn a_list_is_at_least_as_new_as_what_was_written(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let list = w.config_maps().list().await?.ok()?;
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    check!(number(list.version()) >= number(made.version()), "{} {}", list.version(), made.version());
    equal!(list.list("items").iter().filter(|item| item.name() == "a").count(), 1);
    Ok(())
}

async fn delete_with_anothers_uid_is_a_conflict(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let if_uid = |uid: &str| json!({"preconditions": {"uid": uid}});
    let other = if_uid("11111111-1111-1111-1111-111111111111");
    w.config_maps().delete_with("a", &other).await?.refused(409, "Conflict")?;
    w.config_maps().delete_with("a", &if_uid(made.uid())).await?.is(200)?;
    Ok(())
}

async fn delete_with_an_old_resource_version_is_a_conflict(w: World) -> Outcome {
    let old = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let new = w.config_maps().merge("a", &json!({"data": {"k": "v"}})).await?.ok()?;
    let if_version = |version: &str| json!({"preconditions": {"resourceVersion": version}});
    w.config_maps().delete_with("a", &if_version(old.version())).await?.refused(409, "Conflict")?;
    w.config_maps().delete_with("a", &if_version(new.version())).await?.is(200)?;
    Ok(())
}

async fn a_precondition_holds_for_objects_with_finalizers_too(w: World) -> Outcome {
    let mut body = config_map("a", json!({}));
    body.set("metadata/finalizers", json!(["capstan.dev/hold"]));
    w.config_maps().create(&body).await?.ok()?;
    let other = json!({"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}});
    w.config_maps().delete_with("a", &other).await?.refused(409, "Conflict")?;
    check!(!w.config_maps().get("a").await?.ok()?.has("metadata/deletionTimestamp"), "it is being deleted");
    Ok(())
}

cases! { "concurrency":
    replace_with_an_old_resource_version_is_a_conflict,
    replace_with_an_old_resource_version_conflicts_even_when_nothing_differs,
    replace_without_a_resource_version_is_unconditional_for_config_maps,
    replace_of_a_custom_object_needs_a_resource_version,
    replace_with_anothers_uid_is_a_conflict,
    an_object_of_a_former_life_cannot_overwrite_the_new_one,
    a_merge_patch_with_an_old_resource_version_is_a_conflict,
    a_json_patch_can_test_the_resource_version,
    apply_with_an_old_resource_version_is_a_conflict,
    status_with_an_old_resource_version_is_a_conflict,
    of_many_replaces_at_one_version_one_wins,
    patches_of_different_fields_do_not_lose_each_other,
    of_many_creates_of_one_name_one_wins,
    resource_versions_grow_with_every_write,
    resource_versions_order_writes_of_different_objects,
    a_list_is_at_least_as_new_as_what_was_written,
    delete_with_anothers_uid_is_a_conflict,
    delete_with_an_old_resource_version_is_a_conflict,
    a_precondition_holds_for_objects_with_finalizers_too,
}
