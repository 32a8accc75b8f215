//! What a client was told, and whether all of it can be true: the oracle of the load.
//!
//! Every acknowledged write carries the revision at which it became true. So a history is linearizable if revisions are unique and
//! grow with real time (what was acknowledged before another request began is older), if no read is older than what was
//! acknowledged before it began, and if in the end every acknowledged write is found with its value.

use std::{collections::BTreeMap, fmt, time::Duration};

use tokio::time::Instant;

/// A write, or a read, that is under way: nothing that it brings may be older than what was known when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) number: u64,
    newest: i64,
}

#[derive(Debug, Clone, Copy)]
struct Acknowledged {
    revision: i64,
    /// A request that was sent twice may have had its effect twice.
    tries: u32,
}

/// What became of a load.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    next: u64,
    writes: BTreeMap<u64, Acknowledged>,
    numbers: BTreeMap<i64, u64>,
    newest: i64,
    newest_number: Option<u64>,
    reads: u64,
    retried: u64,
    failed: Vec<String>,
    wrong: Vec<String>,
    last: Option<Instant>,
    gap: Duration,
}

impl Journal {
    pub(crate) fn write_begins(&mut self) -> Begun {
        self.next += 1;
        Begun { number: self.next, newest: self.newest }
    }

    pub(crate) fn written(&mut self, write: Begun, revision: i64, tries: u32, now: Instant) {
        if revision <= write.newest {
            self.wrong.push(format!(
                "write {} got revision {revision}, though {} was acknowledged before it began",
                write.number, write.newest
            ));
        }
        if let Some(other) = self.numbers.insert(revision, write.number) {
            self.wrong.push(format!("writes {other} and {} both got revision {revision}", write.number));
        }
        self.writes.insert(write.number, Acknowledged { revision, tries });
        self.retried += u64::from(tries > 1);
        if revision > self.newest {
            (self.newest, self.newest_number) = (revision, Some(write.number));
        }
        if let Some(last) = self.last.replace(now) {
            self.gap = self.gap.max(now - last);
        }
    }

    /// A read of what was acknowledged last; nothing before the first write.
    pub(crate) fn read_begins(&self) -> Option<Begun> {
        Some(Begun { number: self.newest_number?, newest: self.newest })
    }

    /// What a read brought: the store's revision then, and whether the write that was asked for was there.
    pub(crate) fn read(&mut self, read: Begun, revision: i64, there: bool, tries: u32) {
        self.reads += 1;
        self.retried += u64::from(tries > 1);
        if revision < read.newest {
            self.wrong.push(format!(
                "a read saw revision {revision}, though {} was acknowledged before it began",
                read.newest
            ));
        }
        if !there {
            self.wrong.push(format!("a read did not find write {}, which was acknowledged", read.number));
        }
    }

    pub(crate) fn failed(&mut self, why: String) {
        self.failed.push(why);
    }

    /// How many writes were acknowledged so far.
    pub(crate) fn written_so_far(&self) -> usize {
        self.writes.len()
    }

    /// Compares with what is there in the end: by number, whether the value is the one that was written, and its revision.
    pub(crate) fn close(mut self, found: &BTreeMap<u64, (bool, i64)>) -> Report {
        for (number, Acknowledged { revision, tries }) in &self.writes {
            let lost = match found.get(number) {
                None => "is not there".to_owned(),
                Some((false, _)) => "has another value".to_owned(),
                Some((true, at)) if at < revision || (*tries == 1 && at != revision) => {
                    format!("is there with revision {at}")
                }
                Some(_) => continue,
            };
            self.wrong.push(format!("write {number}, acknowledged with revision {revision}, {lost}"));
        }
        let Self { writes, reads, retried, failed, wrong, gap, .. } = self;
        Report { writes: writes.len(), reads, retried, failed, wrong, gap }
    }
}

/// What a client of the cluster experienced.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) writes: usize,
    pub(crate) reads: u64,
    /// Requests that needed their second try.
    pub(crate) retried: u64,
    /// Requests that failed with their second try, too.
    pub(crate) failed: Vec<String>,
    /// What cannot be true of a linearizable store that loses nothing.
    pub(crate) wrong: Vec<String>,
    /// The longest time without an acknowledged write.
    pub(crate) gap: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { writes, reads, retried, failed, gap, .. } = self;
        let (failed, gap) = (failed.len(), gap.as_secs_f32());
        write!(
            f,
            "{writes} writes and {reads} reads, {retried} retried, {failed} failed, longest gap {gap:.2} s"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two writes, acknowledged one after the other with these revisions; then a read at a revision.
    fn told(revisions: [i64; 2], read: (i64, bool), found: &[(u64, bool, i64)]) -> Vec<String> {
        let mut journal = Journal::default();
        for revision in revisions {
            let write = journal.write_begins();
            journal.written(write, revision, 1, Instant::now());
        }
        let begun = journal.read_begins().unwrap();
        journal.read(begun, read.0, read.1, 1);
        let found = found.iter().map(|(number, same, at)| (*number, (*same, *at))).collect();
        journal.close(&found).wrong
    }

    const ALL: &[(u64, bool, i64)] = &[(1, true, 5), (2, true, 6)];

    #[test]
    fn a_good_history_is_good() {
        assert_eq!(told([5, 6], (6, true), ALL), Vec::<String>::new());
    }

    #[test]
    fn a_write_that_is_not_there_in_the_end_is_found() {
        assert_eq!(
            told([5, 6], (6, true), &ALL[..1]),
            ["write 2, acknowledged with revision 6, is not there"]
        );
        assert_eq!(
            told([5, 6], (6, true), &[(1, false, 5), (2, true, 7)]),
            [
                "write 1, acknowledged with revision 5, has another value",
                "write 2, acknowledged with revision 6, is there with revision 7"
            ]
        );
    }

    #[test]
    fn time_that_goes_back_is_found() {
        let wrong = told([6, 5], (6, true), &[(1, true, 6), (2, true, 5)]);
        assert_eq!(wrong, ["write 2 got revision 5, though 6 was acknowledged before it began"]);
        assert_eq!(
            told([5, 6], (5, true), ALL),
            ["a read saw revision 5, though 6 was acknowledged before it began"]
        );
        assert_eq!(told([5, 6], (6, false), ALL), ["a read did not find write 2, which was acknowledged"]);
    }

    #[test]
    fn a_revision_that_two_writes_got_is_found() {
        let mut journal = Journal::default();
        let (a, b) = (journal.write_begins(), journal.write_begins());
        journal.written(a, 5, 1, Instant::now());
        journal.written(b, 5, 1, Instant::now());
        let wrong = journal.close(&[(1, (true, 5)), (2, (true, 5))].into()).wrong;
        assert_eq!(wrong, ["writes 1 and 2 both got revision 5"]);
    }
}
