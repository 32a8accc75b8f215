//! A real Kubernetes on one machine: its binaries, images, nodes, and the faults that tests ask for.
//!
//! The data's way:
//!
//! ```text
//! versions ──> binaries ──> images ──> store ──┐
//! what is      go build     OCI tars   one     │ hard links
//! pinned       per module   of them    import  ▼
//!                                             nodes
//! ```
//!
//! A lab, file by file: `up` is the story; `slot` and [`addresses`] say which names and addresses it has; `pki`, `network`,
//! `cgroup` are what it stands on; `control` and `node` start the daemons, `addons` what runs in the cluster, `provisioner` makes its
//! volumes; `faults` and `volume` are what tests do to it; `teardown` removes it. `process` is how all of them start programs.

mod addons;
pub mod addresses;
mod api;
pub mod binaries;
mod bound;
mod cgroup;
mod control;
mod error;
mod faults;
mod image;
pub mod images;
mod lab;
mod network;
mod node;
mod pki;
mod preflight;
mod process;
mod provisioner;
#[cfg(test)]
mod scratch;
mod slot;
mod status;
pub mod store;
mod sysctl;
mod teardown;
mod tools;
mod up;
pub mod versions;
mod volume;
mod wait;
mod whole;

use std::path::PathBuf;

pub use error::{Error, Result};
pub use lab::Lab;
pub use status::{LabState, LabStatus, NodeState, NodeStatus, status};
pub use teardown::{down, down_all, down_slot};
pub use up::Options;

/// The lab that is meant when no name is given.
pub const DEFAULT_NAME: &str = "capstan";

/// What is going on, one line per step; whoever prints it adds the time.
pub trait Progress: Sync {
    fn step(&self, text: &str);
}

/// Where binaries, images and the state of running labs are kept: `$CAPSTAN_CACHE/lab`.
#[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the environment")]
pub fn cache() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let capstan = set("CAPSTAN_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("capstan")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/capstan")))
        .ok_or(Error::NoCache)?;
    Ok(capstan.join("lab"))
}
