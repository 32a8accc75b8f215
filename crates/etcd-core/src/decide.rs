//! Decide: from the picture and the time to a plan. The rules, in their order; the first that has something to do is the one.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use etcd_types::{EtcdClusterStatus, ExistingVolumes, Medium, OperationKind, VolumePolicy};
use jiff::{SignedDuration, Timestamp};

use crate::{
    Claim, ClaimState, ClaimWish, ClusterId, Latch, MemberWish, Objects, Picture, Plan, Refusal, Serial,
    Stage, Start, Step, Version,
    case::{self, Case, Seen},
    conditions, data, finish, found, hand_over,
    identity::{self, Identity},
    join, leave, phase,
    quorum::quorum,
    repair, report, restore, roll,
    rule::{Deed, Verdict},
    validate::{self, Running},
    volumes,
};

type Rule = fn(&Case<'_>) -> Verdict;

/// While no cluster ID is known.
const FOUNDING: &[Rule] = &[leave::leftovers, roll::revert, restore::go, found::begin];

/// While a member answers for another cluster: nothing else is safe to judge.
const CONFLICT: &[Rule] = &[leave::leftovers, repair::stray, restore::go];

/// While there is no live member list: nobody's membership is touched. Only a user's correction of what is down is carried out.
const BLIND: &[Rule] = &[roll::revert, restore::go];

/// While members are stopped or started for a restore.
const RESTORING: &[Rule] = &[restore::go];

/// Otherwise. Who has left goes; what is broken is mended; what has begun is finished; then what is asked for.
const RULES: &[Rule] = &[
    leave::leftovers,
    leave::unwanted_learner,
    roll::revert,
    repair::repair,
    restore::go,
    found::finish,
    join::promote,
    join::wait,
    leave::shrink,
    join::grow,
    roll::cancel_downgrade,
    roll::configure,
    roll::upgrade,
    finish::finish,
    hand_over::hand_over,
    restore::tidy,
    clean_up,
];

/// What to do for the cluster of this picture, now.
pub fn decide(picture: &Picture, exactly: Timestamp) -> Plan {
    let now = case::in_seconds(exactly);
    let mut identity = Identity::of(picture);
    let mut refusals = Vec::new();
    if identity.cluster_id.is_none() {
        identity::discover(&mut identity, picture);
    }
    let adopted = adopt(picture, &mut identity, &mut refusals);
    let judged = validate::judge(&picture.spec, &running(picture, &identity, &adopted, now));
    refusals.extend(judged.refusals);
    let mut wanted = judged.wanted.filter(|_| adopted.is_ok());
    if identity.cluster_id.is_none()
        && picture.spec.bootstrap.recovery.is_some()
        && picture.spec.storage.medium == Medium::Memory
    {
        let why = "the data of a backup is brought to a volume, and spec.storage.medium is Memory: set PersistentVolume";
        refusals.push(Refusal { field: "spec.bootstrap.recovery", why: why.to_owned() });
        wanted = None;
    }
    if picture.cluster.deleting && !picture.spec.deletion_policy.protection {
        return ending(picture, &identity);
    }
    let hold = picture.spec.deletion_policy.protection
        || picture.spec.deletion_policy.volumes == VolumePolicy::Delete;
    let Some(wanted) = wanted else {
        return unbegun(picture, &identity, refusals, hold);
    };
    if identity.cluster_id.is_none() && !picture.spec.paused {
        // The data of a backup is brought to one, and the others get it from there.
        let recovers = restore::recovers(picture, identity.record.as_ref());
        found::choose(&mut identity, picture, if recovers { 1 } else { wanted.size });
    }
    let case = Case::new(picture, &wanted, identity, exactly);
    if picture.spec.paused {
        let outcome = Outcome { deed: None, acts: false, wake: None };
        return plan(&case, None, outcome, refusals, hold);
    }
    let outcome = judge(&case);
    let objects = objects(&case, &outcome, &adopted.unwrap_or_default());
    plan(&case, Some(objects), outcome, refusals, hold)
}

/// What the rules came to.
pub(crate) struct Outcome {
    pub(crate) deed: Option<Deed>,
    /// Whether the deed is on record, so that it may be carried out.
    pub(crate) acts: bool,
    pub(crate) wake: Option<(Duration, String)>,
}

fn judge(case: &Case<'_>) -> Outcome {
    let rules = match () {
        () if !case.identity.contradictions.is_empty() => &[],
        () if restore::is_exclusive(case) => RESTORING,
        () if !case.strays.is_empty() => CONFLICT,
        () if case.identity.cluster_id.is_none() => FOUNDING,
        () if !case.has_list() => BLIND,
        () => RULES,
    };
    let mut wake: Option<(Duration, String)> = None;
    for rule in rules {
        match rule(case) {
            Verdict::Pass => {}
            Verdict::Later(after, what) => earlier(&mut wake, (after, what)),
            Verdict::Do(deed) => {
                if let Some(again) = deed.wake.clone() {
                    earlier(&mut wake, again);
                }
                let acts = deed.is_on_record(case);
                return Outcome { deed: Some(deed), acts, wake };
            }
        }
    }
    Outcome { deed: None, acts: false, wake }
}

fn earlier(wake: &mut Option<(Duration, String)>, other: (Duration, String)) {
    if wake.as_ref().is_none_or(|(known, _)| other.0 < *known) {
        *wake = Some(other);
    }
}

fn plan(
    case: &Case<'_>,
    objects: Option<Objects>,
    outcome: Outcome,
    refusals: Vec<Refusal>,
    hold: bool,
) -> Plan {
    let step = outcome.deed.as_ref().filter(|_| outcome.acts).and_then(|deed| deed.step.clone());
    let phase = phase::judge(case, outcome.deed.as_ref(), &refusals);
    let record =
        objects.as_ref().map_or(case.identity.record.as_ref(), |objects| objects.latch.restore.as_ref());
    let status = report::status(case, outcome.deed.as_ref(), phase, record);
    let conditions = conditions::judge(case, outcome.deed.as_ref(), &refusals);
    let events = report::events(case, &status);
    Plan { hold, objects, step, status, conditions, events, refusals, wake: outcome.wake }
}

/// Nothing runs, and the spec cannot be begun with.
fn unbegun(picture: &Picture, identity: &Identity, refusals: Vec<Refusal>, hold: bool) -> Plan {
    let message = refusals.first().map(ToString::to_string);
    let status = EtcdClusterStatus {
        phase: Some(etcd_types::Phase::Invalid),
        message,
        observed_generation: picture.cluster.generation,
        latest_serial: i64::try_from(identity.latest).ok(),
        conditions: None,
        ..picture.status.clone()
    };
    let conditions = conditions::invalid(&refusals);
    Plan { hold, objects: None, step: None, status, conditions, events: Vec::new(), refusals, wake: None }
}

/// The object is being deleted. Kubernetes removes what it owns; the claims are ours to judge.
fn ending(picture: &Picture, identity: &Identity) -> Plan {
    let consent = picture.spec.deletion_policy.volumes == VolumePolicy::Delete;
    let doomed = picture.members.iter().filter_map(|(serial, member)| {
        let claim = member.claim.as_ref().filter(|claim| claim.ours && !claim.deleting)?;
        Some(delete_claim(*serial, claim, "the EtcdCluster is deleted, and its policy is to delete volumes"))
    });
    let step = doomed.into_iter().next().filter(|_| consent);
    let message = match &step {
        Some(step) => step.to_string(),
        None if consent => "its volumes go with it".to_owned(),
        None => "its volumes stay: an EtcdCluster of the same name takes them back".to_owned(),
    };
    let status = EtcdClusterStatus {
        phase: Some(etcd_types::Phase::Deleting),
        message: Some(message),
        observed_generation: picture.cluster.generation,
        cluster_id: identity.cluster_id.map(|id| id.to_string()),
        operation: None,
        conditions: None,
        ..picture.status.clone()
    };
    Plan {
        hold: step.is_some(),
        objects: None,
        step,
        status,
        conditions: conditions::deleting(),
        events: Vec::new(),
        refusals: Vec::new(),
        wake: None,
    }
}

/// Claims of an earlier cluster of this name: the cluster goes on with their data, unless the user says otherwise.
fn adopt<'a>(
    picture: &'a Picture,
    identity: &mut Identity,
    refusals: &mut Vec<Refusal>,
) -> Result<BTreeMap<Serial, &'a Claim>, ()> {
    let latched = identity.cluster_id.is_some();
    let ignored = picture.spec.bootstrap.existing_volumes == ExistingVolumes::Ignore;
    // Somebody is founding already: what lies around is not asked any more.
    if (ignored || !identity.founders.is_empty()) && !latched {
        return Ok(BTreeMap::new());
    }
    let usable = |claim: &&Claim| claim.ours && !claim.deleting && claim.state == ClaimState::Member;
    let found: BTreeMap<Serial, &Claim> = picture
        .earlier
        .iter()
        .map(|(serial, claim)| (*serial, claim))
        .filter(|(_, claim)| usable(claim) && claim.cluster_id.is_some())
        .filter(|(_, claim)| !latched || claim.cluster_id == identity.cluster_id)
        .collect();
    let ids: BTreeSet<ClusterId> = found.values().filter_map(|claim| claim.cluster_id).collect();
    let ids: Vec<ClusterId> = ids.into_iter().collect();
    match ids.as_slice() {
        [] => Ok(found),
        [id] => {
            if !latched {
                identity.founders = found.keys().copied().collect();
            }
            identity.cluster_id = Some(*id);
            Ok(found)
        }
        several => {
            let several = several.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let why = format!(
                "volumes of several clusters of this name were left behind ({several}): delete the claims that are not wanted, or set Ignore"
            );
            refusals.push(Refusal { field: "spec.bootstrap.existingVolumes", why });
            Err(())
        }
    }
}

