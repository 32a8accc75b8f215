//! What Jobs do to the data: migrate, back up, restore. Whenever one is interrupted, starting it again gives the same result.
//!
//! A backup is all notes as one document. Its checksum proves that nothing is missing or changed.

use std::{borrow::Cow, path::Path};

use jiff::Timestamp;
use kit::{
    bucket::{Load, Save},
    disk::{Disk, Format as _, NoTree},
    run::Failure,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    format::{BEFORE_RESTORE, Format, Key, Note, Tree, json_line, sha256},
    versions::{AppVersion, Way},
};

/// Every backup's name ends so.
const SUFFIX: &str = ".notes";

/// The data in the format of another version: a new tree beside the old one, and one rename.
///
/// With `undo`, `to` is the version that served before an upgrade that failed. Nothing is lost then but what only the newer
/// format has, the times of creation; so a user who just asks for an older version is refused.
pub(super) fn migrate(root: &Path, to: &AppVersion, undo: bool, disk: &Disk) -> Result<Value, Failure> {
    let old = Tree::open_or_create(root, to.format, disk)?;
    let goes_back = undo && old.format > to.format;
    let way = if goes_back { Way::Migrate } else { to.way_from(old.format)? };
    old.place.remove_others(disk)?;
    let notes = old.all()?;
    if way == Way::Migrate {
        Tree::replace(root, to.format, &notes, disk)?.place.remove_others(disk)?;
    }
    Ok(json!({"notes": notes.len(), "format": to.format.number()}))
}

/// All notes into one object. Other processes may write meanwhile: every note is in it as it was before or after.
pub(super) async fn backup(root: &Path, to: &Save, now: Timestamp) -> Result<Value, Failure> {
    let empty = || Failure::usage(format!("{} is empty: there is nothing to back up", root.display()));
    let tree = Tree::open(root)?.ok_or_else(empty)?;
    let (bytes, notes) = encode(&tree)?;
    let key = to.put(&bytes, SUFFIX, now).await?;
    Ok(json!({"key": key, "bytes": bytes.len(), "notes": notes, "format": tree.format.number()}))
}

/// The notes of a backup in place of what is there, all at once or not at all.
///
/// What was there is kept as `before-restore`. Starting again after an interruption keeps it too: notes that are already those
/// of the backup are not replaced once more.
pub(super) async fn restore(root: &Path, from: &Load, disk: &Disk) -> Result<Value, Failure> {
    let (key, bytes) = from.get(SUFFIX).await?;
    let (format, notes) =
        decode(&bytes).map_err(|what| Failure::corrupt(format!("{}, {key}: {what}", from.target)))?;
    let old = match Tree::open(root) {
        // What cannot be read is replaced: that is what restores are for.
        Err(NoTree::Damaged(_)) => None,
        old => old?,
    };
    if let Some(old) = &old {
        old.place.set_others_aside(BEFORE_RESTORE, disk)?;
    }
    if !old.is_some_and(|old| encode(&old).is_ok_and(|(present, _)| present == bytes)) {
        Tree::replace(root, format, &notes, disk)?.place.set_others_aside(BEFORE_RESTORE, disk)?;
    }
    Ok(json!({"key": key, "bytes": bytes.len(), "notes": notes.len(), "format": format.number()}))
}

#[derive(Serialize, Deserialize)]
struct Archive<'a> {
    format: u32,
    /// In the order of their keys, so that the same notes give the same bytes.
    notes: Cow<'a, [(Key, Note)]>,
    /// Over all of the above.
    sha256: String,
}

/// The archive of `tree`, and how many notes are in it.
pub(super) fn encode(tree: &Tree) -> Result<(Vec<u8>, usize), Failure> {
    let notes = tree.all()?;
    Ok((write(tree.format, &notes), notes.len()))
}

fn write(format: Format, notes: &[(Key, Note)]) -> Vec<u8> {
    let (format, sha256) = (format.number(), sha256(&(format.number(), notes)));
    json_line(&Archive { format, notes: notes.into(), sha256 })
}

/// What is in an archive; the error says what is wrong with it.
fn decode(bytes: &[u8]) -> Result<(Format, Vec<(Key, Note)>), String> {
    let archive: Archive<'_> =
        serde_json::from_slice(bytes).map_err(|error| format!("the archive is damaged: {error}"))?;
    let unknown = || "the archive has a data format that is not known".to_owned();
    let format = Format::of_number(archive.format).ok_or_else(unknown)?;
    // Written again it must be the same, checksum and all.
    match write(format, &archive.notes) == bytes {
        true => Ok((format, archive.notes.into_owned())),
        false => Err("the archive is damaged: its checksum is wrong".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;
    use proptest::{collection::btree_map, prelude::*};

    use super::*;

    fn notes() -> impl Strategy<Value = BTreeMap<Key, Note>> {
        let key = any::<String>().prop_filter_map("a key", |key| Key::new(key).ok());
        let time = (-9_000_000_000_i64..99_000_000_000, 0..1_000_000_000_i32)
            .prop_filter_map("a time", |(seconds, nanos)| Timestamp::new(seconds, nanos).ok());
        let note = (any::<String>(), time.clone(), time).prop_map(|(text, created, modified)| Note {
            text,
            created,
            modified,
        });
        btree_map(key, note, 0..8)
    }

    proptest! {
        #[test]
        fn an_archive_gives_back_the_notes_that_it_was_made_of(notes in notes(), cut in any::<prop::sample::Index>()) {
            let bytes = write(Format::Checked, &Vec::from_iter(notes.clone()));
            let (format, decoded) = decode(&bytes).unwrap();
            prop_assert_eq!(format, Format::Checked);
            prop_assert_eq!(decoded.into_iter().collect::<BTreeMap<_, _>>(), notes);
            let (head, _) = bytes.split_at(cut.index(bytes.len()));
            prop_assert!(decode(head).is_err(), "a part is never a whole");
        }

        #[test]
        fn a_changed_byte_is_found(notes in notes(), at in any::<prop::sample::Index>(), with in 1_u8..) {
            let mut bytes = write(Format::Raw, &Vec::from_iter(notes));
            let at = at.index(bytes.len());
            bytes[at] ^= with;
            // Only the digits of the checksum itself have two spellings, and ours is the lower-case one.
            prop_assert!(decode(&bytes).is_err());
        }
    }

    #[test]
    fn what_follows_the_end_is_refused() {
        let bytes = write(Format::Checked, &[]);
        assert!(decode(&[&bytes[..], b"{}\n"].concat()).is_err());
        assert!(decode(&[&bytes[..], b"x"].concat()).is_err());
        assert!(decode(&[]).is_err());
    }
}
