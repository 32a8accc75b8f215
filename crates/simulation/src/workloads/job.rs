//! Jobs: Pods that run until enough of them have succeeded, or too many failed, or the time is up.
//!
//! Source: KEP-3939, KEP-3998 and "Terminal Job conditions" of the documentation: `SuccessCriteriaMet` and `FailureTarget` come
//! first, `Complete` and `Failed` when no Pod is left.

use jiff::Timestamp;
use k8s_openapi::api::{
    batch::v1::{Job, JobCondition, JobStatus, PodFailurePolicyRule},
    core::v1::Pod,
};
use kube::ResourceExt as _;
use serde_json::json;

use super::{
    picture::Picture,
    pods::{self, count},
    turn::Turn,
};

/// Holds a finished pod until it has been counted.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// The wait before the second pod; it doubles.
const BACKOFF: i64 = 10;
const LONGEST_BACKOFF: i64 = 600;

pub(super) fn decide(picture: &Picture, turn: &mut Turn) {
    release_orphans(picture, turn);
    for job in picture.jobs.values() {
        match finished(job) {
            Some(_) => expire(job, turn),
            None if job.metadata.deletion_timestamp.is_none() => one(job, picture, turn),
            None => {}
        }
    }
}

/// The condition that says how it ended.
pub(super) fn finished(job: &Job) -> Option<&JobCondition> {
    find(job.status.as_ref()?, "Complete").or_else(|| find(job.status.as_ref()?, "Failed"))
}

fn find<'s>(status: &'s JobStatus, kind: &str) -> Option<&'s JobCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_ == kind && condition.status == "True")
}

fn is_tracked(pod: &Pod) -> bool {
    pod.finalizers().iter().any(|finalizer| finalizer == TRACKING)
}

fn release(pod: &Pod, turn: &mut Turn) {
    let rest: Vec<&String> = pod.finalizers().iter().filter(|finalizer| *finalizer != TRACKING).collect();
    turn.patch(pod, json!({"metadata": {"finalizers": rest}}));
}

/// Nobody counts the pods of a Job that is gone or done.
fn release_orphans(picture: &Picture, turn: &mut Turn) {
    for pod in picture.pods.values().filter(|pod| is_tracked(pod)) {
        let owner = pods::controller(pod).filter(|owner| owner.kind == "Job");
        let job = owner.and_then(|owner| {
            let job = picture.jobs.get(&(pod.namespace().unwrap_or_default(), owner.name.clone()))?;
            (job.metadata.uid.as_ref() == Some(&owner.uid)).then_some(job)
        });
        if job.is_none_or(|job| finished(job).is_some()) {
            release(pod, turn);
        }
    }
}

/// `ttlSecondsAfterFinished`.
fn expire(job: &Job, turn: &mut Turn) {
    let ttl = job.spec.as_ref().and_then(|spec| spec.ttl_seconds_after_finished);
    let ended = finished(job).and_then(|condition| condition.last_transition_time.as_ref());
    if let (Some(ttl), Some(ended), None) = (ttl, ended, &job.metadata.deletion_timestamp)
        && turn.is_past(ended.0, i64::from(ttl))
    {
        turn.delete(job);
    }
}

