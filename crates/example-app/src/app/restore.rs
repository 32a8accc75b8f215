//! The notes of a backup in place of what is there, all at once or not at all.
//!
//! The archive is unpacked beside the tree in use and takes its place only when its last line has proved it whole. What was
//! there is kept as `before-restore`. Starting again after an interruption keeps it too: notes that are already those of the
//! backup are not replaced once more.

use std::path::Path;

use futures::TryStreamExt as _;

use super::{
    Done, Object,
    archive::{self, Decoder, Item, Summary},
    disk::Disk,
    failure::Failure,
    s3::Bucket,
    tree::Tree,
};

/// Restores `key`, or the newest backup below `prefix`.
pub(super) async fn restore(
    root: &Path,
    bucket: &Bucket,
    key: Option<&str>,
    prefix: &str,
    disk: &Disk,
) -> Result<Done, Failure> {
    let key = match key {
        Some(key) => key.to_owned(),
        None => {
            let none = || Failure::Usage(format!("{bucket}: there is no backup below {prefix}"));
            bucket.backups(prefix).await?.pop().ok_or_else(none)?
        }
    };
    let old = match Tree::open(root) {
        // What cannot be read is replaced: that is what restores are for.
        Err(Failure::Corrupt(_)) => None,
        old => old?,
    };
    if let Some(old) = &old {
        old.set_others_aside(disk)?;
    }
    let new = Tree::beside_all(root, disk)?;
    let (new, summary) = match unpack(bucket, &key, prefix, new.clone(), disk).await {
        Ok(unpacked) => unpacked,
        Err(failure) => {
            new.remove(disk)?;
            return Err(failure);
        }
    };
    if old.is_some_and(|old| archive::summary(&old).is_ok_and(|present| present == summary)) {
        new.remove(disk)?;
    } else {
        new.switch(disk)?;
        new.set_others_aside(disk)?;
    }
    Ok(Done { notes: summary.notes, format: summary.format, object: Some(Object::new(&key, summary)) })
}

async fn unpack(
    bucket: &Bucket,
    key: &str,
    prefix: &str,
    mut into: Tree,
    disk: &Disk,
) -> Result<(Tree, Summary), Failure> {
    let object = match bucket.get(key).await {
        Err(object_store::Error::NotFound { .. }) => return Err(unknown(bucket, key, prefix).await?),
        object => object.map_err(|error| bucket.failure(&error))?,
    };
    let mut pieces = object.into_stream();
    let mut decoder = Decoder::default();
    let about = |failure| match failure {
        Failure::Corrupt(what) => Failure::Corrupt(format!("{bucket}, {key}: {what}")),
        other => other,
    };
    while let Some(piece) = pieces.try_next().await.map_err(|error| bucket.failure(&error))? {
        for item in decoder.feed(&piece).map_err(about)? {
            match item {
                Item::Begin(format) => into.format = format,
                Item::Note(key, note) => into.add(&key, &note, disk)?,
            }
        }
    }
    Ok((into, decoder.end().map_err(about)?))
}

/// There is no such object: what is there instead?
async fn unknown(bucket: &Bucket, key: &str, prefix: &str) -> Result<Failure, Failure> {
    let newest: Vec<_> = bucket.backups(prefix).await?.into_iter().rev().take(5).collect();
    Ok(Failure::Usage(match newest.is_empty() {
        true => format!("{bucket}: there is no {key}, nor any other backup below {prefix:?}"),
        false => format!("{bucket}: there is no {key}; the newest backups are {}", newest.join(", ")),
    }))
}
