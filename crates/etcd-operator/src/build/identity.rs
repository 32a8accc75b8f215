//! The ConfigMap that remembers who the cluster is, when its status does not: the latch.

use std::collections::BTreeMap;

use etcd_types::EtcdCluster;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;

use super::owned;
use crate::names;

/// The keys of the ConfigMap.
pub(crate) const UID: &str = "uid";
pub(crate) const CLUSTER_ID: &str = "clusterID";
pub(crate) const LATEST_SERIAL: &str = "latestSerial";

pub(crate) fn identity(cluster: &EtcdCluster, cluster_id: Option<&str>, latest_serial: u64) -> ConfigMap {
    let mut data: BTreeMap<String, String> = [
        (UID.to_owned(), cluster.uid().unwrap_or_default()),
        (LATEST_SERIAL.to_owned(), latest_serial.to_string()),
    ]
    .into();
    if let Some(id) = cluster_id {
        data.insert(CLUSTER_ID.to_owned(), id.to_owned());
    }
    let metadata = names::meta(cluster, names::identity(cluster));
    owned(ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }, cluster)
}