fn one(job: &Job, picture: &Picture, turn: &mut Turn) {
    let Some(spec) = &job.spec else { return };
    let old = job.status.clone().unwrap_or_default();
    let all = pods::owned(picture, job);
    let active: Vec<&Pod> = all.iter().copied().filter(|pod| pods::is_active(pod)).collect();
    let going = all.iter().filter(|pod| pods::is_going(pod) && !pods::is_over(pod)).count();
    let uncounted = |succeeded: bool| {
        let over = |pod: &&&Pod| is_tracked(pod) && !pods::is_active(pod);
        all.iter().filter(over).filter(|pod| (pods::phase(pod) == "Succeeded") == succeeded).count()
    };
    let sum = |before: Option<i32>, more: usize| {
        usize::try_from(before.unwrap_or_default()).unwrap_or_default() + more
    };
    let succeeded = sum(old.succeeded, uncounted(true));
    let failed = sum(old.failed, uncounted(false));
    let mut new = JobStatus {
        active: count(active.len()),
        ready: Some(count(active.iter().filter(|pod| pods::is_ready(pod)).count()).unwrap_or_default()),
        terminating: Some(count(going).unwrap_or_default()),
        succeeded: count(succeeded),
        failed: count(failed),
        ..old.clone()
    };
    let suspended = spec.suspend == Some(true);
    if !suspended && new.start_time.is_none() {
        new.start_time = Some(turn.time());
    }
    let wanted = usize::try_from(spec.completions.unwrap_or(1)).unwrap_or_default();
    let limit = usize::try_from(spec.backoff_limit.unwrap_or(6)).unwrap_or_default();
    let restarts: usize = active.iter().map(|pod| restarts(pod)).sum();
    let started = new.start_time.as_ref().map_or(turn.now(), |time| time.0);
    let late =
        spec.active_deadline_seconds.is_some_and(|seconds| !suspended && turn.is_past(started, seconds));

    if let Some(target) = find(&old, "FailureTarget").cloned() {
        if active.is_empty() && going == 0 {
            let (reason, message) = (target.reason.unwrap_or_default(), target.message.unwrap_or_default());
            add(&mut new, "Failed", &reason, &message, turn);
        }
        active.iter().for_each(|pod| turn.delete(*pod));
    } else if find(&old, "SuccessCriteriaMet").is_some() {
        if active.is_empty() && going == 0 {
            add(
                &mut new,
                "Complete",
                "CompletionsReached",
                "Reached expected number of succeeded pods",
                turn,
            );
            new.completion_time = Some(turn.time());
        }
        active.iter().for_each(|pod| turn.delete(*pod));
    } else if succeeded >= wanted {
        let message = "Reached expected number of succeeded pods";
        add(&mut new, "SuccessCriteriaMet", "CompletionsReached", message, turn);
    } else if let Some(message) = all.iter().find_map(|pod| fatal(job, pod)) {
        add(&mut new, "FailureTarget", "PodFailurePolicy", &message, turn);
    } else if failed > limit || restarts > limit {
        let message = "Job has reached the specified backoff limit";
        add(&mut new, "FailureTarget", "BackoffLimitExceeded", message, turn);
    } else if late {
        let message = "Job was active longer than specified deadline";
        add(&mut new, "FailureTarget", "DeadlineExceeded", message, turn);
    } else if suspended {
        active.iter().for_each(|pod| turn.delete(*pod));
        if find(&old, "Suspended").is_none() {
            add(&mut new, "Suspended", "JobSuspended", "Job suspended", turn);
        }
    } else {
        if let Some(conditions) = &mut new.conditions {
            conditions.retain(|condition| condition.type_ != "Suspended");
        }
        let parallel = usize::try_from(spec.parallelism.unwrap_or(1)).unwrap_or_default();
        let missing = parallel.min(wanted - succeeded).saturating_sub(active.len());
        if missing > 0 && backoff_is_over(&all, failed, turn) {
            let first = succeeded + failed + active.len();
            (first..first + missing).for_each(|number| create(job, number, turn));
        }
    }
    turn.status(job, &old, &new);
    all.iter().filter(|pod| is_tracked(pod) && !pods::is_active(pod)).for_each(|pod| release(pod, turn));
}

/// Why a failed pod makes the whole Job fail, by its `podFailurePolicy`. Rules about conditions are left out.
fn fatal(job: &Job, pod: &Pod) -> Option<String> {
    let rules = &job.spec.as_ref()?.pod_failure_policy.as_ref()?.rules;
    let containers = pod.status.as_ref()?.container_statuses.as_ref()?;
    let codes = containers
        .iter()
        .filter_map(|container| Some(container.state.as_ref()?.terminated.as_ref()?.exit_code));
    let code = codes.filter(|code| *code != 0).max().filter(|_| pods::phase(pod) == "Failed")?;
    let matches = |rule: &&PodFailurePolicyRule| {
        rule.on_exit_codes
            .as_ref()
            .is_some_and(|codes| (codes.operator == "In") == codes.values.contains(&code))
    };
    let (number, rule) = rules.iter().enumerate().find(|(_, rule)| matches(rule))?;
    (rule.action == "FailJob").then(|| {
        let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
        format!("Container for pod {namespace}/{name} failed with exit code {code} matching FailJob rule at index {number}")
    })
}

fn restarts(pod: &Pod) -> usize {
    let containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    containers.map(|container| usize::try_from(container.restart_count).unwrap_or_default()).sum()
}

/// Each failure doubles the wait for the next pod.
fn backoff_is_over(all: &[&Pod], failed: usize, turn: &mut Turn) -> bool {
    let Some(last) = all.iter().filter_map(|pod| ended(pod)).max() else { return true };
    let doublings = u32::try_from(failed.saturating_sub(1)).unwrap_or(u32::MAX);
    let wait = BACKOFF.saturating_mul(2_i64.saturating_pow(doublings)).min(LONGEST_BACKOFF);
    failed == 0 || turn.is_past(last, wait)
}

/// When a pod failed.
fn ended(pod: &Pod) -> Option<Timestamp> {
    let containers = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let ended = containers.filter_map(|container| container.state.as_ref()?.terminated.as_ref());
    ended
        .filter(|ended| ended.exit_code != 0)
        .filter_map(|ended| ended.finished_at.as_ref())
        .map(|time| time.0)
        .max()
}

