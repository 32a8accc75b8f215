//! A test that returns early has asserted nothing. It must be reported as skipped, in the one form that is counted.

use crate::tree::File;

/// What reports a skipped test; a function whose name ends so has done it.
const REPORTS: &[&str] = &["skipped::because(", "or_skipped("];

/// How many lines above a return are looked at.
const ABOVE: usize = 4;

/// Finds tests that return early without a report, and reports in another form than the one that is counted.
pub(super) fn silent(files: &[File]) -> Vec<String> {
    let rust = files.iter().filter(|file| file.is_rust() && file.path != "xtask/src/invariants/skipping.rs");
    rust.flat_map(|file| early_returns(file).chain(other_forms(file))).collect()
}

fn early_returns(file: &File) -> impl Iterator<Item = String> {
    let lines: Vec<(usize, &str)> = file.lines().collect();
    let mut broken = Vec::new();
    // The indentation of the test that a line is in.
    let mut test: Option<&str> = None;
    for (at, (number, line)) in lines.iter().enumerate() {
        let text = line.trim_start();
        let (indent, _) = line.split_at(line.len() - text.len());
        if text.starts_with("#[test]") || text.starts_with("#[tokio::test") {
            test = Some(indent);
        } else if text == "}" && test == Some(indent) {
            test = None;
        }
        let returns = text.contains("return;") || text.contains("return }");
        let above = lines.get(at.saturating_sub(ABOVE)..=at).unwrap_or_default();
        if test.is_some() && returns && !above.iter().any(|(_, line)| is_fine(line)) {
            broken
                .push(format!("{}:{number}: the test returns early; call skipped::because first", file.path));
        }
    }
    broken.into_iter()
}

/// Reported, or not early: something was asserted just before.
fn is_fine(line: &str) -> bool {
    REPORTS.iter().any(|report| line.contains(report)) || line.contains("assert")
}

fn other_forms(file: &File) -> impl Iterator<Item = String> {
    let counted = |rest: &str| rest.starts_with(' ') || rest.starts_with('"');
    let found =
        file.lines().filter(move |(_, line)| line.split("\"SKIPPED").skip(1).any(|rest| !counted(rest)));
    found.map(|(number, _)| format!("{}:{number}: not counted; call skipped::because", file.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        silent(&[File::new("a/tests/a.rs", text)])
    }

    #[test]
    fn early_return_without_report_is_found() {
        for skip in ["return;", "let Some(data) = data() else { return };"] {
            for attribute in ["#[test]", "#[tokio::test(start_paused = true)]"] {
                let text = format!("{attribute}\nfn a() {{\n    {skip}\n    assert!(true);\n}}\n");
                assert_eq!(
                    found(&text),
                    ["a/tests/a.rs:3: the test returns early; call skipped::because first"],
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn reported_returns_and_other_functions_are_fine() {
        let reported = "#[test]\nfn a() {\n    if no_data() {\n        skipped::because(\"no data\");\n        return;\n    }\n}\n";
        let asserted = "#[test]\nfn a() {\n    loop {\n        assert!(b);\n        return;\n    }\n}\n";
        let shared =
            "#[test]\nfn a() {\n    let Some(data) = data_or_skipped(\"crds\") else { return };\n}\n";
        let no_test = "#[test]\nfn a() {\n}\nfn b() {\n    return;\n}\n";
        for text in [reported, asserted, shared, no_test] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }

    #[test]
    fn report_that_is_not_counted_is_found() {
        assert_eq!(
            found("println!(\"SKIPPED: no data\");\n"),
            ["a/tests/a.rs:1: not counted; call skipped::because"]
        );
        assert!(found("println!(\"SKIPPED {name}: no data\");\n").is_empty());
    }
}
