//! What the objects of a cluster are called, and by which labels and annotations they are found.

use std::collections::BTreeMap;

use etcd_types::EtcdCluster;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt as _};

use crate::tls::{Names, Role};

/// Everything that belongs to some cluster, for watches.
pub(crate) const OURS: &str = "app.kubernetes.io/name=etcd,app.kubernetes.io/managed-by=capstan";
/// The cluster's name, on all its objects.
pub(crate) const CLUSTER: &str = "etcd.capstan.dev/cluster";
/// The member's name, on all objects of a member.
pub(crate) const MEMBER: &str = "etcd.capstan.dev/member";

/// On pods: the fingerprint of the settings that they were made from.
pub(crate) const SETTINGS: &str = "etcd.capstan.dev/settings";
/// On pods: the version of etcd that they run.
pub(crate) const VERSION: &str = "etcd.capstan.dev/version";
/// On claims: the UID of the EtcdCluster whose data they hold.
pub(crate) const CLUSTER_UID: &str = "etcd.capstan.dev/cluster-uid";
/// On claims: etcd's ID of the cluster whose data they hold; none before the cluster existed.
pub(crate) const CLUSTER_ID: &str = "etcd.capstan.dev/cluster-id";
/// On claims: when their member left the cluster.
pub(crate) const DETACHED: &str = "etcd.capstan.dev/detached-at";
/// Keeps an EtcdCluster until its volumes are dealt with as its deletionPolicy says.
pub(crate) const FINALIZER: &str = "etcd.capstan.dev/volumes";

/// Where members listen.
pub(crate) const CLIENT_PORT: i32 = 2379;
pub(crate) const PEER_PORT: i32 = 2380;
pub(crate) const METRICS_PORT: i32 = 2381;

pub(crate) fn client_service(cluster: &EtcdCluster) -> String {
    format!("{}-client", cluster.name_any())
}

pub(crate) fn peer_service(cluster: &EtcdCluster) -> String {
    format!("{}-peer", cluster.name_any())
}

pub(crate) fn identity(cluster: &EtcdCluster) -> String {
    format!("{}-identity", cluster.name_any())
}

/// A member, its StatefulSet and its claim.
pub(crate) fn member(cluster: &EtcdCluster, serial: u64) -> String {
    format!("{}-{serial}", cluster.name_any())
}

/// The serial in the name of a member, a StatefulSet or a claim of this cluster.
pub(crate) fn serial(cluster: &str, name: &str) -> Option<u64> {
    name.strip_prefix(cluster)?.strip_prefix('-')?.parse().ok()
}

pub(crate) fn pod(member: &str) -> String {
    format!("{member}-0")
}

pub(crate) fn ca(cluster: &EtcdCluster) -> String {
    format!("{}-ca", cluster.name_any())
}

/// The Secret of a leaf that we make.
pub(crate) fn leaf(cluster: &EtcdCluster, role: Role) -> String {
    let role = match role {
        Role::Server => "server",
        Role::Peer => "peer",
        Role::Client => "client",
        Role::Operator => "operator",
    };
    format!("{}-{role}-tls", cluster.name_any())
}

/// What certificates are made for.
pub(crate) fn of_certificates(cluster: &EtcdCluster) -> Names {
    Names {
        cluster: cluster.name_any(),
        namespace: cluster.namespace().unwrap_or_default(),
        domain: cluster.spec.cluster_domain.clone(),
    }
}

/// The labels of everything that belongs to a cluster.
pub(crate) fn labels(cluster: &str) -> BTreeMap<String, String> {
    let labels = [
        ("app.kubernetes.io/name", "etcd"),
        ("app.kubernetes.io/instance", cluster),
        ("app.kubernetes.io/managed-by", "capstan"),
        (CLUSTER, cluster),
    ];
    labels.map(|(label, value)| (label.to_owned(), value.to_owned())).into()
}

/// By what the pods of a cluster are selected.
pub(crate) fn selector(cluster: &str) -> BTreeMap<String, String> {
    let mut labels = labels(cluster);
    labels.remove("app.kubernetes.io/managed-by");
    labels
}

/// Metadata of an object of the cluster.
pub(crate) fn meta(cluster: &EtcdCluster, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: cluster.namespace(),
        labels: Some(labels(&cluster.name_any())),
        ..ObjectMeta::default()
    }
}

/// Metadata of an object of one member.
pub(crate) fn member_meta(cluster: &EtcdCluster, member: &str) -> ObjectMeta {
    let mut meta = meta(cluster, member.to_owned());
    meta.labels.get_or_insert_default().insert(MEMBER.to_owned(), member.to_owned());
    meta
}

/// Whether `object` is controlled by this very cluster.
pub(crate) fn is_owned(cluster: &EtcdCluster, object: &impl Resource<DynamicType = ()>) -> bool {
    let uid = cluster.meta().uid.as_deref();
    object.owner_references().iter().any(|owner| owner.controller == Some(true) && Some(&*owner.uid) == uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serials_are_read_from_names_of_this_cluster_only() {
        assert_eq!(serial("db", "db-12"), Some(12));
        for name in ["db", "db-", "db-a", "db-1-0", "other-1", "db2-1"] {
            assert_eq!(serial("db", name), None, "{name}");
        }
    }
}
