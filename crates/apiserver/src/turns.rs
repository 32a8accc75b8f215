//! A count that many follow. Whoever waits for the next turn is woken in the order of waiting: tokio's `watch` wakes in an order of chance,
//! and no two runs of one story would be the same.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tokio::sync::Notify;

/// The count.
#[derive(Debug)]
pub struct Turns(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    now: AtomicU64,
    over: AtomicBool,
    next: Notify,
}

/// The count is gone: there will be no other turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing is counted any more")]
pub struct Over;

impl Turns {
    pub fn new(now: u64) -> Self {
        Self(Arc::new(Shared { now: now.into(), over: false.into(), next: Notify::new() }))
    }

    pub fn now(&self) -> u64 {
        self.0.now.load(Ordering::SeqCst)
    }

    /// Goes to a turn.
    pub fn set(&self, turn: u64) {
        self.0.now.store(turn, Ordering::SeqCst);
        self.0.next.notify_waiters();
    }

    /// Goes to the next turn.
    pub fn next(&self) {
        self.0.now.fetch_add(1, Ordering::SeqCst);
        self.0.next.notify_waiters();
    }

    pub fn follow(&self) -> Follower {
        Follower { seen: self.now(), turns: Arc::clone(&self.0) }
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
        self.0.next.notify_waiters();
    }
}

/// Somebody who follows a count.
#[derive(Debug)]
pub struct Follower {
    turns: Arc<Shared>,
    seen: u64,
}

impl Follower {
    /// Whether there was a turn that was not seen.
    pub fn has_changed(&self) -> bool {
        self.turns.now.load(Ordering::SeqCst) != self.seen
    }

    /// What is the case now counts as seen.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.turns.now.load(Ordering::SeqCst);
    }

    /// Waits for a turn that was not seen, and has seen it then.
    pub async fn changed(&mut self) -> Result<(), Over> {
        loop {
            // From here on a turn wakes us, also one between looking and waiting.
            let next = self.turns.next.notified();
            let now = self.turns.now.load(Ordering::SeqCst);
            if now != self.seen {
                self.seen = now;
                return Ok(());
            }
            if self.turns.over.load(Ordering::SeqCst) {
                return Err(Over);
            }
            next.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn all_are_woken_in_the_order_of_waiting_and_in_the_end_are_told_so() {
        let turns = Turns::new(7);
        let woken = Arc::new(Mutex::new(Vec::new()));
        for who in 0..50 {
            let (mut follower, woken) = (turns.follow(), Arc::clone(&woken));
            tokio::spawn(async move {
                while follower.changed().await == Ok(()) {
                    woken.lock().unwrap().push(who);
                }
                woken.lock().unwrap().push(100 + who);
            });
        }
        yield_now().await;
        let expect = async |from: u32| {
            yield_now().await;
            assert_eq!(std::mem::take(&mut *woken.lock().unwrap()), Vec::from_iter(from..from + 50));
        };
        turns.next();
        expect(0).await;
        turns.set(9);
        expect(0).await;
        assert_eq!(turns.now(), 9);
        drop(turns);
        expect(100).await;
    }

    #[tokio::test]
    async fn a_turn_that_came_before_is_not_waited_for() {
        let turns = Turns::new(0);
        let mut follower = turns.follow();
        turns.next();
        assert!(follower.has_changed());
        assert_eq!(follower.changed().await, Ok(()));
        turns.next();
        follower.mark_unchanged();
        assert!(!follower.has_changed());
    }
}
