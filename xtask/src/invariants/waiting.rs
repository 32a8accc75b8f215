//! Tests never wait for a wall clock, and none is left out.
//!
//! A test may sleep in paused time: tokio's clock then jumps to the next deadline, and an hour costs nothing. What tests share may
//! sleep where all of them are paused. `crates/simulation` sleeps in its `src`, on a runtime that it has paused itself.

use std::collections::BTreeMap;

use crate::tree::File;

pub(super) fn ignored(files: &[File]) -> Vec<String> {
    let lines = files
        .iter()
        .filter(|file| file.is_rust())
        .flat_map(|file| file.lines().map(move |line| (file, line)));
    let ignored = lines.filter(|(_, (_, line))| {
        let line = line.trim_start();
        let attribute = line.starts_with("#[") && words(line).any(|word| word == "ignore");
        attribute || (line.starts_with("//") && line.contains("```ignore"))
    });
    ignored
        .map(|(file, (number, _))| format!("{}:{number}: ignored; repair it or delete it", file.path))
        .collect()
}

/// Where processes of the machine are looked at again and again until a condition holds: they do not tell.
const LOOKS_AGAIN: &[&str] = &["crates/lab/tests/lab/main.rs"];

pub(super) fn sleeping(files: &[File]) -> Vec<String> {
    let mut groups: BTreeMap<&str, Vec<Tests<'_>>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust() && !LOOKS_AGAIN.contains(&file.path.as_str())) {
        groups.entry(group(file)).or_default().push(Tests::of(file));
    }
    groups.values().flat_map(|tests| sleeping_group(tests)).collect()
}

/// The lines of a file that only tests run, with their numbers.
struct Tests<'t> {
    path: &'t str,
    lines: Vec<(usize, &'t str)>,
}

impl<'t> Tests<'t> {
    fn of(file: &'t File) -> Self {
        let whole = file.path.contains("/tests/") || file.path.ends_with("/tests.rs");
        let lines = file.lines().skip_while(|(_, line)| !whole && !line.starts_with("#[cfg(test)]"));
        Self { path: &file.path, lines: lines.collect() }
    }
}

fn sleeping_group(tests: &[Tests<'_>]) -> Vec<String> {
    let lines = || tests.iter().flat_map(|file| &file.lines).map(|(_, line)| *line);
    let mut live = lines().filter(|line| line.contains("#[tokio::test") && !paused(line));
    // A test that makes its own runtime says `.start_paused(true)`.
    let all_paused = live.next().is_none() && lines().any(|line| line.contains("start_paused"));
    let mut broken = Vec::new();
    for Tests { path, lines } in tests {
        for (at, (number, line)) in lines.iter().enumerate().filter(|(_, (_, line))| sleeps(line)) {
            let allowed = match test_attribute(lines.get(..at).unwrap_or_default()) {
                Some(attribute) => paused(attribute),
                None => all_paused,
            };
            if !allowed || line.contains("thread::") {
                broken.push(format!("{path}:{number}: sleeps; wait for a condition, or in paused time"));
            }
        }
    }
    broken
}

fn paused(attribute: &str) -> bool {
    attribute.contains("start_paused = true")
}

/// `#[tokio::test(…)]` of the function that these lines lead into, if it has that.
fn test_attribute<'t>(before: &[(usize, &'t str)]) -> Option<&'t str> {
    const STARTS: &[&str] = &["fn ", "async fn ", "pub fn ", "pub async fn "];
    let function = |line: &str| STARTS.iter().any(|start| line.starts_with(start));
    let above = before.iter().rev().map(|(_, line)| line.trim_start());
    let mut attributes =
        above.skip_while(|line| !function(line)).skip(1).take_while(|line| line.starts_with("#["));
    attributes.find(|line| line.starts_with("#[tokio::test"))
}

