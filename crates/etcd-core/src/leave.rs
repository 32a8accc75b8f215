//! Leaving: the leader hands over, the member is removed, then its StatefulSet goes, and its claim stays as detached.
//!
//! Order: who does not serve first, then learners, then the highest number that does not lead.

use std::cmp::Reverse;

use etcd_types::OperationKind;

use crate::{
    ClaimPhase, NodeState, Serial, Step,
    case::{Case, Health, Seen},
    join,
    quorum::{SETTLE, may_leave},
    rule::{Deed, LOOK, Verdict, on_record},
    text::members,
};

/// Who is no member any more, and still has a StatefulSet.
pub(crate) fn leftovers(case: &Case<'_>) -> Verdict {
    let founding = case.identity.cluster_id.is_none();
    let gone = |seen: &&Seen<'_>| {
        let wanted = founding && case.identity.founders.contains(&seen.serial);
        let member = if founding { wanted } else { seen.listed.is_some() };
        !member && seen.objects.stateful_set.as_ref().is_some_and(|it| !it.deleting)
    };
    if !founding && !case.has_list() {
        return Verdict::Pass;
    }
    // Founders that are given up: first those that never had a volume, so that the others cannot become a quorum meanwhile.
    let had_volume = |seen: &&Seen<'_>| {
        seen.objects.claim.as_ref().is_some_and(|claim| claim.phase != ClaimPhase::Pending)
    };
    let Some(seen) = case.members.values().filter(gone).min_by_key(had_volume) else { return Verdict::Pass };
    let Some(stateful_set) = &seen.objects.stateful_set else { return Verdict::Pass };
    let deed = match on_record(
        case,
        &[
            OperationKind::ScaleIn,
            OperationKind::ScaleOut,
            OperationKind::Replace,
            OperationKind::Found,
            OperationKind::Recover,
            OperationKind::Restore,
        ],
    ) {
        Some(known) => Deed::new(known.kind, &known.target, "Stopping"),
        None => Deed::new(OperationKind::CleanUp, case.name(seen.serial), "Stopping"),
    };
    let (serial, uid) = (seen.serial, stateful_set.uid.clone());
    let why = "it is no member of the cluster".to_owned();
    Verdict::Do(deed.about(serial).step(Step::DeleteStatefulSet { serial, uid, why }))
}

/// A learner that nobody needs any more. Removing it never costs anything.
pub(crate) fn unwanted_learner(case: &Case<'_>) -> Verdict {
    let Some(learner) = case.learner() else { return Verdict::Pass };
    if case.voters().count() < case.wanted.size {
        return Verdict::Pass;
    }
    let deed = Deed::new(OperationKind::ScaleIn, members(case.wanted.size), "Removing");
    remove(case, learner, deed, "it is not needed any more")
}

/// More voters than wanted: one less.
pub(crate) fn shrink(case: &Case<'_>) -> Verdict {
    // A member that somebody else added is theirs to remove; ours do not make room for it.
    if case.voters().count() <= case.wanted.size {
        return Verdict::Pass;
    }
    let Some(seen) = case.voters().max_by_key(|seen| rank(case, seen)) else { return Verdict::Pass };
    let deed = Deed::new(OperationKind::ScaleIn, members(case.wanted.size), "Removing");
    if let Some(going) = case.members.values().find(|seen| is_going(seen)) {
        let wait = format!("{} is being stopped; then the next one", case.name(going.serial));
        return Verdict::Do(deed.saying(wait.clone()).look_again(LOOK, wait));
    }
    remove(case, seen, deed, "the cluster shrinks")
}

/// It has left, and its pod is about to end. Clients are still looking for others to ask: nobody else leaves meanwhile.
fn is_going(seen: &Seen<'_>) -> bool {
    let node = seen.objects.pod.as_ref().and_then(|pod| pod.node.as_ref());
    seen.listed.is_none() && node.is_some_and(|node| node.state == NodeState::Ready)
}

/// Who goes first: the highest.
fn rank(case: &Case<'_>, seen: &Seen<'_>) -> (u8, bool, Serial) {
    let trouble = match seen.health {
        Health::Down(_) => 3,
        Health::Unseen(_) => 2,
        Health::Starting(_) | Health::CatchingUp(_) => 1,
        Health::Serving | Health::Learning => 0,
    };
    (trouble, case.leader != Some(seen.serial), seen.serial)
}

/// Removes a member: the leader hands over first, and enough must remain.
pub(crate) fn remove(case: &Case<'_>, seen: &Seen<'_>, deed: Deed, why: &str) -> Verdict {
    let deed = deed.about(seen.serial);
    if let Some(founder) = join::unsafe_founder(case).filter(|founder| *founder != seen.serial) {
        let wait = format!(
            "{} was told to found a cluster and has not started; its pod is restarted first",
            case.name(founder)
        );
        return Verdict::Do(deed.saying(wait.clone()).look_again(LOOK, wait));
    }
    if let Err(hindrance) = may_leave(seen.id(), &case.voters) {
        let wait = format!("{} cannot be removed yet: {}", case.name(seen.serial), case.explain(&hindrance));
        return Verdict::Do(deed.saying(wait.clone()).look_again(LOOK, wait));
    }
    if case.leader == Some(seen.serial) {
        return match heir(case, seen.serial, |_| true) {
            Some(step) => Verdict::Do(deed.step(step)),
            None => {
                let wait = "no other member serves, so the leader cannot be moved";
                Verdict::Do(deed.saying(wait).look_again(LOOK, wait))
            }
        };
    }
    let Some(ask) = case.someone_to_ask(Some(seen.serial)) else {
        let wait = "no member serves that could be asked";
        return Verdict::Do(deed.saying(wait).look_again(LOOK, wait));
    };
    let step = Step::RemoveMember { serial: Some(seen.serial), id: seen.id(), ask, why: why.to_owned() };
    Verdict::Do(deed.step(step))
}

/// Hands the leadership to whoever serves, is preferred, has not just come back, and is furthest.
pub(crate) fn heir(case: &Case<'_>, from: Serial, preferred: impl Fn(&Seen<'_>) -> bool) -> Option<Step> {
    let known = case.data.as_ref().filter(|data| !data.same.is_empty());
    let differs = |seen: &Seen<'_>| known.is_some_and(|data| !data.same.contains(&seen.id()));
    let candidates = case.voters().filter(|seen| seen.serial != from && seen.answers() && !differs(seen));
    let unsettled = case.voters.unsettled(SETTLE, case.exactly).map(|(id, _)| id);
    let to = candidates.max_by_key(|seen| {
        let applied = seen.endpoint.map_or(0, |endpoint| endpoint.raft_applied_index);
        (preferred(seen), unsettled != Some(seen.id()), applied, Reverse(seen.serial))
    })?;
    Some(Step::MoveLeader { from, to: to.serial, to_id: to.id() })
}
