//! Scaled by hand and by a HorizontalPodAutoscaler, through the scale subresource.

use http::Method;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use serde_json::json;

use crate::{
    app::{Apps as _, url_of},
    http as web,
    patience::{PATIENCE, until, when},
    world::scenario,
};

#[tokio::test]
async fn kubectl_scale_changes_the_number_of_pods_and_all_of_them_see_all_notes() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        world.kubectl("scale exampleapp notes --replicas=3").await.unwrap();
        let pods = app.ready(3).await;
        let object = app
            .until("counts three", PATIENCE, |app| app.status.as_ref().unwrap().ready_replicas == Some(3))
            .await;
        assert_eq!(object.spec.replicas, 3);

        let password = app.password().await.unwrap();
        let url = |at: usize, key: &str| url_of(&pods[at], &format!("notes/{key}"));
        for at in 0..3 {
            let put = web::ask(Method::PUT, &url(at, "shared"), Some(&password), &format!("by {at}"))
                .await
                .unwrap();
            assert!(put.status == 201 || put.status == 204, "{put:?}");
            for other in 0..3 {
                let got = web::get(&url(other, "shared"), Some(&password)).await.unwrap();
                assert_eq!(got.text, format!("by {at}"), "read through {other}");
            }
        }
        world.kubectl("scale exampleapp notes --replicas=1").await.unwrap();
        app.ready(1).await;
        app.runs("0.0.2").await;
        app.has_its_notes().await;
        assert_eq!(app.note("shared").await.as_deref(), Some("by 2"));
    })
    .await;
}

#[tokio::test]
async fn a_horizontal_pod_autoscaler_finds_and_scales_it() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1"})).await;
        app.runs("0.0.1").await;
        app.write_notes().await;
        // Below its minimum an autoscaler acts without any metrics.
        world.create_object::<HorizontalPodAutoscaler>(json!({
            "metadata": {"name": "notes"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "example-app.appdelivery.cncf.io/v1alpha1", "kind": "ExampleApp", "name": "notes"},
                "minReplicas": 2, "maxReplicas": 4,
            },
        })).await;
        app.until("is scaled to two", PATIENCE, |app| app.spec.replicas == 2).await;
        app.ready(2).await;
        let scale = app.api().get_scale("notes").await.unwrap().status.unwrap();
        assert!(scale.selector.as_deref().is_some_and(|selector| selector.contains("notes")), "{scale:?}");
        until("the scale says two", PATIENCE, async || {
            let replicas = app.api().get_scale("notes").await.unwrap().status.unwrap().replicas;
            when(replicas == 2, replicas)
        })
        .await;
        app.has_its_notes().await;
    })
    .await;
}
