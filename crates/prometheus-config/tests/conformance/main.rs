//! What prometheus-operator 0.94 makes of the same resources, and what no resource may achieve.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test program: it says what went wrong by panicking"
)]

mod defects;
mod enforcement;
mod incremental;
mod injection;
mod promtool;
mod random;
mod relabeler;
mod samples;

use prometheus_config::conformance::{AREAS, answer};

/// Cases in which we do not follow upstream, and why.
const DEPARTURES: &[(&str, &str)] = &[];

#[test]
fn every_case_of_our_areas_is_answered_as_upstream_does() {
    match conformance::check(env!("CARGO_MANIFEST_DIR"), &[(AREAS, answer)], DEPARTURES) {
        Ok(report) => println!("{report}"),
        Err(report) => panic!("{report}"),
    }
}
