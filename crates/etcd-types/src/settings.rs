//! etcd's own settings, its storage, and its certificates.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::patterns;

/// Where members keep their data.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.medium != 'Memory' || !has(self.storageClassName)").message("spec.storage.storageClassName is the class of volumes, and with medium Memory there are none. Remove it, or set spec.storage.medium to PersistentVolume")
)]
pub struct Storage {
    /// The size of each member's volume. It holds the database, its write-ahead log and snapshots. It can grow where the
    /// storage class allows that (`allowVolumeExpansion`), while the members serve; it cannot shrink.
    #[serde(default = "eight_gibibytes")]
    #[schemars(schema_with = "patterns::quantity")]
    pub size: Quantity,
    /// The storage class of the claims; the Kubernetes cluster's default unless said otherwise. It cannot change once there
    /// are members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
    /// What the data is kept on.
    #[serde(default)]
    pub medium: Medium,
}

impl Default for Storage {
    fn default() -> Self {
        Self { size: eight_gibibytes(), storage_class_name: None, medium: Medium::default() }
    }
}

fn eight_gibibytes() -> Quantity {
    Quantity("8Gi".to_owned())
}

/// What data is kept on.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Medium {
    /// A PersistentVolumeClaim per member. It outlives the pod, the node where the class allows it, and this object.
    #[default]
    PersistentVolume,
    /// Memory of the node: fast, and gone with the pod. A member that loses its pod is replaced; a cluster that loses the
    /// majority of its pods at once has lost its data.
    Memory,
}

/// How members, clients and the operator prove who they are.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("(self.mode == 'Secrets') == has(self.secrets)").message("spec.tls.secrets is needed with mode Secrets, and with no other"),
    validation = Rule::new("(self.mode == 'CertManager') == has(self.certManager)").message("spec.tls.certManager is needed with mode CertManager, and with no other")
)]
pub struct Tls {
    /// Who makes the certificates.
    #[serde(default)]
    pub mode: TlsMode,
    /// With mode Secrets: where your certificates are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secrets: Option<TlsSecrets>,
    /// With mode CertManager: who issues the certificates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_manager: Option<CertManager>,
}

impl Tls {
    /// The Secret that the operator writes where it would use `name`: another one where a user gives that name to a Secret of their own.
    pub fn own_secret(&self, name: String) -> String {
        let given = self.secrets.iter().flat_map(|it| [&it.peer, &it.server, &it.operator]);
        if given.into_iter().any(|given| *given == name) { format!("{name}-copy") } else { name }
    }
}

/// Who makes the certificates.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// The operator: a CA of this cluster's own, certificates from it, and their renewal. A client's credentials are in the
    /// Secret that status.connection names.
    #[default]
    SelfManaged,
    /// You: they are in the Secrets that spec.tls.secrets names.
    Secrets,
    /// cert-manager, by Certificate objects that the operator makes.
    CertManager,
    /// Nobody: everything is sent in clear text, and everybody who reaches the cluster may read and write it.
    Off,
}

/// Secrets with `ca.crt`, `tls.crt` and `tls.key` each. They are input: members use copies, which the operator makes of what it has checked.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TlsSecrets {
    /// For members among each other, as server and as client. Names: `*.<name>-peer.<namespace>.svc`, and the same with
    /// the cluster's domain.
    #[schemars(length(min = 1, max = 253))]
    pub peer: String,
    /// For members towards clients; also good as a client's certificate. Names: those of the peer certificate,
    /// `<name>-client.<namespace>.svc`, `localhost`.
    #[schemars(length(min = 1, max = 253))]
    pub server: String,
    /// For the operator and its Jobs as clients. Where etcd's authentication is on, its common name must be a user with the role root.
    #[schemars(length(min = 1, max = 253))]
    pub operator: String,
}

/// Who issues the certificates.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CertManager {
    /// The issuer. It must be able to issue a CA's certificates for this cluster: one that puts its CA into `ca.crt`.
    pub issuer_ref: IssuerReference,
}

