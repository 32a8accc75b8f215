//! Directories that replace each other as a whole: numbered trees, and a file that names the one in use.
//!
//! ```text
//! /data/FORMAT   "2 tree-3": a word about the tree in use, and which one it is
//! /data/tree-3/  what is in use
//! ```
//!
//! Invariant: a tree becomes visible all at once, by one rename over the file. One that the file does not name is unfinished if
//! its number is higher, replaced if it is lower; nobody reads it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Disk, DiskError, at};

const FORMAT: &str = "FORMAT";
/// What a file system makes itself.
const NOT_OURS: &str = "lost+found";

/// Why there is no tree to use.
#[derive(Debug, thiserror::Error)]
pub enum NoTree {
    /// What is there is not what was written.
    #[error("corrupt: {0}")]
    Damaged(String),
    /// The volume does not do what it is told.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// One tree of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    root: PathBuf,
    word: String,
    number: u64,
}

impl Generation {
    /// The tree that is in use; none in a directory that nobody has written to.
    pub fn open(root: &Path) -> Result<Option<Self>, NoTree> {
        let file = root.join(FORMAT);
        let missing =
            || NoTree::Damaged(format!("{} is missing, and the volume is not empty", file.display()));
        match Self::named(root)? {
            None if is_new(root)? => Ok(None),
            // Another process may have set it up since we looked.
            None => Self::named(root)?.ok_or_else(missing).map(Some),
            tree => Ok(tree),
        }
    }

    /// The tree in use, made if there is none. Several processes may do this at the same time.
    pub fn open_or_create(root: &Path, word: &str, disk: &Disk) -> Result<Self, NoTree> {
        if let Some(tree) = Self::open(root)? {
            return Ok(tree);
        }
        let tree = Self { root: root.to_owned(), word: word.to_owned(), number: 1 };
        disk.create_dir(&tree.dir())?;
        tree.switch(disk)?;
        Ok(tree)
    }

    fn named(root: &Path) -> Result<Option<Self>, NoTree> {
        let path = root.join(FORMAT);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(at(&path))?,
        };
        let parse = || {
            let (word, number) = std::str::from_utf8(&bytes).ok()?.trim_end().split_once(" tree-")?;
            Some(Self { root: root.to_owned(), word: word.to_owned(), number: number.parse().ok()? })
        };
        let wrong = || NoTree::Damaged(format!("{} does not name a tree", path.display()));
        let tree = parse().ok_or_else(wrong)?;
        match tree.dir().is_dir() {
            true => Ok(Some(tree)),
            false => Err(NoTree::Damaged(format!("{} is missing", tree.dir().display()))),
        }
    }

    /// An empty tree for what will replace whatever is there, be it damaged or nothing. Fill it, then [`switch`](Self::switch) to it.
    pub fn beside_all(root: &Path, word: &str, disk: &Disk) -> Result<Self, NoTree> {
        let number = numbers(root)?.last().map_or(1, |last| last + 1);
        let tree = Self { root: root.to_owned(), word: word.to_owned(), number };
        disk.create_dir(&tree.dir())?;
        Ok(tree)
    }

    /// The word about this tree.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// Where it is.
    pub fn dir(&self) -> PathBuf {
        self.root.join(format!("tree-{}", self.number))
    }

    /// Makes this the tree in use, with all that was written into it.
    pub fn switch(&self, disk: &Disk) -> Result<(), NoTree> {
        disk.sync(&self.dir())?;
        let named = format!("{} tree-{}\n", self.word, self.number);
        Ok(disk.replace(&self.root.join(FORMAT), named.as_bytes(), None)?)
    }

    /// Removes every tree but this one.
    pub fn remove_others(&self, disk: &Disk) -> Result<(), NoTree> {
        self.others()?.iter().try_for_each(|other| Ok(disk.remove_dir(&other.dir())?))
    }

    /// Keeps the tree that this one replaced as `name`, and removes what is unfinished.
    ///
    /// Of several older ones the oldest is the replaced one: where the file was damaged, the others are tries to replace it that
    /// were interrupted.
    pub fn set_others_aside(&self, name: &str, disk: &Disk) -> Result<(), NoTree> {
        let others = self.others()?;
        let replaced = others.first().filter(|oldest| oldest.number < self.number);
        for other in others.iter().filter(|other| Some(*other) != replaced) {
            disk.remove_dir(&other.dir())?;
        }
        let Some(replaced) = replaced else { return Ok(()) };
        let aside = self.root.join(name);
        disk.remove_dir(&aside)?;
        Ok(disk.rename(&replaced.dir(), &aside)?)
    }

    fn others(&self) -> Result<Vec<Self>, NoTree> {
        let others = numbers(&self.root)?.into_iter().filter(|number| *number != self.number);
        Ok(others.map(|number| Self { number, ..self.clone() }).collect())
    }
}

