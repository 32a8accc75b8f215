//! Snapshots of etcd in an object store. Knows neither Kubernetes nor the operator: a Job, the command line and the tests call it.
//!
//! ```text
//! save:  etcd's stream ─> snapshot::Check ─> zstd ─> seal (AES-256-GCM, if a key is given) ─> parts ─> store
//!                                                                       then read back, compared, and manifest.json written
//! load:  store ─> ranges ─> hash of what was stored ─> unseal ─> zstd ─> snapshot::Check ─> a file that etcdutl restores
//! ```
//!
//! A backup is a directory of the store with three objects: `attempt-<digits>.json`, the marker of the attempt that wrote it ([`attempt`]),
//! `snapshot-<digits>.zst` (or `.zst.sealed`), and `manifest.json`. The manifest is written last and removed first: without one there is no
//! backup. The marker is written first and removed last: without manifest and marker nothing is ours, and nothing is deleted ([`removal`]).
//!
//! Memory does not depend on the size of the database: [`save::PART`] bytes in a handful of buffers, and less than 64 MiB for a
//! whole process (`tests/backup/memory.rs`, `make bench`).

mod answer;
pub mod attempt;
mod buffers;
pub mod catalogue;
pub mod corruption;
pub mod error;
mod fetch;
pub mod load;
pub mod manifest;
pub mod ranking;
pub mod removal;
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
