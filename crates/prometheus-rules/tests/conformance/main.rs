//! What prometheus-operator 0.94 makes of the same rules.

use prometheus_rules::conformance::{AREAS, answer};

const PARAMETERS: &str = "upstream leaves selectors in the parameter of an aggregation alone, so that a tenant sees \
                          other namespaces; we confine them, too";

/// Cases in which we do not follow upstream, and why.
const DEPARTURES: &[(&str, &str)] = &[
    ("namespace-label-rules: promql/aggregators/086", PARAMETERS),
    ("namespace-label-rules: promql/aggregators/087", PARAMETERS),
    ("namespace-label-rules: promql/aggregators/089", PARAMETERS),
];

#[test]
fn every_case_of_our_areas_is_answered_as_upstream_does() {
    match conformance::check(env!("CARGO_MANIFEST_DIR"), &[(AREAS, answer)], DEPARTURES) {
        Ok(report) => println!("{report}"),
        Err(report) => panic!("{report}"),
    }
}
