//! Looks at every object again now and then, although nothing changed: what a lost event or a bug left undone is found.
//!
//! Every object has its own moment in the period, by the hash of its key, so that ten thousand of them are a trickle.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::{
    Key, Row,
    informer::Store,
    queue::{Priority, Queue},
};

/// The period is walked in this many steps.
const STEPS: u32 = 600;

pub(super) async fn run<R: Row>(
    store: Store<R>,
    queue: Arc<Queue<Key>>,
    period: Duration,
    stop: CancellationToken,
) {
    let step = period / STEPS;
    if step.is_zero() {
        return;
    }
    let hasher = RandomState::new();
    let mut ticks = tokio::time::interval_at(Instant::now() + step, step);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut now = 0;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
        }
        for key in store.keys().into_iter().filter(|key| slot(&hasher, key) == now) {
            queue.add(key, Priority::LOW);
        }
        now = (now + 1) % STEPS;
    }
}

fn slot(hasher: &RandomState, key: &Key) -> u32 {
    u32::try_from(hasher.hash_one(key) % u64::from(STEPS)).unwrap_or_default()
}
