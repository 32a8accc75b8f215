//! How long a failing key waits: twice as long each time, with a little chance in it so that equal failures spread out.

use std::time::Duration;

/// The delays of one queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// After the first failure.
    pub first: Duration,
    /// The longest delay.
    pub longest: Duration,
}

impl Default for Backoff {
    /// client-go starts at 5 ms too, but ends at 16 minutes: too long for somebody who has just mended the cause elsewhere.
    fn default() -> Self {
        Self { first: Duration::from_millis(5), longest: Duration::from_secs(300) }
    }
}

impl Backoff {
    /// The delay after `failures` failures in a row. `chance` is in `0.0..1.0` and moves it by up to a tenth either way.
    pub fn delay(&self, failures: u32, chance: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(30);
        let exact = self.first.saturating_mul(1 << doublings).min(self.longest);
        exact.mul_f64(0.9 + 0.2 * chance.clamp(0.0, 1.0))
    }
}
