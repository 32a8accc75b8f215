//! Decide: from the picture and the time to a plan. No client, no clock, no randomness.
//!
//! Invariants: an operation's step is written to the status before anything of it is done (a plan either latches or acts);
//! the claim says which version its data has before the status does, as only the claim is left to whoever comes after this
//! ExampleApp; at most one disruptive task per plan; no plan deletes a claim; a version whose gate refuses is never started.

pub(crate) mod begin;
mod cron;
pub(crate) mod operation;
pub(crate) mod scale;
pub(crate) mod spec;

use std::{fmt, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        batch::v1::{CronJob, Job},
        core::v1::{PersistentVolumeClaim, Secret, Service, ServiceAccount},
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::{Resource as _, ResourceExt as _};

use self::{
    operation::{Next, START_DEADLINE},
    spec::{Judged, Refusal, Wanted},
};
use super::{
    build, names,
    observe::{World, version_of},
};
use crate::{BackupStatus, ExampleAppStatus, Failure, Operation, OperationKind, Step};

/// How often the load is looked at.
const LOOK: Duration = Duration::from_secs(15);

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

/// One thing to do.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    Account(Box<ServiceAccount>),
    /// A Secret for a password; the password itself is made when it is carried out.
    Password(Box<Secret>),
    Claim(Box<PersistentVolumeClaim>),
    Service(Box<Service>),
    Deployment(Box<Deployment>),
    Schedule(Box<CronJob>),
    /// Scheduled backups are no longer wanted.
    Unschedule,
    /// A Job that may run beside the application.
    Run(Box<Job>),
    /// A Job that must have the volume for itself.
    RunAlone(Box<Job>),
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
    let Judged { wanted, refused } = spec::judge(world);
    let mut status = remembered(world, wanted.as_ref());
    let Some(wanted) = wanted else { return Plan { status, refused, ..Plan::default() } };
    let known = world.status();
    let on_record = |status: &ExampleAppStatus| {
        (status.current_version.clone(), status.data_version.clone(), status.claim_name.clone())
    };
    if on_record(&status) != on_record(&known) {
        // Which data it is, and of which version, is on record before anything is done with it.
        return Plan { tasks: mark_claim(world, &wanted, &status), status, refused, ..Plan::default() };
    }
    let news = match &status.operation {
        None => begin::next(world, &wanted, now).map(News::Began),
        Some(operation) => match operation::advance(world, &wanted, operation, now) {
            Next::Same => None,
            Next::Step(next) => {
                let undoing = operation.failure.is_none() && next.failure.is_some();
                let news = undoing.then(|| News::Undoing(next.clone()));
                status.operation = Some(next);
                return Plan { status, news, refused, ..Plan::default() };
            }
            Next::Over(None) => Some(News::Succeeded(operation.clone())),
            Next::Over(Some(why)) => Some(News::GivenUp(operation.clone(), why)),
            Next::Stranded(why, version) => {
                (status.current_version, status.data_version) = (Some(version.clone()), Some(version));
                Some(News::GivenUp(operation.clone(), why))
            }
        },
    };
    if let Some(news) = news {
        remember(&mut status, &news, now);
        let tasks = mark_claim(world, &wanted, &status);
        return Plan { tasks, status, news: Some(news), refused, ..Plan::default() };
    }
    let replicas = replicas(world, &mut status, now);
    let tasks = tasks(world, &wanted, status.operation.as_ref(), replicas);
    let again = again(world, status.operation.as_ref(), now);
    Plan { tasks, status, news: None, refused, again }
}

/// The memory as it was, less what a changed spec makes void, with what has been seen since.
fn remembered(world: &World, wanted: Option<&Wanted>) -> ExampleAppStatus {
    let mut status = world.status();
    let asked = &world.app.spec.app_version;
    let serves_after_all =
        world.current_version().as_ref() == Some(asked) && operation::started(world, asked).is_ok();
    status.failed_upgrade = status.failed_upgrade.filter(|failed| failed.what == *asked && !serves_after_all);
    let wish = begin::restore_wish(&world.app);
    status.failed_restore = status.failed_restore.filter(|failed| Some(&failed.what) == wish.as_ref());
    if wanted.is_some() {
        status.claim_name = Some(world.claim_name.clone());
        let settled = status.operation.is_none() && !begin::is_unborn(world);
        let serves = |version: &String| settled && operation::started(world, version).is_ok();
        status.current_version = world.current_version().or_else(|| world.data_version().filter(serves));
        let first = wanted.filter(|_| settled).map(|wanted| wanted.version.clone());
        status.data_version = world.data_version().or(first);
    }
    status
}

