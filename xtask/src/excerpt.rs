//! README.md shows a part of what the demo prints: every line of it must be one that the demo printed, times and numbers aside.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

/// What stands before the block.
const MARK: &str = "<!-- excerpt of: make demo -->\n```text\n";

/// The lines of the excerpt that were not told.
pub(crate) fn not_told(readme: &str, told: &str) -> Result<Vec<String>> {
    let (_, rest) = readme.split_once(MARK).context("README.md has no excerpt of the demo")?;
    let (shown, _) = rest.split_once("```").context("the excerpt in README.md has no end")?;
    let told: BTreeSet<String> = told.lines().map(essence).collect();
    Ok(shown.lines().filter(|line| !told.contains(&essence(line))).map(str::to_owned).collect())
}

/// A line without what differs from run to run: numbers, and the rule of a heading.
fn essence(line: &str) -> String {
    let line =
        line.split_once(" ──").filter(|_| line.starts_with("── ")).map_or(line, |(heading, _)| heading);
    line.chars().filter(|c| !c.is_ascii_digit()).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = "a\n<!-- excerpt of: make demo -->\n```text\n── Backup ──\n  ✓ done (1.5 s)\n```\nb";

    #[test]
    fn times_and_rules_may_differ() {
        assert!(not_told(README, "── Backup ───────── 17 s\n  ✓ done (22.0 s)\n").unwrap().is_empty());
    }

    #[test]
    fn a_line_that_was_not_told_is_found() {
        assert_eq!(not_told(README, "── Backup ── 17 s\n").unwrap(), ["  ✓ done (1.5 s)"]);
        assert!(not_told("nothing", "").is_err());
    }
}
