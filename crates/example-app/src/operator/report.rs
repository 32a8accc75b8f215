//! Report: the status, conditions and events that users read. What is said is a pure function of picture, plan and outcome.

use std::time::Duration;

use jiff::Timestamp;
use kit::{
    Acted, Condition, Conditions, Context, Event, Key, Outcome, Run, Truth,
    kinds::{self, Job, Pod},
    metrics::PerObject,
    parts,
    readiness::{Readiness, Workload as _},
    run,
    telemetry::chain,
};
use kube::{Resource as _, ResourceExt as _};

use super::{
    build,
    decide::{News, Plan, begin},
    metrics, names,
    observe::World,
    reasons::Why,
};
use crate::{ExampleAppStatus, Operation, OperationKind, Phase, Step};

/// When to look at what became of a change, if no event tells before.
const SOON: Duration = Duration::from_millis(500);

pub(super) async fn report(
    cx: &Context,
    all: &PerObject,
    world: &World,
    plan: &Plan,
    acted: Acted,
) -> Outcome {
    let told = Told { world, plan, acted: &acted, now: cx.now() };
    let (key, status, is_fresh) = (Key::of(&*world.app), told.status(), told.is_fresh());
    let (acted, is_news) = match cx.report(&*world.app, &status, plan.news.as_ref().map(event), acted).await {
        Ok(reported) => reported,
        Err(outcome) => return outcome,
    };
    match plan.news.as_ref().filter(|_| is_news) {
        Some(News::Succeeded(it)) => metrics::ended(all, &key, it.kind, "succeeded"),
        Some(News::GivenUp(it, _)) => metrics::ended(all, &key, it.kind, "given-up"),
        Some(News::Began(_) | News::Undoing(_)) | None => {}
    }
    metrics::show(all, &key, &status);
    acted.outcome_or_wait(if is_fresh { Some((SOON, "what becomes of the change")) } else { plan.again })
}

/// What there is to tell about.
struct Told<'a> {
    world: &'a World,
    plan: &'a Plan,
    acted: &'a Acted,
    now: Timestamp,
}

