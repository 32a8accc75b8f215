//! How operations end: not before everybody serves, and without a moment in which the cluster looks broken.

use etcd_types::{LogLevel, Phase};
use expect_test::expect;

use crate::{Plan, Serial, Step, Truth, decide, model::Model};

/// Carries a wish out, and looks twice at every moment: while a pod is away, too. Returns the phases, without repetitions.
fn phases(model: &mut Model) -> Vec<Phase> {
    let mut phases = Vec::new();
    let mut note = |plan: &Plan| {
        let phase = plan.status.phase.unwrap();
        if phases.last() != Some(&phase) {
            phases.push(phase);
        }
    };
    for _ in 0..60 {
        note(&model.reconcile());
        note(&model.reconcile());
        model.live();
        model.pass(2);
    }
    phases
}

fn up_to_date(plan: &Plan) -> (Truth, &str) {
    let it = plan.conditions.iter().find(|condition| condition.kind == "UpToDate").unwrap();
    (it.truth, &it.message)
}

/// Seen on a real Kubernetes: Degraded at the end of every roll, as its last member was still on its way.
#[test]
fn a_roll_is_over_when_its_last_member_serves() {
    let mut model = Model::running(3, "3.5.35");
    model.edit(|spec| spec.version = "3.6.16".into());
    assert_eq!(phases(&mut model), [Phase::Upgrading, Phase::Healthy]);
    model.edit(|spec| spec.etcd.log_level = LogLevel::Debug);
    assert_eq!(phases(&mut model), [Phase::ApplyingConfig, Phase::Healthy]);
    model.edit(|spec| spec.version = "3.5.35".into());
    assert_eq!(phases(&mut model), [Phase::Downgrading, Phase::Healthy]);
}

#[test]
fn the_last_member_of_a_roll_may_take_its_time() {
    let mut model = Model::running(3, "3.6.15");
    model.edit(|spec| spec.version = "3.6.16".into());
    while !matches!(model.reconcile().step, Some(Step::RestartPod { serial: Serial(1), .. })) {
        model.live();
        model.pass(2);
    }
    expect![[r#"
        Upgrade 3.6.16, Finishing: all is done, and db-1 is being stopped
        member 1: 3.6.16 existing
        member 2: 3.6.16 existing
        member 3: 3.6.16 existing
    "#]]
    .assert_eq(&model.reconcile().to_string());
    model.live();
    model.hang(1);
    let plan = model.reconcile();
    assert_eq!(plan.status.phase, Some(Phase::Upgrading));
    expect![[r#"(False, "all is done, and db-1 runs and does not serve")"#]]
        .assert_eq(&format!("{:?}", up_to_date(&plan)));
    // A process that hangs is restarted, as always; and that is no upgrade any more.
    model.pass(130);
    expect![[r#"
        Restart db-1
          restart the pod of member 1: it runs and does not serve
        rest
        Healthy: 3 of 3 members serve etcd 3.6.16"#]]
    .assert_eq(&model.story());
}

/// Seen on a real Kubernetes: while the last member of an upgrade was being stopped, its old pod was taken for other settings.
#[test]
fn whoever_is_being_stopped_for_an_upgrade_is_a_part_of_it() {
    let mut model = Model::running(3, "3.6.16");
    model.edit(|spec| spec.version = "3.7.3".into());
    let mut before = model.picture();
    while !matches!(model.reconcile().step, Some(Step::RestartPod { serial: Serial(1), .. })) {
        model.live();
        model.pass(2);
        before = model.picture();
    }
    let mut picture = model.picture();
    let mut pod = before.members[&Serial(1)].pod.clone().unwrap();
    (pod.deleting, pod.ready) = (true, false);
    picture.members.get_mut(&Serial(1)).unwrap().pod = Some(pod);
    picture.etcd.endpoints.remove(&Serial(1));
    let plan = decide(&picture, model.now);
    assert_eq!((plan.status.phase, plan.step), (Some(Phase::Upgrading), None));
    expect!["all is done, and db-1 is being stopped"].assert_eq(plan.status.message.as_deref().unwrap());
}

/// While a member starts, it has not failed.
#[test]
fn nobody_is_told_to_revert_while_a_member_starts() {
    let mut model = Model::running(3, "3.6.15");
    model.edit(|spec| spec.version = "3.6.16".into());
    while model.reconcile().step.is_none() {
        model.live();
        model.pass(2);
    }
    model.live();
    model.hang(2);
    let plan = model.reconcile();
    expect!["db-3 waits: db-2 does not serve yet"].assert_eq(plan.status.message.as_deref().unwrap());
    assert!(plan.wake.is_some());
    model.pass(130);
    expect!["Restart db-2"].assert_eq(
        &model.reconcile().status.operation.map(|it| format!("{:?} {}", it.kind, it.target)).unwrap(),
    );
}

/// Seen on a real Kubernetes: Degraded for some milliseconds at the end of every growth, as a new voter is the last to know that it is one.
#[test]
fn growth_is_over_when_the_new_voter_serves() {
    let mut model = Model::running(1, "3.6.16");
    model.edit(|spec| spec.size = 3);
    while model.members() != [1, 2, 3] {
        model.reconcile();
        model.live();
        model.pass(2);
    }
    let mut picture = model.picture();
    picture.members.get_mut(&Serial(3)).unwrap().pod.as_mut().unwrap().ready = false;
    let third = picture.etcd.endpoints.get_mut(&Serial(3)).unwrap().as_mut().unwrap();
    (third.serves, third.learner) = (false, true);
    let plan = decide(&picture, model.now);
    assert_eq!(plan.status.phase, Some(Phase::Scaling));
    expect![[r#"
        ScaleOut 3 members, Finishing: all is done, and db-3: it catches up
        member 1: 3.6.16 existing
        member 2: 3.6.16 existing
        member 3: 3.6.16 existing
    "#]]
    .assert_eq(&plan.to_string());
    assert_eq!(model.reconcile().status.phase, Some(Phase::Healthy));
}

#[test]
fn a_learner_is_never_ahead_of_its_leader() {
    let mut model = Model::running(1, "3.6.16");
    model.edit(|spec| spec.size = 3);
    while model.etcd.learners() == 0 {
        model.reconcile();
        model.live();
        model.pass(2);
    }
    model.reconcile();
    model.live();
    let mut picture = model.picture();
    picture.etcd.endpoints.get_mut(&Serial(2)).unwrap().as_mut().unwrap().raft_applied_index = 101;
    expect!["db-2 catches up: it has 100 % of the entries"]
        .assert_eq(decide(&picture, model.now).status.message.as_deref().unwrap());
}
