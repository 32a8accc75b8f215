//! CronJobs: a Job at each time of a schedule.

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        batch::v1::{CronJob, CronJobStatus, Job},
        core::v1::ObjectReference,
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::{ResourceExt as _, core::ObjectMeta};

use super::{job, picture::Picture, pods, schedule::Schedule, turn::Turn};

const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

pub(super) fn decide(picture: &Picture, turn: &mut Turn) {
    for cron in picture.cron_jobs.values() {
        if cron.metadata.deletion_timestamp.is_none() {
            one(cron, picture, turn);
        }
    }
}

fn one(cron: &CronJob, picture: &Picture, turn: &mut Turn) {
    let jobs: Vec<&Job> = picture
        .jobs
        .values()
        .filter(|job| {
            pods::controller(*job).is_some_and(|owner| Some(&owner.uid) == cron.metadata.uid.as_ref())
        })
        .collect();
    let old = cron.status.clone().unwrap_or_default();
    let active: Vec<&Job> = jobs.iter().copied().filter(|job| job::finished(job).is_none()).collect();
    let succeeded = jobs.iter().filter_map(|job| job.status.as_ref()?.completion_time.clone());
    let references: Vec<ObjectReference> = active.iter().map(|job| reference(job)).collect();
    let mut new = CronJobStatus {
        active: Some(references).filter(|active| !active.is_empty()),
        last_successful_time: succeeded.chain(old.last_successful_time.clone()).max_by_key(|time| time.0),
        ..old.clone()
    };
    if let Some(time) = due(cron, turn) {
        let replaces = cron.spec.concurrency_policy.as_deref() == Some("Replace");
        let forbids = cron.spec.concurrency_policy.as_deref() == Some("Forbid");
        if replaces {
            active
                .iter()
                .filter(|job| job.metadata.deletion_timestamp.is_none())
                .for_each(|job| turn.delete(*job));
        }
        if active.is_empty() || !forbids {
            turn.create(&scheduled(cron, time));
            new.last_schedule_time = Some(Time(time));
        }
    }
    turn.status(cron, &old, &new);
    forget(cron, &jobs, turn);
}

/// The last time that was missed since the last run; nobody makes up for the others.
fn due(cron: &CronJob, turn: &mut Turn) -> Option<Timestamp> {
    if cron.spec.suspend == Some(true) {
        return None;
    }
    let schedule = match Schedule::parse(&cron.spec.schedule) {
        Ok(schedule) => schedule,
        Err(error) => {
            tracing::error!(name = cron.name_any(), %error, "a CronJob that never runs");
            return None;
        }
    };
    let last = cron.status.as_ref().and_then(|status| status.last_schedule_time.as_ref());
    let since = last.or(cron.metadata.creation_timestamp.as_ref())?.0;
    let now = turn.now();
    turn.is_past(schedule.next(now)?, 0);
    let time = schedule.last(since, now)?;
    let tolerated = cron.spec.starting_deadline_seconds;
    tolerated.is_none_or(|seconds| now.as_second() - time.as_second() <= seconds).then_some(time)
}

fn reference(job: &Job) -> ObjectReference {
    ObjectReference {
        api_version: Some("batch/v1".into()),
        kind: Some("Job".into()),
        name: job.metadata.name.clone(),
        namespace: job.metadata.namespace.clone(),
        uid: job.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

fn scheduled(cron: &CronJob, time: Timestamp) -> Job {
    let template = &cron.spec.job_template;
    let meta = template.metadata.clone().unwrap_or_default();
    let mut annotations = meta.annotations.unwrap_or_default();
    annotations.insert(SCHEDULED.into(), time.to_string());
    Job {
        metadata: ObjectMeta {
            name: Some(format!("{}-{}", cron.name_any(), time.as_second() / 60)),
            namespace: cron.namespace(),
            labels: meta.labels,
            annotations: Some(annotations),
            owner_references: pods::reference(cron).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

/// Keeps the newest finished Jobs only.
fn forget(cron: &CronJob, jobs: &[&Job], turn: &mut Turn) {
    let limits = [
        ("Complete", cron.spec.successful_jobs_history_limit.unwrap_or(3)),
        ("Failed", cron.spec.failed_jobs_history_limit.unwrap_or(1)),
    ];
    for (how, limit) in limits {
        let ended = |job: &&&Job| job::finished(job).is_some_and(|condition| condition.type_ == how);
        let mut ended: Vec<&&Job> = jobs.iter().filter(ended).collect();
        ended.sort_by_key(|job| (job.creation_timestamp().map(|time| time.0), job.name_any()));
        let excess = ended.len().saturating_sub(usize::try_from(limit).unwrap_or_default());
        let old = ended.iter().take(excess).filter(|job| job.metadata.deletion_timestamp.is_none());
        old.for_each(|job| turn.delete(**job));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::Cluster;

    #[tokio::test(start_paused = true)]
    async fn a_job_runs_at_its_time_and_only_the_newest_are_kept() {
        let cluster = Cluster::new();
        cluster
            .cron_job(
                "backup",
                json!({"schedule": "30 * * * *", "successfulJobsHistoryLimit": 2}),
                "exit 0 done",
            )
            .await;
        cluster.pass(29 * 60).await;
        assert!(cluster.created("jobs").is_empty(), "not before its time");
        cluster.pass(2 * 60).await;
        // Minutes since 1970 of 2026-01-01T00:30Z: the name that Kubernetes gives.
        assert_eq!(cluster.created("jobs"), ["backup-29453790"]);
        let status = cluster.status("cronjobs.batch", "backup");
        assert_eq!(status["lastScheduleTime"], json!("2026-01-01T00:30:00Z"));
        assert!(status["lastSuccessfulTime"].is_string(), "{status}");
        cluster.pass(3 * 3600).await;
        assert_eq!(cluster.created("jobs").len(), 4);
        assert_eq!(cluster.deleted("jobs"), ["backup-29453790", "backup-29453850"]);
    }

    #[tokio::test(start_paused = true)]
    async fn forbid_waits_for_the_job_before_and_suspended_means_never() {
        let cluster = Cluster::new();
        cluster
            .cron_job("slow", json!({"schedule": "* * * * *", "concurrencyPolicy": "Forbid"}), "serve 1")
            .await;
        cluster.cron_job("never", json!({"schedule": "* * * * *", "suspend": true}), "exit 0 done").await;
        cluster.pass(600).await;
        assert_eq!(cluster.created("jobs"), ["slow-29453761"]);
        assert_eq!(cluster.status("cronjobs.batch", "slow")["active"][0]["name"], json!("slow-29453761"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_that_somebody_makes_from_a_cron_job_counts_as_its_own() {
        let cluster = Cluster::new();
        cluster.cron_job("backup", json!({"schedule": "0 3 * * *"}), "exit 0 done").await;
        let owner = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "backup", "uid": cluster.uid("cronjobs.batch", "backup"), "controller": true}]);
        cluster.job("by-hand", json!({}), "exit 0 done").await;
        cluster.patch("jobs.batch", "by-hand", json!({"metadata": {"ownerReferences": owner}})).await;
        cluster.rest().await;
        let status = cluster.status("cronjobs.batch", "backup");
        assert!(status["lastSuccessfulTime"].is_string() && status["lastScheduleTime"].is_null(), "{status}");
    }
}
