//! Records on a volume: a file for each, in one of the formats that an application has had; replaced one by one, or all at once.
//!
//! ```text
//! /data/FORMAT          "2 tree-3": the number of the format, and where the records are
//! /data/tree-3/6d696c6b a file per record, its name the key in hexadecimal
//! ```

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Disk, Generation, NoTree, Read, names, read};

/// The longest key in bytes. Its file is named in hexadecimal, and a file name holds 255 bytes.
const LONGEST_KEY: usize = 120;

/// How records are written: one of the formats that releases of an application have had.
pub trait Format: Copy + PartialEq + 'static {
    /// What is kept.
    type Record;
    /// The word for one of them.
    const RECORD: &'static str;
    /// Every format.
    const ALL: &'static [Self];

    /// Its number, on the volume.
    fn number(self) -> u32;

    /// The format of this number.
    fn of_number(number: u32) -> Option<Self> {
        Self::ALL.iter().find(|format| format.number() == number).copied()
    }

    /// What a file of this format holds for `record`.
    fn encode(self, key: &RecordKey, record: &Self::Record) -> Vec<u8>;

    /// Reads such a file, that was last written at `modified`. The error says what is wrong with it.
    fn decode(self, key: &RecordKey, bytes: &[u8], modified: Timestamp) -> Result<Self::Record, String>;

    /// When a record was last changed: its file has this time.
    fn modified(record: &Self::Record) -> Timestamp;
}

/// A record's name: 1 to 120 bytes of UTF-8 without `/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RecordKey(String);

impl RecordKey {
    /// The key `key`, or why there can be none.
    pub fn new(key: impl Into<String>) -> Result<Self, String> {
        let key = key.into();
        match key.len() {
            1..=LONGEST_KEY if key.contains('/') => Err("a key has no '/' in it".to_owned()),
            1..=LONGEST_KEY => Ok(Self(key)),
            length => Err(format!("a key has 1 to {LONGEST_KEY} bytes; this one has {length}")),
        }
    }

    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn file_name(&self) -> String {
        self.0.bytes().map(|byte| format!("{byte:02x}")).collect()
    }

    fn of_file(name: &str) -> Option<Self> {
        let pairs = (0..name.len()).step_by(2).map(|at| name.get(at..at + 2));
        let bytes = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect::<Option<_>>()?;
        Self::new(String::from_utf8(bytes).ok()?).ok().filter(|key| key.file_name() == name)
    }
}

impl TryFrom<String> for RecordKey {
    type Error = String;

    fn try_from(key: String) -> Result<Self, String> {
        Self::new(key)
    }
}

/// All records of one format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records<F> {
    /// Where they are.
    pub place: Generation,
    /// How they are written.
    pub format: F,
}

impl<F: Format> Records<F> {
    /// The records in use; none on a volume that nobody has written to.
    pub fn open(root: &Path) -> Result<Option<Self>, NoTree> {
        Generation::open(root)?.map(Self::of).transpose()
    }

    /// The records in use; a place for them is made if there is none. Several processes may do this at the same time.
    pub fn open_or_create(root: &Path, format: F, disk: &Disk) -> Result<Self, NoTree> {
        Self::of(Generation::open_or_create(root, &format.number().to_string(), disk)?)
    }

    fn of(place: Generation) -> Result<Self, NoTree> {
        let format = place.word().parse().ok().and_then(F::of_number);
        let unknown = || NoTree::Damaged(format!("its data format {:?} is not known", place.word()));
        Ok(Self { format: format.ok_or_else(unknown)?, place })
    }

    /// Puts these records in place of whatever is there, all at once or not at all.
    pub fn replace(
        root: &Path,
        format: F,
        records: &[(RecordKey, F::Record)],
        disk: &Disk,
    ) -> Result<Self, NoTree> {
        let new = Self { place: Generation::beside_all(root, &format.number().to_string(), disk)?, format };
        let mut write = records.iter().map(|(key, record)| {
            disk.write(&new.path(key), &format.encode(key, record), Some(F::modified(record).into()))
        });
        if let Err(error) = write.try_for_each(|written| written) {
            // Such as a full disk: what was begun must not fill it further.
            disk.remove_dir(&new.place.dir())?;
            return Err(error.into());
        }
        new.place.switch(disk)?;
        Ok(new)
    }

    /// Every key, sorted.
    pub fn keys(&self) -> Result<Vec<RecordKey>, NoTree> {
        let key = |name: &String| {
            let file = self.place.dir().join(name);
            let stray = || NoTree::Damaged(format!("{} is not a {}", file.display(), F::RECORD));
            RecordKey::of_file(name).ok_or_else(stray)
        };
        let mut keys = names(&self.place.dir())?.iter().map(key).collect::<Result<Vec<_>, _>>()?;
        keys.sort_unstable();
        Ok(keys)
    }

