//! The operands' own checkers, of several versions: what `cargo xtask test-kubernetes prometheus-tools` hands to tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::find::environment;

/// As many as the smallest machine has cores.
const AT_ONCE: usize = 2;

/// As many files as a checker is given in one go. Only where it refuses one of them, each is put to it alone.
const BATCH: usize = 40;

/// What promtool and amtool say to a file that they take.
const TAKEN: &str = "SUCCESS";

/// Tests of one program run side by side: each run has a file of its own.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// A checker and the version of the operand that it speaks for.
#[derive(Clone, Debug)]
pub struct Tool {
    pub version: String,
    program: PathBuf,
}

/// The checkers that a variable names: `3.15.0=/path/promtool,2.53.4=/other/promtool`.
#[must_use]
pub fn tools(variable: &str) -> Vec<Tool> {
    let given = environment(variable).unwrap_or_default();
    let pairs = given.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(version, program)| Tool { version: version.to_owned(), program: PathBuf::from(program) })
        .collect()
}

impl Tool {
    /// Puts each text to the checker, as a file of its own below `directory`: what it says to those that it refuses, by name.
    ///
    /// # Panics
    /// When a file cannot be written or the program does not start: then nothing was checked.
    #[must_use]
    pub fn refused(
        &self,
        arguments: &[&str],
        texts: &[(String, String)],
        directory: &Path,
    ) -> Vec<(String, String)> {
        let each = texts.len().div_ceil(AT_ONCE).max(1);
        thread::scope(|scope| {
            let runs: Vec<_> = texts
                .chunks(each)
                .map(|share| {
                    let run = RUNS.fetch_add(1, Ordering::Relaxed);
                    let file = move |at: usize| directory.join(format!("{}-{run}-{at}.yaml", process::id()));
                    scope.spawn(move || {
                        let batches = share.chunks(BATCH);
                        batches.flat_map(|batch| self.refused_of(arguments, batch, &file)).collect::<Vec<_>>()
                    })
                })
                .collect();
            runs.into_iter().flat_map(|run| run.join().unwrap_or_else(|_| unreachable_run())).collect()
        })
    }

    fn refused_of(
        &self,
        arguments: &[&str],
        batch: &[(String, String)],
        file: &dyn Fn(usize) -> PathBuf,
    ) -> Vec<(String, String)> {
        let files: Vec<PathBuf> = (0..batch.len()).map(file).collect();
        for (file, (_, text)) in files.iter().zip(batch) {
            fs::write(file, text).unwrap_or_else(|error| unwritten(file, &error));
        }
        let mut refused = Vec::new();
        if self.said(arguments, &files).is_some() {
            let alone = files.iter().zip(batch);
            refused.extend(alone.filter_map(|(file, (name, _))| {
                let said = self.said(arguments, std::slice::from_ref(file))?;
                Some((name.clone(), said.replace(&*file.to_string_lossy(), name)))
            }));
        }
        files.iter().for_each(|file| drop(fs::remove_file(file)));
        refused
    }

    /// What the checker says to files, if it refuses one of them.
    ///
    /// Its exit code alone is no answer: `promtool check rules` before 2.48 passes over a file that cannot be parsed, and ends
    /// well. All of them say [`TAKEN`] to each file that they take.
    #[expect(clippy::panic, reason = "a checker that did not run has checked nothing")]
    fn said(&self, arguments: &[&str], files: &[PathBuf]) -> Option<String> {
        let done = Command::new(&self.program).args(arguments).args(files).output();
        let output = done.unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let taken = said.matches(TAKEN).count() >= files.len();
        (!output.status.success() || !taken).then_some(said)
    }
}

#[expect(clippy::panic, reason = "a file that was not written was not checked")]
fn unwritten(file: &Path, error: &std::io::Error) {
    panic!("{}: {error}", file.display())
}

#[expect(clippy::panic, reason = "the thread has said why")]
fn unreachable_run() -> Vec<(String, String)> {
    panic!("a run of the checker ended early")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// What this shell script says to two files, as a checker.
    fn refused_by(script: &str) -> Vec<(String, String)> {
        let directory = std::env::temp_dir().join(format!("capstan-tools-{}", process::id()));
        fs::create_dir_all(&directory).unwrap();
        let tool = Tool { version: "1.0.0".to_owned(), program: PathBuf::from("sh") };
        let texts = [("first", "good"), ("second", "bad")].map(|(name, text)| (name.into(), text.into()));
        let refused = tool.refused(&["-c", script, "sh"], &texts, &directory);
        fs::remove_dir_all(&directory).unwrap();
        refused
    }

    #[test]
    fn a_file_is_taken_when_the_checker_says_so_and_ends_well() {
        assert_eq!(refused_by("for file; do echo SUCCESS; done"), []);
        // As promtool 2.47 passes over a file.
        let silent =
            r#"for file; do echo "Checking $file"; grep -q good "$file" && echo SUCCESS; done; exit 0"#;
        assert_eq!(refused_by(silent), [("second".to_owned(), "Checking second\n".to_owned())]);
        assert_eq!(refused_by("for file; do echo SUCCESS; done; exit 1").len(), 2);
    }
}
