//! Mended: lost objects, a process that hangs, a volume that is damaged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use example_app::Phase;
use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::CronJob,
    core::v1::{Secret, Service, ServiceAccount},
};
use kube::api::DeleteParams;
use serde_json::json;

use crate::{
    app::{App, Apps as _},
    ground,
    patience::{LONG, PATIENCE, until, when},
    store::{Store as _, backup},
    world::{World, scenario},
};

#[tokio::test]
async fn lost_objects_come_back_and_the_password_stays() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2", "backup": {"enabled": true, "host": "http://s3:9000", "bucketName": "example-backup"}})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        let password = app.password().await;
        let how = DeleteParams::default();
        world.api::<Deployment>().delete("notes", &how).await.unwrap();
        world.api::<Service>().delete("notes", &how).await.unwrap();
        world.api::<ServiceAccount>().delete("notes", &how).await.unwrap();
        world.api::<CronJob>().delete("notes-backup", &how).await.unwrap();
        until("all of them are back", PATIENCE, async || {
            let there = (
                world.api::<Deployment>().get_opt("notes").await.unwrap().is_some_and(|it| it.metadata.deletion_timestamp.is_none()),
                world.api::<Service>().get_opt("notes").await.unwrap().is_some(),
                world.api::<ServiceAccount>().get_opt("notes").await.unwrap().is_some(),
                world.api::<CronJob>().get_opt("notes-backup").await.unwrap().is_some(),
            );
            when(there == (true, true, true, true), there)
        })
        .await;
        app.ready(1).await;
        app.runs("0.0.2").await;
        assert_eq!(app.password().await, password);
        app.has_its_notes().await;
    })
    .await;
}

#[tokio::test]
async fn a_lost_password_is_replaced_by_one_that_works() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        let old = app.password().await.unwrap();
        world.api::<Secret>().delete("notes-auth", &DeleteParams::default()).await.unwrap();
        until("there is another password", PATIENCE, async || {
            let new = app.password().await;
            when(new.is_some() && new.as_ref() != Some(&old), new)
        })
        .await;
        // The kubelet brings it into the running pod within about a minute.
        until("the new password works", LONG, async || {
            let answer = app.ask(http::Method::GET, "notes/milk", "").await?;
            when(answer.status == 200, answer)
        })
        .await;
        let pod = app.one_pod().await;
        let url = crate::app::url_of(&pod, "notes/milk");
        assert_eq!(
            crate::http::get(&url, Some(&old)).await.unwrap().status,
            401,
            "the old one no longer does"
        );
        app.has_its_notes().await;
    })
    .await;
}

#[tokio::test]
async fn a_process_that_hangs_is_restarted() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        let pod = app.one_pod().await;
        ground::signal(&pod, ground::Signal::STOP);
        app.until("is unready", PATIENCE, |app| app.status.as_ref().unwrap().phase == Some(Phase::Unready))
            .await;
        app.runs_within("0.0.2", LONG).await;
        let after: Vec<i32> = app.incarnations().await.into_iter().map(|(_, restarts)| restarts).collect();
        assert_eq!(after, [1], "Kubernetes restarts it, with or without an operator");
        app.has_its_notes().await;
    })
    .await;
}

/// Where the note `key` is on a volume: the newest tree has it, see `disk/records.rs` of the kit.
fn note_file(volume: &Path, key: &str) -> PathBuf {
    let format = fs::read_to_string(volume.join("FORMAT")).unwrap();
    let tree = format.split_whitespace().nth(1).unwrap();
    let name: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    volume.join(tree).join(name)
}

/// Damages one note on the volume, behind the application's back.
async fn damage(world: &World, app: &App<'_>) {
    let claim = app.object().await.status.unwrap().claim_name.unwrap();
    let file = note_file(&ground::volume(world, &claim).await, "milk");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x01;
    fs::write(&file, bytes).unwrap();
}

#[tokio::test]
async fn damaged_data_is_told_with_what_to_do_and_restored_when_that_is_allowed() {
    scenario(async |world| {
        world.with_store().await;
        let app = world.app("notes");
        let mut now = backup();
        app.create(json!({"appVersion": "0.0.2", "backup": now})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        now["request"] = json!("first");
        app.patch(json!({"backup": now})).await;
        app.says("BackupDone").await;
        app.runs("0.0.2").await;

        damage(world, &app).await;
        let said = app.says_within("DataCorrupt", LONG).await;
        assert!(said.contains("milk") && said.contains("spec.restore"), "{said}");
        let status = app.object().await.status.unwrap();
        assert_eq!((status.phase, status.operation), (Some(Phase::Failed), None));

        app.patch(json!({"remediation": {"restoreCorruptVolume": true}})).await;
        let status = app.runs_within("0.0.2", LONG).await.status.unwrap();
        assert!(status.last_remediation.is_some());
        app.has_its_notes().await;
    })
    .await;
}
