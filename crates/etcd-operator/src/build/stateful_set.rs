//! The StatefulSet of one member: a single pod, that Kubernetes restarts and reschedules with or without this operator.
//!
//! `OnDelete`: a change of the template restarts nothing. When a member restarts is decided, one member at a time.

use etcd_types::EtcdCluster;
use k8s_openapi::{
    api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy},
    apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use kube::ResourceExt as _;

use super::{owned, pod};
use crate::names;

/// What is wanted of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) serial: u64,
    /// The version of etcd, `3.6.16`.
    pub(crate) version: String,
    pub(crate) image: String,
    /// The arguments of etcd.
    pub(crate) arguments: Vec<String>,
    /// The fingerprint of the settings that it is made from.
    pub(crate) settings: String,
}

pub(crate) fn stateful_set(cluster: &EtcdCluster, member: &Member) -> StatefulSet {
    let name = names::member(cluster, member.serial);
    let mut selector = names::selector(&cluster.name_any());
    selector.insert(names::MEMBER.to_owned(), name.clone());
    let set = StatefulSet {
        metadata: names::member_meta(cluster, &name),
        spec: Some(StatefulSetSpec {
            replicas: Some(1),
            service_name: Some(names::peer_service(cluster)),
            selector: LabelSelector { match_labels: Some(selector), ..LabelSelector::default() },
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("OnDelete".to_owned()),
                rolling_update: None,
            }),
            revision_history_limit: Some(1),
            template: pod::template(cluster, member, &name),
            ..StatefulSetSpec::default()
        }),
        status: None,
    };
    owned(set, cluster)
}
