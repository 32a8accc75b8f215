//! Jobs that are run once: how one stands, what it had to say, and how one is written.
//!
//! The Job's own conditions decide; its pods only add their last words, because they may be gone long before the Job is.

mod end;

use std::{borrow::Borrow, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        batch::v1::{
            CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec, PodFailurePolicy,
            PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule,
        },
        core::v1::{ContainerStateTerminated, Pod, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::ResourceExt as _;
use serde_json::Value;

pub use end::{Failure, end, exit};

use crate::{
    pods,
    readiness::{Readiness, Workload},
};

/// Long enough for an operator that was away to see how a Job ended. One that is gone may be run again.
const KEPT_SECONDS: i32 = 24 * 60 * 60;

/// How a Job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// It has not ended; this is what it waits for.
    Running(String),
    /// It is done. What it wrote to its termination log, if a pod is left that knows.
    Succeeded(Option<String>),
    /// It has failed for good.
    Failed {
        /// The exit code of the last attempt, if a pod is left that knows.
        code: Option<i32>,
        /// What it wrote to its termination log, or else why Kubernetes gave up.
        message: String,
    },
}

impl Run {
    /// What it said in the end, if it is done and said it as JSON.
    pub fn said(&self) -> Value {
        let Self::Succeeded(Some(said)) = self else { return Value::Null };
        serde_json::from_str(said).unwrap_or_default()
    }
}

/// How `job` stands. `pods` may hold more than its own.
pub fn run<P: Borrow<Pod>>(job: &Job, pods: &[P]) -> Run {
    match job.readiness() {
        Readiness::Waiting(why) => Run::Running(why),
        Readiness::Ready => Run::Succeeded(last_end(job, pods, |end| end.exit_code == 0).and_then(words)),
        Readiness::Failed(why) => {
            let last = last_end(job, pods, |end| end.exit_code != 0);
            Run::Failed { code: last.map(|end| end.exit_code), message: last.and_then(words).unwrap_or(why) }
        }
    }
}

/// Those of `jobs` that are over. Kubernetes may count a pod as done some time before it says when the Job was: such a Job is not
/// over yet.
pub fn ended<'a, P: Borrow<Pod>>(
    jobs: impl IntoIterator<Item = &'a Job>,
    pods: &[P],
) -> impl Iterator<Item = (&'a Job, Run)> {
    let runs = jobs.into_iter().map(|job| (job, run(job, pods)));
    runs.filter(|(job, run)| match run {
        Run::Running(_) => false,
        Run::Succeeded(_) => completed(job).is_some(),
        Run::Failed { .. } => true,
    })
}

/// When a Job was done.
pub fn completed(job: &Job) -> Option<Timestamp> {
    job.status.as_ref()?.completion_time.as_ref().map(|time| time.0)
}

/// What a pod of the Job `job` waits for, if it is more than its next moment.
pub fn waits<'a>(job: &str, pods: impl IntoIterator<Item = &'a Pod>) -> Option<String> {
    let passing = |why: &str| why.starts_with("ContainersNotReady") || why.starts_with("PodCompleted");
    let own = pods.into_iter().filter(|pod| pods::is_of_job(pod, job));
    own.map(Workload::readiness).find_map(|readiness| match readiness {
        Readiness::Waiting(why) => (!passing(&why)).then_some(why),
        Readiness::Ready | Readiness::Failed(_) => None,
    })
}

/// A Job whose pod is tried a few times, but not again after one of the exit codes `hopeless`, nor for longer than `deadline`: one
/// that cannot even start must not hold others up for ever.
pub fn job(mut pods: PodTemplateSpec, hopeless: &[i32], deadline: Duration) -> JobSpec {
    pods.spec.get_or_insert_default().restart_policy = Some("Never".to_owned());
    let codes = PodFailurePolicyOnExitCodesRequirement {
        operator: "In".to_owned(),
        values: hopeless.to_vec(),
        ..PodFailurePolicyOnExitCodesRequirement::default()
    };
    let fail = PodFailurePolicyRule {
        action: "FailJob".to_owned(),
        on_exit_codes: Some(codes),
        ..PodFailurePolicyRule::default()
    };
    JobSpec {
        backoff_limit: Some(3),
        active_deadline_seconds: i64::try_from(deadline.as_secs()).ok(),
        pod_failure_policy: Some(PodFailurePolicy { rules: vec![fail] }),
        template: pods,
        ..JobSpec::default()
    }
}

/// A Job that is run once, and goes a day after its end.
pub fn once(metadata: ObjectMeta, job: JobSpec) -> Job {
    let spec = JobSpec { ttl_seconds_after_finished: Some(KEPT_SECONDS), ..job };
    Job { metadata, spec: Some(spec), status: None }
}

/// A CronJob that runs `job` by `schedule` in UTC, one at a time. A run that was missed is made up for within the hour.
pub fn cron_job(metadata: ObjectMeta, schedule: String, job: JobSpec) -> CronJob {
    let labels = job.template.metadata.as_ref().and_then(|metadata| metadata.labels.clone());
    let template =
        JobTemplateSpec { metadata: Some(ObjectMeta { labels, ..ObjectMeta::default() }), spec: Some(job) };
    let spec = CronJobSpec {
        schedule,
        concurrency_policy: Some("Forbid".to_owned()),
        starting_deadline_seconds: Some(3600),
        successful_jobs_history_limit: Some(3),
        failed_jobs_history_limit: Some(3),
        time_zone: Some("Etc/UTC".to_owned()),
        job_template: template,
        suspend: None,
    };
    CronJob { metadata, spec, status: None }
}

