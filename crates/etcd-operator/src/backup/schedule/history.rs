//! What a schedule's Jobs have come to. Pure. Kubernetes keeps the last few of them: what they said is kept in the status.

use etcd_types::{EtcdBackupScheduleStatus, LastFailure, LastSuccess};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use k8s_openapi::{api::batch::v1::Job, apimachinery::pkg::apis::meta::v1::Time};
use kit::{Run, cron::Times, run};
use kube::ResourceExt as _;

use super::World;
use crate::backup::{ended, names::Work};

/// More than that are not counted one by one.
const MOST: usize = 1000;

/// What is known of the past.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct History {
    pub(super) last_success: Option<LastSuccess>,
    pub(super) last_failure: Option<LastFailure>,
    /// Why older ones could not be removed after the newest.
    pub(super) not_removed: Option<String>,
    /// The version of etcd that the newest is of, where a Job is left that tells.
    pub(super) etcd_version: Option<String>,
    /// A Job that has not ended.
    pub(super) running: Option<String>,
}

pub(super) fn history(world: &World, before: &EtcdBackupScheduleStatus) -> History {
    let mut history = History {
        last_success: before.last_success.clone(),
        last_failure: before.last_failure.clone(),
        ..History::default()
    };
    let pods = world.pods();
    let mut jobs: Vec<&Job> = world.jobs(Work::Take).collect();
    jobs.sort_by_key(|job| job.creation_timestamp().map(|at| at.0));
    for job in jobs {
        match run(job, &pods) {
            Run::Running(_) => history.running = Some(job.name_any()),
            Run::Succeeded(words) => history.succeeded(job, words.as_deref()),
            Run::Failed { message, .. } => history.failed(job, &message),
        }
    }
    history
}

impl History {
    fn succeeded(&mut self, job: &Job, words: Option<&str>) {
        let Some(at) = run::completed(job) else { return };
        let taken = words.and_then(ended::Taken::read);
        let newest = self.last_success.as_ref().map(|last| last.at.0);
        if newest > Some(at) {
            return;
        }
        if let Some(taken) = &taken {
            self.not_removed = taken.not_removed.clone();
            self.etcd_version = Some(taken.manifest.etcd_version.clone());
        }
        // Words that are lost, of one that was read before, stay as they were read.
        if newest == Some(at) && taken.is_none() {
            return;
        }
        let nothing = LastSuccess {
            id: None,
            at: Time(at),
            revision: None,
            cluster_id: None,
            bytes: None,
            stored_bytes: None,
            milliseconds: None,
            removed: None,
        };
        self.last_success = Some(taken.map_or(nothing, |taken| taken.last_success(at)));
    }

    fn failed(&mut self, job: &Job, message: &str) {
        let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let failed = conditions.into_iter().find(|it| it.type_ == "Failed" && it.status == "True");
        let Some(at) = failed.and_then(|it| it.last_transition_time.as_ref()).map(|at| at.0) else { return };
        if self.last_failure.as_ref().is_some_and(|last| last.at.0 >= at) {
            return;
        }
        let message = ended::sentence(message);
        self.last_failure = Some(LastFailure { at: Time(at), job: job.name_any(), message });
    }

    /// Whether the newest attempt came to nothing.
    pub(super) fn is_failing(&self) -> bool {
        let success = self.last_success.as_ref().map(|last| last.at.0);
        self.last_failure.as_ref().is_some_and(|last| Some(last.at.0) > success)
    }
}

/// How many times have passed since `since` at which a backup should have begun, and been there after `patience`.
pub(super) fn missed(
    times: &Times,
    zone: &TimeZone,
    since: Timestamp,
    patience: SignedDuration,
    now: Timestamp,
) -> i64 {
    let Ok(until) = now.checked_sub(patience) else { return 0 };
    let all = std::iter::successors(times.after(since, zone), |last| times.after(*last, zone));
    let count = all.take(MOST).take_while(|time| *time <= until).count();
    i64::try_from(count).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_is_missed_when_the_time_it_may_take_has_passed() {
        let at = |text: &str| -> Timestamp { format!("2026-01-{text}:00Z").parse().unwrap() };
        let daily = Times::parse("0 3 * * *").unwrap();
        let count = |since: &str, now: &str| {
            missed(&daily, &TimeZone::UTC, at(since), SignedDuration::from_hours(1), at(now))
        };
        assert_eq!(count("01T03:02", "02T02:59"), 0, "it is not due");
        assert_eq!(count("01T03:02", "02T03:59"), 0, "it may still be running");
        assert_eq!(count("01T03:02", "02T04:00"), 1);
        assert_eq!(count("01T03:02", "09T05:00"), 8);
    }
}
