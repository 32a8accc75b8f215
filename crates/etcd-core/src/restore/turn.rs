//! When it is the next stage's turn: the way of a restore through its record.

use etcd_types::Medium;
use jiff::SignedDuration;

use super::{STARTING, WAITING_FOR_NODE, active, missing_node, others, runs, seed_state};
use crate::{
    ClaimState, Latch, Serial, WorkState,
    case::{Case, Health, Seen},
    cause,
    record::{Before, Record, Stage},
};

/// A seed that ended so often does not come up.
const ENDS: u32 = 3;
/// What revisions are raised by at least. Source: etcdutl's own advice, a week at 1,500 writes per second.
const BUMP: i64 = 1_000_000_000;

/// What a restore that is asked for begins with; nothing if none is, or one is under way. One whose cluster only grows makes room.
pub(super) fn begin(case: &Case<'_>) -> Option<Record> {
    let request = case.picture.recovery.as_ref()?;
    let exists = case.identity.cluster_id.is_some();
    let done = case.identity.restored.contains(&request.uid);
    let busy = active(case).is_some_and(|it| it.stage != Stage::Growing || it.uid == request.uid);
    if busy || done || exists != request.name.is_some() || !request.consented {
        return None;
    }
    let in_place = request.name.is_some();
    let seed = match in_place {
        true => Serial(case.identity.latest + 1),
        false => *case.identity.founders.first()?,
    };
    let version = if in_place { case.lowest_version() } else { None };
    let version = version.or_else(|| case.wanted.version.map(|(version, _)| version))?;
    let memory = case.wanted.storage.medium == Medium::Memory;
    let stage = match in_place && memory {
        true => Stage::Failed {
            why: "spec.storage.medium of the EtcdCluster is Memory: there is no volume that data could be brought to. Create another EtcdCluster with spec.bootstrap.recovery".to_owned(),
        },
        false => Stage::Preparing,
    };
    Some(Record {
        name: request.name.clone(),
        uid: request.uid.clone(),
        label: request.label.clone(),
        seed,
        version,
        bump: in_place.then(|| bump(case)),
        to_point: request.to_point,
        backup: None,
        before: None,
        stage,
    })
}

/// So much that the revisions end above all that the clients of the cluster before have seen. Where nobody can say which those are, by the
/// time: more than a thousand writes in every second since an earlier restore would be needed to reach it.
fn bump(case: &Case<'_>) -> i64 {
    let known =
        case.members.values().filter_map(|seen| seen.endpoint).map(|endpoint| endpoint.revision).max();
    match known {
        Some(revision) => revision.saturating_add(BUMP),
        None => case.now.as_second().saturating_mul(1000),
    }
}

/// The latch as it is to be: with the next stage, when its turn has come.
pub(crate) fn turn(case: &Case<'_>, latch: Latch) -> Latch {
    if let Some(record) = begin(case) {
        let mut latch = latch;
        latch.latest_serial = latch.latest_serial.max(record.seed.0);
        latch.restored.extend(active(case).map(|before| before.uid.clone()));
        return with(latch, record);
    }
    let Some(record) = active(case) else { return latch };
    if is_given_up_by_its_node(case, record) {
        return on_another_volume(case, latch, record);
    }
    let mut next = record.clone();
    match next_stage(case, record) {
        Some(stage) => next.stage = stage,
        None => {
            // Before there is data, another version may be asked for.
            let asked = case.wanted.version.map(|(version, _)| version);
            let done = case
                .picture
                .work
                .seeds
                .get(&record.seed)
                .is_some_and(|work| matches!(work.state, WorkState::Done(_)));
            if record.stage == Stage::Preparing && !record.is_in_place() && !done {
                next.version = asked.unwrap_or(record.version);
                next.label =
                    case.picture.recovery.as_ref().map_or(next.label, |request| request.label.clone());
            }
        }
    }
    if let (Stage::Preparing, Some(WorkState::Done(id))) =
        (&record.stage, case.picture.work.seeds.get(&record.seed).map(|work| &work.state))
    {
        next.backup = Some(id.clone());
    }
    let mut latch = latch;
    match &next.stage {
        Stage::Stopping if next.before.is_none() => {
            let Some(cluster_id) = case.identity.cluster_id else { return latch };
            let members = others(case, record).filter(|seen| seen.is_member(case)).map(|seen| seen.serial);
            next.before = Some(Before { cluster_id, members: members.collect() });
        }
        Stage::Starting if record.stage == Stage::Stopping => {
            (latch.cluster_id, latch.founders) = (None, vec![record.seed]);
        }
        Stage::Returning { .. } => {
            if let Some(before) = &next.before {
                (latch.cluster_id, latch.founders) = (Some(before.cluster_id), before.members.clone());
            }
        }
        _ => {}
    }
    with(latch, next)
}

