//! What the operator counts, under the names that the dashboards of controller-runtime and client-go already use.
//!
//! Invariants: every family is a row of [`table`], from which it is registered and documented; a family never holds more than
//! [`MAX_SERIES`] series; a series that names an object goes away with that object.

mod exposition;
mod family;
mod own;
mod per_object;
mod process;
mod table;

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};

use prometheus_client::registry::Registry;

pub use exposition::Format;
pub use family::MAX_SERIES;
pub use own::{Figure, Rate, page};
pub use per_object::{Extra, PerObject};
pub use table::{Kind, Row, reference, table};

use crate::Key;
use table::Families;

/// The operator's metrics. Cheap to clone; every method is quick and never fails.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

struct Inner {
    families: Arc<Families>,
    registry: Mutex<Registry>,
    on_scrape: Mutex<Vec<OnScrape>>,
}

type OnScrape = Arc<dyn Fn() + Send + Sync>;

/// How a reconcile ended, as the label `result` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReconcileResult {
    /// Done.
    Success,
    /// Waiting for something, to look again after a while.
    Wait,
    /// Overtaken by somebody else's write, to be looked at again. No error.
    Requeue,
    /// Failed, to be tried again.
    Error,
    /// Failed for good: only a change of the object can mend it.
    Terminal,
}

