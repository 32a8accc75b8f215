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

pub mod binaries;
mod error;
mod image;
pub mod images;
pub mod store;
pub mod versions;

use std::path::PathBuf;

pub use error::{Error, Result};

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
