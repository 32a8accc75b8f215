//! Backed up: on demand, by the clock, and what the user reads when it cannot be done.

use k8s_openapi::api::batch::v1::CronJob;
use serde_json::json;

use crate::{
    app::{Apps as _, NOTES, conditions},
    patience::{LONG, PATIENCE},
    store::{Store as _, backup},
    world::scenario,
};

#[tokio::test]
async fn a_backup_is_made_on_demand_and_holds_every_note() {
    scenario(async |world| {
        world.with_store().await;
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2", "backup": backup()})).await;
        app.runs("0.0.2").await;
        assert!(world.objects("").await.is_empty(), "none is made before it is asked for");
        app.write_notes().await;
        let pods = app.incarnations().await;
        app.patch(json!({"backup": {"request": "before-the-holidays"}})).await;
        app.says("BackupDone").await;
        let object = app.runs("0.0.2").await;
        let status = object.status.unwrap().backup.unwrap();
        assert_eq!(status.request.as_deref(), Some("before-the-holidays"));
        let key = status.last_backup.unwrap();
        assert!(key.starts_with(&format!("{}/notes/", world.namespace)), "{key}");
        assert_eq!(world.objects("").await, std::slice::from_ref(&key));
        let text = world.object_text(&key).await;
        assert_eq!(status.bytes, Some(text.len() as i64));
        for (name, _) in NOTES {
            assert!(text.contains(name), "{name} is not in {text}");
        }
        let since = status.last_backup_time.unwrap().0;
        assert!(since >= object.metadata.creation_timestamp.unwrap().0, "{since}");
        assert_eq!(app.incarnations().await, pods, "the application goes on meanwhile");
        app.told("Succeeded").await;

        // The same wish is granted once; a new one is granted again.
        app.patch(json!({"features": {"exampleFeature1": true}})).await;
        app.runs("0.0.2").await;
        assert_eq!(world.objects("").await.len(), 1);
        app.patch(json!({"backup": {"request": "after-the-holidays"}})).await;
        let second = world.new_object("", &[key], PATIENCE).await;
        app.until("shows the second one", PATIENCE, |app| {
            app.status.as_ref().unwrap().backup.as_ref().unwrap().last_backup.as_ref() == Some(&second)
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn the_schedule_makes_backups_and_the_status_knows_of_them() {
    scenario(async |world| {
        world.with_store().await;
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.1", "backup": backup()})).await;
        app.runs("0.0.1").await;
        app.write_notes().await;
        let schedule = world.api::<CronJob>().get("notes-backup").await.unwrap().spec;
        assert_eq!((schedule.schedule.as_str(), schedule.suspend.unwrap_or_default()), ("0 3 * * *", false));
        // Its next time is at night: somebody runs it by hand.
        world.kubectl("create job by-hand --from=cronjob/notes-backup").await.unwrap();
        let key = world.new_object("", &[], PATIENCE).await;
        let shown = app
            .until("shows it", PATIENCE, |app| {
                app.status
                    .as_ref()
                    .unwrap()
                    .backup
                    .as_ref()
                    .is_some_and(|it| it.last_backup.as_ref() == Some(&key))
            })
            .await;
        assert!(shown.status.unwrap().backup.unwrap().last_backup_time.is_some());

        app.patch(json!({"backup": {"enabled": false}})).await;
        app.runs("0.0.1").await;
        let live = world.api::<CronJob>().get_opt("notes-backup").await.unwrap();
        assert!(
            live.is_none_or(|it| it.spec.suspend == Some(true)),
            "no backup by the clock when backups are off"
        );
        app.has_its_notes().await;
    })
    .await;
}

#[tokio::test]
async fn the_clock_itself_makes_a_backup() {
    scenario(async |world| {
        world.with_store().await;
        let app = world.app("notes");
        let mut every_minute = backup();
        every_minute["schedule"] = json!("* * * * *");
        app.create(json!({"appVersion": "0.0.2", "backup": every_minute})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        let before = world.objects("").await;
        let key = world.new_object("", &before, LONG).await;
        app.until("shows it", PATIENCE, |app| {
            app.status
                .as_ref()
                .unwrap()
                .backup
                .as_ref()
                .is_some_and(|it| it.last_backup.as_ref() >= Some(&key))
        })
        .await;
        app.says("BackupDone").await;
    })
    .await;
}

#[tokio::test]
async fn wrong_credentials_are_told_and_the_application_is_untouched() {
    scenario(async |world| {
        world.with_store().await;
        world.credentials("wrong", "a-guess").await;
        let mut wrong = backup();
        wrong["credentialsSecretName"] = json!("wrong");
        wrong["request"] = json!("now");
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        let pods = app.incarnations().await;
        app.patch(json!({"backup": wrong})).await;
        let said = app.says("BackupFailed").await;
        assert!(said.contains("example-backup") && said.contains("access key"), "{said}");
        assert!(world.objects("").await.is_empty());
        app.runs("0.0.2").await;
        assert_eq!(app.incarnations().await, pods);
        app.has_its_notes().await;

        app.patch(json!({"backup": {"credentialsSecretName": "backup-credentials", "request": "again"}}))
            .await;
        app.says("BackupDone").await;
    })
    .await;
}

#[tokio::test]
async fn a_store_that_is_not_there_is_told_and_the_application_is_untouched() {
    scenario(async |world| {
        world.credentials("backup-credentials", "whatever").await;
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        let pods = app.incarnations().await;
        let mut nowhere = crate::store::backup_in("http://nowhere:9000");
        nowhere["request"] = json!("now");
        app.patch(json!({"backup": nowhere})).await;
        let said = app.says_within("BackupFailed", LONG).await;
        assert!(said.contains("http://nowhere:9000"), "{said}");
        app.runs("0.0.2").await;
        assert_eq!(app.incarnations().await, pods);
        app.has_its_notes().await;
    })
    .await;
}

#[tokio::test]
async fn a_missing_secret_is_named() {
    scenario(async |world| {
        let app = world.app("notes");
        let mut wish = backup();
        wish["credentialsSecretName"] = json!("no-such-secret");
        wish["request"] = json!("now");
        app.create(json!({"appVersion": "0.0.2", "backup": wish})).await;
        app.until("names the Secret", PATIENCE, |app| {
            let message = app.status.as_ref().and_then(|status| status.message.clone()).unwrap_or_default();
            message.contains("no-such-secret")
                || conditions(app).iter().any(|it| it.message.contains("no-such-secret"))
        })
        .await;
        app.write_notes().await;
        app.has_its_notes().await;
    })
    .await;
}
