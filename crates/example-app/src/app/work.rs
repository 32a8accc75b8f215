//! What Jobs do to the data: migrate, back up, restore. Whenever one is interrupted, starting it again gives the same result.

use std::path::Path;

use kit::{
    bucket::Bucket,
    disk::Disk,
    run::{Failure, exit},
};
use serde_json::{Value, json};

use super::{
    archive,
    tree::{BEFORE_RESTORE, Tree},
    versions::{AppVersion, Way},
};

/// Every backup's name ends so.
pub(super) const SUFFIX: &str = ".notes";

/// The data in the format of another version: a new tree beside the old one, and one rename.
///
/// With `undo`, `to` is the version that served before an upgrade that failed. Nothing is lost then but what only the newer
/// format has, the times of creation; so a user who just asks for an older version is refused.
pub(super) fn migrate(
    root: &Path,
    to: &'static AppVersion,
    undo: bool,
    disk: &Disk,
) -> Result<Value, Failure> {
    let old = Tree::open_or_create(root, to.format, disk)?;
    let back = undo && old.format > to.format;
    if !back {
        to.way_from(old.format)?;
    }
    old.place.remove_others(disk)?;
    let notes = old.notes()?;
    if back || to.way_from(old.format) == Ok(Way::Migrate) {
        Tree::replace(root, to.format, &notes, disk)?.place.remove_others(disk)?;
    }
    Ok(json!({"notes": notes.len(), "format": to.format.number()}))
}

/// All notes into one object. Other processes may write meanwhile: every note is in it as it was before or after.
pub(super) async fn backup(root: &Path, bucket: &Bucket, key: &str) -> Result<Value, Failure> {
    let empty = || Failure::usage(format!("{} is empty: there is nothing to back up", root.display()));
    let tree = Tree::open(root)?.ok_or_else(empty)?;
    let (bytes, notes) = archive::encode(&tree)?;
    bucket.put(key, &bytes).await?;
    Ok(json!({"key": key, "bytes": bytes.len(), "notes": notes, "format": tree.format.number()}))
}

/// The notes of the backup `key`, or of the latest below `prefix`, in place of what is there, all at once or not at all.
///
/// What was there is kept as `before-restore`. Starting again after an interruption keeps it too: notes that are already those
/// of the backup are not replaced once more.
pub(super) async fn restore(
    root: &Path,
    bucket: &Bucket,
    key: &str,
    prefix: &str,
    disk: &Disk,
) -> Result<Value, Failure> {
    let (key, bytes) = bucket.find(key, prefix, SUFFIX).await?;
    let (format, notes) =
        archive::decode(&bytes).map_err(|what| Failure::corrupt(format!("{bucket}, {key}: {what}")))?;
    let old = match Tree::open(root) {
        // What cannot be read is replaced: that is what restores are for.
        Err(failure) if failure.exit_code() == exit::CORRUPT => None,
        old => old?,
    };
    if let Some(old) = &old {
        old.place.set_others_aside(BEFORE_RESTORE, disk)?;
    }
    if !old.is_some_and(|old| archive::encode(&old).is_ok_and(|(present, _)| present == bytes)) {
        Tree::replace(root, format, &notes, disk)?.place.set_others_aside(BEFORE_RESTORE, disk)?;
    }
    Ok(json!({"key": key, "bytes": bytes.len(), "notes": notes.len(), "format": format.number()}))
}
