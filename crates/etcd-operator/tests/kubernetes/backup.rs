//! Backed up: once, at times, encrypted, without a leader, with a Job that is killed; and what people read when it cannot be done. With a
//! real S3 server, which is looked into with `capstan backup` from a pod of its own.
//!
//! | scenario | of reference/reliability.md §2.4 |
//! |---|---|
//! | `a_backup_is_taken_while_clients_write_and_goes_with_its_object` | E34 |
//! | `every_version_is_backed_up_and_verified_by_restoring_it` | E34, E40; etcd 3.5, 3.6, 3.7; a bucket, sealed, and a claim |
//! | `a_schedule_takes_backups_and_keeps_as_many_as_it_should` | E36, E37, E40 |
//! | `a_schedule_goes_on_while_the_operator_is_gone` | E36 |
//! | `a_store_that_cannot_be_used_is_named_and_the_cluster_goes_on` | E38 |
//! | `a_backup_is_taken_while_the_leader_changes` | E39 |
//! | `an_upgrade_takes_a_backup_first` | E15–20 with E34 |
//! | `a_job_that_is_killed_is_run_again_and_stores_one_backup` | E34, E38; before anything is stored |
//! | `a_backup_outlives_the_death_of_job_operator_and_store_in_its_middle` | E34, E38; while it is uploaded; and D1, a volume without room for it |
//!
//! E35, what is written between backups, is in `restore.rs`: it is of use only when it is restored.

use std::time::Duration;

use etcd_types::{
    BackupPhase, EtcdBackup, EtcdBackupSchedule, EtcdBackupScheduleStatus, EtcdBackupStatus,
    EtcdClusterStatus,
};
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{PersistentVolumeClaim, Pod, Secret},
};
use kube::{
    ResourceExt as _,
    api::{DeleteParams, LogParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::time::{interval, timeout};

use crate::{
    cluster::{Clusters as _, spec},
    ground::{self, Signal},
    operator,
    patience::{LONG, PATIENCE, until, when},
    restore::{back_up, credentials, from_backup, put, s3, store, with_store},
    world::{World, scenario, trouble},
};

const VERSION: &str = "3.6.16";

async fn ask(world: &World, name: &str, spec: Value) {
    world
        .create_object::<EtcdBackup>(json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackup",
            "metadata": {"name": name}, "spec": spec}))
        .await;
}

async fn status(world: &World, name: &str) -> Result<EtcdBackupStatus, String> {
    let backup = world.api::<EtcdBackup>().get(name).await.map_err(|error| error.to_string())?;
    Ok(backup.status.unwrap_or_default())
}

async fn until_backup(world: &World, name: &str, phase: BackupPhase) -> EtcdBackupStatus {
    until(&format!("the backup {name} is {phase:?}"), LONG, async || {
        let status = status(world, name).await?;
        when(status.phase == Some(phase), status)
    })
    .await
}

async fn schedule(world: &World, spec: Value) {
    let mut all = json!({"clusterName": "db", "schedule": "* * * * *", "store": store(), "deadline": "2m"});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    world
        .create_object::<EtcdBackupSchedule>(
            json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackupSchedule",
            "metadata": {"name": "often"}, "spec": all}),
        )
        .await;
}

async fn until_schedule(
    world: &World,
    what: &str,
    is: impl Fn(&EtcdBackupScheduleStatus) -> bool,
) -> EtcdBackupScheduleStatus {
    until(&format!("the schedule {what}"), LONG, async || {
        let schedule =
            world.api::<EtcdBackupSchedule>().get("often").await.map_err(|error| error.to_string())?;
        let status = schedule.status.unwrap_or_default();
        when(is(&status), status)
    })
    .await
}

/// What `capstan backup` says about the store: from a pod without any rights, with the image that the Jobs have.
async fn capstan_backup(world: &World, verb: &str, more: &[&str]) -> String {
    let name = format!("look-{}", fastrand::u32(..));
    let place = ["s3://example-backup/etcd", "--server", "http://s3:9000", "--credentials", "/credentials"];
    let arguments = [&[verb], &place[..], more].concat();
    world
        .create_object::<Pod>(json!({"metadata": {"name": name}, "spec": {
            "restartPolicy": "Never", "automountServiceAccountToken": false,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [{"name": "c", "secret": {"secretName": "store"}}],
            "containers": [{"name": "look", "image": "capstan:dev", "command": ["capstan", "backup"], "args": arguments,
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [{"name": "c", "mountPath": "/credentials"}]}]}}))
        .await;
    until("somebody has looked", PATIENCE, async || {
        let pod = world.api::<Pod>().get(&name).await.map_err(|error| error.to_string())?;
        let phase = pod.status.and_then(|status| status.phase);
        when(phase.as_deref() == Some("Succeeded"), phase).map(drop)
    })
    .await;
    world.api::<Pod>().logs(&name, &LogParams::default()).await.unwrap()
}

