//! What is next for an EtcdBackup: its world as data, and the answer as a sentence.

use etcd_types::BackupPhase;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::backup::act::Task;

const TAKEN: &str = r#"{"manifest":{"id":"before-u-backup","etcdVersion":"3.6.16","cluster":{"id":"8e9e","uid":"u-clust","member":"db-2"},"revision":{"atLeast":40},"database":{"bytes":1024,"sha256":"ab"},"stored":{"bytes":77}},"milliseconds":5,"removed":0}"#;

fn world(spec: &Value) -> World {
    let mut all = json!({"clusterName": "db", "store": {"url": "s3://backups/of/db"}});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let backup = serde_json::from_value(json!({
        "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackup",
        "metadata": {"name": "before", "namespace": "prod", "uid": "u-backup", "generation": 1}, "spec": all,
    }));
    World {
        backup: Arc::new(backup.unwrap()),
        cluster: Some(Arc::new(cluster("u-cluster"))),
        jobs: Vec::new(),
        pods: Vec::new(),
        account: None,
        missing: Vec::new(),
        said: None,
        image: "capstan:dev".into(),
    }
}

fn cluster(uid: &str) -> EtcdCluster {
    serde_json::from_value(json!({
        "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
        "metadata": {"name": "db", "namespace": "prod", "uid": uid}, "spec": {"version": "3.6.16"},
        "status": {"clusterID": "8e9e", "connection": {"endpoints": ["https://db-client.prod.svc:2379", "https://db-1-0.db-peer.prod.svc:2379"], "secretName": "db-client-tls"}},
    }))
    .unwrap()
}

impl World {
    fn status(mut self, status: Value) -> Self {
        Arc::make_mut(&mut self.backup).status = serde_json::from_value(status).unwrap();
        self
    }

    fn meta(mut self, change: impl FnOnce(&mut kube::api::ObjectMeta)) -> Self {
        change(&mut Arc::make_mut(&mut self.backup).metadata);
        self
    }

    fn going(self) -> Self {
        self.meta(|meta| {
            meta.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
            meta.finalizers = Some(vec![names::FINALIZER.to_owned()]);
        })
    }

    /// A Job of this EtcdBackup, and how its pod ended: code and words.
    fn with_job(mut self, name: &str, work: &str, conditions: Value, pod: Option<(i32, &str)>) -> Self {
        let labels = json!({"app.kubernetes.io/component": work, "etcd.capstan.dev/uid": "u-backup"});
        let job = json!({"metadata": {"name": name, "namespace": "prod", "uid": name, "labels": labels}, "spec": {"template": {}},
            "status": {"conditions": conditions, "completionTime": "2026-01-01T00:10:00Z"}});
        self.jobs.push(Arc::new(serde_json::from_value(job).unwrap()));
        let owner =
            json!({"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": true});
        let pod = pod.map(|(code, words)| {
            json!({"metadata": {"name": "p", "namespace": "prod", "ownerReferences": [owner]}, "status": {"phase": "Succeeded", "containerStatuses": [
                {"name": "take", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                 "state": {"terminated": {"exitCode": code, "message": words, "finishedAt": "2026-01-01T00:09:00Z"}}}]}})
        });
        self.pods.extend(pod.map(|pod| Arc::new(serde_json::from_value(pod).unwrap())));
        self
    }
}

fn done() -> Value {
    json!([{"type": "Complete", "status": "True"}])
}

fn failed() -> Value {
    json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}])
}

fn plan(world: &World) -> Plan {
    decide::decide(world, "2026-01-01T00:11:00Z".parse().unwrap())
}

