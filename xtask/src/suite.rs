//! `make test`: all tests that need nothing but this machine. One compilation, then as many test programs at a time as there are
//! cores: `cargo test` runs one after the other, and most of ours are short or use one core.
#![expect(clippy::print_stdout, reason = "a long job tells where it is")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{cargo, clock::now};

/// A compiled test program.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Program {
    /// Whole-operator tests take longest: they begin first, so that the end is not one of them alone.
    is_unit: bool,
    name: String,
    path: PathBuf,
    /// Where cargo would run it.
    home: PathBuf,
}

/// What became of it.
struct Ran {
    passed: bool,
    /// What it said; for people only when it failed.
    said: String,
    line: String,
}

/// Those whose name contains `only`.
pub(crate) fn run(only: &str) -> Result<()> {
    let mut programs = compiled()?;
    programs.retain(|program| program.name.contains(only));
    programs.sort();
    let failed = run_all(&programs);
    if !failed.is_empty() {
        let again: Vec<String> = failed.iter().map(|name| format!("cargo xtask test '{name}'")).collect();
        bail!(
            "{} of {} test programs failed, see above; once more: {}",
            failed.len(),
            programs.len(),
            again.join(", ")
        );
    }
    if only.is_empty() {
        println!("examples in the documentation");
        cargo::run(&["test", "--workspace", "--doc", "--quiet"])?;
    }
    Ok(())
}

fn compiled() -> Result<Vec<Program>> {
    let mut command = cargo::command(&[
        "test",
        "--workspace",
        "--no-run",
        "--quiet",
        "--message-format=json-render-diagnostics",
    ]);
    let done = command.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    if !done.status.success() {
        bail!("the tests do not compile, see above");
    }
    let told = String::from_utf8(done.stdout).context("cargo does not print text")?;
    Ok(told.lines().filter_map(program).collect())
}

/// From one line of cargo's report.
fn program(line: &str) -> Option<Program> {
    let told: Value = serde_json::from_str(line).ok()?;
    let test = told.pointer("/profile/test")?.as_bool()?;
    let path = PathBuf::from(told.get("executable")?.as_str().filter(|_| test)?);
    let home = Path::new(told.get("manifest_path")?.as_str()?).parent()?.to_path_buf();
    let target = told.pointer("/target/name")?.as_str()?;
    let kind = told.pointer("/target/kind/0")?.as_str()?;
    let package = home.file_name()?.to_str()?;
    Some(Program { is_unit: kind != "test", name: format!("{package} {kind} {target}"), path, home })
}

/// Runs them, says how each went, and gives the names of those that failed.
fn run_all(programs: &[Program]) -> Vec<&str> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ran = program.run();
            // One writer at a time: a failure's output is in one piece.
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            println!("{}", ran.line);
            if !ran.passed {
                println!("{}", ran.said);
                failed.push(program.name.as_str());
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, Into::into) {
            scope.spawn(work);
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Program {
    fn run(&self) -> Ran {
        let began = now();
        let mut command = Command::new(&self.path);
        // The same cases every time, so that a failure is about the change at hand; `make campaign` looks for new ones.
        command.env("PROPTEST_RNG_SEED", "1");
        let done =
            command.current_dir(&self.home).env("CARGO_MANIFEST_DIR", &self.home).arg("--quiet").output();
        let (passed, said) = match done {
            Ok(done) => {
                let texts =
                    [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
                (done.status.success(), texts.concat())
            }
            Err(error) => (false, format!("{}: {error}", self.path.display())),
        };
        let result =
            said.lines().rev().find_map(|line| line.strip_prefix("test result: ")).unwrap_or("no result");
        let counts: Vec<&str> = result.split("; ").take(2).collect();
        let line =
            format!("{:>6.1} s  {}  ({})", began.elapsed().as_secs_f32(), self.name, counts.join(", "));
        Ran { passed, said, line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_in_cargos_report_and_nothing_else() {
        let line = |kind: &str, test: bool| {
            serde_json::json!({
                "reason": "compiler-artifact", "manifest_path": "/src/crates/kit/Cargo.toml",
                "target": {"kind": [kind], "name": "campaign"}, "profile": {"test": test}, "executable": "/target/campaign-1"})
            .to_string()
        };
        let found = program(&line("test", true)).unwrap();
        assert_eq!(
            (found.name.as_str(), found.home.to_str()),
            ("kit test campaign", Some("/src/crates/kit"))
        );
        assert!(!found.is_unit && program(&line("lib", true)).unwrap().is_unit);
        assert_eq!(program(&line("bin", false)), None);
        assert_eq!(program(r#"{"reason": "build-finished", "success": true}"#), None);
    }

    #[test]
    fn a_program_that_fails_is_named_and_one_that_passes_is_not() {
        let program = |name: &str, path: &str| Program {
            is_unit: true,
            name: name.to_owned(),
            path: path.into(),
            home: "/".into(),
        };
        let programs =
            [program("good", "/bin/true"), program("bad", "/bin/false"), program("gone", "/no/such/program")];
        let mut failed = run_all(&programs);
        failed.sort_unstable();
        assert_eq!(failed, ["bad", "gone"]);
    }
}
