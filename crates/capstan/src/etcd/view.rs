//! From data to lines. Pure: whoever calls says what time it is and whether colours are wanted.

mod cluster;
mod conditions;
mod members;
mod plan;
mod progress;
#[cfg(test)]
pub(super) mod samples;
mod tree;

pub(super) use cluster::{cluster, line, name, overview, unseen};
pub(super) use members::{member_line, table, unknown};
pub(super) use plan::{parts, plan, sentence};
pub(super) use tree::Tree;
