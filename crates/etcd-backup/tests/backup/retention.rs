//! Retention on a store that fails, refuses, is behind, or answers for another place: nothing is removed that should have stayed.

use std::{fs, sync::Arc};

use etcd_backup::{
    Error, Store,
    catalogue::Whose,
    removal::{self, History, Mode, Pruned},
    retention::Policy,
    wal::shelf::Shelf,
};
use jiff::Timestamp;
use object_store::{ObjectStoreExt as _, PutPayload, memory::InMemory, path::Path};
use s3::Conduct;

use super::{
    faults::{Bad, Fault},
    history::{UID, backup, capture_after},
    listed,
    places::bucket_with,
    save_whole, small,
};

const WHOSE: Whose<'_> = Whose { cluster_uid: UID, schedule: None };

/// Ten years later: whatever is left of an attempt is abandoned.
pub(super) fn later() -> Timestamp {
    Timestamp::from_second(2_110_000_000).unwrap()
}

pub(super) fn last_one() -> Policy {
    Policy { last: Some(1), ..Policy::default() }
}

async fn prune(store: &Store) -> Result<Pruned, Error> {
    removal::prune(store, WHOSE, &last_one(), later(), Mode::Delete).await
}

/// Backups `nightly-1` with history, `b` and `c`, the newest; and the same store with a fault.
async fn world(fault: Fault) -> (Arc<InMemory>, Store, Store) {
    let objects = Arc::new(InMemory::new());
    let store = Store::over(objects.clone(), "of/db", "memory");
    let first = backup(&store, "nightly-1", 40).await;
    capture_after(&store, &first).await;
    backup(&store, "b", 70).await;
    backup(&store, "c", 90).await;
    let bad = Store::over(Arc::new(Bad(fault, objects.clone())), "of/db", "bad");
    (objects, store, bad)
}

async fn chunks(store: &Store) -> usize {
    Shelf { store, cluster_uid: UID }.list().await.unwrap().iter().map(|it| it.sequences.len()).sum()
}

#[tokio::test]
async fn a_list_that_breaks_off_removes_nothing() {
    let (_, store, bad) = world(Fault::ListBreaksOff).await;
    let error = prune(&bad).await.unwrap_err();
    assert!(error.to_string().contains("cannot list of/db/b") && error.is_transient(), "{error}");
    assert_eq!((listed(&store).await.len(), chunks(&store).await), (3, 5));
}

#[tokio::test]
async fn a_list_of_another_place_removes_nothing() {
    let (objects, store, bad) = world(Fault::ListsElsewhere).await;
    let path = Path::from("elsewhere/nightly-1/manifest.json");
    objects.put(&path, PutPayload::from_static(b"{}")).await.unwrap();
    let error = prune(&bad).await.unwrap_err();
    assert!(matches!(error, Error::Misdirected { .. }), "{error}");
    assert!(removal::remove_by_id(&bad, "nightly-1", None).await.is_err());
    assert_eq!((listed(&store).await.len(), chunks(&store).await), (3, 5));
}

/// The manifests are there and the list does not show them: what looks like an abandoned attempt is a backup.
#[tokio::test]
async fn a_stale_list_does_not_make_a_backup_an_abandoned_attempt() {
    let (_, store, bad) = world(Fault::ListIsStale).await;
    let whose = Whose { cluster_uid: "another", ..WHOSE };
    let pruned = removal::prune(&bad, whose, &last_one(), later(), Mode::Delete).await.unwrap();
    assert!(pruned.backups.is_empty());
    let pruned = prune(&bad).await.unwrap();
    assert_eq!(pruned.backups, ["b", "nightly-1"], "as with a list that shows them");
    assert_eq!(listed(&store).await, ["c 2048"]);
}

