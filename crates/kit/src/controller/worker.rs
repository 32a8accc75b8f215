//! Runs reconciles: many at once, each isolated, each with a deadline.
//!
//! Invariants: an object is reconciled by one worker at a time; a panic, a hang or an error of one reconcile touches no other;
//! reconciles end with the future that runs them.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt as _;
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{Tools, consistency::Consistency, unreadable};
use crate::{
    Acted, Context, Error, Key, Outcome, Reconciler, Row as _,
    apply::Applied,
    context::Writes,
    informer::Store,
    metrics::ReconcileResult,
    queue::{Priority, Queue},
    telemetry::{chain, reconcile_span},
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
        let places = Arc::new(Semaphore::new(workers.max(1)));
        let mut running = JoinSet::new();
        loop {
            let next = async {
                let place = places.clone().acquire_owned().await;
                (place, self.queue.next().await)
            };
            let (place, taken) = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(_) = running.join_next() => continue,
                next = next => next,
            };
            self.tools.metrics.queue_waited(R::NAME, taken.waited);
            if self.out_of_scope(&taken.key) {
                self.withdraw(&taken.key);
                continue;
            }
            let worker = self.clone();
            match self.consistency.behind(&taken.key) {
                None => running.spawn(async move {
                    worker.reconcile(taken.key).await;
                    drop(place);
                }),
                Some(seen) => {
                    let stop = stop.clone();
                    running.spawn(async move {
                        drop(place);
                        stop.run_until_cancelled(worker.park(taken.key, taken.priority, seen)).await;
                    })
                }
            };
        }
        while running.join_next().await.is_some() {}
    }

    fn out_of_scope(&self, key: &Key) -> bool {
        R::Kind::kind().namespaced && !self.tools.scope.borrow().covers(key.namespace())
    }

    /// Lets go of an object whose namespace has left the scope. It is not reconciled: the cache has let go of it too, and the
    /// reconciler would take that for its end.
    fn withdraw(&self, key: &Key) {
        tracing::debug!(controller = R::NAME, %key, "no longer in scope, left alone");
        self.queue.forget(key);
        self.consistency.forget(key);
        self.tools.metrics.paused(R::NAME, key, false);
        self.queue.done(key);
    }

    /// Puts `key` aside until the caches have caught up with what its last reconcile wrote.
    async fn park(&self, key: Key, priority: Priority, seen: impl Future<Output = bool>) {
        if !seen.await {
            tracing::warn!(controller = R::NAME, %key, "the cache has not seen our last write; going on without");
        }
        self.consistency.forget(&key);
        self.queue.add(key.clone(), priority);
        self.queue.done(&key);
    }

    async fn reconcile(&self, key: Key) {
        let metrics = &self.tools.metrics;
        metrics.active_workers(R::NAME, 1);
        let started = Instant::now();
        let span = reconcile_span(R::NAME, &key);
        let cx = self.context(started);
        let pass = AssertUnwindSafe(self.pass(&cx, &key)).catch_unwind().instrument(span.clone());
        let end = match tokio::time::timeout_at(cx.deadline, pass).await {
            Ok(Ok(outcome)) => End::Outcome(outcome),
            Ok(Err(panic)) => End::Panicked(said(&*panic)),
            Err(_) => End::TimedOut,
        };
        let took = started.elapsed();
        let result = span.in_scope(|| self.settle(&key, end, took));
        span.record("result", result.label());
        metrics.reconciled(R::NAME, result, took);
        self.consistency.wrote(&key, cx.writes.take());
        metrics.active_workers(R::NAME, -1);
        let worked = self.queue.done(&key);
        metrics.queue_worked(R::NAME, worked);
    }

    async fn pass(&self, cx: &Context, key: &Key) -> Outcome {
        if let Some(broken) = self.main.undecodable(key) {
            return unreadable::outcome(cx, &R::Kind::kind(), &broken);
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

    /// Turns the end of a reconcile into the next wake-up and a line of log.
    fn settle(&self, key: &Key, end: End, took: Duration) -> ReconcileResult {
        let metrics = &self.tools.metrics;
        match end {
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
            // Somebody else was faster, which is how it should be: an old picture changes nothing. A replica that does not lead
            // will either be stopped in a moment or, after its machine slept, renew its lease and go on.
            End::Outcome(Outcome::Retry(error @ (Error::Stale { .. } | Error::NotLeader { .. }))) => {
                let after = self.again(key);
                tracing::debug!(why = %chain(&error), ?after, "nothing was done, looking again");
                ReconcileResult::Requeue
            }
            End::Outcome(Outcome::Retry(error)) => {
                self.retry(key, &chain(&error));
                ReconcileResult::Error
            }
            End::Outcome(Outcome::Terminal(error)) => {
                tracing::error!(error = %chain(&error), "failed for good, until the object changes");
                self.queue.forget(key);
                ReconcileResult::Terminal
            }
            End::Panicked(said) => {
                metrics.reconcile_panicked(R::NAME);
                self.retry(
                    key,
                    &format_args!(
                        "the reconcile panicked (a bug of this operator, please report it): {said}"
                    ),
                );
                ReconcileResult::Error
            }
            End::TimedOut => {
                metrics.reconcile_timed_out(R::NAME);
                self.retry(key, &format_args!("gave up after {took:?}"));
                ReconcileResult::Error
            }
        }
    }

    fn retry(&self, key: &Key, why: &dyn std::fmt::Display) {
        let after = self.again(key);
        tracing::warn!(error = %why, ?after, "failed, will try again");
    }

    fn again(&self, key: &Key) -> Duration {
        self.tools.metrics.queue_retried(R::NAME);
        self.queue.retry(key.clone(), fastrand::f64())
    }

    fn context(&self, started: Instant) -> Context {
        let Tools { client, field_manager, events, clock, metrics, scope: _ } = self.tools.clone();
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

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().map(ToString::to_string);
    said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
