//! The Jobs that work on the data: backup, migration, restore. Backups at their time are made by a CronJob, with or without this
//! operator.

use std::time::Duration;

use kit::{
    kinds::{CronJob, Job, JobSpec},
    owned, parts, run,
};

use super::{container, pod, words};
use crate::{
    Operation, OperationKind, Step,
    operator::{
        decide::{UndoData, Wanted, undo_data},
        names,
        observe::World,
    },
};

/// Exit codes after which trying again is useless: bad usage, corrupt data, no room, refused by the store.
const FINAL: [i32; 4] = [64, 65, 73, 77];
/// A Job that cannot even start must not keep the application down for ever.
const DEADLINE: Duration = Duration::from_secs(30 * 60);
/// Long enough for an operator that was away to see how it ended. One that is gone is run again, which does no harm.
const KEPT_SECONDS: i32 = 24 * 60 * 60;

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
        Step::UndoData => match undo_data(operation) {
            UndoData::Restore(key) => restore(&key, &names::prefix(app)),
            UndoData::MigrateBack(version) => words(["migrate", "--to", &version, "--undo"]),
            UndoData::Nothing => return None,
        },
        Step::Stop | Step::Start | Step::UndoStop | Step::UndoStart => return None,
    };
    let component = arguments.first().cloned().unwrap_or_default();
    let metadata = names::meta(app, names::job(app, operation, operation.step), &component);
    let ttl_seconds_after_finished = Some(KEPT_SECONDS);
    let spec = JobSpec { ttl_seconds_after_finished, ..spec(world, &component, arguments) };
    Some(owned(Job { metadata, spec: Some(spec), status: None }, app))
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
    let backup = world.app.spec.backup.clone().unwrap_or_default();
    let is_stored = component != "migrate";
    let mut places = words(["--data", "/data"]);
    if is_stored {
        places.extend(words(["--host", &backup.host, "--bucket", &backup.bucket_name]));
    }
    drop(arguments.splice(1..1, places));
    let mut container = container(world, component, arguments);
    container.env = backup.credentials_secret_name.filter(|_| is_stored).map(|secret| {
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
        names.map(|name| parts::env_from_secret(&secret, name)).into()
    });
    let labels = names::labels(&world.app, component);
    run::job(parts::template(labels, pod(world, container)), &FINAL, DEADLINE)
}
