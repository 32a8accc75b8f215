//! What a developer runs beside cargo: `cargo xtask generate`. The tree's invariants are this crate's tests.

mod cargo;
mod commands;
mod generate;
#[cfg(test)]
mod invariants;
mod tree;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let commands::Command { run } = commands::Command::parse();
    let done = match run {
        commands::Run::Generate { check: false } => generate::run(generate::Mode::Write),
        commands::Run::Generate { check: true } => generate::run(generate::Mode::Check),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "this is how a command line program reports")]
            {
                eprintln!("xtask: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}