/// While a manifest cannot be read it is not known which history its backup needs.
#[tokio::test]
async fn a_manifest_that_cannot_be_read_keeps_all_history() {
    let newer = br#"{"format":"capstan.dev/etcd-backup/v2","id":"b"}"#;
    for text in [Some(&newer[..]), Some(b"{"), None] {
        let fault = if text.is_some() { Fault::RefusesSnapshots } else { Fault::ManifestTimesOut };
        let (objects, store, bad) = world(fault).await;
        let pruned = match text {
            None => prune(&bad).await.unwrap(),
            Some(text) => {
                let path = Path::from("of/db/b/manifest.json");
                objects.put(&path, PutPayload::from(text.to_vec())).await.unwrap();
                prune(&store).await.unwrap()
            }
        };
        assert_eq!(pruned.backups, ["nightly-1"], "backups are removed all the same");
        let why = pruned.history.kept().unwrap();
        assert!(why.contains("cannot be read"), "{why}");
        assert_eq!(chunks(&store).await, 5);
        assert!(store.found_one("b").await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_backup_whose_snapshot_is_missing_keeps_all_history() {
    let (objects, store, _) = world(Fault::Lies).await;
    let object = store.manifest("b").await.unwrap().unwrap().stored.object;
    objects.delete(&Path::from(format!("of/db/b/{object}"))).await.unwrap();
    let pruned = prune(&store).await.unwrap();
    assert!(pruned.history.kept().unwrap().contains("is missing"));
    assert_eq!(chunks(&store).await, 5);
    removal::remove_by_id(&store, "b", Some(UID)).await.unwrap();
    let History::Pruned(gone) = prune(&store).await.unwrap().history else { panic!("it can all be read") };
    assert_eq!(gone, [("nightly-1".to_owned(), 4)]);
}

#[tokio::test]
async fn a_delete_that_is_refused_is_told_and_leaves_whole_backups() {
    let (_, store, bad) = world(Fault::RefusesDeletes).await;
    let error = prune(&bad).await.unwrap_err();
    assert!(error.to_string().contains("cannot delete") && !error.is_transient(), "{error}");
    assert_eq!((listed(&store).await.len(), chunks(&store).await), (3, 5));
}

/// Without its marker, what is left would never be removed.
#[tokio::test]
async fn a_removal_that_ends_in_the_middle_is_finished_by_the_next() {
    for is_marked in [true, false] {
        let (objects, store, bad) = world(Fault::RefusesSnapshots).await;
        if !is_marked {
            // As an earlier Capstan has left it.
            let found = store.found_one("b").await.unwrap().unwrap();
            let marker = found.objects.iter().find(|it| it.starts_with("attempt-")).unwrap();
            objects.delete(&Path::from(format!("of/db/b/{marker}"))).await.unwrap();
        }
        prune(&bad).await.unwrap_err();
        assert!(listed(&store).await.contains(&"b unfinished".to_owned()));
        assert_eq!(prune(&store).await.unwrap().backups.len(), 2);
        assert_eq!(listed(&store).await, ["c 2048"]);
    }
}

#[tokio::test]
async fn over_http_refused_deletes_and_lists_of_another_place_remove_nothing() {
    let conduct = Conduct::default();
    let (target, directory) = bucket_with(conduct.clone()).await;
    let store = target.open().unwrap();
    save_whole(&store, "a", None, &small()).await.unwrap();
    save_whole(&store, "b", None, &small()).await.unwrap();
    fs::create_dir_all(directory.path().join("root/backups/of/other/a")).unwrap();
    fs::write(directory.path().join("root/backups/of/other/a/manifest.json"), "{}").unwrap();
    let whose = Whose { cluster_uid: "uid-1", schedule: None };
    let pruned = async || removal::prune(&store, whose, &last_one(), later(), Mode::Delete).await;

    conduct.list_instead(Some("of/other/"));
    let error = pruned().await.unwrap_err();
    assert!(matches!(error, Error::Misdirected { .. }), "{error}");
    conduct.list_instead(None);
    conduct.refuse("DeleteObject");
    conduct.refuse("DeleteObjects");
    let error = removal::remove_by_id(&store, "a", None).await.unwrap_err();
    assert!(
        error.to_string().contains("cannot delete of/db/a/manifest.json") && !error.is_transient(),
        "{error}"
    );
    let left = |id: &str| fs::read_dir(directory.path().join("root/backups/of/db").join(id)).unwrap().count();
    assert!(left("a") >= 3 && left("b") >= 3);
}
