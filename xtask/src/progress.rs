//! Progress of long commands: when nothing was printed for 15 s, one line says what is going on, with or without a terminal.
#![expect(clippy::print_stdout, reason = "this is where long commands print")]

use std::{
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use crate::clock::now;

/// Longest time without a line.
const SILENCE: Duration = Duration::from_secs(15);

/// When this process last printed a line. Standard output belongs to the whole process, so this does, too.
static PRINTED: Mutex<Option<Instant>> = Mutex::new(None);

/// Prints a line, and postpones the next line of progress.
pub(crate) fn print(line: &str) {
    // Held while printing: lines of several threads stay whole.
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{line}");
    *printed = Some(now());
}

/// Does `work`. Whenever nothing was printed for 15 s, prints what `describe` says about the time since the start.
pub(crate) fn during<T>(describe: impl Fn(Duration) -> String + Sync, work: impl FnOnce() -> T) -> T {
    let began = now();
    let line = || describe(began.elapsed());
    let last = || *PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    watched(SILENCE, || last().map_or(began, |printed| printed.max(began)), || print(&line()), work)
}

/// Does `work`; calls `tell` whenever `last` is `silence` ago. `tell` is expected to move `last`.
fn watched<T>(
    silence: Duration,
    last: impl Fn() -> Instant + Sync,
    tell: impl Fn() + Sync,
    work: impl FnOnce() -> T,
) -> T {
    let (done, ends) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(|| {
            let ends = ends;
            let mut wait = silence;
            // Ends when `done` is dropped, also by a panic of `work`.
            while ends.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
                wait = left(silence, last(), now());
                if wait.is_zero() {
                    tell();
                    wait = silence;
                }
            }
        });
        let _done = done;
        work()
    })
}

/// Time until a line of progress is due; zero when it is.
fn left(silence: Duration, printed: Instant, now: Instant) -> Duration {
    silence.saturating_sub(now.saturating_duration_since(printed))
}

/// `45 s`, or `3 min 20 s`.
pub(crate) fn told(time: Duration) -> String {
    match (time.as_secs() / 60, time.as_secs() % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_due_after_silence_only() {
        let printed = now();
        let after = |seconds| left(SILENCE, printed, printed + Duration::from_secs(seconds));
        assert_eq!(after(4), Duration::from_secs(11));
        assert_eq!(after(15), Duration::ZERO);
        assert_eq!(after(100), Duration::ZERO);
    }

    #[test]
    fn silent_work_is_described_until_it_ends() {
        let (lines, told) = mpsc::channel();
        let began = now();
        let seen = watched(
            Duration::from_millis(1),
            || began,
            || lines.send(()).unwrap(),
            || (told.recv().unwrap(), told.recv().unwrap()),
        );
        assert_eq!(seen, ((), ()));
    }

    #[test]
    fn work_that_prints_is_not_described() {
        let began = now();
        let ahead = began + Duration::from_secs(3600);
        let (looked, looks) = mpsc::channel();
        let last = || {
            looked.send(()).unwrap();
            ahead
        };
        watched(Duration::from_millis(1), last, || panic!("nothing is due"), || looks.recv().unwrap());
    }

    #[test]
    fn times_are_in_minutes_and_seconds() {
        assert_eq!(told(Duration::from_millis(45_900)), "45 s");
        assert_eq!(told(Duration::from_secs(200)), "3 min 20 s");
    }
}
