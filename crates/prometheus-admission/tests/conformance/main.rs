//! What prometheus-operator 0.94 answers to the same requests.

use prometheus_admission::conformance::{AREAS, answer};

const TTL: &str = "upstream loses the ttl of Pushover on the way to v1beta1, which has the field; we keep it";

/// Cases in which we do not follow upstream, and why.
const DEPARTURES: &[(&str, &str)] = &[
    ("admission: convert-generated/037-to-v1beta1", TTL),
    ("admission: convert-generated/045-to-v1beta1", TTL),
    ("admission: convert-generated/048-to-v1beta1", TTL),
    ("admission: convert-generated/130-to-v1beta1", TTL),
];

#[test]
fn every_case_of_our_areas_is_answered_as_upstream_does() {
    match conformance::check(env!("CARGO_MANIFEST_DIR"), &[(AREAS, answer)], DEPARTURES) {
        Ok(report) => println!("{report}"),
        Err(report) => panic!("{report}"),
    }
}
