//! How the server is broken: a plan says which request meets which fault, and a plan is data.
//!
//! ```text
//! request ─▶ Rule.when matches? ─▶ before: refuse, delay, hang, compete, look into the past, crash
//!                                  ─▶ done ─▶ after: lose, tear, delay, hang, crash
//!                                  ─▶ watch: delay, lose, coalesce, repeat, cut, silence events
//! ```
//!
//! Invariant: without a plan the server behaves as Kubernetes does.

mod compete;
mod crash;
mod plan;
mod stream;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{Follower, Recorded, Turns};

pub use crash::CrashSwitch;
pub use plan::{Competitor, CrashPoint, Fault, Plan, Rule, WatchFault, When};
pub(crate) use stream::{Interference, Step};

/// The faults of one server. Clones share them.
#[derive(Debug, Clone)]
pub struct Faults(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Wakes watches when somebody dies or thaws.
    changed: Turns,
    switch: CrashSwitch,
}

#[derive(Debug, Default)]
struct State {
    rules: Vec<Armed>,
    /// Per client the revision that it sees.
    frozen: HashMap<String, u64>,
    /// Connections of a client that are older than this are dead.
    dead_before: HashMap<String, u64>,
    next_connection: u64,
}

#[derive(Debug)]
struct Armed {
    rule: Rule,
    /// How many requests have matched.
    seen: usize,
    fired: usize,
}

impl Default for Faults {
    fn default() -> Self {
        Self(Arc::new(Shared {
            state: Mutex::default(),
            changed: Turns::new(0),
            switch: CrashSwitch::default(),
        }))
    }
}

impl Faults {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.0.changed.next();
    }

    /// Forgets earlier plans and counts from now.
    pub fn plan(&self, plan: Plan) {
        let armed = plan.rules.into_iter().map(Armed::new).collect();
        self.state().rules = armed;
    }

    /// One more rule, counting from now.
    pub fn add(&self, when: When, fault: Fault) {
        self.state().rules.push(Armed::new(Rule { when, fault }));
    }

    /// No faults from here on. Who is frozen stays so; who crashed stays dead.
    pub fn clear(&self) {
        self.state().rules.clear();
    }

    /// How often each rule of the plan has fired, in the plan's order.
    pub fn fired(&self) -> Vec<usize> {
        self.state().rules.iter().map(|armed| armed.fired).collect()
    }

    /// From now on `client` lists the world as it was at `revision`, and its watches end there: an API server whose cache is
    /// stuck. Writes and quorum reads (a get without a resourceVersion) go through to the database.
    pub fn freeze(&self, client: &str, revision: u64) {
        self.state().frozen.insert(client.to_owned(), revision);
        self.wake();
    }

    /// `client` sees the present again, and its watches catch up.
    pub fn thaw(&self, client: &str) {
        self.state().frozen.remove(client);
        self.wake();
    }

    /// The switch that crash faults trip.
    pub fn crashes(&self) -> CrashSwitch {
        self.0.switch.clone()
    }

    /// Kills all present connections of a client: what they have under way never ends, what they send goes nowhere. A new
    /// connection under the same name lives.
    pub fn kill(&self, client: &str) {
        let mut state = self.state();
        let next = state.next_connection;
        state.dead_before.insert(client.to_owned(), next);
        drop(state);
        self.wake();
    }

    pub(crate) fn next_connection(&self) -> u64 {
        let mut state = self.state();
        state.next_connection += 1;
        state.next_connection - 1
    }

    pub(crate) fn is_dead(&self, client: &str, connection: u64) -> bool {
        self.state().dead_before.get(client).is_some_and(|first_alive| connection < *first_alive)
    }

    pub(crate) fn view_of(&self, client: &str) -> Option<u64> {
        self.state().frozen.get(client).copied()
    }

    pub(crate) fn subscribe(&self) -> Follower {
        self.0.changed.follow()
    }

    pub(crate) fn trip(&self, client: &str, request: &Recorded) {
        self.kill(client);
        self.0.switch.trip(request);
    }

    /// What befalls this request.
    pub(crate) fn befalling(&self, request: &Recorded) -> Vec<Fault> {
        let mut state = self.state();
        state.rules.iter_mut().filter_map(|armed| armed.meet(request)).collect()
    }
}

impl Armed {
    fn new(rule: Rule) -> Self {
        Self { rule, seen: 0, fired: 0 }
    }

    fn meet(&mut self, request: &Recorded) -> Option<Fault> {
        if !self.rule.when.matches(request) {
            return None;
        }
        let turn = self.seen;
        self.seen += 1;
        if turn < self.rule.when.skip || self.fired >= self.rule.when.times {
            return None;
        }
        self.fired += 1;
        Some(self.rule.fault.clone())
    }
}
