//! What came of a run: a row per case, and a table for people.

use std::{collections::BTreeMap, fmt};

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

    /// A row per area, then every case that did not pass.
    pub fn to_markdown(&self) -> String {
        let mut text = String::from("| area | passed | failed | skipped |\n|---|---|---|---|\n");
        for (area, Count { passed, failed, skipped }) in self.areas() {
            text += &format!("| {area} | {passed} | {failed} | {skipped} |\n");
        }
        let Count { passed, failed, skipped } = self.total();
        text += &format!("| **all** | **{passed}** | **{failed}** | **{skipped}** |\n");
        if passed < self.rows.len() {
            text += "\n| case | what came |\n|---|---|\n";
        }
        for Row { area, name, verdict } in &self.rows {
            match verdict {
                Verdict::Passed => {}
                Verdict::Failed(why) => {
                    let why = why.to_string().replace('|', "\\|").replace('\n', " ");
                    text += &format!("| {area}/{name} | failed: {why} |\n");
                }
                Verdict::Skipped(need) => text += &format!("| {area}/{name} | skipped: needs {need:?} |\n"),
            }
        }
        text
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
    fn the_table_has_a_row_per_area() {
        let table = report().to_markdown();
        assert!(table.contains("| watch | 1 | 1 | 1 |\n| **all** | **1** | **1** | **1** |"), "{table}");
        assert!(table.contains("| watch/bad | failed: expected 1 \\| got 2 |"), "{table}");
    }
}
