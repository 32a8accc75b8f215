//! What a reconcile has in its hands. The verbs (`apply`, `prune`, `write_status`, `event` …) are in the files named after them.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::time::Instant;

use crate::{Clock, Key, KindId, apply::Applied, events::Events, metrics::Metrics};

/// The tools of one reconcile of one object. Every write goes through the fence: it fails with
/// [`Error::NotLeader`](crate::Error::NotLeader) once leadership is lost.
pub struct Context {
    pub(crate) client: kube::Client,
    /// Who owns the fields that this operator applies.
    pub(crate) field_manager: Arc<str>,
    pub(crate) events: Events,
    pub(crate) clock: Clock,
    pub(crate) metrics: Metrics,
    pub(crate) applied: Arc<Applied>,
    pub(crate) writes: Writes,
    pub(crate) deadline: Instant,
}

impl Context {
    /// The API server, through the fence. Prefer the verbs of this type.
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// What the wall clock shows.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// When this reconcile will be given up.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The operator's metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

/// One write of this operator, as the server acknowledged it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) kind: KindId,
    pub(crate) key: Key,
    pub(crate) made: Made,
}

/// By what a cache shows that it has seen a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Made {
    /// It has got to this resourceVersion.
    Version(u64),
    /// It no longer has the object of this UID: the answer to a delete names no resourceVersion.
    Removed(String),
}

/// What one reconcile wrote: the next one waits until the caches have seen it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writes(Arc<Mutex<Vec<Write>>>);

impl Writes {
    pub(crate) fn record(&self, kind: KindId, key: Key, made: Made) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Write { kind, key, made });
    }

    /// The resourceVersion that our last write of this object led to.
    pub(crate) fn latest(&self, kind: &KindId, key: &Key) -> Option<u64> {
        let writes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = writes.iter().rev().filter(|write| write.kind == *kind && write.key == *key);
        ours.filter_map(|write| match write.made {
            Made::Version(version) => Some(version),
            Made::Removed(_) => None,
        })
        .next()
    }

    pub(crate) fn take(&self) -> Vec<Write> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
impl Context {
    /// A context as a fresh process has it: nothing is remembered. The recorder brings its events to the server, if it is run.
    pub(crate) fn for_tests(client: kube::Client) -> (Self, crate::Recorder) {
        let (clock, metrics) = (Clock::starting_at(Timestamp::UNIX_EPOCH), Metrics::new());
        let reporter =
            crate::Reporter { controller: "kit.test/operator".into(), instance: "operator-0".into() };
        let (events, recorder) = Events::new(client.clone(), reporter, clock, metrics.clone());
        let deadline = Instant::now() + std::time::Duration::from_secs(120);
        let (applied, writes) = (Arc::default(), Writes::default());
        let field_manager = "operator".into();
        (Self { client, field_manager, events, clock, metrics, applied, writes, deadline }, recorder)
    }
}
