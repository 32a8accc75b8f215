//! What must be there: the latch, claims and StatefulSets, the budget. Cheap, and the same every time.

use std::collections::BTreeMap;

use etcd_types::Medium;

use crate::{
    Claim, ClaimState, ClaimWish, Latch, MemberWish, Objects, Serial, Stage, Start,
    case::{Case, Health, Seen},
    data,
    decide::Outcome,
    identity, join,
    quorum::quorum,
    report, restore, roll,
    rule::Deed,
    volumes,
};

/// All of it.
pub(crate) fn objects(case: &Case<'_>, outcome: &Outcome, adopted: &BTreeMap<Serial, &Claim>) -> Objects {
    let proposed = outcome.deed.as_ref();
    let deed = proposed.filter(|_| outcome.acts);
    let founding = case.identity.cluster_id.is_none();
    let members = match founding {
        _ if !restore::may_start_members(case) => Vec::new(),
        true => founders(case),
        false => members(case, deed, adopted),
    };
    let (voters, soon) = if case.has_list() { voters(case) } else { (members.len(), 0) };
    Objects {
        latch: latch(case, proposed),
        wanted: case.wanted.clone(),
        claims: if case.wanted.storage.medium == Medium::Memory {
            Vec::new()
        } else {
            claims(case, &members, adopted)
        },
        members,
        min_available: min_available(voters, soon),
        seed: restore::seed(case),
        replay: restore::replay_wish(case),
        closed: restore::is_closed(case),
    }
}

/// How many voters there are, and how many more will be in a moment. A learner that does not come up has no vote.
fn voters(case: &Case<'_>) -> (usize, usize) {
    let soon = |learner: &Seen<'_>| learner.health == Health::Learning || join::has_greeted(learner);
    (case.voters.0.len(), usize::from(case.learner().is_some_and(soon)))
}

/// How many ready members an eviction has to leave: all voters but one, and never less than a quorum, also of those that will vote in a
/// moment. A learner that never votes blocks no drain: it takes the place of no voter. One voter alone has no budget: nothing could be
/// drained.
fn min_available(voters: usize, soon: usize) -> Option<u32> {
    let least = quorum(voters + soon).max(voters.saturating_sub(1));
    (voters + soon > 1).then(|| u32::try_from(least).unwrap_or(u32::MAX))
}

/// What is to be remembered from now on.
fn latch(case: &Case<'_>, proposed: Option<&Deed>) -> Latch {
    let latch = Latch { latest_serial: report::latest_serial(case, proposed), ..case.identity.latch() };
    restore::turn(case, latch)
}

/// The founders, once it is on record who they are, and nobody of an earlier attempt is left.
fn founders(case: &Case<'_>) -> Vec<MemberWish> {
    let founders = &case.identity.founders;
    let on_record = case.picture.latch.as_ref().is_some_and(|latch| latch.founders == *founders);
    let starts_seed = case.identity.record.as_ref().is_some_and(|record| record.stage == Stage::Starting);
    let left = case.members.values().any(|seen| {
        let there = seen.objects.stateful_set.is_some() || seen.objects.pod.is_some();
        // What a restore gives up does not come back as a member: a pod on a dead node is not waited for.
        !founders.contains(&seen.serial) && if starts_seed { restore::runs(case, seen) } else { there }
    });
    let certified = case.picture.certificates.problems.is_empty();
    let (version, start) = match &case.identity.record {
        Some(record) if record.stage == Stage::Starting => (Some(record.version), Start::Started),
        record if restore::recovers(case.picture, record.as_ref()) => (None, Start::Started),
        _ => (case.joining_version(), identity::founding(&case.names, founders)),
    };
    let Some(version) = version.filter(|_| on_record && !left && certified) else {
        return Vec::new();
    };
    let wish = |serial: &Serial| MemberWish {
        serial: *serial,
        template: case.wanted.template(version, start.clone()),
        voter: true,
        serves: case.members.get(serial).is_some_and(|seen| seen.endpoint.is_some()),
    };
    founders.iter().map(wish).collect()
}

