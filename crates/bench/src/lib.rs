//! Measures kit against kube_runtime: the same objects, from the same server, in the same run.
//!
//! ```text
//! benches/watch.rs ── starts itself anew for each measurement ──► runs: objects ─► server ─► kit_side | peer_side
//!        └── report: table, ratios, targets                         └── measure: memory and CPU time of that process
//! ```
//!
//! `benches/fleet.rs` measures the etcd operator with hundreds of clusters (`fleet.rs`), `benches/backup.rs` backups of a real etcd
//! (`backup.rs`).

pub mod backup;
pub mod fleet;
pub mod kit_side;
pub mod measure;
pub mod objects;
pub mod peer_side;
pub mod progress;
mod queues;
pub mod report;
pub mod runs;
pub mod server;
