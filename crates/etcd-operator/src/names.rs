//! What the objects of a cluster are called, and by which labels and annotations they are found.

use std::collections::BTreeMap;

use etcd_core::Serial;
use etcd_types::{EtcdCluster, TlsMode};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt as _};

use crate::tls::{Names, Role};

/// Everything that belongs to some cluster, for watches; what works for backups and restores is watched by others. By our own label: those
/// that Kubernetes recommends (`app.kubernetes.io/…`) are changed by people and by tools, and what leaves a watch is looked after by nobody.
pub(crate) const OURS: &str =
    "etcd.capstan.dev/cluster,app.kubernetes.io/name notin (etcd-restore,etcd-backup)";
/// The cluster's name, on all its objects.
pub(crate) const CLUSTER: &str = "etcd.capstan.dev/cluster";
/// The member's name, on all objects of a member.
pub(crate) const MEMBER: &str = "etcd.capstan.dev/member";

/// How the annotations begin that we write ourselves.
pub(crate) const OWN_ANNOTATIONS: &str = "etcd.capstan.dev/";
/// On StatefulSets: what the pod is made from, as JSON. On pods: its fingerprint.
pub(crate) const TEMPLATE: &str = "etcd.capstan.dev/template";
/// On pods: the fingerprint of how they come into the cluster.
pub(crate) const START: &str = "etcd.capstan.dev/start";
/// On pods: the CAs that members trust clients by, and each other. etcd reads them once, at start.
pub(crate) const CLIENT_TRUST: &str = "etcd.capstan.dev/client-trust";
pub(crate) const PEER_TRUST: &str = "etcd.capstan.dev/peer-trust";
/// A condition of pods, and a readiness gate of those that join: the member was seen to answer clients.
pub(crate) const SERVES: &str = "etcd.capstan.dev/serves";
/// On claims and pods: the UID of the EtcdCluster that they belong to.
pub(crate) const CLUSTER_UID: &str = "etcd.capstan.dev/cluster-uid";
/// On claims: etcd's ID of the cluster whose data they hold; none before the cluster existed.
pub(crate) const CLUSTER_ID: &str = "etcd.capstan.dev/cluster-id";
/// On claims: when their member left the cluster.
pub(crate) const DETACHED: &str = "etcd.capstan.dev/detached-at";
/// On claims: the last version of etcd that their member was seen at.
pub(crate) const VERSION: &str = "etcd.capstan.dev/version";
/// On claims: the version of etcd that may have been started on them, seen or not.
pub(crate) const STARTED: &str = "etcd.capstan.dev/started-version";
/// Whether the member of a claim spoke TLS.
pub(crate) const TLS: &str = "etcd.capstan.dev/tls";
/// On claims: the restore whose data is brought to them; nothing once a member may start on it.
pub(crate) const SEED: &str = "etcd.capstan.dev/seed-of";
/// On Jobs: what they are made from.
pub(crate) const MADE_FROM: &str = "etcd.capstan.dev/made-from";
/// A label that no pod has: what selects by it selects nobody.
pub(crate) const CLOSED: &str = "etcd.capstan.dev/closed";
/// Jobs of restores and their pods. They are no members: no Service, budget or rule that is about members selects them.
pub(crate) const WORK: &str = "app.kubernetes.io/name=etcd-restore,app.kubernetes.io/managed-by=capstan";
/// On an EtcdCluster: an upgrade must not begin yet, and why.
pub(crate) const HOLD_UPGRADE: &str = "etcd.capstan.dev/hold-upgrade";
/// Keeps an EtcdCluster as long as it is protected, or volumes are left that have to go with it.
pub(crate) const FINALIZER: &str = "etcd.capstan.dev/hold";

/// The names that core gives things.
pub(crate) fn of(cluster: &EtcdCluster) -> Name {
    Name {
        namespace: cluster.namespace().unwrap_or_default(),
        cluster: cluster.name_any(),
        tls: cluster.spec.tls.mode,
    }
}

/// The parts of a cluster's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    namespace: String,
    cluster: String,
    tls: TlsMode,
}

impl Name {
    pub(crate) fn get(&self) -> etcd_core::Names<'_> {
        etcd_core::Names { namespace: &self.namespace, cluster: &self.cluster, tls: self.tls }
    }
}

/// The EtcdBackup before members move to the version that is asked for, if one is wanted.
pub(crate) fn upgrade_backup(cluster: &EtcdCluster) -> Option<String> {
    cluster.spec.update_strategy.backup.as_ref()?;
    Some(of(cluster).get().backup_before(cluster.spec.version.parse().ok()?))
}

