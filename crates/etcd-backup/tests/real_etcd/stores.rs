//! The whole life of backups in Google's and in Azure's store, on servers that speak their protocols.

use std::{fs, path::PathBuf};

use bytes::Bytes;
use etcd_api::{Client, Endpoint as _, pb};
use etcd_backup::{
    Manifest, Store, Target,
    catalogue::{self, Entry, Whose},
    load,
    manifest::OBJECT,
    ranking::Load,
    removal,
    retention::Policy,
    save::{self, About, PART},
    seal,
    source::Source,
    wal::{Ended, Point, point, replay},
};
use futures::stream;
use tokio::process::Child;

use super::{
    azure, gcs, hash,
    point_in_time::{capture, restore, take_as},
    process::{Etcd, now},
    write,
};

const VERSION: &str = "3.6.16";

/// A store that runs, with one bucket.
pub(crate) struct Server {
    pub(crate) target: Target,
    /// A bucket that is not there.
    pub(crate) elsewhere: String,
    /// Credentials that are well-formed, and somebody else's.
    pub(crate) wrong: PathBuf,
    pub(crate) directory: tempfile::TempDir,
    pub(crate) _process: Child,
}

/// What does not compress, in more than two parts.
async fn write_much(client: &Client) {
    let mut random = fastrand::Rng::with_seed(7);
    for number in 0..12 {
        let mut value = vec![0; 1 << 20];
        random.fill(&mut value);
        let key = Bytes::from(format!("much-{number}"));
        let put = pb::PutRequest { key, value: value.into(), ..pb::PutRequest::default() };
        client.call(client.kv().put(put)).await.unwrap();
    }
}

#[tokio::test]
async fn a_life_in_googles_store() {
    life(&gcs::start().await).await;
}

#[tokio::test]
async fn a_life_in_azures_store() {
    life(&azure::start().await).await;
}

async fn life(server: &Server) {
    let store = server.target.open().unwrap();
    let dir = server.directory.path();
    let key = seal::example_key("a");
    assert!(catalogue::list(&store).await.unwrap().is_empty(), "nothing is there yet");

    let etcd = Etcd::start(VERSION, &dir.join("data")).await;
    let client = etcd.client().await;
    write_much(&client).await;
    let plain = take_as(&etcd, &store, "plain", None).await;
    let manifest = take_as(&etcd, &store, "sealed", Some(&key)).await;
    assert!(manifest.stored.bytes > 2 * PART as u64, "several parts");
    assert_eq!(store.manifest("plain").await.unwrap(), Some(plain.clone()));
    assert_eq!(take_as(&etcd, &store, "plain", None).await, plain, "a name is taken once");
    for (manifest, key) in [(&plain, None), (&manifest, Some(&key))] {
        load::verify(&store, manifest, key, |_| ()).await.unwrap();
    }

    // What is written in between, and restored.
    let mut running = capture(&store, vec![etcd.url()], Some(&key));
    write(&client, 200).await;
    let last = client.status().await.unwrap().revision;
    running.stored(last).await;
    assert_eq!(running.stop().await, Ended::Stopped);
    let again = restore(VERSION, &store, &manifest, Some(&key), &dir.join("again"), 0).await;
    let again = again.client().await;
    let plan = point::plan(&store, &manifest, Point::End, Some(&key)).await.unwrap();
    let done = replay::replay(&store, &plan, &again, 0, Some(&key), |_| ()).await.unwrap();
    assert_eq!(done.revision, last);
    assert_eq!(hash(&again, last).await.hash, hash(&client, last).await.hash);

    retention(&store, &plain).await;
    broken(&store, &plain).await;
    two_attempts(&etcd, &store, &plain).await;
    refusals(server).await;
}

