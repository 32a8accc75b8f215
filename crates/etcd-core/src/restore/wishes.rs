//! What must be there for a restore: the seed's claim and Job, the Job that replays; and who must not be there.

use super::{active, is_stranded, runs, turn::seed_is_gone};
use crate::{
    ClaimState, ClaimWish, ReplayWish, SeedWish, Start,
    case::{Case, Seen},
    record::{Record, Stage},
};

/// Whether members that are wished for may be made: nobody is, while others are being stopped.
pub(crate) fn may_start_members(case: &Case<'_>) -> bool {
    match active(case) {
        Some(record) => match record.stage {
            Stage::Stopping => false,
            Stage::Returning { .. } => seed_is_gone(case, record),
            _ => true,
        },
        None => true,
    }
}

/// Claims that the restore needs, besides those of members.
pub(crate) fn claims(case: &Case<'_>) -> Vec<ClaimWish> {
    let mut wishes = Vec::new();
    let record = active(case);
    if let Some(record) = record.filter(|record| matches!(record.stage, Stage::Preparing | Stage::Stopping)) {
        let first = !case.picture.work.seeds.contains_key(&record.seed);
        wishes.push(ClaimWish {
            create: first && record.stage == Stage::Preparing,
            seed: Some(record.uid.clone()),
            ..ClaimWish::of(record.seed)
        });
    }
    let returning = record.filter(|record| matches!(record.stage, Stage::Returning { .. }));
    if let Some((record, before)) = returning.and_then(|record| Some((record, record.before.as_ref()?))) {
        let gone = case.members.get(&record.seed).is_none_or(|seen| !runs(case, seen));
        if gone {
            let back = before.members.iter().filter_map(|serial| case.members.get(serial));
            wishes.extend(back.filter(|seen| seen.objects.claim.is_some()).map(|seen| ClaimWish {
                cluster_id: Some(before.cluster_id),
                version: seen.ran,
                started: seen.objects.claim.as_ref().and_then(|claim| claim.started),
                ..ClaimWish::of(seen.serial)
            }));
            wishes.extend(case.members.get(&record.seed).map(|seen| detach(case, seen)));
        }
    }
    // What was prepared for a restore that is over belongs to nobody.
    let needed = record.map(|record| record.seed);
    let stale = case.members.values().filter(|seen| {
        let seed = seen.objects.claim.as_ref().is_some_and(|claim| matches!(claim.state, ClaimState::Seed));
        seed && Some(seen.serial) != needed && !runs(case, seen)
    });
    wishes.extend(stale.map(|seen| detach(case, seen)));
    wishes
}

fn detach(case: &Case<'_>, seen: &Seen<'_>) -> ClaimWish {
    let claim = seen.objects.claim.as_ref();
    ClaimWish {
        detached: Some(case.now),
        cluster_id: claim.and_then(|claim| claim.cluster_id),
        version: seen.ran,
        started: claim.and_then(|claim| claim.started),
        ..ClaimWish::of(seen.serial)
    }
}

/// What a seed's Job is made from.
pub(super) fn made_from(case: &Case<'_>, record: &Record) -> String {
    let source = case.picture.recovery.as_ref().map_or("", |request| request.fingerprint.as_str());
    format!("{source}-{}", record.version)
}

/// The Job that brings the data, once its number is on record. A restore without consent is given up, and gets none.
pub(crate) fn seed(case: &Case<'_>) -> Option<SeedWish> {
    let record = active(case).filter(|record| record.stage == Stage::Preparing)?;
    let request = case.picture.recovery.as_ref().filter(|request| request.uid == record.uid)?;
    if request.problem.is_some() || !request.consented {
        return None;
    }
    Some(SeedWish {
        serial: record.seed,
        template: case.wanted.template(record.version, Start::Started),
        bump: record.bump,
        made_from: made_from(case, record),
    })
}

/// The Job that writes again what came after the backup.
pub(crate) fn replay_wish(case: &Case<'_>) -> Option<ReplayWish> {
    let record = active(case).filter(|record| record.stage == Stage::Replaying)?;
    Some(ReplayWish { serial: record.seed, bump: record.bump, backup: record.backup.clone()? })
}

/// Whether clients are kept out: what they would read is not yet what was asked for; or no member is ready, and a pod with the data that was
/// given up may come back with its node. Services lead to pods in deletion where no other one is ready.
pub(crate) fn is_closed(case: &Case<'_>) -> bool {
    let Some(record) = active(case) else { return false };
    let is_ready = |seen: &Seen<'_>| seen.objects.pod.as_ref().is_some_and(|pod| pod.ready && !pod.deleting);
    match record.stage {
        Stage::Starting | Stage::Replaying if record.to_point => true,
        Stage::Starting | Stage::Returning { .. } => {
            let stranded = case.members.values().any(|seen| is_stranded(case, seen));
            stranded && !case.members.values().any(is_ready)
        }
        _ => false,
    }
}
