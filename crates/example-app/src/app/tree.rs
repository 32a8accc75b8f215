//! All notes of one data format in one directory.
//!
//! ```text
//! /data/FORMAT          "2 tree-3": the format, and where the notes are
//! /data/tree-3/6d696c6b one file per note, its name the key in hexadecimal
//! /data/before-restore/ the tree that the last restore replaced
//! ```

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use jiff::Timestamp;
use kit::{
    disk::{self, Disk, Generation, Stamp, names},
    run::Failure,
};

use super::format::{Format, Key, Note};

/// Where the tree is that the last restore replaced.
pub(super) const BEFORE_RESTORE: &str = "before-restore";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    pub(super) place: Generation,
    pub(super) format: Format,
}

impl Tree {
    /// The tree that is in use; none on a volume that nobody has written to.
    pub(super) fn open(root: &Path) -> Result<Option<Self>, Failure> {
        Generation::open(root)?.map(Self::of).transpose()
    }

    /// The tree in use, made if there is none. Replicas may do this at the same time.
    pub(super) fn open_or_create(root: &Path, format: Format, disk: &Disk) -> Result<Self, Failure> {
        Self::of(Generation::open_or_create(root, &format.number().to_string(), disk)?)
    }

    fn of(place: Generation) -> Result<Self, Failure> {
        let format = place.word().parse().ok().and_then(Format::of_number);
        let unknown = || Failure::corrupt(format!("its data format {:?} is not known", place.word()));
        Ok(Self { format: format.ok_or_else(unknown)?, place })
    }

    /// Makes a tree of these notes beside all others, and puts it into use.
    pub(super) fn replace(
        root: &Path,
        format: Format,
        notes: &[(Key, Note)],
        disk: &Disk,
    ) -> Result<Self, Failure> {
        let place = Generation::beside_all(root, &format.number().to_string(), disk)?;
        let new = Self { place, format };
        let filled = notes.iter().try_for_each(|(key, note)| {
            let modified = Some(SystemTime::from(note.modified));
            disk.write(&new.path(key), &format.encode(key, note), modified)
        });
        if let Err(error) = filled {
            // Such as a full disk: what was begun must not fill it further.
            disk.remove_dir(&new.place.dir())?;
            return Err(error.into());
        }
        new.place.switch(disk)?;
        Ok(new)
    }

    /// Every note's key, sorted.
    pub(super) fn keys(&self) -> Result<Vec<Key>, Failure> {
        let key = |name: &String| {
            let stray =
                || Failure::corrupt(format!("{} is not a note", self.place.dir().join(name).display()));
            Key::from_file_name(name).ok_or_else(stray)
        };
        let mut keys = names(&self.place.dir())?.iter().map(key).collect::<Result<Vec<_>, _>>()?;
        keys.sort_unstable();
        Ok(keys)
    }

    /// Every note: whoever gets them has read everything.
    pub(super) fn notes(&self) -> Result<Vec<(Key, Note)>, Failure> {
        let read = |key| Ok(self.read(&key)?.map(|(_, note)| (key, note)));
        self.keys()?.into_iter().map(read).filter_map(Result::transpose).collect()
    }

    /// Reads a note, and says which file it was.
    pub(super) fn read(&self, key: &Key) -> Result<Option<(Stamp, Note)>, Failure> {
        let path = self.path(key);
        let Some(file) = disk::read(&path)? else { return Ok(None) };
        let time = Timestamp::try_from(file.modified).map_err(|_| "its time is out of range".to_owned());
        let note = time.and_then(|modified| self.format.decode(key, file.bytes, modified));
        let wrong = |what| Failure::corrupt(format!("note {:?} in {}: {what}", key.as_str(), path.display()));
        note.map(|note| Some((file.stamp, note))).map_err(wrong)
    }

    /// Writes a note that readers see at once.
    pub(super) fn put(&self, key: &Key, note: &Note, disk: &Disk) -> Result<(), Failure> {
        let modified = Some(SystemTime::from(note.modified));
        Ok(disk.replace(&self.path(key), &self.format.encode(key, note), modified)?)
    }

    pub(super) fn path(&self, key: &Key) -> PathBuf {
        self.place.dir().join(key.file_name())
    }
}
