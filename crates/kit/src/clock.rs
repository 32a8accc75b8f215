//! The only place that asks what time it is, so that tests can own the answer.
//!
//! Durations are always measured on tokio's monotonic clock, which `tokio::time::pause` takes over. Wall-clock time is for
//! what people read (conditions, events, leases) and comes from a [`Clock`].

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Wall-clock time. Cheap to clone.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Source);

#[derive(Debug, Clone, Copy)]
enum Source {
    System,
    /// Starts at a given time and moves with tokio's clock, so that paused time is paused here too.
    Virtual {
        epoch: Timestamp,
        since: Instant,
    },
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that shows `epoch` now and moves with tokio's clock: for tests.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self(Source::Virtual { epoch, since: Instant::now() })
    }

    /// What the wall clock shows.
    pub fn now(&self) -> Timestamp {
        match self.0 {
            #[expect(clippy::disallowed_methods, reason = "this is the one place")]
            Source::System => Timestamp::now(),
            Source::Virtual { epoch, since } => {
                let elapsed = SignedDuration::try_from(since.elapsed()).unwrap_or(SignedDuration::MAX);
                epoch.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// Monotonic time, for deadlines and ages.
    pub fn instant(&self) -> Instant {
        Instant::now()
    }
}
