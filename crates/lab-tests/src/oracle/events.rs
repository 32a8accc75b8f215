//! What a watch delivers: every event of its prefix exactly once, in the order of revisions, without a gap, however often it is resumed.
//!
//! Gaps are found in two ways: etcd counts the writes to each key (`version`), so an event that is missing shows in the next one of
//! its key; and every write that was acknowledged or is found in the end must have been delivered.
//!
//! Requests of the load write one key each, so that a revision has one event.

use std::collections::BTreeMap;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub key: String,
    pub revision: i64,
    /// etcd's count of writes to the key since it was created; 0 for a delete.
    pub version: i64,
}

/// What a watch has delivered.
#[derive(Debug, Default)]
pub struct Events {
    /// The cluster that delivered last.
    cluster: Option<u64>,
    /// The last revision that is known to be delivered.
    last: i64,
    versions: BTreeMap<String, i64>,
    keys: BTreeMap<i64, String>,
    /// Revisions that were compacted before they could be delivered: after the first, up to the second.
    skipped: Vec<(i64, i64)>,
    resumed: u64,
    wrong: Vec<String>,
}

/// What became of it.
#[derive(Debug)]
pub struct Outcome {
    pub events: usize,
    /// How often the watch was opened again.
    pub resumed: u64,
    pub wrong: Vec<String>,
}

impl Events {
    /// A watch of a prefix without keys, from the revision after `revision` on.
    pub fn after(revision: i64) -> Self {
        Self { last: revision, ..Self::default() }
    }

    /// The revision to watch from: now, or when the stream has ended.
    pub fn next(&self) -> i64 {
        self.last + 1
    }

    pub fn resumed(&mut self) {
        self.resumed += 1;
    }

    pub fn delivered(&mut self, cluster: u64, event: Event) {
        self.answered(cluster);
        let Event { key, revision, version } = event;
        if self.keys.contains_key(&revision) {
            self.wrong.push(format!("the event of {key} at revision {revision} was delivered twice"));
            return;
        }
        if revision <= self.last {
            self.wrong.push(format!(
                "the event of {key} at revision {revision} was delivered after revision {}",
                self.last
            ));
        }
        let before = self.versions.insert(key.clone(), version).unwrap_or(0);
        if version != 0 && version != before + 1 {
            self.wrong.push(format!(
                "the event of {key} at revision {revision} is write {version} of the key, but write {before} was \
                 delivered before: events are missing"
            ));
        }
        self.keys.insert(revision, key);
        self.last = self.last.max(revision);
    }

    /// Events of other prefixes, and notifications of progress: everything up to `revision` has been delivered.
    pub fn progressed(&mut self, cluster: u64, revision: i64) {
        self.answered(cluster);
        self.last = self.last.max(revision);
    }

    /// After a restore in place, a watch that goes on from before it must be told that its revision is compacted.
    fn answered(&mut self, cluster: u64) {
        if let Some(before) = self.cluster.replace(cluster).filter(|before| *before != cluster) {
            self.wrong.push(format!(
                "the watch from revision {} went on in cluster {cluster:x} as if it were {before:x}; \
                 it was not told of the restore",
                self.next()
            ));
        }
    }

    /// The watch was canceled because its revision is compacted: documented for a restore in place, and for nothing else within the
    /// time of a load. The client has read the prefix anew, at `revision`.
    pub fn compacted(&mut self, cluster: u64, revision: i64, versions: BTreeMap<String, i64>) {
        if self.cluster == Some(cluster) {
            self.wrong.push(format!("revision {} was compacted before it was delivered", self.next()));
        }
        self.cluster = Some(cluster);
        self.skipped.push((self.last, revision));
        (self.last, self.versions) = (revision, versions);
    }

    /// The last revision that was delivered.
    pub fn last(&self) -> i64 {
        self.last
    }

