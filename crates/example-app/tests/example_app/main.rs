//! ExampleApp's operator on the simulated API server and simulated workloads.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod campaign;
mod operator;
mod size;
