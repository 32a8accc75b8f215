//! Snapshots of etcd in an object store. Knows neither Kubernetes nor the operator: a Job, the command line and the tests call it.
//!
//! ```text
//! save:  etcd's stream ─> snapshot::Check ─> zstd ─> seal (AES-256-GCM, if a key is given) ─> parts ─> store
//!                                                                       then read back, compared, and manifest.json written
//! load:  store ─> ranges ─> hash of what was stored ─> unseal ─> zstd ─> snapshot::Check ─> a file that etcdutl restores
//! ```
//!
//! A backup is a directory of the store with two objects, `snapshot-<attempt>.zst` (or `.zst.sealed`) and `manifest.json`. The manifest is
//! written last and removed first: what has no manifest is not a backup, but the rest of an attempt ([`catalogue::Entry::Unfinished`]).
//!
//! Memory does not depend on the size of the database: [`save::PART`] bytes in a handful of buffers, and less than 64 MiB for a
//! whole process (`tests/backup/memory.rs`, `make bench`).

mod buffers;
pub mod catalogue;
pub mod error;
mod fetch;
pub mod load;
pub mod manifest;
pub mod restored;
pub mod retention;
pub mod save;
pub mod seal;
pub mod sha256;
pub mod snapshot;
pub mod source;
pub mod store;
pub mod wal;

pub use error::{Error, Result};
pub use manifest::Manifest;
pub use seal::Key;
pub use sha256::Sha256;
pub use store::{Store, Target};