    /// Compares with the revisions, and keys, that must have been delivered: what was acknowledged, and what is there in the end.
    pub fn close(mut self, written: &BTreeMap<i64, String>) -> Outcome {
        for (revision, key) in written {
            if self.skipped.iter().any(|(from, to)| from < revision && revision <= to) {
                continue;
            }
            match self.keys.get(revision) {
                Some(delivered) if delivered == key => {}
                Some(other) => self.wrong.push(format!(
                    "revision {revision} wrote {key}, but the watch delivered an event of {other}"
                )),
                None => self.wrong.push(format!(
                    "the watch did not deliver revision {revision} of {key}, though it is at {}",
                    self.last
                )),
            }
        }
        Outcome { events: self.keys.len(), resumed: self.resumed, wrong: self.wrong }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: u64 = 1;

    fn event(key: &str, revision: i64, version: i64) -> Event {
        Event { key: key.to_owned(), revision, version }
    }

    fn play(delivered: &[Event], written: &[(i64, &str)]) -> Vec<String> {
        let mut events = Events::after(4);
        for event in delivered {
            events.delivered(CLUSTER, event.clone());
        }
        close(events, written)
    }

    fn close(events: Events, written: &[(i64, &str)]) -> Vec<String> {
        events.close(&written.iter().map(|(revision, key)| (*revision, (*key).to_owned())).collect()).wrong
    }

    #[test]
    fn a_good_history_is_accepted() {
        let delivered =
            [event("a", 5, 1), event("b", 7, 1), event("a", 8, 2), event("a", 9, 0), event("a", 10, 1)];
        assert_eq!(play(&delivered, &[(5, "a"), (7, "b"), (8, "a"), (10, "a")]), Vec::<String>::new());
    }

    #[test]
    fn a_duplicate_event_is_found() {
        assert_eq!(
            play(&[event("a", 5, 1), event("a", 5, 1)], &[(5, "a")]),
            ["the event of a at revision 5 was delivered twice"]
        );
    }

    #[test]
    fn events_out_of_order_are_found() {
        assert_eq!(
            play(&[event("a", 6, 1), event("b", 5, 1)], &[]),
            ["the event of b at revision 5 was delivered after revision 6"]
        );
    }

    #[test]
    fn a_gap_is_found_by_the_count_of_writes() {
        assert_eq!(
            play(&[event("a", 5, 1), event("a", 9, 3)], &[]),
            [
                "the event of a at revision 9 is write 3 of the key, but write 1 was delivered before: events are missing"
            ]
        );
    }

    #[test]
    fn a_gap_is_found_by_what_was_acknowledged() {
        assert_eq!(
            play(&[event("a", 5, 1), event("c", 7, 1)], &[(5, "a"), (6, "b"), (7, "b")]),
            [
                "the watch did not deliver revision 6 of b, though it is at 7",
                "revision 7 wrote b, but the watch delivered an event of c"
            ]
        );
    }

    #[test]
    fn compaction_is_an_error_without_a_restore_and_documented_with_one() {
        for (cluster, wrong) in [
            (CLUSTER, vec!["revision 6 was compacted before it was delivered".to_owned()]),
            (CLUSTER + 1, vec![]),
        ] {
            let mut events = Events::after(4);
            events.delivered(CLUSTER, event("a", 5, 1));
            events.compacted(cluster, 1005, [("a".to_owned(), 1)].into());
            events.delivered(cluster, event("a", 1006, 2));
            assert_eq!(close(events, &[(5, "a"), (1004, "b"), (1006, "a")]), wrong);
        }
    }

    #[test]
    fn a_watch_that_is_not_told_of_a_restore_is_found() {
        let mut events = Events::after(4);
        events.delivered(CLUSTER, event("a", 5, 1));
        events.progressed(CLUSTER + 1, 1005);
        assert_eq!(
            close(events, &[]),
            [
                "the watch from revision 6 went on in cluster 2 as if it were 1; it was not told of the restore"
            ]
        );
    }
}
