//! How far it is: a bar that is drawn over itself for a person, a line every few seconds for a log.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::Mutex,
    time::Duration,
};

use tokio::time::Instant;

use crate::look::{bar, words::bytes};

const FOR_PEOPLE: Duration = Duration::from_millis(200);
const FOR_LOGS: Duration = Duration::from_secs(5);

/// Told on standard error, so that standard output stays for the result.
pub(super) struct Progress {
    what: &'static str,
    /// Nobody knows it exactly while etcd goes on writing.
    about: u64,
    is_terminal: bool,
    began: Instant,
    told: Mutex<Instant>,
}

impl Progress {
    pub(super) fn start(what: &'static str, about: u64) -> Self {
        let now = Instant::now();
        Self { what, about, is_terminal: io::stderr().is_terminal(), began: now, told: Mutex::new(now) }
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
        let line = line(self.what, done, self.about, self.began.elapsed());
        let mut out = io::stderr().lock();
        match self.is_terminal {
            true => write!(out, "\r\x1b[K{line}"),
            false => writeln!(out, "{line}"),
        }
        .and_then(|()| out.flush())
        .ok();
    }
}

fn line(what: &str, done: u64, about: u64, took: Duration) -> String {
    let rate = (done as f64 / took.as_secs_f64().max(0.001)) as i64;
    let size = |size: u64| bytes(i64::try_from(size).unwrap_or(i64::MAX));
    format!("{what} {} {} of {}, {}/s", bar(done, about), size(done), size(about.max(done)), bytes(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_much_of_what_and_how_fast() {
        let line = line("taking", 512 << 20, 2 << 30, Duration::from_secs(4));
        assert_eq!(line, "taking █████░░░░░░░░░░░░░░░ 512.0 MiB of 2.0 GiB, 128.0 MiB/s");
    }
}
