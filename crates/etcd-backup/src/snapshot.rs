//! etcd's snapshot, checked while it passes: a database file, then the SHA-256 of that file.
//!
//! etcd appends the hash to its stream (Maintenance.Snapshot), and etcdutl expects it at the end of the file. So a snapshot is kept with it,
//! and its length modulo a sector (512) is 32.

use crate::sha256::{BYTES, Hasher, Sha256};

const SECTOR: u64 = 512;
/// Where bbolt's first page has its magic number, and the number.
const MAGIC_AT: usize = 16;
const MAGIC: [u8; 4] = 0xED0C_DAED_u32.to_le_bytes();

/// What a snapshot turned out to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Length of the database, without the hash.
    pub bytes: u64,
    pub sha256: Sha256,
}

/// Why bytes are not a whole snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotASnapshot {
    #[error("it ends after {0} bytes")]
    TooShort(u64),
    #[error("it does not begin as a database of etcd does")]
    Foreign,
    #[error("it has {0} bytes, which is no whole number of sectors and a hash: the end is missing")]
    Truncated(u64),
    #[error("its SHA-256 is {actual}, the one at its end {claimed}: it was changed")]
    Tampered { claimed: Sha256, actual: Sha256 },
}

/// A snapshot on its way. Everything is pushed through it, [`Self::finish`] says whether it was whole.
#[derive(Debug, Default)]
pub struct Check {
    hash: Hasher,
    /// The last bytes so far, at most a hash's: they may be the hash.
    held: Vec<u8>,
    head: Vec<u8>,
    bytes: u64,
}

impl Check {
    pub fn push(&mut self, chunk: &[u8]) {
        let missing = (MAGIC_AT + MAGIC.len()).saturating_sub(self.head.len());
        self.head.extend(chunk.iter().take(missing));
        self.bytes += chunk.len() as u64;

        match chunk.split_at_checked(chunk.len().saturating_sub(BYTES)) {
            Some((before, last)) if last.len() == BYTES => {
                self.hash.update(&self.held);
                self.hash.update(before);
                self.held.clear();
                self.held.extend(last);
            }
            _ => {
                self.held.extend(chunk);
                let over = self.held.len().saturating_sub(BYTES);
                let passed: Vec<u8> = self.held.drain(..over).collect();
                self.hash.update(&passed);
            }
        }
    }

    pub fn finish(self) -> Result<Snapshot, NotASnapshot> {
        let bytes = self.bytes.checked_sub(BYTES as u64).ok_or(NotASnapshot::TooShort(self.bytes))?;
        if self.head.get(MAGIC_AT..) != Some(&MAGIC) {
            return Err(NotASnapshot::Foreign);
        }
        if bytes % SECTOR != 0 {
            return Err(NotASnapshot::Truncated(self.bytes));
        }
        let claimed = <[u8; BYTES]>::try_from(self.held)
            .map_or(Err(NotASnapshot::TooShort(bytes)), |it| Ok(Sha256(it)))?;
        let actual = self.hash.finish();
        if claimed != actual {
            return Err(NotASnapshot::Tampered { claimed, actual });
        }
        Ok(Snapshot { bytes, sha256: actual })
    }
}

/// A snapshot that is whole as far as this module can tell, for tests here and elsewhere: sectors of `fill` behind a true head.
#[doc(hidden)]
pub fn example(sectors: usize, fill: impl Fn(usize) -> u8) -> Vec<u8> {
    let mut database: Vec<u8> = (0..sectors * SECTOR as usize).map(fill).collect();
    database.splice(MAGIC_AT..MAGIC_AT + MAGIC.len(), MAGIC);
    let hash = Sha256::of(&database);
    database.extend(hash.0);
    database
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(bytes: &[u8], at_once: usize) -> Result<Snapshot, NotASnapshot> {
        let mut check = Check::default();
        bytes.chunks(at_once).for_each(|chunk| check.push(chunk));
        check.finish()
    }

    proptest! {
        #[test]
        fn a_whole_snapshot_passes_however_it_is_cut(sectors in 1_usize..20, at_once in 1_usize..3000) {
            let whole = example(sectors, |at| at as u8);
            let seen = check(&whole, at_once).unwrap();
            prop_assert_eq!(seen.bytes, sectors as u64 * SECTOR);
        }

        #[test]
        fn no_prefix_passes(sectors in 1_usize..4, cut in 1_usize..600) {
            let whole = example(sectors, |at| at as u8);
            let cut = cut.min(whole.len());
            prop_assert!(check(&whole[..whole.len() - cut], 100).is_err());
        }

        #[test]
        fn no_changed_byte_passes(sectors in 1_usize..4, at in 0_usize..2000, change in 1_u8..) {
            let mut other = example(sectors, |at| at as u8);
            let at = at % other.len();
            other[at] ^= change;
            prop_assert!(check(&other, 100).is_err());
        }
    }

    #[test]
    fn each_refusal_says_what_is_wrong() {
        let whole = example(2, |_| 7);
        assert_eq!(check(&whole[..20], 7), Err(NotASnapshot::TooShort(20)));
        assert_eq!(check(&[0; 1056], 100), Err(NotASnapshot::Foreign));
        assert_eq!(check(&whole[..1000], 100), Err(NotASnapshot::Truncated(1000)));
        assert!(matches!(check(&whole[..544], 100), Err(NotASnapshot::Tampered { .. })));
    }
}