/// Both backups and the verdict about one are listed; the older one goes, and with it everything of it.
async fn retention(store: &Store, plain: &Manifest) {
    catalogue::record(store, "plain", false, b"{}".to_vec()).await.unwrap();
    let entries = catalogue::list(store).await.unwrap();
    let ids: Vec<&str> = entries
        .iter()
        .map(|entry| match entry {
            Entry::Backup(manifest, _) => manifest.id.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ids, ["sealed", "plain"]);
    let policy = Policy { last: Some(1), ..Policy::default() };
    let whose = Whose { cluster_uid: &plain.cluster.uid, schedule: None };
    let gone = catalogue::superfluous(&entries, whose, &policy, now());
    assert_eq!(gone.len(), 1);
    let objects = &gone[0].found().objects;
    assert!(objects[0].starts_with("attempt-"), "{objects:?}");
    assert_eq!(objects[1..], [OBJECT, "refuted.json", &plain.stored.object]);
    // A second time, as another Job may try.
    for objects in [3, 0] {
        let removed = removal::remove_by_id(store, "plain", Some(&plain.cluster.uid)).await.unwrap();
        assert_eq!(removed, objects);
    }
    let found = store.found().await.unwrap();
    assert_eq!(found.iter().map(|found| found.id.as_str()).collect::<Vec<_>>(), ["sealed"]);
}

fn about(id: &str, like: &Manifest) -> About {
    About {
        id: id.to_owned(),
        producer: "test".to_owned(),
        cluster: like.cluster.clone(),
        etcd_version: like.etcd_version.clone(),
        taken_at: now(),
        hash: None,
        schedule: None,
        corruption: None,
    }
}

/// An etcd that goes away when parts have arrived already: they are given up, and nothing of them is ever listed.
async fn broken(store: &Store, like: &Manifest) {
    let mut random = fastrand::Rng::with_seed(7);
    let noise = std::iter::repeat_with(|| {
        let mut chunk = vec![0; 1 << 20];
        random.fill(&mut chunk);
        Ok(Bytes::from(chunk))
    });
    let chunks = stream::iter(noise.take(12).chain([Err("connection reset")]));
    let revisions = async || Ok(like.revision);
    let error = save::save(store, about("broken", like), None, chunks, revisions, |_| ()).await.unwrap_err();
    assert!(error.to_string().contains("connection reset") && error.is_transient(), "{error}");
    assert!(!store.found().await.unwrap().iter().any(|found| found.id == "broken"));
}

/// The second one to end learns from the store that the name is taken: it asked for it to be new.
async fn two_attempts(etcd: &Etcd, store: &Store, like: &Manifest) {
    let giver = Source { endpoints: vec![etcd.url()], tls: None }.giver(Load::Snapshot).await.unwrap();
    let meanwhile = async || {
        take_as(etcd, store, "raced", None).await;
        Ok(giver.revisions().await.unwrap())
    };
    let chunks = giver.snapshot().await.unwrap();
    let slow = save::save(store, about("raced", like), None, chunks, meanwhile, |_| ()).await.unwrap();
    assert_eq!(store.manifest("raced").await.unwrap().as_ref(), Some(&slow), "both speak of the same backup");
    load::verify(store, &slow, None, |_| ()).await.unwrap();
    let found = store.found().await.unwrap();
    let raced = found.iter().find(|found| found.id == "raced").unwrap();
    let digits = slow.stored.object.trim_start_matches("snapshot-").trim_end_matches(".zst");
    let marker = format!("attempt-{digits}.json");
    assert_eq!(raced.objects, [&marker, OBJECT, &slow.stored.object], "the other attempt left nothing");
}

/// What people read when something is not as it should be.
async fn refusals(server: &Server) {
    let elsewhere = Target { url: server.elsewhere.clone(), ..server.target.clone() };
    let error = catalogue::list(&elsewhere.open().unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("cannot list of/db") && !error.is_transient(), "{error}");
    assert!(error.to_string().ends_with("Is the bucket right, and does it exist?"), "{error}");

    let stranger = Target { credentials: Some(server.wrong.clone()), ..server.target.clone() };
    let store = stranger.open().unwrap();
    for error in [store.manifest("sealed").await.unwrap_err(), catalogue::list(&store).await.unwrap_err()] {
        assert!(error.to_string().ends_with("The credentials are wrong or missing"), "{error}");
        assert!(!error.is_transient(), "{error}");
    }

    let none = server.directory.path().join("none");
    fs::create_dir(&none).unwrap();
    let error = Target { credentials: Some(none), ..server.target.clone() }.open().unwrap_err();
    assert!(error.to_string().contains("the Secret with its credentials has no key"), "{error}");
}
