//! What a run found: a row per area, the failures with what differs.

use std::collections::BTreeMap;
use std::fmt;

use crate::case::Case;

/// How many differences of one case are worth reading at once.
const SHOWN: usize = 12;

#[derive(Clone, Copy, Debug, Default)]
pub struct AreaRow {
    pub passed: usize,
    pub failed: usize,
    /// Cases of an area for which no crate answers; no part of the sums.
    pub unanswered: usize,
}

#[derive(Clone, Debug)]
pub struct Failure {
    pub area: String,
    pub case: String,
    pub differences: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Report {
    areas: BTreeMap<String, AreaRow>,
    failures: Vec<Failure>,
}

impl Report {
    pub(crate) fn add(&mut self, case: &Case, outcome: Result<(), Vec<String>>) {
        let row = self.areas.entry(case.area.clone()).or_default();
        match outcome {
            Ok(()) => row.passed += 1,
            Err(differences) => {
                row.failed += 1;
                self.failures.push(Failure { area: case.area.clone(), case: case.name.clone(), differences });
            }
        }
    }

    pub(crate) fn unanswered(&mut self, area: &str) {
        self.areas.entry(area.to_owned()).or_default().unanswered += 1;
    }

    #[must_use]
    pub fn areas(&self) -> &BTreeMap<String, AreaRow> {
        &self.areas
    }

    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    #[must_use]
    pub fn passed(&self) -> usize {
        self.areas.values().map(|row| row.passed).sum()
    }

    #[must_use]
    pub fn failed(&self) -> usize {
        self.areas.values().map(|row| row.failed).sum()
    }

    /// Where everything should be answered, an area that nobody answers for has failed.
    pub fn count_unanswered_as_failed(&mut self) {
        for row in self.areas.values_mut() {
            row.failed += std::mem::take(&mut row.unanswered);
        }
    }

    /// Takes the departures out of the failures: those that were met, to be shown.
    pub fn depart<'a>(&mut self, departures: &'a [(&'a str, &'a str)]) -> Vec<&'a (&'a str, &'a str)> {
        let (mut met, areas) = (Vec::new(), &mut self.areas);
        self.failures.retain(|failure| {
            let Some(departure) = departures.iter().find(|(case, _)| failure.is(case)) else { return true };
            met.push(departure);
            if let Some(row) = areas.get_mut(&failure.area) {
                row.failed = row.failed.saturating_sub(1);
            }
            false
        });
        met
    }

    /// The failures that `departures` do not name, and the departures that no longer fail.
    #[must_use]
    pub fn unexpected(&self, departures: &[(&str, &str)]) -> Vec<String> {
        let departs = |failure: &Failure| departures.iter().any(|(case, _)| failure.is(case));
        let failures = self.failures.iter().filter(|failure| !departs(failure)).map(ToString::to_string);
        let stale = departures
            .iter()
            .filter(|(case, _)| !self.failures.iter().any(|failure| failure.is(case)))
            .map(|(case, why)| {
                format!(
                    "{case} is listed as a departure ({why}), but passes or is absent: take it off the list"
                )
            });
        failures.chain(stale).collect()
    }
}

impl Failure {
    /// Departures name a case as `area: name`, since names repeat between areas.
    fn is(&self, name: &str) -> bool {
        name.split_once(": ").is_some_and(|(area, case)| area == self.area && case == self.case)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.area, self.case)?;
        for difference in self.differences.iter().take(SHOWN) {
            write!(f, "\n    {difference}")?;
        }
        let more = self.differences.len().saturating_sub(SHOWN);
        if more > 0 { write!(f, "\n    … and {more} more") } else { Ok(()) }
    }
}

/// The table; it closes with `N passed, M failed` alone on a line.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (area, row) in &self.areas {
            if row.passed + row.failed > 0 {
                writeln!(f, "{area:<32} {:>5} passed {:>5} failed", row.passed, row.failed)?;
            }
        }
        write!(f, "{} passed, {} failed", self.passed(), self.failed())
    }
}
