//! Every family of metrics, as one table: what is registered, and what the documentation says.
//!
//! Names, labels and buckets are those of controller-runtime (`pkg/internal/controller/metrics`, `pkg/metrics`), of client-go's
//! Prometheus adapter and of the Prometheus clients' process collector; `informer_*` and `capstan_*` are our own.

use std::fmt;

use prometheus_client::{collector::Collector, encoding::DescriptorEncoder};

use super::{
    family::{Counter, Family, Gauge, Histogram},
    process,
};

/// One family.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The name, as queries have it.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it says, as one sentence.
    pub help: &'static str,
}

/// What a family measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Only goes up.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution, with the upper bounds of its buckets.
    Histogram(&'static [f64]),
}

const RECONCILE_SECONDS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];
const QUEUE_SECONDS: &[f64] = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0];
const REQUEST_SECONDS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 45.0, 60.0];
const WEBHOOK_SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// A row, and the field of [`Families`] that holds its series: neither can be there without the other.
macro_rules! table {
    ($($field:ident: $kind:ident $(($buckets:ident))? $name:literal [$($label:literal),*] $help:literal;)*) => {
        /// The families that are fed through [`Metrics`](super::Metrics).
        const FED: &[Row] = &[
            $(Row { name: $name, kind: Kind::$kind $(($buckets))?, labels: &[$($label),*], help: $help },)*
        ];

        #[derive(Debug)]
        pub(super) struct Families {
            $(pub(super) $field: Family<$kind>,)*
        }

        impl Families {
            pub(super) fn new() -> Self {
                Self {
                    $($field: Family::new(Row {
                        name: $name, kind: Kind::$kind $(($buckets))?, labels: &[$($label),*], help: $help,
                    }),)*
                }
            }

            /// Which families refused a new series, and how often.
            fn dropped(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$(self.$field.dropped()),*].into_iter().filter(|(_, dropped)| *dropped > 0)
            }
        }

        impl Collector for Families {
            fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
                $(self.$field.encode(&mut encoder)?;)*
                encode_dropped(self.dropped(), &mut encoder)
            }
        }
    };
}

