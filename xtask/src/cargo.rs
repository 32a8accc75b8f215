//! Calling cargo from here, in the root of the repository.
//!
//! Always with all of the workspace, and with what tests need: cargo unites the features of what it is asked for, and would
//! compile the same crates anew for every other selection.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::tree;

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
