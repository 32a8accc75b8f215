//! Which operation begins, when none is under way. One at a time, the most urgent first.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;

use super::{operation, spec::Wanted};
use crate::{
    ExampleApp, Operation, OperationKind, Step,
    app::versions::{self, Way},
    operator::observe::World,
};

/// Data that is corrupt again so soon after a restore is not mended by another one.
const REMEDIATION_GAP: SignedDuration = SignedDuration::from_mins(10);

pub(crate) fn next(world: &World, wanted: &Wanted, now: Timestamp) -> Option<Operation> {
    remediation(world, wanted, now)
        .or_else(|| restore(world, wanted, now))
        .or_else(|| upgrade(world, wanted, now))
        .or_else(|| backup(world, now))
}

/// The wish in spec.restore, as one text.
pub(crate) fn restore_wish(app: &ExampleApp) -> Option<String> {
    let restore = app.spec.restore.as_ref()?;
    let from = restore.from.as_ref().map(|from| format!(" of {from}")).unwrap_or_default();
    let request = restore.request.as_ref().map(|request| format!(", request {request}")).unwrap_or_default();
    Some(format!("{}{from}{request}", restore.backup))
}

/// A new instance that waits for the data that it is to be born from.
pub(crate) fn is_unborn(world: &World) -> bool {
    let wish = restore_wish(&world.app);
    wish.is_some() && world.data_version().is_none() && world.status().restored != wish
}

/// Whether corrupt data may be replaced without asking, now.
pub(crate) fn may_remediate(world: &World, now: Timestamp) -> bool {
    let spec = &world.app.spec;
    let rested =
        world.status().last_remediation.is_none_or(|last| now.duration_since(last.0) >= REMEDIATION_GAP);
    let stored = spec.backup.as_ref().is_some_and(|backup| backup.enabled);
    spec.remediation.restore_corrupt_volume && stored && rested
}

fn remediation(world: &World, wanted: &Wanted, now: Timestamp) -> Option<Operation> {
    world.corrupt().filter(|_| may_remediate(world, now))?;
    // To the version that the data had: an upgrade, if one is wished for, comes after it.
    let to = world.data_version().unwrap_or_else(|| wanted.version.clone());
    Some(operation(world, OperationKind::Remediation, Step::Stop, Some(to.clone()), to, None, now))
}

fn restore(world: &World, wanted: &Wanted, now: Timestamp) -> Option<Operation> {
    let wish = restore_wish(&world.app)?;
    let status = world.status();
    let failed = status.failed_restore.is_some_and(|failed| failed.what == wish);
    if failed || status.restored.as_ref() == Some(&wish) {
        return None;
    }
    let from = world.data_version();
    let to = from.clone().unwrap_or_else(|| wanted.version.clone());
    let first = if world.current_version().is_some() { Step::BackUp } else { Step::Stop };
    Some(operation(world, OperationKind::Restore, first, from, to, Some(wish), now))
}

fn upgrade(world: &World, wanted: &Wanted, now: Timestamp) -> Option<Operation> {
    let from = world.data_version().filter(|current| *current != wanted.version)?;
    let way = versions::way(&from, &wanted.version).ok()?;
    if world.status().failed_upgrade.is_some_and(|failed| failed.what == wanted.version) {
        return None;
    }
    // What has never served has nothing to lose, and its user's fix must not wait for a backup.
    let backs_up = world.app.spec.backup.as_ref().is_some_and(|backup| backup.enabled)
        && world.current_version().is_some();
    let first = match way {
        _ if backs_up => Step::BackUp,
        Way::Migrate => Step::Stop,
        Way::Roll => Step::Start,
    };
    Some(operation(world, OperationKind::Upgrade, first, Some(from), wanted.version.clone(), None, now))
}

fn backup(world: &World, now: Timestamp) -> Option<Operation> {
    let request = world.app.spec.backup.as_ref().filter(|backup| backup.enabled)?.request.clone()?;
    let done = world.status().backup.and_then(|backup| backup.request);
    let current = world.current_version().filter(|_| done.as_ref() != Some(&request))?;
    Some(operation(
        world,
        OperationKind::Backup,
        Step::BackUp,
        Some(current.clone()),
        current,
        Some(request),
        now,
    ))
}

fn operation(
    world: &World,
    kind: OperationKind,
    step: Step,
    from: Option<String>,
    to: String,
    wish: Option<String>,
    now: Timestamp,
) -> Operation {
    let now = Time(now);
    let (started_at, step_started_at) = (now.clone(), now);
    Operation {
        kind,
        step,
        from,
        to,
        id: next_id(world),
        started_at,
        step_started_at,
        safety: None,
        wish,
        failure: None,
    }
}

/// A number that no operation has had. The Jobs that are left tell it too, should the status have been lost: a new operation
/// must not take an old Job for its own.
fn next_id(world: &World) -> i64 {
    let numbered = |job: &str| operation::id_of_job(&world.app.name_any(), job);
    let known = world.jobs.iter().filter_map(|job| numbered(&job.name_any())).max().unwrap_or_default();
    known.max(world.status().operations.unwrap_or_default()) + 1
}
