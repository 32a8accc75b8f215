//! The rules as tables.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use tokio::time::Instant;

use super::{
    BadElection, Election, Fence, NotLeader, identity, is_not_leader,
    lease::{Observed, Step, claimed, decide, released},
};

const NOON: &str = "2026-01-01T12:00:00Z";

fn election() -> Election {
    Election { identity: "me".into(), ..Election::new("ops", "capstan") }
}

/// A lease as another replica wrote it: its clock is six hours ahead.
fn lease(version: &str, holder: &str, seconds: i32) -> Lease {
    let far: Timestamp = "2026-01-01T18:00:00Z".parse().unwrap();
    let mut lease = Lease::default();
    lease.metadata.name = Some("capstan".into());
    lease.metadata.resource_version = Some(version.into());
    lease.metadata.labels = Some([("kept".to_owned(), "yes".to_owned())].into());
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(holder.into()),
        lease_duration_seconds: Some(seconds),
        lease_transitions: Some(4),
        acquire_time: Some(MicroTime(far)),
        renew_time: Some(MicroTime(far)),
        ..LeaseSpec::default()
    });
    lease
}

/// One line about a step.
fn told(step: &Step) -> String {
    let spec = |lease: &Lease| {
        let spec = lease.spec.clone().unwrap();
        format!(
            "holder {}, {} s, transitions {}, acquired {}, renewed {}",
            spec.holder_identity.unwrap(),
            spec.lease_duration_seconds.unwrap(),
            spec.lease_transitions.unwrap(),
            spec.acquire_time.unwrap().0.strftime("%H:%M:%S%.f"),
            spec.renew_time.unwrap().0.strftime("%H:%M:%S%.f"),
        )
    };
    match step {
        Step::Create(lease) => format!("create: {}", spec(lease)),
        Step::Replace(lease) => {
            format!("replace {}: {}", lease.metadata.resource_version.as_deref().unwrap(), spec(lease))
        }
        Step::Wait { holder, remaining } => format!("wait for {holder}, {} s", remaining.as_secs_f64()),
    }
}

/// After how many seconds what was read.
type Read = (f64, Option<Lease>);

/// The step after the last of `reads`.
fn after(reads: &[Read]) -> String {
    let start = Instant::now();
    let mut observed = Observed::default();
    let mut last = String::new();
    for (seconds, live) in reads {
        let now = start + Duration::from_secs_f64(*seconds);
        observed.note(live.as_ref(), now);
        last = told(&decide(&election(), &observed, live.as_ref(), now, NOON.parse().unwrap()));
    }
    last
}

#[test]
fn a_lease_is_created_taken_renewed_or_waited_for() {
    let theirs = |version| Some(lease(version, "other", 15));
    let table: &[(&str, &[Read], &str)] = &[
        (
            "no lease: it is created, as term 0",
            &[(0.0, None)],
            "create: holder me, 15 s, transitions 0, acquired 12:00:00, renewed 12:00:00",
        ),
        (
            "first sight of another holder: a full duration, whatever its times say",
            &[(100.0, theirs("1"))],
            "wait for other, 15 s",
        ),
        ("seen unchanged for a while", &[(0.0, theirs("1")), (14.5, theirs("1"))], "wait for other, 0.5 s"),
        (
            "unchanged for a whole duration: taken",
            &[(0.0, theirs("1")), (15.0, theirs("1"))],
            "replace 1: holder me, 15 s, transitions 5, acquired 12:00:00, renewed 12:00:00",
        ),
        (
            "any new version is a sign of life",
            &[(0.0, theirs("1")), (14.0, theirs("2")), (28.0, theirs("2"))],
            "wait for other, 1 s",
        ),
        (
            "an older version, too: a stale read may delay us, not hurry us",
            &[(0.0, theirs("2")), (14.0, theirs("1")), (28.0, theirs("1"))],
            "wait for other, 1 s",
        ),
        (
            "given back: taken at once",
            &[(0.0, Some(lease("3", "", 1)))],
            "replace 3: holder me, 15 s, transitions 5, acquired 12:00:00, renewed 12:00:00",
        ),
        (
            "ours though we did not know, because the answer was lost: renewed, same term",
            &[(0.0, Some(lease("3", "me", 15)))],
            "replace 3: holder me, 15 s, transitions 4, acquired 18:00:00, renewed 12:00:00",
        ),
        (
            "a longer duration than ours is respected",
            &[(0.0, Some(lease("1", "other", 60))), (59.0, Some(lease("1", "other", 60)))],
            "wait for other, 1 s",
        ),
        (
            "a shorter one does not hurry us",
            &[(0.0, Some(lease("1", "other", 1))), (14.0, Some(lease("1", "other", 1)))],
            "wait for other, 1 s",
        ),
        ("nor does nonsense", &[(0.0, Some(lease("1", "other", -7)))], "wait for other, 15 s"),
        (
            "deleted under a living holder: it may still write",
            &[(0.0, theirs("1")), (6.0, None)],
            "wait for other, 9 s",
        ),
        (
            "deleted, and its holder's time is over: the count goes on",
            &[(0.0, theirs("1")), (15.0, None)],
            "create: holder me, 15 s, transitions 5, acquired 12:00:00, renewed 12:00:00",
        ),
        (
            "deleted under us: we go on in the same term",
            &[(0.0, Some(lease("3", "me", 15))), (2.0, None)],
            "create: holder me, 15 s, transitions 4, acquired 18:00:00, renewed 12:00:00",
        ),
        (
            "made by hand without a spec: free",
            &[(0.0, Some(Lease { metadata: lease("9", "", 0).metadata, spec: None }))],
            "replace 9: holder me, 15 s, transitions 1, acquired 12:00:00, renewed 12:00:00",
        ),
    ];
    for (what, reads, expected) in table {
        assert_eq!(after(reads), *expected, "{what}");
    }
}

