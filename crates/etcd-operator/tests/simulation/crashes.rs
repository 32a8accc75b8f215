//! Crashes between two deeds that belong together: the table in `main.rs` says which case is which.
//!
//! Each asks the run without faults where the place is, dies there, and demands the same end: the same objects, none of them made or
//! deleted more often, and the same members.

use std::collections::BTreeSet;

use apiserver::{CrashPoint, Recorded, Verb};
use simulation::{
    AtCall, Injected, Run,
    etcd::{Call, Made},
};

use crate::{
    stories::{BACKED_UP, DOWNGRADE, FOUNDING, GROWTH, RECREATED, ROOM, SCALING, Story},
    world::{CLUSTER, healthy},
};

/// Dies at the first call of etcd that is meant.
#[track_caller]
fn at_call(story: &Story, what: AtCall, meant: impl Fn(&Call) -> bool) -> Run {
    let mut writes = story.reference().etcd_calls.iter().filter(|made| made.call.is_write());
    let nth = writes.position(|made| meant(&made.call)).expect("such a call");
    once(story.survives(Injected::Etcd { what, nth }))
}

/// Dies at the first write that is meant, or at the last one.
#[track_caller]
fn at_write(story: &Story, point: CrashPoint, which: Which, meant: impl Fn(&Recorded) -> bool) -> Run {
    let writes = story.reference().requests.iter().filter(|request| request.is_write());
    let mut places = writes.enumerate().filter(|(_, request)| meant(request)).map(|(nth, _)| nth);
    let write = match which {
        Which::First => places.next(),
        Which::Last => places.last(),
    };
    once(story.survives(Injected::Crash { point, write: write.expect("such a write") }))
}

#[derive(Clone, Copy)]
enum Which {
    First,
    Last,
}

#[track_caller]
fn once(run: Run) -> Run {
    assert_eq!(run.crashes, 1, "it died, once");
    run
}

fn makes(kind: &'static str, name: &'static str) -> impl Fn(&Recorded) -> bool {
    move |request| {
        matches!(request.verb, Some(Verb::Patch | Verb::Create))
            && (request.resource.as_str(), request.name.as_str()) == (kind, name)
            && request.subresource.is_empty()
    }
}

fn deletes(kind: &'static str) -> impl Fn(&Recorded) -> bool {
    move |request| request.verb == Some(Verb::Delete) && request.resource == kind
}

/// How often etcd was asked to do this.
fn count(run: &Run, meant: impl Fn(&Call) -> bool) -> usize {
    run.etcd_calls.iter().filter(|Made { call, .. }| meant(call)).count()
}

fn adds(call: &Call) -> bool {
    matches!(call, Call::AddMember { .. })
}

/// Whom etcd was asked to add. It is asked again while it refuses.
fn added(run: &Run) -> BTreeSet<String> {
    let calls = run.etcd_calls.iter().filter_map(|Made { call, .. }| match call {
        Call::AddMember { peer_urls, .. } => Some(peer_urls.join(",")),
        _ => None,
    });
    calls.collect()
}

fn promotes(call: &Call) -> bool {
    matches!(call, Call::PromoteMember(_))
}

fn removes(call: &Call) -> bool {
    matches!(call, Call::RemoveMember(_))
}

/// Case 1.
#[test]
fn a_member_on_record_is_added_under_that_number() {
    let run = at_call(&GROWTH, AtCall::CrashBefore, adds);
    assert!(run.comings_and_goings.contains_key("statefulsets.apps default/db-2"));
    assert!(!run.comings_and_goings.contains_key("statefulsets.apps default/db-4"), "no number is skipped");
}

/// Case 2.
#[test]
fn a_member_that_etcd_knows_gets_its_stateful_set() {
    let run = at_call(&GROWTH, AtCall::CrashAfter, adds);
    assert_eq!(added(&run), added(GROWTH.reference()), "nobody is added under two numbers");
}

/// Case 3.
#[test]
fn a_learner_that_started_is_promoted() {
    let learner = makes("statefulsets", "db-2");
    at_write(&GROWTH, CrashPoint::AfterResponse, Which::First, learner);
    let run = at_call(&GROWTH, AtCall::CrashBefore, promotes);
    assert_eq!(run.etcd, ["db-1 Voter, db-2 Voter, db-3 Voter"]);
}

/// Case 4.
#[test]
fn a_promoted_member_counts_in_status_and_budget() {
    at_call(&GROWTH, AtCall::CrashAfter, promotes);
    let budget = makes("poddisruptionbudgets", "db");
    at_write(&GROWTH, CrashPoint::Before, Which::Last, budget);
}

