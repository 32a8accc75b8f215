//! The ServiceAccount: an identity without a token. etcd never talks to Kubernetes.

use etcd_types::EtcdCluster;
use k8s_openapi::api::core::v1::ServiceAccount;
use kit::parts;
use kube::ResourceExt as _;

use super::owned;
use crate::names;

pub(crate) fn account(cluster: &EtcdCluster) -> ServiceAccount {
    owned(parts::account(names::meta(cluster, cluster.name_any())), cluster)
}
