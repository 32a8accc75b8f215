//! Stories of data that comes from a backup: into a new cluster, and in place of what a cluster has.

use etcd_types::{OperationKind, Phase, RestorePhase};
use expect_test::expect;
use serde_json::json;

use crate::{
    ClusterId, Serial, Stage,
    model::{
        Model,
        restore::{bootstrap, in_place},
    },
};

fn recovering(size: i32, to_point: bool) -> Model {
    let mut model = Model::new(json!({"size": size, "version": "3.6.16"}));
    model.restores.request = Some(bootstrap(to_point));
    model
}

fn phase(model: &Model) -> Option<RestorePhase> {
    model.status.restore.as_ref().map(|restore| restore.phase)
}

fn seeded(serial: u64) -> Option<ClusterId> {
    Some(ClusterId(0x5eed_0000 + serial))
}

#[test]
fn a_new_cluster_begins_with_the_data_of_a_backup_and_grows_from_one() {
    let mut model = recovering(3, false);
    expect![[r#"
        Recover the backup nightly
          add member 2 as a learner
          promote member 2
          add member 3 as a learner
          promote member 3
        CleanUp db-1
          delete the Job that brings data to member 1: its restore is over
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    assert_eq!(model.etcd.cluster_id, seeded(1), "the data that was brought");
    assert_eq!((phase(&model), model.members()), (Some(RestorePhase::Completed), vec![1, 2, 3]));
    assert_eq!(model.restores.brought.len(), 1);
    assert!(model.restores.seeds.is_empty(), "the Job is gone");
}

/// Whatever is asked for later: a cluster that exists is not begun again.
#[test]
fn once_the_cluster_is_known_its_seed_is_never_brought_again() {
    let mut model = recovering(1, false);
    assert!(model.settle());
    model.status = etcd_types::EtcdClusterStatus::default();
    model.kill_pod(1);
    model.edit(|spec| spec.size = 3);
    assert!(model.settle());
    assert_eq!((model.restores.brought.len(), model.etcd.cluster_id), (1, seeded(1)));
}

#[test]
fn what_cannot_be_fetched_is_said_and_tried_again() {
    let mut model = recovering(1, false);
    model.restores.seed_fails = Some("the credentials are wrong".into());
    for _ in 0..10 {
        model.reconcile();
        model.live();
        model.pass(5);
    }
    assert_eq!(model.status.phase, Some(Phase::Restoring));
    assert_eq!(model.status.message.as_deref(), Some("the credentials are wrong"));
    assert!(model.boxes.values().all(|entry| entry.stateful_set.is_none()), "nobody is started");
    model.restores.seed_fails = None;
    assert!(model.settle(), "{:#?}", model.status);
    assert_eq!(model.etcd.cluster_id, seeded(1));
}

#[test]
fn another_version_may_be_asked_for_before_there_is_data() {
    let mut model = recovering(1, false);
    model.restores.seed_fails = Some("it is too new".into());
    for _ in 0..4 {
        model.reconcile();
        model.live();
    }
    (model.restores.seed_fails, model.spec.version) = (None, "3.7.3".into());
    assert!(model.settle(), "{:#?}", model.status);
    assert_eq!(model.versions(), ["3.7.3"]);
}

#[test]
fn clients_are_let_in_when_the_point_in_time_is_reached() {
    let mut model = recovering(3, true);
    let mut closed = Vec::new();
    for _ in 0..60 {
        model.reconcile();
        let serves = model.serving().contains(&Serial(1));
        if serves && matches!(model.stage(), Some(Stage::Starting | Stage::Replaying)) {
            closed.push(model.restores.closed);
        }
        model.live();
        model.pass(2);
    }
    assert!(!closed.is_empty() && closed.iter().all(|closed| *closed), "{closed:?}");
    assert!(!model.restores.closed);
    assert_eq!((phase(&model), model.members().len()), (Some(RestorePhase::Completed), 3));
}

#[test]
fn in_place_everything_is_prepared_before_anybody_is_stopped() {
    let mut model = Model::running(3, "3.6.16");
    model.restores.request = Some(in_place("back"));
    expect![[r#"
        Restore the backup nightly
          take the backup back-before-uid-of-b
          delete the StatefulSet of member 1: the backup nightly replaces its data
          delete the StatefulSet of member 2: the backup nightly replaces its data
          delete the StatefulSet of member 3: the backup nightly replaces its data
          add member 5 as a learner
          promote member 5
          add member 6 as a learner
          promote member 6
        CleanUp db-4
          delete the Job that brings data to member 4: its restore is over
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    assert_eq!((model.etcd.cluster_id, model.members()), (seeded(4), vec![4, 5, 6]));
    assert_eq!(
        (phase(&model), model.restores.backups.clone()),
        (Some(RestorePhase::Completed), vec!["back-before-uid-of-b".to_owned()])
    );
    assert!(model.deleted_claims.is_empty());
    let kept = model.boxes.iter().filter(|(_, entry)| entry.claim.is_some()).count();
    assert_eq!(kept, 6, "the old volumes stay");
    // The same request again, with a status that forgot everything.
    model.status = etcd_types::EtcdClusterStatus::default();
    assert!(model.settle());
    assert_eq!(model.members(), [4, 5, 6]);
}

#[test]
fn without_consent_nothing_is_touched() {
    let mut model = Model::running(3, "3.6.16");
    model.restores.request = Some(crate::Recovery { consented: false, ..in_place("back") });
    let before = model.boxes.clone();
    assert!(model.settle());
    assert_eq!(model.boxes, before);
    assert_eq!(model.status.restore, None);
}

#[test]
fn what_fails_before_the_members_are_stopped_leaves_them_as_they_were() {
    let mut model = Model::running(3, "3.6.16");
    let pods: Vec<_> = model.boxes.values().filter_map(|entry| entry.pod.clone()).collect();
    model.restores.seed_fails = Some("the snapshot is truncated".into());
    model.restores.request = Some(in_place("back"));
    assert!(model.settle(), "{:#?}", model.status);
    assert_eq!((phase(&model), model.members()), (Some(RestorePhase::Failed), vec![1, 2, 3]));
    assert_eq!(model.status.phase, Some(Phase::Healthy));
    let now: Vec<_> = model.boxes.values().filter_map(|entry| entry.pod.clone()).collect();
    assert_eq!(now.len(), pods.len());
    assert!(now.iter().zip(&pods).all(|(now, before)| now.uid == before.uid), "nobody was restarted");
}

#[test]
fn failed_safety_backup_asks_for_consent_and_the_restore_goes_on_with_it() {
    let mut model = Model::running(3, "3.6.16");
    model.restores.safety_fails = Some("the store is full".into());
    model.restores.request = Some(in_place("back"));
    model.story();
    assert_eq!((phase(&model), model.members()), (Some(RestorePhase::WaitingForConsent), vec![1, 2, 3]));
    assert_eq!(model.status.phase, Some(Phase::WaitingForUser));
    expect!["EtcdBackup back-before-uid-of-b of the present data failed: the store is full; delete it to try again, or set spec.withoutSafetyBackup of the EtcdRestore to true to go on without it. Nothing is touched until then"].assert_eq(model.status.message.as_deref().unwrap());
    model.restores.request = Some(crate::Recovery { without_safety_backup: true, ..in_place("back") });
    assert!(model.settle(), "{:#?}", model.status);
    assert_eq!((phase(&model), model.members()), (Some(RestorePhase::Completed), vec![4, 5, 6]));
}

#[test]
fn alarm_that_a_backup_contains_is_disarmed_before_anything_is_written() {
    for to_point in [false, true] {
        let mut model = Model::running(3, "3.6.16");
        model.restores.alarm_in_backup = true;
        model.restores.request = Some(crate::Recovery { to_point, ..in_place("back") });
        let story = model.story();
        assert_eq!(phase(&model), Some(RestorePhase::Completed), "{story}");
        assert_eq!((model.members(), model.alarms.len()), (vec![4, 5, 6], 0));
        let at = |words: &str| story.find(words).unwrap();
        assert!(at("disarm the alarm CORRUPT") < at("add member 5"), "{story}");
    }
}

#[test]
fn failed_safety_backup_that_is_deleted_is_taken_again() {
    let mut model = Model::running(3, "3.6.16");
    model.restores.safety_fails = Some("the store is full".into());
    model.restores.request = Some(in_place("back"));
    model.story();
    (model.restores.safety, model.restores.safety_fails) = (None, None);
    assert!(model.settle(), "{:#?}", model.status);
    assert_eq!((phase(&model), model.members()), (Some(RestorePhase::Completed), vec![4, 5, 6]));
}

#[test]
fn corrupt_cluster_without_majority_is_restored_without_a_backup_of_it() {
    let mut model = Model::running(3, "3.6.16");
    model.damage(1, 7);
    model.damage(2, 8);
    model.raise_corrupt(crate::MemberId(0));
    model.restores.safety_fails = Some("no majority of the members has the same data".into());
    model.restores.request = Some(in_place("back"));
    model.story();
    assert_eq!(phase(&model), Some(RestorePhase::WaitingForConsent));
    model.restores.request = Some(crate::Recovery { without_safety_backup: true, ..in_place("back") });
    assert!(model.settle(), "{:#?}", model.status);
    assert_eq!((phase(&model), model.members()), (Some(RestorePhase::Completed), vec![4, 5, 6]));
    assert_eq!(model.status.phase, Some(Phase::Healthy));
}

#[test]
fn a_seed_that_does_not_serve_gives_the_place_back() {
    let mut model = Model::running(3, "3.6.16");
    let id = model.etcd.cluster_id;
    model.restores.bad_data = true;
    model.restores.request = Some(in_place("back"));
    expect![[r#"
        Restore the backup nightly
          take the backup back-before-uid-of-b
          delete the StatefulSet of member 1: the backup nightly replaces its data
          delete the StatefulSet of member 2: the backup nightly replaces its data
          delete the StatefulSet of member 3: the backup nightly replaces its data
          delete the StatefulSet of member 4: the restore is given up
        CleanUp db-4
          delete the Job that brings data to member 4: its restore is over
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    assert_eq!((model.etcd.cluster_id, model.members()), (id, vec![1, 2, 3]));
    assert_eq!(phase(&model), Some(RestorePhase::Failed));
}

#[test]
fn a_replay_that_fails_gives_the_place_back() {
    let mut model = Model::running(3, "3.6.16");
    let id = model.etcd.cluster_id;
    model.restores.replay_fails = Some("revisions 12 to 15 are missing".into());
    model.restores.request = Some(crate::Recovery { to_point: true, ..in_place("back") });
    assert!(model.settle(), "{:#?}", model.status);
    assert_eq!((model.etcd.cluster_id, model.members()), (id, vec![1, 2, 3]));
    assert_eq!(model.status.phase, Some(Phase::Healthy), "{:#?}", model.status);
    assert_eq!(phase(&model), Some(RestorePhase::Failed));
    assert!(!model.restores.closed);
}

/// The EtcdRestore is deleted after so many reconciles: either it had come far enough, or everything is as it was.
#[test]
fn whenever_it_is_given_up_one_of_the_two_clusters_is_whole() {
    let mut ends = std::collections::BTreeSet::new();
    for after in 0..40 {
        let mut model = Model::running(3, "3.6.16");
        model.restores.request = Some(in_place("back"));
        for _ in 0..after {
            model.reconcile();
            model.live();
            model.pass(2);
        }
        model.restores.request = None;
        assert!(model.settle(), "after {after}: {:#?}", model.status);
        assert_eq!(model.status.phase, Some(Phase::Healthy), "after {after}: {:#?}", model.status);
        let ids = (model.etcd.cluster_id == seeded(4), model.members().len());
        assert_eq!(ids.1, 3, "after {after}");
        ends.insert(ids.0);
    }
    assert_eq!(ends.len(), 2, "both were seen");
}

/// The operator crashes after every effect of every reconcile.
#[test]
fn a_restore_that_is_interrupted_anywhere_goes_on() {
    for bad_data in [false, true] {
        for at in 0..24 {
            for effects in 1..4 {
                let mut model = Model::running(3, "3.6.16");
                model.restores.bad_data = bad_data;
                model.restores.request = Some(in_place("back"));
                for _ in 0..at {
                    model.reconcile();
                    model.live();
                    model.pass(2);
                }
                model.reconcile_part(effects);
                model.live();
                assert!(model.settle(), "{at}/{effects}: {:#?}", model.status);
                let members = model.members();
                assert_eq!((members[0], members.len()), (if bad_data { 1 } else { 4 }, 3), "{at}/{effects}");
                assert_eq!(model.restores.brought.len(), 1, "{at}/{effects}");
            }
        }
    }
}

/// A cluster that lost its quorum for good is what a restore is for: no backup of it can be taken, its volumes stay.
#[test]
fn a_cluster_without_a_quorum_is_restored_in_place() {
    let mut model = Model::running(3, "3.6.16");
    model.kill_node(1);
    model.kill_node(2);
    model.live();
    model.pass(60);
    model.reconcile();
    model.restores.request = Some(in_place("back"));
    model.restores.safety_fails = Some("too few members serve".into());
    assert!(model.settle(), "{:#?}", model.status);
    assert_eq!(model.members(), [4, 5, 6]);
}

#[test]
fn a_restore_says_what_it_does() {
    let mut model = Model::running(1, "3.6.16");
    model.restores.request = Some(in_place("back"));
    let mut steps = Vec::new();
    for _ in 0..30 {
        model.reconcile();
        let restore = model.status.restore.clone().unwrap();
        if steps.last() != Some(&restore.step) {
            steps.push(restore.step);
        }
        if let Some(operation) = &model.status.operation {
            assert!(
                [OperationKind::Restore, OperationKind::CleanUp].contains(&operation.kind),
                "{operation:?}"
            );
        }
        model.live();
        model.pass(2);
    }
    expect!["Fetching BackingUp Stopping Starting Growing Done"].assert_eq(&steps.join(" "));
}

#[test]
fn the_backup_before_is_of_this_restore_and_not_of_an_earlier_one_of_its_name() {
    let before = |name: &str, uid: &str| {
        crate::Recovery { uid: uid.into(), ..in_place(name) }.safety().expect("in place there is one")
    };
    assert_eq!(before("back", "0c7f3a52-9d3f"), "back-before-0c7f3a52");
    assert_ne!(before("back", "0c7f3a52-9d3f"), before("back", "51b0aa00-9d3f"));
    assert_eq!(before(&"r".repeat(40), "0c7f3a52-9d3f").len(), 55, "an EtcdBackup may have such a name");
}
