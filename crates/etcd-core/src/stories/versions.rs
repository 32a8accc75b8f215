//! Other versions, other settings.

use etcd_types::{EtcdClusterSpec, LogLevel, MemberStatus, UpdateType};
use expect_test::expect;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::{Serial, Step, model::Model};

#[test]
fn an_upgrade_moves_followers_first_and_the_leader_last() {
    let mut model = Model::running(3, "3.5.35");
    model.etcd.leader = Some(Serial(2));
    model.edit(|spec| spec.version = "3.6.16".into());
    expect![[r#"
        Upgrade 3.6.16
          restart the pod of member 1: it is to run 3.6.16
          restart the pod of member 3: it is to run 3.6.16
          move the leader from member 2 to member 1
          restart the pod of member 2: it is to run 3.6.16
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    model.edit(|spec| spec.version = "3.7.3".into());
    expect![[r#"
        Upgrade 3.7.3
          enable the downgrade to 3.5
          cancel the downgrade to 3.5
          restart the pod of member 2: it is to run 3.7.3
          restart the pod of member 3: it is to run 3.7.3
          move the leader from member 1 to member 2
          restart the pod of member 1: it is to run 3.7.3
        rest
        Healthy: 3 of 3 members serve etcd 3.7.3"#]]
    .assert_eq(&model.story());
}

/// Writes that are dropped while the leadership moves fail 5 s later or more. Their retries find the former leader up again.
#[test]
fn the_leader_restarts_immediately_after_it_has_handed_over() {
    let mut model = Model::running(3, "3.6.8");
    model.etcd.leader = Some(Serial(2));
    model.edit(|spec| spec.version = "3.6.16".into());
    let (mut last, mut taken) = (model.now, Vec::new());
    while model.versions() != ["3.6.16"; 3] || model.serving().len() < 3 {
        if let Some(step) = model.reconcile().step {
            taken.push(format!("{} s later: {step}", model.now.duration_since(last).as_secs()));
            last = model.now;
        }
        model.live();
        model.pass(1);
    }
    expect![[r#"
        1 s later: restart the pod of member 1: it is to run 3.6.16
        2 s later: restart the pod of member 3: it is to run 3.6.16
        2 s later: move the leader from member 2 to member 1
        1 s later: restart the pod of member 2: it is to run 3.6.16"#]]
    .assert_eq(&taken.join("\n"));
}

/// Its data may be what keeps it down, and no member is known to start with the next minor.
#[test]
fn another_minor_is_not_begun_with_a_member_that_is_down() {
    for (from, to) in [("3.5.35", "3.6.16"), ("3.6.16", "3.7.3"), ("3.6.16", "3.5.35")] {
        let mut model = Model::running(3, from);
        model.etcd.leader = Some(Serial(3));
        model.hang(1);
        model.edit(|spec| spec.version = to.into());
        for _ in 0..10 {
            let plan = model.reconcile();
            assert_eq!(plan.step, None, "{from} to {to}:\n{plan}");
            model.live();
            model.pass(1);
        }
        let message = model.status.operation.as_ref().unwrap().message.clone().unwrap();
        assert_eq!(message, "db-1 must serve before the first member moves to another minor");
    }
}

#[test]
fn an_upgrade_that_is_taken_back_while_snapshots_are_taken_leaves_no_downgrade_behind() {
    let mut model = Model::running(3, "3.6.16");
    model.edit(|spec| spec.version = "3.7.3".into());
    while model.etcd.downgrade.is_none() {
        model.reconcile();
    }
    model.edit(|spec| spec.version = "3.6.16".into());
    expect![[r#"
        Downgrade 3.6.16
          cancel the downgrade to 3.5
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    assert_eq!((model.etcd.downgrade, model.versions()), (None, vec!["3.6.16".to_owned(); 3]));
}

#[test]
fn a_single_member_is_upgraded_too() {
    let mut model = Model::running(1, "3.5.35");
    model.edit(|spec| spec.version = "3.6.16".into());
    expect![[r#"
        Upgrade 3.6.16
          restart the pod of member 1: it is to run 3.6.16
        rest
        Healthy: 1 of 1 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn refused_ways_leave_the_cluster_as_it_is() {
    let mut model = Model::running(3, "3.5.31");
    for version in ["3.6.16", "3.7.3", "3.4.30", "9.9.9", "latest"] {
        model.edit(|spec| spec.version = version.into());
        let story = model.story();
        assert!(!story.contains("restart"), "{story}");
        assert_eq!(model.versions(), ["3.5.31"; 3]);
    }
    model.edit(|spec| spec.version = "3.6.16".into());
    expect![[r#"
        refuse spec.version: 3.6.16 cannot follow 3.5.31: every member must run 3.5.32 or later first, as older ones leave learners and removed members in the v2 store, and 3.6 finds them again (etcd #19557, #20793, #20967). Set 3.5.32 or later first; the cluster stays at 3.5.31
        Healthy: spec.version: 3.6.16 cannot follow 3.5.31: every member must run 3.5.32 or later first, as older ones leave learners and removed members in the v2 store, and 3.6 finds them again (etcd #19557, #20793, #20967). Set 3.5.32 or later first; the cluster stays at 3.5.31. 3 of 3 members serve etcd 3.5.31"#]].assert_eq(&model.story());
    model.edit(|spec| spec.size = 5);
    expect![[r#"
        refuse spec.version: 3.6.16 cannot follow 3.5.31: every member must run 3.5.32 or later first, as older ones leave learners and removed members in the v2 store, and 3.6 finds them again (etcd #19557, #20793, #20967). Set 3.5.32 or later first; the cluster stays at 3.5.31
        ScaleOut 5 members
          add member 4 as a learner
          promote member 4
          add member 5 as a learner
          promote member 5
        rest
        Healthy: spec.version: 3.6.16 cannot follow 3.5.31: every member must run 3.5.32 or later first, as older ones leave learners and removed members in the v2 store, and 3.6 finds them again (etcd #19557, #20793, #20967). Set 3.5.32 or later first; the cluster stays at 3.5.31. 5 of 5 members serve etcd 3.5.31"#]].assert_eq(&model.story());
}

#[test]
fn a_failing_image_stops_after_one_member_and_a_reverted_version_takes_it_back() {
    let mut model = Model::running(3, "3.5.35");
    model.no_image.insert("3.6.99".parse().unwrap());
    model.edit(|spec| spec.version = "3.6.99".into());
    expect![[r#"
        Upgrade 3.6.99
          restart the pod of member 2: it is to run 3.6.99
        Upgrading: stopped after db-2, which cannot get its image (spec.version, spec.image, spec.pod.imagePullSecrets): ImagePullBackOff quay.io/coreos/etcd:v3.6.99. The others were left as they are: revert the spec, or correct it"#]].assert_eq(&model.story());
    assert_eq!(model.serving().len(), 2);
    model.edit(|spec| spec.version = "3.5.35".into());
    expect![[r#"
        Downgrade 3.5.35
          restart the pod of member 2: it does not serve, and is not as the spec asks for
        rest
        Healthy: 3 of 3 members serve etcd 3.5.35"#]]
    .assert_eq(&model.story());
}

#[test]
fn a_failing_image_can_be_corrected_forwards() {
    let mut model = Model::running(3, "3.5.35");
    model.no_image.insert("3.6.99".parse().unwrap());
    model.edit(|spec| spec.version = "3.6.99".into());
    model.story();
    model.edit(|spec| spec.version = "3.6.16".into());
    expect![[r#"
        Upgrade 3.6.16
          restart the pod of member 2: it does not serve, and is not as the spec asks for
          restart the pod of member 3: it is to run 3.6.16
          move the leader from member 1 to member 2
          restart the pod of member 1: it is to run 3.6.16
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn a_single_member_with_a_failing_image_comes_back_when_the_version_is_reverted() {
    let mut model = Model::running(1, "3.5.35");
    model.no_image.insert("3.6.99".parse().unwrap());
    model.edit(|spec| spec.version = "3.6.99".into());
    expect![[r#"
        Upgrade 3.6.99
          restart the pod of member 1: it is to run 3.6.99
        QuorumLost: too few members serve, so nothing can be written, and nobody is added or removed: 0 of 1 members serve etcd 3.5.35; db-1 cannot get its image (spec.version, spec.image, spec.pod.imagePullSecrets): ImagePullBackOff quay.io/coreos/etcd:v3.6.99."#]].assert_eq(&model.story());
    model.edit(|spec| spec.version = "3.5.35".into());
    expect![[r#"
        Downgrade 3.5.35
          restart the pod of member 1: it does not serve, and is not as the spec asks for
        rest
        Healthy: 1 of 1 members serve etcd 3.5.35"#]]
    .assert_eq(&model.story());
}

#[test]
fn an_upgrade_that_is_taken_back_half_way_rolls_back() {
    let mut model = Model::running(3, "3.5.35");
    model.edit(|spec| spec.version = "3.6.16".into());
    while !model.versions().contains(&"3.6.16".to_owned()) || model.serving().len() < 3 {
        model.reconcile();
        model.live();
        model.pass(2);
    }
    model.edit(|spec| spec.version = "3.5.35".into());
    expect![[r#"
        Downgrade 3.5.35
          restart the pod of member 2: it is to run 3.5.35
        rest
        Healthy: 3 of 3 members serve etcd 3.5.35"#]]
    .assert_eq(&model.story());
}

#[test]
fn a_downgrade_tells_etcd_first() {
    let mut model = Model::running(3, "3.7.3");
    model.edit(|spec| spec.version = "3.6.16".into());
    expect![[r#"
        Downgrade 3.6.16
          enable the downgrade to 3.6
          restart the pod of member 2: it is to run 3.6.16
          restart the pod of member 3: it is to run 3.6.16
          move the leader from member 1 to member 2
          restart the pod of member 1: it is to run 3.6.16
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn a_downgrade_that_is_taken_back_is_cancelled() {
    let mut model = Model::running(3, "3.6.16");
    model.edit(|spec| spec.version = "3.5.35".into());
    while !model.versions().contains(&"3.5.35".to_owned()) || model.serving().len() < 3 {
        model.reconcile();
        model.live();
        model.pass(2);
    }
    model.edit(|spec| spec.version = "3.6.16".into());
    expect![[r#"
        Upgrade 3.6.16
          cancel the downgrade to 3.5
          restart the pod of member 2: it is to run 3.6.16
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn other_settings_roll_and_bad_ones_stop_after_one_member() {
    let mut model = Model::running(3, "3.6.16");
    model.edit(|spec| spec.etcd.log_level = LogLevel::Debug);
    expect![[r#"
        Configure 90df8b2561
          restart the pod of member 2: it is to run with other settings
          restart the pod of member 3: it is to run with other settings
          move the leader from member 1 to member 2
          restart the pod of member 1: it is to run with other settings
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    model.bad_argument = Some("max-txn-ops");
    model.edit(|spec| drop(spec.etcd.extra_args.insert("max-txn-ops".into(), "-1".into())));
    expect![[r#"
        Configure 81650348d7
          restart the pod of member 1: it is to run with other settings
        ApplyingConfig: stopped after db-1, which keeps crashing (exit code 1): bad argument max-txn-ops. The others were left as they are: revert the spec, or correct it"#]].assert_eq(&model.story());
    model.edit(|spec| spec.etcd.extra_args.clear());
    expect![[r#"
        Configure 90df8b2561
          restart the pod of member 1: it does not serve, and is not as the spec asks for
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn settings_come_before_the_version() {
    let mut model = Model::running(3, "3.5.35");
    model.edit(|spec| {
        spec.version = "3.6.16".into();
        spec.etcd.log_level = LogLevel::Debug;
    });
    expect![[r#"
        Configure 5c85c71cb2
          restart the pod of member 2: it is to run with other settings
          restart the pod of member 3: it is to run with other settings
          move the leader from member 1 to member 2
          restart the pod of member 1: it is to run with other settings
        Upgrade 3.6.16
          restart the pod of member 1: it is to run 3.6.16
          restart the pod of member 3: it is to run 3.6.16
          move the leader from member 2 to member 1
          restart the pod of member 2: it is to run 3.6.16
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

#[test]
fn a_supervised_upgrade_stops_before_the_last_member() {
    let mut model = Model::running(3, "3.5.35");
    model.edit(|spec| {
        spec.version = "3.6.16".into();
        spec.update_strategy.kind = UpdateType::Supervised;
    });
    expect![[r#"
        Upgrade 3.6.16
          restart the pod of member 2: it is to run 3.6.16
          restart the pod of member 3: it is to run 3.6.16
        WaitingForUser: 2 of 3 members are done; set spec.updateStrategy.approve to 3.6.16 to go on with the last one, or revert the spec"#]].assert_eq(&model.story());
    model.edit(|spec| spec.update_strategy.approve = Some("3.6.16".into()));
    expect![[r#"
          move the leader from member 1 to member 2
          restart the pod of member 1: it is to run 3.6.16
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

/// Seen on a real Kubernetes: settings were said to be outdated, and somebody was asked to approve them.
#[test]
fn a_member_whose_turn_has_come_is_the_upgrades_until_its_pod_is_new() {
    let mut model = Model::running(3, "3.5.35");
    model.edit(|spec| {
        spec.version = "3.6.16".into();
        spec.update_strategy.kind = UpdateType::Supervised;
    });
    model.reconcile();
    // The latch, three claims, three templates; and then the operator dies.
    model.reconcile_part(7);
    let plan = model.reconcile();
    expect!["Upgrade 3.6.16, Restarting: 0 of 3 members are done; db-2 is next"]
        .assert_eq(plan.to_string().lines().next().unwrap());
}

#[test]
fn a_whole_image_goes_with_the_version_that_is_asked_for() {
    let image = |spec: &mut EtcdClusterSpec| {
        spec.version = "3.6.16".into();
        spec.image = Some("mirror.example/etcd:v3.6.16".into());
    };
    let mut model = Model::running(3, "3.5.35");
    model.edit(image);
    expect![[r#"
        Upgrade 3.6.16
          restart the pod of member 2: it is to run 3.6.16
          restart the pod of member 3: it is to run 3.6.16
          move the leader from member 1 to member 2
          restart the pod of member 1: it is to run 3.6.16
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    let mut model = Model::running(3, "3.5.21");
    model.edit(image);
    expect![[r#"
        refuse spec.version: 3.6.16 cannot follow 3.5.21: every member must run 3.5.32 or later first, as older ones leave learners and removed members in the v2 store, and 3.6 finds them again (etcd #19557, #20793, #20967). Set 3.5.32 or later first; the cluster stays at 3.5.21
        Healthy: spec.version: 3.6.16 cannot follow 3.5.21: every member must run 3.5.32 or later first, as older ones leave learners and removed members in the v2 store, and 3.6 finds them again (etcd #19557, #20793, #20967). Set 3.5.32 or later first; the cluster stays at 3.5.21. 3 of 3 members serve etcd 3.5.21"#]].assert_eq(&model.story());
}

#[test]
fn an_upgrade_waits_for_whoever_holds_it() {
    let mut model = Model::running(3, "3.5.35");
    model.upgrade_hold = Some("a backup is being made".into());
    model.edit(|spec| spec.version = "3.6.16".into());
    expect![[r#"
        Upgrade 3.6.16
        Upgrading: the annotation etcd.capstan.dev/hold-upgrade says: a backup is being made"#]]
    .assert_eq(&model.story());
    model.upgrade_hold = None;
    assert!(model.story().ends_with("Healthy: 3 of 3 members serve etcd 3.6.16"));
}

#[test]
fn a_member_lost_during_an_upgrade_is_replaced_and_the_upgrade_goes_on() {
    let mut model = Model::running(3, "3.5.35");
    model.edit(|spec| spec.version = "3.6.16".into());
    while !model.versions().contains(&"3.6.16".to_owned()) {
        model.reconcile();
        model.live();
        model.pass(2);
    }
    model.lose_claim(3);
    model.live();
    expect![[r#"
        Replace db-3
          remove member 3: it has lost its claim
          delete the StatefulSet of member 3: it is no member of the cluster
          add member 4 as a learner
          promote member 4
        Upgrade 3.6.16
          restart the pod of member 4: it is to run 3.6.16
          move the leader from member 1 to member 2
          restart the pod of member 1: it is to run 3.6.16
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
    assert_eq!(model.versions(), ["3.6.16"; 3]);
}

#[test]
fn scaling_and_upgrading_at_once_grows_first() {
    let mut model = Model::running(3, "3.5.35");
    model.edit(|spec| {
        spec.size = 5;
        spec.version = "3.6.16".into();
    });
    let story = model.story();
    let promoted = story.rfind("promote").unwrap();
    assert!(promoted < story.find("restart").unwrap(), "{story}");
    assert!(story.ends_with("Healthy: 5 of 5 members serve etcd 3.6.16"), "{story}");
}

/// The sample of `capstan etcd status` (crates/capstan/src/etcd/view/samples.rs, docs/etcd.md) shows this state with these words.
#[test]
fn what_the_status_says_while_the_second_member_restarts() {
    let mut model = Model::running(3, "3.5.35");
    model.edit(|spec| spec.version = "3.6.16".into());
    while !matches!(model.reconcile().step, Some(Step::RestartPod { serial: Serial(3), .. })) {
        model.live();
        model.pass(1);
    }
    // Its pod is gone, and the StatefulSet has not created the next one.
    model.end_pods();
    model.reconcile();
    let status = &model.status;
    let mut said = vec![format!("{:?}: {:?}", status.phase, status.message)];
    said.extend(status.operation.as_ref().map(|it| format!("{} {:?}: {:?}", it.step, it.member, it.message)));
    let member = |it: &MemberStatus| format!("{} {:?} {:?} {:?}", it.name, it.role, it.updated, it.reason);
    said.extend(status.members.iter().flatten().map(member));
    // The model has no certificates.
    let not_true = |it: &&Condition| it.status != "True" && it.type_ != "TLSValid";
    let not_true = status.conditions.iter().flatten().filter(not_true);
    said.extend(not_true.map(|it| format!("{} {}: {}", it.type_, it.reason, it.message)));
    expect![[r#"
        Some(Upgrading): Some("db-1 waits: db-3 does not serve yet")
        Restarting Some("db-1"): Some("db-1 waits: db-3 does not serve yet")
        db-1 Leader false None
        db-2 Follower true None
        db-3 Voter true Some("has no pod yet")
        AllMembersHealthy MembersDown: 2 of 3 members serve etcd 3.5.35; db-3 has no pod yet
        UpToDate Outdated: members without the version and settings of the spec: db-1
        QuorumSafe NoSpare: 2 of 3 voters serve, 2 are needed"#]]
    .assert_eq(&said.join("\n"));
}
