//! PartialObjectMetadata: answers that are metadata only.

use serde_json::json;

use crate::{
    Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal, names},
    samples::{config_map, labelled},
};

const ONE: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

async fn an_object_can_be_read_as_metadata(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({"k": "v"}))).await?.ok()?;
    let partial = w.config_maps().accepting(ONE).get("a").await?.is(200)?;
    equal!(partial.text("kind"), "PartialObjectMetadata");
    equal!(partial.text("apiVersion"), "meta.k8s.io/v1");
    equal!(partial.at("metadata"), made.at("metadata"));
    check!(!partial.has("data"), "{partial}");
    Ok(())
}

async fn a_list_can_be_read_as_metadata(w: World) -> Outcome {
    w.secrets()
        .create(&json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "stringData": {"k": "v"}}))
        .await?
        .ok()?;
    let list = w.secrets().accepting(LIST).list().await?.is(200)?;
    equal!(list.text("kind"), "PartialObjectMetadataList");
    equal!(list.text("apiVersion"), "meta.k8s.io/v1");
    check!(!list.version().is_empty(), "{list}");
    equal!(names(&list), ["a"]);
    equal!(list.at("items/0/metadata/labels"), {"x": "1"});
    check!(!list.has("items/0/data"), "{list}");
    Ok(())
}

async fn pages_can_be_read_as_metadata(w: World) -> Outcome {
    for name in ["a", "b"] {
        w.secrets().create(&json!({"metadata": {"name": name}})).await?.ok()?;
    }
    let secrets = w.secrets().accepting(LIST).with("limit", 1);
    let one = secrets.list().await?.ok()?;
    equal!(names(&one), ["a"]);
    equal!(names(&secrets.with("continue", one.text("metadata/continue")).list().await?.ok()?), ["b"]);
    Ok(())
}

async fn custom_objects_can_be_read_as_metadata(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    let made = widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    let partial = widgets.accepting(ONE).get("a").await?.is(200)?;
    equal!(partial.text("kind"), "PartialObjectMetadata");
    equal!(partial.at("metadata"), made.at("metadata"));
    check!(!partial.has("spec"), "{partial}");
    Ok(())
}

async fn a_patch_can_answer_with_metadata(w: World) -> Outcome {
    w.config_maps().create(&labelled("a", json!({"x": "1"}))).await?.ok()?;
    let patch = json!({"metadata": {"labels": {"x": "2"}}});
    let partial = w.config_maps().accepting(ONE).merge("a", &patch).await?.is(200)?;
    equal!(partial.text("kind"), "PartialObjectMetadata");
    equal!(partial.at("metadata/labels"), {"x": "2"});
    equal!(w.config_maps().get("a").await?.ok()?.at("metadata/labels"), {"x": "2"});
    Ok(())
}

async fn the_first_acceptable_form_is_taken(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let either = w.config_maps().accepting(&format!("{ONE},application/json"));
    equal!(either.get("a").await?.is(200)?.text("kind"), "PartialObjectMetadata");
    Ok(())
}

async fn a_refusal_is_a_status_all_the_same(w: World) -> Outcome {
    w.config_maps().accepting(ONE).get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

cases! { "metadata only":
    an_object_can_be_read_as_metadata,
    a_list_can_be_read_as_metadata,
    pages_can_be_read_as_metadata,
    custom_objects_can_be_read_as_metadata,
    a_patch_can_answer_with_metadata,
    the_first_acceptable_form_is_taken,
    a_refusal_is_a_status_all_the_same,
}
