//! Report: the status, conditions and events that users read. What is said is a pure function of picture, plan and outcome.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{api::batch::v1::Job, apimachinery::pkg::apis::meta::v1::Time};
use kit::{
    Acted, Condition, Conditions, Context, Error, Event, Key, Outcome, Run, Truth, pause,
    readiness::{Readiness, Workload as _},
    telemetry::chain,
};
use kube::{Resource as _, ResourceExt as _};
use serde::Deserialize;

use super::{
    build,
    decide::{News, Plan, begin},
    metrics::Measured,
    names,
    observe::{World, argument},
    reasons::Why,
};
use crate::{BackupStatus, ExampleAppStatus, Operation, OperationKind, Phase, Step};

/// When to look at what became of a change, if no event tells before.
const SOON: Duration = Duration::from_millis(500);

pub(crate) async fn report(
    cx: &Context,
    measured: &Measured,
    world: &World,
    plan: &Plan,
    acted: Acted,
) -> Outcome {
    if let Acted::Failed(Error::Stale { .. } | Error::NotLeader { .. }) = &acted {
        return acted.outcome();
    }
    let key = Key::of(&*world.app);
    let status = status(world, plan, &acted, cx.now());
    match cx.write_status(&*world.app, &status).await {
        Err(error) => return Outcome::Retry(error),
        Ok(false) => {}
        Ok(true) => {
            if let Some(news) = &plan.news {
                cx.event(&*world.app, event(news));
                match news {
                    News::Succeeded(operation) => measured.ended(&key, operation.kind, "succeeded"),
                    News::GivenUp(operation, _) => measured.ended(&key, operation.kind, "given-up"),
                    News::Began(_) | News::Undoing(_) => {}
                }
            }
        }
    }
    measured.show(&key, &status);
    match (acted, plan.again) {
        (Acted::Done, _) if is_fresh(world, plan) => Outcome::wait("what becomes of the change", SOON),
        (Acted::Done, Some((after, what))) => Outcome::wait(what, after),
        (acted, _) => acted.outcome(),
    }
}

fn status(world: &World, plan: &Plan, acted: &Acted, now: Timestamp) -> ExampleAppStatus {
    let mut status = plan.status.clone();
    let live = world.deployment.as_ref().filter(|live| names::is_ours(&world.app, &***live));
    let pods = live.and_then(|live| live.status.clone()).unwrap_or_default();
    status.replicas = Some(pods.replicas.unwrap_or_default());
    status.ready_replicas = Some(pods.ready_replicas.unwrap_or_default());
    status.selector = selector(world);
    status.url = build::url(world);
    status.auth_secret_name = Some(names::secret(&world.app));
    status.observed_generation = world.app.meta().generation;
    status.backup = Some(backups(world, status.backup.unwrap_or_default()));
    let (phase, message) = summary(world, plan, acted, now);
    status.conditions = Some(conditions(world, plan, acted, &status, &message, now));
    status.phase = Some(phase);
    status.message = Some(message);
    status
}

fn selector(world: &World) -> Option<String> {
    let labels = build::selector(world).match_labels?;
    Some(labels.iter().map(|(label, value)| format!("{label}={value}")).collect::<Vec<_>>().join(","))
}

/// One word, and a sentence that says what is going on and what to do.
fn summary(world: &World, plan: &Plan, acted: &Acted, now: Timestamp) -> (Phase, String) {
    let (phase, message) = state(world, plan, acted, now);
    let refused = plan.refused.iter().map(|refusal| format!("{}: {}", refusal.field, refusal.why));
    let all: Vec<String> = refused.chain([message]).filter(|part| !part.is_empty()).collect();
    (phase, all.join(". "))
}

