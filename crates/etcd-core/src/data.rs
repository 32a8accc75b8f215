//! The version of a member's data: which etcd may have been started on its volume.
//!
//! etcd does not start on data of a later minor. A member that was sent to one may have got there without anybody seeing it (the
//! operator was gone, its node died), so the claim says which version may be started on it before any pod of that version can be. It says
//! so until the member is seen at another version, or it is certain that the one on record never ran.

use std::collections::BTreeMap;

use crate::{Claim, ClaimPhase, Listed, Minor, Serial, Version, case::Seen, cause};

/// The version that may have been started on a member's volume, as far as its claim remembers.
fn may_have_started(seen: &Seen<'_>) -> Option<Version> {
    let claim = seen.objects.claim.as_ref().filter(|claim| claim.ours)?;
    if claim.phase == ClaimPhase::Pending || never_ran(seen, claim) {
        return None;
    }
    claim.started
}

/// What is on record is what its pod should run, and there is no such image.
fn never_ran(seen: &Seen<'_>, claim: &Claim) -> bool {
    let (Some(pod), Some(recorded)) = (&seen.objects.pod, seen.recorded()) else { return false };
    claim.started == Some(recorded.version)
        && pod.template == Some(recorded.fingerprint())
        && cause::lacks_image(pod)
}

/// What a claim is to remember when its member is to be made from `next`.
pub(crate) fn to_remember(seen: Option<&Seen<'_>>, adopted: Option<&Claim>, next: Version) -> Version {
    let settled = seen.is_some_and(|seen| {
        let runs = seen.endpoint.and_then(|endpoint| endpoint.version);
        let made = seen.recorded().filter(|made| Some(made.fingerprint()) == seen.running());
        runs == Some(next) && made.is_some_and(|made| made.version == next)
    });
    let before = seen
        .and_then(|seen| may_have_started(seen).max(seen.ran))
        .or_else(|| adopted.and_then(|claim| claim.started.max(claim.version)));
    match before {
        Some(before) if !settled && before.minor >= next.minor => before,
        _ => next,
    }
}

/// Puts right the version of whoever does not answer: a cluster's data moves to a minor when all voters have, so one that is certainly
/// below holds all others back.
pub(crate) fn judge(members: &mut BTreeMap<Serial, Seen<'_>>, listed: bool) {
    let votes = |seen: &Seen<'_>| match seen.listed {
        Some(Listed { learner, .. }) => !learner,
        None => !listed,
    };
    let reach = |seen: &Seen<'_>| -> Option<Minor> {
        let live = seen.endpoint.and_then(|endpoint| endpoint.version);
        live.or_else(|| may_have_started(seen)).or(seen.ran).map(|version| version.minor)
    };
    let Some(lowest) = members.values().filter(|seen| votes(seen)).filter_map(reach).min() else { return };
    for seen in members.values_mut() {
        let answers = seen.endpoint.is_some_and(|endpoint| endpoint.version.is_some());
        let Some(started) = may_have_started(seen).filter(|_| !answers) else { continue };
        if started.minor <= lowest && seen.version.is_none_or(|version| version.minor < started.minor) {
            seen.version = Some(started);
        }
    }
}

/// The version to start claims of an earlier cluster with: what each was last seen at, unless all of them may have left that minor.
pub(crate) fn of_adopted(claim: &Claim, all: &BTreeMap<Serial, &Claim>) -> Option<Version> {
    let started = |claim: &Claim| claim.started.max(claim.version);
    let lowest = all.values().filter_map(|claim| started(claim)).map(|version| version.minor).min();
    let left = |version: &Version| lowest.is_some_and(|lowest| version.minor < lowest);
    match claim.version {
        Some(version) if !left(&version) => Some(version),
        _ => started(claim),
    }
}
