//! What prometheus-operator 0.94 answers to the same requests.

use prometheus_admission::conformance::{AREAS, DEPARTURES, answer};

#[test]
fn every_case_of_our_areas_is_answered_as_upstream_does() {
    match conformance::check(env!("CARGO_MANIFEST_DIR"), &[(AREAS, answer)], DEPARTURES) {
        Ok(report) => println!("{report}"),
        Err(report) => panic!("{report}"),
    }
}
