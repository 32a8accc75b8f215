//! `make test`: all tests that need nothing but this machine. One compilation, then as many test programs at a time as there are
//! cores: `cargo test` runs one after the other, and most of ours are short or use one core.

use std::{
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::{cargo, clock::now, progress, tally::Tally};

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
    tally: Tally,
}

/// Outcome of all programs.
#[derive(Default)]
struct Outcome {
    /// Names of the programs that failed.
    failed: Vec<String>,
    tally: Tally,
}

/// Those whose name contains `only`.
pub(crate) fn run(only: &str) -> Result<()> {
    let mut programs = compiled()?;
    programs.retain(|program| program.name.contains(only));
    programs.sort();
    let Outcome { mut failed, mut tally } = run_all(&programs);
    if only.is_empty() && failed.is_empty() && !examples(&mut tally)? {
        failed.push("the examples in the documentation".to_owned());
    }
    progress::print(&tally.to_string());
    if !failed.is_empty() {
        let again: Vec<String> = failed.iter().map(|name| format!("cargo xtask test '{name}'")).collect();
        bail!(
            "{} of {} test programs failed, see above; once more: {}",
            failed.len(),
            programs.len(),
            again.join(", ")
        );
    }
    Ok(())
}

fn compiled() -> Result<Vec<Program>> {
    let messages = cargo::compile(&["test", "--workspace", "--no-run"])?;
    Ok(messages.iter().filter_map(|line| program(line)).collect())
}

/// Runs the examples in the documentation; whether all of them passed. What they print is shown only when one fails.
fn examples(tally: &mut Tally) -> Result<bool> {
    let (began, mut said) = (now(), Vec::new());
    let mut ran = Tally::default();
    let command = cargo::command(&["test", "--workspace", "--doc", "--quiet"]);
    let describe = |time| format!("running the examples in the documentation, {}", progress::told(time));
    let status = progress::during(describe, || {
        cargo::read_lines(command, |line| {
            ran.read(line);
            said.push(line.to_owned());
        })
    })?;
    if !status.success() {
        progress::print(&said.join("\n"));
        if ran.failed() == 0 {
            ran.add_failure();
        }
    }
    progress::print(&format!(
        "{:>6.1} s  examples in the documentation  ({} passed)",
        began.elapsed().as_secs_f32(),
        ran.passed()
    ));
    tally.add(ran);
    Ok(status.success())
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

/// Runs them, and says how each went.
fn run_all(programs: &[Program]) -> Outcome {
    let (next, outcome) = (AtomicUsize::new(0), Mutex::new(Outcome::default()));
    let (running, passed) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let work = || {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            locked(&running).push((program.name.as_str(), now()));
            let ran = program.run(&passed);
            locked(&running).retain(|(name, _)| *name != program.name);
            // One writer at a time: a failure's output is in one piece.
            let mut outcome = locked(&outcome);
            outcome.tally.add(ran.tally);
            progress::print(&ran.line);
            if !ran.passed {
                progress::print(&ran.said);
                outcome.failed.push(program.name.clone());
            }
        }
    };
    let describe = |time| {
        let running = locked(&running).clone();
        let done = next.load(Ordering::Relaxed).min(programs.len()) - running.len();
        describe(&Status { done, of: programs.len(), passed: passed.load(Ordering::Relaxed), running, time })
    };
    progress::during(describe, || {
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(2, Into::into) {
                scope.spawn(work);
            }
        });
    });
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn locked<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a run of test programs is.
struct Status<'p> {
    done: usize,
    of: usize,
    /// Tests that passed so far.
    passed: usize,
    /// Programs that run, the oldest first, each with its start.
    running: Vec<(&'p str, Instant)>,
    time: Duration,
}

fn describe(status: &Status<'_>) -> String {
    let Status { done, of, passed, running, time } = status;
    let longest = running
        .first()
        .map(|(name, began)| format!("; longest running: {name}, {}", progress::told(began.elapsed())));
    let (time, longest) = (progress::told(*time), longest.unwrap_or_default());
    format!("testing: {done} of {of} test programs are done, {passed} tests passed, {time}{longest}")
}

impl Program {
    /// Runs it; adds to `passed` with every test that passes.
    fn run(&self, passed: &AtomicUsize) -> Ran {
        let began = now();
        let (well, said, mut tally) = self
            .listen(passed)
            .unwrap_or_else(|error| (false, format!("{}: {error}", self.path.display()), Tally::default()));
        if !well && tally.failed() == 0 {
            tally.add_failure();
        }
        let skipped = match tally.skipped().len() {
            0 => String::new(),
            skipped => format!(", {skipped} skipped"),
        };
        let counts = format!("{} passed, {} failed{skipped}", tally.passed(), tally.failed());
        let line = format!("{:>6.1} s  {}  ({counts})", began.elapsed().as_secs_f32(), self.name);
        Ran { passed: well, said, line, tally }
    }

    /// Whether it ended well, what it said but for the tests that passed, and their count.
    fn listen(&self, passed: &AtomicUsize) -> io::Result<(bool, String, Tally)> {
        let (output, theirs) = io::pipe()?;
        let mut command = Command::new(&self.path);
        // The same cases every time, so that a failure is about the change at hand; `make campaign` looks for new ones.
        command.env("PROPTEST_RNG_SEED", "1").env("CARGO_MANIFEST_DIR", &self.home).current_dir(&self.home);
        let mut child = command.stdout(theirs.try_clone()?).stderr(theirs).spawn()?;
        // It holds ends of the pipe that only the child should have.
        drop(command);
        let (mut said, mut tally) = (String::new(), Tally::default());
        for line in BufReader::new(output).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            tally.read(&line);
            if line.starts_with("test ") && line.ends_with(" ... ok") {
                passed.fetch_add(1, Ordering::Relaxed);
            } else {
                said += &line;
                said.push('\n');
            }
        }
        Ok((child.wait()?.success(), said, tally))
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
        let mut outcome = run_all(&programs);
        outcome.failed.sort_unstable();
        assert_eq!(outcome.failed, ["bad", "gone"]);
        assert_eq!(outcome.tally.to_string(), "0 passed, 2 failed, 0 skipped");
    }

    #[test]
    fn a_line_of_progress_names_the_program_that_runs_longest() {
        let (time, running) = (Duration::from_secs(60), vec![("etcd-operator test simulation", now())]);
        let status = Status { done: 12, of: 40, passed: 310, running, time };
        assert_eq!(
            describe(&status),
            "testing: 12 of 40 test programs are done, 310 tests passed, 1 min 0 s; \
             longest running: etcd-operator test simulation, 0 s"
        );
    }
}