impl Told<'_> {
    fn status(&self) -> ExampleAppStatus {
        let Self { world, plan, .. } = self;
        let own = world.deployment().filter(|_| world.has_own_deployment());
        let pods = own.and_then(|own| own.status.clone()).unwrap_or_default();
        let (phase, message) = self.state();
        let refused = plan.refused.iter().map(ToString::to_string);
        let message: Vec<_> = refused.chain([message]).filter(|part| !part.is_empty()).collect();
        let mut status = ExampleAppStatus {
            replicas: Some(pods.replicas.unwrap_or_default()),
            ready_replicas: Some(pods.ready_replicas.unwrap_or_default()),
            selector: Some(parts::selector_text(&build::selector(world))),
            url: build::url(world),
            auth_secret_name: Some(names::secret(&world.app)),
            observed_generation: world.app.meta().generation,
            backup: Some(plan.status.backup.clone().unwrap_or_default().seen(ended_backups(world))),
            phase: Some(phase),
            message: Some(message.join(". ")),
            ..plan.status.clone()
        };
        status.conditions = Some(self.conditions(&status));
        status
    }

    /// One word, and a sentence that says what is going on and what to do.
    fn state(&self) -> (Phase, String) {
        let Self { world, plan, .. } = self;
        let status = &plan.status;
        let is_new = status.current_version.is_none() && status.operations.is_none();
        let unready = if is_new { Phase::Installing } else { Phase::Unready };
        match self.acted {
            Acted::Paused => return (Phase::Paused, world.paused().unwrap_or_default()),
            _ if self.is_blocked() => return (Phase::Blocked, String::new()),
            Acted::Failed(error) => return (unready, format!("{}; it is tried again", chain(error))),
            Acted::Done => {}
        }
        if let Some(operation) = &status.operation {
            return operating(world, operation);
        }
        if let Some(failed) = status.failed_restore.as_ref().filter(|_| begin::is_unborn(world)) {
            let how = "Change spec.restore to try again, or remove it to start empty";
            return (Phase::Failed, format!("no data from {}: {}. {how}", failed.what, failed.message));
        }
        if let Some(corrupt) = self.corrupt() {
            return (Phase::Failed, corrupt);
        }
        if self.is_fresh() {
            return (unready, "the change of the spec is being carried out".to_owned());
        }
        let (phase, serves) = match world.deployment().map(|it| (it.readiness(), it.spec.replicas)) {
            Some((Readiness::Ready, pods)) => {
                let version = status.current_version.as_deref().unwrap_or(&world.app.spec.app_version);
                (Phase::Running, format!("{version} serves, pods: {}", pods.unwrap_or(1)))
            }
            Some((Readiness::Waiting(why) | Readiness::Failed(why), _)) => (unready, why),
            None => (unready, "its objects are being made".to_owned()),
        };
        let Some(failed) = &status.failed_upgrade else { return (phase, serves) };
        let is_undone = status.data_version.as_ref() != Some(&failed.what);
        let undone = if is_undone { " and was undone" } else { "" };
        let again = "It is tried again when spec.appVersion changes";
        let told = format!("the upgrade to {} failed{undone}: {}. {again}. ", failed.what, failed.message);
        (phase, told + &serves)
    }

    fn is_blocked(&self) -> bool {
        self.plan.refused.iter().any(|refusal| refusal.field == "spec.takeOwnership")
    }

    fn corrupt(&self) -> Option<String> {
        let said = self.world.corrupt()?;
        let how = if begin::may_remediate(self.world, self.now) {
            "The newest backup is being restored"
        } else if self.world.app.spec.remediation.restore_corrupt_volume {
            "A backup was restored only minutes ago, or there are none: set spec.restore to an older one"
        } else {
            "Set spec.restore to get a backup back, or spec.remediation.restoreCorruptVolume to have that done without asking"
        };
        Some(format!("the data is corrupt: {said}. {how}"))
    }

    /// Whether this spec is acted on for the first time: then the picture is from before, and says nothing about what becomes
    /// of it.
    fn is_fresh(&self) -> bool {
        self.world.status().observed_generation != self.world.app.meta().generation
            && !self.plan.tasks.is_empty()
    }

    fn conditions(&self, status: &ExampleAppStatus) -> Vec<kinds::Condition> {
        let Self { world, plan, .. } = self;
        let message = || status.message.clone().unwrap_or_default();
        let available = match status.ready_replicas {
            Some(0) | None => (false, Why::NotReady, message()),
            Some(ready) => (true, Why::AllReady, format!("{ready} pods serve")),
        };
        let is_settled = world.deployment().is_some_and(|it| it.readiness().is_ready()) && !self.is_fresh();
        let progressing = match &status.operation {
            Some(_) => (true, Why::Operating, message()),
            None if is_settled => (false, Why::Settled, "nothing is being changed".to_owned()),
            None => (true, Why::RollingOut, message()),
        };
        let accepted = match plan.refused.first().map(ToString::to_string) {
            Some(why) if self.is_blocked() => (false, Why::NotOurs, why),
            Some(why) => (false, Why::Refused, why),
            None => (true, Why::Valid, "the spec can be carried out".to_owned()),
        };
        let degraded = match self.trouble(status) {
            Some((why, message)) => (true, why, message),
            None => (false, Why::Healthy, "nothing is wrong".to_owned()),
        };
        let live = world.status().conditions.unwrap_or_default();
        let is = |kind, (truth, why, message)| Condition::new(kind, truth, why, message);
        let mut conditions = Conditions::from_live(&live, world.app.meta().generation, self.now);
        conditions.set(is("Available", available)).set(is("Progressing", progressing));
        conditions.set(is("Accepted", accepted)).set(is("Degraded", degraded));
        match world.app.spec.backups() {
            Some(_) => conditions.set(backed_up(world)),
            None => conditions.remove("BackedUp"),
        };
        conditions.into_vec()
    }

    fn trouble(&self, status: &ExampleAppStatus) -> Option<(Why, String)> {
        if let Acted::Failed(error) = self.acted {
            return Some((Why::ActFailed, chain(error).to_string()));
        }
        let corrupt = self.corrupt().map(|corrupt| (Why::DataCorrupt, corrupt));
        let failures =
            [(Why::RestoreFailed, &status.failed_restore), (Why::UpgradeFailed, &status.failed_upgrade)];
        let failed = failures.into_iter().find_map(|(why, failed)| Some((why, failed.as_ref()?)));
        corrupt.or_else(|| failed.map(|(why, failed)| (why, format!("{}: {}", failed.what, failed.message))))
    }
}