/// The ids in the store, as the command line shows them.
async fn stored(world: &World) -> Vec<String> {
    let text = capstan_backup(world, "ls", &["--output", "json"]).await;
    let listed: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut ids: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| Some(entry["id"].as_str()?.to_owned()))
        .collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn a_backup_is_taken_while_clients_write_and_goes_with_its_object() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(3, VERSION).await;
        let load = cluster.load().await;
        let revision = put(&cluster, "before", "the backup").await;
        let backup = back_up(world, "db", "now").await;
        let status = backup.status.clone().unwrap();
        assert!(status.revision >= Some(revision), "{status:?}");
        assert_eq!(status.etcd_version.as_deref(), Some(VERSION));
        assert_eq!(status.cluster_id, cluster.status().await.cluster_id);
        assert!(status.stored_bytes > Some(0) && status.sha256.is_some(), "{status:?}");
        let id = format!("now-{}", &backup.uid().unwrap()[..8]);
        assert_eq!((status.id.as_ref(), stored(world).await), (Some(&id), vec![id.clone()]));
        load.stop("a backup").await;
        cluster.members_agree().await;
        let shown = capstan_backup(world, "show", &[&id]).await;
        assert!(shown.contains(&format!("etcdVersion: \"{VERSION}\"")), "{shown}");
        let whole = capstan_backup(world, "verify", &[&id]).await;
        assert!(whole.contains(&format!("{id} is whole")), "{whole}");
        // Its Job had an account of its own, no token, and could not have done anything with one.
        let pod = world.list::<Pod>("etcd.capstan.dev/backup=now").await.remove(0).spec.unwrap();
        assert_eq!(pod.service_account_name.as_deref(), Some("db-backup"));
        let volumes: Vec<String> = pod.volumes.into_iter().flatten().map(|volume| volume.name).collect();
        assert_eq!(volumes, ["credentials", "tls"]);
        let account = format!("system:serviceaccount:{}:db-backup", world.namespace);
        for right in ["get secrets", "list pods", "create jobs", "get etcdclusters"] {
            let may = world.kubectl(&format!("auth can-i {right} --as={account}")).await;
            assert!(!may.as_ref().is_ok_and(|said| said.trim() == "yes"), "{right}: {may:?}");
        }

        // What is stored goes with the object, if that is asked for.
        let patch = Patch::Merge(json!({"spec": {"deletionPolicy": "Delete"}}));
        world.api::<EtcdBackup>().patch("now", &PatchParams::default(), &patch).await.unwrap();
        until("it holds what is stored", PATIENCE, async || {
            let backup = world.api::<EtcdBackup>().get("now").await.map_err(|error| error.to_string())?;
            when(!backup.finalizers().is_empty(), backup.metadata.finalizers)
        })
        .await;
        world.api::<EtcdBackup>().delete("now", &DeleteParams::default()).await.unwrap();
        until("it is gone", PATIENCE, async || {
            let there = world.api::<EtcdBackup>().get_opt("now").await.map_err(|error| error.to_string())?;
            when(there.is_none(), there.and_then(|it| it.status?.message))
        })
        .await;
        assert_eq!(stored(world).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn every_version_is_backed_up_and_verified_by_restoring_it() {
    scenario(async |world| {
        with_store(world).await;
        let key = json!({"aes": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="});
        world.create_object::<Secret>(json!({"metadata": {"name": "key"}, "stringData": key})).await;
        let claim = json!({"metadata": {"name": "shelf"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}});
        world.create_object::<PersistentVolumeClaim>(claim).await;
        let mut sealed = store();
        sealed["encryption"] = json!({"name": "key", "key": "aes"});
        let all = [
            ("old", "3.5.35", sealed),
            ("db", "3.6.16", store()),
            ("new", "3.7.3", json!({"url": "pvc://shelf/etcd"})),
        ];
        let verified = all.map(|(name, version, store)| async move {
            let cluster = world.cluster(name);
            cluster.run(1, version).await;
            put(&cluster, "secret", "do not tell").await;
            ask(world, name, json!({"clusterName": name, "store": store, "verifyByRestore": true})).await;
            let status = until_backup(world, name, BackupPhase::Completed).await;
            let verified = status.verified.clone().unwrap();
            println!("    {version}: {}", verified.message.unwrap_or_default());
            assert!(verified.good && verified.hash.is_some(), "{status:?}");
            assert_eq!(status.etcd_version.as_deref(), Some(version));
        });
        futures::future::join_all(verified).await;
    })
    .await;
}

#[tokio::test]
async fn a_schedule_takes_backups_and_keeps_as_many_as_it_should() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(1, VERSION).await;
        back_up(world, "db", "by-hand").await;
        schedule(world, json!({"immediate": true, "verifyByRestore": true, "retention": {"keepLast": 1}}))
            .await;
        let first = until_schedule(world, "has its first backup", |it| it.last_success.is_some()).await;
        let first = first.last_success.unwrap();
        assert!(first.id.as_deref().is_some_and(|id| id.starts_with("often-first-")), "{first:?}");
        until_schedule(world, "has restored the first to try it", |it| {
            it.verified.as_ref().is_some_and(|verified| verified.good)
        })
        .await;
        // The first is the only one that is known to be good until the second was restored, too.
        let last = until_schedule(world, "has removed the first", |it| {
            it.last_success.as_ref().is_some_and(|last| last.removed == Some(1))
        })
        .await;
        let left = stored(world).await;
        let first = first.id.unwrap();
        let newest = last.last_success.and_then(|last| last.id).unwrap();
        assert!(left.contains(&newest) && !left.contains(&first), "{left:?}");
        assert!(left.iter().any(|id| id.starts_with("by-hand-")), "{left:?}");
        assert!(last.next.is_some() && last.missed == Some(0), "{left:?}");
    })
    .await;
}

