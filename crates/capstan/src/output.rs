//! What this program writes for people and pipes: the only place that prints.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};

/// Writes to standard output. A reader that has seen enough (`| head`) is not an error.
pub(crate) fn say(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}

/// Whether a person looks at standard output.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Writes what went wrong, with everything that led to it, to standard error.
pub(crate) fn complain(error: &anyhow::Error) {
    writeln!(io::stderr().lock(), "capstan: {error:#}").ok();
}
