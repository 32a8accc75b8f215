//! What the scenarios of all operators on a real Kubernetes share. Test programs say in full what they do; this is what they do it with.
//!
//! ```text
//! scenario(story) ─┬─> World: a namespace under Pod Security `restricted`, a client, kubectl as users type it
//! trouble(story)  ─┘      │
//!                         ├─> operator: deploy/install.yaml; scaled, killed
//!                         ├─> ground:   signals to processes in pods, files on volumes, packets that do not arrive, nodes that die
//!                         ├─> oracle:   whether all that clients of etcd were told can be true
//!                         └─> patience: wait for a condition, with a deadline and the words for what was seen instead
//! ```
//!
//! Stories of [`scenario`] are played side by side; those of [`trouble`] alone, because they stop the operator or a node.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failure here is a failed test, and says so"
)]

pub mod ground;
pub mod operator;
pub mod oracle;
pub mod patience;
pub mod world;

pub use world::{World, scenario, trouble};
