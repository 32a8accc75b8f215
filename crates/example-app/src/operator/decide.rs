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
    Refusals, Slim, Task,
    kinds::{CronJob, Secret, Time},
    operation::Failed,
};
use kube::{Resource as _, ResourceExt as _};

use self::operation::START_DEADLINE;
pub(crate) use self::spec::Wanted;
use super::{build, names, observe::World};
use crate::{
    ExampleAppStatus, Operation, OperationKind, Step,
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
    /// What becomes of an operation with this plan.
    pub(crate) news: Option<News>,
    pub(crate) refused: Refusals,
    /// When to look again, if nothing changes before, and what for.
    pub(crate) again: Option<(Duration, &'static str)>,
}

pub(crate) type News = kit::operation::News<OperationKind, Step>;

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
    let data =
        |it: &ExampleAppStatus| (it.current_version.clone(), it.data_version.clone(), it.claim_name.clone());
    // Which data it is, and of which version, is on record before anything is done with it.
    let is_recorded = data(&status) == data(&world.status());
    let news = match &status.operation {
        _ if !is_recorded => None,
        None => begin::next(world, wanted, now).map(News::Began),
        Some(operation) => operation::advance(world, wanted, operation, now),
    };
    if let Some(news) = &news {
        remember(&mut status, world, news, now);
    }
    if news.is_some() || !is_recorded {
        let is_settled = !matches!(news, Some(News::Step(_) | News::Undoing(_)));
        let mark = mark_claim(world, wanted, &status).filter(|_| is_settled);
        return Plan { tasks: mark.into_iter().collect(), status, news, ..Plan::default() };
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

/// What the course of an operation leaves behind.
fn remember(status: &mut ExampleAppStatus, world: &World, news: &News, now: Timestamp) {
    let (it, version, failed) = match news {
        News::Began(it) | News::Step(it) | News::Undoing(it) => {
            (status.operations, status.operation) = (Some(it.id), Some(it.clone()));
            return;
        }
        News::Succeeded(it) => (it, Some(&it.to), None),
        News::GivenUp(it, why) => {
            let what = it.wish.clone().unwrap_or_else(|| it.to.clone());
            (it, it.from.as_ref(), Some(Failed { what, message: why.clone() }))
        }
    };
    status.operation = None;
    if let Some(version) = version {
        // It is the current one only if it has been seen to serve: else it is nothing to go back to.
        let has_served = status.current_version.as_ref() == Some(version) || world.serves(version);
        status.current_version = has_served.then(|| version.clone());
        status.data_version = Some(version.clone());
    }
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

/// The version at this step, and whether pods of it should be there.
fn shape(world: &World, wanted: &Wanted, operation: Option<&Operation>) -> (String, bool) {
    let Some(it) = operation else {
        return (world.data_version().unwrap_or_else(|| wanted.version.clone()), !begin::is_unborn(world));
    };
    let from = it.from.as_ref().unwrap_or(&it.to).clone();
    match it.step {
        Step::Start => (it.to.clone(), true),
        Step::BackUp | Step::UndoStart => (from, true),
        _ => (from, false),
    }
}

/// Everything that should be there at this step, and the Job of the step.
fn tasks(world: &World, wanted: &Wanted, operation: Option<&Operation>, replicas: i32) -> Vec<Task> {
    let (app, (version, runs)) = (&*world.app, shape(world, wanted, operation));
    let has_password = world.live.get::<Slim<Secret>>(&names::secret(app)).is_some();
    let moved = operation.filter(|it| it.step == Step::Start && it.from.is_some()).map(|it| it.to.clone());
    let marked = moved.or_else(|| on_claim(world, &world.status()));
    let disrupted = operation.is_some_and(|it| it.step != Step::BackUp) || begin::is_unborn(world);
    let schedule = build::schedule(world, wanted, disrupted);
    let unwanted = world.live.ours::<CronJob>(&names::schedule(app)).filter(|_| schedule.is_none());
    let tasks = [
        Some(Task::apply(build::account(app))),
        (!has_password).then(|| Task::Password(Box::new(build::secret(app)))),
        build::claim(world, wanted, marked).map(Task::apply),
        Some(Task::apply(build::service(world))),
        Some(Task::apply(build::deployment(world, wanted, &version, if runs { replicas } else { 0 }))),
        schedule.map(Task::apply),
        unwanted.cloned().map(Task::delete),
        operation.and_then(|operation| job(world, operation)),
    ];
    tasks.into_iter().flatten().collect()
}

/// The claim with the version that the status is about to name, unless it has it already.
fn mark_claim(world: &World, wanted: &Wanted, status: &ExampleAppStatus) -> Option<Task> {
    let version = on_claim(world, status);
    let is_news = version.is_some() && world.claim().is_some() && world.on_claim() != version.as_ref();
    build::claim(world, wanted, version).filter(|_| is_news).map(Task::apply)
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
    let starting = operation.filter(|it| matches!(it.step, Step::Start | Step::UndoStart));
    let left =
        starting.map(|it| it.left(START_DEADLINE, now).unwrap_or_default().max(Duration::from_secs(1)));
    let scaled = world.app.spec.autoscaling.as_ref().map(|_| (LOOK, "another look at the load"));
    left.map(|left| (left, "the pods to become ready")).or(scaled)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod told;
