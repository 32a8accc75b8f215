//! What the application counts, as Prometheus text.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Over how long the request rate is averaged.
const WINDOW: Duration = Duration::from_secs(10);
/// More requests than these are not remembered one by one: then the rate is at least so many in the window.
const MOST: usize = 100_000;

/// Requests for notes; probes and scrapes are not load.
#[derive(Debug, Default)]
pub(super) struct Requests(Mutex<(u64, VecDeque<Instant>)>);

impl Requests {
    pub(super) fn count(&self) {
        let (total, recent) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *total += 1;
        recent.push_back(Instant::now());
        if recent.len() > MOST {
            recent.pop_front();
        }
    }

    /// How many there have been, and how many in a second, of late.
    pub(super) fn rate(&self) -> (u64, f64) {
        let (total, recent) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|at| at.elapsed() < WINDOW);
        (*total, recent.len() as f64 / WINDOW.as_secs_f64())
    }
}

/// A metric: its name, its labels in braces, its type, its meaning, its value.
pub(super) type Row<'a> = (&'a str, &'a str, &'a str, &'a str, f64);

pub(super) fn text(rows: &[Row<'_>]) -> String {
    let row = |(name, labels, kind, help, value): &Row<'_>| {
        format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{labels} {value}\n")
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_rate_is_that_of_the_last_ten_seconds() {
        let requests = Requests::default();
        for _ in 0..30 {
            requests.count();
            tokio::time::advance(Duration::from_millis(500)).await;
        }
        assert_eq!(requests.rate(), (30, 1.9), "the one of ten seconds ago is over");
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(requests.rate(), (30, 0.0));
    }
}
