//! The resource, and the wishes that a user can have about it.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::{
    Bootstrap, DeletionPolicy, EtcdClusterStatus, EtcdSettings, Monitoring, NetworkPolicyOptions, PodOptions,
    Remediation, Storage, Tls, UpdateStrategy,
};

/// An etcd cluster, and how it is to be run.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "etcd.capstan.dev",
    version = "v1alpha1",
    kind = "EtcdCluster",
    shortname = "etcd",
    category = "capstan",
    namespaced,
    status = "EtcdClusterStatus",
    scale(
        spec_replicas_path = ".spec.size",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyMembers"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.version.current"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Leader", type_ = "string", json_path = ".status.leader"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = 1),
    validation = Rule::new("self.metadata.name.size() <= 40").message("metadata.name may have 40 characters at most: the names of its members and their pods are derived from it"),
    validation = Rule::new("!self.metadata.name.contains('.')").message("metadata.name must not contain a dot: it becomes part of DNS names")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.tls.mode == oldSelf.tls.mode").message("spec.tls.mode cannot change: members know each other by URLs that begin with http or https, and trust one CA. Create another EtcdCluster"),
    validation = Rule::new("self.storage.medium == oldSelf.storage.medium").message("spec.storage.medium cannot change: the members' data would be lost. Create another EtcdCluster")
)]
pub struct EtcdClusterSpec {
    /// How many members vote: 1, 3, 5 or 7. Three survive the loss of one, five of two, seven of three. This is what
    /// `kubectl scale` sets.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 7))]
    #[x_kube(validation = Rule::new("self % 2 == 1").message("spec.size is 1, 3, 5 or 7: one member more than an odd number survives no more losses, and costs a write more work"))]
    pub size: i32,
    /// The version of etcd, for example `3.6.16`. A change of it is an upgrade: one minor at a time, one member at a time,
    /// the leader last.
    #[x_kube(validation = Rule::new("self.matches('^[0-9]+[.][0-9]+[.][0-9]+$')").message("spec.version is a version such as 3.6.16"))]
    #[schemars(length(max = 32))]
    pub version: String,
    /// Another image than `quay.io/coreos/etcd`. Without a tag or digest, `:v<version>` is added; with one it is used as it
    /// is, and must contain the etcd of spec.version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,
    /// Where members keep their data.
    #[serde(default)]
    pub storage: Storage,
    /// How members, clients and the operator prove who they are to each other, and keep others from listening.
    #[serde(default)]
    pub tls: Tls,
    /// etcd's own settings. A change restarts the members one after another.
    #[serde(default)]
    pub etcd: EtcdSettings,
    /// What surrounds etcd in its pods: resources, placement, security, labels. A change restarts the members one after
    /// another.
    #[serde(default)]
    pub pod: PodOptions,
    /// Leave everything as it is; only the status is kept up to date.
    #[serde(default)]
    pub paused: bool,
    /// How members are restarted when a new version or new settings ask for it.
    #[serde(default)]
    pub update_strategy: UpdateStrategy,
    /// When a member that does not serve is restarted or replaced.
    #[serde(default)]
    pub remediation: Remediation,
    /// What becomes of volumes that are no longer used, and whether this object may be deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// Where the first data comes from. It is read once, before the cluster exists.
    #[serde(default)]
    pub bootstrap: Bootstrap,
    /// Objects of the Prometheus operator that watch this cluster.
    #[serde(default)]
    pub monitoring: Monitoring,
    /// Who may connect, enforced by a NetworkPolicy; without it there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_policy: Option<NetworkPolicyOptions>,
    /// The DNS domain of the Kubernetes cluster, for the names in certificates.
    #[serde(default = "cluster_domain")]
    #[schemars(regex(pattern = r"^[a-z0-9]([a-z0-9.-]{0,200}[a-z0-9])?$"))]
    pub cluster_domain: String,
}

fn three() -> i32 {
    3
}

fn cluster_domain() -> String {
    "cluster.local".to_owned()
}

#[cfg(test)]
mod tests {
    use kube::CustomResourceExt as _;
    use serde_json::{Value, json};

    use crate::{EtcdCluster, TlsMode, testing};

    fn refused(spec: Value, old: Option<Value>) -> Vec<String> {
        testing::refused::<EtcdCluster>(spec, old)
    }

    #[test]
    fn a_version_is_all_that_is_needed() {
        let cluster: EtcdCluster = serde_json::from_value(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster", "metadata": {"name": "db"}, "spec": {"version": "3.6.16"}
        }))
        .unwrap();
        assert_eq!((cluster.spec.size, cluster.spec.tls.mode), (3, TlsMode::SelfManaged));
        assert_eq!(cluster.spec.storage.size.0, "8Gi");
        assert!(cluster.spec.etcd.corruption_checks.initial && !cluster.spec.deletion_policy.protection);
    }

    #[test]
    fn what_the_schema_can_refuse_it_refuses_by_name() {
        let good = json!({"version": "3.6.16"});
        assert_eq!(refused(good.clone(), None), Vec::<String>::new());
        let cases = [
            (json!({"version": "3.6.16", "size": 4}), None, "spec.size is 1, 3, 5 or 7"),
            (json!({"version": "latest"}), None, "spec.version is a version such as 3.6.16"),
            (json!({"version": "3.6.16", "tls": {"mode": "Secrets"}}), None, "spec.tls.secrets is needed"),
            (
                json!({"version": "3.6.16", "tls": {"certManager": {"issuerRef": {"name": "ca"}}}}),
                None,
                "spec.tls.certManager is needed",
            ),
            (
                json!({"version": "3.6.16", "etcd": {"heartbeatIntervalMilliseconds": 300, "electionTimeoutMilliseconds": 1000}}),
                None,
                "must be at least five times",
            ),
            (
                json!({"version": "3.6.16", "tls": {"mode": "Off"}}),
                Some(good.clone()),
                "spec.tls.mode cannot change",
            ),
            (
                json!({"version": "3.6.16", "storage": {"medium": "Memory"}}),
                Some(good.clone()),
                "spec.storage.medium cannot change",
            ),
        ];
        for (spec, old, expected) in cases {
            let refused = refused(spec.clone(), old);
            assert!(refused.iter().any(|message| message.contains(expected)), "{spec}: {refused:?}");
        }
    }

    #[test]
    fn kubectl_scale_sets_the_size() {
        let crd = serde_json::to_value(EtcdCluster::crd()).unwrap();
        let scale = &crd["spec"]["versions"][0]["subresources"]["scale"];
        assert_eq!(scale["specReplicasPath"], ".spec.size");
        assert_eq!(crd["spec"]["names"]["plural"], "etcdclusters");
        assert_eq!(crd["spec"]["names"]["shortNames"], json!(["etcd"]));
    }
}
