//! Founding: the first members start together, from one static list, with `new`. A cluster of three serves within one election.
//!
//! Invariant: who founds is on record before anybody is started; the list changes only when it is certain that no cluster can have
//! formed from the one before.

use std::collections::BTreeMap;

use etcd_types::{Medium, OperationKind};

use crate::{
    ClaimPhase, ClusterId, Picture, Serial, Start, Why,
    case::{self, Case, Health},
    identity::Identity,
    quorum::quorum,
    rule::{Deed, LOOK, Verdict, on_record},
    text::members,
    version::Way,
};

/// Numbers for `size` founders, unless there are founders already who must stay.
pub(crate) fn choose(identity: &mut Identity, picture: &Picture, size: usize) {
    // Those of an earlier list that was given up may have met after all: then they are the founders.
    if let Some(begun) = begun(picture).filter(|begun| may_have_formed(begun, picture)) {
        identity.founders = begun;
        return;
    }
    let founders = identity.founders.len();
    if founders > 0 && (founders == size || may_have_formed(&identity.founders, picture)) {
        return;
    }
    let first = identity.latest + 1;
    identity.founders = (first..).take(size).map(Serial).collect();
    identity.latest = identity.founders.last().map_or(identity.latest, |last| last.0);
}

/// Whether a cluster may exist already, though nobody has seen it: enough founders have had a volume to write on.
fn may_have_formed(founders: &[Serial], picture: &Picture) -> bool {
    let in_memory = picture.spec.storage.medium == Medium::Memory;
    let had_volume = |serial: &&Serial| {
        let Some(member) = picture.members.get(serial) else { return false };
        match &member.claim {
            Some(claim) => claim.phase != ClaimPhase::Pending,
            None => in_memory && member.pod.as_ref().is_some_and(|pod| pod.node.is_some()),
        }
    };
    let answers = picture.etcd.endpoints.values().any(Result::is_ok);
    answers || founders.iter().filter(had_volume).count() >= quorum(founders.len())
}

/// The list that members were started with, if any were.
fn begun(picture: &Picture) -> Option<Vec<Serial>> {
    let names = case::names(picture);
    let templates =
        picture.members.values().filter_map(|member| member.stateful_set.as_ref()?.template.as_ref());
    let lists = templates.filter_map(|template| match &template.start {
        Start::Found { members } => {
            Some(members.keys().filter_map(|name| names.serial_of_name(name)).collect::<Vec<_>>())
        }
        Start::Join { .. } | Start::Started => None,
    });
    let mut list = lists.into_iter().next()?;
    list.sort();
    Some(list)
}

/// Nobody has seen the cluster yet.
pub(crate) fn begin(case: &Case<'_>) -> Verdict {
    let deed = deed(case);
    let problems = &case.picture.certificates.problems;
    if !problems.is_empty() {
        return Verdict::Do(deed.saying(format!("waits for certificates: {}", problems.join("; "))));
    }
    if let Some(several) = several(case) {
        return Verdict::Do(deed.saying(several).stuck(Why::WaitingForUser));
    }
    if let Some((version, Way::Upgrade | Way::Downgrade)) = case.wanted.version {
        let runs = case.joining_version().map(|version| version.to_string()).unwrap_or_default();
        let why = format!("the members begin with {runs}; {version} follows when the cluster exists");
        return Verdict::Do(deed.saying(why).look_again(LOOK, "whether the members found each other"));
    }
    let missing = missing(case);
    let message = if missing.is_empty() { "waits for a leader".to_owned() } else { missing };
    Verdict::Do(deed.saying(message).look_again(LOOK, "whether the members found each other"))
}

/// The cluster exists, and some founders are still on their way.
pub(crate) fn finish(case: &Case<'_>) -> Verdict {
    let Some(known) = on_record(case, &[OperationKind::Found]) else { return Verdict::Pass };
    let since = case.now.duration_since(known.started_at.0);
    let patience = jiff::SignedDuration::try_from(case.wanted.remediation.replace_after).unwrap_or_default();
    let missing = missing(case);
    if missing.is_empty() || since > patience {
        return Verdict::Pass;
    }
    let deed = Deed::new(known.kind, &known.target, "Starting");
    Verdict::Do(deed.saying(missing).look_again(LOOK, "whether the members serve"))
}

/// Founders that answer for different clusters: before an ID is on record, nobody can say which of them is ours.
fn several(case: &Case<'_>) -> Option<String> {
    let answers = case.picture.etcd.endpoints.iter();
    let ids: BTreeMap<Serial, ClusterId> =
        answers.filter_map(|(serial, answer)| Some((*serial, answer.as_ref().ok()?.cluster_id))).collect();
    let first = ids.values().next()?;
    if ids.values().all(|id| id == first) {
        return None;
    }
    let each: Vec<String> =
        ids.iter().map(|(serial, id)| format!("{} for {id}", case.name(*serial))).collect();
    Some(format!(
        "members answer for different clusters ({}): delete the claim and the pod of whoever has a volume with other data",
        each.join(", ")
    ))
}

fn deed(case: &Case<'_>) -> Deed {
    Deed::new(OperationKind::Found, members(case.identity.founders.len()), "Starting")
}

/// Who does not serve yet, and why.
fn missing(case: &Case<'_>) -> String {
    let founders = case.identity.founders.iter();
    let why = |serial: &Serial| {
        let name = case.name(*serial);
        match case.members.get(serial).map(|seen| &seen.health) {
            None => Some(format!("{name} is being made")),
            Some(Health::Serving | Health::Learning) => None,
            Some(Health::Starting(why) | Health::CatchingUp(why) | Health::Unseen(why)) => {
                Some(format!("{name}: {why}"))
            }
            Some(Health::Down(cause)) => Some(format!("{name} {}", cause.what)),
        }
    };
    founders.filter_map(why).collect::<Vec<_>>().join("; ")
}
