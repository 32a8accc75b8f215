//! Who hears of changes: callbacks, called in line, and subscriptions, which keep the set of keys that changed.
//!
//! Invariant: nobody who listens can delay or stop the watch. A subscription that is not read costs one key per object that
//! changed, however often it changed; a callback that panics is reported, and everyone else still hears of the change.

use std::{
    collections::{HashSet, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
};

use tokio::sync::Notify;

use super::{
    object::Undecodable,
    sync::{Mutex, PoisonError},
};
use crate::Key;

/// What happened to one object.
pub struct Change<'a, R> {
    /// The object.
    pub key: &'a Key,
    /// What it was; nothing if it was not there, or could not be decoded.
    pub old: Option<&'a Arc<R>>,
    /// What it is; nothing if it is gone, or cannot be decoded.
    pub new: Option<&'a Arc<R>>,
    /// Why it cannot be decoded, if so. It is **not** gone then.
    pub undecodable: Option<&'a Arc<Undecodable>>,
    /// Whether this is the content at the start, and no news: it can wait until news are dealt with.
    pub initial: bool,
}

type Callback<R> = Box<dyn Fn(&Change<'_, R>) + Send + Sync>;

pub(super) enum Listener<R> {
    Callback(Callback<R>),
    Subscription(Weak<Inbox>),
}

impl<R> Listener<R> {
    /// Tells of the change; false when nobody listens any more.
    pub(super) fn tell(&self, change: &Change<'_, R>) -> bool {
        match self {
            Self::Callback(call) => {
                if catch_unwind(AssertUnwindSafe(|| call(change))).is_err() {
                    tracing::error!(object = %change.key, "a listener panicked: it missed this change");
                }
                true
            }
            Self::Subscription(inbox) => inbox.upgrade().map(|inbox| inbox.mark(change.key)).is_some(),
        }
    }
}

/// The keys that changed since they were last taken, each once, in the order of their first change.
pub struct Subscription(Arc<Inbox>);

impl Subscription {
    pub(super) fn new<R>() -> (Self, Listener<R>) {
        let inbox = Arc::new(Inbox::default());
        let listener = Listener::Subscription(Arc::downgrade(&inbox));
        (Self(inbox), listener)
    }

    /// The next object that changed: look into the store for what it is now. Cancel-safe.
    pub async fn next(&mut self) -> Key {
        loop {
            if let Some(key) = self.try_next() {
                return key;
            }
            self.0.marked.notified().await;
        }
    }

    /// The next object that changed, if there is one already.
    pub fn try_next(&mut self) -> Option<Key> {
        self.0.dirty.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[derive(Default)]
pub(super) struct Inbox {
    dirty: Mutex<Dirty>,
    marked: Notify,
}

#[derive(Default)]
struct Dirty {
    order: VecDeque<Key>,
    keys: HashSet<Key>,
}

impl Inbox {
    fn mark(&self, key: &Key) {
        let mut dirty = self.dirty.lock().unwrap_or_else(PoisonError::into_inner);
        if dirty.keys.insert(key.clone()) {
            dirty.order.push_back(key.clone());
            self.marked.notify_one();
        }
    }
}

impl Dirty {
    fn take(&mut self) -> Option<Key> {
        let key = self.order.pop_front()?;
        self.keys.remove(&key);
        Some(key)
    }
}
