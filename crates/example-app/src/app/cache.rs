//! The notes that were read last, up to a number of bytes.

use std::collections::{BTreeMap, HashMap};

use super::{
    format::{Key, Note},
    tree::Stamp,
};

/// What an entry costs besides key and text: the maps' own memory, roughly.
const OVERHEAD: usize = 256;

#[derive(Debug)]
pub(super) struct Cache {
    limit: usize,
    bytes: usize,
    entries: HashMap<Key, Entry>,
    /// By the time of last use, oldest first.
    order: BTreeMap<u64, Key>,
    tick: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
}

#[derive(Debug)]
struct Entry {
    stamp: Stamp,
    note: Note,
    used: u64,
}

impl Cache {
    pub(super) fn new(limit: usize) -> Self {
        let (entries, order) = Default::default();
        Self { limit, bytes: 0, entries, order, tick: 0, hits: 0, misses: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The note, if it was read from the file that `stamp` tells of.
    pub(super) fn get(&mut self, key: &Key, stamp: Stamp) -> Option<Note> {
        self.tick += 1;
        let Some(entry) = self.entries.get_mut(key).filter(|entry| entry.stamp == stamp) else {
            self.misses += 1;
            return None;
        };
        self.hits += 1;
        self.order.remove(&entry.used);
        entry.used = self.tick;
        self.order.insert(self.tick, key.clone());
        Some(entry.note.clone())
    }

    pub(super) fn insert(&mut self, key: Key, stamp: Stamp, note: Note) {
        self.remove(&key);
        if size(&key, &note) > self.limit {
            return;
        }
        self.tick += 1;
        self.bytes += size(&key, &note);
        self.order.insert(self.tick, key.clone());
        self.entries.insert(key, Entry { stamp, note, used: self.tick });
        while self.bytes > self.limit
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.remove(&oldest);
        }
    }

    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            self.bytes -= size(key, &entry.note);
        }
    }
}

fn size(key: &Key, note: &Note) -> usize {
    OVERHEAD + 2 * key.as_str().len() + note.text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn the_least_recently_used_goes_first_and_the_limit_holds() {
        let stamp = Stamp::of(std::path::Path::new("/")).unwrap();
        let key = |n: usize| Key::new(format!("{n:03}")).unwrap();
        let note = |length| Note {
            text: "x".repeat(length),
            created: Timestamp::UNIX_EPOCH,
            modified: Timestamp::UNIX_EPOCH,
        };
        let mut cache = Cache::new(4096);
        for n in 0..100 {
            cache.insert(key(n), stamp, note(738));
            assert!(cache.get(&key(0), stamp).is_some(), "000 is always used, so it stays");
            assert!(cache.bytes() <= 4096);
        }
        assert_eq!(cache.entries.len(), 4);
        assert_eq!(cache.order.len(), 4);
        cache.insert(key(0), stamp, note(5000));
        assert!(cache.get(&key(0), stamp).is_none(), "what does not fit is not kept");
        assert_eq!(cache.bytes(), 3000);
    }
}
