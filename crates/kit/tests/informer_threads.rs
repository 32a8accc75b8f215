//! The store and its subscriptions under every order of threads that shuttle finds.
//!
//! The source is compiled a second time here, with shuttle's locks in the place of the standard library's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use kit::{Key, KindId, Owner, Row};

mod slim {
    pub(crate) use kit::Meta;
}

#[allow(dead_code, unreachable_pub, reason = "the tests use a part of it")]
#[path = "."]
mod informer {
    mod blame {
        pub(super) fn explain(_: &[u8], error: &serde_json::Error) -> String {
            error.to_string()
        }
    }
    #[path = "../src/informer/content.rs"]
    mod content;
    #[path = "../src/informer/health.rs"]
    mod health;
    #[path = "../src/informer/index.rs"]
    mod index;
    #[path = "../src/informer/object.rs"]
    mod object;
    #[path = "../src/informer/store.rs"]
    mod store;
    #[path = "../src/informer/subscribe.rs"]
    mod subscribe;

    mod sync {
        pub(super) use std::sync::PoisonError;

        pub(super) use shuttle::sync::{Mutex, MutexGuard, RwLock};
    }

    pub(super) use store::Store;

    use object::{Object, Version};
    use store::Origin;

    use super::Item;

    /// The store's inner verbs, for the threads below.
    impl Store<Item> {
        pub(super) fn over(watches: &[&str]) -> Self {
            let store = Self::new();
            let names = watches.iter().copied().map(String::from).collect();
            store.cover(&Default::default(), &names, |_| true);
            store
        }

        pub(super) fn puts(&self, watch: &str, name: &str, version: u64) {
            self.changed(watch, Object::Row(std::sync::Arc::new(Item::new(watch, name, version))));
        }

        pub(super) fn deletes(&self, watch: &str, name: &str, version: u64) {
            self.deleted(watch, &super::Key::new(watch, name), version);
        }

        pub(super) fn lists(&self, watch: &str, items: &[(&str, u64)], version: u64) {
            let round = self.begin_list();
            for (name, number) in items {
                self.listed(
                    Object::Row(std::sync::Arc::new(Item::new(watch, name, *number))),
                    round,
                    Origin::FirstList,
                );
            }
            self.finish_list(watch, round, Version::new(version.to_string()));
        }

        pub(super) fn narrows_to(&self, watches: &[&str]) {
            let names = watches.iter().copied().map(String::from).collect();
            self.cover(&names, &Default::default(), |key| watches.contains(&key.namespace()));
        }
    }
}

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex as Log},
};

use informer::Store;
use shuttle::{future::block_on, thread};

/// A row that is nothing but its key and version.
struct Item {
    key: Key,
    version: u64,
}

impl Item {
    fn new(namespace: &str, name: &str, version: u64) -> Self {
        Self { key: Key::new(namespace, name), version }
    }
}

impl Row for Item {
    fn kind() -> KindId {
        KindId::of::<k8s_openapi::api::core::v1::ConfigMap>()
    }

    fn decode(json: &[u8]) -> Result<Self, serde_json::Error> {
        let meta = slim::Meta::decode(json)?;
        Ok(Self { key: meta.key().clone(), version: meta.resource_version() })
    }

    fn key(&self) -> Key {
        self.key.clone()
    }

    fn uid(&self) -> &str {
        self.key.name()
    }

    fn resource_version(&self) -> u64 {
        self.version
    }

    fn generation(&self) -> i64 {
        0
    }

    fn label(&self, _: &str) -> Option<&str> {
        None
    }

    fn controller(&self) -> Option<Owner<'_>> {
        None
    }
}

fn version(store: &Store<Item>, key: &Key) -> Option<u64> {
    store.get(key).map(|item| item.version)
}

fn explore(threads: impl Fn() + Send + Sync + 'static) {
    shuttle::check_pct(threads, 1_000, 3);
}

