//! A Job that is run once: how it stands, and what it had to say.
//!
//! The Job's own conditions decide; its pods only add their last words, because they may be gone long before the Job is.

use std::borrow::Borrow;

use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ContainerStateTerminated, Pod},
};
use kube::ResourceExt as _;

use crate::readiness::{Readiness, Workload as _};

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
    use serde_json::{Value, json};

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
    }
}
