//! A token bucket: a burst at once, then one per interval.

use std::time::Duration;

use tokio::time::Instant;

/// How much a bucket holds, and how fast it fills again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) burst: u32,
    pub(super) every: Duration,
}

/// Tokens, and the time since which they have been filling up.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: Rate,
    tokens: u32,
    since: Instant,
}

impl Bucket {
    pub(super) fn full(rate: Rate, now: Instant) -> Self {
        Self { rate, tokens: rate.burst, since: now }
    }

    /// Takes one token, if there is one.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        self.refill(now);
        match self.tokens.checked_sub(1) {
            Some(left) => {
                self.tokens = left;
                true
            }
            None => false,
        }
    }

    /// Whether it holds all it can: such a bucket needs not be remembered.
    pub(super) fn is_full(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.tokens == self.rate.burst
    }

    fn refill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.since).as_nanos();
        let every = self.rate.every.as_nanos().max(1);
        let gained = u32::try_from(elapsed / every).unwrap_or(u32::MAX);
        if self.tokens.saturating_add(gained) >= self.rate.burst {
            self.tokens = self.rate.burst;
            self.since = now;
        } else {
            self.tokens += gained;
            self.since += self.rate.every * gained;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_through_then_one_per_interval() {
        let start = Instant::now();
        let mut bucket = Bucket::full(Rate { burst: 3, every: Duration::from_secs(10) }, start);
        let at = |seconds| start + Duration::from_secs(seconds);
        let taken: Vec<bool> =
            [0, 0, 0, 0, 9, 10, 11, 20, 100, 100, 100, 100].map(|s| bucket.take(at(s))).to_vec();
        let want = [true, true, true, false, false, true, false, true, true, true, true, false];
        assert_eq!(taken, want);
        assert!(!bucket.is_full(at(129)));
        assert!(bucket.is_full(at(130)));
    }
}
