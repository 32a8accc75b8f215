//! Files that are read again and again: kept in memory, each for as long as it is the same on the disk.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{DiskError, Read, read, stamp};

/// What a file in memory costs besides its bytes, roughly.
const OVERHEAD: usize = 256;

/// Files in memory, up to a limit. Full, it begins anew: what is asked for often is soon back.
#[derive(Debug, Default)]
pub struct Cache {
    limit: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<PathBuf, Arc<Read>>,
    used: Used,
}

/// What a cache is good for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// How much is in it.
    pub bytes: usize,
    /// Reads that were answered from it.
    pub hits: u64,
}

impl Cache {
    /// At most so many bytes.
    pub fn of(limit: usize) -> Self {
        Self { limit, kept: Mutex::default() }
    }

    /// Reads a file, if it is there.
    pub fn read(&self, path: &Path) -> Result<Option<Arc<Read>>, DiskError> {
        if let Some(known) = self.known(path) {
            return Ok(Some(known));
        }
        Ok(read(path)?.map(|file| self.keep(path, Arc::new(file))))
    }

    /// How it does.
    pub fn used(&self) -> Used {
        self.kept().used
    }

    fn known(&self, path: &Path) -> Option<Arc<Read>> {
        let now = stamp(path)?;
        let Kept { files, used } = &mut *self.kept();
        let known = files.get(path).filter(|known| known.stamp == now)?;
        used.hits += 1;
        Some(known.clone())
    }

    fn keep(&self, path: &Path, file: Arc<Read>) -> Arc<Read> {
        let size = |file: &Read| OVERHEAD + path.as_os_str().len() + file.bytes.len();
        let Kept { files, used } = &mut *self.kept();
        used.bytes -= files.remove(path).map_or(0, |old| size(&old));
        if used.bytes + size(&file) > self.limit {
            files.clear();
            used.bytes = 0;
        }
        if size(&file) <= self.limit {
            used.bytes += size(&file);
            files.insert(path.to_owned(), file.clone());
        }
        file
    }

    /// What the lock guards is whole after every line, so a panic elsewhere does not spoil it.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_limit_holds_and_a_changed_file_is_read_again() {
        let dir = std::env::temp_dir().join(format!("capstan-cache-{:016x}", fastrand::u64(..)));
        fs::create_dir(&dir).unwrap();
        let cache = Cache::of(4096);
        for n in 0..20 {
            let file = dir.join(n.to_string());
            fs::write(&file, vec![n; 700]).unwrap();
            for _ in 0..2 {
                assert_eq!(cache.read(&file).unwrap().unwrap().bytes, vec![n; 700]);
                assert!(cache.used().bytes <= 4096, "{n}: {:?}", cache.used());
            }
        }
        assert_eq!(cache.used().hits, 20);
        fs::write(dir.join("19"), vec![1; 5000]).unwrap();
        assert_eq!(cache.read(&dir.join("19")).unwrap().unwrap().bytes.len(), 5000);
        assert_eq!(cache.used().bytes, 0, "what does not fit is not kept");
        assert!(cache.read(&dir.join("none")).unwrap().is_none());
        fs::remove_dir_all(dir).unwrap();
    }
}
