//! How far it is: a bar that is drawn over itself for a person, a line every few seconds for a log, and figures for programs that ask.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::serve::Pages;
use crate::look::{bar, words::bytes};

const FOR_PEOPLE: Duration = Duration::from_millis(200);
const FOR_LOGS: Duration = Duration::from_secs(5);

/// Told on standard error, so that standard output stays for the result.
pub(super) struct Progress {
    what: &'static str,
    /// Nobody knows it exactly while etcd goes on writing.
    about: u64,
    amount: Amount,
    is_terminal: bool,
    began: Instant,
    told: Mutex<Instant>,
}

/// How an amount is said.
type Amount = fn(u64) -> String;

fn in_bytes(amount: u64) -> String {
    bytes(i64::try_from(amount).unwrap_or(i64::MAX))
}

impl Progress {
    pub(super) fn start(what: &'static str, about: u64) -> Self {
        Self::counting(what, about, in_bytes)
    }

    /// Of something else than bytes.
    pub(super) fn counting(what: &'static str, about: u64, amount: Amount) -> Self {
        let now = Instant::now();
        Self {
            what,
            about,
            amount,
            is_terminal: io::stderr().is_terminal(),
            began: now,
            told: Mutex::new(now),
        }
    }

    pub(super) fn at(&self, done: u64) {
        let mut told = self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let pause = if self.is_terminal { FOR_PEOPLE } else { FOR_LOGS };
        if told.elapsed() < pause {
            return;
        }
        *told = Instant::now();
        self.draw(done);
    }

    /// The last word, with what it came to.
    pub(super) fn end(&self, done: u64) {
        self.draw(done.max(1));
        if self.is_terminal {
            writeln!(io::stderr()).ok();
        }
    }

    fn draw(&self, done: u64) {
        let line = line(self.what, done, self.about, self.amount, self.began.elapsed());
        let mut out = io::stderr().lock();
        match self.is_terminal {
            true => write!(out, "\r\x1b[K{line}"),
            false => writeln!(out, "{line}"),
        }
        .and_then(|()| out.flush())
        .ok();
    }
}

/// The same for programs, see [`super::serve`].
#[derive(Debug, Default)]
pub(super) struct Meter {
    began: Mutex<Option<Instant>>,
    done: AtomicU64,
    total: AtomicU64,
}

impl Meter {
    pub(super) fn begin(&self, total: u64) {
        *self.began.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Instant::now());
        self.total.store(total, Relaxed);
    }

    pub(super) fn at(&self, done: u64) {
        self.done.store(done, Relaxed);
    }

    fn figures(&self) -> Value {
        let began = *self.began.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let took = began.map_or(Duration::ZERO, |began| began.elapsed());
        let done = self.done.load(Relaxed);
        let total = self.total.load(Relaxed).max(done);
        json!({ "bytes": done, "total": total, "bytesPerSecond": rate(done, took) })
    }

    /// What is served.
    pub(super) fn pages(meter: &Arc<Self>) -> Pages {
        let meter = meter.clone();
        Arc::new(move |path| (path == "/progress").then(|| ("application/json", meter.figures().to_string())))
    }
}

fn rate(done: u64, took: Duration) -> i64 {
    (done as f64 / took.as_secs_f64().max(0.001)) as i64
}

fn line(what: &str, done: u64, about: u64, amount: Amount, took: Duration) -> String {
    let rate = u64::try_from(rate(done, took)).unwrap_or_default();
    format!("{what} {} {} of {}, {}/s", bar(done, about), amount(done), amount(about.max(done)), amount(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whoever_asks_is_told_the_figures_and_nothing_else() {
        let meter = Arc::new(Meter::default());
        assert_eq!(meter.figures(), json!({"bytes": 0, "total": 0, "bytesPerSecond": 0}));
        meter.begin(100);
        meter.at(50);
        tokio::time::advance(Duration::from_secs(5)).await;
        let pages = Meter::pages(&meter);
        let (_, page) = pages("/progress").unwrap();
        assert_eq!(page, r#"{"bytes":50,"bytesPerSecond":10,"total":100}"#);
        assert!(pages("/").is_none());
    }

    #[test]
    fn it_says_how_much_of_what_and_how_fast() {
        let line = line("taking", 512 << 20, 2 << 30, in_bytes, Duration::from_secs(4));
        assert_eq!(line, "taking █████░░░░░░░░░░░░░░░ 512.0 MiB of 2.0 GiB, 128.0 MiB/s");
    }
}
