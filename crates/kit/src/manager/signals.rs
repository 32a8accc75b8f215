//! SIGTERM and SIGINT: the first asks for a graceful stop, the second gets it at once.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by the first SIGTERM or SIGINT. The second one ends the process by the signal's own effect.
pub fn until_signalled() -> std::io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let asked = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: finishing what is running; a second signal stops at once");
        asked.cancel();
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        // Nothing that matters is lost: an operator must survive a kill -9 at any point.
        tracing::warn!("stopped by a second signal");
        std::process::abort();
    });
    Ok(stop)
}
