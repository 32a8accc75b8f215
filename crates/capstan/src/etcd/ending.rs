//! How a command of `capstan etcd` ends, for whoever started it: by itself, by a signal, or because nobody reads any more.
//!
//! The exit codes are those that shells give: scripts can tell that somebody pressed Ctrl-C from all being well.

use std::{fmt, process::ExitCode};

use anyhow::{Context as _, Error, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::output::{Unheard, complain};

/// Somebody stopped it. That is no failure to complain about, and no success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// Ctrl-C.
    Interrupted,
    Terminated,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped by a signal")
    }
}

impl std::error::Error for Stopped {}

/// Listens for signals. Whoever has it must answer them: they no longer end the process.
pub(super) struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    pub(super) fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for it. A signal that came before is not lost.
    pub(super) async fn asked(&mut self) -> Stopped {
        tokio::select! {
            _ = self.interrupt.recv() => Stopped::Interrupted,
            _ = self.terminate.recv() => Stopped::Terminated,
        }
    }
}

/// Says what went wrong, if something did.
pub(super) fn code(done: Result<()>) -> ExitCode {
    let Err(error) = done else { return ExitCode::SUCCESS };
    if error.downcast_ref::<Stopped>().is_none() && error.downcast_ref::<Unheard>().is_none() {
        complain(&error);
    }
    ExitCode::from(number(&error))
}

fn number(error: &Error) -> u8 {
    match error.downcast_ref::<Stopped>() {
        Some(Stopped::Interrupted) => 130,
        Some(Stopped::Terminated) => 143,
        // A reader that has seen enough is content.
        None if error.downcast_ref::<Unheard>().is_some() => 0,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn the_exit_code_tells_who_ended_it() {
        let cases = [
            (Error::new(Stopped::Interrupted), 130),
            (Error::new(Stopped::Terminated), 143),
            (Error::new(Unheard), 0),
            (Error::new(Stopped::Interrupted).context("while it waited"), 130),
            (anyhow!("EtcdCluster shop/db is gone"), 1),
        ];
        for (error, expected) in cases {
            assert_eq!(number(&error), expected, "{error:#}");
        }
    }
}