fn state(world: &World, plan: &Plan, acted: &Acted, now: Timestamp) -> (Phase, String) {
    let status = &plan.status;
    if let Acted::Paused = acted {
        let how = if world.app.spec.paused {
            "spec.paused is set: nothing is changed, only the status is kept up to date. To go on, remove it"
                .to_owned()
        } else {
            pause::message(&*world.app)
        };
        return (Phase::Paused, how);
    }
    if plan.refused.iter().any(|refusal| refusal.field == "spec.takeOwnership") {
        return (Phase::Blocked, String::new());
    }
    if let Acted::Failed(error) = acted {
        let phase = if status.current_version.is_some() { Phase::Unready } else { Phase::Installing };
        return (phase, format!("{}; it is tried again", chain(error)));
    }
    if let Some(operation) = &status.operation {
        return operating(world, operation);
    }
    if let Some(failed) = status.failed_restore.as_ref().filter(|_| begin::is_unborn(world)) {
        let how = "Change spec.restore to try again, or remove it to start empty";
        return (Phase::Failed, format!("no data from {}: {}. {how}", failed.what, failed.message));
    }
    if let Some(said) = world.corrupt() {
        return (Phase::Failed, corrupt(world, &said, now));
    }
    if is_fresh(world, plan) {
        return (unready(status), "the change of the spec is being carried out".to_owned());
    }
    let serving = match world.deployment.as_ref().map(|deployment| deployment.readiness()) {
        Some(Readiness::Ready) => {
            let version = status.current_version.as_deref().unwrap_or(&world.app.spec.app_version);
            let pods = world.deployment.as_ref().and_then(|live| live.spec.replicas).unwrap_or(1);
            (Phase::Running, format!("{version} serves, pods: {pods}"))
        }
        Some(Readiness::Waiting(why) | Readiness::Failed(why)) => (unready(status), why),
        None => (unready(status), "its objects are being made".to_owned()),
    };
    let failed = status.failed_upgrade.as_ref().map(|failed| {
        let undone =
            if status.current_version.as_ref() == Some(&failed.what) { "" } else { " and was undone" };
        let again = "It is tried again when spec.appVersion changes";
        format!("the upgrade to {} failed{undone}: {}. {again}. ", failed.what, failed.message)
    });
    (serving.0, failed.unwrap_or_default() + &serving.1)
}

fn unready(status: &ExampleAppStatus) -> Phase {
    if status.current_version.is_some() { Phase::Unready } else { Phase::Installing }
}

fn corrupt(world: &World, said: &str, now: Timestamp) -> String {
    let how = if begin::may_remediate(world, now) {
        "The newest backup is being restored"
    } else if world.app.spec.remediation.restore_corrupt_volume {
        "A backup was restored only minutes ago, or there are none: set spec.restore to an older one"
    } else {
        "Set spec.restore to get a backup back, or spec.remediation.restoreCorruptVolume to have that done without asking"
    };
    format!("the data is corrupt: {said}. {how}")
}

fn operating(world: &World, operation: &Operation) -> (Phase, String) {
    let what = match operation.kind {
        OperationKind::Upgrade => {
            format!("upgrade from {} to {}", operation.from.as_deref().unwrap_or("nothing"), operation.to)
        }
        OperationKind::Restore => format!("restore of {}", operation.wish.as_deref().unwrap_or("a backup")),
        OperationKind::Remediation => "restore of the newest backup, because the data is corrupt".to_owned(),
        OperationKind::Backup => "backup".to_owned(),
    };
    let job = names::job(&world.app, operation, operation.step);
    let step = match operation.step {
        Step::BackUp => format!("Job {job} makes a backup first"),
        Step::Stop => "the pods stop".to_owned(),
        Step::Restore => format!("Job {job} replaces the data"),
        Step::Migrate => format!("Job {job} brings the data into the format of {}", operation.to),
        Step::Start => format!("{} starts", operation.to),
        Step::UndoStop => "the pods stop again".to_owned(),
        Step::UndoData => format!("Job {job} brings the old data back"),
        Step::UndoStart => format!("{} starts again", operation.from.as_deref().unwrap_or(&operation.to)),
    };
    let phase = match (operation.kind, operation.step >= Step::UndoStop) {
        (_, true) => Phase::RollingBack,
        (OperationKind::Upgrade, _) => Phase::Upgrading,
        (OperationKind::Backup, _) => Phase::Running,
        (OperationKind::Restore | OperationKind::Remediation, _) => Phase::Restoring,
    };
    let undone =
        operation.failure.as_ref().map(|why| format!(" is undone, because {why}")).unwrap_or_default();
    let waits = world.job_waits(&job).map(|why| format!(", which waits: {why}")).unwrap_or_default();
    (phase, format!("{what}{undone}: {step}{waits}"))
}

