//! What a store holds: rows, their indexes, and how far each watch has got. Plain data; [`super::store`] adds the locks.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    health::{Health, State, WatchHealth},
    index::Index,
    object::{Object, Version},
};
use crate::{Key, Row};

pub(super) struct Content<R> {
    /// Ordered, so that a namespace is a range and every reader sees the same order.
    rows: BTreeMap<Key, Entry<R>>,
    indexes: Vec<Index<R>>,
    undecodable: usize,
    /// By namespace, with `""` for all at once; nothing before the scope is known.
    watches: Option<BTreeMap<String, Progress>>,
    /// Whether all of the scope was listed once. It stays so: a namespace that comes later does not unsettle the others.
    pub(super) synced: bool,
    rounds: u32,
}

/// An object, and the round of listing in which it was last seen.
pub(super) struct Entry<R> {
    pub(super) object: Object<R>,
    pub(super) round: Round,
}

/// One attempt to list everything that a watch covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Round(u32);

/// How far one watch has got.
pub(super) struct Progress {
    pub(super) version: Option<Version>,
    pub(super) state: State,
    pub(super) error: Option<String>,
}

impl Progress {
    pub(super) fn number(&self) -> u64 {
        self.version.as_ref().and_then(|version| version.number).unwrap_or_default()
    }

    fn health(&self) -> WatchHealth {
        WatchHealth { state: self.state, resource_version: self.number(), last_error: self.error.clone() }
    }
}

impl<R: Row> Content<R> {
    pub(super) fn new() -> Self {
        Self {
            rows: BTreeMap::new(),
            indexes: Vec::new(),
            undecodable: 0,
            watches: None,
            synced: false,
            rounds: 0,
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Object<R>> {
        self.rows.get(key).map(|entry| &entry.object)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.rows.keys()
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Arc<R>> {
        self.rows.values().filter_map(|entry| entry.object.row())
    }

    pub(super) fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &Arc<R>> {
        let from_here = self.rows.range(Key::new(namespace, "")..);
        from_here.take_while(move |(key, _)| key.namespace() == namespace).filter_map(|(_, e)| e.object.row())
    }

    pub(super) fn by(&self, index: &str, value: &str) -> impl Iterator<Item = &Arc<R>> {
        let index = self.indexes.iter().find(|known| known.name == index);
        debug_assert!(index.is_some(), "the informer has no such index");
        let keys = index.into_iter().flat_map(move |index| index.get(value));
        keys.filter_map(|key| self.get(key)?.row())
    }

    pub(super) fn add_index(&mut self, mut index: Index<R>) {
        for (key, entry) in &self.rows {
            index.update(key, None, entry.object.row().map(|row| &**row));
        }
        self.indexes.push(index);
    }

    /// Puts or removes one object, and returns what was there.
    pub(super) fn set(&mut self, key: &Key, entry: Option<Entry<R>>) -> Option<Object<R>> {
        let undecodable = |object: Option<&Object<R>>| object.and_then(Object::undecodable).iter().count();
        let new = entry.as_ref().map(|entry| entry.object.clone());
        let old = match entry {
            Some(entry) => self.rows.insert(key.clone(), entry),
            None => self.rows.remove(key),
        }
        .map(|entry| entry.object);
        self.undecodable += undecodable(new.as_ref());
        self.undecodable -= undecodable(old.as_ref());
        let [before, after] =
            [&old, &new].map(|object| object.as_ref().and_then(Object::row).map(|row| &**row));
        for index in &mut self.indexes {
            index.update(key, before, after);
        }
        old
    }

    pub(super) fn begin_round(&mut self) -> Round {
        self.rounds = self.rounds.wrapping_add(1);
        self.round()
    }

    pub(super) fn round(&self) -> Round {
        Round(self.rounds)
    }

    /// Notes that the object was listed; true if it is known in this version.
    pub(super) fn seen(&mut self, key: &Key, object: &Object<R>, round: Round) -> bool {
        self.rows.get_mut(key).is_some_and(|entry| {
            entry.round = round;
            entry.object.same_as(object)
        })
    }

    /// What this watch covers and this round has not seen.
    pub(super) fn unseen(&self, watch: &str, round: Round) -> Vec<Key> {
        let covered = self.rows.iter().filter(|(key, _)| watch.is_empty() || key.namespace() == watch);
        covered.filter(|(_, entry)| entry.round != round).map(|(key, _)| key.clone()).collect()
    }

    /// These watches go on, and these start from nothing.
    pub(super) fn set_watches(&mut self, kept: &BTreeSet<String>, started: &BTreeSet<String>) {
        let fresh = || Progress { version: None, state: State::Starting, error: None };
        let mut watches = self.watches.take().unwrap_or_default();
        watches.retain(|namespace, _| kept.contains(namespace));
        watches.extend(started.iter().map(|namespace| (namespace.clone(), fresh())));
        self.watches = Some(watches);
    }

    pub(super) fn scope_is_known(&self) -> bool {
        self.watches.is_some()
    }

    pub(super) fn watch(&self, watch: &str) -> Option<&Progress> {
        self.watches.as_ref()?.get(watch)
    }

    pub(super) fn watch_mut(&mut self, watch: &str) -> Option<&mut Progress> {
        self.watches.as_mut()?.get_mut(watch)
    }

    /// The watch that covers `namespace`: its own, or the one of all.
    pub(super) fn covering(&self, namespace: &str) -> Option<&Progress> {
        self.watch(namespace).or_else(|| self.watch(""))
    }

    /// The content is synced once all watches were listed at the same time.
    pub(super) fn settle(&mut self) {
        let listed = |watches: &BTreeMap<_, Progress>| watches.values().all(|watch| watch.version.is_some());
        self.synced |= self.watches.as_ref().is_some_and(listed);
    }

    pub(super) fn health(&self) -> Health {
        let watches = || self.watches.iter().flatten();
        let nothing_to_do = if self.scope_is_known() { State::Synced } else { State::Starting };
        Health {
            state: watches().map(|(_, watch)| watch.state).min().unwrap_or(nothing_to_do),
            last_error: watches().find_map(|(_, watch)| watch.error.clone()),
            watches: watches().map(|(name, watch)| (name.clone(), watch.health())).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn undecodable(&self) -> usize {
        self.undecodable
    }
}
