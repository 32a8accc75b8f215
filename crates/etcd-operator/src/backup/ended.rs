//! What a Job said at its end: one line of JSON, its pod's termination message (`capstan backup … --result`).

use etcd_types::{BackupProgress, EtcdBackupStatus, LastSuccess, Verified};
use jiff::Timestamp;
use k8s_openapi::{
    api::{batch::v1::Job, core::v1::Pod},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kit::pods;
use kube::ResourceExt as _;
use serde::Deserialize;
use serde_json::Value;

use crate::observe::last_words;

/// What `take` said.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Taken {
    pub(super) manifest: Manifest,
    milliseconds: Option<i64>,
    removed: Option<i64>,
    /// Why older ones could not be removed.
    pub(super) not_removed: Option<String>,
}

/// Of a manifest, what people want to see in a status.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    pub(super) id: String,
    pub(super) etcd_version: String,
    cluster: Cluster,
    revision: Revision,
    database: Database,
    stored: Stored,
    corruption: Option<Corruption>,
}

/// With the alarm CORRUPT: which members held the same data.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Corruption {
    agree: Vec<String>,
    differ: Vec<Differing>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Differing {
    member: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Cluster {
    id: String,
    uid: String,
    member: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Revision {
    at_least: i64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Database {
    bytes: i64,
    sha256: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Stored {
    bytes: i64,
}

/// What `verify` said.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
struct Compared {
    verified: Option<bool>,
    by: Option<String>,
    revision: Option<i64>,
    hash: Option<i64>,
    error: Option<String>,
    note: Option<String>,
}

impl Taken {
    pub(super) fn read(words: &str) -> Option<Self> {
        serde_json::from_str(words).ok()
    }

    /// What is to be known of a backup that was taken with the alarm CORRUPT.
    pub(super) fn warning(&self) -> Option<String> {
        let Corruption { agree, differ } = self.manifest.corruption.as_ref()?;
        let differ: Vec<&str> = differ.iter().map(|it| it.member.as_str()).collect();
        Some(format!(
            "the alarm CORRUPT was raised: taken from {}; the same data: {}; different or unknown: {}",
            self.manifest.cluster.member,
            agree.join(", "),
            if differ.is_empty() { "none".to_owned() } else { differ.join(", ") }
        ))
    }

    /// Puts it where people look.
    pub(super) fn into_status(self, status: &mut EtcdBackupStatus) {
        let Manifest { id, etcd_version, cluster, revision, database, stored, .. } = self.manifest;
        status.id = Some(id);
        status.cluster_id = Some(cluster.id);
        status.cluster_uid = Some(cluster.uid);
        status.etcd_version = Some(etcd_version);
        status.revision = Some(revision.at_least);
        (status.bytes, status.sha256) = (Some(database.bytes), Some(database.sha256));
        status.stored_bytes = Some(stored.bytes);
        status.progress = None;
    }

    pub(super) fn last_success(&self, at: Timestamp) -> LastSuccess {
        LastSuccess {
            id: Some(self.manifest.id.clone()),
            at: Time(at),
            revision: Some(self.manifest.revision.at_least),
            cluster_id: Some(self.manifest.cluster.id.clone()),
            bytes: Some(self.manifest.database.bytes),
            stored_bytes: Some(self.manifest.stored.bytes),
            milliseconds: self.milliseconds,
            removed: self.removed,
        }
    }
}

/// The sentence of one that failed; else its words as they are.
pub(super) fn sentence(words: &str) -> String {
    let said: Option<Value> = serde_json::from_str(words).ok();
    let error = said.as_ref().and_then(|said| said.get("error")?.as_str());
    let error = error.unwrap_or(words).trim();
    match error {
        "" => "the Job failed without a message".to_owned(),
        error if error.contains("Job was active longer than specified deadline") => {
            "the Job exceeded its deadline".to_owned()
        }
        error => error.to_owned(),
    }
}

/// Why a Job whose containers run one after the other failed: the last one's words, or, if it never ran, those of the one before it.
pub(super) fn of_several(job: &Job, pods: &[&Pod], code: Option<i32>, message: String) -> String {
    if code.is_some() {
        return message;
    }
    let name = job.name_any();
    let own: Vec<&Pod> = pods.iter().copied().filter(|pod| pods::is_of_job(pod, &name)).collect();
    last_words(&own).unwrap_or(message)
}

/// What came of restoring it: said by `verify` whether it ended well or not.
pub(super) fn verified(words: Option<&str>, is_good: bool, at: Timestamp) -> Verified {
    let said: Compared = words.and_then(|words| serde_json::from_str(words).ok()).unwrap_or_default();
    let good = is_good && said.verified.unwrap_or(true);
    let how = said.by.map(|by| format!("an etcd with the restored data was compared by {by}"));
    let bad = || said.error.clone().unwrap_or_else(|| sentence(words.unwrap_or_default()));
    let message = if good { said.note.or(how) } else { Some(bad()) };
    Verified { good, at: Time(at), revision: said.revision, hash: said.hash, message }
}

/// How far a running one is.
pub(super) fn progress(said: Option<&Value>) -> Option<BackupProgress> {
    serde_json::from_value(said?.clone()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_command_line_writes_is_understood() {
        let words = json!({"manifest": {
            "format": "capstan.dev/etcd-backup/v1", "id": "b-1", "producer": "capstan 0.1.0", "takenAt": "2026-01-01T00:00:00Z",
            "cluster": {"namespace": "n", "name": "db", "uid": "u", "id": "8e9e", "member": "db-1"}, "etcdVersion": "3.6.16",
            "revision": {"atLeast": 40, "atMost": 42}, "database": {"bytes": 1024, "sha256": "ab"},
            "stored": {"object": "snapshot.zst", "bytes": 77, "sha256": "cd", "compression": "zstd"}},
            "milliseconds": 1200, "removed": 2, "notRemoved": null});
        let taken = Taken::read(&words.to_string()).unwrap();
        let mut status = EtcdBackupStatus::default();
        taken.clone().into_status(&mut status);
        assert_eq!((status.revision, status.bytes, status.stored_bytes), (Some(40), Some(1024), Some(77)));
        assert_eq!((status.sha256.as_deref(), status.cluster_id.as_deref()), (Some("ab"), Some("8e9e")));
        let last = taken.last_success(Timestamp::UNIX_EPOCH);
        assert_eq!((last.milliseconds, last.removed), (Some(1200), Some(2)));
    }

    #[test]
    fn a_backup_with_the_alarm_corrupt_says_which_members_differ() {
        let of = |corruption: Value| {
            let words = json!({"manifest": {"id": "b-1", "cluster": {"uid": "u", "id": "8e9e", "member": "db-1"}, "etcdVersion": "3.6.16",
                "revision": {"atLeast": 40, "atMost": 42}, "database": {"bytes": 1024, "sha256": "ab"}, "stored": {"bytes": 77},
                "corruption": corruption}});
            Taken::read(&words.to_string()).unwrap().warning()
        };
        assert_eq!(of(Value::Null), None);
        let found = json!({"revision": 40, "agree": ["db-1", "db-2"], "differ": [{"member": "db-3", "found": "hash 1"}]});
        let expected = "the alarm CORRUPT was raised: taken from db-1; the same data: db-1, db-2; different or unknown: db-3";
        assert_eq!(of(found).as_deref(), Some(expected));
    }

    #[test]
    fn a_failure_is_one_sentence() {
        let cases = [
            (r#"{"error":"s3://b: no such bucket"}"#, "s3://b: no such bucket"),
            ("BackoffLimitExceeded", "BackoffLimitExceeded"),
            (
                "DeadlineExceeded: Job was active longer than specified deadline",
                "the Job exceeded its deadline",
            ),
            ("", "the Job failed without a message"),
        ];
        for (words, expected) in cases {
            assert_eq!(sentence(words), expected);
        }
    }

    /// A backup that cannot even be fetched or restored never gets to the comparison.
    #[test]
    fn a_failure_before_the_last_container_is_told_too() {
        let job: Job =
            serde_json::from_value(json!({"metadata": {"name": "v", "uid": "j"}, "spec": {"template": {}}}))
                .unwrap();
        let ended = json!({"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:00:00Z", "message": "Error: snapshot file integrity check failed\n"}});
        let container = |name: &str, state: &Value| json!({"name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state});
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "v-1", "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "v", "uid": "j", "controller": true}]},
            "status": {"initContainerStatuses": [container("restore", &ended)],
                "containerStatuses": [container("verify", &json!({"waiting": {"reason": "PodInitializing"}}))]},
        }))
        .unwrap();
        let said = of_several(&job, &[&pod], None, "BackoffLimitExceeded".to_owned());
        assert_eq!(said, "restore failed: Error: snapshot file integrity check failed");
        let own = of_several(&job, &[&pod], Some(77), "the hash differs".to_owned());
        assert_eq!(own, "the hash differs");
        assert_eq!(of_several(&job, &[], None, "BackoffLimitExceeded".to_owned()), "BackoffLimitExceeded");
    }

    #[test]
    fn a_comparison_says_what_it_found() {
        let good = r#"{"id":"b","verified":true,"by":"HashKV","revision":40,"hash":7}"#;
        let it = verified(Some(good), true, Timestamp::UNIX_EPOCH);
        assert_eq!((it.good, it.revision, it.hash), (true, Some(40), Some(7)));
        let bad = verified(Some(r#"{"verified":false,"error":"it differs"}"#), false, Timestamp::UNIX_EPOCH);
        assert_eq!((bad.good, bad.message.as_deref()), (false, Some("it differs")));
    }
}
