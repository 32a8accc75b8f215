//! The cache of one kind: what the watches know, shared by everyone who reads.
//!
//! Invariants:
//! - Listeners hear of the changes of a key in order, and when they do the store already has the new value.
//! - A resourceVersion is announced after the listeners heard of everything up to it: who waits with [`Store::reached`] sees
//!   its own writes, and so does the queue.
//! - A list that ends early removes nothing. Its rows are newer than what they replace, so they stay.
//! - Within a watch, a resourceVersion never goes back, and neither does an object.

use std::{collections::BTreeSet, future::Future, pin::pin, sync::Arc};

use tokio::sync::Notify;

use super::{
    content::{Content, Entry, Progress, Round},
    health::{Health, State},
    index::Index,
    object::{Object, Undecodable, Version},
    subscribe::{Change, Listener, Subscription},
    sync::{Mutex, MutexGuard, PoisonError, RwLock},
};
use crate::{Key, Row};

/// A cache of rows. Cheap to clone; reading never copies a row.
pub struct Store<R>(Arc<Shared<R>>);

struct Shared<R> {
    content: RwLock<Content<R>>,
    /// Whoever changes the content holds this from the change until all listeners have heard of it, so that they hear of changes
    /// in order. `content` is not locked meanwhile: a listener may read the store.
    listeners: Mutex<Vec<Listener<R>>>,
    /// Woken when a watch has got further.
    progress: Notify,
}

/// Where a change comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The first list: what was there before we looked.
    FirstList,
    /// Something happened.
    News,
}

