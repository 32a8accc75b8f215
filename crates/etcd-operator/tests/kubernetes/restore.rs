//! Restored: a new cluster from a backup, of another size and version; the data of a cluster replaced in place; backups that cannot be used; a
//! point in time; and interruptions. With a real S3 server.
//!
//! | scenario | of reference/reliability.md §2.4 |
//! |---|---|
//! | `a_new_cluster_of_another_size_and_version_has_the_data_of_a_backup` | E41, E43 |
//! | `the_data_of_a_cluster_is_replaced_in_place` | E42 |
//! | `a_backup_that_cannot_be_used_is_refused_and_nothing_is_touched` | E44 |
//! | `every_version_goes_back_to_just_before_a_mistake` | E35, E42, E45; etcd 3.5, 3.6, 3.7 |
//! | `a_restore_that_is_given_up_leaves_the_cluster_as_it_was` | E42, E46; the store dies at two of its steps |
//! | `a_restore_that_is_interrupted_goes_on` | E46; Job, operator and store die |

use std::time::Duration;

use etcd_types::{EtcdBackup, EtcdBackupSchedule, EtcdRestore, EtcdRestoreStatus, RestorePhase};
use futures::StreamExt as _;
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{Pod, Secret},
};
use kube::{ResourceExt, api::DeleteParams};
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, Clusters as _, spec},
    ground::{self, Signal},
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

/// The pod that has everything that is stored, in a volume that outlives its container.
pub(crate) async fn s3(world: &World) -> Pod {
    until("the store's pod runs", PATIENCE, async || {
        let pods = world.list::<Pod>("app=s3").await;
        let runs = |pod: &&Pod| kit::readiness::is_ready(*pod) && pod.metadata.deletion_timestamp.is_none();
        pods.iter().find(runs).cloned().ok_or_else(|| format!("{} pods", pods.len()))
    })
    .await
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

/// What gives up the present data of a cluster.
pub(crate) async fn consent(cluster: &Cluster<'_>) -> String {
    format!("{}/{}", cluster.name, cluster.status().await.cluster_id.expect("the cluster exists"))
}

pub(crate) async fn restore(world: &World, name: &str, from: Value, consent: &str) {
    restore_of(world, "db", name, from, consent).await;
}

async fn restore_of(world: &World, cluster: &str, name: &str, from: Value, consent: &str) {
    world
        .create_object::<EtcdRestore>(
            json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdRestore",
            "metadata": {"name": name}, "spec": {"clusterName": cluster, "from": from, "consent": consent}}),
        )
        .await;
}

pub(crate) async fn until_restore(
    world: &World,
    name: &str,
    phase: RestorePhase,
    limit: Duration,
) -> EtcdRestoreStatus {
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
pub(crate) async fn get(cluster: &Cluster<'_>, key: &str) -> (Option<String>, i64) {
    let answer = endpoints(cluster).await.ask(&Request::Get(key.to_owned())).await.unwrap();
    (answer.value, answer.revision)
}

/// Somebody who has seen `revision` goes on from there, as every client that watches does: told that it is gone, and nothing else.
async fn is_told_of_compaction(cluster: &Cluster<'_>, revision: i64) {
    let client = cluster.place().await.unwrap().dial(&cluster.leader().await).await.unwrap();
    let mut events = client.events(revision + 1).await.unwrap();
    let said = async {
        while let Some(said) = events.next().await {
            let said = said.unwrap();
            assert!(said.events.is_empty(), "old revisions are told as if they were new: {said:?}");
            if said.canceled {
                return said.compact_revision;
            }
        }
        panic!("the watch ended without a word")
    };
    let compacted = tokio::time::timeout(PATIENCE, said).await.expect("etcd says something");
    assert!(compacted > revision, "{compacted} is above {revision}");
}

/// Backs a cluster up now, and captures what is written from then on.
pub(crate) async fn capture(world: &World, cluster: &str) {
    world
        .create_object::<EtcdBackupSchedule>(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackupSchedule", "metadata": {"name": cluster},
            "spec": {"clusterName": cluster, "schedule": "0 3 * * *", "immediate": true, "store": store(), "capture": {"flushEvery": "1s"}}}))
        .await;
}

pub(crate) async fn captured(world: &World, cluster: &str, revision: i64) {
    until(&format!("revision {revision} of {cluster} is captured"), LONG, async || {
        let schedule = world.api::<EtcdBackupSchedule>().get(cluster).await.map_err(|it| it.to_string())?;
        let status = json!(schedule.status);
        let to = status.pointer("/recoverable/to/revision").and_then(Value::as_i64);
        when(to.is_some_and(|to| to >= revision), status)
    })
    .await;
}