/// A cert-manager issuer.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct IssuerReference {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// `Issuer`, in this namespace, or `ClusterIssuer`.
    #[serde(default = "issuer")]
    pub kind: String,
    /// Its API group.
    #[serde(default = "cert_manager_group")]
    pub group: String,
}

fn issuer() -> String {
    "Issuer".to_owned()
}

fn cert_manager_group() -> String {
    "cert-manager.io".to_owned()
}

/// etcd's own settings, in etcd's words. Each is rendered as the flag that the member's version has for it.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("(has(self.electionTimeoutMilliseconds) ? self.electionTimeoutMilliseconds : 1000) >= 5 * (has(self.heartbeatIntervalMilliseconds) ? self.heartbeatIntervalMilliseconds : 100)").message("spec.etcd.electionTimeoutMilliseconds (1000 unless set) must be at least five times heartbeatIntervalMilliseconds (100 unless set): etcd does not start otherwise. Set both")
)]
pub struct EtcdSettings {
    /// How large the database may become before etcd refuses writes, for example `4Gi`. Four fifths of the volume unless said
    /// otherwise, and 8Gi at most then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "patterns::quantity")]
    pub quota_backend_bytes: Option<Quantity>,
    /// When old revisions are dropped. Without it they are kept until a client compacts them, as Kubernetes API servers do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compaction: Option<AutoCompaction>,
    /// After how many committed changes the write-ahead log is cut. etcd's default unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 10000000))]
    pub snapshot_count: Option<i64>,
    /// How often the leader says that it is there: about one round trip between members. 100 unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 10000))]
    pub heartbeat_interval_milliseconds: Option<i32>,
    /// After how long without a heartbeat a follower asks to be elected: ten round trips or more. 1000 unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 50, max = 50000))]
    pub election_timeout_milliseconds: Option<i32>,
    /// The largest request that is accepted, in bytes. 1572864 unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1024, max = 104857600))]
    pub max_request_bytes: Option<i64>,
    /// What etcd logs.
    #[serde(default)]
    pub log_level: LogLevel,
    /// How members make sure that their data is the same.
    #[serde(default)]
    pub corruption_checks: CorruptionChecks,
    /// Features to switch on or off by name, for members of version 3.6 and later.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// Flags that have no field here, without the dashes: `{"max-txn-ops": "256"}`. Those that the operator sets itself are
    /// refused.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_args: BTreeMap<String, String>,
}

/// When old revisions are dropped.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.mode != 'Revision' || self.retention.matches('^[0-9]+$')").message("spec.etcd.autoCompaction.retention is a number of revisions such as 10000 with mode Revision: etcd would read a time as that many nanoseconds. For a time, set mode to Periodic")
)]
pub struct AutoCompaction {
    /// What the retention counts.
    #[serde(default)]
    pub mode: CompactionMode,
    /// With Periodic a time such as `1h`, or a number of hours; with Revision a number of revisions such as `10000`.
    #[schemars(length(max = 32), regex(pattern = patterns::RETENTION))]
    pub retention: String,
}

/// What a retention counts.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompactionMode {
    /// Time.
    #[default]
    Periodic,
    /// Revisions.
    Revision,
}

/// What etcd logs.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum LogLevel {
    /// Everything.
    Debug,
    /// What happens.
    #[default]
    Info,
    /// What may become a problem.
    Warn,
    /// What went wrong.
    Error,
}

/// How members make sure that their data is the same.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct CorruptionChecks {
    /// A member compares itself with the others before it serves, and does not start when it differs.
    #[serde(default = "yes")]
    pub initial: bool,
    /// The leader compares the members at each compaction.
    #[serde(default = "yes")]
    pub compact_hash: bool,
    /// How often the whole database is compared, for example `4h`. It reads everything; never unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32), regex(pattern = patterns::DURATION))]
    pub periodic: Option<String>,
}

impl Default for CorruptionChecks {
    fn default() -> Self {
        Self { initial: true, compact_hash: true, periodic: None }
    }
}

fn yes() -> bool {
    true
}
