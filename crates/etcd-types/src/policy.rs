//! What may be done, and when.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BackupStore, RecoverySource, patterns};

/// How members are restarted for a new version or new settings.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStrategy {
    /// Whether somebody is asked on the way.
    #[serde(rename = "type", default)]
    pub kind: UpdateType,
    /// With Supervised: the status.operation.target that may be carried on to the last member, for example `3.6.16`. It may
    /// be set together with spec.version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<String>,
    /// Take a backup into this store before the first member moves to another version: the EtcdBackup `<name>-before-<version>`.
    /// Until it is completed no member is touched; when it fails, delete it to try again, or set spec.version back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<BackupStore>,
}

/// Whether somebody is asked on the way.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpdateType {
    /// One member after another, until all are done.
    #[default]
    Unsupervised,
    /// It stops before the last member, which is the leader, until spec.updateStrategy.approve allows it. Until then going back
    /// is easy.
    Supervised,
}

/// When a member that does not serve is restarted or replaced. Times are such as `90s`, `5m`, `24h`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Remediation {
    /// After how long a pod that runs but does not serve is restarted. At least 30 minutes where its process answers and its database does not,
    /// as in a defragmentation.
    #[serde(default = "two_minutes")]
    #[schemars(length(max = 32), regex(pattern = patterns::DURATION))]
    pub restart_after: String,
    /// After how long a member whose node is dead, or that keeps crashing where others do not, is replaced by a new one with a
    /// new volume. One whose volume is gone for certain is replaced at once.
    #[serde(default = "ten_minutes")]
    #[schemars(length(max = 32), regex(pattern = patterns::DURATION))]
    pub replace_after: String,
    /// How many members may be replaced within an hour. With 0, none is ever replaced.
    #[serde(default = "three")]
    #[schemars(range(min = 0, max = 100))]
    pub max_replacements_per_hour: i32,
    /// How long the volume of a member that was replaced or removed is kept, where spec.deletionPolicy.volumes is Delete.
    #[serde(default = "one_day")]
    #[schemars(length(max = 32), regex(pattern = patterns::DURATION))]
    pub keep_old_volume: String,
}

impl Default for Remediation {
    fn default() -> Self {
        Self {
            restart_after: two_minutes(),
            replace_after: ten_minutes(),
            max_replacements_per_hour: three(),
            keep_old_volume: one_day(),
        }
    }
}

fn two_minutes() -> String {
    "2m".to_owned()
}

fn ten_minutes() -> String {
    "10m".to_owned()
}

fn one_day() -> String {
    "24h".to_owned()
}

fn three() -> i32 {
    3
}

/// What becomes of volumes, and whether this object may be deleted.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct DeletionPolicy {
    /// The volumes of members that left, and of all members when this object is deleted.
    #[serde(default)]
    pub volumes: VolumePolicy,
    /// Whether a deletion of this object is refused until this is false again. One that comes past the admission policy of the
    /// installation waits for it, and the cluster goes on meanwhile.
    #[serde(default)]
    pub protection: bool,
}

/// What becomes of volumes that are no longer used.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VolumePolicy {
    /// They stay, until somebody deletes their claims.
    #[default]
    Retain,
    /// They go: those of members that left after spec.remediation.keepOldVolume, all of them with this object.
    Delete,
}

/// Where the first data comes from.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// What to do with the volumes that an EtcdCluster of this name has left behind.
    #[serde(default)]
    pub existing_volumes: ExistingVolumes,
    /// Begin with the data of a backup, of this or of another cluster. The version may be newer than the backup's by one minor, the
    /// size any. Volumes that were left behind and are taken back go first: then there is data already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoverySource>,
}

/// What to do with volumes of an earlier cluster of this name.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExistingVolumes {
    /// Take them back: the cluster goes on with their data.
    #[default]
    Adopt,
    /// Leave them alone, and begin with an empty cluster.
    Ignore,
}

/// Objects of the Prometheus operator that watch this cluster.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Monitoring {
    /// Make a PodMonitor, so that Prometheus scrapes every member.
    #[serde(default)]
    pub pod_monitor: bool,
    /// Make a PrometheusRule with alerts for this cluster.
    #[serde(default)]
    pub prometheus_rule: bool,
    /// Labels of both, by which a Prometheus may select them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}
