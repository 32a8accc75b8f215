//! Faults of one watch, between its events and its bytes.

use std::{collections::VecDeque, time::Duration};

use super::WatchFault;
use crate::{Change, watch::Sighting};

/// What the watch does next.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Show(Sighting),
    Wait(Duration),
    /// The stream ends well.
    End,
    /// The stream ends in the middle.
    Break,
    /// `410 Gone` as an event, then the end.
    Gone,
    /// Nothing, for ever.
    Silence,
}

/// Applies a watch's faults to its events.
#[derive(Debug, Default)]
pub(crate) struct Interference {
    faults: Vec<WatchFault>,
    /// Events met so far.
    met: usize,
    /// Held back until the next event of the same object.
    held: Vec<Sighting>,
}

impl Interference {
    pub(crate) fn new(faults: Vec<WatchFault>) -> Self {
        Self { faults, met: 0, held: Vec::new() }
    }

    /// What must happen before any (further) event.
    pub(crate) fn before_next(&self) -> Option<Step> {
        self.faults.iter().find_map(|fault| match fault {
            WatchFault::Cut { after } if *after == self.met => Some(Step::End),
            WatchFault::Break { after } if *after == self.met => Some(Step::Break),
            WatchFault::Gone { after } if *after == self.met => Some(Step::Gone),
            WatchFault::Silence { after } if *after == self.met => Some(Step::Silence),
            _ => None,
        })
    }

    /// What becomes of an event.
    pub(crate) fn meet(&mut self, sighting: Sighting) -> VecDeque<Step> {
        let this = self.met;
        self.met += 1;
        let mut steps = VecDeque::new();
        let Some(sighting) = self.merged(sighting) else { return steps };
        let mut copies = 1;
        for fault in &self.faults {
            match fault {
                WatchFault::Delay { event, by } if *event == this => steps.push_back(Step::Wait(*by)),
                WatchFault::Lose { event } if *event == this => copies = 0,
                WatchFault::Repeat { event } if *event == this => copies = 2,
                WatchFault::Coalesce { event } if *event == this => {
                    self.held.push(sighting);
                    return steps;
                }
                _ => {}
            }
        }
        steps.extend(std::iter::repeat_n(Step::Show(sighting), copies));
        steps
    }

    /// The event, together with an earlier one of the same object that was held back; `None` when they cancel out.
    fn merged(&mut self, sighting: Sighting) -> Option<Sighting> {
        let Some(place) = self.held.iter().position(|held| held.id == sighting.id) else {
            return Some(sighting);
        };
        let held = self.held.remove(place);
        let change = match (held.change, sighting.change) {
            (Change::Added, Change::Deleted) => return None,
            (Change::Added, _) => Change::Added,
            (Change::Deleted, Change::Added | Change::Modified) => Change::Modified,
            (_, change) => change,
        };
        Some(Sighting { change, ..sighting })
    }
}
