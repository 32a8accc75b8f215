//! Upgraded: backup, migration, roll; only along the ways that there are.

use k8s_openapi::api::batch::v1::Job;
use serde_json::json;

use crate::{
    app::{Apps as _, arguments},
    http as web,
    patience::{LONG, PATIENCE},
    store::{Store as _, backup},
    world::scenario,
};

#[tokio::test]
async fn an_upgrade_backs_up_migrates_and_keeps_every_note() {
    scenario(async |world| {
        world.with_store().await;
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1", "backup": backup()})).await;
        app.runs("0.0.1").await;
        app.write_notes().await;

        app.patch(json!({"appVersion": "0.1.0"})).await;
        let said = app.says("Refused").await;
        assert!(
            said.contains("spec.appVersion") && said.contains("0.0.2") && said.contains("0.1.0"),
            "{said}"
        );
        let status = app.object().await.status.unwrap();
        assert_eq!((status.current_version.as_deref(), status.operation), (Some("0.0.1"), None));
        assert_eq!(app.answers("healthz", 200).await, r#"{"format":1,"version":"0.0.1"}"#);

        app.patch(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        assert_eq!(app.answers("healthz", 200).await, r#"{"format":2,"version":"0.0.2"}"#);
        let backups = world.objects(&format!("{}/notes", world.namespace)).await;
        assert_eq!(backups.len(), 1, "{backups:?}");
        assert_eq!(app.object().await.status.unwrap().backup.unwrap().last_backup.as_ref(), backups.first());
        let jobs: Vec<String> = world
            .list::<Job>("app.kubernetes.io/instance=notes")
            .await
            .into_iter()
            .filter_map(|job| job.metadata.name)
            .collect();
        assert!(jobs.iter().any(|job| job.contains("migrate")), "{jobs:?}");
        app.told("Began").await;
        app.told("Succeeded").await;
        app.has_its_notes().await;

        app.patch(json!({"appVersion": "0.1.0"})).await;
        app.runs("0.1.0").await;
        app.has_its_notes().await;
        let pod = app.one_pod().await;
        assert!(arguments(&pod).windows(2).any(|pair| pair == ["--app-version", "0.1.0"]));
        assert_eq!(web::get(&crate::app::url_of(&pod, "readyz"), None).await.unwrap().status, 200);

        app.patch(json!({"appVersion": "0.0.1"})).await;
        let said = app.says("Refused").await;
        assert!(said.contains("0.0.1 cannot read data of format 2"), "{said}");
        app.has_its_notes().await;
    })
    .await;
}

/// The new tree is written beside the old one: half of a volume must be free.
#[tokio::test]
async fn a_migration_that_has_no_room_is_rolled_back_and_the_old_version_serves_again() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1", "storage": {"size": "8Mi", "className": "sized"}})).await;
        app.runs("0.0.1").await;
        app.write_notes().await;
        let large = "x".repeat(1 << 20);
        for number in 0..5 {
            app.write(&format!("large-{number}"), &large[..large.len() - 1]).await;
        }
        app.patch(json!({"appVersion": "0.0.2"})).await;
        let said = app.says_within("UpgradeFailed", LONG).await;
        assert!(said.contains("0.0.2") && said.to_lowercase().contains("no space"), "{said}");
        let object = app
            .until("is back at 0.0.1", LONG, |app| {
                let status = app.status.as_ref().unwrap();
                status.operation.is_none()
                    && status.current_version.as_deref() == Some("0.0.1")
                    && status.ready_replicas == Some(1)
            })
            .await;
        assert!(object.status.unwrap().failed_upgrade.is_some_and(|failed| failed.what == "0.0.2"));
        app.has_its_notes().await;
        assert_eq!(app.note("large-4").await.map(|text| text.len()), Some(large.len() - 1));

        // With room it can be tried again, once the user says so.
        world.lab.grow_volume(&format!("{}/notes-data", world.namespace), "32Mi").unwrap();
        app.patch(json!({"appVersion": "0.0.1", "storage": {"size": "32Mi"}})).await;
        app.runs("0.0.1").await;
        app.patch(json!({"appVersion": "0.0.2"})).await;
        app.runs_within("0.0.2", LONG).await;
        app.has_its_notes().await;
    })
    .await;
}

#[tokio::test]
async fn an_upgrade_whose_backup_fails_does_not_begin() {
    scenario(async |world| {
        world.with_store().await;
        world.credentials("wrong", "a-guess").await;
        let mut wrong = backup();
        wrong["credentialsSecretName"] = json!("wrong");
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1", "backup": wrong})).await;
        app.runs("0.0.1").await;
        app.write_notes().await;
        let pods = app.incarnations().await;
        app.patch(json!({"appVersion": "0.0.2"})).await;
        let said = app.says("UpgradeFailed").await;
        assert!(said.contains("backup"), "{said}");
        app.until("nothing is under way", PATIENCE, |app| app.status.as_ref().unwrap().operation.is_none())
            .await;
        assert_eq!(app.incarnations().await, pods, "not for a moment was it stopped");
        app.has_its_notes().await;
    })
    .await;
}
