//! EtcdBackup: one snapshot of a cluster, and the store that backups are kept in.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::patterns;

/// One backup of an etcd cluster. Creating it takes the backup.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "etcd.capstan.dev",
    version = "v1alpha1",
    kind = "EtcdBackup",
    category = "capstan",
    namespaced,
    status = "EtcdBackupStatus",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Revision", type_ = "integer", json_path = ".status.revision"),
    printcolumn(name = "Bytes", type_ = "integer", json_path = ".status.bytes"),
    printcolumn(name = "Completed", type_ = "date", json_path = ".status.completedAt"),
    printcolumn(name = "ID", type_ = "string", json_path = ".status.id", priority = 1),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = 1),
    validation = Rule::new("self.metadata.name.size() <= 56").message("metadata.name may have 56 characters at most: the names of its Jobs are derived from it")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.clusterName == oldSelf.clusterName && self.store == oldSelf.store && self.verifyByRestore == oldSelf.verifyByRestore && self.deadline == oldSelf.deadline").message("spec cannot change, but for deletionPolicy: a backup is taken once. Create another EtcdBackup")
)]
pub struct EtcdBackupSpec {
    /// The EtcdCluster in this namespace that is to be backed up.
    #[schemars(length(min = 1, max = 63))]
    pub cluster_name: String,
    /// Where the backup is kept.
    pub store: BackupStore,
    /// Restore the backup into an etcd that is thrown away afterwards, and compare what is in it with what the manifest says.
    #[serde(default)]
    pub verify_by_restore: bool,
    /// How long it may take, such as `30m` or `2h`. After that it has failed.
    #[serde(default = "one_hour")]
    #[schemars(regex(pattern = patterns::WHOLE_SECONDS))]
    pub deadline: String,
    /// What becomes of the stored backup when this object is deleted.
    #[serde(default)]
    pub deletion_policy: BackupDeletionPolicy,
}

fn one_hour() -> String {
    "1h".to_owned()
}

/// What becomes of what is stored.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackupDeletionPolicy {
    /// It stays in the store.
    #[default]
    Retain,
    /// It is deleted from the store, before this object goes.
    Delete,
}

/// Where backups are kept.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.url.matches('^(s3|gs|az)://[^/ ]+(/[^ ]*)?$') || self.url.matches('^pvc://[a-z0-9.-]+(/[^ ]*)?$')").message("store.url is such as s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or pvc://claim/directory"),
    validation = Rule::new("self.url.startsWith('s3://') || !(has(self.region) || self.virtualHostStyle || has(self.serverSideEncryption) || has(self.kmsKey))").message("store.region, virtualHostStyle, serverSideEncryption and kmsKey are for s3:// only"),
    validation = Rule::new("!self.url.startsWith('pvc://') || !(has(self.server) || has(self.ca) || has(self.credentials))").message("store.server, ca and credentials are not for pvc://"),
    validation = Rule::new("!has(self.kmsKey) || has(self.serverSideEncryption)").message("store.kmsKey needs store.serverSideEncryption, such as aws:kms"),
    validation = Rule::new("!has(self.credentials) || !has(self.serviceAccountName)").message("store.credentials and store.serviceAccountName exclude each other: a Secret, or the platform's identity")
)]
pub struct BackupStore {
    /// `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix` (`az://container@account/prefix` where the credentials name no
    /// account), or `pvc://claim/directory` for a PersistentVolumeClaim of this namespace.
    #[schemars(length(min = 6, max = 1024))]
    pub url: String,
    /// Another server than the cloud's own: of a store that speaks S3, for example `https://minio.storage.svc:9000`, or a private endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512), regex(pattern = r"^https?://[^ ]+$"))]
    pub server: Option<String>,
    /// The region of the bucket; us-east-1 unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub region: Option<String>,
    /// The bucket is in the host's name, as AWS wants it; else in the path.
    #[serde(default)]
    pub virtual_host_style: bool,
    /// Ask the store to encrypt what it keeps: `AES256`, or `aws:kms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub server_side_encryption: Option<String>,
    /// The store's key for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub kms_key: Option<String>,
    /// The authorities of the store's certificate, as PEM in a Secret of this namespace. Those of the image unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<SecretKey>,
    /// A Secret of this namespace with a key per credential: for S3 `accessKeyID` and `secretAccessKey` (and `sessionToken`), for
    /// Google `serviceAccount`, for Azure `accountName` and `accountKey`. Without it, the identity that the platform gives the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<SecretName>,
    /// A ServiceAccount of this namespace that the platform gives an identity. Its token for Kubernetes is not mounted, and containers of
    /// `spec.image` do not get the identity. Without it pods run as `<cluster>-backup`, which the operator makes and which may do nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub service_account_name: Option<String>,
    /// The key that backups are sealed with (AES-256-GCM) before they leave the pod: 32 bytes, raw or in base64, in a Secret of this
    /// namespace. Keep it elsewhere, too: without it there is no restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<SecretKey>,
}