#[track_caller]
fn check(world: &World, expected: &Expect) {
    let plan = plan(world);
    let task = |task: &Task| match task {
        Task::Hold => "hold".to_owned(),
        Task::LetGo => "let go".to_owned(),
        Task::Account(account, _) => format!("account {}", account.name_any()),
        Task::Run(job) => format!("run {}", job.name_any()),
        Task::Stop(job) => format!("stop {}", job.name_any()),
        other => format!("{other:?}"),
    };
    let tasks: Vec<String> = plan.tasks.iter().map(task).collect();
    let phase = plan.status.phase.map(|phase| format!("{phase:?}")).unwrap_or_default();
    let message = plan.status.message.clone().unwrap_or_default();
    expected.assert_eq(&format!("{phase} ({:?}): {message} [{}]", plan.why, tasks.join(", ")));
}

#[test]
fn it_begins_when_cluster_and_secrets_are_there() {
    check(&world(&json!({})), &expect!["Running (Running): its Job begins [account db-backup, run before]"]);
    let mut alone = world(&json!({}));
    alone.cluster = None;
    check(
        &alone,
        &expect!["Pending (NoCluster): spec.clusterName: there is no EtcdCluster db in this namespace []"],
    );
    let mut unborn = world(&json!({}));
    Arc::make_mut(unborn.cluster.as_mut().unwrap()).status = None;
    check(&unborn, &expect!["Pending (NoCluster): the EtcdCluster db does not serve yet []"]);
    let mut poor = world(&json!({}));
    poor.missing = vec![Refusal::new("spec.store.credentials", "there is no Secret c")];
    check(&poor, &expect!["Pending (Refused): spec.store.credentials: there is no Secret c []"]);
}

#[test]
fn an_identity_of_the_users_needs_none_of_ours() {
    let world = world(&json!({"store": {"url": "s3://b", "serviceAccountName": "mine"}}));
    let plan = plan(&world);
    let [Task::Run(job)] = plan.tasks.as_slice() else { panic!("{:?}", plan.tasks) };
    let pod = job.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
    assert_eq!(
        (pod.service_account_name.as_deref(), pod.automount_service_account_token),
        (Some("mine"), Some(false)),
        "the platform proves its identity by a token of its own"
    );
}

#[test]
fn what_a_job_gets_is_what_it_needs_and_no_more() {
    let plan =
        plan(&world(&json!({"store": {"url": "s3://b/p", "credentials": {"name": "c"}}, "deadline": "30m"})));
    let Some(Task::Run(job)) = plan.tasks.last() else { panic!("{:?}", plan.tasks) };
    let spec = job.spec.as_ref().unwrap();
    let pod = spec.template.spec.as_ref().unwrap();
    let container = pod.containers.first().unwrap();
    assert_eq!(
        container.args.as_ref().unwrap().join(" "),
        "take s3://b/p --credentials /credentials --id before-u-backup --endpoints https://db-client.prod.svc:2379,https://db-1-0.db-peer.prod.svc:2379 --cluster db \
         --cluster-namespace prod --cluster-uid u-cluster --tls /tls --progress 0.0.0.0:8081 --result /dev/termination-log"
    );
    assert_eq!(
        (pod.automount_service_account_token, spec.active_deadline_seconds),
        (Some(false), Some(1800))
    );
    let security = container.security_context.as_ref().unwrap();
    assert_eq!(
        (security.read_only_root_filesystem, security.allow_privilege_escalation),
        (Some(true), Some(false))
    );
    let volumes: Vec<&str> = pod.volumes.iter().flatten().map(|volume| volume.name.as_str()).collect();
    assert_eq!(volumes, ["credentials", "tls"]);
    let tls = pod.volumes.as_ref().unwrap()[1].secret.as_ref().unwrap().secret_name.as_deref();
    assert_eq!(tls, Some("db-operator-tls"), "with authentication on, a snapshot needs root");
    let selected = crate::names::selector("db");
    let labels = spec.template.metadata.as_ref().unwrap().labels.as_ref().unwrap();
    assert!(
        !selected.iter().all(|(label, value)| labels.get(label) == Some(value)),
        "no Service sends clients here"
    );
}