#[test]
fn the_last_state_that_a_subscriber_reads_is_the_stores() {
    explore(|| {
        let store = Store::over(&["a"]);
        let mut subscription = store.subscribe();
        let writer = thread::spawn({
            let store = store.clone();
            move || {
                store.lists("a", &[("x", 1), ("y", 2)], 2);
                store.puts("a", "x", 3);
                store.deletes("a", "y", 4);
                store.puts("a", "x", 5);
                store.puts("a", "end", 6);
            }
        });
        let reader = thread::spawn({
            let store = store.clone();
            move || {
                let mut seen = BTreeMap::new();
                loop {
                    let key = block_on(subscription.next());
                    seen.insert(key.clone(), version(&store, &key));
                    if seen.contains_key(&Key::new("a", "end")) && subscription.try_next().is_none() {
                        return seen;
                    }
                }
            }
        });
        writer.join().unwrap();
        for (key, seen) in reader.join().unwrap() {
            assert_eq!(seen, version(&store, &key), "{key}");
        }
    });
}

#[test]
fn a_listener_that_comes_late_misses_nothing_and_hears_nothing_twice() {
    explore(|| {
        let store = Store::over(&["a", "b"]);
        let writers = ["a", "b"].map(|watch| {
            let store = store.clone();
            thread::spawn(move || {
                store.puts(watch, "x", 1);
                store.puts(watch, "x", 2);
                store.deletes(watch, "x", 3);
                store.puts(watch, "x", 4);
            })
        });
        let heard = Arc::new(Log::new(BTreeMap::<Key, Vec<_>>::new()));
        let log = heard.clone();
        store.on_change(move |change| {
            let [old, new] = [change.old, change.new].map(|row| row.map(|item| item.version));
            log.lock().unwrap().entry(change.key.clone()).or_default().push((old, new));
        });
        for writer in writers {
            writer.join().unwrap();
        }
        for (key, changes) in &*heard.lock().unwrap() {
            let mut at = None;
            for (index, (old, new)) in changes.iter().enumerate() {
                assert!(index == 0 || *old == at, "{key}: {changes:?}");
                assert_ne!(*new, at, "{key}: {changes:?}");
                at = *new;
            }
            assert_eq!(at, Some(4), "{key}: {changes:?}");
        }
        assert_eq!(heard.lock().unwrap().len(), 2);
    });
}

#[test]
fn who_waits_for_a_version_is_woken_and_finds_it() {
    explore(|| {
        let store = Store::over(&["a"]);
        let heard = Arc::new(Log::new(0));
        let log = heard.clone();
        store.on_change(move |change| *log.lock().unwrap() = change.new.map_or(0, |item| item.version));
        let waiters = [3, 4].map(|wanted| {
            let (store, heard) = (store.clone(), heard.clone());
            thread::spawn(move || {
                block_on(store.wait_synced());
                block_on(store.reached("a", wanted));
                assert!(store.get(&Key::new("a", "x")).unwrap().version >= wanted);
                assert!(*heard.lock().unwrap() >= wanted, "listeners hear of it before who waits");
            })
        });
        store.lists("a", &[("x", 1)], 2);
        store.puts("a", "x", 3);
        store.puts("a", "x", 4);
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn a_scope_that_narrows_while_others_change_leaves_only_what_it_covers() {
    explore(|| {
        let store = Store::over(&["a", "b"]);
        store.lists("a", &[("x", 1)], 1);
        store.lists("b", &[("x", 1)], 1);
        let mut subscription = store.subscribe();
        while subscription.try_next().is_some() {}
        let writer = thread::spawn({
            let store = store.clone();
            move || store.puts("a", "x", 2)
        });
        store.narrows_to(&["a"]);
        writer.join().unwrap();
        assert_eq!(store.keys(), [Key::new("a", "x")]);
        let mut dirty: Vec<_> = std::iter::from_fn(|| subscription.try_next()).collect();
        dirty.sort();
        assert_eq!(dirty, [Key::new("a", "x"), Key::new("b", "x")]);
        assert!(store.synced());
    });
}
