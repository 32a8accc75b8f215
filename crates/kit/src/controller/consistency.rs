//! Read your writes: an object is not reconciled again before the caches have seen what its last reconcile wrote.
//!
//! Without this a reconcile that runs on an old cache repeats what was done a moment ago: it creates a second member, or
//! takes a promotion back (KEP-5647 brought the same to Kubernetes' own controllers).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, join_all, select_all},
};

use crate::{
    Key, KindId, Row,
    context::{Made, Write},
    informer::Store,
};

/// A cache that does not see a write for this long does not see it at all (its selector leaves the object out, or the
/// server's versions are no numbers); a reconcile on what is known is then better than none.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ready once all caches that have the object have seen the write; where none has it, as when it was just made, once the first of them has.
/// Others leave it out by their selectors, and would never.
fn seen(caches: &[Arc<dyn Cache>], write: &Write) -> Option<BoxFuture<'static, ()>> {
    let seen = |cache: &Arc<dyn Cache>| cache.seen(write.clone());
    let holding: Vec<_> = caches.iter().filter(|cache| cache.holds(&write.key)).map(seen).collect();
    match (caches, holding.is_empty()) {
        ([], _) => None,
        (_, true) => Some(select_all(caches.iter().map(seen)).map(drop).boxed()),
        (_, false) => Some(join_all(holding).map(drop).boxed()),
    }
}

/// How far a store has got, whatever its rows are.
pub(crate) trait Cache: Send + Sync {
    fn kind(&self) -> KindId;
    fn wait_synced(&self) -> BoxFuture<'static, ()>;
    fn holds(&self, key: &Key) -> bool;
    /// Ready once the cache has seen `write`, and at once if it never will.
    fn seen(&self, write: Write) -> BoxFuture<'static, ()>;
}

impl<R: Row> Cache for Store<R> {
    fn kind(&self) -> KindId {
        R::kind()
    }

    fn wait_synced(&self) -> BoxFuture<'static, ()> {
        let store = self.clone();
        Box::pin(async move { store.wait_synced().await })
    }

    fn holds(&self, key: &Key) -> bool {
        self.contains(key)
    }

    fn seen(&self, write: Write) -> BoxFuture<'static, ()> {
        let store = self.clone();
        Box::pin(async move {
            match write.made {
                Made::Version(version) => store.reached(write.key.namespace(), version).await,
                Made::Removed(uid) => store.gone(&write.key, &uid).await,
            }
        })
    }
}

pub(super) struct Consistency {
    caches: HashMap<KindId, Vec<Arc<dyn Cache>>>,
    /// What the last reconcile of each object wrote.
    wrote: Mutex<HashMap<Key, Vec<Write>>>,
}

impl Consistency {
    pub(super) fn new(caches: Vec<Arc<dyn Cache>>) -> Self {
        let mut by_kind: HashMap<_, Vec<_>> = HashMap::new();
        for cache in caches {
            by_kind.entry(cache.kind()).or_default().push(cache);
        }
        Self { caches: by_kind, wrote: Mutex::default() }
    }

    /// Remembers what the reconcile of `key` wrote.
    pub(super) fn wrote(&self, key: &Key, writes: Vec<Write>) {
        let mut wrote = self.wrote.lock().unwrap_or_else(PoisonError::into_inner);
        if writes.is_empty() {
            wrote.remove(key)
        } else {
            wrote.insert(key.clone(), writes)
        };
    }

    /// What to wait for before `key` may be reconciled; `None` when the caches have seen all of its writes.
    pub(super) fn behind(&self, key: &Key) -> Option<impl Future<Output = bool> + Send + 'static> {
        let wrote = self.wrote.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = wrote.get(key)?.iter().filter_map(|write| seen(self.caches.get(&write.kind)?, write));
        let missing: Vec<_> =
            waits.filter_map(|mut wait| (&mut wait).now_or_never().is_none().then_some(wait)).collect();
        (!missing.is_empty())
            .then_some(async { tokio::time::timeout(PATIENCE, join_all(missing)).await.is_ok() })
    }

    /// Forgets what `key` wrote.
    pub(super) fn forget(&self, key: &Key) {
        self.wrote.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    /// A cache that has the object or not, and has got as far as the write or not.
    struct Fake {
        has_it: bool,
        is_there: bool,
    }

    impl Cache for Fake {
        fn kind(&self) -> KindId {
            KindId::of::<Pod>()
        }

        fn wait_synced(&self) -> BoxFuture<'static, ()> {
            ready(()).boxed()
        }

        fn holds(&self, _: &Key) -> bool {
            self.has_it
        }

        fn seen(&self, _: Write) -> BoxFuture<'static, ()> {
            if self.is_there { ready(()).boxed() } else { pending().boxed() }
        }
    }

    fn waits(caches: [(bool, bool); 2]) -> bool {
        let caches = caches.map(|(has_it, is_there)| Arc::new(Fake { has_it, is_there }) as Arc<dyn Cache>);
        let consistency = Consistency::new(caches.into());
        let key = Key::new("default", "db");
        let made = Made::Version(7);
        let write = Write { kind: KindId::of::<Pod>(), key: Key::new("default", "db-0"), made };
        consistency.wrote(&key, vec![write]);
        consistency.behind(&key).is_some()
    }

    #[test]
    fn a_cache_whose_selector_leaves_an_object_out_is_not_waited_for() {
        assert!(!waits([(true, true), (false, false)]));
        assert!(waits([(true, false), (false, true)]), "the one that has it has not seen it");
        assert!(waits([(true, true), (true, false)]), "both have it, and one is behind");
        assert!(!waits([(false, true), (false, false)]), "a new one is seen where it was seen first");
        assert!(waits([(false, false), (false, false)]));
    }
}
