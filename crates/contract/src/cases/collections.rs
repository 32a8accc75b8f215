//! Deleting collections.

use serde_json::json;

use crate::{
    Failure, Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal, names},
    samples::{labelled, with_finalizers},
};

async fn secrets(w: &World) -> Result<(), Failure> {
    for (name, x) in [("a", "1"), ("b", "1"), ("c", "2")] {
        w.secrets().create(&json!({"metadata": {"name": name, "labels": {"x": x}}})).await?.ok()?;
    }
    Ok(())
}

async fn a_collection_can_be_deleted(w: World) -> Outcome {
    secrets(&w).await?;
    w.secrets().delete_all().await?.is(200)?;
    equal!(w.secrets().list().await?.ok()?.at("items"), []);
    Ok(())
}

async fn only_what_is_labelled_is_deleted(w: World) -> Outcome {
    secrets(&w).await?;
    w.secrets().with("labelSelector", "x=1").delete_all().await?.is(200)?;
    equal!(names(&w.secrets().list().await?.ok()?), ["c"]);
    Ok(())
}

async fn only_what_the_field_selector_finds_is_deleted(w: World) -> Outcome {
    secrets(&w).await?;
    w.secrets().with("fieldSelector", "metadata.name!=b").delete_all().await?.is(200)?;
    equal!(names(&w.secrets().list().await?.ok()?), ["b"]);
    Ok(())
}

async fn other_namespaces_are_left_alone(w: World) -> Outcome {
    secrets(&w).await?;
    let other = w.secrets().in_namespace(&w.another_namespace().await?);
    other.create(&json!({"metadata": {"name": "a"}})).await?.ok()?;
    w.secrets().delete_all().await?.is(200)?;
    equal!(names(&other.list().await?.ok()?), ["a"]);
    Ok(())
}

async fn finalizers_hold_in_a_collection_too(w: World) -> Outcome {
    let mut held = with_finalizers("held", &["capstan.dev/hold"]);
    held.set("metadata/labels/x", "1");
    w.config_maps().create(&held).await?.ok()?;
    w.config_maps().create(&labelled("free", json!({"x": "1"}))).await?.ok()?;
    let selected = w.config_maps().with("labelSelector", "x=1");
    selected.delete_all().await?.is(200)?;
    let left = selected.list().await?.ok()?;
    equal!(names(&left), ["held"]);
    check!(left.has("items/0/metadata/deletionTimestamp"), "{left}");
    Ok(())
}

async fn custom_objects_can_be_deleted_as_a_collection(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    for name in ["a", "b"] {
        widgets.create(&widget(&w, name, json!({}))).await?.ok()?;
    }
    widgets.delete_all().await?.is(200)?;
    equal!(widgets.list().await?.ok()?.at("items"), []);
    Ok(())
}

async fn deleting_nothing_is_a_success(w: World) -> Outcome {
    w.secrets().delete_all().await?.is(200)?;
    Ok(())
}

async fn all_namespaces_at_once_cannot_be_deleted_from(w: World) -> Outcome {
    let reply = w.secrets().in_all_namespaces().with("dryRun", "All").delete_all().await?;
    equal!(reply.code, 405);
    Ok(())
}

cases! { "collections":
    a_collection_can_be_deleted,
    only_what_is_labelled_is_deleted,
    only_what_the_field_selector_finds_is_deleted,
    other_namespaces_are_left_alone,
    finalizers_hold_in_a_collection_too,
    custom_objects_can_be_deleted_as_a_collection,
    deleting_nothing_is_a_success,
    all_namespaces_at_once_cannot_be_deleted_from,
}
