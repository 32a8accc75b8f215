//! 0.0.3 was shipped broken: it starts, and never becomes healthy.

use std::time::Duration;

use example_app::Step;
use serde_json::json;

use crate::{
    app::Apps as _,
    patience::{LONG, PATIENCE},
    store::{Store as _, backup},
    world::scenario,
};

#[tokio::test]
async fn a_broken_release_is_rolled_back_with_its_migration_and_nothing_that_was_written_is_lost() {
    scenario(async |world| {
        world.with_store().await;
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1", "backup": backup()})).await;
        app.runs("0.0.1").await;
        app.write_notes().await;
        app.patch(json!({"appVersion": "0.0.3"})).await;
        // The application goes on while the backup is made, and until it stops for the migration.
        let last = app.counts_until_it_stops("late").await;
        let said = app.says_within("UpgradeFailed", LONG).await;
        assert!(said.contains("0.0.3"), "{said}");
        app.until("is back at 0.0.1", PATIENCE, |app| {
            let status = app.status.as_ref().unwrap();
            status.operation.is_none()
                && status.current_version.as_deref() == Some("0.0.1")
                && status.ready_replicas == Some(1)
        })
        .await;
        assert_eq!(app.answers("healthz", 200).await, r#"{"format":1,"version":"0.0.1"}"#);
        app.told("Undone").await;
        app.has_its_notes().await;
        let late = app.note("late").await.map(|text| text.parse::<u32>().unwrap());
        assert!(last > 0 && late >= Some(last), "{last} was acknowledged, and {late:?} is there");

        // It is not tried again by itself, and a good release is taken at once.
        app.patch(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        app.has_its_notes().await;
    })
    .await;
}

#[tokio::test]
async fn without_a_backup_a_broken_release_is_rolled_back_too() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1"})).await;
        app.runs("0.0.1").await;
        app.write_notes().await;
        app.patch(json!({"appVersion": "0.0.3"})).await;
        app.says_within("UpgradeFailed", LONG).await;
        app.until("is back at 0.0.1", PATIENCE, |app| {
            let status = app.status.as_ref().unwrap();
            status.operation.is_none()
                && status.current_version.as_deref() == Some("0.0.1")
                && status.ready_replicas == Some(1)
        })
        .await;
        app.has_its_notes().await;
    })
    .await;
}

#[tokio::test]
async fn a_reverted_spec_is_acted_on_at_once() {
    scenario(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        app.patch(json!({"appVersion": "0.0.3"})).await;
        app.until("starts the broken release", PATIENCE, |app| {
            app.status
                .as_ref()
                .unwrap()
                .operation
                .as_ref()
                .is_some_and(|operation| operation.step == Step::Start)
        })
        .await;
        app.patch(json!({"appVersion": "0.0.2"})).await;
        // Far sooner than the broken release would be given up.
        app.runs_within("0.0.2", Duration::from_secs(40)).await;
        app.has_its_notes().await;
        app.patch(json!({"appVersion": "0.1.0"})).await;
        app.runs("0.1.0").await;
        app.has_its_notes().await;
    })
    .await;
}
