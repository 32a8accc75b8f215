//! An operation on its way: each step is latched in the status before anything of it is done, and left only when it is seen
//! to be done. So a crash at any point ends where it would have ended without.
//!
//! ```text
//! BackUp ─> Stop ─> Restore ─> Migrate ─> Start ─> done       an upgrade has no Restore; one without a new format only Start
//!    │       │         │          └───────┐ └──> UndoStop ─┐
//!    ▼       └────┬────┘                  └──> UndoData <──┘
//! given up        └──────────────> UndoStart <────┘ ─────> given up
//! ```

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kit::{
    Run,
    readiness::{Readiness, Workload as _},
};

use super::{begin::restore_wish, spec::Wanted};
use crate::{
    Operation, OperationKind, Step,
    app::versions::{self, Way},
    operator::{
        names,
        observe::{self, World},
    },
};

/// How long new pods may take to become ready. Images are pulled in that time too.
pub(crate) const START_DEADLINE: SignedDuration = SignedDuration::from_secs(120);
/// Exit codes with which trying again is useless: bad usage, corrupt data.
const FATAL: &[i32] = &[64, 65];

/// What becomes of an operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// It is where it was.
    Same,
    /// This is its next step, and the reason if it is undone from here.
    Step(Operation),
    /// It is over: with nothing, when it did what it should; else this is why not.
    Over(Option<String>),
    /// It is over, and could not be undone: this is why, and the version that the data belongs to now.
    Stranded(String, String),
}

pub(crate) fn advance(world: &World, wanted: &Wanted, operation: &Operation, now: Timestamp) -> Next {
    let job = names::job(&world.app, operation, operation.step);
    let run = || world.run(&job);
    let go = |step: Step| to_step(operation.clone(), step, None, now);
    let undo = |step: Step, why: &str| to_step(operation.clone(), step, Some(why.to_owned()), now);
    match operation.step {
        Step::BackUp => match run() {
            Some(Run::Succeeded(_)) if operation.kind == OperationKind::Backup => Next::Over(None),
            Some(Run::Succeeded(_)) => {
                let key = names::backup_key(&world.app, operation);
                to_step(
                    Operation { safety: Some(key), ..operation.clone() },
                    after_backup(operation),
                    None,
                    now,
                )
            }
            // Corrupt data cannot be backed up: that is why it is to be replaced.
            Some(Run::Failed { code: Some(65), .. }) if operation.kind == OperationKind::Restore => {
                go(Step::Stop)
            }
            Some(Run::Failed { message, .. }) => Next::Over(Some(format!("the backup failed: {message}"))),
            Some(Run::Running(_)) | None => match cancelled(world, wanted, operation) {
                Some(why) => Next::Over(Some(why)),
                None => Next::Same,
            },
        },
        Step::Stop => match cancelled(world, wanted, operation) {
            Some(why) => undo(Step::UndoStart, &why),
            None if !world.is_stopped(&job) => Next::Same,
            None if operation.kind == OperationKind::Upgrade => go(Step::Migrate),
            None => go(Step::Restore),
        },
        Step::Restore => match run() {
            Some(Run::Succeeded(_)) => go(Step::Migrate),
            // A restore replaces all or nothing.
            Some(Run::Failed { message, .. }) => {
                give_up(operation, Step::UndoStart, &format!("the restore failed: {message}"), now)
            }
            Some(Run::Running(_)) | None => Next::Same,
        },
        Step::Migrate => match (run(), cancelled(world, wanted, operation)) {
            (None, Some(why)) => undo(Step::UndoStart, &why),
            (Some(Run::Succeeded(_)), None) => go(Step::Start),
            (Some(Run::Succeeded(_)), Some(why)) => undo(Step::UndoData, &why),
            (Some(Run::Failed { message, .. }), _) => {
                give_up(operation, Step::UndoData, &format!("the migration failed: {message}"), now)
            }
            (Some(Run::Running(_)) | None, _) => Next::Same,
        },
        Step::Start => match started(world, &operation.to) {
            Ok(()) => Next::Over(None),
            Err(waits) => match cancelled(world, wanted, operation)
                .or_else(|| hopeless(world, operation, &waits, now))
            {
                Some(why) if moved_data(operation) => give_up(operation, Step::UndoStop, &why, now),
                Some(why) => undo(Step::UndoStart, &why),
                None => Next::Same,
            },
        },
        Step::UndoStop if world.is_stopped(&job) => go(Step::UndoData),
        Step::UndoStop => Next::Same,
        Step::UndoData if undo_data(operation) == UndoData::Nothing => go(Step::UndoStart),
        Step::UndoData => match run() {
            Some(Run::Succeeded(_)) => go(Step::UndoStart),
            Some(Run::Failed { message, .. }) => stranded(world, operation, &message),
            Some(Run::Running(_)) | None => Next::Same,
        },
        Step::UndoStart => {
            let back = operation.from.as_ref().is_none_or(|from| started(world, from).is_ok());
            let long = now.duration_since(operation.step_started_at.0) >= START_DEADLINE;
            if back || long || asks_for_restore(world, operation) {
                Next::Over(operation.failure.clone())
            } else {
                Next::Same
            }
        }
    }
}

