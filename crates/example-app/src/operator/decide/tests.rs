//! Decisions as tables: a world, and the plan as people read it.

use expect_test::{Expect, expect};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::PersistentVolumeClaim};
use kit::backups::Restore;
use serde_json::{Value, json};

use crate::operator::{decide::decide, model::Model};
use crate::{Step, operator::observe::World};

fn spec(version: &str) -> Value {
    json!({"appVersion": version})
}

fn with_backup(version: &str) -> Value {
    let backup =
        json!({"enabled": true, "storageType": "s3", "host": "store.example.com", "bucketName": "notes"});
    json!({"appVersion": version, "backup": backup})
}

fn check(model: &mut Model, expected: Expect) {
    expected.assert_eq(&model.reconcile().to_string());
}

/// The lines of every plan until it rests, of operations and Deployments only.
fn story(model: &mut Model) -> String {
    const ALWAYS: &[&str] = &["apply S", "apply P", "apply C", "look", "no "];
    let mut told: Vec<String> = Vec::new();
    for _ in 0..40 {
        let plan = model.reconcile().to_string();
        let news = plan.lines().filter(|line| !ALWAYS.iter().any(|start| line.starts_with(start)));
        told.push(news.fold(String::new(), |text, line| text + line + "\n"));
        model.pods_follow();
        model.jobs_end(None);
        model.pass(30);
    }
    told.dedup();
    told.concat()
}

