//! The Jobs that work on the data: backup, migration, restore. Backups at their time are made by a CronJob, with or without this
//! operator.

use std::time::Duration;

use kit::{
    kinds::{CronJob, Job, JobSpec},
    owned,
    parts::{self, words},
    run::{self, exit},
};

use super::{container, pod};
use crate::{
    Operation, OperationKind, Step,
    operator::{decide::Wanted, names, observe::World},
};

/// A Job that cannot even start must not keep the application down for ever.
const DEADLINE: Duration = Duration::from_secs(30 * 60);

/// The Job of the present step, if it has one.
pub(crate) fn job(world: &World, operation: &Operation) -> Option<Job> {
    let app = &*world.app;
    let restore = |key: &str, prefix: &str| words(["restore", "--key", key, "--prefix", prefix]);
    let arguments = match operation.step {
        Step::BackUp => words(["backup", "--key", &names::backup_key(app, operation)]),
        Step::Restore => {
            let wish = app.spec.restore.as_ref().filter(|_| operation.kind == OperationKind::Restore);
            let from = wish.and_then(|wish| wish.from.as_ref());
            let prefix = from.map_or_else(|| names::prefix(app), |from| format!("{from}/"));
            restore(wish.map_or("latest", |wish| &wish.backup), &prefix)
        }
        Step::Migrate => words(["migrate", "--to", &operation.to]),
        Step::UndoData => match (&operation.safety, operation.kind, &operation.from) {
            // From the backup that was made first.
            (Some(key), _, _) => restore(key, &names::prefix(app)),
            // By a migration into the older format, which holds all that the old version knew.
            (None, OperationKind::Upgrade, Some(from)) => words(["migrate", "--to", from, "--undo"]),
            // Not at all: there was nothing worth keeping.
            (None, _, _) => return None,
        },
        Step::Stop | Step::Start | Step::UndoStop | Step::UndoStart => return None,
    };
    let component = arguments.first().cloned().unwrap_or_default();
    let metadata = names::meta(app, names::job(app, operation, operation.step), &component);
    Some(owned(run::once(metadata, spec(world, &component, arguments)), app))
}

/// Nothing when no backups are wanted. While an operation works on the data it is suspended.
pub(crate) fn schedule(world: &World, wanted: &Wanted, suspend: bool) -> Option<CronJob> {
    let app = &*world.app;
    let job = spec(world, names::BACKUP, words(["backup", "--prefix", &names::prefix(app)]));
    let metadata = names::meta(app, names::schedule(app), names::BACKUP);
    let mut schedule = run::cron_job(metadata, wanted.schedule.clone()?, job);
    schedule.spec.suspend = Some(suspend);
    Some(owned(schedule, app))
}

/// A Job that runs the application's command; those that need the store are told where it is.
fn spec(world: &World, component: &str, mut arguments: Vec<String>) -> JobSpec {
    let store = world.app.spec.backup.clone().unwrap_or_default();
    let is_stored = component != "migrate";
    let mut places = words(["--data", "/data"]);
    if is_stored {
        places.extend(store.arguments());
    }
    drop(arguments.splice(1..1, places));
    let mut container = container(world, component, arguments);
    container.env = store.environment().filter(|_| is_stored);
    let labels = names::labels(&world.app, component);
    run::job(parts::template(labels, pod(world, container)), &exit::HOPELESS, DEADLINE)
}