/// A key of a Secret.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SecretKey {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in it.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// A Secret.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SecretName {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// How a backup stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupStatus {
    /// One word for how it stands.
    pub phase: Option<BackupPhase>,
    /// The same as a sentence, and what to do if there is something to do.
    pub message: Option<String>,
    /// The generation of the spec that all this is about.
    pub observed_generation: Option<i64>,
    /// The backup's name in the store: this object's name, and the beginning of its UID.
    pub id: Option<String>,
    /// Where it is.
    pub location: Option<String>,
    /// Everything up to this revision is in it.
    pub revision: Option<i64>,
    /// etcd's ID of the cluster that it was taken of, in hexadecimal.
    #[serde(rename = "clusterID")]
    pub cluster_id: Option<String>,
    /// The UID of the EtcdCluster that it was taken of.
    #[serde(rename = "clusterUID")]
    pub cluster_uid: Option<String>,
    /// The version of the member that gave it. An older etcd cannot read it.
    pub etcd_version: Option<String>,
    /// The size of the database.
    pub bytes: Option<i64>,
    /// The size of what is stored.
    pub stored_bytes: Option<i64>,
    /// etcd's own hash of the database, in hexadecimal.
    pub sha256: Option<String>,
    /// When its Job began.
    pub started_at: Option<Time>,
    /// When it was stored and read back.
    pub completed_at: Option<Time>,
    /// How far it is, while it runs.
    pub progress: Option<BackupProgress>,
    /// What came of restoring it, where that was asked for.
    pub verified: Option<Verified>,
    /// What is (not) the case, and why.
    pub conditions: Option<Vec<Condition>>,
}

/// One word for how a backup stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BackupPhase {
    /// It waits for something: the message says for what.
    Pending,
    /// Its Job runs.
    Running,
    /// It is stored, read back and found whole.
    Completed,
    /// It will not be there. Create another EtcdBackup when the cause is mended.
    Failed,
}

/// How far a backup is.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct BackupProgress {
    /// Of the database, taken from etcd so far.
    pub bytes: i64,
    /// About how much it will be: etcd goes on writing meanwhile.
    pub total: i64,
    /// How fast it goes.
    pub bytes_per_second: i64,
}

/// What came of restoring a backup.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// Whether an etcd with the restored data has what the manifest says.
    pub good: bool,
    /// When it was compared.
    pub at: Time,
    /// The revision that was compared.
    pub revision: Option<i64>,
    /// etcd's hash of all keys and values up to that revision.
    pub hash: Option<i64>,
    /// What was found, as a sentence.
    pub message: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{EtcdBackup, testing::refused};

    fn message(spec: serde_json::Value, old: Option<serde_json::Value>) -> String {
        refused::<EtcdBackup>(spec, old).join("; ")
    }

    #[test]
    fn a_cluster_and_a_store_are_all_that_is_needed() {
        let spec = json!({"clusterName": "db", "store": {"url": "s3://backups/of/db"}});
        assert_eq!(message(spec.clone(), None), "");
        let claim = json!({"clusterName": "db", "store": {"url": "pvc://backups/db"}});
        assert_eq!(message(claim, None), "");
        let mut deleted = spec.clone();
        deleted["deletionPolicy"] = json!("Delete");
        assert_eq!(message(deleted, Some(spec)), "", "the policy may change");
    }

    #[test]
    fn what_the_schema_can_refuse_it_refuses_by_name() {
        let store = |store| json!({"clusterName": "db", "store": store});
        let cases = [
            (store(json!({"url": "backups"})), "store.url is such as"),
            (store(json!({"url": "file:///etc"})), "store.url is such as"),
            (store(json!({"url": "gs://b", "region": "r"})), "are for s3:// only"),
            (store(json!({"url": "pvc://b", "server": "http://s"})), "are not for pvc://"),
            (store(json!({"url": "pvc://b", "credentials": {"name": "c"}})), "are not for pvc://"),
            (store(json!({"url": "s3://b", "kmsKey": "k"})), "needs store.serverSideEncryption"),
            (
                store(json!({"url": "s3://b", "credentials": {"name": "c"}, "serviceAccountName": "a"})),
                "exclude each other",
            ),
        ];
        for (spec, expected) in cases {
            let said = message(spec.clone(), None);
            assert!(said.contains(expected), "{spec}: {said}");
        }
        let (before, after) = (store(json!({"url": "s3://a"})), store(json!({"url": "s3://b"})));
        assert!(message(after, Some(before)).contains("a backup is taken once"));
    }
}