fn running<'a>(
    picture: &'a Picture,
    identity: &Identity,
    adopted: &Result<BTreeMap<Serial, &'a Claim>, ()>,
    now: Timestamp,
) -> Running<'a> {
    let latched = identity.cluster_id.is_some();
    let seen = case::look(picture, identity, now);
    let listed = picture.etcd.members.is_some();
    // What founders that were given up, or members before a restore, have left says nothing about what runs.
    let is_left = |seen: &Seen<'_>| {
        let claim = seen.objects.claim.as_ref();
        seen.objects.stateful_set.is_none() && claim.is_some_and(|claim| claim.state != ClaimState::Member)
    };
    let is_member = |seen: &&Seen<'_>| if listed { seen.has_started() } else { !is_left(seen) };
    let own = seen.values().filter(is_member).filter_map(|seen| seen.version);
    let taken =
        adopted.iter().flat_map(|claims| claims.values().filter_map(|claim| data::of_adopted(claim, claims)));
    let versions: Vec<Version> = own.chain(taken).collect();
    let begun = latched || !versions.is_empty();
    let template = seen.values().find_map(Seen::recorded).filter(|_| begun);
    let rolling = picture
        .status
        .operation
        .as_ref()
        .filter(|operation| matches!(operation.kind, OperationKind::Upgrade | OperationKind::Downgrade));
    let target = rolling.and_then(|operation| operation.target.parse().ok());
    let voters = seen.values().filter(|seen| seen.listed.is_some_and(|listed| !listed.learner)).count();
    let size = if listed { voters } else { picture.members.len() };
    let in_use = |claim: &&Claim| claim.ours && claim.state == ClaimState::Member;
    let own = seen.values().filter(|seen| !listed || seen.listed.is_some());
    let own = own.filter_map(|seen| seen.objects.claim.as_ref()).filter(in_use);
    let claims = own.chain(adopted.iter().flat_map(|claims| claims.values().copied())).collect();
    Running { versions, template, target, begun, size, claims }
}