impl ReconcileResult {
    /// As the label has it. controller-runtime counts terminal errors as errors, and once more in a family of their own.
    pub fn label(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Wait => "requeue_after",
            Self::Requeue => "requeue",
            Self::Error | Self::Terminal => "error",
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// A fresh set, with nothing counted yet. Nothing is global: two operators in one process do not mix.
    pub fn new() -> Self {
        let families = Arc::new(Families::new());
        let mut registry = Registry::default();
        registry.register_collector(Box::new(families.clone()));
        registry.register_collector(Box::new(process::Process));
        Self(Arc::new(Inner { families, registry: Mutex::new(registry), on_scrape: Mutex::default() }))
    }

    /// Everything, in the Prometheus text format.
    pub fn encode(&self) -> String {
        self.encode_as(Format::Prometheus)
    }

    /// Everything, in `format`.
    pub fn encode_as(&self, format: Format) -> String {
        let measure = self.0.on_scrape.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for measure in measure {
            measure();
        }
        self.with_registry(|registry| exposition::encode(registry, format))
    }

    /// Lets the application add metrics of its own. `register` must not call back into this type.
    pub fn with_registry<T>(&self, register: impl FnOnce(&mut Registry) -> T) -> T {
        register(&mut self.0.registry.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `measure` before every scrape: for what is cheaper to look at than to keep up to date.
    pub fn on_scrape(&self, measure: impl Fn() + Send + Sync + 'static) {
        self.0.on_scrape.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(measure));
    }

    /// Says which build this is.
    pub fn build_info(&self, operator: &str, version: &str, revision: &str) {
        self.families().build_info.with(&[operator, version, revision], |info| {
            info.set(1.0);
        });
    }

    /// A reconcile ended.
    pub fn reconciled(&self, controller: &str, result: ReconcileResult, took: Duration) {
        let families = self.families();
        families.reconcile.inc(&[controller, result.label()]);
        families.reconcile_time.observe(&[controller], took);
        if matches!(result, ReconcileResult::Error | ReconcileResult::Terminal) {
            families.reconcile_errors.inc(&[controller]);
        }
        if result == ReconcileResult::Terminal {
            families.terminal_errors.inc(&[controller]);
        }
    }

    /// A reconcile panicked.
    pub fn reconcile_panicked(&self, controller: &str) {
        self.families().reconcile_panics.inc(&[controller]);
    }

    /// A reconcile ran into its deadline.
    pub fn reconcile_timed_out(&self, controller: &str) {
        self.families().reconcile_timeouts.inc(&[controller]);
    }

    /// `delta` more workers are busy.
    pub fn active_workers(&self, controller: &str, delta: i64) {
        self.families().active_workers.add(&[controller], delta);
    }

    /// How many workers there are. Called once when a controller starts: it also shows its counters at 0, because a rate
    /// over a series that appears with 1 misses that first event.
    pub fn max_concurrent_reconciles(&self, controller: &str, workers: usize) {
        let families = self.families();
        families.max_concurrent_reconciles.set(&[controller], workers as f64);
        families.active_workers.add(&[controller], 0);
        use ReconcileResult::{Error, Requeue, Success, Wait};
        for result in [Success, Wait, Requeue, Error] {
            families.reconcile.touch(&[controller, result.label()]);
        }
        for counter in [
            &families.reconcile_errors,
            &families.terminal_errors,
            &families.reconcile_panics,
            &families.reconcile_timeouts,
        ] {
            counter.touch(&[controller]);
        }
    }

    /// How many keys were added to the queue `name` so far.
    pub fn queue_adds(&self, name: &str, total: u64) {
        self.families().queue_adds.with(&[name, name], |adds| {
            adds.inner().fetch_max(total, Ordering::Relaxed);
        });
    }

    /// How many keys of `priority` wait in the queue.
    pub fn queue_depth(&self, name: &str, priority: i32, depth: usize) {
        self.families().queue_depth.set(&[name, name, &priority.to_string()], depth as f64);
    }

    /// How long a key waited in the queue.
    pub fn queue_waited(&self, name: &str, waited: Duration) {
        self.families().queue_duration.observe(&[name, name], waited);
    }

    /// How long the work on a key took.
    pub fn queue_worked(&self, name: &str, worked: Duration) {
        self.families().work_duration.observe(&[name, name], worked);
    }

    /// A key was put back after a failure.
    pub fn queue_retried(&self, name: &str) {
        self.families().queue_retries.inc(&[name, name]);
    }

    /// How much work is in progress and not yet observed in the work duration.
    pub fn queue_unfinished(&self, name: &str, sum: Duration) {
        self.families().unfinished_work.set(&[name, name], sum.as_secs_f64());
    }

    /// For how long the slowest worker has been at its key.
    pub fn queue_longest_running(&self, name: &str, longest: Duration) {
        self.families().longest_running.set(&[name, name], longest.as_secs_f64());
    }

    /// The API server answered (or did not: `code` is then `<error>`, as in client-go).
    pub fn request(&self, method: &str, host: &str, code: &str) {
        self.families().requests.inc(&[code, host, method]);
    }

    /// How long a request took.
    pub fn request_took(&self, verb: &str, host: &str, took: Duration) {
        self.families().request_duration.observe(&[verb, host], took);
    }

    /// A request was tried again.
    pub fn request_retried(&self, method: &str, host: &str, code: &str) {
        self.families().request_retries.inc(&[code, host, method]);
    }

    /// Whether this replica leads.
    pub fn leader(&self, name: &str, leads: bool) {
        self.families().leader.set(&[name], f64::from(u8::from(leads)));
    }

    /// The lease could not be renewed with one optimistic write and had to be read first.
    pub fn leader_slow_path(&self, name: &str) {
        self.families().leader_slow_path.inc(&[name]);
    }

    /// How many objects of `kind` are cached.
    pub fn informer_objects(&self, kind: &str, objects: usize) {
        self.families().informer_objects.set(&[kind], objects as f64);
    }

    /// How far the cache of `kind` has got.
    pub fn informer_resource_version(&self, kind: &str, resource_version: u64) {
        self.families().informer_resource_version.set(&[kind], resource_version as f64);
    }

    /// All objects of `kind` were listed again.
    pub fn informer_relisted(&self, kind: &str) {
        self.families().informer_relists.inc(&[kind]);
    }

    /// How many objects of `kind` cannot be read at present.
    pub fn informer_undecodable(&self, kind: &str, objects: usize) {
        self.families().informer_undecodable.set(&[kind], objects as f64);
    }

    /// A watch of `kind` broke or could not be opened.
    pub fn informer_watch_failed(&self, kind: &str) {
        self.families().informer_watch_failures.inc(&[kind]);
    }

    /// Whether the user has paused this object. Say `false` when the object is gone: its series goes too.
    pub fn paused(&self, controller: &str, key: &Key, paused: bool) {
        let labels = [controller, key.namespace(), key.name()];
        match paused {
            true => self.families().paused.set(&labels, 1.0),
            false => self.families().paused.remove(&labels),
        }
    }

    /// An event was not sent.
    pub fn event_dropped(&self, why: &str) {
        self.families().events_dropped.inc(&[why]);
    }

    /// A webhook answered.
    pub fn webhook(&self, path: &str, code: u16, took: Duration) {
        self.families().webhook_requests.inc(&[path, &code.to_string()]);
        self.families().webhook_latency.observe(&[path], took);
    }

    /// `delta` more webhook requests are being worked on.
    pub fn webhook_in_flight(&self, path: &str, delta: i64) {
        self.families().webhook_in_flight.add(&[path], delta);
    }

    /// A webhook panicked.
    pub fn webhook_panicked(&self, path: &str) {
        self.families().webhook_panics.inc(&[path]);
    }

    fn families(&self) -> &Families {
        &self.0.families
    }
}

#[cfg(test)]
mod tests;
