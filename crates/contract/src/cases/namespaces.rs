//! Namespaces: their life, and what lives in them.

use serde_json::json;

use crate::{
    Outcome, World,
    json::{Json, cases, check, equal},
    samples::{config_map, with_finalizers},
};

async fn a_new_namespace_is_active(w: World) -> Outcome {
    let namespace = w.namespaces().get(w.namespace()).await?.is(200)?;
    equal!(namespace.text("status/phase"), "Active");
    equal!(namespace.at("spec/finalizers"), ["kubernetes"]);
    equal!(namespace.text("metadata/labels/kubernetes.io~1metadata.name"), w.namespace());
    Ok(())
}

async fn nothing_can_be_created_in_a_missing_namespace(w: World) -> Outcome {
    let missing = w.config_maps().in_namespace("no-such-namespace");
    let status = missing.create(&config_map("a", json!({}))).await?.refused(404, "NotFound")?;
    equal!(status.at("details"), {"name": "no-such-namespace", "kind": "namespaces"});
    missing.apply("m", &config_map("a", json!({}))).await?.refused(404, "NotFound")?;
    Ok(())
}

async fn a_list_of_a_missing_namespace_is_empty(w: World) -> Outcome {
    let missing = w.config_maps().in_namespace("no-such-namespace");
    equal!(missing.list().await?.is(200)?.at("items"), []);
    missing.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn deleting_a_namespace_empties_it(w: World) -> Outcome {
    let name = w.another_namespace().await?;
    let inside = w.config_maps().in_namespace(&name);
    inside.create(&config_map("a", json!({}))).await?.ok()?;
    w.namespaces().delete(&name).await?.ok()?;
    w.namespaces().gone(&name).await?;
    inside.get("a").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn a_namespace_waits_for_what_is_held_in_it(w: World) -> Outcome {
    let name = w.another_namespace().await?;
    let inside = w.config_maps().in_namespace(&name);
    inside.create(&with_finalizers("a", &["capstan.dev/hold"])).await?.ok()?;
    w.namespaces().delete(&name).await?.ok()?;
    inside.until("a", "dying", |object| object.has("metadata/deletionTimestamp")).await?;
    let namespace = w.namespaces().get(&name).await?.is(200)?;
    equal!(namespace.text("status/phase"), "Terminating");
    check!(namespace.has("metadata/deletionTimestamp"), "{namespace}");
    inside.merge("a", &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    w.namespaces().gone(&name).await
}

async fn nothing_can_be_created_in_a_dying_namespace(w: World) -> Outcome {
    let name = w.another_namespace().await?;
    let inside = w.config_maps().in_namespace(&name);
    inside.create(&with_finalizers("a", &["capstan.dev/hold"])).await?.ok()?;
    w.namespaces().delete(&name).await?.ok()?;
    let status = inside.create(&config_map("b", json!({}))).await?.refused(403, "Forbidden")?;
    equal!(status.text("details/causes/0/reason"), "NamespaceTerminating");
    check!(status.text("message").contains("because it is being terminated"), "{status}");
    Ok(())
}

async fn what_is_in_a_dying_namespace_can_be_changed(w: World) -> Outcome {
    let name = w.another_namespace().await?;
    let inside = w.config_maps().in_namespace(&name);
    inside.create(&with_finalizers("a", &["capstan.dev/hold"])).await?.ok()?;
    w.namespaces().delete(&name).await?.ok()?;
    equal!(inside.merge("a", &json!({"data": {"k": "v"}})).await?.is(200)?.at("data/k"), "v");
    Ok(())
}

async fn the_first_namespaces_are_there(w: World) -> Outcome {
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        w.namespaces().get(name).await?.is(200)?;
    }
    Ok(())
}

async fn the_first_namespaces_cannot_be_deleted(w: World) -> Outcome {
    for name in ["default", "kube-system", "kube-public"] {
        w.namespaces().with("dryRun", "All").delete(name).await?.refused(403, "Forbidden")?;
    }
    Ok(())
}

async fn a_namespace_can_be_labelled(w: World) -> Outcome {
    let patch = json!({"metadata": {"labels": {"x": "1"}}});
    let now = w.namespaces().merge(w.namespace(), &patch).await?.is(200)?;
    equal!(now.text("metadata/labels/x"), "1");
    equal!(now.text("metadata/labels/kubernetes.io~1metadata.name"), w.namespace());
    Ok(())
}

async fn namespaces_can_be_selected_by_name_label(w: World) -> Outcome {
    let selector = format!("kubernetes.io/metadata.name={}", w.namespace());
    let list = w.namespaces().with("labelSelector", selector).list().await?.ok()?;
    equal!(list.list("items").len(), 1);
    Ok(())
}

cases! { "namespaces":
    a_new_namespace_is_active,
    nothing_can_be_created_in_a_missing_namespace,
    a_list_of_a_missing_namespace_is_empty,
    deleting_a_namespace_empties_it [GarbageCollector],
    a_namespace_waits_for_what_is_held_in_it [GarbageCollector],
    nothing_can_be_created_in_a_dying_namespace,
    what_is_in_a_dying_namespace_can_be_changed,
    the_first_namespaces_are_there,
    the_first_namespaces_cannot_be_deleted,
    a_namespace_can_be_labelled,
    namespaces_can_be_selected_by_name_label,
}
