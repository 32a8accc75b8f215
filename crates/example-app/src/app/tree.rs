//! All notes of one data format in one directory, and the file that says which directory it is.
//!
//! ```text
//! /data/FORMAT          "2 tree-3": the format, and where the notes are
//! /data/tree-3/6d696c6b one file per note, its name the key in hexadecimal
//! /data/before-restore/ the tree that the last restore replaced
//! ```
//!
//! Invariant: notes become visible all at once, by one rename over `FORMAT`. A tree that `FORMAT` does not name is unfinished
//! if its number is higher, replaced if it is lower; nobody reads it.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use jiff::Timestamp;

use super::{
    disk::Disk,
    failure::Failure,
    format::{Format, Key, Note},
};

const FORMAT: &str = "FORMAT";
const BEFORE_RESTORE: &str = "before-restore";
/// What a file system makes itself.
const NOT_OURS: &str = "lost+found";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tree {
    root: PathBuf,
    pub(super) format: Format,
    number: u64,
}

/// Tells a file from the one that replaces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    modified: (i64, i64),
    length: u64,
}

impl Stamp {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|metadata| Self::new(&metadata))
    }

    fn new(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            length: metadata.len(),
        }
    }
}

impl Tree {
    /// The tree that is in use; none on a volume that nobody has written to.
    pub(super) fn open(root: &Path) -> Result<Option<Self>, Failure> {
        if let Some(tree) = Self::named(root)? {
            return Ok(Some(tree));
        }
        if is_new(root)? {
            return Ok(None);
        }
        // Another replica may have set the volume up since we looked.
        let missing = || {
            Failure::Corrupt(format!(
                "{} is missing, and the volume is not empty",
                root.join(FORMAT).display()
            ))
        };
        Self::named(root)?.ok_or_else(missing).map(Some)
    }

    /// The tree in use, made if there is none. Replicas may do this at the same time.
    pub(super) fn open_or_create(root: &Path, format: Format, disk: &Disk) -> Result<Self, Failure> {
        if let Some(tree) = Self::open(root)? {
            return Ok(tree);
        }
        let tree = Self { root: root.to_owned(), format, number: 1 };
        disk.create_dir(&tree.dir())?;
        tree.switch(disk)?;
        Ok(tree)
    }

