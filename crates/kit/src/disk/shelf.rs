//! Records as one of several processes on a volume serves them: others may replace them meanwhile, one by one or all at once.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Cache, Disk, Format, RecordKey, Records};
use crate::run::Failure;

type Accepts<F> = Box<dyn Fn(F) -> Result<(), Failure> + Send + Sync>;

/// The records of a volume, read through a cache and watched over.
pub struct Shelf<F> {
    root: PathBuf,
    disk: Disk,
    accepts: Accepts<F>,
    /// What was read of late.
    pub cache: Cache,
    /// What the last full check, or any read since, found wrong.
    fault: Mutex<Option<String>>,
}

impl<F: Format> Shelf<F> {
    /// Opens a volume and reads all of it; a new one is set up for `format`. `accepts` says why data of a format is of no use to this
    /// process, if so.
    pub fn open(
        root: &Path,
        format: F,
        cache: Cache,
        accepts: impl Fn(F) -> Result<(), Failure> + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let (root, disk, fault) = (root.to_owned(), Disk::default(), Mutex::default());
        Records::open_or_create(&root, format, &disk)?;
        let shelf = Self { root, disk, accepts: Box::new(accepts), cache, fault };
        shelf.records()?.all()?;
        Ok(shelf)
    }

    /// The records in use. Another process may have put others in their place, so they are asked for each time.
    pub fn records(&self) -> Result<Records<F>, Failure> {
        let emptied = || Failure::corrupt("the volume was emptied");
        let records = Records::open(&self.root)?.ok_or_else(emptied)?;
        (self.accepts)(records.format).map(|()| records)
    }

    /// Every key, sorted.
    pub fn keys(&self) -> Result<Vec<RecordKey>, Failure> {
        self.noticed(self.records().and_then(|records| Ok(records.keys()?)))
    }

    /// Reads a record.
    pub fn get(&self, key: &RecordKey) -> Result<Option<F::Record>, Failure> {
        let read = |records: Records<F>| {
            let file = self.cache.read(&records.path(key))?;
            Ok(file.map(|file| records.decode(key, &file)).transpose()?)
        };
        self.noticed(self.records().and_then(read))
    }

    /// Writes a record. One that cannot be read is replaced all the same: writing it anew is how a user mends it.
    pub fn put(&self, key: &RecordKey, record: &F::Record) -> Result<(), Failure> {
        Ok(self.records()?.put(key, record, &self.disk)?)
    }

    /// Removes a record. False: there was none.
    pub fn remove(&self, key: &RecordKey) -> Result<bool, Failure> {
        Ok(self.disk.remove(&self.records()?.path(key))?)
    }

    /// Reads the whole volume. Its finding is what [`health`](Self::health) says until a read or the next check knows better.
    pub fn check(&self) {
        let finding = self.records().and_then(|records| Ok(records.all()?)).err();
        *self.fault() = finding.map(|wrong| wrong.to_string()).inspect(|wrong| tracing::error!("{wrong}"));
    }

    /// Is there a fault that is known of?
    pub fn health(&self) -> Result<(), String> {
        self.records().map_err(|failure| failure.to_string())?;
        self.fault().clone().map_or(Ok(()), Err)
    }

    fn noticed<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        result.inspect_err(|failure| *self.fault() = Some(failure.to_string()))
    }

    /// What the lock guards is whole at every moment, so a panic elsewhere does not spoil it.
    fn fault(&self) -> MutexGuard<'_, Option<String>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