/// Waits until a restore is at one of these steps.
pub(crate) async fn is_at(world: &World, name: &str, steps: &[&str]) {
    until(&format!("the restore {name} is at {steps:?}"), LONG, async || {
        let restore = world.api::<EtcdRestore>().get(name).await.map_err(|error| error.to_string())?;
        let status = restore.status.unwrap_or_default();
        when(status.step.as_deref().is_some_and(|step| steps.contains(&step)), status)
    })
    .await;
}

pub(crate) fn from_backup(size: i32, version: &str, recovery: Value) -> Value {
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
        let agreed = consent(&cluster).await;
        let said = waits.message.unwrap();
        assert!(said.contains(&format!("set it to {agreed} to agree")), "{said}");
        assert_eq!(cluster.incarnations().await, untouched);
        seen = seen.max(get(&cluster, "kept").await.1);

        world
            .kubectl(&format!(
                "patch etcdrestore back --type=merge -p {{\"spec\":{{\"consent\":\"{agreed}\"}}}}"
            ))
            .await
            .unwrap();
        until_restore(world, "back", RestorePhase::Completed, LONG).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        let (kept, revision) = get(&cluster, "kept").await;
        assert_eq!(kept.as_deref(), Some("1"));
        assert_eq!(get(&cluster, "mistake").await.0, None);
        assert!(revision > seen, "{revision} is above {seen}: no client sees a revision twice");
        is_told_of_compaction(&cluster, seen).await;
        let after = cluster.status().await;
        assert_ne!(after.cluster_id, before.cluster_id);
        assert!(claims.is_subset(&cluster.claim_names().await), "the old volumes stay");
        let uid = world.api::<EtcdRestore>().get("back").await.unwrap().uid().unwrap();
        let safety = format!("back-before-{}", &uid[..8]);
        let before = world.api::<EtcdBackup>().get(&safety).await.unwrap();
        assert_eq!(before.status.unwrap().phase, Some(etcd_types::BackupPhase::Completed));
        cluster.members_agree().await;
        cluster.load().await.stop("a restored cluster").await.nothing_failed();

        // GitOps deletes the EtcdRestore and creates it again: the consent was to a cluster that is no more.
        world.api::<EtcdRestore>().delete("back", &DeleteParams::default()).await.unwrap();
        let untouched = cluster.incarnations().await;
        restore(world, "back", json!({"backup": "nightly"}), &agreed).await;
        until_restore(world, "back", RestorePhase::WaitingForConsent, PATIENCE).await;
        assert_eq!(cluster.incarnations().await, untouched);
        assert_eq!(cluster.status().await.cluster_id, after.cluster_id);

        // What was before is a backup away.
        let old = world.cluster("old");
        old.create(from_backup(1, "3.6.16", json!({"backup": safety}))).await;
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
        let directory = format!("/data/example-backup/etcd/{id}");
        let root = ground::root_of(&s3(world).await);
        let mut objects = std::fs::read_dir(root.join(directory.trim_start_matches('/'))).unwrap();
        let snapshot = |file: &std::path::Path| file.extension().is_some_and(|it| it == "zst");
        let object = objects.find_map(|file| Some(file.unwrap().path()).filter(|it| snapshot(it))).unwrap();
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
            restore(world, name, from, &consent(&cluster).await).await;
            let failed = until_restore(world, name, RestorePhase::Failed, LONG).await;
            let message = failed.message.unwrap();
            println!("    {name}: {message}");
            assert!(message.contains(expected), "{name}: {message}");
            assert_eq!(cluster.incarnations().await, untouched, "{name}: nobody was touched");
        }
        std::fs::write(&object, &whole).unwrap();
        cluster.is_well(1, "3.6.16", PATIENCE).await;
        assert_eq!(get(&cluster, "kept").await.0.as_deref(), Some("1"));
        // Of another cluster: only if the store is named; and not of a later etcd.
        let other = world.cluster("other");
        other.run(1, "3.7.3").await;
        let id = back_up(world, "other", "foreign").await.status.unwrap().id.unwrap();
        let cases = [
            ("foreign", json!({"backup": "foreign"}), "is of the cluster other"),
            ("too-new", json!({"store": store(), "id": id}), "etcd 3.6.16 is older"),
        ];
        for (name, from, expected) in cases {
            restore(world, name, from, &consent(&cluster).await).await;
            let message = until_restore(world, name, RestorePhase::Failed, LONG).await.message.unwrap();
            println!("    {name}: {message}");
            assert!(message.contains(expected), "{name}: {message}");
            assert_eq!(cluster.incarnations().await, untouched, "{name}: nobody was touched");
        }
    })
    .await;
}

