//! Whole revisions out of what a watch tells: fragments are put together, and a hole is noticed.

use etcd_api::pb;
use jiff::Timestamp;

use super::chunk::Revision;

/// Puts revisions together. etcd does not split one over two answers, only over fragments of one.
#[derive(Debug)]
pub struct Assembler {
    /// The revision that is due.
    next: i64,
    /// The one whose end has not been seen.
    open: Option<Revision>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("etcd tells revision {found} where {expected} is due")]
pub struct Hole {
    pub expected: i64,
    pub found: i64,
}

impl Assembler {
    pub fn new(next: i64) -> Self {
        Self { next, open: None }
    }

    /// The revisions that are whole now. `more` says that the same answer goes on in the next message.
    pub fn take(
        &mut self,
        events: Vec<pb::Event>,
        more: bool,
        now: Timestamp,
    ) -> Result<Vec<Revision>, Hole> {
        let mut whole = Vec::new();
        for event in events {
            let revision = event.kv.as_ref().map_or(0, |kv| kv.mod_revision);
            match &mut self.open {
                Some(open) if open.revision == revision => open.events.push(event),
                open => {
                    if revision != self.next {
                        return Err(Hole { expected: self.next, found: revision });
                    }
                    self.next += 1;
                    let begun = Revision { revision, received: now.as_millisecond(), events: vec![event] };
                    whole.extend(open.replace(begun));
                }
            }
        }
        if !more {
            whole.extend(self.open.take());
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(revision: i64, key: i64) -> pb::Event {
        let kv =
            pb::KeyValue { key: key.to_string().into(), mod_revision: revision, ..pb::KeyValue::default() };
        pb::Event { kv: Some(kv), ..pb::Event::default() }
    }

    proptest! {
        #[test]
        fn revisions_come_out_whole_and_in_order_however_they_are_cut(
            sizes in proptest::collection::vec(1_i64..5, 1..30), cuts in proptest::collection::vec(any::<bool>(), 150)
        ) {
            let events: Vec<pb::Event> = sizes
                .iter()
                .zip(10..)
                .flat_map(|(size, revision)| (0..*size).map(move |key| event(revision, key)))
                .collect();
            let mut assembler = Assembler::new(10);
            let (mut seen, mut fragment) = (Vec::new(), Vec::new());
            let last = events.len() - 1;
            for (at, event) in events.into_iter().enumerate() {
                fragment.push(event);
                if cuts[at] || at == last {
                    let part = std::mem::take(&mut fragment);
                    seen.extend(assembler.take(part, at != last, Timestamp::UNIX_EPOCH).unwrap());
                }
            }
            let found: Vec<(i64, i64)> =
                seen.iter().map(|it| (it.revision, it.events.len() as i64)).collect();
            let expected: Vec<(i64, i64)> = (10..).zip(sizes).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_hole_and_a_step_back_are_noticed() {
        let mut assembler = Assembler::new(10);
        assembler.take(vec![event(10, 1)], false, Timestamp::UNIX_EPOCH).unwrap();
        let hole = assembler.take(vec![event(12, 1)], false, Timestamp::UNIX_EPOCH);
        assert_eq!(hole, Err(Hole { expected: 11, found: 12 }));
        let back = assembler.take(vec![event(10, 1)], false, Timestamp::UNIX_EPOCH);
        assert_eq!(back, Err(Hole { expected: 11, found: 10 }));
    }
}
