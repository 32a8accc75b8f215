//! How much may be under way at once, learnt from the server: add one after a window of successes, halve on a 429, as TCP
//! does. API priority and fairness rejects what exceeds our share; the share changes, so no fixed number would be right.

use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Aimd {
    limit: usize,
    max: usize,
    /// Successes since the limit last changed.
    successes: usize,
    halved_at: Option<Instant>,
}

impl Aimd {
    pub(super) fn new(max: usize) -> Self {
        let max = max.max(1);
        Self { limit: max, max, successes: 0, halved_at: None }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn succeeded(&mut self) {
        self.successes += 1;
        if self.successes >= self.limit && self.limit < self.max {
            self.limit += 1;
            self.successes = 0;
        }
    }

    /// A request that began at `began` was refused. Refusals of requests that were already out when the limit was halved are
    /// the same congestion, seen again: thirty-two of them must not halve it five times.
    pub(super) fn refused(&mut self, began: Instant, now: Instant) {
        if self.halved_at.is_some_and(|halved_at| began <= halved_at) {
            return;
        }
        self.limit = (self.limit / 2).max(1);
        self.successes = 0;
        self.halved_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Events: `s` success, `r` refusal of a new request, `o` refusal of a request from the very beginning. Returns the limit after each.
    fn run(max: usize, events: &str) -> Vec<usize> {
        let start = Instant::now();
        let mut aimd = Aimd::new(max);
        let step = |(i, event): (usize, char)| {
            let now = start + Duration::from_secs(1 + i as u64);
            match event {
                's' => aimd.succeeded(),
                'r' => aimd.refused(now - Duration::from_millis(10), now),
                _ => aimd.refused(start, now),
            }
            aimd.limit()
        };
        events.chars().enumerate().map(step).collect()
    }

    #[test]
    fn refusals_halve_and_windows_of_successes_add_one() {
        assert_eq!(
            run(8, "rrrrr"),
            [4, 2, 1, 1, 1],
            "never below one: somebody must find out that it is over"
        );
        assert_eq!(run(8, "ooo"), [4, 4, 4], "one congestion, one halving");
        assert_eq!(run(8, "or"), [4, 2], "and a second one is a second one");
        assert_eq!(run(4, "rssssss"), [2, 2, 3, 3, 3, 4, 4], "a window is as many successes as the limit");
        assert_eq!(run(2, "ssss"), [2, 2, 2, 2], "never above what was asked for");
        assert_eq!(run(4, "rsrss"), [2, 2, 1, 2, 2], "a refusal starts the window anew");
        assert_eq!(run(0, "s"), [1], "no limit would be a dead client");
    }
}
