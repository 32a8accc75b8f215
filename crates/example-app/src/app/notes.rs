//! The notes as one replica serves them; others may write to the same volume.

use std::path::Path;

use jiff::Timestamp;
use kit::{
    disk::{Cache, Shelf},
    run::Failure,
};

use super::{
    format::{Format, Key, Note},
    versions::AppVersion,
};

pub(super) type Notes = Shelf<Format>;

/// Opens the volume as `version` would.
pub(super) fn open(root: &Path, version: &'static AppVersion, cache: Cache) -> Result<Notes, Failure> {
    Shelf::open(root, version.format, cache, move |format| version.reads(format))
}

/// Writes a note. True: it is new.
pub(super) fn write(notes: &Notes, key: &Key, text: String, modified: Timestamp) -> Result<bool, Failure> {
    let before = notes.get(key).ok().flatten();
    let created = before.as_ref().map_or(modified, |before| before.created);
    notes.put(key, &Note { text, created, modified })?;
    Ok(before.is_none())
}

/// The keys of the notes whose key or text contains `text`.
pub(super) fn search(notes: &Notes, text: &str) -> Result<Vec<Key>, Failure> {
    let mut found = Vec::new();
    for key in notes.keys()? {
        if notes.get(&key)?.is_some_and(|note| note.text.contains(text) || key.as_str().contains(text)) {
            found.push(key);
        }
    }
    Ok(found)
}
