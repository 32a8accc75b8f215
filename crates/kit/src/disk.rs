//! Changes to a volume, one by one, each on the disk before the next begins: what a crash can come between.
//!
//! A file is replaced by a rename, and a rename is durable when its directory is synced: readers see the old file or the new one,
//! whole, also after a power cut.

mod cache;
mod generations;
mod records;
mod shelf;
mod stamp;

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::SystemTime,
};

pub use cache::{Cache, Used};
pub use generations::{Generation, NoTree, names};
pub use records::{Format, RecordKey, Records};
pub use shelf::Shelf;
pub use stamp::{Read, Stamp, read, stamp};

/// The volume does not do what it is told: no permission, no space, an error of the device.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct DiskError {
    /// What should have been changed.
    pub path: PathBuf,
    /// Why it was not.
    pub source: io::Error,
}

impl DiskError {
    /// Whether there is no room left.
    pub fn is_full(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

/// For `map_err`: names the path that an error is about.
pub fn at(path: &Path) -> impl FnOnce(io::Error) -> DiskError {
    move |source| DiskError { path: path.to_owned(), source }
}

/// A volume as an application changes it.
#[derive(Debug, Default)]
pub struct Disk {
    /// Tests: how many more changes happen before the process "dies".
    left: Option<AtomicUsize>,
}

impl Disk {
    /// One on which nothing works any more after so many changes: so a test plays a crash before each of them.
    pub fn that_stops_after(changes: usize) -> Self {
        Self { left: Some(AtomicUsize::new(changes)) }
    }

    /// Puts `bytes` at `path`, as if they had been written at `modified`.
    pub fn replace(&self, path: &Path, bytes: &[u8], modified: Option<SystemTime>) -> Result<(), DiskError> {
        let temporary = path.with_file_name(format!(".new-{:016x}", fastrand::u64(..)));
        let done = self.write(&temporary, bytes, modified).and_then(|()| self.rename(&temporary, path));
        if done.is_err() {
            // Such as a full disk: what was begun must not fill it further.
            let _ = self.step().and_then(|()| fs::remove_file(&temporary));
        }
        done
    }

    /// Writes a new file that nobody reads yet. Its name is durable after [`Disk::sync`] of its directory.
    pub fn write(&self, path: &Path, bytes: &[u8], modified: Option<SystemTime>) -> Result<(), DiskError> {
        let write = || {
            self.step()?;
            let mut file = File::create_new(path)?;
            self.step()?;
            file.write_all(bytes)?;
            if let Some(modified) = modified {
                file.set_modified(modified)?;
            }
            file.sync_all()
        };
        write().map_err(at(path))
    }

    /// Gives a file or a directory another name, in place of what has it.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        self.step().and_then(|()| fs::rename(from, to)).map_err(at(to))?;
        to.parent().map_or(Ok(()), |parent| self.sync(parent))
    }

    /// Removes a file. False: there was none.
    pub fn remove(&self, path: &Path) -> Result<bool, DiskError> {
        match self.step().and_then(|()| fs::remove_file(path)) {
            Ok(()) => path.parent().map_or(Ok(()), |parent| self.sync(parent)).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(at(path)(error)),
        }
    }

    /// Makes a directory, if it is not there.
    pub fn create_dir(&self, path: &Path) -> Result<(), DiskError> {
        self.step().and_then(|()| fs::create_dir_all(path)).map_err(at(path))
    }

    /// Removes a directory with all that is in it, if it is there.
    pub fn remove_dir(&self, path: &Path) -> Result<(), DiskError> {
        match self.step().and_then(|()| fs::remove_dir_all(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(path)(error)),
            _ => Ok(()),
        }
    }

    /// Makes the names in a directory durable.
    pub fn sync(&self, dir: &Path) -> Result<(), DiskError> {
        self.step().and_then(|()| File::open(dir)?.sync_all()).map_err(at(dir))
    }

    fn step(&self) -> io::Result<()> {
        let Some(left) = &self.left else { return Ok(()) };
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .map(|_| ())
            .map_err(|_| io::Error::other("the test stopped the process here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_is_the_old_one_or_the_new_one_wherever_it_stops() {
        let dir = std::env::temp_dir().join(format!("capstan-disk-{:016x}", fastrand::u64(..)));
        fs::create_dir(&dir).unwrap();
        let file = dir.join("a");
        fs::write(&file, "old").unwrap();
        let mut changes = 0;
        while Disk::that_stops_after(changes).replace(&file, b"new", None).is_err() {
            let text = fs::read_to_string(&file).unwrap();
            assert!(text == "old" || text == "new", "after {changes} changes: {text:?}");
            changes += 1;
        }
        assert_eq!((changes, fs::read_to_string(&file).unwrap()), (4, "new".to_owned()));
        let disk = Disk::default();
        assert!(disk.remove(&file).unwrap() && !disk.remove(&file).unwrap());
        let missing = disk.write(&dir.join("no/such"), b"", None).unwrap_err().to_string();
        assert!(missing.contains("no/such: No such file"), "{missing}");
        disk.remove_dir(&dir).unwrap();
        disk.remove_dir(&dir).unwrap();
    }
}
