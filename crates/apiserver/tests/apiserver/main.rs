//! The server as its clients see it. One program: what they share is compiled once.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test helper that fails says enough by its panic"
)]

mod basics;
mod contract;
mod deletion;
mod faults;
mod http;
mod size;
