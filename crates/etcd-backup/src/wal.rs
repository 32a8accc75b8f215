//! Everything that happens in etcd between two snapshots, so that a restore can go to any revision.
//!
//! ```text
//! capture:  etcd's watch of all keys ─> assemble (whole revisions, none missing) ─> chunk (zstd, sealed) ─> shelf ─> store
//! replay:   store ─> walk (hashes, order, no hole) ─> one transaction per revision ─> an etcd that was restored from a snapshot
//! ```
//!
//! A **chain** begins at a backup and is a directory of numbered chunks, `<prefix>/wal/<cluster's uid>/<backup>/0000000001` and so on. Each chunk
//! holds the hash of the one before; the first holds that of the backup's manifest. A chain serves every backup of the same etcd that was taken
//! while it grew. Chunks are written once and never changed: who finds a number taken by another has lost, and stops.
//!
//! etcd counts every change: revisions have no holes. So a missing one is always noticed, here by [`assemble`] and later by [`walk`].
//! When etcd forgets history before it was captured (compaction), the chain ends with [`shelf::Gap`], and a new one needs a new backup.

pub mod assemble;
pub mod capture;
pub mod chain;
pub mod chunk;
mod filling;
pub mod follow;
pub mod point;
pub mod prune;
pub mod reach;
pub mod replay;
pub mod shelf;
mod transaction;
pub mod walk;
mod work;

pub use capture::{Capture, Ended};
pub use chunk::Revision;
pub use point::Point;
pub use shelf::Gap;
