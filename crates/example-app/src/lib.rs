//! The whitepaper's ExampleApp, whole: a small application, the resource that describes it, and the operator that runs it.
//!
//! ```text
//! types.rs      what users write (spec) and read (status)
//! operator/     observe ──> decide ──> act ──> report, on the kit
//! app/          the application itself: a notes service with a versioned format, backup, restore, migration
//! ```
//!
//! It is the kit's worked example: `README.md` walks through it, file by file, for somebody with another application.

pub mod app;
pub mod operator;
mod types;

pub use operator::{Options, add_to, crd};
pub use types::*;
