//! With the operator gone, killed or cut off, and with a node that dies. These run alone.

use std::time::Duration;

use example_app::{OperationKind, Phase, Step};
use k8s_openapi::api::{batch::v1::CronJob, core::v1::Pod};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

use crate::{
    app::{Apps as _, is_current, operator_has_looked},
    ground::{CutOff, Unplugged},
    operator,
    patience::{Beside, LONG, PATIENCE, until, when},
    store::{Store as _, backup},
    uninstall::rest,
    world::trouble,
};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn without_an_operator_apps_go_on_and_can_be_removed_and_its_return_restarts_nothing() {
    trouble(async |world| {
        world.with_store().await;
        let [app, kept, gone] = ["notes", "kept", "gone"].map(|name| world.app(name));
        app.create(json!({"appVersion": "0.0.2", "backup": backup()})).await;
        kept.create(json!({"appVersion": "0.0.2"})).await;
        gone.create(json!({"appVersion": "0.0.2", "deletionPolicy": "Delete"})).await;
        for app in [&app, &kept, &gone] {
            app.runs("0.0.2").await;
        }
        app.write_notes().await;
        kept.write_notes().await;
        operator::scale(world, 0).await;

        kept.delete().await;
        gone.delete().await;
        let pod = app.one_pod().await;
        world.api::<Pod>().delete(&pod.name_any(), &DeleteParams::default()).await.unwrap();
        until("another pod is there", PATIENCE, async || {
            let pods = app.pods().await;
            when(pods.iter().any(|it| it.uid() != pod.uid()), pods.len())
        })
        .await;
        app.one_pod().await;
        app.has_its_notes().await;
        // The clock goes on, too: a schedule that is due now.
        let due = json!({"spec": {"schedule": "* * * * *"}});
        world
            .api::<CronJob>()
            .patch("notes-backup", &PatchParams::default(), &Patch::Merge(due))
            .await
            .unwrap();
        for (app, claim) in [(&kept, true), (&gone, false)] {
            app.is_gone().await;
            rest(world, app, claim).await;
        }
        let key = world.new_object("", &[], LONG).await;

        let pods = app.incarnations().await;
        operator::scale(world, 2).await;
        operator_has_looked(world).await;
        app.runs("0.0.2").await;
        assert_eq!(app.incarnations().await, pods, "a pod was restarted by the returning operator");
        app.until("knows of the backup", PATIENCE, |app| {
            app.status
                .as_ref()
                .unwrap()
                .backup
                .as_ref()
                .is_some_and(|it| it.last_backup.as_ref() >= Some(&key))
        })
        .await;
        let schedule = world.api::<CronJob>().get("notes-backup").await.unwrap().spec.schedule;
        assert_eq!(schedule, "0 3 * * *", "what was changed meanwhile is put right");
        app.has_its_notes().await;
        kept.create(json!({"appVersion": "0.0.2"})).await;
        kept.runs("0.0.2").await;
        kept.has_its_notes().await;
    })
    .await;
}

