//! What runs: Pods, and Jobs that run to an end.

use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ContainerStatus, Pod, PodCondition, PodStatus},
};

use super::{Readiness, Workload, sentence, unsettled};

impl Workload for Pod {
    fn readiness(&self) -> Readiness {
        if let Some(unsettled) = unsettled(&self.metadata, self.metadata.generation) {
            return unsettled;
        }
        let status = self.status.clone().unwrap_or_default();
        match status.phase.as_deref() {
            Some("Succeeded") => return Readiness::failed("it ran to its end and will not run again"),
            Some("Failed") => {
                return Readiness::failed(sentence(status.reason.as_deref(), status.message.as_deref()));
            }
            _ => {}
        }
        if condition(&status, "Ready").is_some_and(|ready| ready.status == "True") {
            return Readiness::Ready;
        }
        Readiness::Waiting(
            unschedulable(&status)
                .or_else(|| troubled_container(&status))
                .or_else(|| unready(&status))
                .unwrap_or_else(|| "it has not started yet".to_owned()),
        )
    }
}

fn unschedulable(status: &PodStatus) -> Option<String> {
    let scheduled = condition(status, "PodScheduled").filter(|scheduled| scheduled.status == "False")?;
    Some(sentence(scheduled.reason.as_deref(), scheduled.message.as_deref()))
}

/// The first container that cannot run, in the order in which they start.
fn troubled_container(status: &PodStatus) -> Option<String> {
    let init = status.init_container_statuses.iter().flatten();
    init.chain(status.container_statuses.iter().flatten()).find_map(trouble)
}

fn trouble(container: &ContainerStatus) -> Option<String> {
    let state = container.state.as_ref()?;
    if let Some(waiting) = &state.waiting {
        let reason =
            waiting.reason.as_deref().filter(|r| !matches!(*r, "ContainerCreating" | "PodInitializing"))?;
        return Some(format!(
            "container {} cannot start, {}",
            container.name,
            sentence(Some(reason), waiting.message.as_deref())
        ));
    }
    let ended = state.terminated.as_ref().filter(|ended| ended.exit_code != 0)?;
    let why = sentence(ended.reason.as_deref(), ended.message.as_deref());
    Some(format!("container {} ended with code {}, {why}", container.name, ended.exit_code))
}

fn unready(status: &PodStatus) -> Option<String> {
    let ready = condition(status, "Ready")?;
    Some(sentence(ready.reason.as_deref(), ready.message.as_deref()))
}

fn condition<'a>(status: &'a PodStatus, kind: &str) -> Option<&'a PodCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_ == kind)
}

impl Workload for Job {
    fn readiness(&self) -> Readiness {
        let status = self.status.clone().unwrap_or_default();
        if let Some(unsettled) = unsettled(&self.metadata, self.metadata.generation) {
            return unsettled;
        }
        let is = |kinds: [&str; 2]| {
            let mut conditions = status.conditions.iter().flatten();
            conditions
                .find(|condition| condition.status == "True" && kinds.contains(&condition.type_.as_str()))
        };
        if let Some(failed) = is(["Failed", "FailureTarget"]) {
            return Readiness::failed(sentence(failed.reason.as_deref(), failed.message.as_deref()));
        }
        if is(["Complete", "SuccessCriteriaMet"]).is_some() {
            return Readiness::Ready;
        }
        if is(["Suspended", "Suspended"]).is_some() {
            return Readiness::waiting("it is suspended");
        }
        let wanted = self.spec.as_ref().and_then(|spec| spec.completions).unwrap_or(1);
        let (succeeded, failed) = (status.succeeded.unwrap_or_default(), status.failed.unwrap_or_default());
        Readiness::waiting(format!("{succeeded} of {wanted} Pods have completed, {failed} failed"))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::check, *};
    use serde_json::{Value, json};

    #[test]
    fn pods() {
        let pod = |status: Value| json!({"metadata": {"name": "db-0"}, "status": status});
        let container = |state: Value| {
            pod(json!({"phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "containers with unready status: [etcd]"}],
                "containerStatuses": [{"name": "etcd", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state}]}))
        };
        check::<Pod>(&[
            (
                "ready",
                pod(json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})),
                "ready",
            ),
            ("fresh", pod(json!({})), "waiting: it has not started yet"),
            (
                "no node",
                pod(
                    json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}]}),
                ),
                "waiting: Unschedulable: 0/3 nodes are available",
            ),
            (
                "crash loop",
                container(json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}})),
                "waiting: container etcd cannot start, CrashLoopBackOff: back-off 5m0s",
            ),
            (
                "exit",
                container(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})),
                "waiting: container etcd ended with code 137, OOMKilled",
            ),
            (
                "creating",
                container(json!({"waiting": {"reason": "ContainerCreating"}})),
                "waiting: ContainersNotReady: containers with unready status: [etcd]",
            ),
            (
                "evicted",
                pod(json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"})),
                "failed: Evicted: low on memory",
            ),
            ("ended", pod(json!({"phase": "Succeeded"})), "failed: it ran to its end and will not run again"),
            (
                "going",
                json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
                "waiting: it is being deleted",
            ),
        ]);
    }

    #[test]
    fn jobs() {
        let job = |status: Value| json!({"metadata": {"name": "backup", "generation": 1}, "spec": {"template": {}}, "status": status});
        check::<Job>(&[
            (
                "running",
                job(json!({"active": 1, "failed": 2})),
                "waiting: 0 of 1 Pods have completed, 2 failed",
            ),
            (
                "done",
                job(json!({"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]})),
                "ready",
            ),
            (
                "failed",
                job(
                    json!({"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "too many"}]}),
                ),
                "failed: BackoffLimitExceeded: too many",
            ),
            (
                "suspended",
                job(json!({"conditions": [{"type": "Suspended", "status": "True"}]})),
                "waiting: it is suspended",
            ),
        ]);
    }
}
