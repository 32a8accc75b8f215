//! Choices that the users of most operators have: pieces of a spec, and what they come to.
#![expect(unreachable_pub, reason = "KubeSchema repeats the structs where nobody can reach them")]

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::core::v1::PersistentVolumeClaim,
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Time},
};
use kube::{KubeSchema, Resource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Refusals, claims, owned};

/// A lull shorter than this is none.
const PATIENCE: SignedDuration = SignedDuration::from_secs(60);

/// The types of a Service.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceType {
    /// From within the cluster.
    #[default]
    ClusterIP,
    /// Also by a port of every node.
    NodePort,
    /// Also by a load balancer.
    LoadBalancer,
}

/// How it is reached.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ServiceOptions {
    /// The type of its Service.
    #[serde(rename = "type", default)]
    pub kind: ServiceType,
}

/// What becomes of the volume in the end.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// It stays; an object of the same name finds it again.
    #[default]
    Retain,
    /// It goes with the object.
    Delete,
}

impl DeletionPolicy {
    /// `claim` with `owner` as its owner, so that Kubernetes removes it with it; without one, if it is to stay.
    pub fn owned<O>(self, claim: PersistentVolumeClaim, owner: &O) -> PersistentVolumeClaim
    where
        O: Resource<DynamicType = ()>,
        O::Scope: 'static,
    {
        match self {
            Self::Retain => claim,
            Self::Delete => owned(claim, owner),
        }
    }
}

/// The size of a volume for which [`Storage`] names none.
pub const DEFAULT_SIZE: &str = "1Gi";

/// The volume. What can be asked of one that exists is in [`claims`].
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Its size, `1Gi` unless said otherwise. It can grow where the class allows it, never shrink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,
    /// The class; the cluster's default unless said otherwise. It cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_name: Option<String>,
    /// A claim that exists: it is used as it is, and never changed or deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing_claim: Option<String>,
}

impl Storage {
    /// Size and class that are in force; `live` is the claim, if it is there.
    pub fn judged(
        &self,
        live: Option<&PersistentVolumeClaim>,
        refused: &mut Refusals,
    ) -> (Quantity, Option<String>) {
        let size = claims::size(self.size.as_ref(), DEFAULT_SIZE, live);
        let (class, why) = claims::class(self.class_name.as_ref(), live);
        let why = why.map(|why| why + ". Restore a backup into a new object to move it");
        (refused.judged("spec.storage.size", size), refused.judged("spec.storage.className", (class, why)))
    }
}

/// Pods by load.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.minReplicas <= self.maxReplicas").message("spec.autoscaling.minReplicas must not be above maxReplicas"))]
pub struct Autoscaling {
    /// At least so many.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100))]
    pub min_replicas: i32,
    /// At most so many.
    #[schemars(range(min = 1, max = 100))]
    pub max_replicas: i32,
    /// What one pod should serve.
    #[schemars(range(min = 1))]
    pub requests_per_second: i32,
}

/// For `serde(default)`: one pod.
pub fn one() -> i32 {
    1
}

/// What autoscaling has decided.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalingStatus {
    /// So many pods.
    pub replicas: i32,
    /// Since when fewer would do.
    pub below_since: Option<Time>,
}

impl Autoscaling {
    /// The next decision, from the last one and the requests per second that each pod says: up at once, down only when fewer have
    /// been enough for a minute. Silence is no lull: without figures nothing changes.
    pub fn decide(
        &self,
        last: Option<&AutoscalingStatus>,
        load: &[f64],
        now: Timestamp,
    ) -> AutoscalingStatus {
        let bounded =
            |replicas: i32| replicas.clamp(self.min_replicas, self.max_replicas.max(self.min_replicas));
        let present = bounded(last.map_or(self.min_replicas, |last| last.replicas));
        if load.is_empty() {
            return AutoscalingStatus { replicas: present, below_since: None };
        }
        let per_pod = f64::from(self.requests_per_second.max(1));
        let enough = bounded((load.iter().sum::<f64>() / per_pod).ceil().clamp(0.0, 1e6) as i32);
        if enough >= present {
            return AutoscalingStatus { replicas: enough, below_since: None };
        }
        let since = last.and_then(|last| last.below_since.clone()).unwrap_or(Time(now));
        if now.duration_since(since.0) < PATIENCE {
            return AutoscalingStatus { replicas: present, below_since: Some(since) };
        }
        AutoscalingStatus { replicas: enough, below_since: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn check(last: (i32, Option<i64>), load: &[f64], second: i64, want: (i32, Option<i64>)) {
        let rule = Autoscaling { min_replicas: 1, max_replicas: 4, requests_per_second: 10 };
        let last = AutoscalingStatus { replicas: last.0, below_since: last.1.map(|second| Time(at(second))) };
        let next = rule.decide(Some(&last), load, at(second));
        assert_eq!((next.replicas, next.below_since.map(|since| since.0.as_second())), want);
    }

    #[test]
    fn a_volume_goes_with_its_owner_only_if_it_is_said_so() {
        let object = r#"{"metadata": {"name": "db", "namespace": "prod", "uid": "u"}}"#;
        let claim = || serde_json::from_str::<PersistentVolumeClaim>(object).unwrap();
        assert_eq!(DeletionPolicy::Retain.owned(claim(), &claim()), claim());
        let goes = DeletionPolicy::Delete.owned(claim(), &claim());
        assert_eq!(goes.metadata.owner_references.unwrap()[0].uid, "u");
    }

    #[test]
    fn up_at_once_down_after_a_minute_and_never_beyond_the_bounds() {
        check((1, None), &[25.0], 100, (3, None));
        check((1, None), &[900.0], 100, (4, None));
        check((3, None), &[4.0, 4.0, 4.0], 100, (3, Some(100)));
        check((3, Some(100)), &[4.0, 4.0, 4.0], 159, (3, Some(100)));
        check((3, Some(100)), &[4.0, 4.0, 4.0], 160, (2, None));
        check((3, Some(100)), &[9.0, 9.0, 9.0], 130, (3, None));
        check((2, Some(100)), &[0.0, 0.0], 200, (1, None));
        check((9, None), &[], 100, (4, None));
        check((3, Some(40)), &[], 100, (3, None));
    }
}
