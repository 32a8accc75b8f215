//! Report: the status, conditions and events that users read. What is said is a pure function of picture, plan and outcome.

use std::time::Duration;

use jiff::Timestamp;
use kit::{
    Acted, Conditions, Context, Key, Outcome, Run, Standing, Usual, backups,
    kinds::{self, Deployment, Job},
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
    let again = if told.is_fresh() { Some((SOON, "what becomes of the change")) } else { plan.again };
    let (status, news) = (told.status(), plan.news.as_ref());
    match cx.report(&*world.app, &status, news.and_then(News::event), acted).await {
        Ok((acted, is_news)) => {
            metrics::show(all, &Key::of(&*world.app), &status, news.filter(|_| is_news));
            acted.outcome_or_wait(again)
        }
        Err(outcome) => outcome,
    }
}

/// What there is to tell about.
struct Told<'a> {
    world: &'a World,
    plan: &'a Plan,
    acted: &'a Acted,
    now: Timestamp,
}

/// Something to say: the phase that it means, if it means one, the trouble that it is, if it is one, and the sentence.
type Finding = (Option<Phase>, Option<Usual>, String);

impl Told<'_> {
    fn status(&self) -> ExampleAppStatus {
        let Self { world, plan, .. } = self;
        let own = world.live.ours::<Deployment>(&world.app.name_any());
        let pods = own.and_then(|own| own.status.clone()).unwrap_or_default();
        let findings = self.findings();
        // What means a phase is the end of the message: what follows is less important.
        let last = findings.iter().position(|(phase, ..)| phase.is_some()).unwrap_or_default();
        let said = findings.iter().take(last + 1).map(|(.., said)| said.clone());
        let message: Vec<_> = plan.refused.all().map(ToString::to_string).chain(said).collect();
        let mut status = ExampleAppStatus {
            replicas: Some(pods.replicas.unwrap_or_default()),
            ready_replicas: Some(pods.ready_replicas.unwrap_or_default()),
            selector: Some(parts::selector_text(&build::selector(world))),
            url: build::url(world),
            auth_secret_name: Some(names::secret(&world.app)),
            observed_generation: world.app.meta().generation,
            backup: Some(plan.status.backup.clone().unwrap_or_default().seen(ended_backups(world))),
            phase: findings.get(last).and_then(|(phase, ..)| *phase),
            message: Some(message.join(". ")),
            ..plan.status.clone()
        };
        let trouble = findings.into_iter().find_map(|(_, why, said)| Some((why?, said)));
        status.conditions = Some(self.conditions(&status, trouble));
        status
    }

    /// What there is to say, the most important first.
    fn findings(&self) -> Vec<Finding> {
        let Self { world, plan: Plan { status, refused, .. }, .. } = self;
        let is_new = status.current_version.is_none() && status.operations.is_none();
        let unready = Some(if is_new { Phase::Installing } else { Phase::Unready });
        let first = match self.acted {
            Acted::Paused => Some((Some(Phase::Paused), None, world.paused().unwrap_or_default())),
            _ if refused.is_blocked() => {
                Some((Some(Phase::Blocked), None, "Nothing is done until then".to_owned()))
            }
            Acted::Failed(error) => {
                Some((unready, Some(Usual::ActFailed), format!("{}; it is tried again", chain(error))))
            }
            Acted::Done => status.operation.as_ref().map(|it| operating(world, it)),
        };
        let corrupt = self.corrupt().map(|said| (Some(Phase::Failed), Some(Usual::DataCorrupt), said));
        let restore = status.failed_restore.as_ref().map(|failed| {
            let how = "Change spec.restore to try again, or remove it";
            let said = format!("no data from {}: {}. {how}", failed.what, failed.message);
            (begin::is_unborn(world).then_some(Phase::Failed), Some(Usual::RestoreFailed), said)
        });
        let upgrade = status.failed_upgrade.as_ref().map(|failed| {
            let is_undone = status.data_version.as_ref() != Some(&failed.what);
            let undone = if is_undone { " and was undone" } else { "" };
            let told = format!("the upgrade to {} failed{undone}: {}", failed.what, failed.message);
            (
                None,
                Some(Usual::UpgradeFailed),
                format!("{told}. It is tried again when spec.appVersion changes"),
            )
        });
        let serves = match world.deployment().map(|it| (it.readiness(), it.spec.replicas)) {
            _ if self.is_fresh() => (unready, None, "the change of the spec is being carried out".to_owned()),
            Some((Readiness::Ready, pods)) => {
                let version = status.current_version.as_ref().unwrap_or(&world.app.spec.app_version);
                (Some(Phase::Running), None, format!("{version} serves, pods: {}", pods.unwrap_or(1)))
            }
            Some((Readiness::Waiting(why) | Readiness::Failed(why), _)) => (unready, None, why),
            None => (unready, None, "its objects are being made".to_owned()),
        };
        [first, corrupt, restore, upgrade, Some(serves)].into_iter().flatten().collect()
    }

    fn corrupt(&self) -> Option<String> {
        let said = self.world.corrupt()?;
        let how = match begin::may_remediate(self.world, self.now) {
            true => "The newest backup is being restored",
            false => {
                "Set spec.restore to get a backup back, or spec.remediation.restoreCorruptVolume to have that done without asking, at most every ten minutes"
            }
        };
        Some(format!("the data is corrupt: {said}. {how}"))
    }

    /// Whether this spec is acted on for the first time: then the picture is from before, and says nothing about what becomes
    /// of it.
    fn is_fresh(&self) -> bool {
        self.world.status().observed_generation != self.world.app.meta().generation
            && !self.plan.tasks.is_empty()
    }

    fn conditions(
        &self,
        status: &ExampleAppStatus,
        trouble: Option<(Usual, String)>,
    ) -> Vec<kinds::Condition> {
        let (world, before) = (self.world, self.world.status());
        let standing = Standing {
            ready: status.ready_replicas.unwrap_or_default(),
            is_settled: world.deployment().is_some_and(|it| it.readiness().is_ready()) && !self.is_fresh(),
            is_operating: status.operation.is_some(),
            refused: &self.plan.refused,
            trouble,
            message: status.message.as_deref().unwrap_or_default(),
        };
        let live = before.conditions.unwrap_or_default();
        let mut conditions = Conditions::from_live(&live, world.app.meta().generation, self.now);
        conditions.set_all(standing.conditions());
        match world.app.spec.backups() {
            Some(_) => conditions.set(backups::condition(before.backup.as_ref(), ended_backups(world))),
            None => conditions.remove("BackedUp"),
        };
        conditions.into_vec()
    }
}