fn operating(world: &World, it: &Operation) -> (Phase, String) {
    let from = it.from.as_deref();
    let what = match it.kind {
        OperationKind::Upgrade => format!("upgrade from {} to {}", from.unwrap_or("nothing"), it.to),
        OperationKind::Restore => format!("restore of {}", it.wish.as_deref().unwrap_or("a backup")),
        OperationKind::Remediation => "restore of the newest backup, because the data is corrupt".to_owned(),
        OperationKind::Backup => "backup".to_owned(),
    };
    let job = names::job(&world.app, it, it.step);
    let step = match it.step {
        Step::BackUp => format!("Job {job} makes a backup first"),
        Step::Stop => "the pods stop".to_owned(),
        Step::Restore => format!("Job {job} replaces the data"),
        Step::Migrate => format!("Job {job} brings the data into the format of {}", it.to),
        Step::Start => format!("{} starts", it.to),
        Step::UndoStop => "the pods stop again".to_owned(),
        Step::UndoData => format!("Job {job} brings the old data back"),
        Step::UndoStart => format!("{} starts again", from.unwrap_or(&it.to)),
    };
    let phase = match it.kind {
        _ if it.step >= Step::UndoStop => Phase::RollingBack,
        OperationKind::Upgrade => Phase::Upgrading,
        OperationKind::Backup => Phase::Running,
        OperationKind::Restore | OperationKind::Remediation => Phase::Restoring,
    };
    let undone = it.failure.as_ref().map(|why| format!(" is undone, because {why}")).unwrap_or_default();
    let waits = run::waits(&job, world.live.all()).map(|why| format!(", which waits: {why}"));
    (phase, format!("{what}{undone}: {step}{}", waits.unwrap_or_default()))
}

/// Whether the last backup that ended did so well.
fn backed_up(world: &World) -> Condition {
    let last = ended_backups(world).into_iter().max_by_key(|(job, _)| job.creation_timestamp());
    let known = world.status().backup.and_then(|backup| backup.last_backup_time);
    let is = |truth, why, message: &str| Condition::new("BackedUp", truth, why, message);
    match (last, known) {
        (Some((_, Run::Failed { message, .. })), _) => is(Truth::False, Why::BackupFailed, &message),
        (None, None) => is(Truth::Unknown, Why::NoBackupYet, "there has been no backup yet"),
        _ => is(Truth::True, Why::BackupDone, "the last backup is in the store"),
    }
}

/// Jobs that made backups for later, and have ended; not those that only kept what a restore was about to replace.
fn ended_backups(world: &World) -> Vec<(&Job, Run)> {
    let before_restore = format!("{}-restore-", world.app.name_any());
    let jobs = world.live.part::<Job>(names::BACKUP);
    let jobs = jobs.filter(|job| !job.name_any().starts_with(&before_restore));
    let pods: Vec<&Pod> = world.live.all().collect();
    run::ended(jobs, &pods).collect()
}

fn event(news: &News) -> Event {
    let note = |it: &Operation, end: &str| format!("{:?} {} to {} {end}", it.kind, it.id, it.to);
    match news {
        News::Began(it) => Event::normal(Why::Began, "Begin", note(it, "begins")),
        News::Succeeded(it) => Event::normal(Why::Succeeded, "Finish", note(it, "is done")),
        News::Undoing(it) => {
            let why = it.failure.as_deref().unwrap_or_default();
            Event::warning(Why::Undone, "Undo", note(it, &format!("is undone: {why}")))
        }
        News::GivenUp(it, why) => {
            Event::warning(Why::Undone, "GiveUp", note(it, &format!("was given up: {why}")))
        }
    }
}
