//! The learner's way in: add, start, catch up, promote.
//!
//! Invariant: at most one learner at a time; one that is no longer wanted is removed before anything else (`leave.rs`).

use std::time::Duration;

use etcd_types::OperationKind;

use crate::{
    Pod, Serial, Start, Step,
    case::{Case, Health, Seen},
    quorum::{SETTLE, quorum},
    restore,
    rule::{Deed, LOOK, SOON, Verdict, on_record},
    text::members,
};

/// When to begin to ask etcd for another member: it takes one when so many as would be a quorum with it have been connected for
/// [`SETTLE`], which they have been for longer than we know. It says "unhealthy" until then, and is asked again; so do versions before
/// 3.5.30 and 3.6.11, which want all of them to be. Source: `mayAddMember` in server/etcdserver/server.go.
const NEARLY: Duration = SETTLE.saturating_sub(Duration::from_millis(1500));

/// The step in which a number is on record, and etcd may not have heard of it yet.
const ADDING: &str = "Adding";

/// A learner that answers is promoted, and so is one that has greeted the others; whether it has caught up, the leader says.
pub(crate) fn promote(case: &Case<'_>) -> Verdict {
    let Some(learner) = case.learner() else { return Verdict::Pass };
    let (serving, needed) = (case.voters.serving(), quorum(case.voters.0.len() + 1));
    let enough = match learner.health {
        Health::Learning => serving + 1 >= needed,
        // Nobody has seen it answer: those who serve must be a quorum without it.
        _ if has_greeted(learner) && serving >= needed => true,
        _ => return Verdict::Pass,
    };
    let deed = deed(case, "Promoting").about(learner.serial).saying(progress(case, learner));
    let deed = deed.look_again(SOON, "whether the learner has caught up");
    match case.leader.filter(|_| enough) {
        Some(leader) => {
            Verdict::Do(deed.step(Step::Promote { serial: learner.serial, id: learner.id(), leader }))
        }
        None => Verdict::Do(deed),
    }
}

/// Whether it has told the others its name, since it started for the first time, and runs.
///
/// From 3.6 on, whose leader sends a snapshot to a new member, the greeting may be in that snapshot already. Then the member waits for it in
/// vain for as long as a request may take, 7 s, and opens its port for clients only then. Nothing is wrong with it meanwhile: it
/// votes as well as any other, and its pod is not called ready before it answers ([`MemberWish::serves`](crate::MemberWish)). Source:
/// `publishV3` and `applyAll` in server/etcdserver/server.go, `ReqTimeout` in server/config/config.go.
pub(crate) fn has_greeted(seen: &Seen<'_>) -> bool {
    let first = |pod: &Pod| {
        pod.running
            && !pod.deleting
            && pod.restarts == 0
            && pod.start.as_ref().is_some_and(|start| *start != Start::Started.fingerprint())
    };
    seen.has_started() && seen.objects.pod.as_ref().is_some_and(first)
}

/// A learner that does not answer yet is waited for. `repair.rs` comes first, and knows when waiting is no use.
pub(crate) fn wait(case: &Case<'_>) -> Verdict {
    let Some(learner) = case.learner() else { return Verdict::Pass };
    let why = match &learner.health {
        Health::Down(cause) => cause.what.clone(),
        Health::Starting(why) | Health::CatchingUp(why) | Health::Unseen(why) => why.clone(),
        Health::Serving | Health::Learning => "answers".to_owned(),
    };
    let deed = deed(case, "Starting").about(learner.serial);
    let deed = deed.saying(format!("{} {why}; then it catches up, and votes", case.name(learner.serial)));
    let runs = learner.objects.pod.as_ref().is_some_and(|pod| pod.running);
    let soon = if runs { SOON } else { LOOK };
    Verdict::Do(deed.look_again(soon, "whether the new member answers"))
}

