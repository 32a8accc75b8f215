//! The client against real etcd processes: every call, every refusal that can be provoked, and every way in which nobody answers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod calls;
mod cluster;
mod connections;
mod refusals;
mod starts;
mod versions;
