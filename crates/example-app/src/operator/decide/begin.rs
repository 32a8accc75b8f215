//! Which operation begins, when none is under way. One at a time, the most urgent first.

use jiff::{SignedDuration, Timestamp};
use kit::{backups::Restore, kinds::Time, operation};

use super::Wanted;
use crate::{
    ExampleApp, Operation, OperationKind, Step,
    app::versions::{self, Way},
    operator::observe::World,
};

/// Data that is corrupt again so soon after a restore is not mended by another one.
const REMEDIATION_GAP: SignedDuration = SignedDuration::from_mins(10);

pub(crate) fn next(world: &World, wanted: &Wanted, now: Timestamp) -> Option<Operation> {
    let begins = remediation(world, wanted, now).or_else(|| restore(world, wanted));
    let (kind, step, from, to, wish) = begins.or_else(|| upgrade(world, wanted)).or_else(|| backup(world))?;
    let id = operation::latest(&world.live, world.status().operations) + 1;
    let (started_at, step_started_at, safety, failure) = (Time(now), Time(now), None, None);
    Some(Operation { kind, step, from, to, id, started_at, step_started_at, safety, wish, failure })
}

/// The kind, the first step, the version before, the version after, and the wish.
type Begins = (OperationKind, Step, Option<String>, String, Option<String>);

/// The wish in spec.restore, as one text.
pub(crate) fn restore_wish(app: &ExampleApp) -> Option<String> {
    app.spec.restore.as_ref().map(Restore::wish)
}

/// A new instance that waits for the data that it is to be born from.
pub(crate) fn is_unborn(world: &World) -> bool {
    let wish = restore_wish(&world.app);
    wish.is_some() && world.data_version().is_none() && world.status().restored != wish
}

/// Whether corrupt data may be replaced without asking, now.
pub(crate) fn may_remediate(world: &World, now: Timestamp) -> bool {
    let last = world.status().last_remediation;
    let rested = last.is_none_or(|last| now.duration_since(last.0) >= REMEDIATION_GAP);
    world.app.spec.remediation.restore_corrupt_volume && world.app.spec.backups().is_some() && rested
}

fn remediation(world: &World, wanted: &Wanted, now: Timestamp) -> Option<Begins> {
    world.corrupt().filter(|_| may_remediate(world, now))?;
    // To the version that the data had: an upgrade, if one is wished for, comes after it.
    let to = world.data_version().unwrap_or_else(|| wanted.version.clone());
    Some((OperationKind::Remediation, Step::Stop, Some(to.clone()), to, None))
}

fn restore(world: &World, wanted: &Wanted) -> Option<Begins> {
    let (wish, status) = (restore_wish(&world.app)?, world.status());
    let failed = status.failed_restore.is_some_and(|failed| failed.what == wish);
    let wish = Some(wish).filter(|wish| !failed && status.restored.as_ref() != Some(wish))?;
    let from = world.data_version();
    let to = from.clone().unwrap_or_else(|| wanted.version.clone());
    let has_notes = world.current_version().is_some() || world.on_claim().is_some();
    let first = if has_notes { Step::BackUp } else { Step::Stop };
    Some((OperationKind::Restore, first, from, to, Some(wish)))
}

fn upgrade(world: &World, wanted: &Wanted) -> Option<Begins> {
    let to = wanted.version.clone();
    let failed = world.status().failed_upgrade.is_some_and(|failed| failed.what == to);
    let from = world.data_version().filter(|current| *current != to && !failed)?;
    let way = versions::way(&from, &to).ok()?;
    let first = match way {
        // What has never served has nothing to lose, and its user's fix must not wait for a backup.
        _ if world.app.spec.backups().is_some() && world.current_version().is_some() => Step::BackUp,
        Way::Migrate => Step::Stop,
        Way::Roll => Step::Start,
    };
    Some((OperationKind::Upgrade, first, Some(from), to, None))
}

fn backup(world: &World) -> Option<Begins> {
    let request = world.app.spec.backups()?.request.clone()?;
    let done = world.status().backup.and_then(|backup| backup.request);
    let current = world.current_version().filter(|_| done.as_ref() != Some(&request))?;
    Some((OperationKind::Backup, Step::BackUp, Some(current.clone()), current, Some(request)))
}