pub(crate) fn ca(cluster: &str) -> String {
    format!("{cluster}-ca")
}

/// The Secret of a leaf that we make.
pub(crate) fn leaf(cluster: &str, role: Role) -> String {
    let role = match role {
        Role::Server => "server",
        Role::Peer => "peer",
        Role::Client => "client",
        Role::Operator => "operator",
    };
    format!("{cluster}-{role}-tls")
}

/// The Secret that cert-manager writes a leaf to, which is copied to [`leaf`] once it was checked.
pub(crate) fn issued(cluster: &str, role: Role) -> String {
    format!("{}-issued", leaf(cluster, role))
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

/// The labels of Jobs that work for a member's volume, and of their pods.
pub(crate) fn work_labels(cluster: &EtcdCluster, serial: Serial) -> BTreeMap<String, String> {
    let mut labels = labels(&cluster.name_any());
    labels.insert("app.kubernetes.io/name".to_owned(), "etcd-restore".to_owned());
    labels.insert(MEMBER.to_owned(), of(cluster).get().member(serial));
    labels
}

/// The Job that brings data to a member's volume.
pub(crate) fn seed_job(cluster: &str, serial: Serial) -> String {
    format!("{cluster}-seed-{serial}")
}

/// The Job that writes again what came after a backup.
pub(crate) fn replay_job(cluster: &str, serial: Serial) -> String {
    format!("{cluster}-replay-{serial}")
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

/// Metadata of an object of one member, which has the member's name.
pub(crate) fn member_meta(cluster: &EtcdCluster, member: &str) -> ObjectMeta {
    let mut meta = meta(cluster, member.to_owned());
    meta.labels.get_or_insert_default().insert(MEMBER.to_owned(), member.to_owned());
    meta
}

/// Whether `object` is this cluster's: controlled by it, or made for a cluster of its name and left behind without an owner, as
/// `kubectl delete --cascade=orphan` does. That one is taken back.
pub(crate) fn is_ours(cluster: &EtcdCluster, object: &impl Resource<DynamicType = ()>) -> bool {
    let has_owner = object.owner_references().iter().any(|owner| owner.controller == Some(true));
    is_owned(cluster, object) || (is_labelled(cluster, object) && !has_owner)
}

/// Whether `object` carries all labels of this cluster's objects.
pub(crate) fn is_labelled(cluster: &EtcdCluster, object: &impl Resource<DynamicType = ()>) -> bool {
    let has = object.labels();
    labels(&cluster.name_any()).iter().all(|(label, value)| has.get(label) == Some(value))
}

/// Whether `object` is controlled by this very cluster.
pub(crate) fn is_owned(cluster: &EtcdCluster, object: &impl Resource<DynamicType = ()>) -> bool {
    let uid = cluster.meta().uid.as_deref();
    object.owner_references().iter().any(|owner| owner.controller == Some(true) && Some(&*owner.uid) == uid)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use serde_json::{Value, json};

    use super::*;

    fn secret(labels: &BTreeMap<String, String>, owner: Value) -> Secret {
        serde_json::from_value(
            json!({"metadata": {"name": "db-ca", "labels": labels, "ownerReferences": owner}}),
        )
        .unwrap()
    }

    fn owner(uid: &str) -> Value {
        json!([{"apiVersion": "v1", "kind": "EtcdCluster", "name": "db", "uid": uid, "controller": true}])
    }

    #[test]
    fn what_was_left_behind_without_an_owner_is_taken_back_and_nothing_else() {
        let cluster: EtcdCluster = serde_json::from_value(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
            "metadata": {"name": "db", "namespace": "prod", "uid": "u-2"},
            "spec": {"size": 3, "version": "3.6.16", "storage": {"size": "1Gi"}},
        }))
        .unwrap();
        let (ours, others) = (labels("db"), labels("another"));
        assert!(is_ours(&cluster, &secret(&ours, owner("u-2"))), "its own");
        assert!(is_ours(&cluster, &secret(&ours, json!([]))), "left behind");
        assert!(
            !is_ours(&cluster, &secret(&ours, owner("u-1"))),
            "an earlier cluster's, which is about to go"
        );
        assert!(!is_ours(&cluster, &secret(&others, json!([]))), "another cluster's");
        assert!(!is_ours(&cluster, &secret(&BTreeMap::new(), json!([]))), "a user's own");
    }
}