#[test]
fn an_app_is_installed_after_its_claim_is_on_record() {
    let mut model = Model::new(spec("0.0.1"));
    check(&mut model, expect![[""]]);
    check(
        &mut model,
        expect![[r#"
            apply ServiceAccount notes
            create Secret notes-auth with a new password
            apply PersistentVolumeClaim notes-data
            apply Service notes
            apply Deployment notes: 0.0.1 x 1
        "#]],
    );
    model.pods_follow();
    model.settle();
    assert_eq!(model.world.status().current_version.as_deref(), Some("0.0.1"));
}

#[test]
fn an_upgrade_backs_up_stops_migrates_and_starts() {
    let mut model = Model::running(with_backup("0.0.1"));
    model.edit(|spec| spec.app_version = "0.0.2".into());
    expect![[r#"
        begin Upgrade 1 at BackUp
        Upgrade 1: BackUp
        apply Deployment notes: 0.0.1 x 1
        run Job notes-upgrade-1-backup
        Upgrade 1: Stop
        Upgrade 1: Stop
        apply Deployment notes: 0.0.1 x 0
        Upgrade 1: Migrate
        Upgrade 1: Migrate
        apply Deployment notes: 0.0.1 x 0
        run Job notes-upgrade-1-migrate, alone on the volume
        Upgrade 1: Start
        Upgrade 1: Start
        apply Deployment notes: 0.0.2 x 1
        Upgrade 1 is done: 0.0.2
        apply Deployment notes: 0.0.2 x 1
    "#]]
    .assert_eq(&story(&mut model));
    assert_eq!(model.world.status().current_version.as_deref(), Some("0.0.2"));
}

#[test]
fn an_upgrade_without_a_new_format_only_rolls() {
    let mut model = Model::running(spec("0.0.2"));
    model.edit(|spec| spec.app_version = "0.1.0".into());
    expect![[r#"
        begin Upgrade 1 at Start
        Upgrade 1: Start
        apply Deployment notes: 0.1.0 x 1
        Upgrade 1 is done: 0.1.0
        apply Deployment notes: 0.1.0 x 1
    "#]]
    .assert_eq(&story(&mut model));
}

#[test]
fn a_release_that_never_becomes_ready_is_rolled_back_and_not_tried_again() {
    let mut model = Model::running(with_backup("0.0.2"));
    model.edit(|spec| spec.app_version = "0.0.3".into());
    expect![[r#"
        begin Upgrade 1 at BackUp
        Upgrade 1: BackUp
        apply Deployment notes: 0.0.2 x 1
        run Job notes-upgrade-1-backup
        Upgrade 1: Start
        Upgrade 1: Start
        apply Deployment notes: 0.0.3 x 1
        undo Upgrade 1: 0.0.3 was not ready after 120 s: 0 of 1 Pods are ready
        Upgrade 1: UndoStart
        Upgrade 1: UndoStart
        apply Deployment notes: 0.0.2 x 1
        give up Upgrade 1: 0.0.3 was not ready after 120 s: 0 of 1 Pods are ready
        apply Deployment notes: 0.0.2 x 1
    "#]]
    .assert_eq(&story(&mut model));
    assert_eq!(model.world.status().failed_upgrade.unwrap().what, "0.0.3");
}

#[test]
fn a_broken_release_with_a_new_format_gets_its_data_back() {
    let mut model = Model::running(with_backup("0.0.1"));
    model.broken = vec!["0.0.2"];
    model.edit(|spec| spec.app_version = "0.0.2".into());
    expect![[r#"
        begin Upgrade 1 at BackUp
        Upgrade 1: BackUp
        apply Deployment notes: 0.0.1 x 1
        run Job notes-upgrade-1-backup
        Upgrade 1: Stop
        Upgrade 1: Stop
        apply Deployment notes: 0.0.1 x 0
        Upgrade 1: Migrate
        Upgrade 1: Migrate
        apply Deployment notes: 0.0.1 x 0
        run Job notes-upgrade-1-migrate, alone on the volume
        Upgrade 1: Start
        Upgrade 1: Start
        apply Deployment notes: 0.0.2 x 1
        undo Upgrade 1: 0.0.2 was not ready after 120 s: 0 of 1 Pods are ready
        Upgrade 1: UndoStop
        Upgrade 1: UndoStop
        apply Deployment notes: 0.0.1 x 0
        Upgrade 1: UndoData
        Upgrade 1: UndoData
        apply Deployment notes: 0.0.1 x 0
        run Job notes-upgrade-1-undo, alone on the volume
        Upgrade 1: UndoStart
        Upgrade 1: UndoStart
        apply Deployment notes: 0.0.1 x 1
        give up Upgrade 1: 0.0.2 was not ready after 120 s: 0 of 1 Pods are ready
        apply Deployment notes: 0.0.1 x 1
    "#]]
    .assert_eq(&story(&mut model));
    assert_eq!(model.world.status().current_version.as_deref(), Some("0.0.1"));
}

#[test]
fn data_that_no_migration_brings_back_comes_from_the_backup() {
    let mut model = Model::running(with_backup("0.0.1"));
    model.broken = vec!["0.0.2"];
    model.edit(|spec| spec.app_version = "0.0.2".into());
    let mut steps = Vec::new();
    for _ in 0..30 {
        model.reconcile();
        model.pods_follow();
        let step = model.world.status().operation.map(|it| it.step);
        model.jobs_end((step == Some(Step::UndoData)).then_some(65));
        model.pass(30);
        steps.extend(step);
    }
    steps.dedup();
    assert_eq!(
        steps.last_chunk(),
        Some(&[Step::UndoStop, Step::UndoData, Step::UndoRestore, Step::UndoStart])
    );
    assert_eq!(model.world.status().current_version.as_deref(), Some("0.0.1"));
}

/// 0.0.1 to 0.0.3, which never becomes ready; and no Job brings the data from before back.
fn stranded(broken: Vec<&'static str>) -> Model {
    let mut model = Model::running(with_backup("0.0.1"));
    model.broken = broken;
    model.edit(|spec| spec.app_version = "0.0.3".into());
    for _ in 0..30 {
        model.reconcile();
        model.pods_follow();
        let step = model.world.status().operation.map(|it| it.step);
        let undoing = matches!(step, Some(Step::UndoData | Step::UndoRestore));
        model.jobs_end(undoing.then_some(75));
        model.pass(30);
    }
    model
}

#[test]
fn what_cannot_be_undone_goes_on_as_the_release_that_its_format_came_with() {
    let status = stranded(vec!["0.0.3"]).world.status();
    assert_eq!(status.current_version.as_deref(), Some("0.0.2"));
    let failed = status.failed_upgrade.unwrap();
    assert!(failed.what == "0.0.3" && failed.message.ends_with("0.0.2 goes on"), "{failed:?}");
}

#[test]
fn what_never_served_is_replaced_by_the_users_fix_without_a_backup() {
    let mut model = stranded(vec!["0.0.2", "0.0.3"]);
    let status = model.world.status();
    assert_eq!((status.current_version, status.data_version.as_deref()), (None, Some("0.0.2")));
    assert_eq!(
        model.world.on_claim().map(String::as_str),
        Some("0.0.2"),
        "who finds the claim finds the truth"
    );

    model.edit(|spec| spec.app_version = "0.1.0".into());
    for _ in 0..4 {
        model.reconcile();
        model.pods_follow();
        model.jobs_end(Some(75));
    }
    let status = model.world.status();
    assert_eq!((status.current_version.as_deref(), status.failed_upgrade), (Some("0.1.0"), None));
    assert_eq!(status.operations, Some(1), "no backup, no way back: it is simply started");
}

#[test]
fn a_step_that_nobody_carried_out_in_time_begins_when_somebody_is_there() {
    let mut model = Model::running(spec("0.0.2"));
    model.edit(|spec| spec.app_version = "0.1.0".into());
    check(
        &mut model,
        expect![[r#"
        begin Upgrade 1 at Start
    "#]],
    );
    model.pass(3600);
    assert!(model.settle());
    let status = model.world.status();
    assert_eq!((status.current_version.as_deref(), status.failed_upgrade), (Some("0.1.0"), None));
}

#[test]
fn a_version_that_may_not_follow_is_refused_and_nothing_changes() {
    let mut model = Model::running(spec("0.0.1"));
    model.edit(|spec| spec.app_version = "0.1.0".into());
    check(
        &mut model,
        expect![[r#"
        refuse spec.appVersion: 0.1.0 cannot read data of format 1: set 0.0.2 first, then 0.1.0; it stays at 0.0.1
        apply ServiceAccount notes
        apply PersistentVolumeClaim notes-data
        apply Service notes
        apply Deployment notes: 0.0.1 x 1
    "#]],
    );
    model.edit(|spec| spec.app_version = "7.0.0".into());
    check(
        &mut model,
        expect![[r#"
        refuse spec.appVersion: version 7.0.0 is not known; the known ones are 0.0.1, 0.0.2, 0.0.3, 0.1.0; it stays at 0.0.1
        apply ServiceAccount notes
        apply PersistentVolumeClaim notes-data
        apply Service notes
        apply Deployment notes: 0.0.1 x 1
    "#]],
    );
}

#[test]
fn a_reverted_version_is_acted_on_while_the_upgrade_is_under_way() {
    let mut model = Model::running(with_backup("0.0.1"));
    model.broken = vec!["0.0.2"];
    model.edit(|spec| spec.app_version = "0.0.2".into());
    for _ in 0..10 {
        model.reconcile();
        model.pods_follow();
        model.jobs_end(None);
    }
    model.edit(|spec| spec.app_version = "0.0.1".into());
    expect![[r#"
        undo Upgrade 1: spec.appVersion is now 0.0.1, and 0.0.1 is in force
        Upgrade 1: UndoStop
        Upgrade 1: UndoStop
        apply Deployment notes: 0.0.1 x 0
        Upgrade 1: UndoData
        Upgrade 1: UndoData
        apply Deployment notes: 0.0.1 x 0
        run Job notes-upgrade-1-undo, alone on the volume
        Upgrade 1: UndoStart
        Upgrade 1: UndoStart
        apply Deployment notes: 0.0.1 x 1
        give up Upgrade 1: spec.appVersion is now 0.0.1, and 0.0.1 is in force
        apply Deployment notes: 0.0.1 x 1
    "#]]
    .assert_eq(&story(&mut model));
}

#[test]
fn a_new_instance_is_born_from_a_backup_and_starts_only_with_it() {
    let mut model = Model::new(with_backup("0.0.2"));
    model.backups.insert("default/other/20260101T000000Z.notes".into(), crate::app::Format::Raw);
    model.edit(|spec| {
        spec.restore =
            Some(Restore { backup: "latest".into(), from: Some("default/other".into()), request: None });
    });
    expect![[r#"
        begin Restore 1 at Stop
        Restore 1: Stop
        create Secret notes-auth with a new password
        apply Deployment notes: 0.0.2 x 0
        Restore 1: Restore
        Restore 1: Restore
        apply Deployment notes: 0.0.2 x 0
        run Job notes-restore-1-restore, alone on the volume
        Restore 1: Migrate
        Restore 1: Migrate
        apply Deployment notes: 0.0.2 x 0
        run Job notes-restore-1-migrate, alone on the volume
        Restore 1: Start
        Restore 1: Start
        apply Deployment notes: 0.0.2 x 1
        Restore 1 is done: 0.0.2
        apply Deployment notes: 0.0.2 x 1
    "#]]
    .assert_eq(&story(&mut model));
}

#[test]
fn a_new_instance_without_its_backup_does_not_start_empty() {
    let mut model = Model::new(with_backup("0.0.2"));
    model.edit(|spec| spec.restore = Some(Restore { backup: "gone".into(), from: None, request: None }));
    expect![[r#"
        begin Restore 1 at Stop
        Restore 1: Stop
        create Secret notes-auth with a new password
        apply Deployment notes: 0.0.2 x 0
        Restore 1: Restore
        Restore 1: Restore
        apply Deployment notes: 0.0.2 x 0
        run Job notes-restore-1-restore, alone on the volume
        give up Restore 1: the restore failed: Exit64
        apply Deployment notes: 0.0.2 x 0
    "#]]
    .assert_eq(&story(&mut model));
}

#[test]
fn a_restore_keeps_what_it_replaces() {
    let mut model = Model::running(with_backup("0.0.2"));
    model.backups.insert("default/notes/20260101T000000Z.notes".into(), crate::app::Format::Raw);
    model.edit(|spec| spec.restore = Some(Restore { backup: "latest".into(), from: None, request: None }));
    expect![[r#"
        begin Restore 1 at BackUp
        Restore 1: BackUp
        apply Deployment notes: 0.0.2 x 1
        run Job notes-restore-1-backup
        Restore 1: Stop
        Restore 1: Stop
        apply Deployment notes: 0.0.2 x 0
        Restore 1: Restore
        Restore 1: Restore
        apply Deployment notes: 0.0.2 x 0
        run Job notes-restore-1-restore, alone on the volume
        Restore 1: Migrate
        Restore 1: Migrate
        apply Deployment notes: 0.0.2 x 0
        run Job notes-restore-1-migrate, alone on the volume
        Restore 1: Start
        Restore 1: Start
        apply Deployment notes: 0.0.2 x 1
        Restore 1 is done: 0.0.2
        apply Deployment notes: 0.0.2 x 1
    "#]]
    .assert_eq(&story(&mut model));
    assert!(model.backups.keys().any(|key| key.starts_with("before-restore/default/notes/")));
}

#[test]
fn corrupt_data_is_restored_only_with_consent_and_not_twice_in_a_row() {
    let mut model = Model::running(with_backup("0.0.2"));
    model.backups.insert("default/notes/20260101T000000Z.notes".into(), crate::app::Format::Checked);
    model.corrupt();
    check(
        &mut model,
        expect![[r#"
        apply ServiceAccount notes
        apply PersistentVolumeClaim notes-data
        apply Service notes
        apply Deployment notes: 0.0.2 x 1
        apply CronJob notes-backup
    "#]],
    );
    model.edit(|spec| spec.remediation.restore_corrupt_volume = true);
    check(
        &mut model,
        expect![[r#"
        begin Remediation 1 at Stop
    "#]],
    );
    model.settle();
    assert!(model.world.status().last_remediation.is_some());
    model.corrupt();
    check(
        &mut model,
        expect![[r#"
        apply ServiceAccount notes
        apply PersistentVolumeClaim notes-data
        apply Service notes
        apply Deployment notes: 0.0.2 x 1
        apply CronJob notes-backup
    "#]],
    );
}

#[test]
fn what_was_restored_without_asking_and_cannot_be_migrated_is_not_started_as_another_format() {
    let mut model = Model::running(with_backup("0.0.1"));
    model.edit(|spec| spec.app_version = "0.0.2".into());
    assert!(model.settle());
    model.edit(|spec| spec.remediation.restore_corrupt_volume = true);
    model.corrupt();
    let step = |model: &Model| model.world.status().operation.map(|it| it.step);
    model.reconcile();
    while step(&model) != Some(Step::Migrate) {
        model.reconcile();
        model.pods_follow();
        model.jobs_end(None);
    }
    model.reconcile();
    model.jobs_end(Some(64));
    for _ in 0..4 {
        model.reconcile();
    }
    let status = model.world.status();
    assert_eq!(status.data_version.as_deref(), Some("0.0.1"), "the backup is from before the upgrade");
    assert!(model.settle());
    assert_eq!(model.world.status().current_version.as_deref(), Some("0.0.2"), "migrated as an upgrade is");
}

#[test]
fn the_schedule_goes_when_no_backups_are_wanted_any_more() {
    let mut model = Model::running(with_backup("0.0.1"));
    model.edit(|spec| spec.backup.as_mut().unwrap().enabled = false);
    let objects = |last: &str| {
        let always = ["ServiceAccount notes", "PersistentVolumeClaim notes-data", "Service notes"];
        let always: String = always.map(|object| format!("apply {object}\n")).concat();
        format!("{always}apply Deployment notes: 0.0.1 x 1\n{last}")
    };
    assert_eq!(model.reconcile().to_string(), objects("delete CronJob notes-backup\n"));
    assert_eq!(model.reconcile().to_string(), objects(""), "once");
}

#[test]
fn a_backup_is_made_once_for_each_request() {
    let mut model = Model::running(with_backup("0.0.1"));
    model.edit(|spec| spec.backup.as_mut().unwrap().request = Some("before the fair".into()));
    expect![[r#"
        begin Backup 1 at BackUp
        Backup 1: BackUp
        apply Deployment notes: 0.0.1 x 1
        run Job notes-backup-1-backup
        Backup 1 is done: 0.0.1
        apply Deployment notes: 0.0.1 x 1
    "#]]
    .assert_eq(&story(&mut model));
    assert_eq!(model.backups.len(), 1);
}

fn hand_made(world: &mut World, claim: &str) {
    let volumes = json!([{"name": "storage", "persistentVolumeClaim": {"claimName": claim}}]);
    let container = json!({"name": "web", "command": ["capstan", "example-app"], "args": ["serve", "--app-version", "0.0.1", "--data", "/data"]});
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "notes", "namespace": "default"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "notes"}}, "strategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": {"app": "notes"}}, "spec": {"containers": [container], "volumes": volumes}}}
    })).unwrap();
    world.live.put(deployment);
    let claim = json!({"metadata": {"name": claim, "namespace": "default"}});
    world.live.put::<PersistentVolumeClaim>(serde_json::from_value(claim).unwrap());
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let mut model = Model::new(spec("0.0.1"));
    hand_made(&mut model.world, "notes-data");
    check(
        &mut model,
        expect![[r#"
        refuse spec.takeOwnership: Deployment notes exists and is not ours, so nothing was touched: set spec.takeOwnership to take it over with its data, or give this ExampleApp another name
        refuse spec.takeOwnership: PersistentVolumeClaim notes-data exists and is not ours, so nothing was touched: set spec.takeOwnership to take it over with its data, or give this ExampleApp another name
    "#]],
    );
}

#[test]
fn what_is_taken_over_keeps_its_selector_its_container_and_its_volume() {
    let mut model = Model::new(json!({"appVersion": "0.0.2", "takeOwnership": true}));
    hand_made(&mut model.world, "old-claim");
    // As `observe` finds it in the Deployment.
    model.world.claim_name = "old-claim".into();
    check(&mut model, expect![[""]]);
    assert_eq!(
        model.world.status().current_version.as_deref(),
        Some("0.0.1"),
        "an upgrade, not a fresh install"
    );
    let plan = decide(&model.world, model.now);
    assert!(matches!(plan.news, Some(super::News::Began(_))), "{plan}");
    let adopted =
        super::build::deployment(&model.world, &super::spec::judge(&model.world).0.unwrap(), "0.0.1", 1);
    let text = json!(adopted).to_string();
    assert_eq!(json!(adopted)["spec"]["selector"], json!({"matchLabels": {"app": "notes"}}));
    assert!(text.contains(r#""claimName":"old-claim""#) && text.contains(r#""name":"web""#), "{text}");
}

#[test]
fn a_spec_that_cannot_be_carried_out_names_the_field_and_leaves_the_rest() {
    let mut model =
        Model::running(json!({"appVersion": "0.0.1", "storage": {"size": "2Gi", "className": "fast"}}));
    model.edit(|spec| {
        spec.storage.size = Some(k8s_openapi::apimachinery::pkg::api::resource::Quantity("1Gi".into()));
        spec.storage.class_name = Some("slow".into());
        spec.resources = serde_json::from_value(json!({"limits": {"memory": "much"}})).unwrap();
    });
    check(
        &mut model,
        expect![[r#"
        refuse spec.resources: memory: "much" is no quantity such as 500m or 256Mi; what was set before stays
        refuse spec.storage.size: a volume cannot shrink to 1Gi; it stays at 2Gi
        refuse spec.storage.className: the class of a volume cannot change to slow; it stays fast. Restore a backup into a new object to move it
        apply ServiceAccount notes
        apply PersistentVolumeClaim notes-data
        apply Service notes
        apply Deployment notes: 0.0.1 x 1
    "#]],
    );
}

#[test]
fn the_cache_is_a_quarter_of_the_memory_limit() {
    let mut model =
        Model::running(json!({"appVersion": "0.0.1", "resources": {"limits": {"memory": "256Mi"}}}));
    model.settle();
    let text = json!(model.world.deployment().unwrap()).to_string();
    assert!(text.contains(r#""--cache","65536Ki""#), "{text}");
}
