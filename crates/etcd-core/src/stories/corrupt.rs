//! Data that differs: the minority is replaced, its volume is kept, the alarm is disarmed; without a majority nothing is changed.

use etcd_types::Phase;
use expect_test::{Expect, expect};

use crate::{Alarm, AlarmKind, ClaimState, MemberId, Serial, model::Model};

/// The data of these members changes, and etcd names `named`: that may be a wrong one.
fn corrupt(size: i32, damaged: &[(u64, u32)], named: u64) -> Model {
    let mut model = Model::running(size, "3.6.16");
    for (serial, data) in damaged {
        model.damage(*serial, *data);
    }
    model.raise_corrupt(MemberId(named));
    model
}

fn check(mut model: Model, expected: Expect) -> Model {
    expected.assert_eq(&model.story());
    model
}

fn condition<'a>(model: &'a Model, kind: &str) -> (&'a str, &'a str) {
    let found = model.status.conditions.iter().flatten().find(|it| it.type_ == kind).unwrap();
    (found.status.as_str(), found.message.as_str())
}

fn is_healed(model: &Model) {
    assert_eq!(model.status.phase, Some(Phase::Healthy), "{:?}", model.status.message);
    assert!(model.alarms.is_empty() && model.damaged_voters().is_empty());
    assert_eq!(model.serving().len(), usize::try_from(model.spec.size).unwrap());
    assert_eq!((condition(model, "Available").0, condition(model, "NoCorruption").0), ("True", "True"));
    assert!(model.deleted_claims.is_empty());
}

#[test]
fn no_pod_is_ready_while_the_alarm_is_raised() {
    let mut model = corrupt(3, &[], 0x102);
    model.edit(|spec| spec.paused = true);
    model.reconcile();
    assert_eq!(model.status.ready_members, Some(0));
    let (available, why) = condition(&model, "Available");
    assert_eq!(available, "False", "{why}");
    let members = model.status.members.as_ref().unwrap();
    assert_eq!(
        members[0].reason.as_deref(),
        Some("its pod is not ready, because the alarm CORRUPT is raised")
    );
}

#[test]
fn minority_of_three_is_replaced_and_its_volume_kept() {
    let model = check(
        corrupt(3, &[(2, 7)], 0x102),
        expect![[r#"
        Replace db-2
          remove member 2: it has other data than db-1, db-3
          disarm the alarm CORRUPT
          delete the StatefulSet of member 2: it is no member of the cluster
          add member 4 as a learner
          promote member 4
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]],
    );
    is_healed(&model);
    let kept = model.boxes[&Serial(2)].claim.as_ref().unwrap();
    assert!(matches!(kept.state, ClaimState::Detached { .. }), "{kept:?}");
}

#[test]
fn hashes_decide_and_not_the_member_that_the_alarm_names() {
    for named in [0, 0x102, 0x103] {
        let mut model = corrupt(3, &[(1, 7)], named);
        assert_eq!(model.etcd.leader, Some(Serial(1)), "the corrupt member leads");
        model.story();
        is_healed(&model);
        assert_eq!(model.members(), [2, 3, 4]);
    }
}

