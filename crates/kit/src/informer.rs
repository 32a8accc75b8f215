//! Informers: a complete, up-to-date copy of the objects of one kind, and news of every change.
//!
//! ```text
//! API server ── list, watch ──► Lineage (one per namespace in scope) ──► Store ──► on_change, Subscription
//! ```
//!
//! Each lineage lists in pages and then watches, for ever. Whatever happens to the connection, the store ends up with what the
//! server has, and listeners hear of exactly the difference: of what was deleted while nobody was watching, too.
//!
//! Streaming lists (`sendInitialEvents`) are left out: lists in pages into the live store need no more memory, and work with
//! every server.

mod blame;
mod content;
mod health;
mod index;
mod lineage;
mod lines;
mod object;
mod store;
mod subscribe;
mod trouble;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{Row, Scope, metrics::Metrics, scope::Territory};
use index::Index;
use lineage::Lineage;

pub use health::{Health, State, WatchHealth};
pub use object::Undecodable;
pub use store::Store;
pub use subscribe::{Change, Subscription};

/// The locks of the store, by a name of their own: the concurrency tests compile the same source with shuttle's.
mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
}

/// Which objects of a kind are watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Select {
    /// A label selector, for example `app=db,tier!=test`.
    pub labels: Option<String>,
    /// A field selector, for example `type!=helm.sh/release.v1`.
    pub fields: Option<String>,
}

impl Select {
    /// All of them.
    pub fn all() -> Self {
        Self::default()
    }

    /// Those that this label selector matches.
    pub fn labels(selector: impl Into<String>) -> Self {
        Self { labels: Some(selector.into()), fields: None }
    }

    /// Those that this field selector matches.
    pub fn fields(selector: impl Into<String>) -> Self {
        Self { labels: None, fields: Some(selector.into()) }
    }
}

/// Keeps a [`Store`] of one kind up to date. Set it up, then [`run`](Self::run) it.
pub struct Informer<R: Row> {
    client: kube::Client,
    select: Select,
    scope: watch::Receiver<Scope>,
    metrics: Metrics,
    store: Store<R>,
}

impl<R: Row> Informer<R> {
    /// An informer of the objects in `select` and `scope`, as both the objects and the scope change.
    pub fn new(
        client: kube::Client,
        select: Select,
        scope: watch::Receiver<Scope>,
        metrics: Metrics,
    ) -> Self {
        Self { client, select, scope, metrics, store: Store::new() }
    }

    /// Adds an index: [`Store::by`] finds objects by the values that `key` returns for them.
    #[must_use]
    pub fn index(self, name: &'static str, key: impl Fn(&R) -> Vec<String> + Send + Sync + 'static) -> Self {
        self.store.add_index(Index::new(name, key));
        self
    }

    /// The cache.
    pub fn store(&self) -> Store<R> {
        self.store.clone()
    }

    /// How it is doing.
    pub fn health(&self) -> Health {
        self.store.health()
    }

    /// Lists and watches until it is stopped. Nothing else ends it.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut running = BTreeMap::new();
        let mut open = true;
        while !stop.is_cancelled() {
            let scope = self.scope.borrow_and_update().clone();
            match scope.territories(&R::kind()) {
                Some(wanted) => self.run_exactly(&mut running, wanted, &scope).await,
                None => tracing::info!(kind = %R::kind(), ?scope, "waiting for the namespaces in scope"),
            }
            tokio::select! {
                () = stop.cancelled() => {}
                changed = self.scope.changed(), if open => open = changed.is_ok(),
            }
        }
    }

    /// Ends the watches that are no longer wanted, and then starts the others: an object is never under two watches at once.
    async fn run_exactly(
        &self,
        running: &mut BTreeMap<Territory, AbortOnDropHandle<()>>,
        wanted: BTreeSet<Territory>,
        scope: &Scope,
    ) {
        let (kept, ended): (BTreeMap<_, _>, _) =
            std::mem::take(running).into_iter().partition(|(territory, _)| wanted.contains(territory));
        for (_, task) in ended {
            task.abort();
            let _cancelled = task.await;
        }
        *running = kept;
        let names = |territories: &mut dyn Iterator<Item = &Territory>| -> BTreeSet<String> {
            territories.map(|territory| territory.namespace.clone()).collect()
        };
        let fresh: Vec<_> = wanted.into_iter().filter(|territory| !running.contains_key(territory)).collect();
        let namespaced = R::kind().namespaced;
        self.store.cover(&names(&mut running.keys()), &names(&mut fresh.iter()), |key| {
            !namespaced || scope.covers(key.namespace())
        });
        for territory in fresh {
            let lineage = Lineage::new(
                self.client.clone(),
                self.store(),
                &self.select,
                &territory,
                self.metrics.clone(),
            );
            running.insert(territory, AbortOnDropHandle::new(tokio::spawn(lineage.run())));
        }
    }
}