impl<R: Row> Store<R> {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared {
            content: RwLock::new(Content::new()),
            listeners: Mutex::new(Vec::new()),
            progress: Notify::new(),
        }))
    }

    /// The object, if it is there and could be decoded. Before you take its absence for its end, ask [`Self::undecodable`].
    pub fn get(&self, key: &Key) -> Option<Arc<R>> {
        self.read(|content| content.get(key)?.row().cloned())
    }

    /// Whether the object is there, decoded or not.
    pub(crate) fn contains(&self, key: &Key) -> bool {
        self.read(|content| content.get(key).is_some())
    }

    /// Why the object could not be decoded, if it is there and so.
    pub fn undecodable(&self, key: &Key) -> Option<Arc<Undecodable>> {
        self.read(|content| content.get(key)?.undecodable().cloned())
    }

    /// All objects, in the order of their keys.
    pub fn list(&self) -> Vec<Arc<R>> {
        self.read(|content| content.rows().cloned().collect())
    }

    /// The objects of a namespace, in the order of their names.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<R>> {
        self.read(|content| content.in_namespace(namespace).cloned().collect())
    }

    /// The objects for which the index has `value`, in the order of their keys.
    pub fn by(&self, index: &'static str, value: &str) -> Vec<Arc<R>> {
        self.read(|content| content.by(index, value).cloned().collect())
    }

    /// The keys of all objects in order, of undecodable ones too.
    pub fn keys(&self) -> Vec<Key> {
        self.read(|content| content.keys().cloned().collect())
    }

    /// How many objects there are, undecodable ones too.
    pub fn len(&self) -> usize {
        self.read(Content::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether everything in scope was listed once. A namespace that joins the scope later does not change that.
    pub fn synced(&self) -> bool {
        self.read(|content| content.synced)
    }

    /// Waits until [`Self::synced`].
    pub async fn wait_synced(&self) {
        self.wait_until(|content| content.synced).await;
    }

    /// Whether the objects of this namespace were listed.
    pub fn synced_in(&self, namespace: &str) -> bool {
        self.read(|content| content.covering(namespace).is_some_and(|watch| watch.version.is_some()))
    }

    /// How far the watch that covers `namespace` has got; `0` before its first list, or if the server does not count.
    pub fn resource_version(&self, namespace: &str) -> u64 {
        self.read(|content| content.covering(namespace).map_or(0, Progress::number))
    }

    /// Waits until the watch that covers `namespace` has got to `resource_version`. It does not wait where that cannot be known:
    /// outside of the scope, and when the server's versions are no numbers.
    pub fn reached(&self, namespace: &str, resource_version: u64) -> impl Future<Output = ()> {
        let far_enough =
            move |version: &Version| version.number.is_none_or(|number| number >= resource_version);
        self.wait_until(move |content| match content.covering(namespace) {
            Some(watch) => watch.version.as_ref().is_some_and(far_enough),
            None => content.scope_is_known(),
        })
    }

    /// Waits until the object `key` with this UID is not there (any more).
    pub fn gone(&self, key: &Key, uid: &str) -> impl Future<Output = ()> {
        self.wait_until(move |content| content.get(key).is_none_or(|object| object.uid() != uid))
    }

    /// Calls `listener` with everything that is there, and from then on with every change, in order. It is called in line: it
    /// must not block, and it must not add another listener. It may read the store, which has the change already.
    pub fn on_change(&self, listener: impl Fn(&Change<'_, R>) + Send + Sync + 'static) {
        self.listen(Listener::Callback(Box::new(listener)));
    }

    /// The keys of what changes from now on, and of everything that is there already.
    pub fn subscribe(&self) -> Subscription {
        let (subscription, listener) = Subscription::new();
        self.listen(listener);
        subscription
    }

    /// How the informer is doing.
    pub fn health(&self) -> Health {
        self.read(Content::health)
    }

    fn read<T>(&self, read: impl FnOnce(&Content<R>) -> T) -> T {
        read(&self.0.content.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, write: impl FnOnce(&mut Content<R>) -> T) -> T {
        write(&mut self.0.content.write().unwrap_or_else(PoisonError::into_inner))
    }

    async fn wait_until(&self, condition: impl Fn(&Content<R>) -> bool) {
        loop {
            let mut progress = pin!(self.0.progress.notified());
            progress.as_mut().enable();
            if self.read(&condition) {
                return;
            }
            progress.await;
        }
    }
}

/// What the watches do.
impl<R: Row> Store<R> {
    pub(super) fn add_index(&self, index: Index<R>) {
        self.write(|content| content.add_index(index));
    }

    /// Tells the listener of everything that is there, then of what changes.
    fn listen(&self, listener: Listener<R>) {
        let mut listeners = self.writer();
        for key in self.keys() {
            let object = self.read(|content| content.get(&key).cloned());
            listener.tell(&change(&key, None, object.as_ref(), Origin::FirstList));
        }
        listeners.push(listener);
    }

    /// From now on these watches go on and these start from nothing; what is not to be kept is removed.
    pub(super) fn cover(
        &self,
        kept: &BTreeSet<String>,
        started: &BTreeSet<String>,
        keep: impl Fn(&Key) -> bool,
    ) {
        let mut listeners = self.writer();
        self.write(|content| content.set_watches(kept, started));
        let lost: Vec<Key> = self.read(|content| content.keys().filter(|key| !keep(key)).cloned().collect());
        for key in lost {
            self.set(&mut listeners, &key, None, Origin::News);
        }
        drop(listeners);
        self.settle();
    }

    pub(super) fn begin_list(&self) -> Round {
        self.write(Content::begin_round)
    }

    /// Takes one object of a list. Nothing is emitted when it is known in this version.
    pub(super) fn listed(&self, object: Object<R>, round: Round, origin: Origin) {
        let mut listeners = self.writer();
        let key = object.key();
        if !self.write(|content| content.seen(&key, &object, round)) {
            self.set(&mut listeners, &key, Some(Entry { object, round }), origin);
        }
    }

    /// The list is complete: what it did not have is gone, and the watch goes on from `version`.
    pub(super) fn finish_list(&self, watch: &str, round: Round, version: Version) {
        let mut listeners = self.writer();
        for key in self.read(|content| content.unseen(watch, round)) {
            self.set(&mut listeners, &key, None, Origin::News);
        }
        drop(listeners);
        self.update(watch, |progress| {
            *progress = Progress { version: Some(version), state: State::Synced, error: None };
        });
        self.settle();
    }

    /// Takes an object that was added or changed. What is older than what is known is a repetition, and ignored.
    pub(super) fn changed(&self, watch: &str, object: Object<R>) {
        let number = object.resource_version();
        let key = object.key();
        let mut listeners = self.writer();
        let (repeated, round) = self.read(|content| {
            let seen = content.watch(watch).map_or(0, Progress::number);
            let older = content.get(&key).is_some_and(|known| number < known.resource_version());
            (number != 0 && (number <= seen || older), content.round())
        });
        if !repeated {
            self.set(&mut listeners, &key, Some(Entry { object, round }), Origin::News);
        }
        drop(listeners);
        self.advance(watch, number);
    }

    /// Takes an object that was deleted at `number`. It may have been created anew since.
    pub(super) fn deleted(&self, watch: &str, key: &Key, number: u64) {
        let mut listeners = self.writer();
        let recreated = |known: &Object<R>| number != 0 && number < known.resource_version();
        if !self.read(|content| content.get(key).is_some_and(recreated)) {
            self.set(&mut listeners, key, None, Origin::News);
        }
        drop(listeners);
        self.advance(watch, number);
    }

    /// Everything up to `version` has arrived.
    pub(super) fn bookmark(&self, watch: &str, version: Version) {
        self.update(watch, |progress| {
            if version.number.is_none_or(|number| number > progress.number()) {
                progress.version = Some(version);
            }
            progress.error = None;
        });
    }

    /// The version to watch on from.
    pub(super) fn version(&self, watch: &str) -> Option<Version> {
        self.read(|content| content.watch(watch)?.version.clone())
    }

    /// Notes how the watch is doing; true if that is news.
    pub(super) fn report(&self, watch: &str, state: Option<State>, error: Option<String>) -> bool {
        let news = self.update(watch, |progress| {
            let before = (progress.state, progress.error.is_some());
            let usual = if progress.version.is_some() { State::Synced } else { State::Syncing };
            progress.state = state.unwrap_or(usual);
            progress.error = error;
            before != (progress.state, progress.error.is_some())
        });
        news.unwrap_or_default()
    }

    /// How many objects could not be decoded.
    pub(super) fn count_undecodable(&self) -> usize {
        self.read(Content::undecodable)
    }

    /// Whoever changes something.
    fn writer(&self) -> MutexGuard<'_, Vec<Listener<R>>> {
        self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts or removes one object, and tells everyone.
    fn set(&self, listeners: &mut Vec<Listener<R>>, key: &Key, entry: Option<Entry<R>>, origin: Origin) {
        let new = entry.as_ref().map(|entry| entry.object.clone());
        let old = self.write(|content| content.set(key, entry));
        if old.is_some() || new.is_some() {
            listeners.retain(|listener| listener.tell(&change(key, old.as_ref(), new.as_ref(), origin)));
        }
    }

    fn advance(&self, watch: &str, number: u64) {
        if number != 0 {
            self.bookmark(watch, Version { text: number.to_string(), number: Some(number) });
        }
    }

    fn update<T>(&self, watch: &str, update: impl FnOnce(&mut Progress) -> T) -> Option<T> {
        let updated = self.write(|content| content.watch_mut(watch).map(update));
        self.0.progress.notify_waiters();
        updated
    }

    fn settle(&self) {
        self.write(Content::settle);
        self.0.progress.notify_waiters();
    }
}

fn change<'a, R: Row>(
    key: &'a Key,
    old: Option<&'a Object<R>>,
    new: Option<&'a Object<R>>,
    origin: Origin,
) -> Change<'a, R> {
    Change {
        key,
        old: old.and_then(Object::row),
        new: new.and_then(Object::row),
        undecodable: new.and_then(Object::undecodable),
        initial: origin == Origin::FirstList,
    }
}

impl<R> Clone for Store<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
