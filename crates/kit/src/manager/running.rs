//! The tasks of a running manager.
//!
//! Invariant: all of them end when [`Running`] is dropped.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{controller::Run, events::Recorder};

/// Something that runs from start to stop.
pub(super) type Task = Box<dyn FnOnce(CancellationToken) -> futures::future::BoxFuture<'static, ()> + Send>;

/// How long events, caches and ports may take to end. They have shorter limits of their own.
const REST: Duration = Duration::from_secs(15);

/// What runs, in the order in which it is stopped.
pub(super) struct Running {
    workers: Group,
    recorder: Group,
    background: Group,
    /// How long running reconciles may take to end.
    patience: Duration,
}

/// Tasks that are stopped together.
#[derive(Default)]
struct Group {
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Group {
    fn spawn(&mut self, task: impl FnOnce(CancellationToken) -> futures::future::BoxFuture<'static, ()>) {
        self.tasks.spawn(task(self.stop.clone()));
    }

    /// Asks the tasks to end; those that do not are cut off. Returns how many.
    async fn end(&mut self, patience: Duration) -> usize {
        self.stop.cancel();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(patience, ended).await.is_ok() {
            return 0;
        }
        let left = self.tasks.len();
        self.tasks.shutdown().await;
        left
    }
}

impl Drop for Group {
    /// A task may have started others, which end by the token only.
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Running {
    pub(super) fn start(tasks: impl Iterator<Item = Task>, recorder: Recorder, patience: Duration) -> Self {
        let mut running = Self {
            workers: Group::default(),
            recorder: Group::default(),
            background: Group::default(),
            patience,
        };
        tasks.for_each(|task| running.background.spawn(task));
        running.recorder.spawn(|stop| Box::pin(recorder.run(stop)));
        running
    }

    /// Starts every controller as soon as its own caches are synced: one missing CRD stops one controller.
    pub(super) fn work(&mut self, controllers: Vec<Box<dyn Run>>) {
        for controller in controllers {
            self.workers.spawn(|stop| {
                Box::pin(async move {
                    let synced = controller.caches().iter().map(|cache| cache.wait_synced());
                    if stop.run_until_cancelled(futures::future::join_all(synced)).await.is_some() {
                        tracing::info!(controller = controller.name(), "caches are synced, starting");
                        controller.run(stop).await;
                    }
                })
            });
        }
    }

    /// Lets running reconciles end; no others are begun.
    pub(super) async fn drain(&mut self) {
        if self.workers.end(self.patience).await > 0 {
            tracing::warn!(after = ?self.patience, "some reconciles did not end and were cut off");
        }
    }

    /// Sends the events that were told.
    pub(super) async fn flush_events(&mut self) {
        self.recorder.end(REST).await;
    }

    /// Ends the rest.
    pub(super) async fn stop(mut self) {
        if self.background.end(REST).await > 0 {
            tracing::warn!(after = ?REST, "some background tasks did not end and were cut off");
        }
    }
}
