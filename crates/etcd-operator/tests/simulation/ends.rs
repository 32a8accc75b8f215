//! How the stories end when nothing goes wrong besides; and that the operator asked for nothing that it has no right to.

use kit::access;
use simulation::{Run, asked};

use crate::{
    stories::{
        ALL, BAD_UPGRADE, DOWNGRADE, GIVEN, LOSSES, RECREATED, REPLACED, SCALING, Story, TO_3_7, UPGRADE,
    },
    world::{CLUSTER, declared, healthy, left},
};

/// What people were told, in order: for whoever has to find out why a story ended otherwise.
fn told(run: &Run) -> String {
    let events = run.dump.objects().iter().filter(|(place, _)| place.starts_with("events"));
    let mut told: Vec<String> = events
        .map(|(_, event)| format!("{} {} {}", event["eventTime"], event["reason"], event["note"]))
        .collect();
    told.sort();
    told.join("\n")
}

#[test]
fn a_cluster_grows_and_shrinks() {
    let run = SCALING.reference();
    healthy(run);
    assert_eq!(run.etcd, ["db-1 Voter"]);
}

#[test]
fn whatever_a_member_loses_it_is_brought_back_or_replaced() {
    let run = LOSSES.reference();
    healthy(run);
    assert_eq!(run.etcd, ["db-1 Voter, db-4 Voter, db-5 Voter"]);
}

#[test]
fn versions_and_settings_roll() {
    let run = UPGRADE.reference();
    healthy(run);
    assert_eq!(left(run, CLUSTER, "/status/version/current"), "3.6.16");
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"]);
}

#[test]
fn a_bad_version_stops_after_one_member_and_goes_back() {
    let run = BAD_UPGRADE.reference();
    healthy(run);
    assert_eq!(left(run, CLUSTER, "/status/version/current"), "3.6.16");
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"], "{}", told(run));
}

#[test]
fn a_version_goes_down_by_one_minor_when_asked_to() {
    let run = DOWNGRADE.reference();
    healthy(run);
    assert_eq!(left(run, CLUSTER, "/status/version/current"), "3.5.35");
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"], "{}", told(run));
}

#[test]
fn a_version_goes_up_to_3_7_after_every_member_took_a_snapshot() {
    let run = TO_3_7.reference();
    healthy(run);
    assert_eq!(left(run, CLUSTER, "/status/version/current"), "3.7.3");
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"], "{}", told(run));
}

#[test]
fn volumes_are_taken_back_by_a_cluster_of_the_same_name_and_go_when_told_to() {
    let run = RECREATED.reference();
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"], "one founding");
    let ours = |place: &&String| place.contains("default/db") && !place.starts_with("events");
    let left: Vec<&String> = run.dump.objects().keys().filter(ours).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_cluster_whose_volumes_went_is_founded_anew_under_the_same_name() {
    let run = REPLACED.reference();
    healthy(run);
    assert_eq!(run.etcd, ["db-1 Voter", "db-1 Voter"], "two foundings");
}

#[test]
fn nobody_is_started_with_certificates_that_cannot_be_used() {
    let run = GIVEN.reference();
    let status = &run.dump.objects()[CLUSTER]["status"];
    let conditions = status["conditions"].as_array().unwrap();
    let valid = conditions.iter().find(|condition| condition["type"] == "TLSValid").unwrap();
    assert_eq!(valid["status"], "False", "{status:#}");
    assert!(valid["message"].as_str().unwrap().contains("Secret mine: tls.crt cannot be read"), "{valid:#}");
    assert!(run.etcd.is_empty());
}

#[test]
fn no_right_is_missing_and_none_is_left_unused() {
    let made = asked(ALL.map(Story::reference), access::Request::parse).unwrap();
    let mut report = access::check(&made, &declared(), "default");
    // To patch Events is for those that repeat; the kinds of cert-manager and of the Prometheus operator do not exist here.
    let elsewhere = ["events", "certificates", "podmonitors", "prometheusrules"];
    report.unused.retain(|unused| !elsewhere.contains(&&*unused.access.resource));
    assert_eq!(report, access::Report::default());
}
