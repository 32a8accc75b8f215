//! A controller: changes become keys, keys become reconciles, outcomes become the next wake-up.
//!
//! ```text
//! stores ──on_change──> triggers ──> queue ──> dispatcher ──> worker: observe decide act report ──> Outcome ──> queue
//!                                                  └── consistency: not before the caches have seen what we wrote last
//! ```

mod consistency;
mod resync;
mod triggers;
mod unreadable;
mod worker;

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub(crate) use self::consistency::Cache;
pub use self::triggers::Trigger;
use self::{consistency::Consistency, worker::Worker};
use crate::{
    Clock, Key, Reconciler, Scope,
    apply::Applied,
    events::Events,
    informer::Store,
    metrics::Metrics,
    queue::{Backoff, Queue},
};

/// How a controller works.
#[derive(Debug, Clone)]
pub struct ControllerOptions {
    /// How many objects are reconciled at once.
    pub workers: usize,
    /// How long one reconcile may take before it is given up.
    pub reconcile_timeout: Duration,
    /// How often every object is looked at again although nothing changed. Spread over the period, at low priority; zero for
    /// never.
    pub resync: Duration,
    /// How long a failing object waits.
    pub backoff: Backoff,
}

impl Default for ControllerOptions {
    fn default() -> Self {
        Self {
            workers: 8,
            reconcile_timeout: Duration::from_secs(120),
            resync: Duration::from_secs(10 * 60 * 60),
            backoff: Backoff::default(),
        }
    }
}

/// What all controllers of a manager share.
#[derive(Clone)]
pub(crate) struct Tools {
    /// Through the fence.
    pub(crate) client: kube::Client,
    pub(crate) field_manager: Arc<str>,
    pub(crate) events: Events,
    pub(crate) clock: Clock,
    pub(crate) metrics: Metrics,
    /// Which namespaces are looked after, by name.
    pub(crate) scope: watch::Receiver<Scope>,
}

/// A reconciler, wired to the stores that trigger it. Made by [`Manager::controller`](crate::Manager::controller).
pub struct Controller<R: Reconciler> {
    reconciler: Arc<R>,
    pub(crate) main: Store<R::Kind>,
    pub(crate) caches: Vec<Arc<dyn Cache>>,
    pub(crate) queue: Arc<Queue<Key>>,
    options: ControllerOptions,
    tools: Tools,
}

impl<R: Reconciler> Controller<R> {
    pub(crate) fn new(reconciler: R, main: Store<R::Kind>, options: ControllerOptions, tools: Tools) -> Self {
        let queue = Arc::new(Queue::new(options.backoff));
        triggers::on_main(&main, &queue);
        let caches: Vec<Arc<dyn Cache>> = vec![Arc::new(main.clone())];
        Self { reconciler: Arc::new(reconciler), main, caches, queue, options, tools }
    }
}

/// A controller whose reconciler does not matter any more.
pub(crate) trait Run: Send {
    fn name(&self) -> &'static str;
    /// What must be synced before it may start.
    fn caches(&self) -> &[Arc<dyn Cache>];
    /// The state of its queue, for diagnostics.
    fn queue(&self) -> Arc<Queue<Key>>;
    /// Works until `stop`, then finishes what is running.
    fn run(self: Box<Self>, stop: CancellationToken) -> futures::future::BoxFuture<'static, ()>;
}

impl<R: Reconciler> Run for Controller<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn caches(&self) -> &[Arc<dyn Cache>] {
        &self.caches
    }

    fn queue(&self) -> Arc<Queue<Key>> {
        self.queue.clone()
    }

    fn run(self: Box<Self>, stop: CancellationToken) -> futures::future::BoxFuture<'static, ()> {
        Box::pin(async move {
            self.tools.metrics.max_concurrent_reconciles(R::NAME, self.options.workers);
            let resync =
                resync::run(self.main.clone(), self.queue.clone(), self.options.resync, stop.clone());
            let worker = Worker {
                reconciler: self.reconciler,
                queue: self.queue,
                consistency: Consistency::new(self.caches),
                applied: Arc::new(Applied::default()),
                main: self.main,
                tools: self.tools,
                timeout: self.options.reconcile_timeout,
            };
            tokio::join!(resync, Arc::new(worker).run(self.options.workers, stop));
        })
    }
}
