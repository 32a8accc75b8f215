//! Restored: a new cluster from a backup, of another size and version; the data of a cluster replaced in place; backups that cannot be used; a
//! point in time; and interruptions. With a real S3 server.

use std::time::Duration;

use etcd_types::{EtcdBackup, EtcdRestore, EtcdRestoreStatus, Phase, RestorePhase};
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{Pod, Secret},
};
use kube::{ResourceExt as _, api::DeleteParams};
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, Clusters as _, spec},
    ground,
    load::{Endpoints, Request},
    operator,
    patience::{LONG, PATIENCE, until, when},
    world::{World, scenario, trouble},
};

const USER: (&str, &str) = ("scenario", "not-a-secret");

/// Starts the S3 server of the demo, and waits until it serves.
pub(crate) async fn with_store(world: &World) {
    let demo = json!({"AWS_ACCESS_KEY_ID": USER.0, "AWS_SECRET_ACCESS_KEY": USER.1});
    world
        .create_object::<Secret>(json!({"metadata": {"name": "backup-credentials"}, "stringData": demo}))
        .await;
    credentials(world, "store", USER.1).await;
    world.kubectl("apply --server-side -f examples/demo/s3.yaml").await.unwrap();
    world.kubectl("rollout status deployment/s3 --timeout=90s").await.unwrap();
}

pub(crate) async fn credentials(world: &World, name: &str, password: &str) {
    let ours = json!({"accessKeyID": USER.0, "secretAccessKey": password});
    world.create_object::<Secret>(json!({"metadata": {"name": name}, "stringData": ours})).await;
}

pub(crate) fn store() -> Value {
    json!({"url": "s3://example-backup/etcd", "server": "http://s3:9000", "credentials": {"name": "store"}})
}

/// Takes a backup, and waits until it is stored.
pub(crate) async fn back_up(world: &World, cluster: &str, name: &str) -> EtcdBackup {
    world
        .create_object::<EtcdBackup>(json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackup",
            "metadata": {"name": name}, "spec": {"clusterName": cluster, "store": store()}}))
        .await;
    until(&format!("the backup {name} is stored"), PATIENCE, async || {
        let backup = world.api::<EtcdBackup>().get(name).await.map_err(|error| error.to_string())?;
        let phase = backup.status.as_ref().and_then(|status| status.phase);
        when(phase == Some(etcd_types::BackupPhase::Completed), backup.status.clone())?;
        Ok(backup)
    })
    .await
}

async fn restore(world: &World, name: &str, from: Value, consent: &str) {
    world
        .create_object::<EtcdRestore>(
            json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdRestore",
            "metadata": {"name": name}, "spec": {"clusterName": "db", "from": from, "consent": consent}}),
        )
        .await;
}

async fn until_restore(world: &World, name: &str, phase: RestorePhase, limit: Duration) -> EtcdRestoreStatus {
    until(&format!("the restore {name} is {phase:?}"), limit, async || {
        let restore = world.api::<EtcdRestore>().get(name).await.map_err(|error| error.to_string())?;
        let status = restore.status.unwrap_or_default();
        when(status.phase == Some(phase), status)
    })
    .await
}

async fn endpoints(cluster: &Cluster<'_>) -> Endpoints {
    let endpoints = Endpoints::new(cluster.place().await.unwrap());
    endpoints.refresh(cluster.world).await;
    endpoints
}

/// Writes, and gives the revision.
pub(crate) async fn put(cluster: &Cluster<'_>, key: &str, value: &str) -> i64 {
    let put = Request::Put(key.to_owned(), value.to_owned());
    endpoints(cluster).await.ask(&put).await.unwrap().revision
}

/// What every member has of `key`, and the highest revision.
async fn get(cluster: &Cluster<'_>, key: &str) -> (Option<String>, i64) {
    let answer = endpoints(cluster).await.ask(&Request::Get(key.to_owned())).await.unwrap();
    (answer.value, answer.revision)
}

fn from_backup(size: i32, version: &str, recovery: Value) -> Value {
    let mut spec = spec(size, version);
    spec["bootstrap"] = json!({ "recovery": recovery });
    spec
}

