//! Workloads that keep a number of Pods: StatefulSet, Deployment, DaemonSet.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, DeploymentCondition, StatefulSet, StatefulSetSpec};

use super::{Readiness, Workload, sentence, unsettled};

/// How many Pods there should be, and how many there are. What a workload does not report is `None`.
struct Counts {
    wanted: i32,
    /// How many of `wanted` a rollout changes.
    to_update: i32,
    updated: i32,
    /// All that exist, also those that should go.
    existing: i32,
    ready: i32,
    available: Option<i32>,
}

impl Counts {
    fn readiness(&self) -> Readiness {
        let Self { wanted, to_update, updated, existing, ready, available } = *self;
        if updated < to_update {
            Readiness::waiting(format!("{updated} of {to_update} Pods are updated"))
        } else if ready < wanted {
            Readiness::waiting(format!("{ready} of {wanted} Pods are ready"))
        } else if let Some(available) = available.filter(|available| *available < wanted) {
            Readiness::waiting(format!("{available} of {wanted} Pods have been ready for long enough"))
        } else if existing > wanted {
            Readiness::waiting(format!("{} Pods too many have not gone yet", existing - wanted))
        } else {
            Readiness::Ready
        }
    }
}

impl Workload for StatefulSet {
    fn readiness(&self) -> Readiness {
        let status = self.status.clone().unwrap_or_default();
        if let Some(unsettled) = unsettled(&self.metadata, status.observed_generation) {
            return unsettled;
        }
        let spec = &self.spec;
        let wanted = spec.replicas.unwrap_or(1);
        let needs_minimum = spec.min_ready_seconds.unwrap_or_default() > 0;
        Counts {
            wanted,
            to_update: to_update(spec, wanted),
            updated: status.updated_replicas.unwrap_or_default(),
            existing: status.replicas,
            ready: status.ready_replicas.unwrap_or_default(),
            available: needs_minimum.then_some(status.available_replicas.unwrap_or_default()),
        }
        .readiness()
    }
}

/// A rollout leaves the ordinals below its partition alone, and with `OnDelete` all of them.
fn to_update(spec: &StatefulSetSpec, wanted: i32) -> i32 {
    let Some(strategy) = &spec.update_strategy else { return wanted };
    if strategy.type_.as_deref() == Some("OnDelete") {
        return 0;
    }
    let partition =
        strategy.rolling_update.as_ref().and_then(|rolling| rolling.partition).unwrap_or_default();
    let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or_default();
    wanted - partition.saturating_sub(start).clamp(0, wanted.max(0))
}

/// Whether a Deployment is to have no pods, and has none.
pub fn is_stopped(deployment: &Deployment) -> bool {
    let status = deployment.status.clone().unwrap_or_default();
    let is_seen = status.observed_generation >= deployment.metadata.generation;
    is_seen && deployment.spec.replicas == Some(0) && status.replicas.unwrap_or_default() == 0
}

impl Workload for Deployment {
    fn readiness(&self) -> Readiness {
        let status = self.status.clone().unwrap_or_default();
        if let Some(unsettled) = unsettled(&self.metadata, status.observed_generation) {
            return unsettled;
        }
        let condition = |kind: &str, value: &str| {
            let is = |c: &&DeploymentCondition| {
                c.type_.as_deref() == Some(kind) && c.status.as_deref() == Some(value)
            };
            status.conditions.iter().flatten().find(is)
        };
        if let Some(stuck) = condition("Progressing", "False") {
            return Readiness::failed(sentence(stuck.reason.as_deref(), stuck.message.as_deref()));
        }
        if let Some(failing) = condition("ReplicaFailure", "True") {
            return Readiness::waiting(sentence(failing.reason.as_deref(), failing.message.as_deref()));
        }
        let wanted = self.spec.replicas.unwrap_or(1);
        Counts {
            wanted,
            to_update: wanted,
            updated: status.updated_replicas.unwrap_or_default(),
            existing: status.replicas.unwrap_or_default(),
            ready: status.ready_replicas.unwrap_or_default(),
            available: Some(status.available_replicas.unwrap_or_default()),
        }
        .readiness()
    }
}

impl Workload for DaemonSet {
    fn readiness(&self) -> Readiness {
        let status = self.status.clone().unwrap_or_default();
        if let Some(unsettled) = unsettled(&self.metadata, status.observed_generation) {
            return unsettled;
        }
        let strategy = self.spec.update_strategy.as_ref();
        let on_delete = strategy.is_some_and(|strategy| strategy.type_.as_deref() == Some("OnDelete"));
        let wanted = status.desired_number_scheduled;
        Counts {
            wanted,
            to_update: if on_delete { 0 } else { wanted },
            updated: status.updated_number_scheduled.unwrap_or_default(),
            existing: status.current_number_scheduled,
            ready: status.number_ready,
            available: Some(status.number_available.unwrap_or_default()),
        }
        .readiness()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::check, *};
    use serde_json::{Value, json};

    fn set(spec: Value, status: Value) -> Value {
        let mut full = json!({"selector": {}, "template": {}, "serviceName": "s"});
        full.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        json!({"metadata": {"name": "db", "generation": 2}, "spec": full, "status": status})
    }