fn members(case: &Case<'_>, deed: Option<&Deed>, adopted: &BTreeMap<Serial, &Claim>) -> Vec<MemberWish> {
    let turn = deed.and_then(|deed| deed.template.as_ref());
    let wish = |seen: &Seen<'_>| {
        let mine = turn.filter(|(serial, _)| *serial == seen.serial).map(|(_, template)| template.clone());
        let template = mine.or_else(|| roll::settled(case, seen))?;
        let voter = seen.listed.is_none_or(|listed| !listed.learner);
        Some(MemberWish { serial: seen.serial, template, voter, serves: seen.endpoint.is_some() })
    };
    let known = case.members.values().filter(|seen| seen.is_member(case)).filter_map(wish);
    let back = adopted.iter().filter(|(serial, _)| !case.members.contains_key(serial)).filter_map(
        |(serial, claim)| {
            let version = data::of_adopted(claim, adopted)
                .or_else(|| case.wanted.version.map(|(version, _)| version))?;
            let template = case.wanted.template(version, Start::Started);
            Some(MemberWish { serial: *serial, template, voter: true, serves: false })
        },
    );
    known.chain(back).collect()
}

fn claims(case: &Case<'_>, members: &[MemberWish], adopted: &BTreeMap<Serial, &Claim>) -> Vec<ClaimWish> {
    let founding = case.identity.cluster_id.is_none();
    let of_member = |wish: &MemberWish| {
        let seen = case.members.get(&wish.serial);
        // A claim comes before its StatefulSet. One that is missing afterwards was lost, and may have held a vote.
        let first = seen.is_none_or(|seen| seen.objects.stateful_set.is_none());
        let newcomer = seen.is_some_and(|seen| seen.listed.is_some() && !seen.has_started());
        let voter = seen.is_none_or(|seen| seen.listed.is_none_or(|listed| !listed.learner));
        let adopted = adopted.get(&wish.serial).copied();
        let ran = seen.and_then(|seen| seen.ran).or_else(|| adopted?.version);
        ClaimWish {
            serial: wish.serial,
            // What was brought to a seed is not there a second time.
            create: (founding && first && wish.template.start != Start::Started)
                || (newcomer && (first || !voter)),
            detached: None,
            cluster_id: case.identity.cluster_id,
            version: ran,
            started: Some(data::to_remember(seen, adopted, wish.template.version)),
            resize: seen
                .and_then(|seen| seen.objects.claim.as_ref())
                .and_then(|claim| volumes::resize(claim, &case.wanted.storage)),
            seed: None,
        }
    };
    let left = case.members.values().filter(|seen| {
        let ours =
            seen.objects.claim.as_ref().filter(|claim| claim.ours && claim.state == ClaimState::Member);
        let gone = if founding {
            !case.identity.founders.contains(&seen.serial)
        } else {
            case.has_list() && seen.listed.is_none()
        };
        ours.is_some() && gone
    });
    let of_left = left.map(|seen| ClaimWish {
        serial: seen.serial,
        create: false,
        detached: Some(case.now),
        cluster_id: seen
            .objects
            .claim
            .as_ref()
            .and_then(|claim| claim.cluster_id)
            .or(case.identity.cluster_id),
        version: seen.ran,
        started: seen.objects.claim.as_ref().and_then(|claim| claim.started),
        resize: None,
        seed: None,
    });
    members.iter().map(of_member).chain(of_left).chain(restore::claims(case)).collect()
}

#[cfg(test)]
mod tests {
    use super::min_available;

    #[test]
    fn an_eviction_leaves_all_voters_but_one_and_a_quorum() {
        // Voters, learners that are about to vote, ready members that have to stay.
        let cases = [
            (0, 0, None),
            (1, 0, None),
            (1, 1, Some(2)),
            (2, 0, Some(2)),
            (3, 0, Some(2)),
            (3, 1, Some(3)),
            (4, 0, Some(3)),
            (5, 0, Some(4)),
            (5, 1, Some(4)),
            (6, 0, Some(5)),
            (7, 0, Some(6)),
        ];
        for (voters, soon, expected) in cases {
            assert_eq!(min_available(voters, soon), expected, "{voters} voters, {soon} soon");
        }
    }
}
