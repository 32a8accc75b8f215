//! Runs reconciles: many at once, each isolated, each with a deadline.
//!
//! Invariants: an object is reconciled by one worker at a time; a panic, a hang or an error of one reconcile touches no other.

use std::{error::Error as _, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt as _;
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument as _;

use super::{Tools, consistency::Consistency};
use crate::{
    Acted, Context, Error, Key, Outcome, Reconciler,
    apply::Applied,
    context::Writes,
    informer::Store,
    metrics::ReconcileResult,
    queue::{Priority, Queue},
};

pub(super) struct Worker<R: Reconciler> {
    pub(super) reconciler: Arc<R>,
    pub(super) main: Store<R::Kind>,
    pub(super) queue: Arc<Queue<Key>>,
    pub(super) consistency: Consistency,
    pub(super) applied: Arc<Applied>,
    pub(super) tools: Tools,
    pub(super) timeout: Duration,
}

/// How a reconcile really ended.
enum End {
    Outcome(Outcome),
    Panicked(String),
    TimedOut,
}

impl<R: Reconciler> Worker<R> {
    /// Hands keys to at most `workers` reconciles at once until `stop`; returns when the last of them is done.
    pub(super) async fn run(self: Arc<Self>, workers: usize, stop: CancellationToken) {
        let places = Arc::new(Semaphore::new(workers));
        let running = TaskTracker::new();
        loop {
            let next = async {
                let place = places.clone().acquire_owned().await;
                (place, self.queue.next().await)
            };
            let (place, taken) = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                next = next => next,
            };
            self.tools.metrics.queue_waited(R::NAME, taken.waited);
            let worker = self.clone();
            match self.consistency.behind(&taken.key) {
                None => drop(running.spawn(async move {
                    worker.reconcile(taken.key).await;
                    drop(place);
                })),
                Some(seen) => drop(running.spawn(async move {
                    drop(place);
                    worker.park(taken.key, taken.priority, seen).await;
                })),
            }
        }
        running.close();
        running.wait().await;
    }

    /// Puts `key` aside until the caches have caught up with what its last reconcile wrote.
    async fn park(&self, key: Key, priority: Priority, seen: impl Future<Output = bool>) {
        if !seen.await {
            tracing::warn!(controller = R::NAME, %key, "the cache has not seen our last write; going on without");
            self.consistency.forget(&key);
        }
        self.queue.add(key.clone(), priority);
        self.queue.done(&key);
    }

    async fn reconcile(&self, key: Key) {
        let metrics = &self.tools.metrics;
        metrics.active_workers(R::NAME, 1);
        let started = Instant::now();
        let span = tracing::info_span!("reconcile", controller = R::NAME, %key);
        let cx = self.context(started);
        let pass = AssertUnwindSafe(self.pass(&cx, &key)).catch_unwind();
        let end = async {
            let end = match tokio::time::timeout_at(cx.deadline, pass).await {
                Ok(Ok(outcome)) => End::Outcome(outcome),
                Ok(Err(panic)) => End::Panicked(said(&*panic)),
                Err(_) => End::TimedOut,
            };
            self.settle(&key, end, started.elapsed());
        };
        end.instrument(span).await;
        self.consistency.wrote(&key, cx.writes.take());
        metrics.active_workers(R::NAME, -1);
        let worked = self.queue.done(&key);
        metrics.queue_worked(R::NAME, worked);
    }

    async fn pass(&self, cx: &Context, key: &Key) -> Outcome {
        if let Some(broken) = self.main.undecodable(key) {
            return Outcome::Terminal(Error::Invalid(format!("{key} cannot be read: {}", broken.error)));
        }
        let picture = match self.reconciler.observe(cx, key).await {
            Ok(picture) => picture,
            Err(error) => return Acted::Failed(error).outcome(),
        };
        let plan = self.reconciler.decide(&picture, cx.now());
        let paused = self.reconciler.paused(&picture);
        self.tools.metrics.paused(R::NAME, key, paused);
        let acted = if paused {
            Acted::Paused
        } else {
            match self.reconciler.act(cx, &plan).await {
                Ok(()) => Acted::Done,
                Err(error) => Acted::Failed(error),
            }
        };
        self.reconciler.report(cx, &picture, &plan, acted).await
    }

    /// Turns the end of a reconcile into the next wake-up, a metric and a line of log.
    fn settle(&self, key: &Key, end: End, took: Duration) {
        let metrics = &self.tools.metrics;
        let result = match end {
            End::Outcome(Outcome::Done) => {
                self.queue.forget(key);
                ReconcileResult::Success
            }
            End::Outcome(Outcome::Wait { reason, after }) => {
                tracing::debug!(%reason, ?after, "waiting");
                self.queue.forget(key);
                self.queue.add_after(key.clone(), after);
                ReconcileResult::Wait
            }
            End::Outcome(Outcome::Retry(Error::NotLeader { .. })) => {
                tracing::info!("stopped: no longer the leader");
                ReconcileResult::Wait
            }
            End::Outcome(Outcome::Retry(error)) => {
                self.retry(key, &chain(&error));
                ReconcileResult::Error
            }
            End::Outcome(Outcome::Terminal(error)) => {
                tracing::error!(error = chain(&error), "failed for good, until the object changes");
                self.queue.forget(key);
                ReconcileResult::Terminal
            }
            End::Panicked(said) => {
                metrics.reconcile_panicked(R::NAME);
                self.retry(key, &format!("the reconcile panicked (a bug of this operator, please report it): {said}"));
                ReconcileResult::Error
            }
            End::TimedOut => {
                metrics.reconcile_timed_out(R::NAME);
                self.retry(key, &format!("gave up after {took:?}"));
                ReconcileResult::Error
            }
        };
        metrics.reconciled(R::NAME, result, took);
    }

    fn retry(&self, key: &Key, why: &str) {
        let after = self.queue.retry(key.clone(), fastrand::f64());
        self.tools.metrics.queue_retried(R::NAME);
        tracing::warn!(error = why, ?after, "failed, will try again");
    }

    fn context(&self, started: Instant) -> Context {
        let Tools { client, field_manager, events, clock, metrics } = self.tools.clone();
        Context {
            client,
            field_manager,
            events,
            clock,
            metrics,
            applied: self.applied.clone(),
            writes: Writes::default(),
            deadline: started + self.timeout,
        }
    }
}

/// An error with all its causes, in one line.
fn chain(error: &Error) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        told = format!("{told}: {cause}");
        source = cause.source();
    }
    told
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().map(ToString::to_string);
    said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
