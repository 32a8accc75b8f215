//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use kit::flags::OperatorFlags;

/// Runs applications on Kubernetes as their own operators would.
#[derive(Parser)]
#[command(name = "capstan", version, propagate_version = true)]
pub(crate) struct Command {
    #[command(subcommand)]
    pub(crate) run: Run,
}

#[derive(Subcommand)]
pub(crate) enum Run {
    /// Run the controllers until stopped.
    Operator(Box<Operator>),
    /// Print what `kubectl apply -f -` takes.
    Manifests {
        #[arg(value_enum)]
        what: Manifests,
        /// The image of the operator, and of the pods that it makes from its own image.
        #[arg(long, default_value = IMAGE)]
        image: String,
    },
    /// Print a page of docs/reference.
    #[command(hide = true)]
    Reference {
        #[arg(value_enum)]
        page: Page,
    },
    /// The application of the worked example: what its operator runs in pods.
    ExampleApp {
        #[command(subcommand)]
        command: example_app::app::Command,
    },
}

/// What `cargo xtask image` makes.
pub(crate) const IMAGE: &str = "capstan:dev";

#[derive(Debug, Args)]
pub(crate) struct Operator {
    /// The image that this operator itself is from: pods that need a program of ours get it.
    #[arg(long, env = "CAPSTAN_IMAGE", default_value = IMAGE, value_name = "IMAGE", help_heading = "Work")]
    pub(crate) image: String,

    #[command(flatten)]
    pub(crate) flags: OperatorFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Manifests {
    /// The definitions of our kinds.
    Crds,
    /// The operator, without the definitions.
    Operator,
    /// Everything: definitions and operator.
    Install,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Page {
    Flags,
    Metrics,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Command::command().debug_assert();
    }
}