/// Case 5.
#[test]
fn a_removed_member_is_stopped() {
    let run = at_call(&SCALING, AtCall::CrashAfter, removes);
    assert_eq!(count(&run, removes), count(SCALING.reference(), removes), "nobody is removed twice");
    let gone = ["db-2", "db-3"].map(|member| format!("statefulsets.apps default/{member}"));
    assert!(gone.iter().all(|set| run.comings_and_goings[set] == (1, 1)), "{:?}", run.comings_and_goings);
}

/// Case 6: volumes are kept, and say that they belong to nobody any more; or they go when the user says so.
#[test]
fn the_volume_of_a_stopped_member_is_seen_to() {
    let run = at_write(&SCALING, CrashPoint::AfterResponse, Which::First, deletes("statefulsets"));
    for member in ["db-2", "db-3"] {
        let claim = &run.dump.objects()[&format!("persistentvolumeclaims default/{member}")];
        assert!(claim["metadata"]["annotations"]["etcd.capstan.dev/detached-at"].is_string(), "{claim:#}");
    }
    at_write(&RECREATED, CrashPoint::Before, Which::First, deletes("persistentvolumeclaims"));
}

/// Case 7.
#[test]
fn a_deleted_cluster_is_let_go() {
    let run = at_write(&RECREATED, CrashPoint::AfterResponse, Which::Last, deletes("persistentvolumeclaims"));
    assert!(!run.dump.objects().contains_key(CLUSTER));
}

/// Case 8.
#[test]
fn a_cluster_id_that_was_not_latched_is_found_out_again() {
    let latches = |request: &Recorded| {
        request.resource == "configmaps" && String::from_utf8_lossy(&request.body).contains("clusterID")
    };
    for point in [CrashPoint::Before, CrashPoint::AfterCommit] {
        let run = at_write(&FOUNDING, point, Which::First, latches);
        assert_eq!(run.etcd.len(), 1, "one founding");
    }
}

/// Case 11.
#[test]
fn a_downgrade_that_was_enabled_is_carried_out() {
    let enables = |call: &Call| matches!(call, Call::EnableDowngrade(_));
    for what in [AtCall::CrashBefore, AtCall::CrashAfter, AtCall::Lost] {
        let mut writes = DOWNGRADE.reference().etcd_calls.iter().filter(|made| made.call.is_write());
        let nth = writes.position(|made| enables(&made.call)).expect("it is enabled");
        healthy(&DOWNGRADE.survives(Injected::Etcd { what, nth }));
    }
}

/// Case 13.
#[test]
fn every_volume_grows_when_one_did() {
    let grows = |request: &Recorded| {
        request.resource == "persistentvolumeclaims"
            && String::from_utf8_lossy(&request.body).contains("16Gi")
    };
    for (point, which) in [(CrashPoint::AfterResponse, Which::First), (CrashPoint::AfterCommit, Which::Last)]
    {
        let run = at_write(&ROOM, point, which, grows);
        for member in ["db-1", "db-2", "db-3"] {
            let claim = &run.dump.objects()[&format!("persistentvolumeclaims default/{member}")];
            assert_eq!(claim.pointer("/spec/resources/requests/storage"), Some(&"16Gi".into()), "{claim:#}");
        }
    }
}

/// The backup before another version: it is taken once, and nobody moves before it is stored.
#[test]
fn a_backup_that_was_begun_is_the_one_that_is_waited_for() {
    let taken = |request: &Recorded| request.verb == Some(Verb::Create) && request.resource == "etcdbackups";
    for point in [CrashPoint::Before, CrashPoint::AfterCommit] {
        let run = at_write(&BACKED_UP, point, Which::First, taken);
        healthy(&run);
        let backup = "etcdbackups.etcd.capstan.dev default/db-before-3-6-16";
        assert_eq!(run.comings_and_goings[backup], (2, 1), "one for each time");
    }
}

/// Case 14: members read their certificates themselves, so that no hash of theirs has to follow.
#[test]
fn certificates_are_signed_by_the_authority_that_was_made() {
    for secret in ["db-ca", "db-server-tls", "db-operator-tls"] {
        let made = |request: &Recorded| {
            let posted = String::from_utf8_lossy(&request.body).contains(&format!("\"{secret}\""));
            request.resource == "secrets" && (request.name == secret || posted)
        };
        let run = at_write(&FOUNDING, CrashPoint::AfterResponse, Which::First, made);
        assert_eq!(run.comings_and_goings[&format!("secrets default/{secret}")], (1, 0));
    }
}
