//! The types against the data of prometheus-operator 0.94.1, which lies beside the repository: `../shared/conformance`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail by panicking, and skip aloud"
)]

mod conversion;
mod crds;
mod round_trip;

use std::path::PathBuf;

/// The data's directory. Without it a test says that it did nothing, for the data is not part of the repository.
fn conformance(part: &str) -> Option<PathBuf> {
    let found = conformance::data(env!("CARGO_MANIFEST_DIR")).map(|data| data.join(part));
    if found.is_none() {
        eprintln!(
            "SKIPPED, NOTHING WAS TESTED: no shared/conformance beside the repository; CAPSTAN_CONFORMANCE may name it"
        );
    }
    found
}
