//! The types against the data of prometheus-operator 0.94.1, which lies beside the repository: `../shared/conformance`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod conversion;
mod crds;
mod round_trip;

use std::path::PathBuf;

/// The data's directory. It is not part of the repository: without it the running test is reported as skipped.
fn data_or_skipped(part: &str) -> Option<PathBuf> {
    let found = conformance::data(env!("CARGO_MANIFEST_DIR")).map(|data| data.join(part));
    if found.is_none() {
        skipped::because(conformance::NO_DATA);
    }
    found
}
