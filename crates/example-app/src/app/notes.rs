//! The notes as one replica serves them; others may write to the same volume.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use kit::{
    Clock,
    disk::{self, Disk, Stamp},
    run::Failure,
};

use super::{
    format::{Key, Note},
    tree::Tree,
    versions::{AppVersion, Way},
};

/// What a note in the cache costs besides key and text, roughly.
const OVERHEAD: usize = 256;

#[derive(Debug)]
pub(super) struct Notes {
    root: PathBuf,
    version: &'static AppVersion,
    clock: Clock,
    disk: Disk,
    cache: Mutex<Cache>,
    /// What the last full check, or any read since, found wrong.
    fault: Mutex<Option<String>>,
}

/// Notes that were read, each valid as long as its file is the same. Full, it begins anew: what is asked for often is soon back.
#[derive(Debug, Default)]
pub(super) struct Cache {
    limit: usize,
    notes: HashMap<Key, (Stamp, Note)>,
    pub(super) bytes: usize,
    pub(super) hits: u64,
    pub(super) misses: u64,
}

impl Notes {
    /// Opens the volume and reads all of it; sets a new one up.
    pub(super) fn open(
        root: &Path,
        version: &'static AppVersion,
        cache: usize,
        clock: Clock,
    ) -> Result<Self, Failure> {
        let disk = Disk::default();
        Tree::open_or_create(root, version.format, &disk)?;
        let cache = Mutex::new(Cache { limit: cache, ..Cache::default() });
        let notes = Self { root: root.to_owned(), version, clock, disk, cache, fault: Mutex::default() };
        notes.tree()?.notes()?;
        Ok(notes)
    }

    pub(super) fn get(&self, key: &Key) -> Result<Option<Note>, Failure> {
        self.noticed(self.tree().and_then(|tree| self.read(&tree, key)))
    }

    /// Writes a note. True: it is new.
    pub(super) fn put(&self, key: &Key, text: String) -> Result<bool, Failure> {
        let tree = self.tree()?;
        let modified = self.clock.now();
        // A note that cannot be read is replaced all the same: writing it anew is how a user mends it.
        let before = self.read(&tree, key).ok().flatten();
        let created = before.as_ref().map_or(modified, |before| before.created);
        tree.put(key, &Note { text, created, modified }, &self.disk)?;
        Ok(before.is_none())
    }

    /// Removes a note. False: there was none.
    pub(super) fn delete(&self, key: &Key) -> Result<bool, Failure> {
        Ok(self.disk.remove(&self.tree()?.path(key))?)
    }

    pub(super) fn keys(&self) -> Result<Vec<Key>, Failure> {
        self.noticed(self.tree().and_then(|tree| tree.keys()))
    }

    /// The keys of the notes whose key or text contains `text`.
    pub(super) fn search(&self, text: &str) -> Result<Vec<Key>, Failure> {
        let mut found = Vec::new();
        for key in self.keys()? {
            if self.get(&key)?.is_some_and(|note| note.text.contains(text) || key.as_str().contains(text)) {
                found.push(key);
            }
        }
        Ok(found)
    }

    /// Reads the whole volume. Its finding is what [`Notes::health`] says until a read or the next check knows better.
    pub(super) fn check(&self) {
        let finding = self.tree().and_then(|tree| tree.notes()).err().map(|failure| failure.to_string());
        if let Some(wrong) = &finding {
            tracing::error!("{wrong}");
        }
        *lock(&self.fault) = finding;
    }

    /// Is there a fault that we know of?
    pub(super) fn health(&self) -> Result<(), String> {
        self.tree().map_err(|failure| failure.to_string())?;
        lock(&self.fault).clone().map_or(Ok(()), Err)
    }

    /// The tree in use. Another process may have put another one in its place, so it is asked for each time.
    pub(super) fn tree(&self) -> Result<Tree, Failure> {
        let emptied = || Failure::corrupt("the volume was emptied".to_owned());
        let tree = Tree::open(&self.root)?.ok_or_else(emptied)?;
        let AppVersion { version, format, .. } = self.version;
        let (have, reads) = (tree.format.number(), format.number());
        match self.version.way_from(tree.format)? {
            Way::Roll => Ok(tree),
            Way::Migrate => Err(Failure::usage(format!(
                "the data has format {have}, and {version} reads format {reads}: run `example-app migrate --to {version}` first"
            ))),
        }
    }

    pub(super) fn cache(&self) -> MutexGuard<'_, Cache> {
        lock(&self.cache)
    }

    fn read(&self, tree: &Tree, key: &Key) -> Result<Option<Note>, Failure> {
        // Without a file there is nothing to compare with; reading says what is wrong, if anything is.
        if let Some(note) = disk::stamp(&tree.path(key)).and_then(|stamp| self.cache().get(key, stamp)) {
            return Ok(Some(note));
        }
        let Some((stamp, note)) = tree.read(key)? else { return Ok(None) };
        self.cache().insert(key, stamp, &note);
        Ok(Some(note))
    }

    fn noticed<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        result.inspect_err(|failure| *lock(&self.fault) = Some(failure.to_string()))
    }
}

impl Cache {
    fn get(&mut self, key: &Key, stamp: Stamp) -> Option<Note> {
        let found = self.notes.get(key).filter(|(known, _)| *known == stamp).map(|(_, note)| note.clone());
        *if found.is_some() { &mut self.hits } else { &mut self.misses } += 1;
        found
    }

    fn insert(&mut self, key: &Key, stamp: Stamp, note: &Note) {
        let size = |note: &Note| OVERHEAD + key.as_str().len() + note.text.len();
        self.bytes -= self.notes.remove(key).map_or(0, |(_, old)| size(&old));
        if self.bytes + size(note) > self.limit {
            (self.bytes, self.notes) = Default::default();
        }
        if size(note) <= self.limit {
            self.bytes += size(note);
            self.notes.insert(key.clone(), (stamp, note.clone()));
        }
    }
}

/// What these locks guard is whole after every line, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn the_limit_of_the_cache_holds_and_a_changed_file_is_no_hit() {
        let key = |n: usize| Key::new(format!("{n:03}")).unwrap();
        let at = Timestamp::UNIX_EPOCH;
        let note = |length| Note { text: "x".repeat(length), created: at, modified: at };
        let (stamp, other) = ((1, 0, 0, 0), (2, 0, 0, 0));
        let mut cache = Cache { limit: 4096, ..Cache::default() };
        for n in 0..100 {
            cache.insert(&key(n), stamp, &note(700));
            assert!(cache.get(&key(n), stamp).is_some() && cache.bytes <= 4096, "{n}: {}", cache.bytes);
        }
        assert!(cache.get(&key(99), other).is_none());
        cache.insert(&key(99), other, &note(5000));
        assert_eq!((cache.bytes, cache.notes.len()), (0, 0), "what does not fit is not kept");
    }
}
