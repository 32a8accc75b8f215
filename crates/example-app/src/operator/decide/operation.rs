//! An operation on its way: each step is latched in the status before anything of it is done, and left only when it is seen
//! to be done. So a crash at any point ends where it would have ended without.
//!
//! ```text
//! BackUp ─> Stop ─> Restore ─> Migrate ─> Start ─> done       an upgrade has no Restore; one without a new format only Start
//!    │       │         │          └───────┐ └──> UndoStop ─┐
//!    ▼       └────┬────┘                  └──> UndoData <──┘ ──> UndoRestore, when that fails
//! given up        └──────────────> UndoStart <────┴────────────────┘ ──> given up
//! ```

use std::time::Duration;

use jiff::Timestamp;
use kit::{Run, kinds::Pod, pods, run::exit};

use super::{News, Wanted, begin::restore_wish};
use crate::{
    Operation, OperationKind, Step,
    app::versions::{self, Way},
    operator::{build, names, observe::World},
};

/// How long new pods may take to become ready. Images are pulled in that time too.
pub(crate) const START_DEADLINE: Duration = Duration::from_secs(120);
/// Exit codes with which trying again is useless: bad usage, corrupt data.
const FATAL: [i32; 2] = [exit::USAGE, exit::CORRUPT];

/// What becomes of an operation now; nothing as long as its step is not done.
pub(crate) fn advance(world: &World, wanted: &Wanted, it: &Operation, now: Timestamp) -> Option<News> {
    let job = names::job(&world.app, it, it.step);
    let done = || Some(News::Succeeded(it.clone()));
    let give_up = |why| Some(News::GivenUp(it.clone(), why));
    let strand = |why: &str| Some(stranded(world, it, why));
    let go = |step| Some(News::step(it, step, None, now));
    // A new instance has nothing to go back to.
    let back = |step, why: String| match it.from {
        Some(_) => Some(News::step(it, step, Some(why), now)),
        None => give_up(why),
    };
    let cancelled = cancelled(world, wanted, it);
    // The data itself, and a backup of it from before: an upgrade that fails loses nothing that was written since, if it can be helped.
    let has_both = it.kind == OperationKind::Upgrade && it.safety.is_some();
    let is_late = it.left(START_DEADLINE, now).is_none();
    match (it.step, world.live.run(&job)) {
        (Step::BackUp, Some(Run::Succeeded(_))) if it.kind == OperationKind::Backup => done(),
        (Step::BackUp, Some(Run::Succeeded(_))) => {
            let next = it.at(if moves_data(it) { Step::Stop } else { Step::Start }, now);
            Some(News::Step(Operation { safety: Some(names::backup_key(&world.app, it)), ..next }))
        }
        // Corrupt data cannot be backed up: that is why it is to be replaced.
        (Step::BackUp, Some(Run::Failed { code: Some(exit::CORRUPT), .. }))
            if it.kind == OperationKind::Restore =>
        {
            go(Step::Stop)
        }
        (Step::BackUp, Some(Run::Failed { message, .. })) => give_up(format!("the backup failed: {message}")),
        (Step::BackUp, _) => cancelled.and_then(give_up),

        (Step::Stop, _) => match cancelled {
            Some(why) => back(Step::UndoStart, why),
            None if !world.is_stopped(&job) => None,
            None if it.kind == OperationKind::Upgrade => go(Step::Migrate),
            None => go(Step::Restore),
        },

        (Step::Restore, Some(Run::Succeeded(_))) => go(Step::Migrate),
        // A restore replaces all or nothing.
        (Step::Restore, Some(Run::Failed { message, .. })) => {
            back(Step::UndoStart, format!("the restore failed: {message}"))
        }

        (Step::Migrate, None) => cancelled.and_then(|why| back(Step::UndoStart, why)),
        (Step::Migrate, Some(Run::Succeeded(_))) => match cancelled {
            Some(why) => back(Step::UndoData, why),
            None => go(Step::Start),
        },
        (Step::Migrate, Some(Run::Failed { message, .. })) => {
            back(Step::UndoData, format!("the migration failed: {message}"))
        }

        // Nobody was there to carry the step out: it begins now.
        (Step::Start, _) if is_late && cancelled.is_none() && !world.is_told(&it.to) => go(Step::Start),
        (Step::Start, _) => match world.started(&it.to) {
            Ok(()) => done(),
            Err(waits) => {
                let why = cancelled.or_else(|| hopeless(world, it, &waits, is_late))?;
                back(if moves_data(it) { Step::UndoStop } else { Step::UndoStart }, why)
            }
        },

        (Step::UndoStop, _) if world.is_stopped(&job) => go(Step::UndoData),

        (Step::UndoData | Step::UndoRestore, Some(Run::Succeeded(_))) => go(Step::UndoStart),
        (Step::UndoData, Some(Run::Failed { .. })) if has_both => go(Step::UndoRestore),
        (Step::UndoData | Step::UndoRestore, Some(Run::Failed { message, .. })) => strand(&message),
        (Step::UndoData, _) if build::job(world, it).is_none() => strand("nothing was kept of it"),

        (Step::UndoStart, _) => {
            let is_back = it.from.as_ref().is_none_or(|from| world.started(from).is_ok());
            let is_over = is_back || is_late || asks_for_restore(world, it);
            it.failure.clone().filter(|_| is_over).and_then(give_up)
        }
        (Step::Restore | Step::Migrate | Step::UndoStop | Step::UndoData | Step::UndoRestore, _) => None,
    }
}

/// No way forward was found, and none back: the application goes on with the data as it is, as the release that its format came
/// with, unless the one before reads it. Better than to stay down; and the application refuses data that it cannot read.
fn stranded(world: &World, it: &Operation, why: &str) -> News {
    let from = it.from.as_ref().unwrap_or(&it.to);
    // The last Job that changed the data said which format it has.
    let said = |step| world.live.run(&names::job(&world.app, it, step))?.said().get("format")?.as_u64();
    let first = said(Step::Migrate).or_else(|| said(Step::Restore)).and_then(versions::first_of);
    let version = first.filter(|first| !same_format(from, first)).unwrap_or(from);
    let failure = it.failure.as_deref().unwrap_or_default();
    let told =
        format!("{failure}; and the data from before could not be brought back: {why}. {version} goes on");
    News::GivenUp(Operation { from: Some(version.to_owned()), ..it.clone() }, told)
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
    let version = |pod: &Pod| Some(pods::argument(pod.spec.as_ref()?, "--app-version")? == it.to);
    let new = world.serving().filter(|pod| version(pod) == Some(true));
    let late = || is_late.then(|| format!("was not ready after {} s", START_DEADLINE.as_secs()));
    pods::hopeless(new, &FATAL).or_else(late).map(|why| format!("{} {why}: {waits}", it.to))
}
