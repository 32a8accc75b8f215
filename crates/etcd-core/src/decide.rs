//! Decide: from the picture and the time to a plan. The rules, in their order; the first that has something to do is the one.

use std::{collections::BTreeMap, time::Duration};

use etcd_types::{EtcdClusterStatus, Medium, OperationKind, VolumePolicy};
use jiff::Timestamp;

use crate::{
    Claim, ClaimState, Objects, Picture, Plan, Refusal, Serial, Template, Version, adopt,
    case::{self, Case, Seen},
    clean_up, conditions, corrupt, data, finish, found, hand_over,
    identity::{self, Identity},
    join, leave, news, objects, phase, repair, report, restore, roll,
    rule::{Deed, Verdict},
    validate::{self, Running},
};

type Rule = fn(&Case<'_>) -> Verdict;

/// While no cluster ID is known.
const FOUNDING: &[Rule] = &[leave::leftovers, roll::revert, restore::go, found::begin];

/// While a member answers for another cluster: nothing else is safe to judge.
const CONFLICT: &[Rule] = &[leave::leftovers, repair::stray, restore::go];

/// While there is no live member list: nobody's membership is touched. Only a user's correction of what is down is carried out.
const BLIND: &[Rule] = &[roll::revert, restore::go];

/// While the alarm CORRUPT is raised: no member is added, promoted or updated before the data of all voters is the same.
const CORRUPT: &[Rule] = &[
    corrupt::inherited,
    restore::go,
    roll::revert,
    corrupt::resolve,
    leave::leftovers,
    repair::repair,
    corrupt::wait,
];

/// While members are stopped or started for a restore.
const RESTORING: &[Rule] = &[corrupt::inherited, restore::go];

/// Otherwise. Who has left goes; what is broken is mended; what has begun is finished; then what is asked for.
const RULES: &[Rule] = &[
    // Who is no member any more is stopped, and a learner that nobody wants is no member.
    leave::leftovers,
    leave::unwanted_learner,
    // A user's correction of what is down goes before everything that waits for health.
    roll::revert,
    corrupt::replace_minority,
    repair::repair,
    // What has begun.
    restore::go,
    found::finish,
    join::promote,
    join::wait,
    // What is asked for: the size, then settings, then the version.
    leave::shrink,
    join::grow,
    roll::cancel_downgrade,
    roll::configure,
    roll::upgrade,
    finish::finish,
    // What can wait until all of that is done.
    hand_over::hand_over,
    restore::tidy,
    clean_up::clean_up,
];

/// What to do for the cluster of this picture, now.
pub fn decide(picture: &Picture, exactly: Timestamp) -> Plan {
    let now = case::in_seconds(exactly);
    let mut identity = Identity::of(picture);
    let mut refusals = Vec::new();
    identity::settle(&mut identity, picture);
    if identity.cluster_id.is_none() {
        identity::discover(&mut identity, picture);
    }
    let adopted = adopt::adopt(picture, &mut identity, &mut refusals);
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
    let held = identity.is_held();
    if identity.cluster_id.is_none() && !picture.spec.paused && !held {
        // The data of a backup is brought to one, and the others get it from there.
        let recovers = restore::recovers(picture, identity.record.as_ref());
        found::choose(&mut identity, picture, if recovers { 1 } else { wanted.size });
    }
    let case = Case::new(picture, &wanted, identity, exactly);
    if picture.spec.paused || held {
        let outcome = Outcome { deed: None, acts: false, wake: None };
        return plan(&case, None, outcome, refusals, hold);
    }
    let outcome = judge(&case);
    let objects = objects::objects(&case, &outcome, &adopted.unwrap_or_default());
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
        () if restore::is_exclusive(case) => RESTORING,
        () if !case.strays.is_empty() => CONFLICT,
        () if case.identity.cluster_id.is_none() => FOUNDING,
        () if !case.has_list() => BLIND,
        () if corrupt::is_raised(&case.picture.etcd) => CORRUPT,
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

pub(crate) fn earlier(wake: &mut Option<(Duration, String)>, other: (Duration, String)) {
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
    let events = news::of(case, &status, &conditions);
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
    let events = news::turned(&picture.status, &conditions);
    Plan { hold, objects: None, step: None, status, conditions, events, refusals, wake: None }
}

/// The object is being deleted. Kubernetes removes what it owns; the claims are ours to judge.
fn ending(picture: &Picture, identity: &Identity) -> Plan {
    let consent = picture.spec.deletion_policy.volumes == VolumePolicy::Delete;
    let step = clean_up::doomed(picture);
    let message = match &step {
        Some(step) => step.to_string(),
        None if consent => "its volumes go with it".to_owned(),
        None => "its volumes stay: an EtcdCluster of the same name takes them back".to_owned(),
    };
    let events = news::ending(&picture.status, &message).into_iter().collect();
    let status = EtcdClusterStatus {
        phase: Some(etcd_types::Phase::Deleting),
        message: Some(message),
        observed_generation: picture.cluster.generation,
        cluster_id: report::cluster_id(identity, picture),
        operation: None,
        ready_members: None,
        leader: None,
        conditions: None,
        ..picture.status.clone()
    };
    Plan {
        hold: step.is_some(),
        objects: None,
        step,
        status,
        conditions: conditions::deleting(),
        events,
        refusals: Vec::new(),
        wake: None,
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
    let operation = picture.status.operation.as_ref();
    let is_target =
        |template: &&Template| operation.is_some_and(|known| known.target == template.fingerprint());
    let mut templates: Vec<&Template> = seen.values().filter_map(Seen::recorded).filter(|_| begun).collect();
    templates.sort_by_key(is_target);
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
    Running { versions, templates, target, begun, size, claims }
}
