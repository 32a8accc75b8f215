//! Paused: nothing is touched, and the status says so.

use example_app::Phase;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};
use kube::api::DeleteParams;
use serde_json::json;

use crate::{
    app::{Apps as _, is_current},
    patience::{PATIENCE, until, when},
    world::scenario,
};

#[tokio::test]
async fn a_paused_app_is_left_alone_until_it_is_not() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1"})).await;
        app.runs("0.0.1").await;
        app.write_notes().await;
        let pods = app.incarnations().await;
        let generation = world.api::<Deployment>().get("notes").await.unwrap().metadata.generation;

        app.patch(json!({"paused": true})).await;
        app.until("is paused", PATIENCE, |app| {
            is_current(app) && app.status.as_ref().unwrap().phase == Some(Phase::Paused)
        })
        .await;
        app.patch(json!({"appVersion": "0.0.2", "replicas": 2, "features": {"exampleFeature1": true}})).await;
        world.api::<Service>().delete("notes", &DeleteParams::default()).await.unwrap();
        // It has seen the edit, so what it would do about it, it has not done.
        let object = app
            .until("has seen the edit", PATIENCE, |app| {
                is_current(app) && app.status.as_ref().unwrap().phase == Some(Phase::Paused)
            })
            .await;
        let message = object.status.unwrap().message.unwrap();
        assert!(message.contains("paused"), "{message}");
        assert_eq!(app.incarnations().await, pods);
        assert_eq!(world.api::<Deployment>().get("notes").await.unwrap().metadata.generation, generation);
        assert!(world.api::<Service>().get_opt("notes").await.unwrap().is_none());

        app.patch(json!({"paused": false})).await;
        app.runs("0.0.2").await;
        app.ready(2).await;
        app.answers("search?q=coarse", 200).await;
        until("the Service is back", PATIENCE, async || {
            let there = world.api::<Service>().get_opt("notes").await.unwrap();
            when(there.is_some(), ())
        })
        .await;
        app.has_its_notes().await;
    })
    .await;
}
