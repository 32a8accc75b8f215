//! Calling cargo from here, in the root of the repository.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::tree;

/// The cargo that runs us, with these arguments.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(option_env!("CARGO").unwrap_or("cargo"));
    command.args(arguments).current_dir(tree::root());
    command
}

/// What it prints.
pub(crate) fn output(arguments: &[&str]) -> Result<String> {
    let done = command(arguments).output().context("cannot run cargo")?;
    let told = String::from_utf8(done.stdout).context("it does not print text")?;
    if !done.status.success() {
        bail!("`cargo {}` failed:\n{told}{}", arguments.join(" "), String::from_utf8_lossy(&done.stderr));
    }
    Ok(told)
}

/// Runs it for its effect, its output on ours.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let status = command(arguments).status().context("cannot run cargo")?;
    if !status.success() {
        bail!("`cargo {}` failed, see above", arguments.join(" "));
    }
    Ok(())
}
