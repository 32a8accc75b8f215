//! The Jobs that work on the data: backup, migration, restore.

use k8s_openapi::{
    api::{
        batch::v1::{
            Job, JobSpec, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule,
        },
        core::v1::{EnvVar, EnvVarSource, PodTemplateSpec, SecretKeySelector},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{owned, pod};
use crate::{
    Backup, Operation, OperationKind, Step,
    operator::{
        decide::operation::{UndoData, undo_data},
        names,
        observe::World,
    },
};

/// Exit codes after which trying again is useless: bad usage, corrupt data, refused by the store.
const FINAL: [i32; 3] = [64, 65, 77];
/// A Job that cannot even start must not keep the application down for ever.
const DEADLINE_SECONDS: i64 = 30 * 60;
/// Long enough for an operator that was away to see how it ended. One that is gone is run again, which does no harm.
const KEPT_SECONDS: i32 = 24 * 60 * 60;

/// What a Job runs: the arguments, and where its credentials are.
pub(super) struct Work {
    arguments: Vec<String>,
    credentials: Option<String>,
}

/// The Job of the present step, if it has one.
pub(crate) fn job(world: &World, operation: &Operation) -> Option<Job> {
    let app = &*world.app;
    let backup = app.spec.backup.clone().unwrap_or_default();
    let restore = |key: &str, prefix: String| {
        stored(&backup, "restore", ["--key".to_owned(), key.to_owned(), "--prefix".to_owned(), prefix])
    };
    let (component, work) = match operation.step {
        Step::BackUp => {
            let key = ["--key".to_owned(), names::backup_key(app, operation)];
            (names::BACKUP, stored(&backup, "backup", key))
        }
        Step::Restore => (names::RESTORE, {
            let wish = app.spec.restore.as_ref().filter(|_| operation.kind == OperationKind::Restore);
            let from = wish.and_then(|wish| wish.from.as_ref());
            let prefix = from.map_or_else(|| names::prefix(app), |from| format!("{from}/"));
            restore(wish.map_or("latest", |wish| wish.backup.as_str()), prefix)
        }),
        Step::Migrate => (names::MIGRATE, migrate(&operation.to)),
        Step::UndoData => match undo_data(operation) {
            UndoData::Restore(key) => (names::RESTORE, restore(&key, names::prefix(app))),
            UndoData::MigrateBack(version) => {
                let mut work = migrate(&version);
                work.arguments.push("--undo".to_owned());
                (names::MIGRATE, work)
            }
            UndoData::Nothing => return None,
        },
        Step::Stop | Step::Start | Step::UndoStop | Step::UndoStart => return None,
    };
    let metadata = names::meta(app, names::job(app, operation, operation.step), component);
    let mut spec = spec(world, component, work);
    spec.ttl_seconds_after_finished = Some(KEPT_SECONDS);
    Some(owned(Job { metadata, spec: Some(spec), status: None }, app))
}

fn migrate(version: &str) -> Work {
    let arguments = ["migrate", "--data", "/data", "--to", version].map(str::to_owned).into();
    Work { arguments, credentials: None }
}

/// `command` with the store, and what more it needs.
pub(super) fn stored(backup: &Backup, command: &str, more: impl IntoIterator<Item = String>) -> Work {
    let store = [command, "--data", "/data", "--host", &backup.host, "--bucket", &backup.bucket_name];
    let arguments = store.into_iter().map(str::to_owned).chain(more).collect();
    Work { arguments, credentials: backup.credentials_secret_name.clone() }
}

pub(super) fn spec(world: &World, component: &str, work: Work) -> JobSpec {
    let mut container = pod::container(world, component, work.arguments);
    container.env = work.credentials.map(|secret| {
        ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| credential(&secret, name)).into()
    });
    let mut pod = pod::pod(world, container);
    pod.restart_policy = Some("Never".to_owned());
    let fail = PodFailurePolicyRule {
        action: "FailJob".to_owned(),
        on_exit_codes: Some(PodFailurePolicyOnExitCodesRequirement {
            operator: "In".to_owned(),
            values: FINAL.into(),
            ..PodFailurePolicyOnExitCodesRequirement::default()
        }),
        ..PodFailurePolicyRule::default()
    };
    JobSpec {
        backoff_limit: Some(3),
        active_deadline_seconds: Some(DEADLINE_SECONDS),
        pod_failure_policy: Some(PodFailurePolicy { rules: vec![fail] }),
        template: PodTemplateSpec {
            metadata: Some(ObjectMeta {
                labels: Some(names::labels(&world.app, component)),
                ..ObjectMeta::default()
            }),
            spec: Some(pod),
        },
        ..JobSpec::default()
    }
}

fn credential(secret: &str, name: &str) -> EnvVar {
    let key = SecretKeySelector { name: secret.to_owned(), key: name.to_owned(), optional: None };
    let source = EnvVarSource { secret_key_ref: Some(key), ..EnvVarSource::default() };
    EnvVar { name: name.to_owned(), value_from: Some(source), ..EnvVar::default() }
}