    #[test]
    fn statefulsets() {
        let status = |updated: i32, ready: i32| json!({"observedGeneration": 2, "replicas": 3, "updatedReplicas": updated, "readyReplicas": ready});
        let partition = |start: i32, partition: i32| json!({"replicas": 3, "ordinals": {"start": start}, "updateStrategy": {"rollingUpdate": {"partition": partition}}});
        let mut going = set(json!({}), status(1, 1));
        going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        check::<StatefulSet>(&[
            (
                "new",
                set(json!({"replicas": 3}), json!({"replicas": 0})),
                "waiting: its controller has not seen generation 2 yet, only 0",
            ),
            ("settled", set(json!({"replicas": 3}), status(3, 3)), "ready"),
            (
                "one by default",
                set(
                    json!({}),
                    json!({"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1}),
                ),
                "ready",
            ),
            (
                "none wanted",
                set(json!({"replicas": 0}), json!({"observedGeneration": 2, "replicas": 0})),
                "ready",
            ),
            ("rolling", set(json!({"replicas": 3}), status(1, 3)), "waiting: 1 of 3 Pods are updated"),
            ("one down", set(json!({"replicas": 3}), status(3, 2)), "waiting: 2 of 3 Pods are ready"),
            ("partition reached", set(partition(0, 2), status(1, 3)), "ready"),
            ("partition not reached", set(partition(0, 1), status(1, 3)), "waiting: 1 of 2 Pods are updated"),
            ("partition beyond the end", set(partition(0, 9), status(0, 3)), "ready"),
            ("partition counts from the first ordinal", set(partition(5, 7), status(1, 3)), "ready"),
            (
                "partition below the first ordinal",
                set(partition(5, 2), status(2, 3)),
                "waiting: 2 of 3 Pods are updated",
            ),
            (
                "on delete",
                set(json!({"replicas": 3, "updateStrategy": {"type": "OnDelete"}}), status(0, 3)),
                "ready",
            ),
            (
                "scaling in",
                set(json!({"replicas": 1}), status(3, 3)),
                "waiting: 2 Pods too many have not gone yet",
            ),
            (
                "not long enough",
                set(json!({"replicas": 3, "minReadySeconds": 9}), status(3, 3)),
                "waiting: 0 of 3 Pods have been ready for long enough",
            ),
            ("going", going, "waiting: it is being deleted"),
        ]);
    }

    #[test]
    fn deployments() {
        let status = |updated: i32, all: i32, available: i32| json!({"observedGeneration": 2, "replicas": all, "updatedReplicas": updated, "readyReplicas": available, "availableReplicas": available});
        let with = |condition: Value| json!({"observedGeneration": 2, "conditions": [condition]});
        let stuck = json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "ReplicaSet \"web-1\" has timed out progressing."});
        let quota = json!({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"});
        check::<Deployment>(&[
            ("settled", set(json!({"replicas": 2}), status(2, 2, 2)), "ready"),
            (
                "old Pods left",
                set(json!({"replicas": 2}), status(2, 3, 2)),
                "waiting: 1 Pods too many have not gone yet",
            ),
            ("starting", set(json!({"replicas": 2}), status(2, 2, 1)), "waiting: 1 of 2 Pods are ready"),
            (
                "stuck",
                set(json!({}), with(stuck)),
                "failed: ProgressDeadlineExceeded: ReplicaSet \"web-1\" has timed out progressing.",
            ),
            ("quota", set(json!({}), with(quota)), "waiting: FailedCreate: exceeded quota"),
        ]);
    }

    #[test]
    fn a_deployment_is_stopped_when_its_last_pod_is_gone() {
        let stopped = |replicas: i32, generation: i64, pods: i32| {
            let status = json!({"observedGeneration": generation, "replicas": pods});
            is_stopped(&serde_json::from_value(set(json!({"replicas": replicas}), status)).unwrap())
        };
        assert!(stopped(0, 2, 0));
        assert_eq!(Readiness::Ready.into_result(), Ok(()));
        assert_eq!(Readiness::failed("no").into_result(), Err("no".to_owned()));
        assert!(!stopped(0, 2, 1) && !stopped(1, 2, 0) && !stopped(0, 1, 0));
    }

    #[test]
    fn daemonsets() {
        let status = |updated: i32, ready: i32| {
            json!({"observedGeneration": 2, "desiredNumberScheduled": 3, "currentNumberScheduled": 3, "numberMisscheduled": 0,
                   "updatedNumberScheduled": updated, "numberReady": ready, "numberAvailable": ready})
        };
        check::<DaemonSet>(&[
            ("settled", set(json!({}), status(3, 3)), "ready"),
            ("rolling", set(json!({}), status(2, 3)), "waiting: 2 of 3 Pods are updated"),
            ("on delete", set(json!({"updateStrategy": {"type": "OnDelete"}}), status(0, 3)), "ready"),
            ("one node down", set(json!({}), status(3, 2)), "waiting: 2 of 3 Pods are ready"),
        ]);
    }
}
