//! Backups of an application's data in S3, made by Jobs: what users ask for, what the Jobs are told, and what is known of the backups
//! that they made. The Jobs' own side is [`bucket`](crate::bucket).
#![expect(unreachable_pub, reason = "KubeSchema repeats the structs where nobody can reach them")]

use k8s_openapi::{
    api::{
        batch::v1::{CronJob, Job},
        core::v1::EnvVar,
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::{KubeSchema, ResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Condition, Run, Truth, Usual, cron, parts, pods, run::completed};

/// Where backups go, and when they are made.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!self.enabled || (self.host != '' && self.bucketName != '')").message("spec.backup.enabled needs spec.backup.host and spec.backup.bucketName"))]
pub struct Backup {
    /// Whether backups are made: by the schedule, before each upgrade, and on request.
    #[serde(default)]
    pub enabled: bool,
    /// The kind of store.
    #[serde(default)]
    pub storage_type: StorageType,
    /// The store, for example `my-backup.example.com` or `http://minio:9000`; https unless it says otherwise.
    #[serde(default)]
    pub host: String,
    /// The bucket. The names of its objects begin with `<namespace>/<name>/<UTC time>`.
    #[serde(default)]
    pub bucket_name: String,
    /// When, as a cron expression in UTC.
    #[serde(default = "daily")]
    #[schemars(regex(pattern = r"^(@(yearly|annually|monthly|weekly|daily|hourly)|\S+ \S+ \S+ \S+ \S+)$"))]
    pub schedule: String,
    /// A Secret with `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret_name: Option<String>,
    /// Any new value asks for one backup now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

fn daily() -> String {
    "0 3 * * *".to_owned()
}

/// The kind of store.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum StorageType {
    /// S3, or anything that speaks its protocol.
    #[default]
    S3,
}

impl Backup {
    /// Which bucket, as the command line of a Job has it for [`Target`](crate::bucket::Target).
    pub fn arguments(&self) -> Vec<String> {
        parts::words(["--host", &self.host, "--bucket", &self.bucket_name])
    }

    /// The credentials, as the environment of a Job has them for [`Target`](crate::bucket::Target).
    pub fn environment(&self) -> Option<Vec<EnvVar>> {
        let secret = self.credentials_secret_name.as_ref()?;
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
        Some(names.map(|name| parts::env_from_secret(secret, name)).into())
    }

    /// The schedule that is in force, and the reason when that is not what was asked for. What the CronJob `live` has stays in place
    /// of what the API server would refuse.
    pub fn schedule(&self, live: Option<&CronJob>) -> (Option<String>, Option<String>) {
        let Err(wrong) = cron::check(&self.schedule) else { return (Some(self.schedule.clone()), None) };
        let live = live.map(|live| live.spec.schedule.clone());
        let none = || "there are no backups until then".to_owned();
        let stays = live.as_ref().map_or_else(none, |live| format!("{live:?} stays"));
        (live, Some(format!("{wrong}; {stays}")))
    }
}

/// Which backup to take the data from.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Restore {
    /// The object's key in the bucket, or `latest`.
    pub backup: String,
    /// With `latest`: whose, as `<namespace>/<name>`. Its own unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[a-z0-9-]+/[a-z0-9.-]+$"))]
    pub from: Option<String>,
    /// Any new value asks for the same once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

impl Restore {
    /// All of it as one text, for people, and for a status to remember which wish was fulfilled.
    pub fn wish(&self) -> String {
        let from = self.from.as_ref().map(|from| format!(" of {from}")).unwrap_or_default();
        let request = self.request.as_ref().map(|request| format!(", request {request}")).unwrap_or_default();
        format!("{}{from}{request}", self.backup)
    }
}

/// What is known of the backups that were made.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct BackupStatus {
    /// When the last one was finished.
    pub last_backup_time: Option<Time>,
    /// Its key in the bucket.
    pub last_backup: Option<String>,
    /// Its size.
    pub bytes: Option<i64>,
    /// The value of spec.backup.request that was fulfilled last.
    pub request: Option<String>,
}

impl BackupStatus {
    /// The newest backup that is known: from Jobs that have [`ended`](crate::run::ended), or from before. A Job tells `key` and `bytes`
    /// in its last words, as JSON; one that was given a key has it after `--key`.
    #[must_use]
    pub fn seen<'a>(mut self, ended: impl IntoIterator<Item = (&'a Job, Run)>) -> Self {
        for (job, run) in ended {
            let (Run::Succeeded(_), Some(done)) = (&run, completed(job)) else { continue };
            // A Job may be seen to be done before its pod is. What the pod says comes later, but for a key that was given to it.
            let is_incomplete = self.bytes.is_none();
            let is_news = |last: &Time| last.0 < done || is_incomplete && last.0 == done;
            if self.last_backup_time.as_ref().is_none_or(is_news) {
                let made = run.said();
                let given = || pods::argument(job.spec.as_ref()?.template.spec.as_ref()?, "--key");
                self.last_backup_time = Some(Time(done));
                self.last_backup = made.get("key").and_then(Value::as_str).or_else(given).map(str::to_owned);
                self.bytes = made.get("bytes").and_then(Value::as_i64);
            }
        }
        self
    }
}