fn create(job: &Job, number: usize, turn: &mut Turn) {
    let Some(spec) = &job.spec else { return };
    let uid = job.uid().unwrap_or_default();
    let labels = [
        ("batch.kubernetes.io/controller-uid", uid.clone()),
        ("batch.kubernetes.io/job-name", job.name_any()),
        ("controller-uid", uid),
        ("job-name", job.name_any()),
    ];
    let mut pod = pods::from_template(&spec.template, job, format!("{}-{number}", job.name_any()), labels);
    pod.metadata.finalizers.get_or_insert_default().push(TRACKING.into());
    turn.create(&pod);
}

fn add(status: &mut JobStatus, kind: &str, reason: &str, message: &str, turn: &Turn) {
    status.conditions.get_or_insert_default().push(JobCondition {
        type_: kind.into(),
        status: "True".into(),
        reason: Some(reason.into()),
        message: Some(message.into()),
        last_probe_time: Some(turn.time()),
        last_transition_time: Some(turn.time()),
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::Cluster;

    #[tokio::test(start_paused = true)]
    async fn a_job_whose_pod_succeeds_is_complete_and_the_pod_stays_with_its_message() {
        let cluster = Cluster::new();
        cluster.job("migrate", json!({}), "exit 0 done").await;
        cluster.rest().await;
        assert_eq!(cluster.conditions("jobs.batch", "migrate"), ["SuccessCriteriaMet=True", "Complete=True"]);
        let status = cluster.status("jobs.batch", "migrate");
        assert_eq!(status["succeeded"], json!(1));
        assert!(status["completionTime"].is_string() && status["startTime"].is_string(), "{status}");
        assert_eq!(cluster.pods().await, ["migrate-0 exit 0 done: Succeeded done"]);
        let orders = cluster.seen_conditions("jobs.batch", "migrate");
        assert!(
            orders.contains(&vec!["SuccessCriteriaMet=True".into()]),
            "first it is known, then it is over: {orders:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_that_fails_tries_again_up_to_its_limit() {
        let cluster = Cluster::new();
        cluster.job("backup", json!({"backoffLimit": 2}), "exit 75 unreachable").await;
        cluster.rest().await;
        let status = cluster.status("jobs.batch", "backup");
        assert_eq!(cluster.conditions("jobs.batch", "backup"), ["FailureTarget=True", "Failed=True"]);
        assert_eq!(status["conditions"][1]["reason"], json!("BackoffLimitExceeded"));
        assert_eq!(status["failed"], json!(3));
        assert_eq!(cluster.created("pods"), ["backup-0", "backup-1", "backup-2"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_exit_code_that_the_policy_calls_fatal_is_not_tried_again() {
        let cluster = Cluster::new();
        let policy =
            json!({"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [64, 65]}}]});
        cluster.job("migrate", json!({"podFailurePolicy": policy}), "exit 65 corrupt").await;
        cluster.rest().await;
        assert_eq!(
            cluster.status("jobs.batch", "migrate")["conditions"][1]["reason"],
            json!("PodFailurePolicy")
        );
        assert_eq!(cluster.pods().await, ["migrate-0 exit 65 corrupt: Failed corrupt"]);
    }

    #[tokio::test(start_paused = true)]
    async fn with_on_failure_the_same_pod_tries_again() {
        let cluster = Cluster::new();
        cluster.job_restarting("backup", json!({"backoffLimit": 2}), "exit 75 unreachable").await;
        cluster.rest().await;
        assert_eq!(cluster.conditions("jobs.batch", "backup"), ["FailureTarget=True", "Failed=True"]);
        assert_eq!(cluster.created("pods"), ["backup-0"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_that_takes_too_long_fails_and_its_pod_goes() {
        let cluster = Cluster::new();
        cluster.job("slow", json!({"activeDeadlineSeconds": 30}), "serve 1").await;
        cluster.pass(20).await;
        assert!(cluster.conditions("jobs.batch", "slow").is_empty());
        cluster.rest().await;
        assert_eq!(
            cluster.status("jobs.batch", "slow")["conditions"][1]["reason"],
            json!("DeadlineExceeded")
        );
        assert!(cluster.pods().await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_somebody_deletes_counts_as_failed_and_is_replaced() {
        let cluster = Cluster::new();
        cluster.job("slow", json!({}), "serve 1").await;
        cluster.rest().await;
        cluster.delete_pod("slow-0").await;
        cluster.rest().await;
        assert_eq!(cluster.status("jobs.batch", "slow")["failed"], json!(1));
        assert_eq!(cluster.pods().await, ["slow-1 serve 1: ready"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_finished_job_goes_when_its_time_is_up() {
        let cluster = Cluster::new();
        cluster.job("migrate", json!({"ttlSecondsAfterFinished": 300}), "exit 0 done").await;
        cluster.pass(200).await;
        assert_eq!(cluster.pods().await.len(), 1);
        cluster.pass(200).await;
        assert!(cluster.pods().await.is_empty());
        assert_eq!(cluster.deleted("jobs"), ["migrate"]);
    }
}
