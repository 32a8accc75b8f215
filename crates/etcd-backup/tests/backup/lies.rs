//! A store that acknowledges and does not keep, over HTTP: found out while etcd still has the data, and nothing is left that claims a backup.

use etcd_backup::{Error, Manifest, Result, Store};
use s3::{Conduct, Lie};

use super::{large, listed, places::bucket_with, save_whole, small};

const SNAPSHOT: &str = ".zst";
const MANIFEST: &str = "manifest.json";

/// Saves to a server that lies so, and says what is left there.
async fn saved(
    object: &str,
    lie: Lie,
    snapshot: &[u8],
) -> (Result<Manifest>, Vec<String>, Store, tempfile::TempDir) {
    let conduct = Conduct::default();
    conduct.lie_about(object, lie);
    let (target, directory) = bucket_with(conduct.clone()).await;
    let store = target.open().unwrap();
    let result = save_whole(&store, "a", None, snapshot).await;
    // Whatever is left is looked at honestly.
    conduct.lie_about("nothing", lie);
    let left = listed(&store).await;
    (result, left, store, directory)
}

#[tokio::test]
async fn a_snapshot_that_is_kept_otherwise_than_it_was_sent_is_no_backup() {
    for lie in [Lie::Flips, Lie::Shortens] {
        let (result, left, ..) = saved(SNAPSHOT, lie, &large()).await;
        let error = result.unwrap_err();
        assert!(
            matches!(&error, Error::Lied { object, .. } if object.starts_with("of/db/a/snapshot-")),
            "{error}"
        );
        assert!(error.to_string().contains("the store does not keep what it is given"), "{error}");
        assert!(!error.is_transient(), "{lie:?}");
        assert!(left.is_empty(), "{lie:?}: {left:?}");
    }
}

#[tokio::test]
async fn a_snapshot_that_is_acknowledged_and_forgotten_is_no_backup() {
    let (result, left, ..) = saved(SNAPSHOT, Lie::Forgets, &small()).await;
    let said = result.unwrap_err().to_string();
    assert!(said.contains("/snapshot-") && said.contains(".zst was written, and is not there"), "{said}");
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_snapshot_that_is_read_shorter_than_it_is_is_no_backup() {
    let (result, left, store, _directory) = saved(SNAPSHOT, Lie::Truncates, &small()).await;
    let said = result.unwrap_err().to_string();
    assert!(said.contains("cannot read back") && said.contains("less than it was asked for"), "{said}");
    assert_eq!(left, ["a unfinished"]);
    // The object is whole, only the reads were not: the next attempt takes its place.
    save_whole(&store, "a", None, &small()).await.unwrap();
    assert_eq!(listed(&store).await, ["a 8192"]);
}

#[tokio::test]
async fn parts_that_are_acknowledged_as_others_are_no_backup() {
    let (result, left, ..) = saved(SNAPSHOT, Lie::Mistakes, &large()).await;
    let said = result.unwrap_err().to_string();
    assert!(said.contains("cannot write") && said.contains("InvalidPart"), "{said}");
    assert!(left.is_empty(), "{left:?}");
}

/// The manifest was once believed to be there when the store said so.
#[tokio::test]
async fn a_manifest_that_is_not_kept_is_no_backup() {
    for lie in [Lie::Forgets, Lie::Flips, Lie::Shortens] {
        let (result, left, ..) = saved(MANIFEST, lie, &small()).await;
        let error = result.unwrap_err();
        let said = error.to_string();
        assert!(said.contains("the store does not keep what it is given"), "{said}");
        assert!(said.contains("of/db/a/manifest.json") && !error.is_transient(), "{said}");
        assert_eq!(left, ["a unfinished"], "{lie:?}");
    }
}

/// What a store answers is not believed: a wrong ETag about a manifest that is there as it was written harms nobody.
#[tokio::test]
async fn a_wrong_etag_of_what_is_kept_is_nothing_to_us() {
    let (result, left, ..) = saved(MANIFEST, Lie::Mistakes, &small()).await;
    result.unwrap();
    assert_eq!(left, ["a 8192"]);
}
