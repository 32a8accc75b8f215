//! metadata.generation: counts changes of what is wanted, and of nothing else.

use serde_json::json;

use crate::{
    Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal},
    samples::{config_map, deployment, stateful_set},
};

async fn a_custom_object_starts_at_one(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    let mut body = widget(&w, "a", json!({"n": 1}));
    body.set("metadata/generation", 7);
    equal!(widgets.create(&body).await?.ok()?.generation(), 1);
    Ok(())
}

async fn a_change_of_spec_counts(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    let mut object = widgets.merge("a", &json!({"spec": {"n": 2}})).await?.ok()?;
    equal!(object.generation(), 2);
    object.set("spec/n", 3);
    equal!(widgets.replace(&object).await?.ok()?.generation(), 3);
    Ok(())
}

async fn a_change_of_any_field_beside_metadata_and_status_counts(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    widgets.create(&widget(&w, "a", json!({}))).await?.ok()?;
    equal!(widgets.merge("a", &json!({"extra": {"n": 2}})).await?.ok()?.generation(), 2);
    Ok(())
}

async fn a_change_of_metadata_does_not_count(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    let patch = json!({"metadata": {"labels": {"x": "1"}, "annotations": {"x": "1"}}});
    equal!(widgets.merge("a", &patch).await?.ok()?.generation(), 1);
    Ok(())
}

async fn a_change_of_status_does_not_count(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    equal!(widgets.status().merge("a", &json!({"status": {"n": 1}})).await?.ok()?.generation(), 1);
    Ok(())
}

async fn without_a_status_subresource_status_counts(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    equal!(widgets.merge("a", &json!({"status": {"n": 1}})).await?.ok()?.generation(), 2);
    equal!(widgets.merge("a", &json!({"metadata": {"labels": {"x": "1"}}})).await?.ok()?.generation(), 2);
    Ok(())
}

async fn the_same_spec_does_not_count(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    let object = widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    equal!(widgets.replace(&object).await?.ok()?.generation(), 1);
    equal!(widgets.apply("m", &widget(&w, "a", json!({"n": 1}))).await?.ok()?.generation(), 1);
    Ok(())
}

async fn a_client_cannot_set_it(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    let mut object = widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    object.set("metadata/generation", 99);
    equal!(widgets.replace(&object).await?.ok()?.generation(), 1);
    equal!(widgets.merge("a", &json!({"metadata": {"generation": 99}})).await?.ok()?.generation(), 1);
    Ok(())
}

async fn a_deletion_that_waits_counts(w: World) -> Outcome {
    let widgets = Crd::open(&w).status().install(&w).await?;
    let mut body = widget(&w, "a", json!({"n": 1}));
    body.set("metadata/finalizers", json!(["capstan.dev/hold"]));
    widgets.create(&body).await?.ok()?;
    widgets.delete("a").await?.ok()?;
    equal!(widgets.get("a").await?.ok()?.generation(), 2);
    widgets.merge("a", &json!({"metadata": {"finalizers": null}})).await?.ok()?;
    Ok(())
}

async fn a_change_of_a_deployment_counts(w: World) -> Outcome {
    let made = w.deployments().create(&deployment("a")).await?.ok()?;
    equal!(made.generation(), 1);
    let patch = json!({"spec": {"template": {"metadata": {"labels": {"x": "1"}}}}});
    let now = w.deployments().merge("a", &patch).await?.ok()?;
    check!(now.generation() > 1, "{}", now.generation());
    Ok(())
}

async fn labels_and_status_of_a_stateful_set_do_not_count(w: World) -> Outcome {
    let sets = w.stateful_sets();
    equal!(sets.create(&stateful_set("a")).await?.ok()?.generation(), 1);
    equal!(sets.merge("a", &json!({"metadata": {"labels": {"x": "1"}}})).await?.ok()?.generation(), 1);
    let status = json!({"status": {"replicas": 0, "observedGeneration": 1}});
    equal!(sets.status().merge("a", &status).await?.ok()?.generation(), 1);
    equal!(sets.merge("a", &json!({"spec": {"minReadySeconds": 5}})).await?.ok()?.generation(), 2);
    Ok(())
}

async fn scaling_counts(w: World) -> Outcome {
    w.stateful_sets().create(&stateful_set("a")).await?.ok()?;
    w.stateful_sets().scale().merge("a", &json!({"spec": {"replicas": 1}})).await?.ok()?;
    equal!(w.stateful_sets().get("a").await?.ok()?.generation(), 2);
    Ok(())
}

async fn a_config_map_has_none(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    let now = w.config_maps().merge("a", &json!({"data": {"k": "v"}})).await?.ok()?;
    check!(!now.has("metadata/generation"), "{now}");
    Ok(())
}

cases! { "generation":
    a_custom_object_starts_at_one,
    a_change_of_spec_counts,
    a_change_of_any_field_beside_metadata_and_status_counts,
    a_change_of_metadata_does_not_count,
    a_change_of_status_does_not_count,
    without_a_status_subresource_status_counts,
    the_same_spec_does_not_count,
    a_client_cannot_set_it,
    a_deletion_that_waits_counts,
    a_change_of_a_deployment_counts,
    labels_and_status_of_a_stateful_set_do_not_count,
    scaling_counts,
    a_config_map_has_none,
}