/// Three apps at once, so that each operator that dies leaves something half-done.
#[tokio::test]
async fn operators_that_die_every_five_seconds_end_where_others_do() {
    trouble(async |world| {
        world.with_store().await;
        let apps = ["upgraded", "saved", "restored"].map(|name| world.app(name));
        let [upgraded, saved, restored] = &apps;
        upgraded.create(json!({"appVersion": "0.0.1", "backup": backup()})).await;
        saved.create(json!({"appVersion": "0.0.2", "backup": backup()})).await;
        restored.create(json!({"appVersion": "0.0.2", "backup": backup()})).await;
        upgraded.runs("0.0.1").await;
        for app in [saved, restored] {
            app.runs("0.0.2").await;
        }
        for app in &apps {
            app.write_notes().await;
        }
        restored.patch(json!({"backup": {"request": "before-trouble"}})).await;
        let key = restored.has_saved("before-trouble").await;
        restored.write("milk", "spilt").await;

        let place = world.elsewhere(&world.namespace);
        let killer = Beside::every(Duration::from_secs(5), move || {
            let world = place.elsewhere(&place.namespace);
            async move { operator::kill_one(&world).await }
        });
        upgraded.patch(json!({"appVersion": "0.0.2"})).await;
        saved.patch(json!({"backup": {"request": "amid-trouble"}})).await;
        restored.patch(json!({"restore": {"backup": key}})).await;
        upgraded.runs_within("0.0.2", LONG).await;
        saved.has_saved("amid-trouble").await;
        restored.until("it is restored", LONG, |app| app.status.as_ref().unwrap().restored.is_some()).await;
        restored.runs_within("0.0.2", LONG).await;
        let killed = killer.stop();
        assert!(killed.len() >= 3, "hardly any trouble: {killed:?}");
        println!("    {} operators were killed", killed.len());

        for (app, operations) in [(upgraded, 1), (saved, 1), (restored, 2)] {
            app.has_its_notes().await;
            let status = app.object().await.status.unwrap();
            assert_eq!(
                (status.operations, status.failed_upgrade, status.failed_restore),
                (Some(operations), None, None),
                "{}: each was done once",
                app.name
            );
        }
        let (own, safety) = (world.objects(&world.namespace).await, world.objects("before-restore").await);
        assert_eq!(
            (own.len(), safety.len()),
            (3, 1),
            "one before the upgrade, two on demand, one before the restore: {own:?} {safety:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn an_operator_that_is_cut_off_for_a_minute_does_no_damage_and_goes_on() {
    trouble(async |world| {
        world.with_store().await;
        let (idle, busy) = (world.app("idle"), world.app("busy"));
        idle.create(json!({"appVersion": "0.0.2"})).await;
        busy.create(json!({"appVersion": "0.0.1", "backup": backup()})).await;
        idle.runs("0.0.2").await;
        busy.runs("0.0.1").await;
        idle.write_notes().await;
        busy.write_notes().await;
        let pods = idle.incarnations().await;
        let watched = idle.watched(&idle.one_pod().await).await;

        busy.patch(json!({"appVersion": "0.0.2"})).await;
        busy.until("is in the middle of it", PATIENCE, |app| {
            let operation = app.status.as_ref().unwrap().operation.as_ref();
            operation.is_some_and(|it| it.kind == OperationKind::Upgrade && it.step >= Step::Stop)
        })
        .await;
        let operators = operator::pods(world).await;
        let cuts: Vec<CutOff<'_>> = operators.iter().map(|pod| CutOff::of(world, pod)).collect();
        // Somebody asks for something meanwhile; nobody hears it, so that the minute is one of silence.
        idle.patch(json!({"features": {"exampleFeature1": true}})).await;
        let silence = tokio::time::timeout(MINUTE, idle.until("is heard", LONG, is_current)).await;
        assert!(silence.is_err(), "the operator was not cut off");
        assert_eq!(idle.incarnations().await, pods);
        assert_eq!(watched.stop(), Vec::<String>::new(), "the idle app was disturbed");
        drop(cuts);

        busy.runs_within("0.0.2", LONG).await;
        busy.has_its_notes().await;
        idle.runs("0.0.2").await;
        assert_eq!(idle.answers("search?q=coarse", 200).await, r#"["oats"]"#);
        idle.has_its_notes().await;
        let status = busy.object().await.status.unwrap();
        assert_eq!((status.operations, status.failed_upgrade), (Some(1), None));
    })
    .await;
}

#[tokio::test]
async fn an_app_on_a_node_that_dies_comes_back_on_another() {
    trouble(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2"})).await;
        app.runs("0.0.2").await;
        app.write_notes().await;
        let node = app.one_pod().await.spec.unwrap().node_name.unwrap();
        let unplugged = Unplugged::node(world, &node).await;
        app.until("is unready", PATIENCE, |app| app.status.as_ref().unwrap().phase != Some(Phase::Running))
            .await;
        app.runs_within("0.0.2", LONG).await;
        let now = app.one_pod().await.spec.unwrap().node_name.unwrap();
        assert_ne!(now, node);
        app.has_its_notes().await;
        unplugged.restore().await;
        app.has_its_notes().await;
    })
    .await;
}

#[tokio::test]
async fn removing_the_installation_leaves_the_definitions_and_the_apps() {
    trouble(async |world| {
        let app = world.app("notes");
        app.create(json!({"appVersion": "0.0.2"})).await;
        let before = app.runs("0.0.2").await;
        app.write_notes().await;
        let pods = app.incarnations().await;
        let said = world
            .elsewhere(operator::NAMESPACE)
            .kubectl("delete -f deploy/install.yaml --wait --timeout=90s")
            .await
            .unwrap_err();
        assert!(
            said.contains("deletes every ExampleApp in the cluster")
                && said.contains("capstan.dev/delete-all-resources"),
            "{said}"
        );
        let home = Api::<k8s_openapi::api::core::v1::Namespace>::all(world.client.clone());
        until("the operator is gone", PATIENCE, async || {
            let left = home.get_opt(operator::NAMESPACE).await.unwrap();
            when(left.is_none(), left.and_then(|it| it.status))
        })
        .await;
        assert_eq!(app.incarnations().await, pods);
        app.has_its_notes().await;

        operator::install(world).await;
        operator_has_looked(world).await;
        let after = app.object().await;
        assert_eq!((after.uid(), after.status), (before.uid(), before.status), "found nothing to do");
        assert_eq!(app.incarnations().await, pods);
        app.has_its_notes().await;
    })
    .await;
}