/// E41, E43: another cluster, of another size, of the next minor.
#[tokio::test]
async fn a_new_cluster_of_another_size_and_version_has_the_data_of_a_backup() {
    scenario(async |world| {
        with_store(world).await;
        let source = world.cluster("db");
        source.run(1, "3.5.35").await;
        put(&source, "kept", "1").await;
        back_up(world, "db", "nightly").await;
        put(&source, "later", "1").await;

        let copy = world.cluster("copy");
        copy.create(from_backup(3, "3.6.16", json!({"backup": "nightly"}))).await;
        copy.is_well(3, "3.6.16", LONG).await;
        assert_eq!(get(&copy, "kept").await.0.as_deref(), Some("1"));
        assert_eq!(get(&copy, "later").await.0, None, "it came after the backup");
        let (source_id, copy_id) = (source.status().await.cluster_id, copy.status().await.cluster_id);
        assert_ne!(source_id, copy_id, "a cluster of its own");
        let restore = copy.status().await.restore.unwrap();
        assert_eq!((restore.phase, restore.name), (RestorePhase::Completed, None));
        copy.members_agree().await;
        copy.load().await.stop("a recovered cluster").await.nothing_failed();
        // It is read once: whoever loses a pod gets it back with the data that it had.
        put(&copy, "kept", "2").await;
        let pod = copy.follower().await;
        copy.delete_pod(&pod).await;
        copy.is_well(3, "3.6.16", PATIENCE).await;
        assert_eq!(get(&copy, "kept").await.0.as_deref(), Some("2"));

        // An etcd that is older than the backup is refused, and says so.
        let older = world.cluster("older");
        back_up(world, "copy", "newer").await;
        older.create(from_backup(1, "3.5.35", json!({"backup": "newer"}))).await;
        let refused = older
            .until("refuses data of a later etcd", PATIENCE, |_, status| {
                status.message.as_deref().is_some_and(|message| message.contains("etcd 3.5.35 is older"))
            })
            .await;
        assert!(refused.status.unwrap().cluster_id.is_none());
    })
    .await;
}

/// E42: keys are deleted by mistake, and come back; whoever watches sees revisions go up only.
#[tokio::test]
async fn the_data_of_a_cluster_is_replaced_in_place() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        put(&cluster, "kept", "1").await;
        back_up(world, "db", "nightly").await;
        put(&cluster, "kept", "spoiled").await;
        let mut seen = put(&cluster, "mistake", "1").await;
        let before = cluster.status().await;
        let claims = cluster.claim_names().await;
        let untouched = cluster.incarnations().await;

        // Without consent, nothing happens.
        restore(world, "back", json!({"backup": "nightly"}), "").await;
        let waits = until_restore(world, "back", RestorePhase::WaitingForConsent, PATIENCE).await;
        assert!(waits.message.unwrap().contains("set spec.consent to db"));
        assert_eq!(cluster.incarnations().await, untouched);
        seen = seen.max(get(&cluster, "kept").await.1);

        world
            .kubectl("patch etcdrestore back --type=merge -p {\"spec\":{\"consent\":\"db\"}}")
            .await
            .unwrap();
        until_restore(world, "back", RestorePhase::Completed, LONG).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        let (kept, revision) = get(&cluster, "kept").await;
        assert_eq!(kept.as_deref(), Some("1"));
        assert_eq!(get(&cluster, "mistake").await.0, None);
        assert!(revision > seen, "{revision} is above {seen}: no client sees a revision twice");
        let after = cluster.status().await;
        assert_ne!(after.cluster_id, before.cluster_id);
        assert!(claims.is_subset(&cluster.claim_names().await), "the old volumes stay");
        let safety = world.api::<EtcdBackup>().get("back-before").await.unwrap();
        assert_eq!(safety.status.unwrap().phase, Some(etcd_types::BackupPhase::Completed));
        cluster.members_agree().await;
        cluster.load().await.stop("a restored cluster").await.nothing_failed();

        // What was before is a backup away.
        let old = world.cluster("old");
        old.create(from_backup(1, "3.6.16", json!({"backup": "back-before"}))).await;
        old.is_well(1, "3.6.16", LONG).await;
        assert_eq!(get(&old, "mistake").await.0.as_deref(), Some("1"));
    })
    .await;
}

