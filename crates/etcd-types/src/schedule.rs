//! EtcdBackupSchedule: backups of a cluster at their times, and how many of them are kept.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BackupStore, Verified, patterns};

/// Backups of an etcd cluster at their times. They go on when the operator does not run.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "etcd.capstan.dev",
    version = "v1alpha1",
    kind = "EtcdBackupSchedule",
    category = "capstan",
    namespaced,
    status = "EtcdBackupScheduleStatus",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterName"),
    printcolumn(name = "Schedule", type_ = "string", json_path = ".spec.schedule"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Last success", type_ = "date", json_path = ".status.lastSuccess.at"),
    printcolumn(name = "Next", type_ = "string", json_path = ".status.next"),
    printcolumn(name = "Missed", type_ = "integer", json_path = ".status.missed"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = 1),
    validation = Rule::new("self.metadata.name.size() <= 44").message("metadata.name may have 44 characters at most: the names of its Jobs are derived from it")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.clusterName == oldSelf.clusterName").message("spec.clusterName cannot change: retention is of one cluster's backups. Create another EtcdBackupSchedule")
)]
pub struct EtcdBackupScheduleSpec {
    /// The EtcdCluster in this namespace that is to be backed up.
    #[schemars(length(min = 1, max = 63))]
    pub cluster_name: String,
    /// When, as five fields of cron (minute, hour, day of the month, month, day of the week), or `@daily` and its kind.
    #[schemars(length(min = 1, max = 256))]
    pub schedule: String,
    /// The time zone of the schedule, for example `Europe/Berlin`.
    #[serde(default = "utc")]
    #[schemars(length(min = 1, max = 64))]
    pub time_zone: String,
    /// Each backup waits for up to so long first, such as `5m`, so that not all clusters are read at the same moment. How long is
    /// derived from the backup's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = patterns::WHOLE_SECONDS))]
    pub jitter: Option<String>,
    /// For how long a backup that could not begin at its time is still wanted, such as `1h`. After that it is missed.
    #[serde(default = "one_hour")]
    #[schemars(regex(pattern = patterns::WHOLE_SECONDS))]
    pub starting_deadline: String,
    /// How long one backup may take, such as `30m` or `2h`, jitter included. After that it has failed.
    #[serde(default = "one_hour")]
    #[schemars(regex(pattern = patterns::WHOLE_SECONDS))]
    pub deadline: String,
    /// Begin no more backups. One that runs goes on.
    #[serde(default)]
    pub suspend: bool,
    /// Take the first backup as soon as this object is there.
    #[serde(default)]
    pub immediate: bool,
    /// What happens when a backup still runs at the time of the next.
    #[serde(default)]
    pub concurrency_policy: ConcurrencyPolicy,
    /// Which backups of this schedule are kept. Everything, when nothing is said. The newest good one always is.
    #[serde(default)]
    pub retention: Retention,
    /// Restore each backup into an etcd that is thrown away afterwards, and compare what is in it with what the manifest says.
    #[serde(default)]
    pub verify_by_restore: bool,
    /// Also keep what is written between backups, so that a restore can end at any revision or time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// Where the backups are kept.
    pub store: BackupStore,
}

fn utc() -> String {
    "Etc/UTC".to_owned()
}

fn one_hour() -> String {
    "1h".to_owned()
}

/// What happens when a backup still runs at the time of the next.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConcurrencyPolicy {
    /// The next one does not begin.
    #[default]
    Forbid,
    /// The one that runs is stopped, and the next one begins.
    Replace,
    /// Both run.
    Allow,
}

/// Which backups are kept. One stays when any of these wants it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// The newest so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100000))]
    pub keep_last: Option<i32>,
    /// All that are younger, for example `72h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]+h$"))]
    pub keep_within: Option<String>,
    /// The newest of each of so many hours that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100000))]
    pub hourly: Option<i32>,
    /// The newest of each of so many days that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100000))]
    pub daily: Option<i32>,
    /// The newest of each of so many weeks that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100000))]
    pub weekly: Option<i32>,
    /// The newest of each of so many months that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100000))]
    pub monthly: Option<i32>,
    /// The newest of each of so many years that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100000))]
    pub yearly: Option<i32>,
}

/// How what is written between backups is kept.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Capture {
    /// How old what is not stored yet may become, such as `5s`: what may be lost with the whole cluster.
    #[serde(default = "five_seconds")]
    #[schemars(regex(pattern = r"^([0-9]+(s|m))+$"))]
    pub flush_every: String,
    /// How many bytes are stored at once, before that time has passed.
    #[serde(default = "four_mebibytes")]
    #[schemars(range(min = 65536, max = 67108864))]
    pub flush_bytes: i64,
}

