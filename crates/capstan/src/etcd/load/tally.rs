//! What was written, so that reads can be judged; and what came of it all, in figures.

use std::{fmt, time::Duration};

use tokio::time::Instant;

/// What was written so far.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// The last write that was tried.
    tried: u64,
    /// The last write that was acknowledged.
    acknowledged: u64,
    /// The highest value that was ever read.
    seen: u64,
    /// Whether a read is next.
    read: bool,
}

impl Book {
    /// What to write next; nothing when it is time to read.
    pub(super) fn next(&mut self) -> Option<u64> {
        self.read = !self.read;
        if !self.read {
            return None;
        }
        self.tried += 1;
        Some(self.tried)
    }

    pub(super) fn acknowledged(&mut self, number: u64) {
        self.acknowledged = number;
    }

    /// Whether a linearizable read may have found this. What an earlier run left behind does not count before our first write.
    pub(super) fn judge(&mut self, found: Option<u64>) -> Result<(), String> {
        let value = found.unwrap_or(0);
        if self.acknowledged == 0 {
            return Ok(());
        }
        if value < self.acknowledged || value < self.seen {
            let least = self.acknowledged.max(self.seen);
            return Err(format!("an acknowledged write is lost: {value} was read after {least}"));
        }
        if value > self.tried {
            return Err(format!("{value} was read, and nobody wrote it"));
        }
        self.seen = value;
        Ok(())
    }
}

/// How one request went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Went {
    Well,
    /// The second endpoint answered.
    AtSecond,
    /// Nobody answered.
    Failed(String),
    /// The answer was wrong.
    Wrong(String),
}

/// What came of it all.
#[derive(Debug, Default)]
pub(super) struct Tally {
    requests: u64,
    at_second: u64,
    failed: u64,
    wrong: u64,
    last: Option<Instant>,
    longest: Duration,
}

impl Tally {
    pub(super) fn add(&mut self, went: &Went, now: Instant) {
        self.requests += 1;
        match went {
            Went::Well => {}
            Went::AtSecond => self.at_second += 1,
            Went::Failed(_) => self.failed += 1,
            Went::Wrong(_) => self.wrong += 1,
        }
        if let Went::Well | Went::AtSecond = went {
            let pause = self.last.map_or(Duration::ZERO, |last| now - last);
            self.longest = self.longest.max(pause);
            self.last = Some(now);
        }
    }

    pub(super) fn is_bad(&self) -> bool {
        self.failed > 0 || self.wrong > 0
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, at_second, failed, wrong, longest, .. } = self;
        write!(
            f,
            "{requests} requests: {failed} failed, {wrong} wrong, {at_second} answered by the second endpoint; longest pause {:.2} s",
            longest.as_secs_f32()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_finds_the_last_acknowledged_write_or_one_whose_answer_was_lost() {
        let mut book = Book::default();
        assert_eq!(book.next(), Some(1));
        assert_eq!(book.next(), None);
        assert_eq!(book.judge(Some(77)), Ok(()), "left behind by an earlier run");
        assert_eq!(book.next(), Some(2));
        book.acknowledged(2);
        assert_eq!(book.judge(Some(2)), Ok(()));
        assert_eq!(book.judge(None).unwrap_err(), "an acknowledged write is lost: 0 was read after 2");
        assert_eq!((book.next(), book.next()), (None, Some(3)));
        // Its answer was lost: both are right, but once it was seen it stays.
        assert_eq!(book.judge(Some(2)), Ok(()));
        assert_eq!(book.judge(Some(3)), Ok(()));
        assert_eq!(book.judge(Some(2)).unwrap_err(), "an acknowledged write is lost: 2 was read after 3");
        assert_eq!(book.judge(Some(4)).unwrap_err(), "4 was read, and nobody wrote it");
    }

    #[test]
    fn figures_are_of_answers_and_of_the_time_between_them() {
        let (mut tally, start) = (Tally::default(), Instant::now());
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        tally.add(&Went::Well, after(0));
        tally.add(&Went::Failed("no".into()), after(300));
        tally.add(&Went::AtSecond, after(1250));
        assert!(tally.is_bad());
        assert_eq!(
            tally.to_string(),
            "3 requests: 1 failed, 0 wrong, 1 answered by the second endpoint; longest pause 1.25 s"
        );
    }
}
