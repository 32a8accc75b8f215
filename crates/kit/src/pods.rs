//! Questions about pods that decisions depend on.

use k8s_openapi::{
    api::core::v1::{
        ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodSpec, ResourceRequirements,
    },
    apimachinery::pkg::api::resource::Quantity,
};
use kube::ResourceExt as _;

use crate::quantity;

/// Whether a pod may still read or write its volumes. One that is being deleted may, until it is gone.
pub fn may_write(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    !matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether a pod was made for the Job `job`.
pub fn is_of_job(pod: &Pod, job: &str) -> bool {
    pod.owner_references().iter().any(|owner| owner.kind == "Job" && owner.name == job)
}

/// Whether a pod may still write while the Job `job` must be alone: one of its own is not in its way.
pub fn is_in_the_way_of(pod: &Pod, job: &str) -> bool {
    may_write(pod) && !is_of_job(pod, job)
}

fn first_container(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

/// How a pod's first container ended, the last time that is known of.
pub fn last_exit(pod: &Pod) -> Option<&ContainerStateTerminated> {
    first_container(pod).and_then(last_end)
}

/// How often a pod's first container was started again.
pub fn restarts(pod: &Pod) -> i32 {
    first_container(pod).map_or(0, |container| container.restart_count)
}

/// Why it is useless to wait for one of `pods` to become ready, if so: it ended with one of the codes `fatal`, or Kubernetes had to
/// restart it, because it ended or failed its liveness probe. What works needs none of that.
pub fn hopeless<'a>(pods: impl IntoIterator<Item = &'a Pod>, fatal: &[i32]) -> Option<String> {
    pods.into_iter().find_map(|pod| match last_exit(pod).filter(|end| fatal.contains(&end.exit_code)) {
        Some(end) => Some(format!(
            "ended with code {} ({})",
            end.exit_code,
            end.message.as_deref().unwrap_or_default()
        )),
        None => (restarts(pod) > 0).then(|| "had to be restarted before it was ready".to_owned()),
    })
}

/// How a container ended, the last time that is known of.
pub fn last_end(container: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    let ended = |state: &'_ Option<ContainerState>| state.as_ref().is_some_and(|it| it.terminated.is_some());
    let state = if ended(&container.state) { &container.state } else { &container.last_state };
    state.as_ref()?.terminated.as_ref()
}

/// What follows `name` in the command line of a pod's first container.
pub fn argument<'a>(pod: &'a PodSpec, name: &str) -> Option<&'a str> {
    let container = pod.containers.first()?;
    let mut arguments = container.command.iter().flatten().chain(container.args.iter().flatten());
    arguments.find(|argument| *argument == name)?;
    arguments.next().map(String::as_str)
}

/// CPU and memory for a pod's first container: what is in force, and the reason when that is not what was asked for. What `live`
/// has stays in place of what the API server would refuse.
pub fn resources(
    asked: Option<&ResourceRequirements>,
    live: Option<&PodSpec>,
) -> (Option<ResourceRequirements>, Option<String>) {
    let mut all = asked.into_iter().flat_map(|asked| asked.limits.iter().chain(&asked.requests)).flatten();
    let is_wrong = |value: &Quantity| quantity::billionths(&value.0).is_none_or(|value| value < 0);
    let Some((name, wrong)) = all.find(|(_, value)| is_wrong(value)) else { return (asked.cloned(), None) };
    let why =
        format!("{name}: {:?} is no quantity such as 500m or 256Mi; what was set before stays", wrong.0);
    (live.and_then(|live| live.containers.first()?.resources.clone()), Some(why))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pods_last_end_is_the_present_one_or_the_one_before() {
        let container = |now: serde_json::Value, before: serde_json::Value| -> ContainerStatus {
            serde_json::from_value(
                json!({"name": "a", "image": "", "imageID": "", "ready": false, "restartCount": 1,
                "state": now, "lastState": before}),
            )
            .unwrap()
        };
        let end = |code: i32| json!({"terminated": {"exitCode": code}});
        let code = |container: &ContainerStatus| last_end(container).map(|end| end.exit_code);
        assert_eq!(code(&container(end(65), end(1))), Some(65));
        assert_eq!(code(&container(json!({"running": {}}), end(1))), Some(1));
        assert_eq!(code(&container(json!({"running": {}}), json!(null))), None);
    }

    #[test]
    fn a_pod_that_ends_for_good_or_is_restarted_is_not_waited_for() {
        let pod = |code: i32, restarts: i32| -> Pod {
            let container = json!({"name": "a", "image": "", "imageID": "", "ready": false, "restartCount": restarts,
                "lastState": {"terminated": {"exitCode": code, "message": "bad version"}}});
            serde_json::from_value(json!({"status": {"containerStatuses": [container]}})).unwrap()
        };
        let why = |pods: &[Pod]| hopeless(pods, &[64, 65]);
        assert_eq!(why(&[pod(75, 0), pod(64, 1)]).as_deref(), Some("ended with code 64 (bad version)"));
        assert_eq!(why(&[pod(75, 1)]).as_deref(), Some("had to be restarted before it was ready"));
        assert_eq!(why(&[pod(75, 0), Pod::default()]), None);
    }

    #[test]
    fn resources_that_are_none_leave_what_was_set_before() {
        let limit = |memory: &str| -> ResourceRequirements {
            serde_json::from_value(json!({"limits": {"memory": memory}})).unwrap()
        };
        let container = json!({"name": "a", "resources": limit("1Gi")});
        let live: PodSpec = serde_json::from_value(json!({"containers": [container]})).unwrap();
        assert_eq!(resources(None, Some(&live)), (None, None));
        assert_eq!(resources(Some(&limit("2Gi")), Some(&live)), (Some(limit("2Gi")), None));
        let (stays, why) = resources(Some(&limit("much")), Some(&live));
        assert_eq!(stays, Some(limit("1Gi")));
        let want = "memory: \"much\" is no quantity such as 500m or 256Mi; what was set before stays";
        assert_eq!(why.as_deref(), Some(want));
        assert_eq!(resources(Some(&limit("-1")), None).0, None);
    }

    #[test]
    fn a_pod_lets_go_of_its_volumes_when_it_has_ended_not_when_it_is_asked_to() {
        let pod = |phase: &str| -> Pod {
            let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "copy", "uid": "u"});
            let container = json!({"name": "a", "command": ["app", "--from"], "args": ["x", "--to", "y"]});
            serde_json::from_value(
                json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": [owner]},
                "spec": {"containers": [container]}, "status": {"phase": phase}}),
            )
            .unwrap()
        };
        assert!(may_write(&pod("Running")) && may_write(&Pod::default()));
        assert!(!may_write(&pod("Succeeded")) && !may_write(&pod("Failed")));
        assert!(is_of_job(&pod("Running"), "copy") && !is_of_job(&pod("Running"), "other"));
        assert!(is_in_the_way_of(&pod("Running"), "other") && !is_in_the_way_of(&pod("Running"), "copy"));
        assert!(!is_in_the_way_of(&pod("Failed"), "other"));
        let spec = pod("Running").spec.unwrap();
        assert_eq!(
            [argument(&spec, "--from"), argument(&spec, "--to"), argument(&spec, "y")],
            [Some("x"), Some("y"), None]
        );
    }
}