/// The end of the first container that was like `wanted`, of the Job's pod that ended last.
fn last_end<'a, P: Borrow<Pod>>(
    job: &Job,
    pods: &'a [P],
    wanted: impl Fn(&ContainerStateTerminated) -> bool,
) -> Option<&'a ContainerStateTerminated> {
    let uid = job.uid()?;
    let own = pods.iter().map(Borrow::borrow).filter(|pod: &&Pod| {
        pod.owner_references().iter().any(|owner| owner.controller == Some(true) && owner.uid == uid)
    });
    let ends = own.filter_map(|pod| {
        let containers = pod.status.as_ref()?.container_statuses.as_ref()?;
        containers
            .iter()
            .find_map(|container| container.state.as_ref()?.terminated.as_ref().filter(|end| wanted(end)))
    });
    ends.max_by_key(|end| end.finished_at.as_ref().map(|at| at.0))
}

fn words(end: &ContainerStateTerminated) -> Option<String> {
    end.message.as_deref().map(str::trim).filter(|message| !message.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(conditions: Value) -> Job {
        serde_json::from_value(json!({"metadata": {"name": "backup", "uid": "j"}, "spec": {"template": {}}, "status": {"conditions": conditions}})).unwrap()
    }

    fn pod(owner: &str, code: i32, finished: &str, message: &str) -> Pod {
        let end = json!({"exitCode": code, "finishedAt": finished, "message": message});
        serde_json::from_value(json!({
            "metadata": {"name": "p", "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "backup", "uid": owner, "controller": true}]},
            "status": {"containerStatuses": [{"name": "app", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": end}}]}
        })).unwrap()
    }

    #[test]
    fn a_job_ends_by_its_conditions_and_its_last_pod_has_the_words() {
        let pods = [
            pod("j", 75, "2026-01-01T00:00:00Z", "no route"),
            pod("j", 77, "2026-01-01T00:01:00Z", "{\"error\":\"no such bucket\"}\n"),
            pod("other", 1, "2026-01-01T00:02:00Z", "not mine"),
        ];
        let failed = json!([{"type": "Failed", "status": "True", "reason": "PodFailurePolicy"}]);
        let cases = [
            (
                "running",
                run(&job(json!([])), &pods),
                Run::Running("0 of 1 Pods have completed, 0 failed".into()),
            ),
            (
                "failed",
                run(&job(failed.clone()), &pods),
                Run::Failed { code: Some(77), message: "{\"error\":\"no such bucket\"}".into() },
            ),
            (
                "failed, pods gone",
                run::<Pod>(&job(failed), &[]),
                Run::Failed { code: None, message: "PodFailurePolicy".into() },
            ),
            (
                "done",
                run(
                    &job(json!([{"type": "Complete", "status": "True"}])),
                    &[pod("j", 0, "2026-01-01T00:00:00Z", "7 notes")],
                ),
                Run::Succeeded(Some("7 notes".into())),
            ),
            (
                "done, pods gone",
                run::<Pod>(&job(json!([{"type": "Complete", "status": "True"}])), &[]),
                Run::Succeeded(None),
            ),
        ];
        for (name, is, want) in cases {
            assert_eq!(is, want, "{name}");
        }
        assert_eq!(Run::Succeeded(Some(r#"{"bytes":7}"#.to_owned())).said(), json!({"bytes": 7}));
        assert_eq!(Run::Succeeded(Some("7 notes".to_owned())).said(), Value::Null);
        assert_eq!(Run::Running("{}".to_owned()).said(), Value::Null);
    }

    #[test]
    fn a_job_is_over_when_it_says_when_it_was_done_or_that_it_failed() {
        let done = json!([{"type": "Complete", "status": "True"}]);
        let failed = json!([{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]);
        let mut jobs = [job(json!([])), job(done.clone()), job(done), job(failed)];
        let at = |job: &mut Job| {
            let status = job.status.as_mut().unwrap();
            status.completion_time = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        };
        at(&mut jobs[2]);
        let over: Vec<bool> = ended::<Pod>(&jobs, &[]).map(|(job, _)| completed(job).is_some()).collect();
        assert_eq!(over, [true, false], "neither the one that runs, nor the one that is about to be done");
    }

    #[test]
    fn what_a_job_waits_for_is_what_its_pod_waits_for() {
        let pod = |condition: Value| -> Pod {
            let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "backup", "uid": "j", "controller": true});
            serde_json::from_value(json!({"metadata": {"name": "p", "ownerReferences": [owner]},
                "status": {"phase": "Pending", "conditions": [condition]}}))
            .unwrap()
        };
        let stuck = pod(
            json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}),
        );
        let why = waits("backup", [&stuck]).unwrap();
        assert!(why.contains("no node"), "{why}");
        assert_eq!(waits("other", [&stuck]), None);
    }

    #[test]
    fn a_job_is_not_tried_again_when_that_is_useless() {
        let labels: std::collections::BTreeMap<_, _> = [("app".to_owned(), "db".to_owned())].into();
        let pods = crate::parts::template(labels, k8s_openapi::api::core::v1::PodSpec::default());
        let spec = super::job(pods, &[64, 65], Duration::from_secs(600));
        let told = json!(spec);
        assert_eq!(told["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"], json!([64, 65]));
        assert_eq!(told["template"]["spec"]["restartPolicy"], "Never");
        assert_eq!(told["activeDeadlineSeconds"], 600);
        assert_eq!(
            json!(once(ObjectMeta::default(), spec.clone()))["spec"]["ttlSecondsAfterFinished"],
            86_400
        );
        let told = json!(cron_job(ObjectMeta::default(), "0 3 * * *".to_owned(), spec));
        assert_eq!(told["spec"]["concurrencyPolicy"], "Forbid");
        assert_eq!(
            told["spec"]["jobTemplate"]["metadata"]["labels"]["app"], "db",
            "its Jobs are found by them"
        );
    }
}
