//! The same in every place.

use std::fs;

use bytes::Bytes;
use etcd_backup::{Store, Target, catalogue, load, removal, retention::Policy, seal};
use futures::stream;
use jiff::{Timestamp, ToSpan as _};

use super::{large, listed, loaded, refusal, save_stream, save_whole, small};

/// A place, and what keeps it there.
struct Place {
    store: Store,
    _directory: tempfile::TempDir,
}

fn directory() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("file://{}", directory.path().display());
    Place { store: Target { url, ..Target::default() }.open().unwrap(), _directory: directory }
}

/// The machine's time, which files have: that of the newest object.
fn machine_time(entries: &[catalogue::Entry]) -> Timestamp {
    entries.iter().map(|entry| entry.found().newest).max().unwrap()
}

/// A bucket of an S3 server that runs as long as this process does.
pub(super) async fn bucket() -> (Target, tempfile::TempDir) {
    bucket_with(s3::Conduct::default()).await
}

/// The same, with a server that may lie.
pub(super) async fn bucket_with(conduct: s3::Conduct) -> (Target, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let (root, credentials) = (directory.path().join("root"), directory.path().join("credentials"));
    fs::create_dir_all(root.join("backups")).unwrap();
    fs::create_dir_all(&credentials).unwrap();
    fs::write(credentials.join("accessKeyID"), "key\n").unwrap();
    fs::write(credentials.join("secretAccessKey"), "secret\n").unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let (address, _server) = s3::serve_with(conduct, root, listen, "key", "secret").await.unwrap();
    let target = Target {
        url: "s3://backups/of/db".to_owned(),
        endpoint: Some(format!("http://{address}")),
        credentials: Some(credentials),
        ..Target::default()
    };
    (target, directory)
}

async fn s3() -> Place {
    let (target, directory) = bucket().await;
    Place { store: target.open().unwrap(), _directory: directory }
}

#[tokio::test]
async fn a_backup_comes_back_byte_for_byte() {
    let key = seal::example_key("a");
    let snapshot = large();
    for Place { store, _directory } in [directory(), s3().await] {
        for (id, key) in [("plain", None), ("sealed", Some(&key))] {
            let manifest = save_whole(&store, id, key, &snapshot).await.unwrap();
            assert_eq!(manifest.database.bytes, snapshot.len() as u64 - 32);
            assert_eq!(store.manifest(id).await.unwrap().unwrap(), manifest);
            assert!(loaded(&store, &manifest, key).await.unwrap() == snapshot);
        }
        assert_eq!(listed(&store).await, ["plain 9216000", "sealed 9216000"]);
    }
}

#[tokio::test]
async fn an_attempt_whose_word_was_lost_is_recognised() {
    let Place { store, _directory } = s3().await;
    let first = save_whole(&store, "nightly", None, &large()).await.unwrap();
    // The second attempt's snapshot is another one; it is not taken.
    let again = save_whole(&store, "nightly", None, b"not even a snapshot").await.unwrap();
    assert_eq!(first, again);
}

/// A pod that was given up may go on beside the one that took its place. It once wrote its snapshot over the other's, whose manifest then spoke of
/// something that was no longer there.
#[tokio::test]
async fn of_two_attempts_at_one_name_the_first_one_stays_as_it_was() {
    for Place { store, _directory } in [directory(), s3().await] {
        let others = large();
        let beginning = small();
        let meanwhile = async {
            save_whole(&store, "nightly", None, &others).await.unwrap();
            Ok::<_, String>(Bytes::from(beginning))
        };
        let slow = save_stream(&store, "nightly", stream::once(meanwhile)).await.unwrap();
        assert_eq!(slow.database.bytes, others.len() as u64 - 32, "both speak of the same backup");
        assert!(loaded(&store, &slow, None).await.unwrap() == others);
        let found = store.found().await.unwrap();
        assert_eq!(found[0].objects.len(), 3, "snapshot, manifest and marker of one attempt: {found:?}");
    }
}

#[tokio::test]
async fn the_wrong_key_and_no_key_are_named() {
    let Place { store, _directory } = directory();
    let (right, wrong) = (seal::example_key("a"), seal::example_key("b"));
    let manifest = save_whole(&store, "sealed", Some(&right), &large()).await.unwrap();
    assert!(refusal(loaded(&store, &manifest, None).await).contains("no key is given"));
    let said = refusal(loaded(&store, &manifest, Some(&wrong)).await);
    assert!(said.contains(&right.id()) && said.contains(&wrong.id()), "{said}");
}

