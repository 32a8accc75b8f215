//! The queue that workers share: the rules behind a lock, and the one consumer's waker.

use std::{
    future::poll_fn,
    hash::Hash,
    task::{Context, Poll, Waker},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    backoff::Backoff,
    order::{Order, Priority, Taken},
    sync::{Mutex, PoisonError},
};

/// A queue with any number of producers and one consumer, the dispatcher of a controller.
pub(crate) struct Queue<K> {
    state: Mutex<Shared<K>>,
    backoff: Backoff,
}

struct Shared<K> {
    order: Order<K>,
    /// The consumer, if it waits.
    waker: Option<Waker>,
}

impl<K: Clone + Eq + Hash> Queue<K> {
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self { state: Mutex::new(Shared { order: Order::new(), waker: None }), backoff }
    }

    pub(crate) fn add(&self, key: K, priority: Priority) {
        self.change(|order| order.add(key, priority, Instant::now()));
    }

    /// Wants `key` after `delay`, or earlier if something asks for it. Called while it is being worked on, it counts from then.
    pub(crate) fn add_after(&self, key: K, delay: Duration) {
        self.change(|order| order.add_at(key, Instant::now() + delay));
    }

    /// Counts a failure of `key` and wants it again after its backoff, which is returned.
    pub(crate) fn retry(&self, key: K, chance: f64) -> Duration {
        self.change(|order| {
            let delay = self.backoff.delay(order.failed(key.clone()), chance);
            order.add_at(key, Instant::now() + delay);
            delay
        })
    }

    pub(crate) fn forget(&self, key: &K) {
        self.change(|order| order.forget(key));
    }

    pub(crate) fn done(&self, key: &K) -> Duration {
        self.change(|order| order.done(key, Instant::now()))
    }

    /// The next key, as soon as there is one. Cancel-safe.
    pub(crate) async fn next(&self) -> Taken<K> {
        let mut due = None;
        loop {
            let ready = poll_fn(|cx| self.poll(cx, due));
            let polled = match due {
                None => ready.await,
                // Once it is due, the next poll takes it.
                Some(due) => tokio::time::timeout_at(due, ready).await.unwrap_or(Err(Some(due))),
            };
            match polled {
                Ok(taken) => return taken,
                Err(changed) => due = changed,
            }
        }
    }

    /// A key, or when the next one is due if that is not `due` (the caller's timer would ring at the wrong time).
    pub(crate) fn poll(
        &self,
        cx: &Context<'_>,
        due: Option<Instant>,
    ) -> Poll<Result<Taken<K>, Option<Instant>>> {
        let mut shared = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = shared.order.take(Instant::now()) {
            return Poll::Ready(Ok(taken));
        }
        let next = shared.order.next_due();
        if next != due {
            return Poll::Ready(Err(next));
        }
        shared.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Reads the order, for metrics and diagnostics.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Order<K>) -> T) -> T {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner).order)
    }

    /// Changes the order, then wakes the consumer outside the lock.
    fn change<T>(&self, change: impl FnOnce(&mut Order<K>) -> T) -> T {
        let (result, waker) = {
            let mut shared = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let result = change(&mut shared.order);
            (result, shared.waker.take())
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        result
    }
}
