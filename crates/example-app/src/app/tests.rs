//! The application as a whole: on a directory, over HTTP, against an S3 server.

mod command_line;
mod crashes;
mod object_store;
mod replicas;
mod service;

use std::{
    collections::BTreeMap,
    fs,
    ops::Deref,
    path::{Path, PathBuf},
};

use kit::{
    Clock,
    disk::{Cache, Disk, Format as _},
    run::Failure,
};
use serde_json::{Value, json};

use super::{
    format::{Format, Key, Note, Tree},
    notes::{self, Notes},
    versions::find,
    work,
};

fn migrate(volume: &Volume, to: &str, disk: &Disk) -> Result<Value, Failure> {
    work::migrate(volume, find(to).unwrap(), false, disk)
}

fn migrate_back(volume: &Volume, to: &str, disk: &Disk) -> Result<Value, Failure> {
    work::migrate(volume, find(to).unwrap(), true, disk)
}

/// A directory of one test's own.
struct Volume(PathBuf);

impl Volume {
    fn new() -> Self {
        // In memory where there is such a place: every write is synced, and a busy disk takes its time for that.
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let dir = place.join(format!("capstan-notes-{:016x}", fastrand::u64(..)));
        fs::create_dir(&dir).unwrap();
        Self(dir)
    }

    /// A volume that `version` has written these notes to.
    fn with(version: &str, notes: &[(&str, &str)]) -> Self {
        let volume = Self::new();
        let store = open(&volume, version).unwrap();
        for (key, text) in notes {
            write(&store, key, text).unwrap();
        }
        volume
    }

    /// What a reader of the volume finds.
    fn notes(&self) -> BTreeMap<String, String> {
        let tree = Tree::open(self).unwrap().unwrap();
        tree.all().unwrap().into_iter().map(|(key, note)| (key.as_str().to_owned(), note.text)).collect()
    }

    fn format(&self) -> Format {
        Tree::open(self).unwrap().unwrap().format
    }

    fn file_of(&self, key: &str) -> PathBuf {
        Tree::open(self).unwrap().unwrap().path(&name(key))
    }

    /// The names in it, without temporary files.
    fn entries(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }
}

impl Deref for Volume {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(volume: &Path, version: &str) -> Result<Notes, Failure> {
    notes::open(volume, find(version)?, Cache::of(1 << 20))
}

fn write(notes: &Notes, key: &str, text: &str) -> Result<bool, Failure> {
    notes::write(notes, &name(key), text.to_owned(), Clock::system().now())
}

fn name(key: &str) -> Key {
    Key::new(key).unwrap()
}

fn texts(notes: &[(&str, &str)]) -> BTreeMap<String, String> {
    notes.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
}

fn message<T>(result: Result<T, Failure>, volume: &Volume) -> String {
    let failure = result.err().expect("a failure");
    format!("{}: {failure}", failure.exit_code()).replace(&volume.display().to_string(), "/data")
}
