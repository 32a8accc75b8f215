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
    /// A real Kubernetes on this machine.
    #[command(subcommand)]
    Lab(crate::lab::Command),
    /// Make the images capstan:dev and capstan-s3:dev from release binaries.
    Image,
    /// Tell Capstan's story on a real Kubernetes: `make demo`.
    Demo(crate::demo::Options),
    /// Run the tests, several programs at a time: `make test`.
    Test {
        /// Only test programs whose name contains this, for example `kit` or `kit test campaign`.
        #[arg(default_value = "")]
        only: String,
    },
    /// Run the tests that need a real Kubernetes, phase by phase: `make test-kubernetes`.
    TestKubernetes(crate::phases::Options),
    /// Play every story with every crash, lost answer and stale read, and make the table of docs/reliability.md.
    Campaign(crate::campaign::Options),
    /// Put upstream's recorded cases to our code: a row per area, then `N passed, M failed`.
    Conformance(crate::conformance::Options),
    /// Write the generated files anew: docs/reference, deploy, and the output in docs/kit.md.
    Generate {
        /// Write nothing; fail when a file is not as it would be written.
        #[arg(long)]
        check: bool,
    },
}
