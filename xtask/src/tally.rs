//! Counts tests by reading what test programs print: passed, failed, and skipped with the reason.
//!
//! libtest counts a test that returned early as passed. Such a test says so with a line `SKIPPED <test>: <reason>` (crates/skipped), and is
//! counted as skipped here.

use std::fmt;

const SKIPPED: &str = "SKIPPED ";

/// Outcome of the tests of one or more programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// As libtest counts them, with the skipped ones.
    ended_well: usize,
    failed: usize,
    /// `<test>: <reason>`.
    skipped: Vec<String>,
}

impl Tally {
    /// Reads one line of a test program.
    pub(crate) fn read(&mut self, line: &str) {
        // Another test may have begun the line, with --nocapture.
        if let Some((_, skipped)) = line.split_once(SKIPPED) {
            self.skipped.push(skipped.trim_end().to_owned());
        } else if let Some(result) = line.strip_prefix("test result: ") {
            let count = |what: &str| {
                let mut words = result.split([' ', ';', '.']).filter(|word| !word.is_empty());
                let mut number = 0;
                words.find_map(|word| {
                    if word == what {
                        return Some(number);
                    }
                    number = word.parse().unwrap_or(0);
                    None
                })
            };
            self.ended_well += count("passed").unwrap_or(0);
            self.failed += count("failed").unwrap_or(0);
        }
    }

    /// Adds a program that ended badly without a result of its tests.
    pub(crate) fn add_failure(&mut self) {
        self.failed += 1;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.ended_well += other.ended_well;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
    }

    pub(crate) fn passed(&self) -> usize {
        self.ended_well.saturating_sub(self.skipped.len())
    }

    pub(crate) fn failed(&self) -> usize {
        self.failed
    }

    pub(crate) fn skipped(&self) -> &[String] {
        &self.skipped
    }
}

/// The skipped tests, then `N passed, M failed, K skipped` alone on the last line.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.skipped.is_empty() {
            writeln!(f, "Skipped tests asserted nothing:")?;
            for skipped in &self.skipped {
                writeln!(f, "  {skipped}")?;
            }
        }
        write!(f, "{} passed, {} failed, {} skipped", self.passed(), self.failed, self.skipped.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_tests_are_listed_and_not_counted_as_passed() {
        let mut tally = Tally::default();
        for line in [
            "running 4 tests",
            "test a ... ok",
            "test b::c ... SKIPPED b::c: no conformance data",
            "SKIPPED d: CAPSTAN_PROMTOOL: not set",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.25s",
        ] {
            tally.read(line);
        }
        assert_eq!(
            tally.to_string(),
            "Skipped tests asserted nothing:\n  b::c: no conformance data\n  d: CAPSTAN_PROMTOOL: not set\n1 passed, 1 failed, 2 skipped"
        );
    }

    #[test]
    fn tallies_of_programs_are_added() {
        let mut tally = Tally::default();
        tally.read(
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        );
        let mut other = Tally::default();
        other.read("test result: ok. 30 passed; 0 failed; 0 ignored");
        other.add_failure();
        tally.add(other);
        assert_eq!(tally.to_string(), "42 passed, 1 failed, 0 skipped");
    }
}
