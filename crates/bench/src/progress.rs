//! Counts reconciles, and wakes who waits for a number of them. Only then: a wake for each would be measured too.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use tokio::sync::Notify;

#[derive(Clone, Default)]
pub struct Progress(Arc<Shared>);

#[derive(Default)]
struct Shared {
    steps: AtomicUsize,
    goal: AtomicUsize,
    reached: Notify,
}

impl Progress {
    /// One more.
    pub fn step(&self) {
        if self.0.steps.fetch_add(1, SeqCst) + 1 >= self.0.goal.load(SeqCst) {
            self.0.reached.notify_one();
        }
    }

    /// Waits for `steps` more than were waited for before.
    pub async fn reach(&self, steps: usize) {
        let goal = self.0.goal.fetch_add(steps, SeqCst) + steps;
        while self.0.steps.load(SeqCst) < goal {
            self.0.reached.notified().await;
        }
    }
}
