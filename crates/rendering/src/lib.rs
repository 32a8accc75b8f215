//! What every generator of configuration stands on.
//!
//! ```text
//!   resources ──┐
//!   Assets ─────┼──> generator ──> Tree / Map ──to_yaml──> text
//!   Version ────┘       │
//!      └── Gate: does this version know this field?
//! ```
//!
//! - [`Version`], [`Gate`]: which release of an operand is asked for, and what it knows. Gates are tables of their crates.
//! - [`Tree`], [`Map`]: ordered YAML; read from text, written to text, the same bytes for the same tree.
//! - [`Assets`]: the Secrets and ConfigMaps that exist, so that a generator stays a function of its input.
//! - [`client`]: what no program of the family loads of an HTTP client.
//! - [`duration`]: durations as Prometheus and as Go write them.
//!
//! TLS configurations and the material they refer to are checked and gathered by the crate `tls-assets`, for all kinds.

mod assets;
pub mod client;
pub mod duration;
mod gate;
mod json;
mod parse;
mod scalar;
mod tree;
mod version;
mod write;

pub use assets::{Assets, Missing};
pub use gate::{Gate, admits, between, since, since_candidates, until, until_candidates};
pub use parse::ParseError;
pub use tree::{Map, Text, Tree};
pub use version::{Release, Version, VersionError};
