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
    validation = Rule::new("!self.metadata.name.contains('.')").message("metadata.name must not contain a dot: it becomes part of DNS names"),
    validation = Rule::new("!has(oldSelf.status) || !has(oldSelf.status.clusterID) || self.spec.bootstrap == oldSelf.spec.bootstrap").message("spec.bootstrap cannot change: it is read once, before the cluster exists, and this one does. Set it back; to bring the data of a backup into this cluster create an EtcdRestore, to begin with it create another EtcdCluster")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.tls.mode == oldSelf.tls.mode").message("spec.tls.mode cannot change: members know each other by URLs that begin with http or https, and trust one CA. Create another EtcdCluster"),
    validation = Rule::new("self.storage.medium == oldSelf.storage.medium").message("spec.storage.medium cannot change: the members' data would be lost. Create another EtcdCluster"),
    validation = Rule::new("self.storage.medium != 'Memory' || !has(self.bootstrap.recovery)").message("spec.bootstrap.recovery brings the data of a backup to a volume, and spec.storage.medium is Memory. Set it to PersistentVolume, or remove spec.bootstrap.recovery")
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

    /// With more fields than the least.
    fn spec(more: &Value) -> Value {
        let mut spec = json!({ "version": "3.6.16" });
        for (field, value) in more.as_object().unwrap() {
            spec[field] = value.clone();
        }
        spec
    }

    #[test]
    fn what_the_schema_can_refuse_it_refuses_by_name() {
        let cases = [
            (json!({"size": 4}), "spec.size is 1, 3, 5 or 7"),
            (json!({"version": "latest"}), "spec.version is a version such as 3.6.16"),
            (json!({"tls": {"mode": "Secrets"}}), "spec.tls.secrets is needed"),
            (
                json!({"tls": {"certManager": {"issuerRef": {"name": "ca"}}}}),
                "spec.tls.certManager is needed",
            ),
            (
                json!({"etcd": {"heartbeatIntervalMilliseconds": 300, "electionTimeoutMilliseconds": 1000}}),
                "must be at least five times",
            ),
            (json!({"etcd": {"heartbeatIntervalMilliseconds": 300}}), "must be at least five times"),
            (json!({"etcd": {"electionTimeoutMilliseconds": 400}}), "must be at least five times"),
            (
                json!({"etcd": {"autoCompaction": {"mode": "Revision", "retention": "1h"}}}),
                "spec.etcd.autoCompaction.retention is a number of revisions",
            ),
            (
                json!({"etcd": {"autoCompaction": {"retention": "daily"}}}),
                "spec.etcd.autoCompaction.retention should match",
            ),
            (
                json!({"etcd": {"corruptionChecks": {"periodic": "4 hours"}}}),
                "spec.etcd.corruptionChecks.periodic should match",
            ),
            (json!({"remediation": {"restartAfter": "PT2M"}}), "spec.remediation.restartAfter should match"),
            (json!({"remediation": {"replaceAfter": "10"}}), "spec.remediation.replaceAfter should match"),
            (json!({"remediation": {"keepOldVolume": "1d"}}), "spec.remediation.keepOldVolume should match"),
            (json!({"storage": {"size": "large"}}), "spec.storage.size should match"),
            (json!({"etcd": {"quotaBackendBytes": "4GB"}}), "spec.etcd.quotaBackendBytes should match"),
            (
                json!({"storage": {"medium": "Memory", "storageClassName": "fast"}}),
                "spec.storage.storageClassName is the class of volumes",
            ),
            (
                json!({"storage": {"medium": "Memory"}, "bootstrap": {"recovery": {"backup": "nightly"}}}),
                "spec.bootstrap.recovery brings the data of a backup to a volume",
            ),
        ];
        for (more, expected) in cases {
            let refused = refused(spec(&more), None);
            assert!(refused.iter().any(|message| message.contains(expected)), "{more}: {refused:?}");
        }
    }

    #[test]
    fn what_can_be_carried_out_passes() {
        let cases = [
            json!({}),
            json!({"etcd": {"heartbeatIntervalMilliseconds": 200, "electionTimeoutMilliseconds": 1000}}),
            json!({"etcd": {"heartbeatIntervalMilliseconds": 200}}),
            json!({"etcd": {"electionTimeoutMilliseconds": 500}}),
            json!({"etcd": {"autoCompaction": {"mode": "Revision", "retention": "10000"}}}),
            json!({"etcd": {"autoCompaction": {"retention": "8"}}}),
            json!({"etcd": {"autoCompaction": {"mode": "Periodic", "retention": "1h30m"}}}),
            json!({"etcd": {"corruptionChecks": {"periodic": "4h"}, "quotaBackendBytes": "4Gi"}}),
            json!({"etcd": {"quotaBackendBytes": 2_147_483_648_u32}}),
            json!({"remediation": {"restartAfter": "90s", "replaceAfter": "1.5h", "keepOldVolume": "72h"}}),
            json!({"storage": {"size": "1.5Gi", "storageClassName": "fast"}}),
            json!({"storage": {"size": "256Mi", "medium": "Memory"}}),
            json!({"bootstrap": {"recovery": {"backup": "nightly"}}}),
        ];
        for more in cases {
            assert_eq!(refused(spec(&more), None), Vec::<String>::new(), "{more}");
        }
    }

    #[test]
    fn a_size_is_a_quantity_and_never_null() {
        let schema = testing::schema::<EtcdCluster>();
        for field in ["storage/properties/size", "etcd/properties/quotaBackendBytes"] {
            let field = schema.pointer(&format!("/properties/spec/properties/{field}")).unwrap();
            assert_eq!(field["x-kubernetes-int-or-string"], true, "{field}");
            assert_eq!(field["nullable"], false, "{field}");
        }
    }

    #[test]
    fn what_members_stand_on_cannot_change() {
        let cases = [
            (json!({"tls": {"mode": "Off"}}), "spec.tls.mode cannot change"),
            (json!({"storage": {"medium": "Memory"}}), "spec.storage.medium cannot change"),
        ];
        for (more, expected) in cases {
            let refused = refused(spec(&more), Some(spec(&json!({}))));
            assert!(refused.iter().any(|message| message.contains(expected)), "{more}: {refused:?}");
        }
    }

    #[test]
    fn where_the_first_data_comes_from_can_change_until_the_cluster_exists() {
        let [nothing, backup] = [json!({}), json!({"bootstrap": {"recovery": {"backup": "nightly"}}})];
        let object = |more: &Value, status: Value| match status {
            Value::Null => json!({ "spec": spec(more) }),
            status => json!({ "spec": spec(more), "status": status }),
        };
        let exists = json!({"clusterID": "9d3f", "phase": "Healthy"});
        let starts = json!({"phase": "Bootstrapping"});
        let cases = [
            ("new", object(&backup, Value::Null), None, true),
            ("no status yet", object(&backup, Value::Null), Some(object(&nothing, Value::Null)), true),
            ("no ID yet", object(&backup, starts.clone()), Some(object(&nothing, starts.clone())), true),
            ("the first ID", object(&backup, exists.clone()), Some(object(&backup, starts)), true),
            (
                "a status",
                object(&backup, json!({"clusterID": "9d3f", "phase": "Degraded"})),
                Some(object(&backup, exists.clone())),
                true,
            ),
            (
                "the same, in full",
                object(&json!({"bootstrap": {"existingVolumes": "Adopt"}}), exists.clone()),
                Some(object(&nothing, exists.clone())),
                true,
            ),
            (
                "another field",
                object(&json!({"size": 5}), exists.clone()),
                Some(object(&nothing, exists.clone())),
                true,
            ),
            ("a backup", object(&backup, exists.clone()), Some(object(&nothing, exists.clone())), false),
            ("no backup", object(&nothing, exists.clone()), Some(object(&backup, exists.clone())), false),
            (
                "volumes",
                object(&json!({"bootstrap": {"existingVolumes": "Ignore"}}), exists.clone()),
                Some(object(&nothing, exists)),
                false,
            ),
        ];
        for (what, new, old, passes) in cases {
            let refused = testing::replaced::<EtcdCluster>(new, old);
            assert_eq!(refused.is_empty(), passes, "{what}: {refused:?}");
            assert!(
                passes || refused.concat().contains("spec.bootstrap cannot change"),
                "{what}: {refused:?}"
            );
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
