//! Calling cargo from here, in the root of the repository.
//!
//! Always with all of the workspace, and with what tests need: cargo unites the features of what it is asked for, and would
//! compile the same crates anew for every other selection.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context as _, Result, bail};

use crate::{progress, tree};

/// cargo with these arguments. The one on PATH, which follows rust-toolchain.toml: the one that compiled us may have been another.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(tree::root());
    command
}

/// What a program of ours prints.
pub(crate) fn output(target: Target<'_>, arguments: &[&str]) -> Result<String> {
    let program = built(target)?;
    let done = Command::new(&program).args(arguments).output().context("cannot run it")?;
    let told = String::from_utf8(done.stdout).context("it does not print text")?;
    if !done.status.success() {
        bail!(
            "`{} {}` failed:\n{told}{}",
            program.display(),
            arguments.join(" "),
            String::from_utf8_lossy(&done.stderr)
        );
    }
    Ok(told)
}

/// Runs it for its effect, its output on ours.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    finish(command(arguments), arguments)
}

/// Compiles, with lines of progress; returns cargo's messages about what it made.
pub(crate) fn compile(arguments: &[&str]) -> Result<Vec<String>> {
    let mut command = command(arguments);
    command.args(["--quiet", "--message-format=json-render-diagnostics"]);
    let (made, mut messages) = (AtomicUsize::new(0), Vec::new());
    let describe = |time| {
        format!("compiling: {} crates are done, {}", made.load(Ordering::Relaxed), progress::told(time))
    };
    let status = progress::during(describe, || {
        read_lines(command, |line| {
            if line.contains(r#""reason":"compiler-artifact""#) {
                made.fetch_add(1, Ordering::Relaxed);
            }
            messages.push(line.to_owned());
        })
    })?;
    if !status.success() {
        bail!("`cargo {}` failed, see above", arguments.join(" "));
    }
    Ok(messages)
}

/// Runs a command and calls `read` for each line of its standard output.
pub(crate) fn read_lines(mut command: Command, mut read: impl FnMut(&str)) -> Result<ExitStatus> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot run {name}"))?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.with_context(|| format!("cannot read the output of {name}"))?;
            read(&String::from_utf8_lossy(&line));
        }
    }
    child.wait().with_context(|| format!("cannot wait for {name}"))
}

/// The same, for a long job beside others: it gives way to them.
pub(crate) fn run_giving_way(arguments: &[&str]) -> Result<()> {
    let mut nice = Command::new("nice");
    nice.args(["-n", "10", "cargo"]).args(arguments).current_dir(tree::root());
    finish(nice, arguments)
}

fn finish(mut command: Command, arguments: &[&str]) -> Result<()> {
    if !command.status().context("cannot run cargo")?.success() {
        bail!("`cargo {}` failed, see above", arguments.join(" "));
    }
    Ok(())
}

/// A program of ours.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    Binary(&'a str),
    Example(&'a str),
}

/// Compiles it with the features that tests have; gives its path.
pub(crate) fn built(target: Target<'_>) -> Result<PathBuf> {
    // An example makes cargo take the tests' dependencies into account, for the binary as well.
    let (selection, path) = match target {
        Target::Binary(name) => {
            (["--bin", name, "--example", "tour"].to_vec(), format!("target/debug/{name}"))
        }
        Target::Example(name) => (["--example", name].to_vec(), format!("target/debug/examples/{name}")),
    };
    run(&[&["build", "--quiet", "--workspace"], &*selection].concat())?;
    Ok(tree::root().join(path))
}
