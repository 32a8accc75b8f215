//! A counter that several clients increment by compare-and-swap: read it, then write the next number if its mod_revision is still the
//! one that was read.
//!
//! A history is linearizable if no two acknowledged swaps replaced the same revision, if revisions and numbers grow together and with
//! real time, and if the number in the end counts every acknowledged swap and, at most, those whose answer was lost.

use std::collections::BTreeMap;

use super::{Stamp, identity::Identity};

/// The counter as a read found it: number and mod_revision, or zeros before the first swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Value {
    pub number: u64,
    pub revision: i64,
    /// etcd's count of writes to the key.
    pub version: i64,
}

/// A request on the counter that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// The newest swap that was acknowledged before.
    newest: Stamp,
}

/// A swap that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swap {
    /// What it replaces.
    pub from: Value,
    begun: Begun,
}

/// How a swap ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Swapped(Stamp),
    /// The counter had changed meanwhile.
    Refused,
    /// No answer: it may have taken effect.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
struct Acknowledged {
    replaced: i64,
    stamp: Stamp,
}

/// The swaps and reads of a load.
#[derive(Debug, Default)]
pub struct Counter {
    swaps: Vec<Acknowledged>,
    newest: Stamp,
    unknown: u64,
    refused: u64,
    /// Numbers by cluster and revision, as swaps wrote them and reads found them.
    numbers: BTreeMap<(u64, i64), u64>,
    wrong: Vec<String>,
}

/// What became of them.
#[derive(Debug)]
pub struct Outcome {
    pub swaps: usize,
    pub refused: u64,
    pub wrong: Vec<String>,
}

impl Counter {
    pub fn begin(&self) -> Begun {
        Begun { newest: self.newest }
    }

    /// Records what a read found.
    pub fn read(&mut self, begun: Begun, found: Value, stamp: Stamp, identity: &Identity) {
        let Begun { newest } = begun;
        if found.revision < newest.revision && identity.survives(newest.cluster, newest.revision) {
            self.wrong.push(format!(
                "a read of the counter found revision {}, though the swap at {} was acknowledged before it began",
                found.revision, newest.revision
            ));
        }
        self.is(stamp.cluster, found.revision, found.number);
    }

    pub fn swap(&self, from: Value) -> Swap {
        Swap { from, begun: self.begin() }
    }

    /// Records how a swap ended. One that was sent twice and then refused may have been refused because of its own first try.
    pub fn ended(&mut self, swap: Swap, end: End, tries: u32) {
        match end {
            End::Swapped(stamp) => self.swapped(swap, stamp),
            End::Refused if tries == 1 => self.refused += 1,
            End::Refused | End::Unknown => self.unknown += 1,
        }
    }

    fn swapped(&mut self, swap: Swap, stamp: Stamp) {
        let newest = swap.begun.newest.revision;
        if stamp.revision <= newest {
            self.wrong.push(format!(
                "a swap got revision {}, though {newest} was acknowledged before it began",
                stamp.revision
            ));
        }
        self.swaps.push(Acknowledged { replaced: swap.from.revision, stamp });
        if stamp.revision > self.newest.revision {
            self.newest = stamp;
        }
        self.is(stamp.cluster, stamp.revision, swap.from.number + 1);
    }

    /// At a revision the counter has one number only.
    fn is(&mut self, cluster: u64, revision: i64, number: u64) {
        let known = self.numbers.insert((cluster, revision), number);
        if let Some(other) = known.filter(|other| *other != number) {
            self.wrong.push(format!("at revision {revision} the counter is both {other} and {number}"));
        }
    }

    /// The revisions of acknowledged swaps that must be there.
    pub fn revisions(&self, identity: &Identity) -> Vec<i64> {
        let stamps = self.swaps.iter().map(|swap| swap.stamp);
        stamps.filter(|it| identity.survives(it.cluster, it.revision)).map(|it| it.revision).collect()
    }

    /// Compares with the counter as it is in the end.
    pub fn close(mut self, found: Value, identity: &Identity) -> Outcome {
        self.swaps.sort_by_key(|swap| swap.stamp.revision);
        self.no_revision_is_replaced_twice(identity);
        self.numbers_grow();
        let kept = self.revisions(identity);
        let (least, most) = (kept.len() as u64, kept.len() as u64 + self.unknown);
        if found.number < least {
            self.wrong.push(format!("the counter is {}, but {least} swaps were acknowledged", found.number));
        }
        if found.number > most {
            self.wrong.push(format!(
                "the counter is {}, but {least} swaps were acknowledged and {} got no answer",
                found.number, self.unknown
            ));
        }
        if i64::try_from(found.number) != Ok(found.version) {
            self.wrong.push(format!("the counter is {} after {} writes", found.number, found.version));
        }
        Outcome { swaps: self.swaps.len(), refused: self.refused, wrong: self.wrong }
    }

    fn no_revision_is_replaced_twice(&mut self, identity: &Identity) {
        let mut by_replaced = BTreeMap::<i64, Stamp>::new();
        for Acknowledged { replaced, stamp } in &self.swaps {
            let Some(other) = by_replaced.insert(*replaced, *stamp) else { continue };
            if other.cluster == stamp.cluster || identity.survives(other.cluster, other.revision) {
                self.wrong.push(format!(
                    "the swaps at {} and {} both replaced revision {replaced}: one update is lost",
                    other.revision, stamp.revision
                ));
            }
        }
    }

