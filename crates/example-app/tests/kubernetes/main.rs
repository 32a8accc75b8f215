//! ExampleApp's scenarios on a real Kubernetes: the operator runs in it, installed from deploy/install.yaml with exactly the rights
//! that we generate, under Pod Security `restricted`. `cargo xtask test-kubernetes example-app` brings up what they stand on.
//!
//! Every scenario has a namespace of its own. Those in `with_trouble` stop, kill or cut off the operator or a node, so they run alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod adopt;
mod autoscaling;
mod backup;
mod broken_release;
mod configure;
mod input;
mod install;
mod pause;
mod remediation;
mod restore;
mod scale;
mod uninstall;
mod upgrade;
mod with_trouble;

// What they share, and what they share with other operators' scenarios.
mod app;
mod http;
mod store;

use lab_tests::{ground, operator, patience, world};
