//! Files that others replace: which one it is that was read.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::SystemTime,
};

use super::{DiskError, at};

/// Inode, time of change and length: they tell a file from the one that replaces it.
pub type Stamp = (u64, i64, i64, u64);

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Which file it was.
    pub stamp: Stamp,
    /// When it was written.
    pub modified: SystemTime,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// Reads a file, if it is there.
pub fn read(path: &Path) -> Result<Option<Read>, DiskError> {
    let read = || -> io::Result<Read> {
        let mut file = File::open(path)?;
        let (metadata, mut bytes) = (file.metadata()?, Vec::new());
        file.read_to_end(&mut bytes)?;
        Ok(Read { stamp: stamp_of(&metadata), modified: metadata.modified()?, bytes })
    };
    match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(at(path)),
    }
}

/// Which file is at `path` at present, if there is one.
pub fn stamp(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().map(|metadata| stamp_of(&metadata))
}

fn stamp_of(metadata: &Metadata) -> Stamp {
    (metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len())
}

#[cfg(test)]
mod tests {
    use super::{super::Disk, *};

    #[test]
    fn a_file_that_was_replaced_has_another_stamp() {
        let file = std::env::temp_dir().join(format!("capstan-stamp-{:016x}", fastrand::u64(..)));
        assert_eq!((read(&file).unwrap(), stamp(&file)), (None, None));
        let (disk, written) = (Disk::default(), SystemTime::UNIX_EPOCH);
        disk.replace(&file, b"one", Some(written)).unwrap();
        let first = read(&file).unwrap().unwrap();
        assert_eq!((&*first.bytes, first.modified, Some(first.stamp)), (&b"one"[..], written, stamp(&file)));
        disk.replace(&file, b"two", Some(written)).unwrap();
        assert_ne!(stamp(&file), Some(first.stamp));
        disk.remove(&file).unwrap();
    }
}