fn operating(world: &World, it: &Operation) -> Finding {
    let (from, to) = (it.from.as_deref().unwrap_or(&it.to), &it.to);
    let wish = it.wish.as_deref().unwrap_or("the newest backup");
    let (phase, what) = match it.kind {
        OperationKind::Upgrade => (Phase::Upgrading, format!("upgrade from {from} to {to}")),
        OperationKind::Restore | OperationKind::Remediation => {
            (Phase::Restoring, format!("restore of {wish}"))
        }
        OperationKind::Backup => (Phase::Running, "backup".to_owned()),
    };
    let phase = if it.step < Step::UndoStop { phase } else { Phase::RollingBack };
    let job = names::job(&world.app, it, it.step);
    let step = match it.step {
        Step::BackUp => format!("Job {job} makes a backup first"),
        Step::Stop => "the pods stop".to_owned(),
        Step::Restore => format!("Job {job} replaces the data"),
        Step::Migrate => format!("Job {job} brings the data into the format of {to}"),
        Step::Start => format!("{to} starts"),
        Step::UndoStop => "the pods stop again".to_owned(),
        Step::UndoData | Step::UndoRestore => format!("Job {job} brings the old data back"),
        Step::UndoStart => format!("{from} starts again"),
    };
    let undone = it.failure.as_ref().map(|why| format!(" is undone, because {why}")).unwrap_or_default();
    let waits = run::waits(&job, world.live.all()).map(|why| format!(", which waits: {why}"));
    (Some(phase), None, format!("{what}{undone}: {step}{}", waits.unwrap_or_default()))
}

/// Jobs that made backups for later, and have ended; not those that only kept what a restore was about to replace.
fn ended_backups(world: &World) -> Vec<(&Job, Run)> {
    let before_restore = format!("{}-restore-", world.app.name_any());
    let ended = world.live.ended(names::BACKUP).into_iter();
    ended.filter(|(job, _)| !job.name_any().starts_with(&before_restore)).collect()
}
