//! What the application counts, as Prometheus text.

use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use super::versions::AppVersion;

/// Over how many seconds the request rate is averaged.
const WINDOW: u64 = 10;

#[derive(Debug)]
pub(super) struct Metrics {
    started: Instant,
    requests: Mutex<Requests>,
}

#[derive(Debug, Default)]
struct Requests {
    total: u64,
    /// Requests in each of the last seconds: `(second, count)`, at the second modulo the window.
    recent: [(u64, u64); WINDOW as usize],
}

/// What is looked at when it is asked for.
pub(super) struct Gauges {
    pub(super) notes: usize,
    pub(super) healthy: bool,
    /// Hits, misses, bytes.
    pub(super) cache: (u64, u64, usize),
}

impl Metrics {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), requests: Mutex::default() }
    }

    /// Counts a request for notes; probes and scrapes are not load.
    pub(super) fn request(&self) {
        let now = self.started.elapsed().as_secs();
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.total += 1;
        for (_, slot) in (0..).zip(&mut requests.recent).filter(|(at, _)| *at == now % WINDOW) {
            *slot = (now, if slot.0 == now { slot.1 + 1 } else { 1 });
        }
    }

    fn rate(&self) -> (u64, f64) {
        let now = self.started.elapsed().as_secs();
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let recent: u64 =
            requests.recent.iter().filter(|(second, _)| second + WINDOW > now).map(|(_, count)| count).sum();
        (requests.total, recent as f64 / WINDOW as f64)
    }

    pub(super) fn encode(&self, version: &AppVersion, gauges: &Gauges) -> String {
        let (total, rate) = self.rate();
        let (hits, misses, bytes) = gauges.cache;
        let build = format!("{{version=\"{}\",format=\"{}\"}}", version.version, version.format.number());
        let row = |name: &str, labels: &str, kind: &str, help: &str, value: f64| {
            format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{labels} {value}\n")
        };
        [
            row("notes_total", "", "gauge", "Notes on the volume.", gauges.notes as f64),
            row(
                "notes_healthy",
                "",
                "gauge",
                "1 as long as the data is as it was written.",
                f64::from(u8::from(gauges.healthy)),
            ),
            row("notes_requests_total", "", "counter", "Requests for notes.", total as f64),
            row("notes_requests_per_second", "", "gauge", "Requests for notes, average of 10 s.", rate),
            row("notes_cache_hits_total", "", "counter", "Notes found in the cache.", hits as f64),
            row("notes_cache_misses_total", "", "counter", "Notes read from the volume.", misses as f64),
            row("notes_cache_bytes", "", "gauge", "Size of the cache.", bytes as f64),
            row("notes_build_info", &build, "gauge", "The application's version.", 1.0),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn the_rate_is_that_of_the_last_ten_seconds() {
        let metrics = Metrics::new();
        for _ in 0..30 {
            metrics.request();
            tokio::time::advance(Duration::from_millis(500)).await;
        }
        assert_eq!(metrics.rate(), (30, 1.8), "9 whole seconds with 2 each, and the one that began just now");
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(metrics.rate(), (30, 0.0));
    }
}