fn to_step(operation: Operation, step: Step, failure: Option<String>, now: Timestamp) -> Next {
    let failure = failure.or(operation.failure);
    Next::Step(Operation { step, step_started_at: Time(now), failure, ..operation })
}

/// Undoes from `step`; a new instance has nothing to go back to.
fn give_up(operation: &Operation, step: Step, why: &str, now: Timestamp) -> Next {
    match operation.from {
        Some(_) => to_step(operation.clone(), step, Some(why.to_owned()), now),
        None => Next::Over(Some(why.to_owned())),
    }
}

/// No way forward was found, and none back: the application goes on with the data as it is. Better than to stay down; and the
/// application refuses data that it cannot read.
fn stranded(world: &World, operation: &Operation, why: &str) -> Next {
    let migrated = world.run(&names::job(&world.app, operation, Step::Migrate));
    let version = match (migrated, &operation.from) {
        (Some(Run::Succeeded(_)), _) | (_, None) => operation.to.clone(),
        (_, Some(from)) => from.clone(),
    };
    let failure = operation.failure.as_deref().unwrap_or_default();
    Next::Stranded(
        format!("{failure}; and the data from before could not be brought back: {why}. {version} goes on"),
        version,
    )
}

fn after_backup(operation: &Operation) -> Step {
    match operation.kind {
        OperationKind::Upgrade if !moved_data(operation) => Step::Start,
        _ => Step::Stop,
    }
}

/// Whether the operation changes the data itself, not only the processes.
fn moved_data(operation: &Operation) -> bool {
    match (operation.kind, &operation.from) {
        (OperationKind::Upgrade, Some(from)) => versions::way(from, &operation.to) != Ok(Way::Roll),
        (kind, _) => kind != OperationKind::Backup,
    }
}

/// How the data that was there before comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UndoData {
    /// From the backup that was made first.
    Restore(String),
    /// By a migration into the older format, which holds all that the old version knew.
    MigrateBack(String),
    /// Not at all: there was nothing worth keeping.
    Nothing,
}

pub(crate) fn undo_data(operation: &Operation) -> UndoData {
    match (&operation.safety, operation.kind, &operation.from) {
        (Some(key), _, _) => UndoData::Restore(key.clone()),
        (None, OperationKind::Upgrade, Some(from)) => UndoData::MigrateBack(from.clone()),
        (None, _, _) => UndoData::Nothing,
    }
}

/// Why the user no longer wants it, if so. An upgrade is given up as soon as another version is asked for; a restore only
/// while nothing has been replaced.
fn cancelled(world: &World, wanted: &Wanted, operation: &Operation) -> Option<String> {
    let asked = &world.app.spec.app_version;
    match operation.kind {
        OperationKind::Upgrade if *asked != operation.to => {
            Some(format!("spec.appVersion is now {asked}, and {} is in force", wanted.version))
        }
        OperationKind::Restore
            if restore_wish(&world.app) != operation.wish && operation.step < Step::Restore =>
        {
            Some("spec.restore has changed".to_owned())
        }
        _ => None,
    }
}

fn asks_for_restore(world: &World, operation: &Operation) -> bool {
    let wish = restore_wish(&world.app);
    wish.is_some() && wish != operation.wish && wish != world.status().restored
}

/// Whether `version` serves, with all of its pods; else what it waits for.
pub(crate) fn started(world: &World, version: &str) -> Result<(), String> {
    let Some(deployment) = &world.deployment else {
        return Err("its Deployment is not there yet".to_owned());
    };
    if observe::version_of(deployment).as_deref() != Some(version)
        || deployment.spec.replicas == Some(0) && world.app.spec.replicas != 0
    {
        return Err(format!("its Deployment is not at {version} yet"));
    }
    match deployment.readiness() {
        Readiness::Ready => Ok(()),
        Readiness::Waiting(why) | Readiness::Failed(why) => Err(why),
    }
}

/// Why waiting for the new pods is useless, if so.
fn hopeless(world: &World, operation: &Operation, waits: &str, now: Timestamp) -> Option<String> {
    let new = world.serving().filter(|pod| observe::version_of_pod(pod).as_deref() == Some(&operation.to));
    let fatal = new.filter_map(observe::last_exit).find(|(code, _)| FATAL.contains(code));
    if let Some((code, said)) = fatal {
        return Some(format!("{} ended with code {code}: {}", operation.to, said.unwrap_or_default()));
    }
    // Kubernetes restarts what ends or fails its liveness probe; a release that works needs none of that.
    let restarted =
        world.serving().filter(|pod| observe::version_of_pod(pod).as_deref() == Some(&operation.to));
    if restarted.map(observe::restarts).sum::<i32>() > 0 {
        return Some(format!("{} had to be restarted before it was ready: {waits}", operation.to));
    }
    let late = now.duration_since(operation.step_started_at.0) >= START_DEADLINE;
    late.then(|| format!("{} was not ready after {} s: {waits}", operation.to, START_DEADLINE.as_secs()))
}

/// The number in the name of an operation's Job.
pub(crate) fn id_of_job(app: &str, job: &str) -> Option<i64> {
    let mut parts = job.strip_prefix(app)?.strip_prefix('-')?.split('-');
    let (_kind, id, _step) = (parts.next()?, parts.next()?, parts.next()?);
    id.parse().ok()
}
