//! The ServiceAccount: an identity without a token. etcd never talks to Kubernetes.

use etcd_types::EtcdCluster;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::ResourceExt as _;

use super::owned;
use crate::names;

pub(crate) fn account(cluster: &EtcdCluster) -> ServiceAccount {
    let account = ServiceAccount {
        metadata: names::meta(cluster, cluster.name_any()),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    };
    owned(account, cluster)
}
