//! What this program writes for people and pipes: the only place that prints.

use std::{
    fmt,
    io::{self, ErrorKind, IsTerminal as _, Write as _},
};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use serde::Serialize;

/// What every command that shows something takes.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Output {
    /// For programs.
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Json,
    Yaml,
}

/// Writes data for programs.
pub(crate) fn structured(value: &impl Serialize, format: Format) -> Result<()> {
    say(&match format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(value)?),
        Format::Yaml => serde_saphyr::to_string(value).context("cannot be written as YAML")?,
    })
}

/// Writes to standard output. A reader that has seen enough (`| head`) is not an error.
pub(crate) fn say(text: &str) -> Result<()> {
    match go_on(text) {
        Err(error) if error.is::<Unheard>() => Ok(()),
        said => said,
    }
}

/// The same for what has no end of its own: without a reader there is nothing to go on for, which [`Unheard`] tells.
pub(crate) fn go_on(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Unheard.into()),
        written => written.context("cannot write to standard output"),
    }
}

/// Nobody reads standard output any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unheard;

impl fmt::Display for Unheard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads standard output any more")
    }
}

impl std::error::Error for Unheard {}

/// Whether a person looks at standard output.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Tells a person how it goes, beside what is written for pipes.
pub(crate) fn mention(text: &str) {
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// Writes what went wrong, with everything that led to it, to standard error.
pub(crate) fn complain(error: &anyhow::Error) {
    writeln!(io::stderr().lock(), "capstan: {error:#}").ok();
}
