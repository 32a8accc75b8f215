//! What prometheus-operator 0.94 makes of the same configurations and resources.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail by panicking, and report what they ran"
)]

mod amtool;
mod injection;
mod isolation;

use alertmanager_config::conformance::{AREAS, answer};

/// Cases in which we do not follow upstream, and why.
const DEPARTURES: &[(&str, &str)] = &[];

#[test]
fn every_case_of_our_areas_is_answered_as_upstream_does() {
    match conformance::check(env!("CARGO_MANIFEST_DIR"), &[(AREAS, answer)], DEPARTURES) {
        Ok(report) => println!("{report}"),
        Err(report) => panic!("{report}"),
    }
}