/// Whether this spec is acted on for the first time: then the picture is from before, and says nothing about what becomes of it.
fn is_fresh(world: &World, plan: &Plan) -> bool {
    let known = world.app.status.as_ref().and_then(|status| status.observed_generation);
    known != world.app.meta().generation && !plan.tasks.is_empty()
}

fn conditions(
    world: &World,
    plan: &Plan,
    acted: &Acted,
    status: &ExampleAppStatus,
    message: &str,
    now: Timestamp,
) -> Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition> {
    let live = world.app.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
    let mut conditions = Conditions::from_live(&live, world.app.meta().generation, now);
    let ready = status.ready_replicas.unwrap_or_default();
    conditions.set(match ready {
        0 => Condition::new("Available", false, Why::NotReady, message),
        _ => Condition::new("Available", true, Why::AllReady, format!("{ready} pods serve")),
    });
    let rolling = is_fresh(world, plan)
        || world.deployment.as_ref().is_none_or(|deployment| !deployment.readiness().is_ready());
    conditions.set(match (&status.operation, rolling) {
        (Some(_), _) => Condition::new("Progressing", true, Why::Operating, message),
        (None, true) => Condition::new("Progressing", true, Why::RollingOut, message),
        (None, false) => Condition::new("Progressing", false, Why::Settled, "nothing is being changed"),
    });
    conditions.set(match plan.refused.first() {
        Some(refusal) => {
            let why = if refusal.field == "spec.takeOwnership" { Why::NotOurs } else { Why::Refused };
            Condition::new("Accepted", false, why, format!("{}: {}", refusal.field, refusal.why))
        }
        None => Condition::new("Accepted", true, Why::Valid, "the spec can be carried out"),
    });
    conditions.set(degraded(world, acted, status, now));
    match backed_up(world) {
        Some(condition) => conditions.set(condition),
        None => conditions.remove("BackedUp"),
    };
    conditions.into_vec()
}

fn degraded(world: &World, acted: &Acted, status: &ExampleAppStatus, now: Timestamp) -> Condition {
    let is = |why: Why, message: String| Condition::new("Degraded", true, why, message);
    if let Acted::Failed(error) = acted {
        return is(Why::ActFailed, chain(error).to_string());
    }
    if let Some(said) = world.corrupt() {
        return is(Why::DataCorrupt, corrupt(world, &said, now));
    }
    if let Some(failed) = &status.failed_restore {
        return is(Why::RestoreFailed, format!("{}: {}", failed.what, failed.message));
    }
    if let Some(failed) = &status.failed_upgrade {
        return is(Why::UpgradeFailed, format!("{}: {}", failed.what, failed.message));
    }
    Condition::new("Degraded", false, Why::Healthy, "nothing is wrong")
}

/// What a backup says when it is done.
#[derive(Deserialize)]
struct Made {
    key: Option<String>,
    bytes: Option<i64>,
}

/// The newest backup that is known: from the Jobs that are left, or from before.
fn backups(world: &World, mut known: BackupStatus) -> BackupStatus {
    for job in backup_jobs(world) {
        let done = job.status.as_ref().and_then(|status| status.completion_time.clone());
        let (Some(done), Run::Succeeded(said)) = (done, kit::run(job, &world.pods)) else { continue };
        // A Job may be seen to be done before its pod is. What the pod says comes later, but for a key that was given to it.
        let incomplete = known.bytes.is_none();
        if known
            .last_backup_time
            .as_ref()
            .is_none_or(|last| last.0 < done.0 || incomplete && last.0 == done.0)
        {
            let made = said.and_then(|said| serde_json::from_str::<Made>(&said).ok());
            let (key, bytes) = made.map_or((None, None), |made| (made.key, made.bytes));
            let given = || argument(job.spec.as_ref()?.template.spec.as_ref()?, "--key");
            known = BackupStatus {
                last_backup_time: Some(done),
                last_backup: key.or_else(given),
                bytes,
                ..known
            };
        }
    }
    known
}

