//! The notes as one replica serves them; others may write to the same volume.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use kit::Clock;

use super::{
    cache::Cache,
    disk::Disk,
    failure::Failure,
    format::{Key, Note},
    tree::{Stamp, Tree, format_file},
    versions::{AppVersion, Way},
};

#[derive(Debug)]
pub(super) struct Notes {
    root: PathBuf,
    version: &'static AppVersion,
    clock: Clock,
    disk: Disk,
    cache: Mutex<Cache>,
    /// The tree in use, and the `FORMAT` file that said so.
    tree: Mutex<(Stamp, Tree)>,
    /// What the last full check, or any read since, found wrong.
    fault: Mutex<Option<String>>,
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
        let tree = Tree::open_or_create(root, version.format, &disk)?;
        fits(version, &tree)?;
        tree.check()?;
        let format = format_file(root);
        let stamp = Stamp::of(&format).map_err(Failure::volume(&format))?;
        Ok(Self {
            root: root.to_owned(),
            version,
            clock,
            disk,
            cache: Mutex::new(Cache::new(cache)),
            tree: Mutex::new((stamp, tree)),
            fault: Mutex::default(),
        })
    }

    pub(super) fn get(&self, key: &Key) -> Result<Option<Note>, Failure> {
        let note = self.tree().and_then(|tree| self.read(&tree, key));
        self.noticed(note)
    }

    /// Writes a note. True: it is new.
    pub(super) fn put(&self, key: &Key, text: String) -> Result<bool, Failure> {
        let tree = self.tree()?;
        let now = self.clock.now();
        // A note that cannot be read is replaced all the same: writing it anew is how a user mends it.
        let before = self.read(&tree, key).ok().flatten();
        let note =
            Note { text, created: before.as_ref().map_or(now, |before| before.created), modified: now };
        tree.put(key, &note, &self.disk)?;
        Ok(before.is_none())
    }

    /// Removes a note. False: there was none.
    pub(super) fn delete(&self, key: &Key) -> Result<bool, Failure> {
        lock(&self.cache).remove(key);
        self.disk.remove(&self.tree()?.path(key))
    }

    pub(super) fn keys(&self) -> Result<Vec<Key>, Failure> {
        let keys = self.tree().and_then(|tree| tree.keys());
        self.noticed(keys)
    }

    /// The keys of the notes whose key or text contains `text`.
    pub(super) fn search(&self, text: &str) -> Result<Vec<Key>, Failure> {
        let mut found = self.keys()?;
        let mut failed = None;
        found.retain(|key| match self.get(key) {
            Ok(note) => note.is_some_and(|note| note.text.contains(text) || key.as_str().contains(text)),
            Err(failure) => {
                failed = Some(failure);
                false
            }
        });
        failed.map_or(Ok(found), Err)
    }

    /// Reads the whole volume. Its finding is what [`Notes::health`] says until a read or the next check knows better.
    pub(super) fn check(&self) {
        let finding = self.tree().and_then(|tree| tree.check()).err().map(|failure| failure.to_string());
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

    /// The tree in use, opened again when another process has put another one in its place.
    pub(super) fn tree(&self) -> Result<Tree, Failure> {
        let format = format_file(&self.root);
        let missing = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Failure::Corrupt(format!("{} is missing", format.display())),
            _ => Failure::volume(&format)(error),
        };
        let stamp = Stamp::of(&format).map_err(missing)?;
        let mut known = lock(&self.tree);
        if known.0 != stamp {
            let tree = Tree::open(&self.root)?
                .ok_or_else(|| Failure::Corrupt("the volume was emptied".to_owned()))?;
            fits(self.version, &tree)?;
            *known = (stamp, tree);
        }
        Ok(known.1.clone())
    }

    /// Hits, misses and bytes of the cache.
    pub(super) fn cache(&self) -> (u64, u64, usize) {
        let cache = lock(&self.cache);
        (cache.hits, cache.misses, cache.bytes())
    }

    fn read(&self, tree: &Tree, key: &Key) -> Result<Option<Note>, Failure> {
        // Without a file there is nothing to compare with; reading says what is wrong, if anything is.
        if let Ok(stamp) = Stamp::of(&tree.path(key))
            && let Some(note) = lock(&self.cache).get(key, stamp)
        {
            return Ok(Some(note));
        }
        let Some((stamp, note)) = tree.read(key)? else { return Ok(None) };
        lock(&self.cache).insert(key.clone(), stamp, note.clone());
        Ok(Some(note))
    }

    fn noticed<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        result.inspect_err(|failure| *lock(&self.fault) = Some(failure.to_string()))
    }
}

fn fits(version: &'static AppVersion, tree: &Tree) -> Result<(), Failure> {
    match version.way_from(tree.format)? {
        Way::Roll => Ok(()),
        Way::Migrate => Err(Failure::Usage(format!(
            "the data has format {}, and {} reads format {}: run `example-app migrate --to {}` first",
            tree.format.number(),
            version.version,
            version.format.number(),
            version.version
        ))),
    }
}

/// What these locks guard is whole after every line, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
