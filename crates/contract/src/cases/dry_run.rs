//! Dry run: every verb answers as if, and stores nothing.

use serde_json::json;

use crate::{
    Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal},
    resource::{JSON_PATCH, Resource},
    samples::{config_map, with_finalizers},
};

fn dry(resource: &Resource) -> Resource {
    resource.with("dryRun", "All")
}

async fn create_stores_nothing(w: World) -> Outcome {
    let answer = dry(&w.config_maps()).create(&config_map("a", json!({"k": "v"}))).await?.is(201)?;
    check!(!answer.uid().is_empty(), "{answer}");
    equal!(answer.at("data"), {"k": "v"});
    check!(!w.config_maps().exists("a").await?, "it was stored");
    Ok(())
}

async fn create_still_finds_what_exists(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    dry(&w.config_maps()).create(&config_map("a", json!({}))).await?.refused(409, "AlreadyExists")?;
    Ok(())
}

async fn create_still_validates_and_defaults(w: World) -> Outcome {
    let spec =
        json!({"type": "object", "properties": {"n": {"type": "integer", "default": 5, "maximum": 9}}});
    let widgets = Crd::new(&w, spec).install(&w).await?;
    equal!(dry(&widgets).create(&widget(&w, "a", json!({}))).await?.is(201)?.at("spec/n"), 5);
    dry(&widgets).create(&widget(&w, "a", json!({"n": 10}))).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn create_makes_up_a_name(w: World) -> Outcome {
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"generateName": "x-"}});
    let answer = dry(&w.secrets()).create(&body).await?.is(201)?;
    check!(answer.name().starts_with("x-"), "{answer}");
    equal!(w.secrets().list().await?.ok()?.at("items"), []);
    Ok(())
}

async fn replace_changes_nothing(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({"k": "1"}))).await?.ok()?;
    let mut body = made.clone();
    body.set("data/k", "2");
    equal!(dry(&w.config_maps()).replace(&body).await?.is(200)?.at("data/k"), "2");
    equal!(w.config_maps().get("a").await?.ok()?, made);
    Ok(())
}

async fn replace_still_conflicts(w: World) -> Outcome {
    let old = w.config_maps().create(&config_map("a", json!({"k": "1"}))).await?.ok()?;
    w.config_maps().merge("a", &json!({"data": {"k": "2"}})).await?.ok()?;
    dry(&w.config_maps()).replace(&old).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn patches_change_nothing(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({"k": "1"}))).await?.ok()?;
    let merge = json!({"data": {"k": "2"}});
    equal!(dry(&w.config_maps()).merge("a", &merge).await?.is(200)?.at("data/k"), "2");
    let patch = json!([{"op": "remove", "path": "/data/k"}]);
    check!(
        !dry(&w.config_maps()).patch("a", JSON_PATCH, &patch).await?.is(200)?.has("data/k"),
        "it is there"
    );
    equal!(w.config_maps().get("a").await?.ok()?, made);
    Ok(())
}

async fn apply_changes_nothing(w: World) -> Outcome {
    let made = w.config_maps().apply("m", &config_map("a", json!({"k": "1"}))).await?.ok()?;
    let answer = dry(&w.config_maps()).apply("m", &config_map("a", json!({"k": "2"}))).await?.is(200)?;
    equal!(answer.at("data/k"), "2");
    equal!(w.config_maps().get("a").await?.ok()?, made);
    Ok(())
}

async fn apply_creates_nothing(w: World) -> Outcome {
    dry(&w.config_maps()).apply("m", &config_map("a", json!({"k": "1"}))).await?.is(201)?;
    check!(!w.config_maps().exists("a").await?, "it was stored");
    Ok(())
}

async fn apply_still_conflicts(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "1"}))).await?.ok()?;
    dry(&w.config_maps()).apply("n", &config_map("a", json!({"k": "2"}))).await?.refused(409, "Conflict")?;
    Ok(())
}

async fn delete_deletes_nothing(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    dry(&w.config_maps()).delete("a").await?.is(200)?;
    w.config_maps().delete_with("a", &json!({"dryRun": ["All"]})).await?.is(200)?;
    equal!(w.config_maps().get("a").await?.ok()?, made);
    Ok(())
}

async fn delete_of_what_waits_marks_nothing(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &["capstan.dev/hold"])).await?.ok()?;
    dry(&w.config_maps()).delete("a").await?.ok()?;
    check!(!w.config_maps().get("a").await?.ok()?.has("metadata/deletionTimestamp"), "it is being deleted");
    Ok(())
}

async fn delete_of_a_missing_object_is_still_not_found(w: World) -> Outcome {
    dry(&w.config_maps()).delete("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn deleting_a_collection_deletes_nothing(w: World) -> Outcome {
    for name in ["a", "b"] {
        w.secrets().create(&json!({"metadata": {"name": name}})).await?.ok()?;
    }
    dry(&w.secrets()).delete_all().await?.is(200)?;
    equal!(w.secrets().list().await?.ok()?.list("items").len(), 2);
    Ok(())
}

async fn status_changes_nothing(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    let made = widgets.create(&widget(&w, "a", json!({}))).await?.ok()?;
    equal!(dry(&widgets).status().merge("a", &json!({"status": {"n": 1}})).await?.is(200)?.at("status/n"), 1);
    equal!(widgets.get("a").await?.ok()?, made);
    Ok(())
}

async fn anything_but_all_is_refused(w: World) -> Outcome {
    let half = w.config_maps().with("dryRun", "Half");
    half.create(&config_map("a", json!({}))).await?.refused(422, "Invalid")?;
    check!(!w.config_maps().exists("a").await?, "it was stored");
    Ok(())
}

cases! { "dry run":
    create_stores_nothing,
    create_still_finds_what_exists,
    create_still_validates_and_defaults,
    create_makes_up_a_name,
    replace_changes_nothing,
    replace_still_conflicts,
    patches_change_nothing,
    apply_changes_nothing,
    apply_creates_nothing,
    apply_still_conflicts,
    delete_deletes_nothing,
    delete_of_what_waits_marks_nothing,
    delete_of_a_missing_object_is_still_not_found,
    deleting_a_collection_deletes_nothing,
    status_changes_nothing,
    anything_but_all_is_refused,
}
