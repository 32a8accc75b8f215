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
use kit::{
    Run,
    kinds::{Pod, Time},
    pods,
    run::exit,
};

use super::{Wanted, begin::restore_wish};
use crate::{
    Operation, OperationKind, Step,
    app::versions::{self, Way},
    operator::{build, names, observe::World},
};

/// How long new pods may take to become ready. Images are pulled in that time too.
pub(crate) const START_DEADLINE: SignedDuration = SignedDuration::from_secs(120);
/// Exit codes with which trying again is useless: bad usage, corrupt data.
const FATAL: [i32; 2] = [exit::USAGE, exit::CORRUPT];

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

pub(crate) fn advance(world: &World, wanted: &Wanted, it: &Operation, now: Timestamp) -> Next {
    let job = names::job(&world.app, it, it.step);
    let step = |step| Operation { step, step_started_at: Time(now), ..it.clone() };
    let go = |next| Next::Step(step(next));
    let undo = |next, why| Next::Step(Operation { failure: Some(why), ..step(next) });
    // A new instance has nothing to go back to.
    let give_up = |next, why| if it.from.is_some() { undo(next, why) } else { Next::Over(Some(why)) };
    let failed = |what: &str, why: &str| format!("the {what} failed: {why}");
    let cancelled = cancelled(world, wanted, it);
    let is_late = now.duration_since(it.step_started_at.0) >= START_DEADLINE;
    match (it.step, world.live.run(&job)) {
        (Step::BackUp, Some(Run::Succeeded(_))) if it.kind == OperationKind::Backup => Next::Over(None),
        (Step::BackUp, Some(Run::Succeeded(_))) => {
            let next = if moves_data(it) { Step::Stop } else { Step::Start };
            Next::Step(Operation { safety: Some(names::backup_key(&world.app, it)), ..step(next) })
        }
        // Corrupt data cannot be backed up: that is why it is to be replaced.
        (Step::BackUp, Some(Run::Failed { code: Some(exit::CORRUPT), .. }))
            if it.kind == OperationKind::Restore =>
        {
            go(Step::Stop)
        }
        (Step::BackUp, Some(Run::Failed { message, .. })) => Next::Over(Some(failed("backup", &message))),
        (Step::BackUp, _) => cancelled.map_or(Next::Same, |why| Next::Over(Some(why))),

        (Step::Stop, _) => match cancelled {
            Some(why) => undo(Step::UndoStart, why),
            None if !world.is_stopped(&job) => Next::Same,
            None if it.kind == OperationKind::Upgrade => go(Step::Migrate),
            None => go(Step::Restore),
        },

        (Step::Restore, Some(Run::Succeeded(_))) => go(Step::Migrate),
        // A restore replaces all or nothing.
        (Step::Restore, Some(Run::Failed { message: why, .. })) => {
            give_up(Step::UndoStart, failed("restore", &why))
        }
        (Step::Restore, _) => Next::Same,

        (Step::Migrate, Some(Run::Succeeded(_))) => {
            cancelled.map_or_else(|| go(Step::Start), |why| undo(Step::UndoData, why))
        }
        (Step::Migrate, Some(Run::Failed { message: why, .. })) => {
            give_up(Step::UndoData, failed("migration", &why))
        }
        (Step::Migrate, None) => cancelled.map_or(Next::Same, |why| undo(Step::UndoStart, why)),
        (Step::Migrate, Some(Run::Running(_))) => Next::Same,

        // Nobody was there to carry the step out: it begins now.
        (Step::Start, _) if is_late && cancelled.is_none() && !world.is_told(&it.to) => go(Step::Start),
        (Step::Start, _) => match world.started(&it.to) {
            Ok(()) => Next::Over(None),
            Err(waits) => match cancelled.or_else(|| hopeless(world, it, &waits, is_late)) {
                Some(why) if moves_data(it) => give_up(Step::UndoStop, why),
                Some(why) => undo(Step::UndoStart, why),
                None => Next::Same,
            },
        },

        (Step::UndoStop, _) if world.is_stopped(&job) => go(Step::UndoData),
        (Step::UndoStop, _) => Next::Same,

        (Step::UndoData, Some(Run::Failed { message, .. })) => stranded(world, it, &message),
        (Step::UndoData, Some(Run::Succeeded(_))) => go(Step::UndoStart),
        // There was nothing worth keeping.
        (Step::UndoData, _) if build::job(world, it).is_none() => go(Step::UndoStart),
        (Step::UndoData, _) => Next::Same,

        (Step::UndoStart, _) => {
            let is_back = it.from.as_ref().is_none_or(|from| world.started(from).is_ok());
            match is_back || is_late || asks_for_restore(world, it) {
                true => Next::Over(it.failure.clone()),
                false => Next::Same,
            }
        }
    }
}

