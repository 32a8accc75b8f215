//! Decide: from the picture and the time to a plan. No client, no clock, no randomness.
//!
//! Invariants: an operation's step is written to the status before anything of it is done (a plan either latches or acts);
//! the claim says which version its data has before the status does, as only the claim is left to whoever comes after this
//! ExampleApp; at most one disruptive task per plan; no plan deletes a claim; a version whose gate refuses is never started.

pub(crate) mod begin;
pub(crate) mod operation;
pub(crate) mod spec;

use std::time::Duration;

use jiff::Timestamp;
use kit::{
    Slim, Task,
    kinds::{CronJob, Deployment, Secret, Time},
};
use kube::{Resource as _, ResourceExt as _};

use self::operation::{Next, START_DEADLINE};
pub(crate) use self::spec::{Refusal, Wanted};
use super::{
    build, names,
    observe::{World, version_of},
};
use crate::{
    ExampleAppStatus, Failure, Operation, OperationKind, Step,
    app::versions::{self, Way},
};

/// How often the load is looked at: a request to each pod.
const LOOK: Duration = Duration::from_secs(5);

/// What to do, as data.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// In this order.
    pub(crate) tasks: Vec<Task>,
    /// What the status is to remember; what it says about the present is added by the report.
    pub(crate) status: ExampleAppStatus,
    /// What began or ended with this plan.
    pub(crate) news: Option<News>,
    pub(crate) refused: Vec<Refusal>,
    /// When to look again, if nothing changes before, and what for.
    pub(crate) again: Option<(Duration, &'static str)>,
}

/// What began or ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum News {
    Began(Operation),
    Succeeded(Operation),
    Undoing(Operation),
    GivenUp(Operation, String),
}

pub(crate) fn decide(world: &World, now: Timestamp) -> Plan {
    if world.app.meta().deletion_timestamp.is_some() {
        // Kubernetes removes what it owns; what we made now would only have to go again.
        return Plan { status: world.status(), ..Plan::default() };
    }
    let (wanted, refused) = spec::judge(world);
    let status = remembered(world, wanted.as_ref());
    match wanted {
        Some(wanted) => Plan { refused, ..next(world, &wanted, status, now) },
        None => Plan { status, refused, ..Plan::default() },
    }
}

fn next(world: &World, wanted: &Wanted, mut status: ExampleAppStatus, now: Timestamp) -> Plan {
    let known = world.status();
    let on_record =
        |it: &ExampleAppStatus| (it.current_version.clone(), it.data_version.clone(), it.claim_name.clone());
    if on_record(&status) != on_record(&known) {
        // Which data it is, and of which version, is on record before anything is done with it.
        return Plan { tasks: mark_claim(world, wanted, &status), status, ..Plan::default() };
    }
    let news = match status.operation.clone() {
        None => begin::next(world, wanted, now).map(News::Began),
        Some(operation) => match operation::advance(world, wanted, &operation, now) {
            Next::Same => None,
            Next::Step(next) => {
                let undoing = operation.failure.is_none() && next.failure.is_some();
                let news = undoing.then(|| News::Undoing(next.clone()));
                status.operation = Some(next);
                return Plan { status, news, ..Plan::default() };
            }
            Next::Over(None) => {
                bring_to(&mut status, world, &operation.to);
                Some(News::Succeeded(operation))
            }
            Next::Over(Some(why)) => Some(News::GivenUp(operation, why)),
            Next::Stranded(why, version) => {
                bring_to(&mut status, world, &version);
                Some(News::GivenUp(operation, why))
            }
        },
    };
    if let Some(news) = news {
        remember(&mut status, &news, now);
        return Plan {
            tasks: mark_claim(world, wanted, &status),
            status,
            news: Some(news),
            ..Plan::default()
        };
    }
    let rule = world.app.spec.autoscaling.as_ref();
    status.autoscaling = rule.map(|rule| rule.decide(status.autoscaling.as_ref(), &world.load, now));
    let replicas = status.autoscaling.as_ref().map_or(world.app.spec.replicas, |decided| decided.replicas);
    let operation = status.operation.as_ref();
    let (tasks, again) = (tasks(world, wanted, operation, replicas), again(world, operation, now));
    Plan { tasks, status, again, ..Plan::default() }
}

/// The memory as it was, less what a changed spec makes void, with what has been seen since.
fn remembered(world: &World, wanted: Option<&Wanted>) -> ExampleAppStatus {
    let mut status = world.status();
    let asked = &world.app.spec.app_version;
    let serves_after_all = world.current_version().as_ref() == Some(asked) && world.serves(asked);
    status.failed_upgrade = status.failed_upgrade.filter(|failed| failed.what == *asked && !serves_after_all);
    let wish = begin::restore_wish(&world.app);
    status.failed_restore = status.failed_restore.filter(|failed| Some(&failed.what) == wish.as_ref());
    let Some(wanted) = wanted else { return status };
    status.claim_name = Some(world.claim_name.clone());
    let settled = status.operation.is_none() && !begin::is_unborn(world);
    let serves = |version: &String| settled && world.serves(version);
    status.current_version = world.current_version().or_else(|| world.data_version().filter(serves));
    let has_not_served = status.current_version.is_none() && status.failed_upgrade.is_none();
    let reads = |data: &String| versions::way(data, &wanted.version) == Ok(Way::Roll);
    status.data_version = match world.data_version().filter(|_| settled) {
        // What has never served is nothing to go back to: another version that reads the same data is simply started instead.
        Some(data) if has_not_served && reads(&data) => Some(wanted.version.clone()),
        None if settled => Some(wanted.version.clone()),
        _ => world.data_version(),
    };
    status
}