/// Fewer voters than wanted: one more.
pub(crate) fn grow(case: &Case<'_>) -> Verdict {
    let (ours, voters) = (case.voters().count(), case.voters.0.len());
    if ours >= case.wanted.size {
        return Verdict::Pass;
    }
    let serial = next_serial(case);
    let deed = deed(case, ADDING).about(serial);
    let deed = deed.saying(format!("{ours} of {} members vote", case.wanted.size));
    // With the new one, those who serve must be a quorum; etcd refuses it otherwise.
    if case.voters.serving() + 1 < quorum(voters + 1) {
        let why = "too few members serve to add another one";
        return Verdict::Do(deed.saying(why).look_again(LOOK, why));
    }
    if let Some(wait) = case.voters.settled_in(quorum(voters + 1), NEARLY, case.exactly) {
        let why =
            format!("etcd takes a new member when enough have been connected for {} s", SETTLE.as_secs());
        return Verdict::Do(deed.look_again(wait, why));
    }
    if let Some(founder) = unsafe_founder(case) {
        let why = format!(
            "{} was told to found a cluster and has not started; its pod is restarted first",
            case.name(founder)
        );
        return Verdict::Do(deed.saying(why.clone()).look_again(LOOK, why));
    }
    Verdict::Do(deed.step(Step::AddLearner { serial, peer_url: case.names.peer_url(serial) }))
}

/// Somebody whose pod still says `new`, and who may therefore still found: no membership changes before it has started.
pub(crate) fn unsafe_founder(case: &Case<'_>) -> Option<Serial> {
    let says_new = |seen: &&Seen<'_>| {
        let made = seen.objects.pod.as_ref().and_then(|pod| pod.start.clone());
        let founding = crate::identity::founding(&case.names, &case.identity.founders).fingerprint();
        seen.listed.is_some() && !seen.has_started() && made == Some(founding)
    };
    case.members.values().find(says_new).map(|seen| seen.serial)
}

/// The number on record that etcd has not heard of, one that is not on record yet, or the next one.
fn next_serial(case: &Case<'_>) -> Serial {
    let growing =
        [OperationKind::ScaleOut, OperationKind::Replace, OperationKind::Recover, OperationKind::Restore];
    let given = on_record(case, &growing)
        .filter(|operation| operation.step == ADDING)
        .and_then(|operation| case.names.serial_of_name(operation.member.as_deref()?));
    given
        .or_else(|| never_told(case))
        .filter(|serial| !case.members.contains_key(serial) && serial.0 == case.identity.latest)
        .unwrap_or(Serial(case.identity.latest + 1))
}

/// The number that the latch has and the status has not: somebody died between the two. Nothing was done with it, because that begins when
/// both have it. A status that was lost says nothing about it.
fn never_told(case: &Case<'_>) -> Option<Serial> {
    let told = u64::try_from(case.picture.status.latest_serial?).ok()?;
    let latched = Serial(case.picture.latch.as_ref()?.latest_serial);
    (latched.0 == told + 1 && !case.picture.earlier.contains_key(&latched)).then_some(latched)
}

fn deed(case: &Case<'_>, doing: &'static str) -> Deed {
    if let Some((kind, target)) = restore::growing(case) {
        return Deed::new(kind, target, doing);
    }
    match on_record(case, &[OperationKind::Replace]) {
        Some(replacing) => Deed::new(OperationKind::Replace, &replacing.target, doing),
        None => Deed::new(OperationKind::ScaleOut, members(case.wanted.size), doing),
    }
}

fn progress(case: &Case<'_>, learner: &Seen<'_>) -> String {
    let leader = case.leader.and_then(|leader| case.members.get(&leader)?.endpoint);
    let (Some(leader), Some(own)) = (leader, learner.endpoint) else {
        return format!("{} catches up", case.name(learner.serial));
    };
    // The leader was asked at the same time, and may have had fewer entries when it answered. In steps of ten: each is a write of the status.
    let all = leader.raft_index.max(own.raft_applied_index).max(1);
    let tens = u128::from(own.raft_applied_index) * 10 / u128::from(all);
    format!("{} catches up: it has {} % of the entries", case.name(learner.serial), tens * 10)
}