#[test]
fn two_of_five_are_replaced_before_the_alarm_is_disarmed() {
    let model = check(
        corrupt(5, &[(1, 7), (4, 8)], 0x101),
        expect![[r#"
        Replace db-1
          move the leader from member 1 to member 2
          remove member 1: it has other data than db-2, db-3, db-5
        Replace db-4
          remove member 4: it has other data than db-2, db-3, db-5
          disarm the alarm CORRUPT
          delete the StatefulSet of member 1: it is no member of the cluster
          delete the StatefulSet of member 4: it is no member of the cluster
          add member 6 as a learner
          promote member 6
          add member 7 as a learner
          promote member 7
        rest
        Healthy: 5 of 5 members serve etcd 3.6.16"#]],
    );
    is_healed(&model);
}

#[test]
fn alarm_of_members_that_agree_is_disarmed() {
    let mut model = corrupt(3, &[], 0x999);
    model.raise_corrupt(MemberId(0));
    let model = check(
        model,
        expect![[r#"
        Disarm CORRUPT
          disarm the alarm CORRUPT
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]],
    );
    is_healed(&model);
}

#[test]
fn without_majority_nothing_is_changed() {
    let cases: [(i32, &[(u64, u32)]); 3] = [(3, &[(1, 7), (2, 8)]), (1, &[]), (5, &[(1, 7), (2, 7), (3, 8)])];
    for (size, damaged) in cases {
        let mut model = corrupt(size, damaged, 0x101);
        let before = (model.etcd.clone(), model.boxes.clone());
        model.story();
        assert_eq!(model.status.phase, Some(Phase::WaitingForUser), "{:?}", model.status.message);
        assert_eq!(before, (model.etcd.clone(), model.boxes.clone()));
        assert!(model.is_corrupt());
        let (truth, message) = condition(&model, "NoCorruption");
        assert_eq!(truth, "False");
        assert!(message.contains("EtcdRestore") && message.contains("db-1 has the hash"), "{message}");
    }
}

#[test]
fn member_that_is_not_reached_is_not_judged_and_delays_the_alarms_end() {
    let mut model = corrupt(3, &[(3, 7)], 0x103);
    model.unreachable.insert(Serial(3));
    for _ in 0..10 {
        model.reconcile();
        model.live();
        model.pass(5);
        assert_eq!(model.members(), [1, 2, 3]);
        assert!(model.is_corrupt(), "db-3 may run with other data");
    }
    let (_, message) = condition(&model, "NoCorruption");
    assert!(
        message.ends_with("the alarm is disarmed when db-3 can be compared, or is replaced"),
        "{message}"
    );
    // It runs and is not ready: after spec.remediation.restartAfter it is restarted, and compares itself with the others.
    let model = check(
        model,
        expect![[r#"
        Restart db-3
          restart the pod of member 3: it runs and does not serve
        Replace db-3
          remove member 3: it has other data than db-1, db-2
          disarm the alarm CORRUPT
          delete the StatefulSet of member 3: it is no member of the cluster
          add member 4 as a learner
          promote member 4
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]],
    );
    is_healed(&model);
    assert_eq!(model.members(), [1, 2, 4]);
}

#[test]
fn member_that_does_not_run_is_compared_when_it_starts() {
    let mut model = corrupt(3, &[(3, 7)], 0x103);
    model.room = 2;
    model.kill_pod(3);
    model.live();
    for _ in 0..4 {
        model.reconcile();
    }
    assert!(!model.is_corrupt(), "clients are served by two members: {:?}", model.status.message);
    model.room = usize::MAX;
    model.story();
    is_healed(&model);
    assert_eq!(model.members(), [1, 2, 4]);
}

#[test]
fn member_that_refuses_to_start_is_replaced_when_the_others_agree() {
    let mut model = Model::running(3, "3.6.16");
    model.damage(2, 7);
    model.kill_pod(2);
    let model = check(
        model,
        expect![[r#"
        Replace db-2
          remove member 2: it has other data than db-1, db-3
          delete the StatefulSet of member 2: it is no member of the cluster
          add member 4 as a learner
          promote member 4
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]],
    );
    is_healed(&model);
}

#[test]
fn member_that_refuses_to_start_is_kept_when_the_others_disagree() {
    let mut model = Model::running(3, "3.6.16");
    model.damage(1, 7);
    model.kill_pod(2);
    model.story();
    assert_eq!(model.members(), [1, 2, 3]);
    let (_, message) = condition(&model, "NoCorruption");
    assert!(message.contains("set spec.etcd.corruptionChecks.initial to false"), "{message}");
    // As advised: it starts, and the leader's check finds the difference.
    model.edit(|spec| spec.etcd.corruption_checks.initial = false);
    for _ in 0..10 {
        model.reconcile();
        model.live();
        model.pass(5);
    }
    model.raise_corrupt(MemberId(0));
    model.story();
    is_healed(&model);
    assert!(!model.members().contains(&1) && model.members().contains(&2));
}

#[test]
fn learner_that_got_data_from_a_corrupt_member_does_not_vote() {
    let mut model = Model::running(3, "3.6.16");
    model.damage(1, 7);
    model.edit(|spec| spec.size = 5);
    while model.etcd.learners() == 0 || model.data(Serial(4)) == 0 {
        model.reconcile();
        model.live();
        model.pass(5);
        assert!(!model.members().contains(&4));
    }
    model.raise_corrupt(MemberId(0x102));
    model.story();
    is_healed(&model);
    assert!(!model.members().contains(&1) && !model.members().contains(&4), "{:?}", model.members());
}

#[test]
fn replacements_are_limited_as_the_user_says() {
    let mut model = corrupt(3, &[(2, 7)], 0x102);
    model.edit(|spec| spec.remediation.max_replacements_per_hour = 0);
    model.story();
    assert_eq!(model.members(), [1, 2, 3]);
    assert!(model.is_corrupt());
    model.edit(|spec| spec.remediation.max_replacements_per_hour = 1);
    model.story();
    is_healed(&model);
}

#[test]
fn full_database_is_no_corrupt_one() {
    let mut model = corrupt(3, &[(2, 7)], 0x102);
    let full = Alarm { member: MemberId(0x101), kind: AlarmKind::NoSpace };
    model.alarms.push(full);
    model.story();
    assert_eq!(model.alarms, [full], "only CORRUPT is disarmed");
    assert_eq!((condition(&model, "NoCorruption").0, condition(&model, "SpaceOK").0), ("True", "False"));
    assert_eq!(model.members(), [1, 3, 4]);
}

#[test]
fn crash_after_any_effect_ends_the_same() {
    for (size, damaged) in [(3, vec![(1, 7)]), (5, vec![(2, 7), (5, 9)])] {
        for crash in 0..24 {
            for effects in 0..8 {
                let mut model = corrupt(size, &damaged, 0x103);
                for _ in 0..crash {
                    model.reconcile();
                    model.live();
                    model.pass(2);
                }
                model.reconcile_part(effects);
                model.live();
                assert!(model.settle(), "{:?}", model.status);
                is_healed(&model);
            }
        }
    }
}