/// What another cluster has stored under the same id stays.
#[test]
fn a_removal_names_the_cluster_that_the_backup_is_of() {
    let status =
        json!({"phase": "Completed", "startedAt": "2026-01-01T00:00:00Z", "clusterUID": "u-cluster"});
    let plan = plan(&world(&json!({"deletionPolicy": "Delete"})).status(status).going());
    let Some(Task::Run(job)) = plan.tasks.last() else { panic!("{:?}", plan.tasks) };
    let pod = job.spec.as_ref().unwrap().template.spec.as_ref().unwrap();
    let arguments = pod.containers.first().unwrap().args.as_ref().unwrap().join(" ");
    assert!(arguments.starts_with("rm ") && arguments.ends_with(" --cluster-uid u-cluster"), "{arguments}");
}

#[test]
fn a_job_that_is_done_completes_it_and_one_that_failed_fails_it() {
    let begun = || {
        world(&json!({})).status(
            json!({"phase": "Running", "startedAt": "2026-01-01T00:00:00Z", "clusterUID": "u-cluster"}),
        )
    };
    let whole = begun().with_job("before", "take", done(), Some((0, TAKEN)));
    check(&whole, &expect!["Completed (Stored): stored, read back and found whole []"]);
    let status = plan(&whole).status;
    assert_eq!((status.revision, status.stored_bytes), (Some(40), Some(77)));
    assert_eq!(status.location.as_deref(), Some("s3://backups/of/db/before-u-backup"));
    let broken = begun().with_job(
        "before",
        "take",
        failed(),
        Some((77, r#"{"error":"s3://backups: no such bucket"}"#)),
    );
    check(&broken, &expect!["Failed (BackupFailed): s3://backups: no such bucket []"]);
}

/// Crash point 16: it is uploaded, and nobody wrote it down.
#[test]
fn one_whose_words_are_lost_is_asked_again_and_finds_itself() {
    let lost = world(&json!({})).with_job("before", "take", done(), None);
    check(
        &lost,
        &expect![
            "Running (Running): its Job is done, but what it said is lost: it is asked again [stop before]"
        ],
    );
    let gone = world(&json!({}))
        .status(json!({"phase": "Running", "startedAt": "2026-01-01T00:00:00Z", "clusterUID": "u-cluster"}));
    check(&gone, &expect!["Running (Running): its Job begins [account db-backup, run before]"]);
}

/// The operator ended after it had made the Job, and before it wrote down of which cluster.
#[test]
fn a_job_that_nobody_wrote_down_names_its_cluster() {
    let begun = plan(&world(&json!({})));
    let Some(Task::Run(job)) = begun.tasks.last() else { panic!("{:?}", begun.tasks) };
    let mut unwritten = world(&json!({}));
    unwritten.jobs.push(Arc::new((**job).clone()));
    assert_eq!(plan(&unwritten).status.cluster_uid.as_deref(), Some("u-cluster"));
    let of_another = unwritten.meta(|meta| meta.uid = Some("u-new".into()));
    assert_eq!(plan(&of_another).status.cluster_uid, None);
}

#[test]
fn what_is_final_stays_final() {
    for phase in ["Completed", "Failed"] {
        let mut over = world(&json!({})).status(json!({"phase": phase, "message": "as it was"}));
        over.cluster = None;
        let plan = plan(&over);
        assert!(plan.tasks.is_empty() && plan.status.message.as_deref() == Some("as it was"), "{plan:?}");
    }
}

#[test]
fn a_backup_is_of_the_cluster_that_it_began_with() {
    let mut other = world(&json!({})).status(json!({"phase": "Running", "clusterUID": "u-cluster"}));
    other.cluster = Some(Arc::new(cluster("u-new")));
    assert_eq!(plan(&other).status.phase, Some(BackupPhase::Failed));
}

#[test]
fn the_job_of_an_earlier_backup_of_this_name_is_not_taken_for_this_ones() {
    let world = world(&json!({}))
        .with_job("before", "take", done(), Some((0, TAKEN)))
        .meta(|meta| meta.uid = Some("u-new".into()));
    check(&world, &expect!["Pending (Running): the Job before of an earlier attempt is still there []"]);
}

#[test]
fn it_is_complete_when_it_was_restored_if_that_is_asked_for() {
    let asked =
        || world(&json!({"verifyByRestore": true})).with_job("before", "take", done(), Some((0, TAKEN)));
    check(
        &asked(),
        &expect!["Running (Running): it is stored, and is being restored and compared [run before-verify]"],
    );
    let good = asked().with_job(
        "before-verify",
        "verify",
        done(),
        Some((0, r#"{"verified":true,"by":"HashKV","revision":40}"#)),
    );
    check(&good, &expect!["Completed (Stored): stored, read back, restored and compared []"]);
    let bad = asked().with_job(
        "before-verify",
        "verify",
        failed(),
        Some((77, r#"{"verified":false,"error":"the hash differs"}"#)),
    );
    check(
        &bad,
        &expect!["Failed (NotVerified): it is stored, but restoring it went wrong: the hash differs []"],
    );
}

#[test]
fn a_finalizer_is_there_exactly_when_something_has_to_go() {
    let delete = json!({"deletionPolicy": "Delete"});
    check(
        &world(&delete),
        &expect!["Running (Running): its Job begins [hold, account db-backup, run before]"],
    );
    let kept = world(&json!({})).meta(|meta| meta.finalizers = Some(vec![names::FINALIZER.to_owned()]));
    check(&kept, &expect!["Running (Running): its Job begins [let go, account db-backup, run before]"]);
}

#[test]
fn what_is_stored_goes_before_the_object_does() {
    let started = json!({"phase": "Running", "startedAt": "2026-01-01T00:00:00Z"});
    let deleted = || world(&json!({"deletionPolicy": "Delete"})).status(started.clone()).going();
    check(&world(&json!({"deletionPolicy": "Delete"})).going(), &expect![" (Removed):  [let go]"]);
    check(
        &deleted().with_job("before", "take", json!([]), None),
        &expect!["Running (Removed):  [stop before]"],
    );
    check(&deleted(), &expect!["Running (Removed): what it has stored is being removed [run before-delete]"]);
    check(
        &deleted().with_job("before-delete", "remove", done(), None),
        &expect!["Running (Removed):  [let go]"],
    );
    let stuck =
        deleted().with_job("before-delete", "remove", failed(), Some((77, r#"{"error":"access denied"}"#)));
    check(
        &stuck,
        &expect![
            "Running (NotRemoved): the stored backup cannot be removed: access denied. It is tried again every 5 minutes. To delete only the EtcdBackup, set spec.deletionPolicy to Retain [stop before-delete]"
        ],
    );
    check(&world(&json!({})).status(started.clone()).going(), &expect!["Running (Removed):  [let go]"]);
}

/// The pod of the Job waits for the Secret and says nothing: the Job fails after half an hour.
#[test]
fn a_removal_that_lacks_its_secret_says_so_at_once() {
    let started = json!({"phase": "Completed", "startedAt": "2026-01-01T00:00:00Z"});
    let deleted = || {
        let mut world = world(&json!({"deletionPolicy": "Delete"})).status(started.clone()).going();
        world.missing = vec![Refusal::new(
            "spec.store.credentials",
            "there is no Secret c in the namespace prod. Create it",
        )];
        world
    };
    check(
        &deleted(),
        &expect![
            "Completed (NotRemoved): the stored backup cannot be removed: spec.store.credentials: there is no Secret c in the namespace prod. Create it. To delete only the EtcdBackup, set spec.deletionPolicy to Retain [run before-delete]"
        ],
    );
    check(
        &deleted().with_job("before-delete", "remove", json!([]), None),
        &expect![
            "Completed (NotRemoved): the stored backup cannot be removed: spec.store.credentials: there is no Secret c in the namespace prod. Create it. To delete only the EtcdBackup, set spec.deletionPolicy to Retain []"
        ],
    );
    let mut found = deleted().with_job("before-delete", "remove", json!([]), None);
    found.missing.clear();
    check(&found, &expect!["Completed (Removed): what it has stored is being removed []"]);
}
