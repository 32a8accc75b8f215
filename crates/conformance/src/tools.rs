//! The operands' own checkers, of several versions: what `cargo xtask test-kubernetes prometheus-tools` hands to tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::find::environment;

/// As many as the smallest machine has cores.
const AT_ONCE: usize = 2;

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
                    let file = directory.join(format!("{}-{run}.yaml", process::id()));
                    scope.spawn(move || {
                        let said = |(name, text): &(String, String)| {
                            self.said(arguments, text, &file).map(|said| (name.clone(), said))
                        };
                        share.iter().filter_map(said).collect::<Vec<_>>()
                    })
                })
                .collect();
            runs.into_iter().flat_map(|run| run.join().unwrap_or_else(|_| unreachable_run())).collect()
        })
    }

    /// What the checker says to a text that it refuses.
    #[expect(clippy::panic, reason = "a checker that did not run has checked nothing")]
    fn said(&self, arguments: &[&str], text: &str, file: &Path) -> Option<String> {
        let done = fs::write(file, text)
            .and_then(|()| Command::new(&self.program).args(arguments).arg(file).output());
        let output =
            done.unwrap_or_else(|error| panic!("{} on {}: {error}", self.program.display(), file.display()));
        let said = [output.stdout, output.stderr].concat();
        (!output.status.success()).then(|| String::from_utf8_lossy(&said).into_owned())
    }
}

#[expect(clippy::panic, reason = "the thread has said why")]
fn unreachable_run() -> Vec<(String, String)> {
    panic!("a run of the checker ended early")
}
