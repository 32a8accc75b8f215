//! What is refused, and that nothing which runs is touched for it.

use etcd_types::EtcdClusterSpec;
use expect_test::expect;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::spec;
use crate::model::Model;

fn check(edit: impl Fn(&mut EtcdClusterSpec), refused: &str) {
    let mut model = Model::new(spec(3, "3.6.16"));
    model.edit(|spec| {
        spec.etcd.heartbeat_interval_milliseconds = Some(200);
        spec.etcd.election_timeout_milliseconds = Some(2000);
        spec.etcd.extra_args.insert("max-txn-ops".into(), "256".into());
        spec.pod.labels.insert("team".into(), "storage".into());
        spec.storage.size = Quantity("100Gi".into());
    });
    assert!(model.settle());
    let made = |model: &Model| -> Vec<_> {
        model.boxes.values().map(|it| (it.pod.clone(), it.stateful_set.clone(), it.claim.clone())).collect()
    };
    let before = made(&model);
    model.edit(&edit);
    let plan = model.reconcile();
    assert!(plan.refusals.iter().any(|it| it.to_string().contains(refused)), "{refused}: {plan}");
    assert!(model.settle());
    assert!(before == made(&model), "{refused}: something was touched");
}

#[test]
fn a_refused_field_touches_nothing_that_runs() {
    check(
        |spec| spec.storage.size = Quantity("32Mi".into()),
        "32Mi is too small: set 64Mi or more; members keep 100Gi",
    );
    check(
        |spec| spec.storage.size = Quantity("many".into()),
        "\"many\" is no size: set one such as 8Gi; members keep 100Gi",
    );
    check(|spec| spec.etcd.quota_backend_bytes = Some(Quantity("200Gi".into())), "200Gi does not fit");
    check(|spec| spec.etcd.election_timeout_milliseconds = Some(300), "must be five times the heartbeat");
    check(|spec| spec.etcd.corruption_checks.periodic = Some("often".into()), "\"often\" is no time");
    check(|spec| drop(spec.etcd.extra_args.insert("name".into(), "x".into())), "name cannot be set here");
    check(
        |spec| drop(spec.pod.labels.insert("app.kubernetes.io/name".into(), "x".into())),
        "is the operator's",
    );
}

/// Whoever has the flags of 3.6 keeps them until its turn, and 3.7 gets those that it knows.
#[test]
fn a_flag_that_the_next_minor_does_not_know_leaves_with_the_minor() {
    let flag = "experimental-watch-progress-notify-interval";
    let mut model = Model::running(3, "3.6.16");
    model.edit(|spec| drop(spec.etcd.extra_args.insert(flag.into(), "5s".into())));
    assert!(model.settle());
    model.edit(|spec| spec.version = "3.7.3".into());
    let plan = model.reconcile();
    expect!["spec.etcd.extraArgs: etcd 3.7.3 has no experimental-watch-progress-notify-interval: it refuses every experimental flag. Remove it, or set what replaced it. What was set before stays"]
        .assert_eq(&plan.refusals[0].to_string());
    let story = model.story();
    assert_eq!(story.matches("restart the pod").count(), 3, "each moves once: {story}");
    assert_eq!(model.versions(), ["3.7.3"; 3]);
}
