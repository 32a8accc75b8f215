//! Puts and gets.
//!
//! Every acknowledged write carries the revision at which it became true. So a history is linearizable if revisions are unique and
//! grow with real time (what was acknowledged before another request began is older), if no read is older than what was
//! acknowledged before it began, and if in the end every acknowledged write is found with its value.

use std::{collections::BTreeMap, time::Duration};

use super::{Stamp, identity::Identity};

/// A write, or a read, that is under way: nothing that it brings may be older than what was known when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    pub number: u64,
    newest: i64,
}

#[derive(Debug, Clone, Copy)]
struct Acknowledged {
    cluster: u64,
    revision: i64,
    /// A request that was sent twice may have had its effect twice.
    tries: u32,
}

/// The writes and reads of a load.
#[derive(Debug, Default)]
pub struct Writes {
    next: u64,
    writes: BTreeMap<u64, Acknowledged>,
    numbers: BTreeMap<i64, u64>,
    newest: i64,
    newest_number: Option<u64>,
    reads: u64,
    wrong: Vec<String>,
    last: Option<Duration>,
    gap: Duration,
}

/// What became of them.
#[derive(Debug)]
pub struct Outcome {
    pub writes: usize,
    pub reads: u64,
    /// The longest time without an acknowledged write.
    pub gap: Duration,
    /// What cannot be true of a linearizable store that loses nothing.
    pub wrong: Vec<String>,
}

impl Writes {
    pub fn write_begins(&mut self) -> Begun {
        self.next += 1;
        Begun { number: self.next, newest: self.newest }
    }

    /// Records an acknowledgement; `now` is the time since the load began.
    pub fn written(&mut self, write: Begun, stamp: Stamp, tries: u32, now: Duration) {
        let Stamp { cluster, revision, .. } = stamp;
        if revision <= write.newest {
            self.wrong.push(format!(
                "write {} got revision {revision}, though {} was acknowledged before it began",
                write.number, write.newest
            ));
        }
        if let Some(other) = self.numbers.insert(revision, write.number) {
            self.wrong.push(format!("writes {other} and {} both got revision {revision}", write.number));
        }
        self.writes.insert(write.number, Acknowledged { cluster, revision, tries });
        if revision > self.newest {
            (self.newest, self.newest_number) = (revision, Some(write.number));
        }
        if let Some(last) = self.last.replace(now) {
            self.gap = self.gap.max(now.saturating_sub(last));
        }
    }

    /// A read of what was acknowledged last; nothing before the first write.
    pub fn read_begins(&self) -> Option<Begun> {
        Some(Begun { number: self.newest_number?, newest: self.newest })
    }

    /// Records what a read brought: the store's revision then, and whether the write that was asked for was there.
    pub fn read(&mut self, read: Begun, revision: i64, there: bool, identity: &Identity) {
        self.reads += 1;
        if revision < read.newest {
            self.wrong.push(format!(
                "a read saw revision {revision}, though {} was acknowledged before it began",
                read.newest
            ));
        }
        let kept = |write: &Acknowledged| identity.survives(write.cluster, write.revision);
        if !there && self.writes.get(&read.number).is_some_and(kept) {
            self.wrong.push(format!("a read did not find write {}, which was acknowledged", read.number));
        }
    }

    /// How many writes were acknowledged so far.
    pub fn written_so_far(&self) -> usize {
        self.writes.len()
    }

    /// The acknowledged writes that must be there, by the revision at which each took effect. A write that was sent twice may be there
    /// with a later revision, so it is left out.
    pub fn sent_once(&self, identity: &Identity) -> BTreeMap<i64, u64> {
        let kept = |(_, write): &(&u64, &Acknowledged)| {
            write.tries == 1 && identity.survives(write.cluster, write.revision)
        };
        self.writes.iter().filter(kept).map(|(number, write)| (write.revision, *number)).collect()
    }

    /// Compares with what is there in the end: by number, whether the value is the one that was written, and its revision.
    pub fn close(mut self, found: &BTreeMap<u64, (bool, i64)>, identity: &Identity) -> Outcome {
        for (number, Acknowledged { cluster, revision, tries }) in &self.writes {
            if !identity.survives(*cluster, *revision) {
                continue;
            }
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
        let Self { writes, reads, wrong, gap, .. } = self;
        Outcome { writes: writes.len(), reads, gap, wrong }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two writes, acknowledged one after the other with these revisions; then a read at a revision.
    fn told(revisions: [i64; 2], read: (i64, bool), found: &[(u64, bool, i64)]) -> Vec<String> {
        let (mut writes, mut identity) = (Writes::default(), Identity::default());
        identity.see(CLUSTER).unwrap();
        for revision in revisions {
            let write = writes.write_begins();
            writes.written(write, at(revision), 1, Duration::ZERO);
        }
        let begun = writes.read_begins().unwrap();
        writes.read(begun, read.0, read.1, &identity);
        let found = found.iter().map(|(number, same, at)| (*number, (*same, *at))).collect();
        writes.close(&found, &identity).wrong
    }

    const CLUSTER: u64 = 1;

    fn at(revision: i64) -> Stamp {
        Stamp { cluster: CLUSTER, revision, term: 2 }
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
        let (mut writes, identity) = (Writes::default(), Identity::default());
        let (a, b) = (writes.write_begins(), writes.write_begins());
        writes.written(a, at(5), 1, Duration::ZERO);
        writes.written(b, at(5), 1, Duration::ZERO);
        let wrong = writes.close(&[(1, (true, 5)), (2, (true, 5))].into(), &identity).wrong;
        assert_eq!(wrong, ["writes 1 and 2 both got revision 5"]);
    }

    /// Restored to revision 5, then written to at 1006: what was written at 6 may be gone, what was written at 5 may not.
    fn restored(found: &[(u64, (bool, i64))]) -> Vec<String> {
        let (mut writes, mut identity) = (Writes::default(), Identity::default());
        identity.see(CLUSTER).unwrap();
        for revision in [5, 6] {
            let write = writes.write_begins();
            writes.written(write, at(revision), 1, Duration::ZERO);
        }
        identity.announce_restore(5);
        let read = writes.read_begins().unwrap();
        identity.see(CLUSTER + 1).unwrap();
        writes.read(read, 1005, false, &identity);
        let write = writes.write_begins();
        writes.written(write, Stamp { cluster: CLUSTER + 1, ..at(1006) }, 1, Duration::ZERO);
        writes.close(&found.iter().copied().collect(), &identity).wrong
    }

    #[test]
    fn an_announced_restore_may_lose_what_came_after_its_revision_and_nothing_else() {
        assert_eq!(restored(&[(1, (true, 5)), (3, (true, 1006))]), Vec::<String>::new());
        assert_eq!(restored(&[(3, (true, 1006))]), ["write 1, acknowledged with revision 5, is not there"]);
        assert_eq!(restored(&[(1, (true, 5))]), ["write 3, acknowledged with revision 1006, is not there"]);
    }
}
