//! What prometheus-operator 0.94 makes of the same rules, and what Prometheus says to ours.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests fail by panicking, and report what they ran"
)]

mod promtool;

use prometheus_rules::conformance::{AREAS, DEPARTURES, answer};

#[test]
fn every_case_of_our_areas_is_answered_as_upstream_does() {
    match conformance::check(env!("CARGO_MANIFEST_DIR"), &[(AREAS, answer)], DEPARTURES) {
        Ok(report) => println!("{report}"),
        Err(report) => panic!("{report}"),
    }
}