#[tokio::test]
async fn a_store_that_cannot_be_used_is_named_and_the_cluster_goes_on() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(1, VERSION).await;
        let pods = cluster.incarnations().await;
        let with = |change: Value| {
            let mut store = store();
            store.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            json!({"clusterName": "db", "store": store, "deadline": "2m"})
        };
        credentials(world, "wrong", "not the password").await;
        ask(world, "bucket", with(json!({"url": "s3://no-such-bucket/etcd"}))).await;
        ask(world, "password", with(json!({"credentials": {"name": "wrong"}}))).await;
        ask(world, "secret", with(json!({"credentials": {"name": "missing"}}))).await;
        for name in ["bucket", "password"] {
            let status = until_backup(world, name, BackupPhase::Failed).await;
            let message = status.message.unwrap_or_default();
            assert!(message.contains("s3://") && !message.contains("not the password"), "{name}: {message}");
            let job = world.api::<Job>().get(name).await.unwrap();
            assert_eq!(job.status.and_then(|status| status.failed), Some(1), "{name} is not tried in vain");
        }
        let waits = until("the missing Secret is named", PATIENCE, async || {
            let status = status(world, "secret").await?;
            when(status.message.as_ref().is_some_and(|it| it.contains("no Secret missing")), status)
        })
        .await;
        assert_eq!(waits.phase, Some(BackupPhase::Pending));
        // What is mended goes on by itself.
        credentials(world, "missing", "not-a-secret").await;
        until_backup(world, "secret", BackupPhase::Completed).await;
        assert_eq!(cluster.incarnations().await, pods, "no member was touched");
    })
    .await;
}

#[tokio::test]
async fn a_backup_is_taken_while_the_leader_changes() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(3, VERSION).await;
        let revision = put(&cluster, "before", "the election").await;
        let leader = cluster.leader().await;
        ask(world, "now", json!({"clusterName": "db", "store": store()})).await;
        cluster.delete_pod(&leader).await;
        let status = until_backup(world, "now", BackupPhase::Completed).await;
        assert!(status.revision >= Some(revision), "{status:?}");
        cluster.is_well(3, VERSION, LONG).await;
    })
    .await;
}

/// The pre-upgrade backup is one of these: no member moves before it is stored, and it is of the version before.
#[tokio::test]
async fn an_upgrade_takes_a_backup_first() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        let mut careful = spec(1, "3.5.35");
        careful["updateStrategy"] = json!({"backup": {"url": "s3://no-such-bucket/etcd", "server": "http://s3:9000",
            "credentials": {"name": "store"}}});
        cluster.create(careful).await;
        cluster.is_well(1, "3.5.35", PATIENCE).await;
        let untouched = cluster.incarnations().await;
        cluster.patch(json!({"version": VERSION})).await;
        let said = cluster.says("BackupFailed", PATIENCE).await;
        assert!(said.contains("no-such-bucket") && said.contains("No member was touched"), "{said}");
        assert_eq!(cluster.incarnations().await, untouched);
        cluster.patch(json!({"updateStrategy": {"backup": store()}})).await;
        world.api::<EtcdBackup>().delete("db-before-3-6-16", &DeleteParams::default()).await.unwrap();
        cluster.is_well(1, VERSION, LONG).await;
        let status = status(world, "db-before-3-6-16").await.unwrap();
        assert_eq!(
            (status.phase, status.etcd_version.as_deref()),
            (Some(BackupPhase::Completed), Some("3.5.35"))
        );
    })
    .await;
}