impl Default for Capture {
    fn default() -> Self {
        Self { flush_every: five_seconds(), flush_bytes: four_mebibytes() }
    }
}

fn five_seconds() -> String {
    "5s".to_owned()
}

fn four_mebibytes() -> i64 {
    4 << 20
}

/// How a schedule stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupScheduleStatus {
    /// One word for how it stands.
    pub phase: Option<SchedulePhase>,
    /// The same as a sentence, and what to do if there is something to do.
    pub message: Option<String>,
    /// The generation of the spec that all this is about.
    pub observed_generation: Option<i64>,
    /// The newest backup that is whole.
    pub last_success: Option<LastSuccess>,
    /// The newest attempt that came to nothing.
    pub last_failure: Option<LastFailure>,
    /// When the next backup begins.
    pub next: Option<Time>,
    /// How many backups should have been there since the last good one, and are not.
    pub missed: Option<i64>,
    /// What came of restoring the newest backup, where that is asked for.
    pub verified: Option<Verified>,
    /// What can be restored to any revision or time, where it is captured.
    pub recoverable: Option<Recoverable>,
    /// What is (not) the case, and why.
    pub conditions: Option<Vec<Condition>>,
}

/// One word for how a schedule stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchedulePhase {
    /// It waits for something: the message says for what.
    Pending,
    /// Backups come at their times.
    Active,
    /// A backup is being taken.
    Running,
    /// The last attempts came to nothing, or did not begin: the message says why.
    Failing,
    /// The user asked for no more backups.
    Suspended,
}

/// A backup that is whole.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LastSuccess {
    /// Its name in the store.
    pub id: Option<String>,
    /// When it was stored and read back.
    pub at: Time,
    /// Everything up to this revision is in it.
    pub revision: Option<i64>,
    /// etcd's ID of the cluster that it was taken of, in hexadecimal.
    #[serde(rename = "clusterID")]
    pub cluster_id: Option<String>,
    /// The size of the database.
    pub bytes: Option<i64>,
    /// The size of what is stored.
    pub stored_bytes: Option<i64>,
    /// How long it took, in milliseconds, jitter not included.
    pub milliseconds: Option<i64>,
    /// How many older ones were removed after it, as the retention says.
    pub removed: Option<i64>,
}

/// An attempt that came to nothing.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LastFailure {
    /// When it ended.
    pub at: Time,
    /// Its Job.
    pub job: String,
    /// Why, and what to do about it.
    pub message: String,
}

/// What can be restored to any revision or time.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Recoverable {
    /// From here, without a gap,
    pub from: Point,
    /// up to here.
    pub to: Point,
}

/// A moment of a cluster's history.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Point {
    /// Its revision.
    pub revision: i64,
    /// When it was seen.
    pub time: Time,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{ConcurrencyPolicy, EtcdBackupSchedule, testing::refused};

    #[test]
    fn a_cluster_a_time_and_a_store_are_all_that_is_needed() {
        let spec =
            json!({"clusterName": "db", "schedule": "0 3 * * *", "store": {"url": "s3://backups/of/db"}});
        assert_eq!(refused::<EtcdBackupSchedule>(spec.clone(), None), Vec::<String>::new());
        let schedule: EtcdBackupSchedule = serde_json::from_value(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackupSchedule", "metadata": {"name": "nightly"}, "spec": spec
        }))
        .unwrap();
        assert_eq!(
            (schedule.spec.time_zone.as_str(), schedule.spec.concurrency_policy),
            ("Etc/UTC", ConcurrencyPolicy::Forbid)
        );
    }

    #[test]
    fn what_the_schema_can_refuse_it_refuses_by_name() {
        let good = json!({"clusterName": "db", "schedule": "@daily", "store": {"url": "s3://b"}});
        let moved = json!({"clusterName": "other", "schedule": "@daily", "store": {"url": "s3://b"}});
        let said = refused::<EtcdBackupSchedule>(moved, Some(good)).join("; ");
        assert!(said.contains("spec.clusterName cannot change"), "{said}");
        let store = json!({"clusterName": "db", "schedule": "@daily", "store": {"url": "nowhere"}});
        let said = refused::<EtcdBackupSchedule>(store, None).join("; ");
        assert!(said.contains("store.url is such as"), "{said}");
    }
}
