//! What came of a run: a row per case, and a table for people.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{Failure, Need};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Failed(Failure),
    Skipped(Need),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub area: &'static str,
    pub name: &'static str,
    pub verdict: Verdict,
}

/// The rows in the order of the cases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Count {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::Skipped(_) => self.skipped += 1,
        }
    }
}

/// `3`, or `2 of 3` when not all passed.
impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.passed + self.failed + self.skipped {
            all if all == self.passed => write!(f, "{all}"),
            all => write!(f, "{} of {all}", self.passed),
        }
    }
}

impl Report {
    pub fn failures(&self) -> impl Iterator<Item = (&Row, &Failure)> {
        self.rows.iter().filter_map(|row| match &row.verdict {
            Verdict::Failed(why) => Some((row, why)),
            Verdict::Passed | Verdict::Skipped(_) => None,
        })
    }

    pub fn passed(&self) -> usize {
        self.total().passed
    }

    pub fn skipped(&self) -> usize {
        self.total().skipped
    }

    fn verdict(&self, area: &str, name: &str) -> String {
        match self.rows.iter().find(|row| row.area == area && row.name == name).map(|row| &row.verdict) {
            Some(Verdict::Passed) => "✓".into(),
            Some(Verdict::Failed(why)) => {
                format!("✗ {}", why.to_string().replace('|', "\\|").replace('\n', " "))
            }
            Some(Verdict::Skipped(need)) => format!("skipped: needs {need:?}"),
            None => "not run".into(),
        }
    }

    fn areas(&self) -> BTreeMap<&'static str, Count> {
        let mut areas = BTreeMap::<_, Count>::new();
        for row in &self.rows {
            areas.entry(row.area).or_default().add(&row.verdict);
        }
        areas
    }

    fn total(&self) -> Count {
        let mut total = Count::default();
        self.rows.iter().for_each(|row| total.add(&row.verdict));
        total
    }
}

/// What each server made of each case, side by side: a page for people.
pub fn comparison(servers: &[(&str, &Report)]) -> String {
    let names: Vec<&str> = servers.iter().map(|(name, _)| *name).collect();
    let header = format!("| {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    let cells = |cells: Vec<String>| format!("{} |\n", cells.join(" | "));
    let mut text = String::from(
        "<!-- Written by `cargo xtask test-kubernetes`: mend the server or the case instead. -->\n\n# The contract\n\n\
         What Kubernetes' API does, as named cases (`crates/contract`), on the real server and on the one that our tests run on\n\
         (`crates/apiserver`). A difference is a bug of ours.\n\n",
    );
    text += &format!("| area {header}");
    for area in areas(servers) {
        let counts = servers
            .iter()
            .map(|(_, report)| report.areas().get(area).copied().unwrap_or_default().to_string());
        text += &format!("| {area} | {}", cells(counts.collect()));
    }
    let totals = servers.iter().map(|(_, report)| format!("**{}**", report.total()));
    text += &format!("| **all** | {}", cells(totals.collect()));
    for area in areas(servers) {
        text += &format!("\n## {area}\n\n| case {header}");
        let names: BTreeSet<&str> = servers
            .iter()
            .flat_map(|(_, report)| &report.rows)
            .filter(|row| row.area == area)
            .map(|row| row.name)
            .collect();
        for name in names {
            let verdicts = servers.iter().map(|(_, report)| report.verdict(area, name));
            text += &format!("| {} | {}", name.replace('_', " "), cells(verdicts.collect()));
        }
    }
    text
}

fn areas<'r>(servers: &[(&str, &'r Report)]) -> BTreeSet<&'r str> {
    servers.iter().flat_map(|(_, report)| &report.rows).map(|row| row.area).collect()
}

/// Every case that did not pass, then `N passed, M failed, K skipped`.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Row { area, name, verdict } in &self.rows {
            match verdict {
                Verdict::Passed => {}
                Verdict::Failed(why) => writeln!(f, "failed  {area}/{name}: {why}")?,
                Verdict::Skipped(need) => writeln!(f, "skipped {area}/{name}: needs {need:?}")?,
            }
        }
        let Count { passed, failed, skipped } = self.total();
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let row = |name, verdict| Row { area: "watch", name, verdict };
        Report {
            rows: vec![
                row("fine", Verdict::Passed),
                row("bad", Verdict::Failed(Failure::new("expected 1 | got 2"))),
                row("old", Verdict::Skipped(Need::Compaction)),
            ],
        }
    }

    #[test]
    fn the_text_names_what_did_not_pass() {
        let told = "failed  watch/bad: expected 1 | got 2\nskipped watch/old: needs Compaction\n1 passed, 1 failed, 1 skipped";
        assert_eq!(report().to_string(), told);
        assert_eq!(report().failures().count(), 1);
    }

    #[test]
    fn the_page_shows_both_servers_side_by_side() {
        let ours = Report { rows: vec![Row { area: "watch", name: "fine", verdict: Verdict::Passed }] };
        let page = comparison(&[("real", &report()), ("ours", &ours)]);
        assert!(page.contains("| area | real | ours |\n|---|---|---|\n| watch | 1 of 3 | 1 |"), "{page}");
        assert!(page.contains("| bad | ✗ expected 1 \\| got 2 | not run |"), "{page}");
        assert!(page.contains("| fine | ✓ | ✓ |"), "{page}");
    }
}
