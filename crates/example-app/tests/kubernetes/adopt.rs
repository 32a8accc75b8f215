//! Taken over: a Deployment and a volume that somebody made by hand, with notes on it.

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{PersistentVolumeClaim, Pod, Secret},
};
use serde_json::json;

use crate::{
    app::{Apps as _, NOTES, url_of},
    http as web,
    patience::{PATIENCE, until, when},
    world::{World, scenario},
};

const OLD_PASSWORD: &str = "by-hand";

/// What people had before there was an operator: their own names, labels and password.
async fn by_hand(world: &World, claim: &str) -> Pod {
    world
        .create_object::<Secret>(
            json!({"metadata": {"name": "old-password"}, "stringData": {"password": OLD_PASSWORD}}),
        )
        .await;
    let claimed = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    world.create_object::<PersistentVolumeClaim>(json!({"metadata": {"name": claim}, "spec": claimed})).await;
    let container = json!({
        "name": "notes", "image": "capstan:dev",
        "command": ["capstan", "example-app", "serve", "--app-version", "0.0.1", "--data", "/data", "--password-file", "/auth/password"],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8080}, "periodSeconds": 1},
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "disk", "mountPath": "/data"}, {"name": "secret", "mountPath": "/auth"}],
    });
    let pod = json!({
        "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": [
            {"name": "disk", "persistentVolumeClaim": {"claimName": claim}},
            {"name": "secret", "secret": {"secretName": "old-password"}},
        ],
    });
    let labels = json!({"app": "notes"});
    world.create_object::<Deployment>(json!({
        "metadata": {"name": "notes"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    })).await;
    let pod = until("the application made by hand is ready", PATIENCE, async || {
        let pods = world.list::<Pod>("app=notes").await;
        pods.into_iter().find(kit::readiness::is_ready).ok_or_else(|| "not ready".to_owned())
    })
    .await;
    for (key, text) in NOTES {
        let put =
            web::ask(http::Method::PUT, &url_of(&pod, &format!("notes/{key}")), Some(OLD_PASSWORD), text)
                .await
                .unwrap();
        assert_eq!(put.status, 201, "{put:?}");
    }
    pod
}

#[tokio::test]
async fn an_existing_deployment_is_taken_over_only_when_asked_and_keeps_its_notes() {
    scenario(async |world| {
        let pod = by_hand(world, "old-disk").await;
        let before = world.api::<Deployment>().get("notes").await.unwrap();
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1"})).await;
        let said = app.says("NotOurs").await;
        assert!(said.contains("notes") && said.contains("spec.takeOwnership"), "{said}");
        let object = app.object().await.status.unwrap();
        assert_eq!(object.phase, Some(example_app::Phase::Blocked));
        let after = world.api::<Deployment>().get("notes").await.unwrap();
        assert_eq!(
            (after.metadata.uid, after.metadata.generation),
            (before.metadata.uid.clone(), before.metadata.generation),
            "touched"
        );
        assert_eq!(web::get(&url_of(&pod, "notes/milk"), Some(OLD_PASSWORD)).await.unwrap().status, 200);

        app.patch(json!({"takeOwnership": true})).await;
        let status = app.runs("0.0.1").await.status.unwrap();
        assert_eq!(status.claim_name.as_deref(), Some("old-disk"), "the claim that the Deployment had");
        let adopted = world.api::<Deployment>().get("notes").await.unwrap();
        assert_eq!(adopted.metadata.uid, before.metadata.uid, "the same object");
        assert!(
            adopted
                .metadata
                .owner_references
                .unwrap_or_default()
                .iter()
                .any(|owner| owner.kind == "ExampleApp")
        );
        app.has_its_notes().await;

        // From here on it is one like any other.
        app.patch(json!({"appVersion": "0.0.2", "features": {"exampleFeature1": true}})).await;
        app.runs("0.0.2").await;
        app.has_its_notes().await;
        assert_eq!(app.answers("search?q=coarse", 200).await, r#"["oats"]"#);
    })
    .await;
}

#[tokio::test]
async fn a_claim_with_notes_is_used_by_its_name_and_never_deleted() {
    scenario(async |world| {
        by_hand(world, "family-notes").await;
        world.kubectl("delete deployment notes --wait").await.unwrap();
        until("nobody uses the volume", PATIENCE, async || {
            let left = world.list::<Pod>("app=notes").await.len();
            when(left == 0, left)
        })
        .await;
        let app = world.app("mine");
        app.create(json!({"appVersion": "0.0.1", "storage": {"existingClaim": "family-notes"}, "deletionPolicy": "Delete"})).await;
        app.runs("0.0.1").await;
        app.has_its_notes().await;
        app.delete().await;
        app.is_gone().await;
        until("its pods are gone", PATIENCE, async || {
            let left = app.pods().await.len();
            when(left == 0, left)
        })
        .await;
        let claim = world.api::<PersistentVolumeClaim>().get("family-notes").await.unwrap();
        assert!(claim.metadata.deletion_timestamp.is_none(), "the claim was the user's");
    })
    .await;
}
