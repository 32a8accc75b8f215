//! Reports tests that cannot assert anything here, for example because their data is not on this machine.
//!
//! A test that returns early would be counted as passed: libtest knows no test that is skipped at run time. Such a test calls
//! [`because`] before it returns. `cargo xtask test` and `cargo xtask test-kubernetes` list and count these lines, and an invariant in
//! `xtask/src/invariants/skipping.rs` finds early returns without the call.

use std::{io::Write as _, panic::Location, thread};

/// Writes `SKIPPED <test>: <reason>` to standard output. The test must return after it.
///
/// The line is written directly: libtest holds back what a passing test prints with `println!`.
#[track_caller]
pub fn because(reason: &str) {
    let line = line(thread::current().name(), Location::caller(), reason);
    // Without a standard output there is no reader that could be misled.
    let _ = std::io::stdout().write_all(line.as_bytes());
}

/// libtest names the thread of a test after the test, except with `--test-threads=1`.
fn line(thread: Option<&str>, place: &Location<'_>, reason: &str) -> String {
    match thread {
        Some(test) if test != "main" => format!("SKIPPED {test}: {reason}\n"),
        _ => format!("SKIPPED {}:{}: {reason}\n", place.file(), place.line()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_names_the_test_or_its_place() {
        let here = Location::caller();
        assert_eq!(line(Some("a::b"), here, "no data"), "SKIPPED a::b: no data\n");
        let place = format!("{}:{}", here.file(), here.line());
        assert_eq!(line(Some("main"), here, "no data"), format!("SKIPPED {place}: no data\n"));
        assert_eq!(line(None, here, "no data"), format!("SKIPPED {place}: no data\n"));
    }
}
