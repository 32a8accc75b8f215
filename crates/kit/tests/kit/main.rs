//! The kit on the simulated API server, part by part. One program: what they share is compiled once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod at_rest;
mod bucket;
mod campaign;
mod client;
mod informer;
mod informer_faults;
mod lead;
mod manager;
mod serve;
mod webhook;

#[allow(dead_code, unreachable_pub, reason = "an operator of its own, with a main for a real cluster")]
#[path = "../../examples/greeter.rs"]
mod greeter;
