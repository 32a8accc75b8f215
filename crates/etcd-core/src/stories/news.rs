//! What people are told, once for each change.

use etcd_types::EtcdClusterSpec;
use expect_test::expect;

use super::spec;
use crate::{Alarm, AlarmKind, MemberId, model::Model};

/// The events until it rests; warnings begin with an exclamation mark.
fn told(model: &mut Model) -> String {
    let mut lines = Vec::new();
    for _ in 0..40 {
        let plan = model.reconcile();
        lines.extend(plan.events.iter().map(|event| {
            format!("{}{:?}: {}", if event.warning { "! " } else { "" }, event.reason, event.message)
        }));
        model.live();
        model.pass(3);
    }
    lines.join("\n")
}

#[test]
fn a_cluster_that_is_founded_tells_so_and_nothing_else() {
    let mut model = Model::new(spec(3, "3.6.16"));
    expect![[r#"
        Began: Found 3 members begins: db-1 is being made; db-2 is being made; db-3 is being made
        Founded: the cluster exists, with the ID 57bba302
        Done: Found 3 members is over
        Serving: a linearizable read succeeded"#]]
    .assert_eq(&told(&mut model));
}

#[test]
fn what_is_refused_is_told_and_that_it_was_corrected() {
    let mut model = Model::new(spec(2, "3.6.16"));
    expect!["! Refused: spec.size: 2 is not 1, 3, 5 or 7. Set one of these"].assert_eq(&told(&mut model));
    let mut model = Model::running(3, "3.6.16");
    let check = |model: &mut Model, edit: fn(&mut EtcdClusterSpec), expected: expect_test::Expect| {
        model.edit(edit);
        expected.assert_eq(&told(model));
    };
    check(
        &mut model,
        |spec| spec.version = "3.8.0".into(),
        expect![
            "! Refused: spec.version: etcd 3.8.0 is not known to this operator. Set a version of 3.5, 3.6, 3.7; the cluster stays at 3.6.16"
        ],
    );
    check(&mut model, |spec| spec.version = "3.6.16".into(), expect!["Valid: the spec can be carried out"]);
    check(&mut model, |spec| spec.paused = true, expect!["Paused: spec.paused is set"]);
    check(&mut model, |spec| spec.paused = false, expect!["Resumed: what is asked for is carried out again"]);
}

#[test]
fn alarms_are_told_and_the_phase_says_so() {
    let mut model = Model::running(3, "3.6.16");
    model.alarms = vec![Alarm { member: MemberId(0x102), kind: AlarmKind::NoSpace }];
    let news = told(&mut model);
    assert_eq!(model.status.phase, Some(etcd_types::Phase::Degraded), "{news}");
    assert!(news.contains("! ") && news.contains("db-2"), "{news}");
    model.alarms.clear();
    expect!["RoomLeft: the database of db-3 has 0 % of its quota"].assert_eq(&told(&mut model));
    assert_eq!(model.status.phase, Some(etcd_types::Phase::Healthy));
}

#[test]
fn certificates_that_end_are_told() {
    let mut model = Model::running(1, "3.6.16");
    model.certificates_end = Some(model.now + jiff::SignedDuration::from_hours(24 * 10));
    expect!["! CertificateEnds: the certificate in Secret db-server-tls ends at 2026-11-26T03:00:08Z, and was not renewed"].assert_eq(&told(&mut model));
}

#[test]
fn an_upgrade_that_is_taken_back_was_given_up() {
    let mut model = Model::running(3, "3.6.15");
    model.edit(|spec| spec.version = "3.6.16".into());
    model.reconcile();
    model.edit(|spec| spec.version = "3.6.15".into());
    let news = told(&mut model);
    assert!(news.contains("GivenUp"), "{news}");
}

#[test]
fn a_deletion_is_told_once() {
    let mut model = Model::running(1, "3.6.16");
    model.deleting = true;
    expect!["Deleting: its volumes stay: an EtcdCluster of the same name takes them back"]
        .assert_eq(&told(&mut model));
    let available = model.status.conditions.iter().flatten().find(|it| it.type_ == "Available").unwrap();
    assert_eq!(available.status, "False");
}