/// Whether the volume that the data is fetched to is on a node that has been away for too long.
fn is_given_up_by_its_node(case: &Case<'_>, record: &Record) -> bool {
    record.stage == Stage::Preparing
        && missing_node(case, record).is_some()
        && waited(case, WAITING_FOR_NODE).is_some_and(|waited| waited > patience(case))
}

/// The same restore, on a volume with a number of its own. Nothing has started on the one before.
fn on_another_volume(case: &Case<'_>, mut latch: Latch, record: &Record) -> Latch {
    let seed = Serial(case.identity.latest + 1);
    latch.latest_serial = latch.latest_serial.max(seed.0);
    if !record.is_in_place() {
        latch.founders = vec![seed];
    }
    with(latch, Record { seed, backup: None, ..record.clone() })
}

/// For how long the operation on record has been at this step.
fn waited(case: &Case<'_>, step: &str) -> Option<SignedDuration> {
    let known = case.picture.status.operation.as_ref().filter(|known| known.step == step)?;
    Some(case.now.duration_since(known.step_started_at.0))
}

fn patience(case: &Case<'_>) -> SignedDuration {
    SignedDuration::try_from(case.wanted.remediation.replace_after).unwrap_or_default()
}

fn with(mut latch: Latch, record: Record) -> Latch {
    if record.is_over() {
        latch.restored.insert(record.uid.clone());
    }
    latch.restore = Some(record);
    latch
}

/// The stage whose turn has come; nothing if the present one goes on.
fn next_stage(case: &Case<'_>, record: &Record) -> Option<Stage> {
    let work = &case.picture.work;
    let seed = work.seeds.get(&record.seed).map(|work| &work.state);
    let withdrawn = record.is_in_place()
        && !case.picture.recovery.as_ref().is_some_and(|it| it.uid == record.uid && it.consented);
    let gave_up = || "the EtcdRestore was deleted, or its consent taken back, before it was done".to_owned();
    match &record.stage {
        Stage::Preparing if withdrawn => Some(Stage::Failed { why: gave_up() }),
        Stage::Preparing => match seed {
            Some(WorkState::Failed(why)) if record.is_in_place() => Some(Stage::Failed { why: why.clone() }),
            Some(WorkState::Done(_)) if record.is_in_place() && lost(case, record) => {
                Some(Stage::Failed { why: format!("{} has lost its volume", case.name(record.seed)) })
            }
            // Nobody is stopped for a seed that cannot start.
            Some(WorkState::Done(_)) if missing_node(case, record).is_some() => None,
            Some(WorkState::Done(_)) if !record.is_in_place() => Some(Stage::Starting),
            Some(WorkState::Done(_)) => match safety(case) {
                Safety::There | Safety::NotWanted => Some(Stage::Stopping),
                // `restore.rs` asks for consent to go on without it.
                Safety::Failed | Safety::Coming => None,
            },
            Some(WorkState::Running(_) | WorkState::Failed(_) | WorkState::ResultLost) | None => None,
        },
        Stage::Stopping | Stage::Starting | Stage::Replaying if withdrawn => {
            Some(Stage::Returning { why: gave_up() })
        }
        Stage::Stopping => (!others(case, record).any(|seen| runs(case, seen))).then_some(Stage::Starting),
        Stage::Starting if serves(case, record) => {
            Some(if record.to_point { Stage::Replaying } else { Stage::Growing })
        }
        Stage::Starting => does_not_come(case, record).map(|why| Stage::Returning { why }),
        Stage::Replaying => match work.replays.get(&record.seed).map(|work| &work.state) {
            Some(WorkState::Done(_) | WorkState::ResultLost) => Some(Stage::Growing),
            Some(WorkState::Failed(why)) if record.is_in_place() => {
                Some(Stage::Returning { why: why.clone() })
            }
            _ if record.is_in_place() => is_away(case, record).map(|why| Stage::Returning { why }),
            _ => None,
        },
        Stage::Growing => {
            let whole =
                case.has_list() && case.learner().is_none() && case.voters.0.len() >= case.wanted.size;
            (whole && case.voters.serving() == case.voters.0.len()).then_some(Stage::Completed)
        }
        Stage::Returning { why } => is_back(case, record).then(|| Stage::Failed { why: why.clone() }),
        Stage::Completed | Stage::Failed { .. } => None,
    }
}