#[tokio::test]
async fn a_bucket_that_is_not_there_and_wrong_credentials_are_told_apart() {
    let Place { store: _, _directory: directory } = s3().await;
    let (root, credentials) = (directory.path().join("root"), directory.path().join("credentials"));
    let (address, _server) = s3::serve(root, "127.0.0.1:0".parse().unwrap(), "key", "secret").await.unwrap();
    let target = Target {
        url: "s3://nowhere".to_owned(),
        endpoint: Some(format!("http://{address}")),
        credentials: Some(credentials.clone()),
        ..Target::default()
    };
    let store = target.open().unwrap();
    // A list that is refused was once said to be tried again.
    for error in
        [save_whole(&store, "a", None, &small()).await.unwrap_err(), store.found().await.unwrap_err()]
    {
        let said = error.to_string();
        assert!(said.contains("s3://nowhere") && said.contains("does it exist"), "{said}");
        assert!(!error.is_transient(), "{said}");
    }

    fs::write(credentials.join("secretAccessKey"), "another").unwrap();
    let store = Target { url: "s3://backups".to_owned(), ..target }.open().unwrap();
    for error in
        [save_whole(&store, "a", None, &small()).await.unwrap_err(), store.found().await.unwrap_err()]
    {
        assert!(error.to_string().ends_with("The credentials are wrong or missing"), "{error}");
        assert!(!error.is_transient(), "{error}");
    }
}

#[tokio::test]
async fn what_the_policy_does_not_want_goes_manifest_first() {
    let Place { store, _directory } = directory();
    for id in ["one", "two", "three"] {
        save_whole(&store, id, None, &large()).await.unwrap();
    }
    let entries = catalogue::list(&store).await.unwrap();
    let now = Timestamp::from_second(1_795_000_100).unwrap();
    let policy = Policy { last: Some(1), ..Policy::default() };
    let gone = catalogue::superfluous(&entries, whose("uid-1"), &policy, now);
    assert_eq!(gone.len(), 2);
    assert!(catalogue::superfluous(&entries, whose("another cluster"), &policy, now).is_empty());
    // Interrupted after the manifest: the rest is no backup, and is removed when no attempt can be at it any more.
    let first = &gone.first().unwrap().found().id;
    fs::remove_file(_directory.path().join(first).join("manifest.json")).unwrap();
    let entries = catalogue::list(&store).await.unwrap();
    let rest = catalogue::superfluous(
        &entries,
        whose("uid-1"),
        &Policy::default(),
        machine_time(&entries) + 48.hours(),
    );
    assert_eq!(rest.len(), 1);
    removal::remove_by_id(&store, first, Some("uid-1")).await.unwrap();
    assert_eq!(listed(&store).await.len(), 2);
    assert!(store.found_one(first).await.unwrap().is_none(), "nothing of it is left");
}

#[tokio::test]
async fn the_newest_that_was_restored_and_found_good_stays_whatever_is_kept() {
    let Place { store, _directory } = directory();
    for id in ["a", "b", "c", "d"] {
        save_whole(&store, id, None, &large()).await.unwrap();
    }
    let now = Timestamp::from_second(1_795_000_100).unwrap();
    let policy = Policy { last: Some(1), ..Policy::default() };
    let gone = async || -> Vec<String> {
        let entries = catalogue::list(&store).await.unwrap();
        let gone = catalogue::superfluous(&entries, whose("uid-1"), &policy, now);
        gone.into_iter().map(|entry| entry.found().id.clone()).collect()
    };
    assert_eq!(gone().await.len(), 3);
    catalogue::record(&store, "b", true, b"{}".to_vec()).await.unwrap();
    assert!(!gone().await.contains(&"b".to_owned()), "it is known to be good");
    catalogue::record(&store, "b", false, b"{}".to_vec()).await.unwrap();
    assert!(gone().await.contains(&"b".to_owned()), "it is known not to be");
    catalogue::record(&store, "d", false, b"{}".to_vec()).await.unwrap();
    assert_eq!(gone().await, ["a", "b"], "the newest good one stays, and the bad one to look into");
    assert_eq!(listed(&store).await.len(), 4, "they are backups as before");
}

/// Linux has a file for it.
#[tokio::test]
async fn a_volume_without_room_is_named() {
    let Place { store, _directory } = directory();
    let manifest = save_whole(&store, "a", None, &large()).await.unwrap();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let error = load::load(&store, &manifest, None, full, |_| ()).await.err().unwrap();
    assert!(error.to_string().contains("Is the volume large enough?") && !error.is_transient(), "{error}");
}

fn whose(cluster_uid: &str) -> catalogue::Whose<'_> {
    catalogue::Whose { cluster_uid, schedule: None }
}