/// The data belongs to `version` now. It is the current one only if it has been seen to serve: else it is nothing to go back to.
fn bring_to(status: &mut ExampleAppStatus, world: &World, version: &String) {
    let has_served = status.current_version.as_ref() == Some(version) || world.serves(version);
    status.current_version = has_served.then(|| version.clone());
    status.data_version = Some(version.clone());
}

/// What an operation's beginning or end leaves behind.
fn remember(status: &mut ExampleAppStatus, news: &News, now: Timestamp) {
    let (it, failed) = match news {
        News::Began(it) | News::Undoing(it) => {
            (status.operations, status.operation) = (Some(it.id), Some(it.clone()));
            return;
        }
        News::Succeeded(it) => (it, None),
        News::GivenUp(it, why) => {
            let what = it.wish.clone().unwrap_or_else(|| it.to.clone());
            (it, Some(Failure { what, message: why.clone() }))
        }
    };
    status.operation = None;
    match it.kind {
        OperationKind::Upgrade => status.failed_upgrade = failed,
        OperationKind::Restore => {
            status.restored = if failed.is_none() { it.wish.clone() } else { status.restored.take() };
            status.failed_restore = failed;
        }
        OperationKind::Remediation => status.last_remediation = Some(Time(now)),
        // The request was acted on, whatever came of it: it is not repeated until there is a new one.
        OperationKind::Backup => status.backup.get_or_insert_default().request = it.wish.clone(),
    }
}

/// The version and the number of pods at this step.
fn shape(world: &World, wanted: &Wanted, operation: Option<&Operation>, replicas: i32) -> (String, i32) {
    let Some(operation) = operation else {
        let version = world.data_version().unwrap_or_else(|| wanted.version.clone());
        return (version, if begin::is_unborn(world) { 0 } else { replicas });
    };
    let from = operation.from.clone().unwrap_or_else(|| operation.to.clone());
    match operation.step {
        Step::Start => (operation.to.clone(), replicas),
        Step::BackUp => (from, replicas),
        Step::UndoStart if operation.from.is_some() => (from, replicas),
        _ => (from, 0),
    }
}

/// Everything that should be there at this step, and the Job of the step.
fn tasks(world: &World, wanted: &Wanted, operation: Option<&Operation>, replicas: i32) -> Vec<Task> {
    let (version, replicas) = shape(world, wanted, operation, replicas);
    let app = &*world.app;
    let mut tasks = vec![Task::apply(build::account(app))];
    if world.live.get::<Slim<Secret>>(&names::secret(app)).is_none() {
        tasks.push(Task::Password(Box::new(build::secret(app))));
    }
    let moved = operation.filter(|it| it.step == Step::Start && it.from.is_some()).map(|it| it.to.clone());
    let marked = moved.or_else(|| on_claim(world, &world.status()));
    tasks.extend(build::claim(world, wanted, marked).map(Task::apply));
    tasks.push(Task::apply(build::service(world)));
    tasks.push(Task::apply(build::deployment(world, wanted, &version, replicas)));
    let disrupted = operation.is_some_and(|it| it.step != Step::BackUp) || begin::is_unborn(world);
    match build::schedule(world, wanted, disrupted) {
        Some(schedule) => tasks.push(Task::apply(schedule)),
        None => tasks.extend(world.live.ours::<CronJob>(&names::schedule(app)).cloned().map(Task::delete)),
    }
    tasks.extend(operation.and_then(|operation| job(world, operation)));
    tasks
}

/// The claim with the version that the status is about to name, unless it has it already.
fn mark_claim(world: &World, wanted: &Wanted, status: &ExampleAppStatus) -> Vec<Task> {
    let version = on_claim(world, status);
    let is_news = version.is_some() && world.claim().is_some() && world.on_claim() != version.as_ref();
    let claim = build::claim(world, wanted, version).filter(|_| is_news);
    claim.map(Task::apply).into_iter().collect()
}

/// What the claim is to say: which version served its data last, and once it says so, which one the data was brought to since.
fn on_claim(world: &World, status: &ExampleAppStatus) -> Option<String> {
    let brought_to = || status.data_version.clone().filter(|_| world.on_claim().is_some());
    status.current_version.clone().or_else(brought_to)
}

/// The Job of this step, unless it is there already.
fn job(world: &World, operation: &Operation) -> Option<Task> {
    let job = build::job(world, operation)?;
    match operation.step {
        _ if world.live.run(&job.name_any()).is_some() => None,
        Step::BackUp => Some(Task::Run(Box::new(job))),
        _ => world.is_stopped(&job.name_any()).then(|| Task::RunAlone(Box::new(job))),
    }
}

fn again(world: &World, operation: Option<&Operation>, now: Timestamp) -> Option<(Duration, &'static str)> {
    match operation.filter(|operation| matches!(operation.step, Step::Start | Step::UndoStart)) {
        Some(operation) => {
            let left = START_DEADLINE - now.duration_since(operation.step_started_at.0);
            let left = Duration::try_from(left).unwrap_or_default().max(Duration::from_secs(1));
            Some((left, "the pods to become ready"))
        }
        None => world.app.spec.autoscaling.as_ref().map(|_| (LOOK, "another look at the load")),
    }
}

/// Whether a task stops pods that serve, or changes data.
pub(crate) fn is_disruptive(task: &Task, world: &World) -> bool {
    let (Some(wanted), Some(live)) = (task.applies::<Deployment>(), world.deployment()) else {
        return matches!(task, Task::RunAlone(_));
    };
    let stops = wanted.spec.replicas == Some(0);
    live.spec.replicas != Some(0) && (stops || version_of(wanted) != version_of(live))
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod told;