/// What does not say itself how time goes there goes with the module that it is a part of: `tests/kit/lead/world.rs` with `tests/kit/lead.rs`, and
/// `tests/lab/faults.rs` with `tests/lab/main.rs`.
fn group(file: &File) -> &str {
    let path = file.path.as_str();
    let directory = path.rsplit_once('/').map_or(path, |(directory, _)| directory);
    let says = file.lines().any(|(_, line)| line.contains("#[tokio::test") || line.contains("start_paused"));
    match path.strip_suffix(".rs") {
        Some(stem) if !path.contains("/tests/") || says && !stem.ends_with("/main") => stem,
        _ => directory,
    }
}

fn sleeps(line: &str) -> bool {
    // Not in comments, and not in strings: every second part is between two quotes.
    let code: String = line.split("//").next().unwrap_or(line).split('"').step_by(2).collect();
    let calls = |name: &str| code.split(name).skip(1).any(|rest| rest.starts_with('('));
    words(&code).any(|word| word == "sleep" && calls(word) || word == "sleep_until" && calls(word))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLEEP: &str = "    tokio::time::sleep(SECOND).await;\n";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = files.iter().map(|(path, text)| File::new(path, text)).collect();
        let places = ignored(&files).into_iter().chain(sleeping(&files));
        places.map(|place| place.split(": ").next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn an_ignored_test_is_found_however_it_is_written() {
        for attribute in
            ["#[ignore]", "#[ignore = \"slow\"]", "#[cfg_attr(not(slow), ignore)]", "//! ```ignore"]
        {
            assert_eq!(
                found(&[("a/src/a.rs", &format!("#[test]\n{attribute}\n"))]),
                ["a/src/a.rs:2"],
                "{attribute}"
            );
        }
        assert!(found(&[("a/src/a.rs", "#[allow(clippy::ignored_unit_patterns)]\n")]).is_empty());
    }

    #[test]
    fn a_sleep_is_found_unless_time_is_paused() {
        let live = format!("#[tokio::test]\nasync fn a() {{\n{SLEEP}");
        let paused = format!("#[tokio::test(start_paused = true)]\nasync fn a() {{\n{SLEEP}");
        assert_eq!(found(&[("a/tests/a.rs", &live)]), ["a/tests/a.rs:3"]);
        assert_eq!(found(&[("a/tests/a.rs", &format!("{paused}{live}"))]), ["a/tests/a.rs:6"]);
        assert!(found(&[("a/tests/a.rs", &paused)]).is_empty());
        assert_eq!(
            found(&[("a/src/a.rs", &format!("{SLEEP}#[cfg(test)]\nmod tests {{\n{live}"))]),
            ["a/src/a.rs:6"]
        );
        assert!(found(&[("a/src/a.rs", SLEEP)]).is_empty(), "not a test");
    }

    #[test]
    fn what_tests_share_may_sleep_where_all_of_them_are_paused() {
        let shared = format!("async fn settle() {{\n{SLEEP}}}\n");
        let (paused, live) = ("#[tokio::test(start_paused = true)]\n", "#[tokio::test]\n");
        assert!(found(&[("a/tests/b/main.rs", paused), ("a/tests/b/world.rs", &shared)]).is_empty());
        assert!(found(&[("a/tests/b/c.rs", paused), ("a/tests/b/c/world.rs", &shared)]).is_empty());
        assert_eq!(
            found(&[("a/tests/c.rs", paused), ("a/tests/b/world.rs", &shared)]),
            ["a/tests/b/world.rs:2"]
        );
        assert_eq!(found(&[("a/tests/a.rs", &format!("{shared}{paused}{live}"))]), ["a/tests/a.rs:2"]);
    }

    #[test]
    fn a_thread_that_sleeps_is_found_in_paused_time_too() {
        let thread = "#[tokio::test(start_paused = true)]\nasync fn a() {\n    std::thread::sleep(SECOND);\n";
        assert_eq!(found(&[("a/tests/a.rs", thread)]), ["a/tests/a.rs:3"]);
    }
}