    fn numbers_grow(&mut self) {
        for (((cluster, earlier), before), ((same, later), after)) in
            self.numbers.iter().zip(self.numbers.iter().skip(1))
        {
            if cluster == same && after <= before {
                self.wrong.push(format!(
                    "the counter went from {before} at revision {earlier} to {after} at revision {later}"
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: u64 = 1;

    fn at(revision: i64) -> Stamp {
        Stamp { cluster: CLUSTER, revision, term: 2 }
    }

    fn value(number: u64, revision: i64) -> Value {
        Value { number, revision, version: number.cast_signed() }
    }

    /// Plays swaps (from, end), each begun when the one before had ended.
    fn play(swaps: &[(Value, End)], found: Value) -> Vec<String> {
        let (mut counter, mut identity) = (Counter::default(), Identity::default());
        identity.see(CLUSTER).unwrap();
        for (from, end) in swaps {
            let swap = counter.swap(*from);
            counter.ended(swap, *end, 1);
        }
        counter.close(found, &identity).wrong
    }

    const NONE: Value = Value { number: 0, revision: 0, version: 0 };

    #[test]
    fn a_good_history_is_accepted() {
        let swaps = [
            (NONE, End::Swapped(at(5))),
            (value(1, 5), End::Swapped(at(8))),
            (value(1, 5), End::Refused),
            (value(2, 8), End::Unknown),
        ];
        assert_eq!(play(&swaps, value(2, 8)), Vec::<String>::new());
        assert_eq!(play(&swaps, value(3, 9)), Vec::<String>::new(), "the one without an answer took effect");
    }

    #[test]
    fn a_lost_update_is_found() {
        let swaps = [(value(1, 5), End::Swapped(at(7))), (value(1, 5), End::Swapped(at(8)))];
        assert_eq!(
            play(&swaps, value(2, 8)),
            [
                "the swaps at 7 and 8 both replaced revision 5: one update is lost",
                "the counter went from 2 at revision 7 to 2 at revision 8"
            ]
        );
        let swaps = [(NONE, End::Swapped(at(5))), (value(1, 5), End::Swapped(at(8)))];
        assert_eq!(play(&swaps, value(1, 5)), ["the counter is 1, but 2 swaps were acknowledged"]);
    }

    #[test]
    fn an_update_that_was_applied_twice_is_found() {
        assert_eq!(
            play(&[(NONE, End::Swapped(at(5)))], value(2, 6)),
            ["the counter is 2, but 1 swaps were acknowledged and 0 got no answer"]
        );
        let twice = Value { version: 2, ..value(1, 6) };
        assert_eq!(play(&[(NONE, End::Swapped(at(5)))], twice), ["the counter is 1 after 2 writes"]);
    }

    #[test]
    fn a_refusal_after_a_retry_may_be_the_work_of_the_first_try() {
        let (mut counter, identity) = (Counter::default(), Identity::default());
        let swap = counter.swap(NONE);
        counter.ended(swap, End::Refused, 2);
        assert_eq!(counter.close(value(1, 5), &identity).wrong, Vec::<String>::new());
    }

    #[test]
    fn a_stale_read_is_found() {
        let (mut counter, mut identity) = (Counter::default(), Identity::default());
        identity.see(CLUSTER).unwrap();
        let swap = counter.swap(NONE);
        counter.ended(swap, End::Swapped(at(5)), 1);
        counter.read(counter.begin(), NONE, at(9), &identity);
        counter.read(counter.begin(), value(2, 5), at(9), &identity);
        assert_eq!(
            counter.close(value(1, 5), &identity).wrong,
            [
                "a read of the counter found revision 0, though the swap at 5 was acknowledged before it began",
                "at revision 5 the counter is both 1 and 2"
            ]
        );
    }

    #[test]
    fn a_swap_older_than_an_acknowledged_one_is_found() {
        let swaps = [(value(1, 5), End::Swapped(at(9))), (value(2, 6), End::Swapped(at(8)))];
        let wrong = play(&swaps, value(3, 9));
        assert_eq!(
            wrong.first().unwrap(),
            "a swap got revision 8, though 9 was acknowledged before it began"
        );
    }

    #[test]
    fn a_restore_takes_the_counter_back_and_no_further() {
        let after = Stamp { cluster: CLUSTER + 1, ..at(1006) };
        let play = |found: Value| {
            let (mut counter, mut identity) = (Counter::default(), Identity::default());
            identity.see(CLUSTER).unwrap();
            for (from, stamp) in [(NONE, at(5)), (value(1, 5), at(6))] {
                let swap = counter.swap(from);
                counter.ended(swap, End::Swapped(stamp), 1);
            }
            identity.announce_restore(5);
            let begun = counter.begin();
            identity.see(CLUSTER + 1).unwrap();
            counter.read(begun, value(1, 5), Stamp { revision: 1005, ..after }, &identity);
            let swap = counter.swap(value(1, 5));
            counter.ended(swap, End::Swapped(after), 1);
            counter.close(found, &identity).wrong
        };
        assert_eq!(play(value(2, 1006)), Vec::<String>::new());
        assert_eq!(play(value(1, 1006)), ["the counter is 1, but 2 swaps were acknowledged"]);
    }
}
