//! The rules of the lease, without I/O: what was seen, and what to do about it. They are client-go's, with two additions, both
//! on the safe side: a duration in the lease that is shorter than ours does not hurry us, and a lease that vanishes under a
//! living holder is not free until that holder's time is over.
//!
//! Known limit: a lease that is deleted by hand is free to a replica that has never seen it, as on the first start. If one starts
//! in the seconds before the leader puts the lease back, both can write until the leader's next renewal.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::api::ObjectMeta;
use tokio::time::Instant;

use super::Election;

/// The lease as it was last seen, and when it was first seen so.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) lease: Option<Lease>,
    pub(super) changed_at: Option<Instant>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// There is none: create it, with us as the holder.
    Create(Lease),
    /// It is ours, or free: write it, if it is still the one that was seen.
    Replace(Lease),
    /// Somebody holds it.
    Wait {
        /// Who does.
        holder: String,
        /// For how long at least.
        remaining: Duration,
    },
}

impl Observed {
    /// Takes note of the lease at the server; `now` is after the answer. Any new resourceVersion is a sign of life. Times in
    /// the lease are by the holder's clock and mean nothing here.
    ///
    /// A lease that is gone leaves the memory of the last one: its holder may still be writing.
    pub(super) fn note(&mut self, live: Option<&Lease>, now: Instant) {
        let Some(live) = live else { return };
        if version(Some(live)) != version(self.lease.as_ref()) || self.changed_at.is_none() {
            self.lease = Some(live.clone());
            self.changed_at = Some(now);
        }
    }

    fn spec(&self) -> Option<&LeaseSpec> {
        self.lease.as_ref()?.spec.as_ref()
    }

    /// Who holds the lease that was last seen; nobody after a release.
    pub(super) fn holder(&self) -> Option<&str> {
        self.spec()?.holder_identity.as_deref().filter(|holder| !holder.is_empty())
    }

    pub(super) fn transitions(&self) -> u64 {
        let transitions = self.spec().and_then(|spec| spec.lease_transitions).unwrap_or_default();
        u64::try_from(transitions).unwrap_or_default()
    }

    pub(super) fn since(&self) -> Option<Timestamp> {
        Some(self.spec()?.acquire_time.as_ref()?.0)
    }

    /// How long the holder's claim is still good, seen from here.
    fn remaining(&self, election: &Election, now: Instant) -> Duration {
        let seconds = self.spec().and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
        let claimed = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        let valid_for = claimed.max(election.lease_duration);
        let age =
            self.changed_at.map_or(Duration::ZERO, |changed_at| now.saturating_duration_since(changed_at));
        valid_for.saturating_sub(age)
    }
}

/// What to do, `live` being the lease at the server just now, already noted in `observed`. `wall` is only written down.
pub(super) fn decide(
    election: &Election,
    observed: &Observed,
    live: Option<&Lease>,
    now: Instant,
    wall: Timestamp,
) -> Step {
    let holder = observed.holder();
    let remaining = observed.remaining(election, now);
    if let Some(holder) = holder
        && holder != election.identity
        && !remaining.is_zero()
    {
        return Step::Wait { holder: holder.to_owned(), remaining };
    }
    let ours_already = holder == Some(&*election.identity) || observed.lease.is_none();
    match live {
        Some(live) => Step::Replace(claimed(live.clone(), election, ours_already, wall)),
        None => {
            // The count goes on in a new object: it is a fencing token, and must not go back.
            let fresh = Lease { metadata: named(election), spec: observed.spec().cloned() };
            Step::Create(claimed(fresh, election, ours_already, wall))
        }
    }
}

/// `lease`, held by us. What others have put into it stays.
pub(super) fn claimed(mut lease: Lease, election: &Election, ours_already: bool, wall: Timestamp) -> Lease {
    let spec = lease.spec.get_or_insert_default();
    let transitions = spec.lease_transitions.unwrap_or_default();
    if ours_already {
        spec.lease_transitions = Some(transitions);
        spec.acquire_time.get_or_insert(MicroTime(wall));
    } else {
        spec.lease_transitions = Some(transitions.saturating_add(1));
        spec.acquire_time = Some(MicroTime(wall));
    }
    spec.holder_identity = Some(election.identity.clone());
    spec.lease_duration_seconds = i32::try_from(election.lease_duration.as_secs()).ok();
    // A write that changes nothing is not stored, and nobody would see the renewal: a wall clock that stands still must not
    // make a leader look dead.
    let same = spec.renew_time.as_ref().is_some_and(|last| last.0.as_microsecond() == wall.as_microsecond());
    spec.renew_time = Some(MicroTime(if same { wall + Duration::from_micros(1) } else { wall }));
    lease
}

/// `lease`, given back: free at once, also for older clients that only look at the duration.
pub(super) fn released(mut lease: Lease, wall: Timestamp) -> Lease {
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(String::new());
    spec.lease_duration_seconds = Some(1);
    spec.renew_time = Some(MicroTime(wall));
    spec.acquire_time = Some(MicroTime(wall));
    lease
}

fn named(election: &Election) -> ObjectMeta {
    ObjectMeta {
        namespace: Some(election.namespace.clone()),
        name: Some(election.name.clone()),
        ..ObjectMeta::default()
    }
}

fn version(lease: Option<&Lease>) -> Option<(&str, &str)> {
    let meta = &lease?.metadata;
    Some((meta.uid.as_deref().unwrap_or_default(), meta.resource_version.as_deref().unwrap_or_default()))
}