table! {
    reconcile: Counter "controller_runtime_reconcile_total" ["controller", "result"]
        "Reconciles, by how they ended: success, requeue_after (waiting for something), requeue (overtaken by another write), error.";
    reconcile_errors: Counter "controller_runtime_reconcile_errors_total" ["controller"]
        "Reconciles that failed.";
    terminal_errors: Counter "controller_runtime_terminal_reconcile_errors_total" ["controller"]
        "Reconciles that failed for good: only a change of the object can mend it.";
    reconcile_panics: Counter "controller_runtime_reconcile_panics_total" ["controller"]
        "Reconciles that panicked.";
    reconcile_timeouts: Counter "controller_runtime_reconcile_timeouts_total" ["controller"]
        "Reconciles that ran into their deadline.";
    reconcile_time: Histogram(RECONCILE_SECONDS) "controller_runtime_reconcile_time_seconds" ["controller"]
        "How long a reconcile took.";
    max_concurrent_reconciles: Gauge "controller_runtime_max_concurrent_reconciles" ["controller"]
        "How many objects are worked on at once, at most.";
    active_workers: Gauge "controller_runtime_active_workers" ["controller"]
        "How many objects are being worked on.";

    queue_depth: Gauge "workqueue_depth" ["name", "controller", "priority"]
        "How many objects wait in the queue.";
    queue_adds: Counter "workqueue_adds_total" ["name", "controller"]
        "Objects added to the queue.";
    queue_duration: Histogram(QUEUE_SECONDS) "workqueue_queue_duration_seconds" ["name", "controller"]
        "How long an object waited in the queue.";
    work_duration: Histogram(QUEUE_SECONDS) "workqueue_work_duration_seconds" ["name", "controller"]
        "How long the work on an object took.";
    unfinished_work: Gauge "workqueue_unfinished_work_seconds" ["name", "controller"]
        "How much work is in progress that work_duration has not seen yet; a large value means a stuck worker.";
    longest_running: Gauge "workqueue_longest_running_processor_seconds" ["name", "controller"]
        "For how long the slowest worker has been at its object.";
    queue_retries: Counter "workqueue_retries_total" ["name", "controller"]
        "Objects put back into the queue after a failure.";

    requests: Counter "rest_client_requests_total" ["code", "host", "method"]
        "Requests to the API server, by the code of the answer.";
    request_duration: Histogram(REQUEST_SECONDS) "rest_client_request_duration_seconds" ["verb", "host"]
        "How long a request to the API server took.";
    request_retries: Counter "rest_client_request_retries_total" ["code", "host", "verb"]
        "Requests to the API server that were tried again, by the code that asked for it.";

    leader: Gauge "leader_election_master_status" ["name"]
        "Whether this replica leads: 1 or 0.";
    leader_slow_path: Counter "leader_election_slowpath_total" ["name"]
        "Renewals of the lease that had to read it first.";

    webhook_requests: Counter "controller_runtime_webhook_requests_total" ["webhook", "code"]
        "Admission requests, by the HTTP code of the answer.";
    webhook_latency: Histogram(WEBHOOK_SECONDS) "controller_runtime_webhook_latency_seconds" ["webhook"]
        "How long an admission request took.";
    webhook_in_flight: Gauge "controller_runtime_webhook_requests_in_flight" ["webhook"]
        "Admission requests that are being worked on.";
    webhook_panics: Counter "controller_runtime_webhook_panics_total" ["webhook"]
        "Admission requests whose handler panicked.";

    informer_objects: Gauge "informer_objects" ["kind"]
        "Objects in the cache.";
    informer_resource_version: Gauge "informer_last_resource_version" ["kind"]
        "How far the cache has got: the newest resourceVersion that it has seen.";
    informer_relists: Counter "informer_relists_total" ["kind"]
        "Full lists after the first: the watch could not go on where it was.";
    informer_undecodable: Gauge "informer_undecodable_objects" ["kind"]
        "Objects that cannot be read and are therefore left alone.";
    informer_watch_failures: Counter "informer_watch_failures_total" ["kind"]
        "Watches that broke or could not be opened.";

    paused: Gauge "capstan_paused" ["controller", "namespace", "name"]
        "1 for every object that its user has paused; no series for the others.";
    events_dropped: Counter "capstan_events_dropped_total" ["reason"]
        "Events that were not sent, by reason.";
    build_info: Gauge "capstan_build_info" ["operator", "version", "revision"]
        "Always 1; the labels say which build this is.";
}

/// Fed by the families themselves.
const SERIES_DROPPED: Row = Row {
    name: "capstan_metrics_series_dropped_total",
    kind: Kind::Counter,
    labels: &["metric"],
    help: "Samples that were not recorded, because their family has too many series.",
};

fn encode_dropped(
    dropped: impl Iterator<Item = (&'static str, u64)>,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    let family = Family::<Counter>::new(SERIES_DROPPED);
    for (name, times) in dropped {
        family.with(&[name], |counter| {
            counter.inc_by(times);
        });
    }
    family.encode(encoder)
}

/// Every family that the kit serves.
pub fn table() -> impl Iterator<Item = Row> {
    FED.iter().copied().chain([SERIES_DROPPED]).chain(process::ROWS.iter().copied())
}

/// The table, as the Markdown of the reference documentation.
pub fn reference() -> String {
    let mut markdown = String::from("| metric | type | labels | meaning |\n|---|---|---|---|\n");
    for Row { name, kind, labels, help } in table() {
        let labels = labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
        markdown += &format!("| `{name}` | {kind} | {labels} | {help} |\n");
    }
    markdown
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        })
    }
}