/// The condition `BackedUp`: whether the last backup that [`ended`](crate::run::ended) did so well.
pub fn condition<'a>(
    known: Option<&BackupStatus>,
    ended: impl IntoIterator<Item = (&'a Job, Run)>,
) -> Condition {
    let last = ended.into_iter().max_by_key(|(job, _)| job.creation_timestamp());
    let is = |truth, why, message: &str| Condition::new("BackedUp", truth, why, message);
    match (last, known.and_then(|known| known.last_backup_time.as_ref())) {
        (Some((_, Run::Failed { message, .. })), _) => is(Truth::False, Usual::BackupFailed, &message),
        (None, None) => is(Truth::Unknown, Usual::NoBackupYet, "there has been no backup yet"),
        _ => is(Truth::True, Usual::BackupDone, "the last backup is in the store"),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;
    use crate::run::ended;

    #[test]
    fn a_backup_on_demand_is_named_before_its_pod_has_been_seen_and_measured_after() {
        let (done, key) = ("2026-11-16T03:00:07Z", "default/notes/first.notes");
        let arguments = ["example-app", "backup", "--key", key];
        let job: Job = serde_json::from_value(json!({
            "metadata": {"name": "notes-backup-1", "uid": "j"},
            "spec": {"template": {"spec": {"containers": [{"name": "backup", "args": arguments}]}}},
            "status": {"completionTime": done, "conditions": [{"type": "Complete", "status": "True"}]},
        }))
        .unwrap();
        let first = BackupStatus::default().seen(ended::<Pod>([&job], &[]));
        assert_eq!((first.last_backup.as_deref(), first.bytes), (Some(key), None));

        let said = json!({"key": key, "bytes": 7}).to_string();
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "notes-backup-1-x", "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "notes-backup-1", "uid": "j", "controller": true}]},
            "status": {"phase": "Succeeded", "containerStatuses": [{
                "name": "backup", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": {"terminated": {"exitCode": 0, "message": said}}}]},
        }))
        .unwrap();
        let second = first.seen(ended([&job], &[pod]));
        assert_eq!((second.last_backup.as_deref(), second.bytes), (Some(key), Some(7)));
        assert_eq!(second.clone().seen(ended::<Pod>([&job], &[])), second, "what is known is not forgotten");
    }

    #[test]
    fn a_schedule_that_is_none_leaves_the_one_before() {
        let asked = |schedule: &str| Backup { schedule: schedule.to_owned(), ..Backup::default() };
        let live: CronJob = serde_json::from_value(json!({"spec": {"schedule": "0 4 * * *",
            "jobTemplate": {"spec": {"template": {}}}}}))
        .unwrap();
        assert_eq!(asked("0 5 * * *").schedule(Some(&live)), (Some("0 5 * * *".to_owned()), None));
        let (stays, why) = asked("0 25 * * *").schedule(Some(&live));
        assert_eq!(stays.as_deref(), Some("0 4 * * *"));
        assert!(why.unwrap().ends_with("; \"0 4 * * *\" stays"));
        let (stays, why) = asked("0 25 * * *").schedule(None);
        assert!(stays.is_none() && why.unwrap().ends_with("; there are no backups until then"));
    }

    #[test]
    fn a_job_is_told_the_bucket_and_finds_the_credentials_in_its_environment() {
        let mut backup = Backup { host: "store".into(), bucket_name: "notes".into(), ..Backup::default() };
        assert_eq!(backup.arguments(), ["--host", "store", "--bucket", "notes"]);
        assert!(backup.environment().is_none());
        backup.credentials_secret_name = Some("keys".into());
        let names: Vec<String> = backup.environment().unwrap().into_iter().map(|env| env.name).collect();
        assert_eq!(names, ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);
        let wish = Restore { backup: "latest".into(), from: Some("a/b".into()), request: Some("2".into()) };
        assert_eq!(wish.wish(), "latest of a/b, request 2");
        assert_eq!(Restore { backup: "x".into(), ..Restore::default() }.wish(), "x");
    }
}
