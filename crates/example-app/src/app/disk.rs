//! Changes to the volume, one by one, each on the disk before the next begins: what a crash can come between.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    time::SystemTime,
};

use super::failure::Failure;

/// The volume as the application changes it.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// Tests: how many more changes happen before the process "dies".
    left: Option<AtomicUsize>,
}

impl Disk {
    #[cfg(test)]
    pub(super) fn that_stops_after(steps: usize) -> Self {
        Self { left: Some(AtomicUsize::new(steps)) }
    }

    /// Puts `bytes` at `path` so that readers see the old file or the new one, whole, also after a power cut.
    pub(super) fn replace(
        &self,
        path: &Path,
        bytes: &[u8],
        modified: Option<SystemTime>,
    ) -> Result<(), Failure> {
        let temporary = path.with_file_name(format!(".new-{:016x}", fastrand::u64(..)));
        let done = self.write(&temporary, bytes, modified).and_then(|()| self.rename(&temporary, path));
        if done.is_err() {
            // Such as a full disk: what was begun must not fill it further.
            let _ = self.step().and_then(|()| fs::remove_file(&temporary));
        }
        done
    }

    /// Writes a new file that nobody reads yet. Its name is durable after [`Disk::sync`] of its directory.
    pub(super) fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        modified: Option<SystemTime>,
    ) -> Result<(), Failure> {
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
        write().map_err(Failure::volume(path))
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> Result<(), Failure> {
        self.step().and_then(|()| fs::rename(from, to)).map_err(Failure::volume(to))?;
        to.parent().map_or(Ok(()), |parent| self.sync(parent))
    }

    /// Removes a file. False: there was none.
    pub(super) fn remove(&self, path: &Path) -> Result<bool, Failure> {
        match self.step().and_then(|()| fs::remove_file(path)) {
            Ok(()) => path.parent().map_or(Ok(()), |parent| self.sync(parent)).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Failure::volume(path)(error)),
        }
    }

    pub(super) fn create_dir(&self, path: &Path) -> Result<(), Failure> {
        self.step().and_then(|()| fs::create_dir_all(path)).map_err(Failure::volume(path))
    }

    /// Removes a directory with all that is in it, if it is there.
    pub(super) fn remove_dir(&self, path: &Path) -> Result<(), Failure> {
        match self.step().and_then(|()| fs::remove_dir_all(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::volume(path)(error)),
            _ => Ok(()),
        }
    }

    pub(super) fn sync(&self, dir: &Path) -> Result<(), Failure> {
        self.step().and_then(|()| File::open(dir)?.sync_all()).map_err(Failure::volume(dir))
    }

    fn step(&self) -> io::Result<()> {
        let Some(left) = &self.left else { return Ok(()) };
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .map(|_| ())
            .map_err(|_| io::Error::other("the test stopped the process here"))
    }
}