/// E46: the operator is killed at every step, the store where it is needed, and the Job, until it is done.
#[tokio::test]
async fn a_restore_that_is_interrupted_goes_on() {
    trouble(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        put(&cluster, "kept", "1").await;
        back_up(world, "db", "nightly").await;
        put(&cluster, "kept", "spoiled").await;
        restore(world, "back", json!({"backup": "nightly"}), &consent(&cluster).await).await;
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
                // Not at the others: nobody needs it there, and Kubernetes starts it later each time.
                if last.as_ref().is_some_and(|step| ["Fetching", "BackingUp"].contains(&step.as_str())) {
                    world
                        .list::<Pod>("app=s3")
                        .await
                        .iter()
                        .for_each(|pod| ground::signal(pod, Signal::KILL));
                }
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

/// E35, E45: to just before the mistake, with what was captured between backups; and after that it is captured again.
#[tokio::test]
async fn every_version_goes_back_to_just_before_a_mistake() {
    scenario(async |world| {
        with_store(world).await;
        let versions = [("old", "3.5.35"), ("db", "3.6.16"), ("new", "3.7.3")];
        let all = versions.map(|(name, version)| goes_back(world, name, version));
        futures::future::join_all(all).await;
    })
    .await;
}

async fn goes_back(world: &World, name: &str, version: &str) {
    let cluster = world.cluster(name);
    cluster.run(1, version).await;
    put(&cluster, "kept", "1").await;
    capture(world, name).await;
    captured(world, name, put(&cluster, "first", "1").await).await;
    let good = put(&cluster, "kept", "2").await;
    let mistake = put(&cluster, "kept", "spoiled").await;
    captured(world, name, mistake).await;
    let agreed = consent(&cluster).await;
    restore_of(world, name, name, json!({"store": store(), "revision": good}), &agreed).await;
    until_restore(world, name, RestorePhase::Completed, LONG).await;
    cluster.is_well(1, version, PATIENCE).await;
    let (kept, revision) = get(&cluster, "kept").await;
    assert_eq!(
        (kept.as_deref(), get(&cluster, "first").await.0.as_deref()),
        (Some("2"), Some("1")),
        "{version}"
    );
    assert!(revision > mistake, "{version}: {revision} is above {mistake}");
    is_told_of_compaction(&cluster, mistake).await;
    captured(world, name, put(&cluster, "after", "1").await).await;
}

/// E42, E46: the store stands still while a backup is fetched, and again while what came after it is written; then the EtcdRestore is
/// deleted. Everything is as it was, to the bytes on the volumes, and what is captured has no gap.
#[tokio::test]
async fn a_restore_that_is_given_up_leaves_the_cluster_as_it_was() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        put(&cluster, "kept", "1").await;
        capture(world, "db").await;
        captured(world, "db", put(&cluster, "kept", "2").await).await;
        let good = put(&cluster, "kept", "3").await;
        let present = put(&cluster, "kept", "spoiled").await;
        captured(world, "db", present).await;
        let (before, claims) = (cluster.status().await, cluster.claim_names().await);
        let s3 = s3(world).await;

        ground::signal(&s3, Signal::STOP);
        restore(world, "back", json!({"store": store(), "revision": good}), &consent(&cluster).await).await;
        is_at(world, "back", &["Fetching"]).await;
        assert_eq!(get(&cluster, "kept").await.0.as_deref(), Some("spoiled"), "it serves meanwhile");
        ground::signal(&s3, Signal::CONT);
        is_at(world, "back", &["Stopping", "Starting", "Replaying"]).await;
        ground::signal(&s3, Signal::STOP);
        is_at(world, "back", &["Replaying"]).await;
        world.api::<EtcdRestore>().delete("back", &DeleteParams::default()).await.unwrap();
        cluster.is_well(3, "3.6.16", LONG).await;
        ground::signal(&s3, Signal::CONT);
        let (kept, revision) = get(&cluster, "kept").await;
        assert_eq!((kept.as_deref(), revision), (Some("spoiled"), present), "not one revision was written");
        assert_eq!(cluster.status().await.cluster_id, before.cluster_id);
        assert!(claims.is_subset(&cluster.claim_names().await));
        cluster.members_agree().await;
        captured(world, "db", put(&cluster, "kept", "4").await).await;

        // Asked for once more, under the same name, with a backup of its own before it.
        restore(world, "back", json!({"store": store(), "revision": good}), &consent(&cluster).await).await;
        until_restore(world, "back", RestorePhase::Completed, LONG).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        assert_eq!(get(&cluster, "kept").await.0.as_deref(), Some("3"));
        let safety = world.list::<EtcdBackup>("").await;
        let safety: Vec<String> = safety.iter().map(ResourceExt::name_any).collect();
        assert_eq!(safety.iter().filter(|name| name.starts_with("back-before-")).count(), 2, "{safety:?}");
    })
    .await;
}