/// What an operation's beginning or end leaves behind.
fn remember(status: &mut ExampleAppStatus, news: &News, now: Timestamp) {
    status.operation = None;
    match news {
        News::Began(operation) | News::Undoing(operation) => {
            status.operations = Some(operation.id);
            status.operation = Some(operation.clone());
        }
        News::Succeeded(operation) => {
            status.current_version = Some(operation.to.clone());
            status.data_version = Some(operation.to.clone());
            match operation.kind {
                OperationKind::Upgrade => status.failed_upgrade = None,
                OperationKind::Restore => {
                    (status.restored, status.failed_restore) = (operation.wish.clone(), None);
                }
                OperationKind::Remediation => status.last_remediation = Some(Time(now)),
                OperationKind::Backup => fulfil_backup(status, operation),
            }
        }
        News::GivenUp(operation, why) => {
            let failure = |what: &str| Some(Failure { what: what.to_owned(), message: why.clone() });
            match operation.kind {
                OperationKind::Upgrade => status.failed_upgrade = failure(&operation.to),
                OperationKind::Restore => {
                    status.failed_restore = failure(operation.wish.as_deref().unwrap_or_default());
                }
                OperationKind::Remediation => status.last_remediation = Some(Time(now)),
                OperationKind::Backup => fulfil_backup(status, operation),
            }
        }
    }
}

/// The request was acted on, whatever came of it: it is not repeated until there is a new one.
fn fulfil_backup(status: &mut ExampleAppStatus, operation: &Operation) {
    let known = status.backup.take().unwrap_or_default();
    status.backup = Some(BackupStatus { request: operation.wish.clone(), ..known });
}

fn replicas(world: &World, status: &mut ExampleAppStatus, now: Timestamp) -> i32 {
    let Some(rule) = &world.app.spec.autoscaling else {
        status.autoscaling = None;
        return world.app.spec.replicas;
    };
    let next = scale::scale(rule, status.autoscaling.as_ref(), &world.load, now);
    let replicas = next.replicas;
    status.autoscaling = Some(next);
    replicas
}

/// The version and the number of pods at this step.
fn shape(world: &World, wanted: &Wanted, operation: Option<&Operation>, replicas: i32) -> (String, i32) {
    let Some(operation) = operation else {
        let version = world.data_version().unwrap_or_else(|| wanted.version.clone());
        return (version, if begin::is_unborn(world) { 0 } else { replicas });
    };
    let from = operation.from.clone().unwrap_or_else(|| operation.to.clone());
    match operation.step {
        Step::BackUp => (from, replicas),
        Step::Stop | Step::Restore | Step::Migrate | Step::UndoStop | Step::UndoData => (from, 0),
        Step::Start => (operation.to.clone(), replicas),
        Step::UndoStart if operation.from.is_none() => (from, 0),
        Step::UndoStart => (from, replicas),
    }
}

/// Everything that should be there at this step, and the Job of the step.
fn tasks(world: &World, wanted: &Wanted, operation: Option<&Operation>, replicas: i32) -> Vec<Task> {
    let (version, replicas) = shape(world, wanted, operation, replicas);
    let mut tasks = vec![Task::Account(Box::new(build::account(world)))];
    if !world.has_secret {
        tasks.push(Task::Password(Box::new(build::secret(world))));
    }
    if has_own_claim(world) {
        let moved = operation.filter(|operation| operation.step == Step::Start && operation.from.is_some());
        let version = moved.map(|operation| operation.to.clone()).or_else(|| world.current_version());
        tasks.push(Task::Claim(Box::new(build::claim(world, wanted, version))));
    }
    tasks.push(Task::Service(Box::new(build::service(world))));
    tasks.push(Task::Deployment(Box::new(build::deployment(world, wanted, &version, replicas))));
    let disrupted =
        operation.is_some_and(|operation| operation.step != Step::BackUp) || begin::is_unborn(world);
    tasks.push(match build::schedule(world, wanted, disrupted) {
        Some(schedule) => Task::Schedule(Box::new(schedule)),
        None => Task::Unschedule,
    });
    tasks.extend(operation.and_then(|operation| job(world, operation)));
    tasks
}

/// The claim with the version that the status is about to name, unless it has it already.
fn mark_claim(world: &World, wanted: &Wanted, status: &ExampleAppStatus) -> Vec<Task> {
    let Some(claim) = world.claim.as_ref().filter(|_| has_own_claim(world)) else { return Vec::new() };
    if status.current_version.is_none()
        || claim.annotations().get(names::DATA_VERSION) == status.current_version.as_ref()
    {
        return Vec::new();
    }
    vec![Task::Claim(Box::new(build::claim(world, wanted, status.current_version.clone())))]
}

