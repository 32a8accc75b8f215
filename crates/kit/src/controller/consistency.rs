//! Read your writes: an object is not reconciled again before the caches have seen what its last reconcile wrote.
//!
//! Without this a reconcile that runs on an old cache repeats what was done a moment ago: it creates a second member, or
//! takes a promotion back (KEP-5647 brought the same to Kubernetes' own controllers).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::{BoxFuture, join_all};

use crate::{Key, KindId, Row, context::Write, informer::Store};

/// A cache that does not see a write for this long does not see it at all (its selector leaves the object out, or the
/// server's versions are no numbers); a reconcile on what is known is then better than none.
const PATIENCE: Duration = Duration::from_secs(10);

/// How far a store has got, whatever its rows are.
pub(crate) trait Cache: Send + Sync {
    fn kind(&self) -> KindId;
    fn wait_synced(&self) -> BoxFuture<'static, ()>;
    fn resource_version(&self, namespace: &str) -> u64;
    fn reached(&self, namespace: &str, resource_version: u64) -> BoxFuture<'static, ()>;
}

impl<R: Row> Cache for Store<R> {
    fn kind(&self) -> KindId {
        R::kind()
    }

    fn wait_synced(&self) -> BoxFuture<'static, ()> {
        let store = self.clone();
        Box::pin(async move { store.wait_synced().await })
    }

    fn resource_version(&self, namespace: &str) -> u64 {
        Store::resource_version(self, namespace)
    }

    fn reached(&self, namespace: &str, resource_version: u64) -> BoxFuture<'static, ()> {
        let (store, namespace) = (self.clone(), namespace.to_owned());
        Box::pin(async move { store.reached(&namespace, resource_version).await })
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
        if writes.is_empty() { wrote.remove(key) } else { wrote.insert(key.clone(), writes) };
    }

    /// What to wait for before `key` may be reconciled; `None` when the caches have seen all of its writes.
    pub(super) fn behind(&self, key: &Key) -> Option<impl Future<Output = bool> + Send + 'static> {
        let wrote = self.wrote.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<_> = wrote
            .get(key)?
            .iter()
            .flat_map(|write| self.caches.get(&write.kind).into_iter().flatten().map(move |cache| (cache, write)))
            .filter(|(cache, write)| cache.resource_version(write.key.namespace()) < write.resource_version)
            .map(|(cache, write)| cache.reached(write.key.namespace(), write.resource_version))
            .collect();
        (!missing.is_empty())
            .then(|| async { tokio::time::timeout(PATIENCE, join_all(missing)).await.is_ok() })
    }

    /// Forgets what `key` wrote.
    pub(super) fn forget(&self, key: &Key) {
        self.wrote.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