/// Whether the last backup that ended did so well; nothing when none are wanted.
fn backed_up(world: &World) -> Option<Condition> {
    world.app.spec.backup.as_ref().filter(|backup| backup.enabled)?;
    // Kubernetes may count a pod as done some time before it says when the Job was: not before there is something to name.
    let is_over = |job: &Job, run: &Run| match run {
        Run::Running(_) => false,
        Run::Succeeded(_) => job.status.as_ref().is_some_and(|status| status.completion_time.is_some()),
        Run::Failed { .. } => true,
    };
    let runs = backup_jobs(world).map(|job| (job, kit::run(job, &world.pods)));
    let ended = runs.filter(|(job, run)| is_over(job, run)).map(|(job, run)| (begun(job), run));
    let last = ended.max_by_key(|(begun, _)| *begun);
    let known = world.app.status.as_ref().and_then(|status| status.backup.as_ref()?.last_backup_time.clone());
    Some(match (last, known) {
        (Some((_, Run::Failed { message, .. })), _) => {
            Condition::new("BackedUp", false, Why::BackupFailed, message)
        }
        (Some(_), _) | (None, Some(_)) => {
            Condition::new("BackedUp", true, Why::BackupDone, "the last backup is in the store")
        }
        (None, None) => {
            Condition::new("BackedUp", Truth::Unknown, Why::NoBackupYet, "there has been no backup yet")
        }
    })
}

/// Jobs that made backups for later; not those that only kept what a restore was about to replace.
fn backup_jobs(world: &World) -> impl Iterator<Item = &Job> {
    let before_restore = format!("{}-restore-", world.app.name_any());
    let jobs = world.jobs.iter().map(|job| &**job);
    jobs.filter(move |job| {
        let backup = job.labels().get(names::COMPONENT).is_some_and(|part| part == names::BACKUP);
        backup && !job.name_any().starts_with(&before_restore)
    })
}

fn begun(job: &Job) -> Option<Timestamp> {
    job.creation_timestamp().map(|Time(at)| at)
}

fn event(news: &News) -> Event {
    match news {
        News::Began(it) => {
            Event::normal(Why::Began, "Begin", format!("{:?} {} to {} begins", it.kind, it.id, it.to))
        }
        News::Succeeded(it) => {
            Event::normal(Why::Succeeded, "Finish", format!("{:?} {} is done: {}", it.kind, it.id, it.to))
        }
        News::Undoing(it) => {
            let why = it.failure.as_deref().unwrap_or_default();
            Event::warning(
                Why::Undone,
                "Undo",
                format!("{:?} {} to {} is undone: {why}", it.kind, it.id, it.to),
            )
        }
        News::GivenUp(it, why) => Event::warning(
            Why::Undone,
            "GiveUp",
            format!("{:?} {} to {} was given up: {why}", it.kind, it.id, it.to),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::operator::model::Model;

    #[test]
    fn a_backup_on_demand_is_named_before_its_pod_has_been_seen_and_measured_after() {
        let mut world = Model::new(json!({"appVersion": "0.0.2"})).world;
        let (done, key) = ("2026-11-16T03:00:07Z", "default/notes/first.notes");
        let arguments = ["example-app", "backup", "--key", key];
        let job: Job = serde_json::from_value(json!({
            "metadata": {"name": "notes-backup-1", "uid": "j", "labels": {names::COMPONENT: names::BACKUP}},
            "spec": {"template": {"spec": {"containers": [{"name": "backup", "args": arguments}]}}},
            "status": {"completionTime": done, "conditions": [{"type": "Complete", "status": "True"}]},
        }))
        .unwrap();
        world.jobs = vec![Arc::new(job)];
        let first = backups(&world, BackupStatus::default());
        assert_eq!((first.last_backup.as_deref(), first.bytes), (Some(key), None));

        let said = json!({"key": key, "bytes": 7}).to_string();
        let pod = json!({
            "metadata": {"name": "notes-backup-1-x", "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "notes-backup-1", "uid": "j", "controller": true}]},
            "status": {"phase": "Succeeded", "containerStatuses": [{
                "name": "backup", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"terminated": {"exitCode": 0, "message": said}}}]},
        });
        world.pods = vec![Arc::new(serde_json::from_value(pod).unwrap())];
        let second = backups(&world, first);
        assert_eq!((second.last_backup.as_deref(), second.bytes), (Some(key), Some(7)));
    }
}