/// The names in a directory, without those of temporary files.
pub fn names(dir: &Path) -> Result<Vec<String>, DiskError> {
    let read = || -> io::Result<Vec<String>> {
        fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    };
    let mut names = read().map_err(at(dir))?;
    names.retain(|name| !name.starts_with('.'));
    Ok(names)
}

/// The numbers of all trees, sorted.
fn numbers(root: &Path) -> Result<Vec<u64>, DiskError> {
    let number = |name: &String| name.strip_prefix("tree-")?.parse().ok();
    let mut numbers: Vec<u64> = names(root)?.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Has nobody ever written here? Empty directories are what a crash in the first start leaves.
fn is_new(root: &Path) -> Result<bool, DiskError> {
    let untouched = |name: &String| -> Result<bool, DiskError> {
        let path = root.join(name);
        Ok(name == NOT_OURS || (path.is_dir() && names(&path)?.is_empty()))
    };
    names(root)?.iter().try_fold(true, |new, name| Ok(new && untouched(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader finds: the word and the names in the tree, wherever the process before it died.
    fn seen(root: &Path) -> String {
        match Generation::open(root).unwrap() {
            Some(tree) => format!("{} {:?}", tree.word(), names(&tree.dir()).unwrap()),
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_tree_is_replaced_as_a_whole_and_kept_wherever_it_stops() {
        for changes in 0.. {
            let root = std::env::temp_dir().join(format!("capstan-trees-{:016x}", fastrand::u64(..)));
            fs::create_dir(&root).unwrap();
            fs::create_dir(root.join(NOT_OURS)).unwrap();
            let whole = Disk::default();
            let first = Generation::open_or_create(&root, "one", &whole).unwrap();
            whole.write(&first.dir().join("a"), b"", None).unwrap();
            let replace = |disk: &Disk| -> Result<(), NoTree> {
                let tree = Generation::open(&root)?.unwrap();
                tree.set_others_aside("before", disk)?;
                if tree.word() == "two" {
                    return Ok(());
                }
                let next = Generation::beside_all(&root, "two", disk)?;
                disk.write(&next.dir().join("b"), b"", None)?;
                next.switch(disk)?;
                next.set_others_aside("before", disk)
            };
            let stopped = replace(&Disk::that_stops_after(changes)).is_err();
            assert!([r#"one ["a"]"#, r#"two ["b"]"#].contains(&&*seen(&root)), "{changes}: {}", seen(&root));
            replace(&whole).unwrap();
            assert_eq!(seen(&root), r#"two ["b"]"#, "after {changes} changes");
            assert_eq!(names(&root.join("before")).unwrap(), ["a"], "after {changes} changes");
            whole.remove_dir(&root).unwrap();
            if !stopped {
                assert!(changes > 8, "the stops came, {changes} of them");
                return;
            }
        }
    }

    #[test]
    fn a_directory_that_was_not_written_by_us_is_damaged_not_new() {
        let root = std::env::temp_dir().join(format!("capstan-trees-{:016x}", fastrand::u64(..)));
        fs::create_dir_all(root.join("tree-1")).unwrap();
        assert_eq!(seen(&root), "nothing");
        fs::write(root.join("tree-1/a"), "").unwrap();
        let damaged =
            || Generation::open(&root).unwrap_err().to_string().replace(&*root.to_string_lossy(), "/data");
        assert_eq!(damaged(), "corrupt: /data/FORMAT is missing, and the volume is not empty");
        fs::write(root.join(FORMAT), "x").unwrap();
        assert_eq!(damaged(), "corrupt: /data/FORMAT does not name a tree");
        fs::write(root.join(FORMAT), "1 tree-7").unwrap();
        assert_eq!(damaged(), "corrupt: /data/tree-7 is missing");
        fs::remove_dir_all(root).unwrap();
    }
}
