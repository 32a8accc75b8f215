//! The ConfigMap that remembers who the cluster is, when its status does not: the latch.

use std::collections::BTreeMap;

use etcd_core::{Latch, Serial};
use etcd_types::EtcdCluster;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;

use super::owned;
use crate::names;

const UID: &str = "uid";
const CLUSTER_ID: &str = "clusterID";
const LATEST_SERIAL: &str = "latestSerial";
const FOUNDERS: &str = "founders";
/// The restore that is under way, or was the last, as JSON.
const RESTORE: &str = "restore";
/// The UIDs of those that are over.
const RESTORED: &str = "restored";

pub(crate) fn identity(cluster: &EtcdCluster, latch: &Latch) -> ConfigMap {
    let founders: Vec<String> = latch.founders.iter().map(ToString::to_string).collect();
    let id = latch.cluster_id.map(|id| (CLUSTER_ID, id.to_string()));
    let data = [
        (UID, cluster.uid().unwrap_or_default()),
        (LATEST_SERIAL, latch.latest_serial.to_string()),
        (FOUNDERS, founders.join(",")),
    ];
    // Plain data with string keys: it cannot fail.
    let restore =
        latch.restore.as_ref().map(|record| (RESTORE, serde_json::to_string(record).unwrap_or_default()));
    let restored: Vec<&str> = latch.restored.iter().map(String::as_str).collect();
    let restored = (!restored.is_empty()).then(|| (RESTORED, restored.join(",")));
    let data = data
        .into_iter()
        .chain(id)
        .chain(restore)
        .chain(restored)
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    let metadata = names::meta(cluster, names::of(cluster).get().latch());
    owned(ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }, cluster)
}

/// What the ConfigMap says, if it is about this very cluster. Text that nobody of us wrote counts as nothing.
pub(crate) fn latch(cluster: &EtcdCluster, live: &ConfigMap) -> Option<Latch> {
    let empty = BTreeMap::new();
    let data = live.data.as_ref().unwrap_or(&empty);
    let get = |key: &str| data.get(key).map(String::as_str).unwrap_or_default();
    (cluster.uid().as_deref() == Some(get(UID))).then(|| Latch {
        cluster_id: get(CLUSTER_ID).parse().ok(),
        latest_serial: get(LATEST_SERIAL).parse().unwrap_or_default(),
        founders: get(FOUNDERS).split(',').filter_map(|serial| serial.parse().ok().map(Serial)).collect(),
        restore: serde_json::from_str(get(RESTORE)).ok(),
        restored: get(RESTORED).split(',').filter(|uid| !uid.is_empty()).map(str::to_owned).collect(),
    })
}
