//! The PodDisruptionBudget: a drain of nodes takes one voter at a time, and never the quorum.
//!
//! `minAvailable`, not `maxUnavailable`: each member has a StatefulSet of its own, and one whose pod is gone would not be counted
//! as missing. Learners are never ready, so they are not counted as available.

use etcd_types::{EtcdCluster, Medium};
use k8s_openapi::{
    api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};
use kit::parts;
use kube::ResourceExt as _;

use super::owned;
use crate::names;

/// `min_available` is how many ready voters an eviction has to leave.
pub(crate) fn budget(cluster: &EtcdCluster, min_available: u32) -> PodDisruptionBudget {
    // A pod that does not serve may go, so that a drain does not wait for it; but not when the data would go with it.
    let unhealthy = match cluster.spec.storage.medium {
        Medium::PersistentVolume => "AlwaysAllow",
        Medium::Memory => "IfHealthyBudget",
    };
    let budget = PodDisruptionBudget {
        metadata: names::meta(cluster, cluster.name_any()),
        spec: Some(PodDisruptionBudgetSpec {
            min_available: Some(IntOrString::Int(i32::try_from(min_available).unwrap_or(i32::MAX))),
            selector: Some(parts::matching(names::selector(&cluster.name_any()))),
            unhealthy_pod_eviction_policy: Some(unhealthy.to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    };
    owned(budget, cluster)
}