    fn named(root: &Path) -> Result<Option<Self>, Failure> {
        let path = root.join(FORMAT);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::volume(&path)(error)),
        };
        let parse = || {
            let (format, number) = std::str::from_utf8(&bytes).ok()?.trim_end().split_once(" tree-")?;
            let format = Format::try_from(format.parse::<u32>().ok()?).ok()?;
            Some(Self { root: root.to_owned(), format, number: number.parse().ok()? })
        };
        let tree = parse()
            .ok_or_else(|| Failure::Corrupt(format!("{} does not name a data format", path.display())))?;
        match tree.dir().is_dir() {
            true => Ok(Some(tree)),
            false => Err(Failure::Corrupt(format!("{} is missing", tree.dir().display()))),
        }
    }

    /// An empty tree for what will replace this one. What an earlier try left is gone.
    pub(super) fn successor(&self, format: Format, disk: &Disk) -> Result<Self, Failure> {
        let next = Self { root: self.root.clone(), format, number: self.number + 1 };
        next.remove(disk)?;
        disk.create_dir(&next.dir())?;
        Ok(next)
    }

    /// An empty tree for what will replace whatever is there, be it damaged or nothing.
    pub(super) fn beside_all(root: &Path, disk: &Disk) -> Result<Self, Failure> {
        let number = numbers(root)?.last().map_or(1, |last| last + 1);
        let tree = Self { root: root.to_owned(), format: Format::Checked, number };
        disk.create_dir(&tree.dir())?;
        Ok(tree)
    }

    /// Makes this the tree in use, with all that was added to it.
    pub(super) fn switch(&self, disk: &Disk) -> Result<(), Failure> {
        disk.sync(&self.dir())?;
        let named = format!("{} tree-{}\n", self.format.number(), self.number);
        disk.replace(&self.root.join(FORMAT), named.as_bytes(), None)
    }

    /// Removes a tree that is not in use.
    pub(super) fn remove(&self, disk: &Disk) -> Result<(), Failure> {
        disk.remove_dir(&self.dir())
    }

    /// Removes every tree but this one.
    pub(super) fn remove_others(&self, disk: &Disk) -> Result<(), Failure> {
        self.others()?.iter().try_for_each(|other| other.remove(disk))
    }

    /// Keeps the tree that this one replaced as `before-restore`, and removes what is unfinished.
    ///
    /// Of several older ones the oldest is the replaced one: where `FORMAT` was damaged, the others are tries to restore that
    /// were interrupted.
    pub(super) fn set_others_aside(&self, disk: &Disk) -> Result<(), Failure> {
        let others = self.others()?;
        let replaced = others.first().filter(|oldest| oldest.number < self.number);
        others.iter().filter(|other| Some(*other) != replaced).try_for_each(|other| other.remove(disk))?;
        let Some(replaced) = replaced else { return Ok(()) };
        let aside = self.root.join(BEFORE_RESTORE);
        disk.remove_dir(&aside)?;
        disk.rename(&replaced.dir(), &aside)
    }

    fn others(&self) -> Result<Vec<Self>, Failure> {
        let others = numbers(&self.root)?.into_iter().filter(|number| *number != self.number);
        Ok(others.map(|number| Self { number, ..self.clone() }).collect())
    }

    /// Every note's key, sorted.
    pub(super) fn keys(&self) -> Result<Vec<Key>, Failure> {
        let key = |name: &String| {
            let stray = || Failure::Corrupt(format!("{} is not a note", self.dir().join(name).display()));
            Key::from_file_name(name).ok_or_else(stray)
        };
        let mut keys = entries(&self.dir())?.iter().map(key).collect::<Result<Vec<_>, _>>()?;
        keys.sort_unstable();
        Ok(keys)
    }

    /// Reads a note, and says which file it was.
    pub(super) fn read(&self, key: &Key) -> Result<Option<(Stamp, Note)>, Failure> {
        let path = self.path(key);
        let read = || {
            let mut file = File::open(&path)?;
            let metadata = file.metadata()?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok((Stamp::new(&metadata), metadata.modified()?, bytes))
        };
        let (stamp, modified, bytes) = match read() {
            Ok(read) => read,
            Err(error) if io::Error::kind(&error) == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::volume(&path)(error)),
        };
        let wrong = |what| {
            Failure::Corrupt(format!("note {key:?} in {}: {what}", path.display(), key = key.as_str()))
        };
        let modified =
            Timestamp::try_from(modified).map_err(|_| wrong("its time is out of range".to_owned()))?;
        self.format.decode(key, bytes, modified).map(|note| Some((stamp, note))).map_err(wrong)
    }

    /// Writes a note that readers see at once.
    pub(super) fn put(&self, key: &Key, note: &Note, disk: &Disk) -> Result<(), Failure> {
        disk.replace(&self.path(key), &self.format.encode(key, note), Some(SystemTime::from(note.modified)))
    }

    /// Writes a note into a tree that is not in use yet.
    pub(super) fn add(&self, key: &Key, note: &Note, disk: &Disk) -> Result<(), Failure> {
        disk.write(&self.path(key), &self.format.encode(key, note), Some(SystemTime::from(note.modified)))
    }

    /// Reads everything, and says how many notes there are.
    pub(super) fn check(&self) -> Result<usize, Failure> {
        let keys = self.keys()?;
        keys.iter().try_for_each(|key| self.read(key).map(|_| ()))?;
        Ok(keys.len())
    }

    pub(super) fn path(&self, key: &Key) -> PathBuf {
        self.dir().join(key.file_name())
    }

    fn dir(&self) -> PathBuf {
        self.root.join(format!("tree-{}", self.number))
    }
}

/// The file whose change says that another tree is in use.
pub(super) fn format_file(root: &Path) -> PathBuf {
    root.join(FORMAT)
}

/// The numbers of all trees, sorted.
fn numbers(root: &Path) -> Result<Vec<u64>, Failure> {
    let number = |name: &String| name.strip_prefix("tree-")?.parse().ok();
    let mut numbers: Vec<u64> = entries(root)?.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Has nobody ever written here? Empty directories are what a crash in the first start leaves.
fn is_new(root: &Path) -> Result<bool, Failure> {
    let untouched = |name: &String| -> Result<bool, Failure> {
        let path = root.join(name);
        Ok(name == NOT_OURS || (path.is_dir() && entries(&path)?.is_empty()))
    };
    entries(root)?.iter().try_fold(true, |new, name| Ok(new && untouched(name)?))
}

/// The names in `dir`, without temporary files.
fn entries(dir: &Path) -> Result<Vec<String>, Failure> {
    let read = || -> io::Result<Vec<String>> {
        fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    };
    let mut names = read().map_err(Failure::volume(dir))?;
    names.retain(|name| !name.starts_with('.'));
    Ok(names)
}
