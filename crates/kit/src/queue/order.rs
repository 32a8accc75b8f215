//! The rules of the queue, as a value: time comes in as an argument.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    hash::Hash,
    time::Duration,
};

use tokio::time::Instant;

/// How urgent a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Priority(pub(crate) i32);

impl Priority {
    /// What is looked at just in case: the first list after a start, the periodic resync.
    pub(crate) const LOW: Self = Self(-100);
    /// A change in the world.
    pub(crate) const NORMAL: Self = Self(0);
    /// A change that a user made and is waiting for.
    pub(crate) const HIGH: Self = Self(100);
}

/// Waiting this long is worth one step of priority: `LOW` overtakes fresh `NORMAL` after ten seconds.
const AGEING: Duration = Duration::from_millis(100);

/// What came out of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken<K> {
    pub(crate) key: K,
    pub(crate) priority: Priority,
    pub(crate) waited: Duration,
}

/// A key is looked up five times on its way: worth a quick hash. It is seeded, as the standard library's is.
type Map<K, V> = std::collections::HashMap<K, V, ahash::RandomState>;

#[derive(Debug)]
pub(crate) struct Order<K> {
    keys: Map<K, State>,
    /// Ready keys by priority, oldest first. A key whose priority was raised leaves a stale ticket behind, skipped when met.
    ready: BTreeMap<Priority, VecDeque<(Ticket, K)>>,
    delayed: BTreeSet<(Instant, Ticket)>,
    delayed_keys: Map<Ticket, K>,
    failures: Map<K, u32>,
    tickets: u64,
    adds: u64,
}

/// Numbers every place in a line, so that a place can be given up without searching for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Ticket(u64);

#[derive(Debug, Default)]
struct State {
    ready: Option<Ready>,
    running: Option<Instant>,
    /// Wanted again while it runs.
    again: Option<Priority>,
    delayed: Option<(Instant, Ticket)>,
}

#[derive(Debug)]
struct Ready {
    ticket: Ticket,
    priority: Priority,
    since: Instant,
}

impl<K: Clone + Eq + Hash> Order<K> {
    pub(crate) fn new() -> Self {
        Self {
            keys: Map::default(),
            ready: BTreeMap::new(),
            delayed: BTreeSet::new(),
            delayed_keys: Map::default(),
            failures: Map::default(),
            tickets: 0,
            adds: 0,
        }
    }

    /// Wants `key` to be handed out. A key that waits already keeps its place, or gets a better one.
    pub(crate) fn add(&mut self, key: K, priority: Priority, now: Instant) {
        let ticket = self.ticket();
        let state = self.keys.entry(key.clone()).or_default();
        if state.again.is_none() && state.ready.is_none() {
            self.adds = self.adds.wrapping_add(1);
        }
        if state.running.is_some() {
            state.again = state.again.max(Some(priority));
            return;
        }
        let since = match &state.ready {
            Some(ready) if ready.priority >= priority => return,
            Some(ready) => ready.since,
            None => now,
        };
        state.ready = Some(Ready { ticket, priority, since });
        self.ready.entry(priority).or_default().push_back((ticket, key));
    }

    /// Wants `key` to be handed out at `when`, or earlier if something else asks for it.
    pub(crate) fn add_at(&mut self, key: K, when: Instant) {
        let ticket = self.ticket();
        let state = self.keys.entry(key.clone()).or_default();
        match state.delayed {
            Some((earlier, _)) if earlier <= when => return,
            Some(later) => {
                self.delayed.remove(&later);
                self.delayed_keys.remove(&later.1);
            }
            None => {}
        }
        state.delayed = Some((when, ticket));
        self.delayed.insert((when, ticket));
        self.delayed_keys.insert(ticket, key);
    }

    /// Counts a failure of `key` and returns how many there were in a row.
    pub(crate) fn failed(&mut self, key: K) -> u32 {
        let failures = self.failures.entry(key).or_default();
        *failures = failures.saturating_add(1);
        *failures
    }

