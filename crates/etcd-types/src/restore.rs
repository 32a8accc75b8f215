//! EtcdRestore: a cluster's data is replaced by that of a backup; and where such data comes from.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::BackupStore;

/// A restore of an etcd cluster in place: its present data is given up for that of a backup. Members, name, certificates and Services
/// stay; the volumes of the present members are kept.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "etcd.capstan.dev",
    version = "v1alpha1",
    kind = "EtcdRestore",
    category = "capstan",
    namespaced,
    status = "EtcdRestoreStatus",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Step", type_ = "string", json_path = ".status.step"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = 1),
    validation = Rule::new("self.metadata.name.size() <= 40").message("metadata.name may have 40 characters at most: the name of the backup before it is derived from it")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.clusterName == oldSelf.clusterName && self.from == oldSelf.from").message("spec cannot change, but for consent and withoutSafetyBackup: create another EtcdRestore")
)]
pub struct EtcdRestoreSpec {
    /// The EtcdCluster in this namespace whose data is replaced.
    #[schemars(length(min = 1, max = 63))]
    pub cluster_name: String,
    /// Where the data comes from.
    pub from: RecoverySource,
    /// `<name of the EtcdCluster>/<its status.clusterID>`: you agree that the data of this very cluster is given up. Without it, nothing is
    /// touched. The ID is another one after every restore, so the same consent never restores twice.
    #[serde(default)]
    #[schemars(length(max = 80))]
    pub consent: String,
    /// You agree that the present data is not backed up first: no backup of it is taken, and one that failed is ignored. The volumes of
    /// the present members are kept in any case. It can be set when the restore asks for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_safety_backup: bool,
}

/// Where data comes from: an EtcdBackup of this namespace, or a store.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.backup) != has(self.store)").message("exactly one of backup and store is needed"),
    validation = Rule::new("has(self.store) || !(has(self.id) || has(self.cluster))").message("id and cluster go with store: an EtcdBackup knows its own"),
    validation = Rule::new("!(has(self.id) && has(self.cluster))").message("id names one backup; cluster asks for the newest one of that cluster: not both"),
    validation = Rule::new("!has(self.allowRefuted) || !self.allowRefuted || has(self.id)").message("allowRefuted goes with id: a backup that a restore found bad is never chosen, only named"),
    validation = Rule::new("!(has(self.revision) && has(self.time))").message("revision and time exclude each other")
)]
pub struct RecoverySource {
    /// An EtcdBackup in this namespace that is Completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub backup: Option<String>,
    /// Where backups are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<BackupStore>,
    /// The backup's name in the store, as `capstan backup ls` lists it; the newest whole one unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub id: Option<String>,
    /// Without an id: the name of the cluster whose newest backup is meant. This cluster's own unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub cluster: Option<String>,
    /// Restore the backup that `id` names even if a verification by restore has found it bad (refuted). Without it such a backup is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_refuted: Option<bool>,
    /// Go on from the backup to this revision, with what an EtcdBackupSchedule has captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub revision: Option<i64>,
    /// Go on from the backup to this time, with what an EtcdBackupSchedule has captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
}

impl RecoverySource {
    /// Whether it is to end at a point after the backup.
    pub fn has_point(&self) -> bool {
        self.revision.is_some() || self.time.is_some()
    }
}

/// How a restore stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRestoreStatus {
    /// One word for how it stands.
    pub phase: Option<RestorePhase>,
    /// What is being done: Fetching, Restoring, WaitingForNode, BackingUp, Stopping, Starting, Replaying, Growing, Returning.
    pub step: Option<String>,
    /// The same as a sentence, and what to do if there is something to do.
    pub message: Option<String>,
    /// The generation of the spec that all this is about.
    pub observed_generation: Option<i64>,
    /// When it began.
    pub started_at: Option<Time>,
    /// When it was over.
    pub completed_at: Option<Time>,
    /// What is (not) the case, and why.
    pub conditions: Option<Vec<Condition>>,
}

/// One word for how a restore stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RestorePhase {
    /// It waits for something: the message says for what.
    Pending,
    /// Nothing is touched before you agree: spec.consent does not name the cluster and its present ID, or the present data could not be backed up and
    /// spec.withoutSafetyBackup is not set. The message says which.
    WaitingForConsent,
    /// It is being carried out.
    Running,
    /// All members serve the restored data.
    Completed,
    /// It was given up; the cluster has the data that it had before. The message says why.
    Failed,
}

impl RestorePhase {
    /// Whether nothing will be done any more.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// The restore of a cluster that is under way, or was the last: of its `spec.bootstrap.recovery`, or of an EtcdRestore.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRestoreStatus {
    /// The EtcdRestore; nothing for `spec.bootstrap.recovery`.
    pub name: Option<String>,
    /// Its UID.
    pub uid: Option<String>,
    /// One word for how it stands.
    pub phase: RestorePhase,
    /// What is being done.
    pub step: String,
    /// How far it is, what it waits for, or what came of it.
    pub message: String,
    /// When it began.
    pub started_at: Time,
    /// When it was over.
    pub completed_at: Option<Time>,
    /// While it is under way: what the ConfigMap `<cluster>-identity` says about it, as JSON. The operator goes on with it if the ConfigMap is lost.
    pub record: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{EtcdCluster, EtcdRestore, testing::refused};

    fn restore(from: Value) -> String {
        refused::<EtcdRestore>(json!({"clusterName": "db", "from": from}), None).join("; ")
    }

    #[test]
    fn a_source_is_a_backup_or_a_store() {
        let store = json!({"url": "s3://backups"});
        assert_eq!(restore(json!({"backup": "nightly"})), "");
        assert_eq!(restore(json!({"store": store, "id": "nightly-1", "revision": 7})), "");
        assert_eq!(restore(json!({"store": store, "cluster": "other"})), "");
        let cases = [
            (json!({}), "exactly one of backup and store"),
            (json!({"backup": "a", "store": store}), "exactly one of backup and store"),
            (json!({"backup": "a", "id": "b"}), "id and cluster go with store"),
            (json!({"store": store, "id": "a", "cluster": "b"}), "not both"),
            (
                json!({"backup": "a", "revision": 7, "time": "2026-11-16T12:00:00Z"}),
                "revision and time exclude each other",
            ),
        ];
        for (from, expected) in cases {
            let said = restore(from.clone());
            assert!(said.contains(expected), "{from}: {said}");
        }
    }

    #[test]
    fn consent_may_be_given_later_and_nothing_else_may_change() {
        let spec = |consent: &str, backup: &str| json!({"clusterName": "db", "from": {"backup": backup}, "consent": consent});
        assert!(refused::<EtcdRestore>(spec("db", "a"), Some(spec("", "a"))).is_empty());
        let mut without = spec("db", "a");
        without["withoutSafetyBackup"] = json!(true);
        assert!(refused::<EtcdRestore>(without, Some(spec("db", "a"))).is_empty());
        let said = refused::<EtcdRestore>(spec("db", "b"), Some(spec("db", "a"))).join("; ");
        assert!(said.contains("create another EtcdRestore"), "{said}");
    }

    #[test]
    fn the_same_source_can_begin_a_cluster() {
        let spec = |recovery: Value| json!({"version": "3.6.16", "bootstrap": {"recovery": recovery}});
        assert!(refused::<EtcdCluster>(spec(json!({"backup": "nightly"})), None).is_empty());
        let said = refused::<EtcdCluster>(spec(json!({})), None).join("; ");
        assert!(said.contains("exactly one of backup and store"), "{said}");
    }
}
