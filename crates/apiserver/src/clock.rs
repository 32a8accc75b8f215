//! The server's wall clock: it moves with tokio's, so that paused time is paused here too.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    epoch: Timestamp,
    since: Instant,
}

impl Clock {
    /// Shows `epoch` now.
    pub(crate) fn starting_at(epoch: Timestamp) -> Self {
        Self { epoch, since: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.since.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }
}

/// Kubernetes' `metav1.Time`: RFC 3339 in whole seconds.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `time` + whole seconds.
pub(crate) fn plus_seconds(time: Timestamp, seconds: i64) -> Timestamp {
    time.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(time)
}
