//! `cargo xtask conformance DIR`: upstream's recorded cases against our code.
//!
//! The work is done by the program `conformance-run`, for this one does not wait for the operators to compile.

use std::path::{self, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::cargo;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The directory with the cases, for example ../shared/conformance/prometheus.
    dir: PathBuf,
    /// Further arguments: --area AREA, --case PART, --differences.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    more: Vec<String>,
}

/// Its exit code is the program's: 1 when a case failed.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let dir = path::absolute(&options.dir).context("the current directory is gone")?;
    let status = cargo::command(&["run", "--quiet", "--package", "conformance-run", "--"])
        .arg(dir)
        .args(&options.more)
        .status()
        .context("cannot run cargo")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
