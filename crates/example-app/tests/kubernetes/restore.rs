//! Recovered: into a new instance, somewhere else, and in place.

use serde_json::json;

use crate::{
    app::Apps as _,
    patience::PATIENCE,
    store::{Store as _, backup, backup_in},
    world::{World, scenario},
};

/// An application with its notes, and a backup of them; gives the backup's key.
async fn backed_up(world: &World) -> String {
    world.with_store().await;
    let app = world.app("notes");
    let mut now = backup();
    now["request"] = json!("first");
    app.create(json!({"appVersion": "0.0.1"})).await;
    app.runs("0.0.1").await;
    app.write_notes().await;
    app.patch(json!({"backup": now})).await;
    app.says("BackupDone").await;
    app.runs("0.0.1").await.status.unwrap().backup.unwrap().last_backup.unwrap()
}

#[tokio::test]
async fn a_new_instance_in_another_namespace_is_born_from_a_backup() {
    scenario(async |world| {
        backed_up(world).await;
        let other = world.elsewhere(&format!("{}-b", world.namespace));
        other.create_namespace(&other.namespace).await;
        other.credentials("backup-credentials", "not-a-secret").await;
        let app = other.app("copy");
        let store = backup_in(&format!("http://s3.{}:9000", world.namespace));
        let restore = json!({"backup": "latest", "from": format!("{}/notes", world.namespace)});
        // Of an older format than the version that is to run: it is migrated on the way.
        app.create(json!({"appVersion": "0.0.2", "backup": store, "restore": restore})).await;
        let status = app.runs("0.0.2").await.status.unwrap();
        assert!(status.restored.is_some());
        app.has_its_notes().await;
        app.write("milk", "the copy's own").await;
        world.app("notes").has_its_notes().await;
        world.remove_namespace(&other.namespace).await;
    })
    .await;
}

#[tokio::test]
async fn a_restore_in_place_replaces_the_data_after_a_safety_backup() {
    scenario(async |world| {
        let key = backed_up(world).await;
        let app = world.app("notes");
        app.write("milk", "spilt").await;
        app.write("later", "written after the backup").await;
        app.patch(json!({"restore": {"backup": key}})).await;
        app.until("has restored it", PATIENCE, |app| {
            let status = app.status.as_ref().unwrap();
            status.operation.is_none()
                && status.restored.as_ref().is_some_and(|restored| restored.contains(&key))
        })
        .await;
        app.runs("0.0.1").await;
        app.has_its_notes().await;
        assert_eq!(app.note("later").await, None, "the backup knows nothing of it");
        // What was replaced is not lost: the safety backup has it, and is not taken for the latest.
        let safety = world.objects("before-restore").await;
        assert_eq!(safety.len(), 1, "{safety:?}");
        assert!(world.object_text(&safety[0]).await.contains("written after the backup"));
        app.patch(json!({"restore": {"backup": safety[0]}})).await;
        app.until("has restored the safety backup", PATIENCE, |app| {
            app.status
                .as_ref()
                .unwrap()
                .restored
                .as_ref()
                .is_some_and(|restored| restored.contains(&safety[0]))
        })
        .await;
        app.runs("0.0.1").await;
        assert_eq!(app.note("later").await.as_deref(), Some("written after the backup"));
        assert_eq!(app.note("milk").await.as_deref(), Some("spilt"));
    })
    .await;
}

#[tokio::test]
async fn a_backup_that_is_not_there_is_named_and_the_data_stays() {
    scenario(async |world| {
        let key = backed_up(world).await;
        let app = world.app("notes");
        app.patch(json!({"restore": {"backup": "no/such/backup.notes"}})).await;
        let said = app.says("RestoreFailed").await;
        assert!(
            said.contains("no/such/backup.notes") && said.contains(&key),
            "names the wish, and what there is: {said}"
        );
        app.until("serves again", PATIENCE, |app| {
            let status = app.status.as_ref().unwrap();
            status.operation.is_none() && status.ready_replicas == Some(1)
        })
        .await;
        app.has_its_notes().await;

        let born = world.app("born");
        let mut store = backup();
        store["enabled"] = json!(false);
        born.create(json!({"appVersion": "0.0.2", "backup": store, "restore": {"backup": "latest"}})).await;
        let said = born.says("RestoreFailed").await;
        assert!(said.contains(&format!("{}/born/", world.namespace)), "{said}");
        // The user says what was meant.
        born.patch(json!({"restore": {"backup": key}})).await;
        born.runs("0.0.2").await;
        born.has_its_notes().await;
    })
    .await;
}