enum Safety {
    There,
    Coming,
    Failed,
    /// The user agreed to go on without it.
    NotWanted,
}

/// Whether the present data is safe: in a backup, or, of a cluster that cannot be asked for one, on its volumes, which stay.
fn safety(case: &Case<'_>) -> Safety {
    match case.picture.work.safety.as_ref().map(|work| &work.state) {
        Some(WorkState::Done(_)) => Safety::There,
        _ if case.picture.recovery.as_ref().is_some_and(|request| request.without_safety_backup) => {
            Safety::NotWanted
        }
        Some(WorkState::Failed(_)) if serves_at_all(case) => Safety::Failed,
        _ if !serves_at_all(case) => Safety::There,
        _ => Safety::Coming,
    }
}

pub(super) fn serves_at_all(case: &Case<'_>) -> bool {
    case.has_list()
        || case.members.values().any(|seen| seen.objects.pod.as_ref().is_some_and(|pod| pod.ready))
}

/// A linearizable read of the seed's own cluster succeeded.
fn serves(case: &Case<'_>, record: &Record) -> bool {
    let id = case.identity.cluster_id;
    let seed = case.members.get(&record.seed);
    case.has_list()
        && id.is_some()
        && id != record.before.as_ref().map(|before| before.cluster_id)
        && seed.is_some_and(|seen| {
            seen.listed.is_some() && seen.endpoint.is_some_and(|endpoint| endpoint.serves)
        })
}

/// Why a seed will not serve. Of a new cluster there is nothing to go back to: it is waited for.
fn does_not_come(case: &Case<'_>, record: &Record) -> Option<String> {
    if !record.is_in_place() {
        return None;
    }
    let name = case.name(record.seed);
    if lost(case, record) {
        return Some(format!("{name} has lost its volume"));
    }
    let pod = case.members.get(&record.seed).and_then(|seen| seen.objects.pod.as_ref());
    if pod.is_some_and(|pod| pod.restarts >= ENDS && !pod.ready) {
        return Some(format!("{name} does not start on the restored data: {}", seed_state(case, record)));
    }
    // Its kubelet says that it serves: clients may write to it, though it cannot be reached from here.
    if pod.is_some_and(|pod| pod.ready && !pod.deleting) {
        return None;
    }
    let waited = waited(case, STARTING)?;
    (waited > patience(case)).then(|| format!("{name} did not serve in time: {}", seed_state(case, record)))
}

/// Why a seed that has served does not come back: its volume is lost, or its node has been away for too long. Clients were not let in yet.
fn is_away(case: &Case<'_>, record: &Record) -> Option<String> {
    let name = case.name(record.seed);
    if lost(case, record) {
        return Some(format!("{name} has lost its volume"));
    }
    let seen = case.members.get(&record.seed)?;
    let Health::Down(cause) = &seen.health else { return None };
    let time = SignedDuration::try_from(seen.time(case.now)).unwrap_or_default();
    (cause::lacks_node(seen) && time > patience(case)).then(|| format!("{name} {}", cause.what))
}

/// Whether what was brought is gone.
fn lost(case: &Case<'_>, record: &Record) -> bool {
    case.members.get(&record.seed).is_none_or(|seen| seen.objects.claim.is_none())
}

/// Whether the seed is gone, and everybody who was is to be started. A member that etcd removed before the restore is not waited for: without
/// a list, what Kubernetes has of it was taken for a member.
fn is_back(case: &Case<'_>, record: &Record) -> bool {
    let Some(before) = &record.before else { return true };
    let started = |serial: &Serial| {
        let seen = case.members.get(serial);
        seen.is_none_or(|seen| {
            seen.objects.claim.is_none()
                || (case.has_list() && seen.listed.is_none())
                || (seen.is_member(case) && seen.objects.stateful_set.is_some())
        })
    };
    seed_is_gone(case, record) && before.members.iter().all(started)
}

pub(super) fn seed_is_gone(case: &Case<'_>, record: &Record) -> bool {
    let seed = case.members.get(&record.seed);
    let detached = |seen: &Seen<'_>| {
        seen.objects.claim.as_ref().is_none_or(|claim| matches!(claim.state, ClaimState::Detached { .. }))
    };
    seed.is_none_or(|seen| !runs(case, seen) && detached(seen))
}
