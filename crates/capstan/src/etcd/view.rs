//! From data to lines. Pure: whoever calls says what time it is and whether colours are wanted.

mod cluster;
mod members;
mod plan;
mod progress;
#[cfg(test)]
pub(super) mod samples;
mod tree;

pub(super) use cluster::{cluster, line, overview};
pub(super) use members::table;
pub(super) use plan::{parts, plan};
pub(super) use tree::Tree;
