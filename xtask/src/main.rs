//! What a developer runs beside cargo: the lab, images, the demo, generated files. The tree's invariants are this crate's tests.

mod campaign;
mod cargo;
mod clock;
mod commands;
mod conformance;
mod demo;
mod excerpt;
mod generate;
mod image;
#[cfg(test)]
mod invariants;
mod lab;
#[cfg(test)]
mod markdown;
mod operand_tools;
mod phases;
mod progress;
mod release;
mod suite;
mod tally;
mod tree;
mod walkthrough;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let commands::Command { run } = commands::Command::parse();
    let done = match run {
        commands::Run::Conformance(options) => return finish(conformance::run(&options)),
        commands::Run::Lab(command) => lab::run(command),
        commands::Run::Image => image::run(&lab::Timed::start()),
        commands::Run::Demo(options) => demo::run(&options),
        commands::Run::Test { only } => suite::run(&only),
        commands::Run::TestKubernetes(options) => phases::run(&options),
        commands::Run::Campaign(options) => campaign::run(&options),
        commands::Run::Generate { check: false } => generate::run(generate::Mode::Write),
        commands::Run::Generate { check: true } => generate::run(generate::Mode::Check),
    };
    finish(done.map(|()| ExitCode::SUCCESS))
}

fn finish(done: anyhow::Result<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|error| {
        #[expect(clippy::print_stderr, reason = "this is how a command line program reports")]
        {
            eprintln!("xtask: {error:#}");
        }
        ExitCode::FAILURE
    })
}
