//! The backup before another version.

use etcd_types::{BackupPhase, BackupStore};
use expect_test::expect;

use crate::{Truth, Why, model::Model};

fn with_backups(version: &str) -> Model {
    let mut model = Model::running(3, version);
    let store = BackupStore { url: "s3://backups/db".into(), ..BackupStore::default() };
    model.edit(|spec| spec.update_strategy.backup = Some(store));
    model
}

/// Its controller says how it stands.
fn stands(model: &mut Model, phase: BackupPhase, message: &str) {
    let made = model.upgrade_backup.as_mut().unwrap();
    (made.phase, made.message) = (Some(phase), Some(message.into()));
}

#[test]
fn no_member_is_touched_before_the_backup_is_completed() {
    let mut model = with_backups("3.5.35");
    model.edit(|spec| spec.version = "3.6.16".into());
    expect![[r#"
        Upgrade 3.6.16
          take the backup db-before-3-6-16
        Upgrading: waits for the EtcdBackup db-before-3-6-16"#]]
    .assert_eq(&model.story());
    stands(&mut model, BackupPhase::Running, "4 MiB of 20 MiB");
    expect!["Upgrading: waits for the EtcdBackup db-before-3-6-16: 4 MiB of 20 MiB"]
        .assert_eq(&model.story());
    stands(&mut model, BackupPhase::Completed, "");
    expect![[r#"
          restart the pod of member 2: it is to run 3.6.16
          restart the pod of member 3: it is to run 3.6.16
          move the leader from member 1 to member 2
          restart the pod of member 1: it is to run 3.6.16
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn a_patch_and_a_downgrade_have_their_backup_too() {
    let mut model = with_backups("3.6.15");
    model.edit(|spec| spec.version = "3.6.16".into());
    assert!(model.story().contains("take the backup db-before-3-6-16"));
    stands(&mut model, BackupPhase::Completed, "");
    assert!(model.story().ends_with("Healthy: 3 of 3 members serve etcd 3.6.16"));
    model.edit(|spec| spec.version = "3.5.35".into());
    expect![[r#"
        Downgrade 3.5.35
          take the backup db-before-3-5-35
        Downgrading: waits for the EtcdBackup db-before-3-5-35"#]]
    .assert_eq(&model.story());
    assert_eq!(model.etcd.downgrade, None, "etcd is not told before");
}

#[test]
fn a_backup_that_failed_stops_the_upgrade_and_is_tried_again_when_it_is_deleted() {
    let mut model = with_backups("3.5.35");
    model.edit(|spec| spec.version = "3.6.16".into());
    model.story();
    stands(&mut model, BackupPhase::Failed, "the bucket does not exist.");
    expect!["WaitingForUser: the EtcdBackup db-before-3-6-16 has failed: the bucket does not exist. No member was touched: delete it to try again, or set spec.version back to 3.5.35"].assert_eq(&model.story());
    let plan = model.reconcile();
    let progressing = plan.conditions.iter().find(|condition| condition.kind == "Progressing").unwrap();
    assert_eq!((progressing.truth, progressing.reason), (Truth::False, Why::BackupFailed));
    assert_eq!(plan.wake, None, "it may stay so for days");
    model.upgrade_backup = None;
    assert!(model.story().contains("take the backup db-before-3-6-16"));
    stands(&mut model, BackupPhase::Completed, "");
    assert!(model.story().ends_with("Healthy: 3 of 3 members serve etcd 3.6.16"));
}

#[test]
fn an_upgrade_that_is_taken_back_while_its_backup_runs_is_over() {
    let mut model = with_backups("3.5.35");
    model.edit(|spec| spec.version = "3.6.16".into());
    model.story();
    model.edit(|spec| spec.version = "3.5.35".into());
    expect![[r#"
        rest
        Healthy: 3 of 3 members serve etcd 3.5.35"#]]
    .assert_eq(&model.story());
}

#[test]
fn the_backup_of_an_earlier_try_is_not_taken_for_this_ones() {
    let mut model = with_backups("3.5.35");
    model.no_image.insert("3.6.16".parse().unwrap());
    model.edit(|spec| spec.version = "3.6.16".into());
    model.story();
    stands(&mut model, BackupPhase::Completed, "");
    model.story();
    // Nothing of it can wait for a backup: a member is down.
    model.edit(|spec| spec.version = "3.5.35".into());
    expect![[r#"
        Downgrade 3.5.35
          restart the pod of member 2: it does not serve, and is not as the spec asks for
        rest
        Healthy: 3 of 3 members serve etcd 3.5.35"#]]
    .assert_eq(&model.story());
    model.no_image.clear();
    model.edit(|spec| spec.version = "3.6.16".into());
    expect![[r#"
        Upgrade 3.6.16
          delete the EtcdBackup db-before-3-6-16: it is of an earlier try, and what was stored stays
          take the backup db-before-3-6-16
        Upgrading: waits for the EtcdBackup db-before-3-6-16"#]]
    .assert_eq(&model.story());
}

#[test]
fn the_backup_of_another_cluster_is_left_alone() {
    let mut model = with_backups("3.5.35");
    model.edit(|spec| spec.version = "3.6.16".into());
    model.story();
    model.upgrade_backup.as_mut().unwrap().cluster = "other".into();
    expect![
        "WaitingForUser: the EtcdBackup db-before-3-6-16 is of other: delete it, so that one can be taken"
    ]
    .assert_eq(&model.story());
}
