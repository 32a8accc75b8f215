//! The work queue: which object is reconciled next.
//!
//! A key is in the queue at most once, and is never handed out while it is being worked on; what is added meanwhile is handed
//! out again afterwards. Higher priority goes first, within a priority first come first served, and whoever waits grows more
//! urgent, so that a flood of important work delays the rest but never starves it.
//!
//! - `order`: the rules, without locks or clocks.
//! - `shell`: a lock and a waker around them; checked with shuttle in `checked`.
//! - `backoff`: how long a failing key waits.

mod backoff;
#[cfg(test)]
mod checked;
mod order;
mod shell;
#[cfg(test)]
mod tests;

/// What `shell` is built from; its checked twin brings shuttle's.
mod sync {
    pub(super) use std::sync::{Mutex, PoisonError};
}

pub use backoff::Backoff;
pub(crate) use order::Priority;
pub(crate) use shell::Queue;