#[tokio::test]
async fn a_job_that_is_killed_is_run_again_and_stores_one_backup() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(1, VERSION).await;
        // Nothing can be stored meanwhile.
        world.kubectl("scale deployment/s3 --replicas=0").await.unwrap();
        ask(world, "now", json!({"clusterName": "db", "store": store()})).await;
        let running = async || {
            let pods = world.list::<Pod>("etcd.capstan.dev/backup=now").await;
            let pod = pods
                .into_iter()
                .find(|pod| pod.status.as_ref().and_then(|it| it.phase.as_deref()) == Some("Running"));
            pod.ok_or_else(|| "none runs".to_owned())
        };
        let pod = until("its pod runs", PATIENCE, running).await;
        world.api::<Pod>().delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await.unwrap();
        until("another one runs", LONG, async || {
            let next = running().await?;
            when(next.uid() != pod.uid(), next.uid()).map(drop)
        })
        .await;
        world.api::<Job>().delete("now", &DeleteParams::background()).await.unwrap();
        world.kubectl("scale deployment/s3 --replicas=1").await.unwrap();
        until_backup(world, "now", BackupPhase::Completed).await;
        assert_eq!(stored(world).await.len(), 1);
    })
    .await;
}

/// Its pod, the operator and the store die while it is uploaded. Before, its status says how far it is.
#[tokio::test]
async fn a_backup_outlives_the_death_of_job_operator_and_store_in_its_middle() {
    const MEBIBYTES: usize = 64;
    trouble(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        let mut large = spec(1, VERSION);
        large["storage"]["size"] = json!("1Gi");
        cluster.create(large).await;
        cluster.is_well(1, VERSION, PATIENCE).await;
        for number in 0..MEBIBYTES {
            let noise: String = std::iter::repeat_with(fastrand::alphanumeric).take(1 << 20).collect();
            put(&cluster, &format!("large/{number}"), &noise).await;
        }
        let s3 = s3(world).await;
        let parts = ground::root_of(&s3).join("data");
        ask(world, "now", json!({"clusterName": "db", "store": store()})).await;
        // As soon as a part is there: all of them would be in a second.
        let mut soon = interval(Duration::from_millis(5));
        let is_part = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().contains(".part-");
        let uploads = async {
            while !std::fs::read_dir(&parts).unwrap().flatten().any(|entry| is_part(&entry)) {
                soon.tick().await;
            }
        };
        timeout(LONG, uploads).await.expect("a part is stored");
        ground::signal(&s3, Signal::STOP);
        let status = until("it says how far it is", PATIENCE, async || {
            let status = status(world, "now").await?;
            let far = status.progress.as_ref().is_some_and(|it| it.bytes > 0 && it.bytes < it.total);
            when(far, status)
        })
        .await;
        println!("    {} ({:?})", status.message.unwrap_or_default(), status.progress);
        operator::kill_one(world).await;
        for pod in world.list::<Pod>("etcd.capstan.dev/backup=now").await {
            let now = DeleteParams::default().grace_period(0);
            world.api::<Pod>().delete(&pod.name_any(), &now).await.unwrap();
        }
        ground::signal(&s3, Signal::KILL);
        let status = until_backup(world, "now", BackupPhase::Completed).await;
        assert!(status.bytes >= Some(i64::try_from(MEBIBYTES << 20).unwrap()), "{status:?}");
        let id = status.id.unwrap();
        assert_eq!(stored(world).await, std::slice::from_ref(&id));
        let whole = capstan_backup(world, "verify", &[&id]).await;
        assert!(whole.contains(&format!("{id} is whole")), "{whole}");
        operator::is_ready(world).await;

        // It is more than a small volume holds: that is said, and no member starts on a part of it.
        let small = world.cluster("small");
        let mut tight = from_backup(1, VERSION, json!({"backup": "now"}));
        tight["storage"] = json!({"size": "64Mi", "storageClassName": "sized"});
        small.create(tight).await;
        let said = |status: &EtcdClusterStatus| status.message.clone().unwrap_or_default();
        let full = |status: &EtcdClusterStatus| said(status).contains("Is the volume large enough?");
        let object = small.until("says that there is no room", PATIENCE, |_, status| full(status)).await;
        println!("    {}", said(&object.status.unwrap()));
        assert!(small.pods().await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_schedule_goes_on_while_the_operator_is_gone() {
    trouble(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(1, VERSION).await;
        schedule(world, json!({})).await;
        until_schedule(world, "is active", |it| it.next.is_some()).await;
        operator::scale(world, 0).await;
        until("a backup without the operator", LONG, async || {
            let stored = stored(world).await;
            when(!stored.is_empty(), stored)
        })
        .await;
        operator::scale(world, 2).await;
        let known = until_schedule(world, "knows of it", |it| it.last_success.is_some()).await;
        assert_eq!(known.last_failure, None, "{known:?}");
    })
    .await;
}