/// E44: whatever is wrong with a backup, it is said, and nothing that runs is touched.
#[tokio::test]
async fn a_backup_that_cannot_be_used_is_refused_and_nothing_is_touched() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(1, "3.6.16").await;
        put(&cluster, "kept", "1").await;
        let id = back_up(world, "db", "nightly").await.status.unwrap().id.unwrap();
        // Somebody cuts the object off, or writes something else over it; the manifest stays.
        let s3 = world.list::<Pod>("app=s3").await.remove(0);
        let directory = format!("/data/example-backup/etcd/{id}");
        let root = ground::root_of(&s3);
        let object = root.join(directory.trim_start_matches('/')).join("snapshot.zst");
        let whole = std::fs::read(&object).unwrap();
        let untouched = cluster.incarnations().await;
        credentials(world, "wrong", "guessed").await;
        let named = json!({"store": store(), "id": id});
        let mut elsewhere = named.clone();
        elsewhere["store"]["url"] = json!("s3://no-such-bucket/etcd");
        let mut stranger = named.clone();
        stranger["store"]["credentials"]["name"] = json!("wrong");
        let mut missing = named.clone();
        missing["id"] = json!("never-taken");
        let mut garbage = whole.clone();
        let middle = garbage.len() / 2;
        garbage[middle] ^= 0xff;
        let cases: [(&str, Value, &[u8], &str); 5] = [
            ("truncated", named.clone(), &whole[..whole.len() / 2], "damaged"),
            ("tampered", named.clone(), &garbage, "damaged"),
            ("bucket", elsewhere, &whole, "bucket"),
            ("credentials", stranger, &whole, ""),
            ("missing", missing, &whole, "backup never-taken: it is not at"),
        ];
        for (name, from, content, expected) in cases {
            std::fs::write(&object, content).unwrap();
            restore(world, name, from, "db").await;
            let failed = until_restore(world, name, RestorePhase::Failed, LONG).await;
            let message = failed.message.unwrap();
            println!("    {name}: {message}");
            assert!(message.contains(expected), "{name}: {message}");
            assert_eq!(cluster.incarnations().await, untouched, "{name}: nobody was touched");
        }
        std::fs::write(&object, &whole).unwrap();
        cluster.is_well(1, "3.6.16", PATIENCE).await;
        assert_eq!(get(&cluster, "kept").await.0.as_deref(), Some("1"));
        // Of another cluster: only if the store is named.
        let other = world.cluster("other");
        other.run(1, "3.6.16").await;
        back_up(world, "other", "foreign").await;
        restore(world, "foreign", json!({"backup": "foreign"}), "db").await;
        let failed = until_restore(world, "foreign", RestorePhase::Failed, LONG).await;
        assert!(failed.message.as_ref().unwrap().contains("is of the cluster other"), "{failed:?}");
        assert_eq!(cluster.incarnations().await, untouched);
    })
    .await;
}

/// E46: the operator is killed at every step, and so is the Job, until it is done.
#[tokio::test]
async fn a_restore_that_is_interrupted_goes_on() {
    trouble(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        put(&cluster, "kept", "1").await;
        back_up(world, "db", "nightly").await;
        put(&cluster, "kept", "spoiled").await;
        restore(world, "back", json!({"backup": "nightly"}), "db").await;
        let (mut killed, mut last) = (0, None);
        until("the restore is over", LONG, async || {
            for pod in world.list::<Pod>("app.kubernetes.io/name=etcd-restore").await {
                if killed < 2 {
                    killed += 1;
                    let _ = world
                        .api::<Pod>()
                        .delete(&pod.name_any(), &DeleteParams::default().grace_period(0))
                        .await;
                }
            }
            let restore = world.api::<EtcdRestore>().get("back").await.map_err(|error| error.to_string())?;
            let phase = restore.status.as_ref().and_then(|status| status.phase);
            let step = restore.status.as_ref().and_then(|status| status.step.clone());
            if step != last {
                last = step;
                operator::kill_one(world).await;
            }
            when(phase == Some(RestorePhase::Completed), restore.status)
        })
        .await;
        operator::is_ready(world).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        assert_eq!(get(&cluster, "kept").await.0.as_deref(), Some("1"));
        let jobs = world.list::<Job>("app.kubernetes.io/name=etcd-restore").await;
        until("no Job is left", PATIENCE, async || {
            let left = world.list::<Job>("app.kubernetes.io/name=etcd-restore").await.len();
            when(left == 0, left)
        })
        .await;
        println!("    {killed} pods of {} Jobs were killed", jobs.len().max(1));
    })
    .await;
}

/// E45: to just before the mistake, with what was captured between backups.
#[tokio::test]
async fn a_cluster_goes_back_to_just_before_a_mistake() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(1, "3.6.16").await;
        put(&cluster, "kept", "1").await;
        world
            .create_object::<etcd_types::EtcdBackupSchedule>(json!({
                "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackupSchedule", "metadata": {"name": "steady"},
                "spec": {"clusterName": "db", "schedule": "0 3 * * *", "immediate": true, "store": store(), "capture": {"flushEvery": "1s"}}}))
            .await;
        let captured = async |revision: i64| {
            until(&format!("revision {revision} is captured"), LONG, async || {
                let schedule = world.api::<etcd_types::EtcdBackupSchedule>().get("steady").await.map_err(|it| it.to_string())?;
                let status = json!(schedule.status);
                let to = status.pointer("/recoverable/to/revision").and_then(Value::as_i64);
                when(to.is_some_and(|to| to >= revision), status)
            })
            .await
        };
        let first = put(&cluster, "first", "1").await;
        captured(first).await;
        let good = put(&cluster, "kept", "2").await;
        let mistake = put(&cluster, "kept", "spoiled").await;
        captured(mistake).await;
        let from = json!({"store": store(), "revision": good});
        restore(world, "back", from, "db").await;
        until_restore(world, "back", RestorePhase::Completed, LONG).await;
        cluster.until("is healthy", PATIENCE, |_, status| status.phase == Some(Phase::Healthy)).await;
        let (kept, revision) = get(&cluster, "kept").await;
        assert_eq!(kept.as_deref(), Some("2"));
        assert!(revision > mistake);
    })
    .await;
}
