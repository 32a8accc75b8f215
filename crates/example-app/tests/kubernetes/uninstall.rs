//! Removed: with or without its data.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Namespace, PersistentVolumeClaim, Pod, Secret, Service},
};
use kube::Api;
use serde_json::json;

use crate::{
    app::{App, Apps as _},
    patience::{LONG, PATIENCE, until, when},
    world::{World, scenario},
};

/// Waits until nothing but perhaps the claim is left; says whether that is.
pub(crate) async fn rest(world: &World, app: &App<'_>, claim: bool) {
    let name = app.name.as_str();
    until("only what should stay is left", LONG, async || {
        let left = (
            world.api::<Deployment>().get_opt(name).await.unwrap().is_some(),
            world.api::<Service>().get_opt(name).await.unwrap().is_some(),
            world.api::<Secret>().get_opt(&format!("{name}-auth")).await.unwrap().is_some(),
            world.list::<Pod>(&format!("app.kubernetes.io/instance={name}")).await.len(),
            world.api::<PersistentVolumeClaim>().get_opt(&format!("{name}-data")).await.unwrap().is_some(),
        );
        when(left == (false, false, false, 0, claim), left)
    })
    .await;
}

#[tokio::test]
async fn the_volume_stays_and_an_app_of_the_same_name_finds_its_notes() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1"})).await;
        app.runs("0.0.1").await;
        app.write_notes().await;
        app.patch(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        app.delete().await;
        app.is_gone().await;
        rest(world, &app, true).await;

        // The data is of 0.0.2: what cannot read it is refused, though the object is new.
        app.create(json!({"appVersion": "0.0.1"})).await;
        let said = app.says("Refused").await;
        assert!(said.contains("0.0.1 cannot read data of format 2"), "{said}");
        app.patch(json!({"appVersion": "0.1.0"})).await;
        app.runs("0.1.0").await;
        app.has_its_notes().await;
    })
    .await;
}

#[tokio::test]
async fn the_volume_goes_when_the_user_said_so() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1"})).await;
        app.runs("0.0.1").await;
        app.write_notes().await;
        app.patch(json!({"deletionPolicy": "Delete"})).await;
        app.runs("0.0.1").await;
        app.delete().await;
        app.is_gone().await;
        rest(world, &app, false).await;
        app.create(json!({"appVersion": "0.0.1"})).await;
        app.runs("0.0.1").await;
        assert_eq!(app.note("milk").await, None);
    })
    .await;
}

#[tokio::test]
async fn a_namespace_goes_with_the_app_in_it() {
    scenario(async |world| {
        let other = world.elsewhere(&format!("{}-b", world.namespace));
        other.create_namespace(&other.namespace).await;
        let app = other.app("notes");
        app.create(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        other.remove_namespace(&other.namespace).await;
        until("the namespace is gone", PATIENCE, async || {
            let there = Api::<Namespace>::all(world.client.clone()).get_opt(&other.namespace).await.unwrap();
            when(there.is_none(), there.and_then(|it| it.status))
        })
        .await;
    })
    .await;
}