    /// Every record: whoever gets them has read everything.
    pub fn all(&self) -> Result<Vec<(RecordKey, F::Record)>, NoTree> {
        let read = |key| Ok(self.get(&key)?.map(|record| (key, record)));
        self.keys()?.into_iter().map(read).filter_map(Result::transpose).collect()
    }

    /// Reads a record from the disk.
    pub fn get(&self, key: &RecordKey) -> Result<Option<F::Record>, NoTree> {
        read(&self.path(key))?.map(|file| self.decode(key, &file)).transpose()
    }

    /// The record in its file, wherever that was read from.
    pub fn decode(&self, key: &RecordKey, file: &Read) -> Result<F::Record, NoTree> {
        let time = Timestamp::try_from(file.modified).map_err(|_| "its time is out of range".to_owned());
        let record = time.and_then(|modified| self.format.decode(key, &file.bytes, modified));
        record.map_err(|wrong| {
            let place = self.path(key);
            NoTree::Damaged(format!("{} {:?} in {}: {wrong}", F::RECORD, key.0, place.display()))
        })
    }

    /// Writes a record that readers see at once.
    pub fn put(&self, key: &RecordKey, record: &F::Record, disk: &Disk) -> Result<(), NoTree> {
        let modified: SystemTime = F::modified(record).into();
        Ok(disk.replace(&self.path(key), &self.format.encode(key, record), Some(modified))?)
    }

    /// Where a record is.
    pub fn path(&self, key: &RecordKey) -> PathBuf {
        self.place.dir().join(key.file_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_any_short_text_without_a_slash() {
        for good in ["a", " ", "..", "käse", "a\nb", &"x".repeat(120)] {
            let key = RecordKey::new(good).unwrap();
            assert!(key.file_name().len() <= 240);
            assert_eq!(RecordKey::of_file(&key.file_name()), Some(key));
        }
        let refused = |key: &str| RecordKey::new(key).unwrap_err();
        assert_eq!(refused(""), "a key has 1 to 120 bytes; this one has 0");
        assert_eq!(refused(&"ä".repeat(61)), "a key has 1 to 120 bytes; this one has 122");
        assert_eq!(refused("a/b"), "a key has no '/' in it");
        for stray in ["", "6", "6z", "6D", "ff", "2f", "+6"] {
            assert_eq!(RecordKey::of_file(stray), None, "{stray}");
        }
    }

    /// The file is the number, and a record of this format is never 0.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Plain;

    impl Format for Plain {
        type Record = u8;
        const RECORD: &'static str = "number";
        const ALL: &'static [Self] = &[Self];

        fn number(self) -> u32 {
            7
        }

        fn encode(self, _: &RecordKey, record: &u8) -> Vec<u8> {
            vec![*record]
        }

        fn decode(self, _: &RecordKey, bytes: &[u8], _: Timestamp) -> Result<u8, String> {
            bytes.first().copied().filter(|number| *number > 0).ok_or_else(|| "it is nothing".to_owned())
        }

        fn modified(_: &u8) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
    }

    #[test]
    fn records_are_written_replaced_and_checked() {
        let root = std::env::temp_dir().join(format!("capstan-records-{:016x}", fastrand::u64(..)));
        std::fs::create_dir(&root).unwrap();
        let disk = Disk::default();
        let key = |key: &str| RecordKey::new(key).unwrap();
        let records = Records::open_or_create(&root, Plain, &disk).unwrap();
        records.put(&key("a"), &1, &disk).unwrap();
        assert_eq!((records.get(&key("a")).unwrap(), records.get(&key("b")).unwrap()), (Some(1), None));
        let new = Records::replace(&root, Plain, &[(key("b"), 2), (key("a"), 3)], &disk).unwrap();
        assert_eq!(Records::<Plain>::open(&root).unwrap().as_ref(), Some(&new));
        assert_eq!(new.all().unwrap(), [(key("a"), 3), (key("b"), 2)]);
        new.put(&key("a"), &0, &disk).unwrap();
        let wrong = |wrong: NoTree| wrong.to_string().replace(&*root.to_string_lossy(), "/data");
        let damaged = wrong(new.all().unwrap_err());
        assert_eq!(damaged, "corrupt: number \"a\" in /data/tree-2/61: it is nothing");
        std::fs::write(root.join("FORMAT"), "8 tree-2").unwrap();
        let unknown = wrong(Records::<Plain>::open(&root).unwrap_err());
        assert_eq!(unknown, "corrupt: its data format \"8\" is not known");
        disk.remove_dir(&root).unwrap();
    }
}
