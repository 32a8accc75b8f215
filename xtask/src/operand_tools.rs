//! What Prometheus and Alertmanager themselves say to what we generate for them, by their own checkers. It needs no Kubernetes.

use std::process::Command;

use anyhow::Result;
use lab::versions::Tool;

use crate::{cargo, lab::Timed};

/// The newest, and one of before: CI builds no more of them. `make campaign` takes all that are pinned.
const SAMPLE: &[(Tool, &[&str])] =
    &[(Tool::Promtool, &["3.15.0", "2.53.4"]), (Tool::Amtool, &["0.34.2", "0.27.0"])];

/// What the tests that ask a checker are called.
const TESTS: &[&str] = &["promtool_takes", "amtool_loads"];

/// The command that runs them, with the checkers that it needs.
pub(crate) fn tests(whole: bool) -> Result<Command> {
    let progress = Timed::start();
    let test = ["test", "--workspace", "--test", "conformance", "--", "--nocapture"];
    let mut tests = cargo::command(&[&test, TESTS].concat());
    for (tool, sample) in SAMPLE {
        let mut programs = Vec::new();
        for row in tool.versions().iter().filter(|row| whole || sample.contains(&row.version)) {
            let program = lab::binaries::tool(*tool, row.version, &progress)?;
            programs.push(format!("{}={}", row.version, program.display()));
        }
        tests.env(format!("CAPSTAN_{}", tool.name().to_uppercase()), programs.join(","));
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_pinned() {
        for (tool, sample) in SAMPLE {
            for version in *sample {
                assert!(tool.versions().iter().any(|row| row.version == *version), "{tool:?} {version}");
            }
        }
    }
}