#[test]
fn others_labels_stay_and_the_object_they_were_seen_on_is_named() {
    let ours = claimed(lease("8", "me", 15), &election(), true, NOON.parse().unwrap());
    assert_eq!(ours.metadata, lease("8", "me", 15).metadata);
    let free = released(ours, NOON.parse().unwrap());
    assert_eq!(free.metadata, lease("8", "me", 15).metadata);
    let spec = free.spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_duration_seconds), (Some(""), Some(1)));
    assert_eq!(spec.lease_transitions, Some(4), "the next holder counts on from here");
}

#[test]
fn two_renewals_at_the_same_time_differ_or_the_second_would_not_be_stored() {
    let now: Timestamp = NOON.parse().unwrap();
    let first = claimed(lease("8", "me", 15), &election(), true, now);
    let second = claimed(first.clone(), &election(), true, now);
    assert_ne!(first, second);
    assert_ne!(serde_json::to_string(&first).unwrap(), serde_json::to_string(&second).unwrap());
}

#[test]
fn times_that_could_not_keep_leaders_apart_are_refused_in_words() {
    let times = |lease: u64, renew: u64, retry: u64| Election {
        lease_duration: Duration::from_millis(lease),
        renew_deadline: Duration::from_millis(renew),
        retry_period: Duration::from_millis(retry),
        ..election()
    };
    let table = [
        (times(15_000, 10_000, 2_000), "fine"),
        (times(4_000, 3_000, 2_499), "fine"),
        (
            times(10_000, 10_000, 2_000),
            "lease duration 10s must be longer than renew deadline 10s: otherwise two replicas could lead at once",
        ),
        (
            times(15_000, 2_400, 2_000),
            "renew deadline 2.4s must be longer than 2.4s (retry period × 1.2): otherwise one failed renewal ends the leadership",
        ),
        (
            times(15_500, 10_000, 2_000),
            "lease duration 15.5s must be whole seconds, as the Lease object has them",
        ),
        (times(15_000, 10_000, 0), "retry period must be longer than zero"),
        (
            Election { name: String::new(), ..election() },
            "the election needs a lease namespace, a lease name and an identity",
        ),
    ];
    for (election, expected) in table {
        let told = election.validate().map_or_else(|bad: BadElection| bad.to_string(), |()| "fine".into());
        assert_eq!(told, expected);
    }
}

#[test]
fn an_identity_names_the_host_and_is_new_every_time() {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let (one, two) = (identity(), identity());
    assert!(one.starts_with(&format!("{}_", host.trim())), "{one}");
    assert_ne!(one, two);
    assert_eq!(one.rsplit('_').next().unwrap().len(), 36);
}

#[test]
fn a_refused_write_is_recognised_through_all_wrappings() {
    let refused = kube::Error::Service(NotLeader::Standby.into());
    assert!(is_not_leader(&refused));
    assert!(is_not_leader(&kube::Error::Service(Box::new(refused))));
    assert!(!is_not_leader(&kube::Error::TlsRequired));
    assert!(Fence::open().check().is_ok());
}
