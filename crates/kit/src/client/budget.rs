//! How many retries there are for everybody together. Retries help against a hiccup; against a broken server they multiply
//! the load that broke it. So they are paid for from a bucket which fills slowly, and faster while requests succeed.

use std::time::Duration;

use tokio::time::Instant;

/// The size of the bucket, and how it fills.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryBudget {
    /// Retries that can be made at once, after a quiet time.
    pub burst: u32,
    /// Retries that come back every second, whatever happens: a client with little traffic may retry, too.
    pub per_second: f64,
    /// Retries that every success brings back: 0.1 allows a tenth more load than without retries.
    pub per_success: f64,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self { burst: 20, per_second: 1.0, per_success: 0.1 }
    }
}

/// The bucket.
#[derive(Debug)]
pub(super) struct Bucket {
    budget: RetryBudget,
    tokens: f64,
    filled_at: Instant,
}

impl Bucket {
    pub(super) fn full(budget: RetryBudget, now: Instant) -> Self {
        Self { budget, tokens: f64::from(budget.burst), filled_at: now }
    }

    /// A request was answered properly.
    pub(super) fn succeeded(&mut self) {
        self.add(self.budget.per_success);
    }

    /// Pays for one retry, if there is enough left.
    pub(super) fn pay(&mut self, now: Instant) -> bool {
        let passed: Duration = now.saturating_duration_since(self.filled_at);
        self.filled_at = now;
        self.add(passed.as_secs_f64() * self.budget.per_second);
        let enough = self.tokens >= 1.0;
        if enough {
            self.tokens -= 1.0;
        }
        enough
    }

    fn add(&mut self, tokens: f64) {
        self.tokens = (self.tokens + tokens).min(f64::from(self.budget.burst));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens, a letter each: `r` a retry is asked for, `s` a success, `.` a second passes. Returns which retries were allowed.
    fn run(budget: RetryBudget, events: &str) -> String {
        let mut now = Instant::now();
        let mut bucket = Bucket::full(budget, now);
        let mut answers = String::new();
        for event in events.chars() {
            match event {
                'r' => answers.push(if bucket.pay(now) { 'y' } else { 'n' }),
                's' => bucket.succeeded(),
                _ => now += Duration::from_secs(1),
            }
        }
        answers
    }

    #[test]
    fn retries_are_paid_for_from_what_time_and_successes_bring() {
        let budget = RetryBudget { burst: 3, per_second: 0.5, per_success: 0.25 };
        // events, which retries are allowed
        let table = [
            ("rrrr", "yyyn"),
            ("rrr.r.r", "yyyny"),
            ("rrrrssssr", "yyyny"),
            ("rrrrsssr", "yyynn"),
            ("....................rrrr", "yyyn"),
            ("ssssssssssssssssssssrrrr", "yyyn"),
        ];
        for (events, allowed) in table {
            assert_eq!(run(budget, events), allowed, "{events}");
        }
    }

    #[test]
    fn a_server_that_fails_everything_gets_its_burst_and_then_one_retry_a_second() {
        let storm = "rrrrrrrrrr.".repeat(60);
        let allowed = run(RetryBudget::default(), &storm).matches('y').count();
        assert_eq!(allowed, 20 + 59);
    }
}
