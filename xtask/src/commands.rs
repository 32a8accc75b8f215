//! The command line.

use clap::{Parser, Subcommand};

/// What a developer of Capstan runs.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub(crate) struct Command {
    #[command(subcommand)]
    pub(crate) run: Run,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Run {
    /// Write the generated files anew: docs/reference, and the output of the demo in README.md.
    Generate {
        /// Write nothing; fail when a file is not as it would be written.
        #[arg(long)]
        check: bool,
    },
}