/// No way forward was found, and none back: the application goes on with the data as it is, as the release that its format came
/// with; the one that was asked for was not seen to serve. Better than to stay down; and the application refuses data that it
/// cannot read.
fn stranded(world: &World, it: &Operation, why: &str) -> Next {
    let migrated = world.live.run(&names::job(&world.app, it, Step::Migrate));
    let version = match (migrated, &it.from) {
        (Some(Run::Succeeded(_)), Some(from)) if !same_format(from, &it.to) => reads_what_is_of(&it.to),
        (Some(Run::Succeeded(_)), _) | (_, None) => it.to.clone(),
        (_, Some(from)) => from.clone(),
    };
    let failure = it.failure.as_deref().unwrap_or_default();
    let told =
        format!("{failure}; and the data from before could not be brought back: {why}. {version} goes on");
    Next::Stranded(told, version)
}

/// The oldest release that reads what `version` writes.
fn reads_what_is_of(version: &str) -> String {
    let oldest = versions::find(version).ok().and_then(|known| versions::first_of(known.format));
    oldest.map_or(version, |oldest| oldest.version).to_owned()
}

fn same_format(one: &str, other: &str) -> bool {
    versions::way(one, other) == Ok(Way::Roll)
}

/// Whether the operation changes the data itself, not only the processes.
fn moves_data(it: &Operation) -> bool {
    match (it.kind, &it.from) {
        (OperationKind::Upgrade, Some(from)) => !same_format(from, &it.to),
        (kind, _) => kind != OperationKind::Backup,
    }
}

/// Why the user no longer wants it, if so. An upgrade is given up as soon as another version is asked for; a restore only
/// while nothing has been replaced.
fn cancelled(world: &World, wanted: &Wanted, it: &Operation) -> Option<String> {
    let asked = &world.app.spec.app_version;
    let is_changed = restore_wish(&world.app) != it.wish && it.step < Step::Restore;
    match it.kind {
        OperationKind::Upgrade => (*asked != it.to)
            .then(|| format!("spec.appVersion is now {asked}, and {} is in force", wanted.version)),
        OperationKind::Restore => is_changed.then(|| "spec.restore has changed".to_owned()),
        OperationKind::Remediation | OperationKind::Backup => None,
    }
}

fn asks_for_restore(world: &World, it: &Operation) -> bool {
    let wish = restore_wish(&world.app);
    wish.is_some() && wish != it.wish && wish != world.status().restored
}

/// Why waiting for the new pods is useless, if so.
fn hopeless(world: &World, it: &Operation, waits: &str, is_late: bool) -> Option<String> {
    let is_new = |pod: &&Pod| {
        pod.spec.as_ref().is_some_and(|spec| pods::argument(spec, "--app-version") == Some(&it.to))
    };
    let new: Vec<&Pod> = world.serving().filter(is_new).collect();
    let mut ends = new.iter().filter_map(|pod| pods::last_exit(pod));
    if let Some(end) = ends.find(|end| FATAL.contains(&end.exit_code)) {
        let said = end.message.as_deref().unwrap_or_default();
        return Some(format!("{} ended with code {}: {said}", it.to, end.exit_code));
    }
    // Kubernetes restarts what ends or fails its liveness probe; a release that works needs none of that.
    if new.iter().any(|pod| pods::restarts(pod) > 0) {
        return Some(format!("{} had to be restarted before it was ready: {waits}", it.to));
    }
    is_late.then(|| format!("{} was not ready after {} s: {waits}", it.to, START_DEADLINE.as_secs()))
}
