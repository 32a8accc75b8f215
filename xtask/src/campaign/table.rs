//! The table of a campaign, from the records of its stories.

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::progress;

const BEGIN: &str = "<!-- written by: cargo xtask campaign --write -->\n";
const END: &str = "<!-- end of the campaign's table -->";

/// Runs with one kind of fault.
struct Row {
    kind: String,
    runs: u64,
    differences: u64,
}

/// When, what and how; the runs of each story; the runs of each kind of fault.
pub(super) fn text(records: &[Value], extent: &str) -> String {
    let of =
        |record: &Value, field: &str| record.get(field).and_then(Value::as_str).unwrap_or("?").to_owned();
    let distinct = |field: &str| {
        let mut values: Vec<String> = records.iter().map(|record| of(record, field)).collect();
        values.sort();
        values.dedup();
        values.join(", ")
    };
    let mut text = format!(
        "Played on {} at commit {} with `cargo xtask campaign --extent {extent} --write`.\n\n",
        distinct("date"),
        distinct("commit")
    );
    text += "| operator | story | runs | differences | time |\n|---|---|---:|---:|---:|\n";
    let mut kinds: Vec<Row> = Vec::new();
    let (mut runs, mut differences, mut seconds) = (0, 0, 0);
    for record in records {
        let (mut played, mut wrong) = (0, 0);
        for row in rows(record) {
            played += row.runs;
            wrong += row.differences;
            match kinds.iter_mut().find(|known| known.kind == row.kind) {
                Some(known) => {
                    known.runs += row.runs;
                    known.differences += row.differences;
                }
                None => kinds.push(row),
            }
        }
        let took = record.get("seconds").and_then(Value::as_u64).unwrap_or_default();
        text += &format!(
            "| {} | {} | {played} | {wrong} | {} |\n",
            of(record, "operator"),
            of(record, "story"),
            time(took)
        );
        runs += played;
        differences += wrong;
        seconds += took;
    }
    text += &format!("| all | {} stories | {runs} | {differences} | {} |\n", records.len(), time(seconds));
    text += "\n| fault | runs | differences |\n|---|---:|---:|\n";
    for Row { kind, runs, differences } in &kinds {
        text += &format!("| {kind} | {runs} | {differences} |\n");
    }
    text
}

fn rows(record: &Value) -> Vec<Row> {
    let kinds = record.get("kinds").and_then(Value::as_array);
    let number = |count: &Value, field: &str| count.get(field).and_then(Value::as_u64).unwrap_or_default();
    let row = |count: &Value| Row {
        kind: count.get("kind").and_then(Value::as_str).unwrap_or("?").to_owned(),
        runs: number(count, "runs"),
        differences: number(count, "differences"),
    };
    kinds.into_iter().flatten().map(row).collect()
}

fn time(seconds: u64) -> String {
    progress::told(std::time::Duration::from_secs(seconds))
}

/// `document` with `text` between the marks.
pub(super) fn refresh(document: &str, text: &str) -> Result<String> {
    let lost = || format!("there must be `{}` and later `{END}`", BEGIN.trim_end());
    let (before, rest) = document.split_once(BEGIN).with_context(lost)?;
    let (_, after) = rest.split_once(END).with_context(lost)?;
    Ok(format!("{before}{BEGIN}\n{text}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(story: &str, crashes: u64, stale: u64, differences: u64) -> Value {
        json!({
            "operator": "etcd", "story": story, "date": "2026-11-18", "commit": "08c0032", "seconds": 70,
            "kinds": [
                {"kind": "crash before a write", "runs": crashes, "differences": differences},
                {"kind": "stale read", "runs": stale, "differences": 0},
            ],
        })
    }

    #[test]
    fn runs_are_summed_by_story_and_by_fault() {
        let expected = "\
Played on 2026-11-18 at commit 08c0032 with `cargo xtask campaign --extent crashes --write`.

| operator | story | runs | differences | time |
|---|---|---:|---:|---:|
| etcd | losses | 30 | 1 | 1 min 10 s |
| etcd | scaling | 12 | 0 | 1 min 10 s |
| all | 2 stories | 42 | 1 | 2 min 20 s |

| fault | runs | differences |
|---|---:|---:|
| crash before a write | 30 | 1 |
| stale read | 12 | 0 |
";
        assert_eq!(text(&[record("losses", 20, 10, 1), record("scaling", 10, 2, 0)], "crashes"), expected);
    }

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let document = format!("a\n{BEGIN}old\n{END}\nb\n");
        let fresh = refresh(&document, "new").unwrap();
        assert_eq!(fresh, format!("a\n{BEGIN}\nnew\n{END}\nb\n"));
        assert_eq!(refresh(&fresh, "new").unwrap(), fresh);
        assert!(refresh("a\n", "new").is_err());
    }

    /// The command writes there: the marks must not get lost.
    #[test]
    fn document_has_the_marks() {
        let document = std::fs::read_to_string(crate::tree::root().join(super::super::DOCUMENT)).unwrap();
        refresh(&document, "new").unwrap();
    }
}
