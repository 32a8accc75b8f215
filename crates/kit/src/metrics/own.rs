//! What an application counts of itself, so that its operator can scale it and people can see it: a rate, and a page of Prometheus
//! text. [`scrape`](crate::scrape) reads such pages.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Over how long a rate is averaged.
const WINDOW: Duration = Duration::from_secs(10);
/// More than these are not remembered one by one: then the rate is at least so many in the window.
const MOST: usize = 100_000;

/// How often something happens, such as requests: in all, and of late.
#[derive(Debug, Default)]
pub struct Rate(Mutex<(u64, VecDeque<Instant>)>);

impl Rate {
    /// It happened.
    pub fn count(&self) {
        let (total, recent) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *total += 1;
        recent.push_back(Instant::now());
        if recent.len() > MOST {
            recent.pop_front();
        }
    }

    /// How often it has happened, and how often in a second, on average of the last ten.
    pub fn read(&self) -> (u64, f64) {
        let (total, recent) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|at| at.elapsed() < WINDOW);
        (*total, recent.len() as f64 / WINDOW.as_secs_f64())
    }
}

/// A figure: its name, its labels in braces, its type, its meaning, its value.
pub type Figure<'a> = (&'a str, &'a str, &'a str, &'a str, f64);

/// A page of figures in the Prometheus text format.
pub fn page(figures: &[Figure<'_>]) -> String {
    let figure = |(name, labels, kind, help, value): &Figure<'_>| {
        format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{labels} {value}\n")
    };
    figures.iter().map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_rate_is_that_of_the_last_ten_seconds() {
        let requests = Rate::default();
        for _ in 0..30 {
            requests.count();
            tokio::time::advance(Duration::from_millis(500)).await;
        }
        assert_eq!(requests.read(), (30, 1.9), "the one of ten seconds ago is over");
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(requests.read(), (30, 0.0));
    }

    #[test]
    fn a_page_says_of_every_figure_what_it_is() {
        let text = page(&[("a", "{b=\"c\"}", "gauge", "An a.", 1.5)]);
        assert_eq!(text, "# HELP a An a.\n# TYPE a gauge\na{b=\"c\"} 1.5\n");
    }
}
