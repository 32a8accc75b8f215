//! ExampleApp as users write and read it: the whitepaper's fields, and what the further capabilities need.
//!
//! What the schema can refuse it refuses here (patterns, enums, CEL); the rest is refused in `operator/decide/spec.rs`, with
//! a condition that names the field. Every field besides the whitepaper's is optional.
#![expect(unreachable_pub, reason = "KubeSchema repeats the structs where nobody can reach them")]

use kit::{
    backups::{Backup, BackupStatus, Restore},
    choices::{Autoscaling, AutoscalingStatus, DeletionPolicy, ServiceOptions, Storage},
    kinds::{Condition, ResourceRequirements, Time},
    operation::Failed,
};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A small notes service, and how it is to be run.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "example-app.appdelivery.cncf.io",
    version = "v1alpha1",
    kind = "ExampleApp",
    shortname = "ea",
    namespaced,
    status = "ExampleAppStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.currentVersion"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Last backup", type_ = "date", json_path = ".status.backup.lastBackupTime"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = 1),
    validation = Rule::new("self.metadata.name.size() <= 40").message("metadata.name may have 40 characters at most: the names of its Jobs are derived from it")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.autoscaling) || self.replicas == 1").message("spec.replicas and spec.autoscaling exclude each other: remove spec.replicas"),
    validation = Rule::new("!has(self.restore) || (has(self.backup) && self.backup.host != '' && self.backup.bucketName != '')").message("spec.restore needs spec.backup.host and spec.backup.bucketName: they say where the backup is")
)]
pub struct ExampleAppSpec {
    /// The version to run, for example `0.0.1`. A change of it is an upgrade: backup, migration, roll, and back on failure.
    #[x_kube(validation = Rule::new("self.matches('^[0-9]+[.][0-9]+[.][0-9]+$')").message("spec.appVersion is a version such as 0.0.1"))]
    #[schemars(length(max = 32))]
    pub app_version: String,
    /// What can be switched on and off while it runs.
    #[serde(default)]
    pub features: Features,
    /// Where backups go, and when they are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
    /// Take the data from a backup: a new instance is born from it; on one that exists, a changed value is the consent to
    /// replace its data, after a safety backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<Restore>,
    /// How many pods serve; they share one volume. This is what `kubectl scale` and a HorizontalPodAutoscaler set.
    #[serde(default = "kit::choices::one")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
    /// Let the operator choose the number of pods, by the requests that they serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,
    /// The volume.
    #[serde(default)]
    pub storage: Storage,
    /// CPU and memory of each pod. A quarter of the memory limit becomes the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// Another image than the operator's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// How it is reached.
    #[serde(default)]
    pub service: ServiceOptions,
    /// Take over a Deployment, Service or claim of these names that exists already. Their data is kept.
    #[serde(default)]
    pub take_ownership: bool,
    /// What may be mended without asking.
    #[serde(default)]
    pub remediation: Remediation,
    /// What becomes of the volume when this object is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// Leave everything as it is; only the status is kept up to date.
    #[serde(default)]
    pub paused: bool,
}

impl ExampleAppSpec {
    /// Where backups go, if they are made.
    pub(crate) fn backups(&self) -> Option<&Backup> {
        self.backup.as_ref().filter(|backup| backup.enabled)
    }
}

/// What can be switched.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Features {
    /// Search: `/search?q=`.
    pub example_feature1: bool,
    /// Export: `/export`.
    pub example_feature2: bool,
}

/// What may be mended without asking.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Remediation {
    /// Restore the newest backup when the data is corrupt. What was written since then is lost.
    pub restore_corrupt_volume: bool,
}

/// How it is, and what is being done about it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ExampleAppStatus {
    /// The version that has been seen to serve the data.
    pub current_version: Option<String>,
    /// Where it is reached.
    pub url: Option<String>,
    /// The Secret with its password.
    pub auth_secret_name: Option<String>,
    /// Its backups.
    pub backup: Option<BackupStatus>,
    /// One word for what is going on.
    pub phase: Option<Phase>,
    /// The same as a sentence, and what to do if there is something to do.
    pub message: Option<String>,
    /// How many pods there are.
    pub replicas: Option<i32>,
    /// How many of them serve.
    pub ready_replicas: Option<i32>,
    /// The pods' labels, for a HorizontalPodAutoscaler.
    pub selector: Option<String>,
    /// The claim that holds the data.
    pub claim_name: Option<String>,
    /// The version that the data belongs to. It is written before that version is first started, when nobody knows yet whether
    /// it will ever serve.
    pub data_version: Option<String>,
    /// What is being carried out, in steps. It is written before its first step, so that a restarted operator goes on with it.
    pub operation: Option<Operation>,
    /// How many operations there have been.
    pub operations: Option<i64>,
    /// The wish in spec.restore that was fulfilled last.
    pub restored: Option<String>,
    /// The upgrade that failed; it is not tried again until spec.appVersion changes.
    pub failed_upgrade: Option<Failed>,
    /// The restore that failed; it is not tried again until spec.restore changes.
    pub failed_restore: Option<Failed>,
    /// When corrupt data was last replaced by a backup without asking.
    pub last_remediation: Option<Time>,
    /// What autoscaling has decided.
    pub autoscaling: Option<AutoscalingStatus>,
    /// The generation of the spec that all this is about.
    pub observed_generation: Option<i64>,
    /// What is (not) the case, and why.
    pub conditions: Option<Vec<Condition>>,
}

/// One word for what is going on.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The first pods are not ready yet.
    Installing,
    /// All is well.
    Running,
    /// Pods are missing, or are being replaced.
    Unready,
    /// An upgrade is being carried out.
    Upgrading,
    /// A failed upgrade or restore is being undone.
    RollingBack,
    /// Data comes from a backup.
    Restoring,
    /// The data is corrupt, or could not be restored: somebody must decide.
    Failed,
    /// Something of these names belongs to somebody else: see the message.
    Blocked,
    /// The user asked to leave it alone.
    Paused,
}

/// Something that takes several steps.
pub type Operation = kit::operation::Operation<OperationKind, Step>;

/// What can be carried out.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperationKind {
    /// To another version.
    Upgrade,
    /// Data from a backup, as the user asked.
    Restore,
    /// Data from the newest backup, because it was corrupt.
    Remediation,
    /// A backup, as the user asked.
    Backup,
}

/// The steps of operations, in their order.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A Job makes a backup, while the app goes on.
    BackUp,
    /// The pods go.
    Stop,
    /// A Job replaces the data.
    Restore,
    /// A Job brings the data into the version's format.
    Migrate,
    /// The pods come, and must become ready in time.
    Start,
    /// It failed: the pods go again.
    UndoStop,
    /// A Job brings the data back as it was; after an upgrade with all that was written since.
    UndoData,
    /// That failed: a Job brings back the backup that was made first.
    UndoRestore,
    /// The old version comes back.
    UndoStart,
}