fn has_own_claim(world: &World) -> bool {
    world.claim_name == names::claim(&world.app) && world.app.spec.storage.existing_claim.is_none()
}

/// The Job of this step, unless it is there already.
fn job(world: &World, operation: &Operation) -> Option<Task> {
    let job = build::job(world, operation)?;
    if world.run(&job.name_any()).is_some() {
        return None;
    }
    match operation.step {
        Step::BackUp => Some(Task::Run(Box::new(job))),
        _ => world.is_stopped(&job.name_any()).then(|| Task::RunAlone(Box::new(job))),
    }
}

fn again(world: &World, operation: Option<&Operation>, now: Timestamp) -> Option<(Duration, &'static str)> {
    if let Some(operation) =
        operation.filter(|operation| matches!(operation.step, Step::Start | Step::UndoStart))
    {
        let left = START_DEADLINE - now.duration_since(operation.step_started_at.0);
        return Some((
            Duration::try_from(left).unwrap_or_default().max(Duration::from_secs(1)),
            "the pods to become ready",
        ));
    }
    world.app.spec.autoscaling.as_ref().map(|_| (LOOK, "another look at the load"))
}

impl Task {
    /// Whether it makes what is not there, or switches what is: not on an old picture.
    pub(crate) fn wants_certainty(&self, world: &World) -> bool {
        match self {
            Self::Account(_) => world.account.is_none(),
            Self::Claim(_) => world.claim.is_none(),
            Self::Service(_) => world.service.is_none(),
            Self::Deployment(_) => world.deployment.is_none(),
            Self::Schedule(wanted) => {
                world.schedule.as_ref().is_none_or(|live| live.spec.suspend != wanted.spec.suspend)
            }
            Self::Password(_) | Self::Run(_) | Self::RunAlone(_) | Self::Unschedule => true,
        }
    }

    /// Whether it stops pods that serve, or changes data.
    pub(crate) fn is_disruptive(&self, world: &World) -> bool {
        match self {
            Self::RunAlone(_) => true,
            Self::Deployment(wanted) => world.deployment.as_ref().is_some_and(|live| {
                let stops = wanted.spec.replicas == Some(0);
                live.spec.replicas != Some(0) && (stops || version_of(wanted) != version_of(live))
            }),
            _ => false,
        }
    }
}

/// What would be done, a line each.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(it) => write!(f, "apply ServiceAccount {}", it.name_any()),
            Self::Password(it) => write!(f, "create Secret {} with a new password", it.name_any()),
            Self::Claim(it) => write!(f, "apply PersistentVolumeClaim {}", it.name_any()),
            Self::Service(it) => write!(f, "apply Service {}", it.name_any()),
            Self::Deployment(it) => {
                let version = version_of(it).unwrap_or_default();
                write!(f, "apply Deployment {}: {version} x {}", it.name_any(), it.spec.replicas.unwrap_or(1))
            }
            Self::Schedule(it) => {
                let suspended = if it.spec.suspend == Some(true) { ", suspended" } else { "" };
                write!(f, "apply CronJob {}{suspended}", it.name_any())
            }
            Self::Unschedule => f.write_str("no CronJob"),
            Self::Run(it) => write!(f, "run Job {}", it.name_any()),
            Self::RunAlone(it) => write!(f, "run Job {}, alone on the volume", it.name_any()),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Refusal { field, why } in &self.refused {
            writeln!(f, "refuse {field}: {why}")?;
        }
        match &self.news {
            Some(News::Began(it)) => writeln!(f, "begin {:?} {} at {:?}", it.kind, it.id, it.step)?,
            Some(News::Succeeded(it)) => writeln!(f, "{:?} {} is done: {}", it.kind, it.id, it.to)?,
            Some(News::Undoing(it)) => {
                writeln!(f, "undo {:?} {}: {}", it.kind, it.id, it.failure.as_deref().unwrap_or_default())?;
            }
            Some(News::GivenUp(it, why)) => writeln!(f, "give up {:?} {}: {why}", it.kind, it.id)?,
            None => {}
        }
        if let (Some(it), false) = (&self.status.operation, matches!(self.news, Some(News::Began(_)))) {
            writeln!(f, "{:?} {}: {:?}", it.kind, it.id, it.step)?;
        }
        self.tasks.iter().try_for_each(|task| writeln!(f, "{task}"))?;
        match self.again {
            Some((after, what)) => writeln!(f, "look again in {} s for {what}", after.as_secs()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