    /// Forgets the failures of `key`.
    pub(crate) fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// Hands out the most urgent key. A delay that was set for it is over: the next reconcile sets its own.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Taken<K>> {
        self.wake_delayed(now);
        let urgency = |priority: Priority, since: Instant| {
            let aged = now.saturating_duration_since(since).as_millis() / AGEING.as_millis();
            i64::from(priority.0).saturating_add(i64::try_from(aged).unwrap_or(i64::MAX))
        };
        let mut best: Option<(i64, Instant, Priority)> = None;
        for (&priority, line) in &mut self.ready {
            let Some(since) = head(line, &self.keys) else { continue };
            let urgency = urgency(priority, since);
            if best.is_none_or(|(other, oldest, _)| (urgency, oldest) >= (other, since)) {
                best = Some((urgency, since, priority));
            }
        }
        let (_, since, priority) = best?;
        let line = self.ready.get_mut(&priority)?;
        let (_, key) = line.pop_front()?;
        if line.is_empty() {
            self.ready.remove(&priority);
        }
        let state = self.keys.get_mut(&key)?;
        state.ready = None;
        state.running = Some(now);
        if let Some(delayed) = state.delayed.take() {
            self.delayed.remove(&delayed);
            self.delayed_keys.remove(&delayed.1);
        }
        Some(Taken { key, priority, waited: now.saturating_duration_since(since) })
    }

    /// Ends the work on `key`; it is ready again if somebody asked for it meanwhile. Returns how long the work took.
    pub(crate) fn done(&mut self, key: &K, now: Instant) -> Duration {
        let Some(state) = self.keys.get_mut(key) else { return Duration::ZERO };
        let took = state.running.take().map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        match state.again.take() {
            Some(priority) => {
                // It was counted when it was asked for.
                self.adds = self.adds.wrapping_sub(1);
                self.add(key.clone(), priority, now);
            }
            None if state.delayed.is_none() && state.ready.is_none() => {
                self.keys.remove(key);
            }
            None => {}
        }
        took
    }

    /// When the next delayed key is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.delayed.first().map(|(when, _)| *when)
    }

    /// How many keys are ready, by priority.
    pub(crate) fn depth(&self, priority: Priority) -> usize {
        self.keys.values().filter(|s| s.ready.as_ref().is_some_and(|r| r.priority == priority)).count()
    }

    /// How often a key was added that was not waiting already: what client-go counts.
    pub(crate) fn adds(&self) -> u64 {
        self.adds
    }

    /// How many keys are ready or running.
    pub(crate) fn busy(&self) -> usize {
        self.keys.values().filter(|s| s.ready.is_some() || s.running.is_some()).count()
    }

    /// Since when each running key runs.
    pub(crate) fn running(&self) -> impl Iterator<Item = (&K, Instant)> {
        self.keys.iter().filter_map(|(key, state)| Some((key, state.running?)))
    }

    fn wake_delayed(&mut self, now: Instant) {
        while let Some(&(when, ticket)) = self.delayed.first()
            && when <= now
        {
            self.delayed.pop_first();
            let Some(key) = self.delayed_keys.remove(&ticket) else { continue };
            if let Some(state) = self.keys.get_mut(&key) {
                state.delayed = None;
            }
            self.add(key, Priority::NORMAL, now);
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets = self.tickets.wrapping_add(1);
        Ticket(self.tickets)
    }
}

/// Since when the first key of `line` waits; drops stale tickets on the way.
fn head<K: Eq + Hash>(line: &mut VecDeque<(Ticket, K)>, keys: &Map<K, State>) -> Option<Instant> {
    while let Some((ticket, key)) = line.front() {
        match keys.get(key).and_then(|state| state.ready.as_ref()) {
            Some(ready) if ready.ticket == *ticket => return Some(ready.since),
            _ => {
                line.pop_front();
            }
        }
    }
    None
}
