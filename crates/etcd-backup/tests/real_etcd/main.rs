//! Backups of real etcd processes, of every version that is pinned: taken, fetched, restored with that version's etcdutl, and compared. And in
//! every kind of store, which are processes, too.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod auth;
mod azure;
mod by_command;
mod corrupt;
mod gcs;
#[path = "../shared/platform.rs"]
mod platform;
mod point_in_time;
mod process;
mod stores;
#[path = "../shared/tls_front.rs"]
mod tls_front;
mod verify;

use std::{fs, path::Path, process::Command};

use bytes::Bytes;
use etcd_api::{Client, Endpoint as _, HashKv, pb};
use etcd_backup::{
    Manifest, Result, Store, Target, load,
    manifest::Cluster,
    ranking::Load,
    save::{self, About},
    seal,
    source::{NoGiver, Source},
};
use jiff::Timestamp;
use lab::versions::Operand;
use process::{Etcd, program};

fn store(directory: &Path) -> Store {
    fs::create_dir_all(directory).unwrap();
    Target { url: format!("file://{}", directory.display()), ..Target::default() }.open().unwrap()
}

async fn take(etcd: &Etcd, store: &Store, key: Option<&etcd_backup::Key>) -> Result<Manifest> {
    let giver = Source { endpoints: vec![etcd.url()], tls: None }.giver(Load::Snapshot).await.unwrap();
    let id = giver.status.cluster.to_string();
    let about = About {
        id: "first".to_owned(),
        producer: "test".to_owned(),
        cluster: Cluster {
            namespace: String::new(),
            name: "db".to_owned(),
            uid: id.clone(),
            id,
            member: giver.name.clone(),
        },
        etcd_version: giver.status.version.clone(),
        taken_at: Timestamp::UNIX_EPOCH,
        hash: None,
        schedule: None,
        corruption: None,
    };
    let chunks = giver.snapshot().await.unwrap();
    save::save(store, about, key, chunks, async || Ok(giver.revisions().await.unwrap()), |_| ()).await
}

/// Some history: keys that are there, keys that were changed, keys that are gone.
async fn write(client: &Client, count: usize) {
    for number in 0..count {
        let key = Bytes::from(format!("key-{:04}", number % 300));
        let value = Bytes::from(vec![b'v'; 100 + number]);
        if number % 7 == 3 {
            let request = pb::DeleteRangeRequest { key, ..pb::DeleteRangeRequest::default() };
            client.call(client.kv().delete_range(request)).await.unwrap();
        } else {
            let request = pb::PutRequest { key, value, ..pb::PutRequest::default() };
            client.call(client.kv().put(request)).await.unwrap();
        }
    }
}

async fn hash(client: &Client, revision: i64) -> HashKv {
    client.hash_kv(revision).await.unwrap()
}

#[tokio::test]
async fn a_backup_of_every_version_restores_to_the_same_data() {
    let key = seal::example_key("a");
    for component in Operand::Etcd.versions() {
        let version = component.version;
        let dir = tempfile::tempdir().unwrap();
        let etcd = Etcd::start(version, &dir.path().join("data")).await;
        let client = etcd.client().await;
        write(&client, 1000).await;
        let revision = client.status().await.unwrap().revision;
        let before = hash(&client, revision).await;

        let store = store(&dir.path().join("store"));
        let manifest = take(&etcd, &store, Some(&key)).await.unwrap();
        assert_eq!((manifest.etcd_version.as_str(), manifest.revision.at_least), (version, revision));
        // What comes later is not in it.
        write(&client, 50).await;

        let file = dir.path().join("snapshot.db");
        load::load(&store, &manifest, Some(&key), fs::File::create(&file).unwrap(), |_| ()).await.unwrap();
        let restored = dir.path().join("restored");
        let said = Command::new(program(version, "etcdutl"))
            .args(["snapshot", "restore"])
            .arg(&file)
            .arg("--data-dir")
            .arg(&restored)
            .args([
                "--name",
                "m1",
                "--initial-cluster",
                "m1=http://127.0.0.1:1",
                "--initial-advertise-peer-urls",
                "http://127.0.0.1:1",
            ])
            .output()
            .unwrap();
        assert!(said.status.success(), "{version}: {}", String::from_utf8_lossy(&said.stderr));
        let born_again = Etcd::start(version, &restored).await;
        let again = born_again.client().await;
        assert_eq!(again.status().await.unwrap().revision, revision, "{version}");
        assert_eq!(hash(&again, revision).await.hash, before.hash, "{version}");
    }
}

#[tokio::test]
async fn an_etcd_that_dies_in_the_middle_leaves_no_backup() {
    let dir = tempfile::tempdir().unwrap();
    let mut etcd = Etcd::start("3.6.16", &dir.path().join("data")).await;
    write(&etcd.client().await, 2000).await;
    let giver = Source { endpoints: vec![etcd.url()], tls: None }.giver(Load::Snapshot).await.unwrap();
    let chunks = giver.snapshot().await.unwrap();
    etcd.kill().await;
    let store = store(&dir.path().join("store"));
    let about = About {
        id: "cut".to_owned(),
        producer: "test".to_owned(),
        cluster: Cluster {
            namespace: String::new(),
            name: "db".to_owned(),
            uid: "u".to_owned(),
            id: "i".to_owned(),
            member: "m1".to_owned(),
        },
        etcd_version: giver.status.version.clone(),
        taken_at: Timestamp::UNIX_EPOCH,
        hash: None,
        schedule: None,
        corruption: None,
    };
    let revisions = async || giver.revisions().await.map_err(etcd_backup::Error::Etcd);
    let error = save::save(&store, about, None, chunks, revisions, |_| ()).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(store.manifest("cut").await.unwrap(), None);
}

#[tokio::test]
async fn an_etcd_that_is_not_there_is_named() {
    let source = Source { endpoints: vec!["http://127.0.0.1:1".to_owned()], tls: None };
    let error = source.giver(Load::Snapshot).await.unwrap_err();
    assert!(matches!(&error, NoGiver::Silent(why) if why.contains("127.0.0.1:1")), "{error}");
}