/// What must be there.
fn objects(case: &Case<'_>, outcome: &Outcome, adopted: &BTreeMap<Serial, &Claim>) -> Objects {
    let proposed = outcome.deed.as_ref();
    let deed = proposed.filter(|_| outcome.acts);
    let founding = case.identity.cluster_id.is_none();
    let members = match founding {
        _ if !restore::may_start_members(case) => Vec::new(),
        true => founders(case),
        false => members(case, deed, adopted),
    };
    let listed = case.picture.etcd.members.as_ref().map_or(members.len(), Vec::len);
    Objects {
        latch: latch(case, proposed),
        wanted: case.wanted.clone(),
        claims: if case.wanted.storage.medium == Medium::Memory {
            Vec::new()
        } else {
            claims(case, &members, adopted)
        },
        members,
        min_available: (listed > 1).then(|| u32::try_from(quorum(listed)).unwrap_or(u32::MAX)),
        seed: restore::seed(case),
        replay: restore::replay_wish(case),
        closed: restore::is_closed(case),
    }
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
    let left = case.members.values().any(|seen| {
        !founders.contains(&seen.serial)
            && (seen.objects.stateful_set.is_some() || seen.objects.pod.is_some())
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
    };
    founders.iter().map(wish).collect()
}

fn members(case: &Case<'_>, deed: Option<&Deed>, adopted: &BTreeMap<Serial, &Claim>) -> Vec<MemberWish> {
    let turn = deed.and_then(|deed| deed.template.as_ref());
    let wish = |seen: &Seen<'_>| {
        let mine = turn.filter(|(serial, _)| *serial == seen.serial).map(|(_, template)| template.clone());
        let template = mine.or_else(|| roll::settled(case, seen))?;
        let voter = seen.listed.is_none_or(|listed| !listed.learner);
        Some(MemberWish { serial: seen.serial, template, voter })
    };
    let known = case.members.values().filter(|seen| seen.is_member(case)).filter_map(wish);
    let back = adopted.iter().filter(|(serial, _)| !case.members.contains_key(serial)).filter_map(
        |(serial, claim)| {
            let version = data::of_adopted(claim, adopted)
                .or_else(|| case.wanted.version.map(|(version, _)| version))?;
            let template = case.wanted.template(version, Start::Started);
            Some(MemberWish { serial: *serial, template, voter: true })
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

/// Volumes of members that left, where the user agreed to lose them, after the time that they are kept.
fn clean_up(case: &Case<'_>) -> Verdict {
    if case.wanted.volumes != VolumePolicy::Delete {
        return Verdict::Pass;
    }
    let keep =
        SignedDuration::try_from(case.wanted.remediation.keep_old_volume).unwrap_or(SignedDuration::MAX);
    let mut next: Option<(Duration, String)> = None;
    for seen in case.members.values().filter(|seen| seen.listed.is_none()) {
        let unused = seen.objects.stateful_set.is_none() && seen.objects.pod.is_none();
        let Some(claim) = seen.objects.claim.as_ref().filter(|claim| claim.ours && !claim.deleting && unused)
        else {
            continue;
        };
        let ClaimState::Detached { since } = claim.state else { continue };
        let left = keep - case.now.duration_since(since);
        if let Ok(left) = Duration::try_from(left)
            && !left.is_zero()
        {
            earlier(
                &mut next,
                (left, format!("the old volume of {} is deleted then", case.name(seen.serial))),
            );
            continue;
        }
        let deed =
            Deed::new(OperationKind::CleanUp, case.name(seen.serial), "DeletingVolume").about(seen.serial);
        return Verdict::Do(deed.step(delete_claim(
            seen.serial,
            claim,
            "its member has left, and its policy is to delete volumes",
        )));
    }
    next.map_or(Verdict::Pass, |(after, what)| Verdict::Later(after, what))
}

fn delete_claim(serial: Serial, claim: &Claim, why: &str) -> Step {
    Step::DeleteClaim { serial, uid: claim.uid.clone(), why: why.to_owned() }
}
