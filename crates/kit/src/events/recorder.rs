//! The background task that brings events to the server.

use std::time::Duration;

use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1 as events},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Told,
    series::{Identity, Ledger, Repeat, Step},
};
use crate::{fingerprint::Fingerprint, metrics::Metrics};

/// Events are a courtesy: a slow server must not make them pile up.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a stop waits for what was told before.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);
/// The API's limit on the note.
const MAX_NOTE: usize = 1024;
/// The API's limit on `reportingController` and `reportingInstance`.
const MAX_REPORTER: usize = 128;
/// Leaves room in the 253 characters of a name for the unique part.
const MAX_NAME: usize = 200;
/// Events about cluster-scoped objects live here.
const CLUSTER_NAMESPACE: &str = "default";

/// Who tells.
#[derive(Debug, Clone)]
pub struct Reporter {
    /// The operator, for example `capstan.dev/etcd-operator`.
    pub controller: String,
    /// This replica: its Pod's name.
    pub instance: String,
}

/// Takes what was told to the [`Events`](super::Events) and brings it to the server.
pub struct Recorder {
    api: Sink,
    receiver: mpsc::Receiver<Told>,
    ledger: Ledger,
    metrics: Metrics,
    written: u64,
}

struct Sink {
    client: kube::Client,
    reporter: Reporter,
}

impl Recorder {
    pub(super) fn new(
        client: kube::Client,
        mut reporter: Reporter,
        receiver: mpsc::Receiver<Told>,
        metrics: Metrics,
    ) -> Self {
        for part in [&mut reporter.controller, &mut reporter.instance] {
            *part = truncated(part, MAX_REPORTER, "");
        }
        let ledger = Ledger::new(Instant::now());
        Self { api: Sink { client, reporter }, receiver, ledger, metrics, written: 0 }
    }

    /// Works until `stop`, then brings the rest to the server, but not for longer than three seconds.
    pub async fn run(mut self, stop: CancellationToken) {
        let too_late = async {
            stop.cancelled().await;
            tokio::time::sleep(FLUSH_TIMEOUT).await;
        };
        tokio::select! {
            () = self.work(&stop) => {}
            () = too_late => {}
        }
        while self.receiver.try_recv().is_ok() {
            self.metrics.event_dropped("stopped");
        }
    }

    async fn work(&mut self, stop: &CancellationToken) {
        loop {
            let next_end = self.ledger.next_end();
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                told = self.receiver.recv() => match told {
                    Some(told) => self.take(told).await,
                    None => break,
                },
                () = sleep_until(next_end.unwrap_or_else(Instant::now)), if next_end.is_some() => {
                    for repeat in self.ledger.ended(Instant::now()) {
                        self.count_up(&repeat).await;
                    }
                }
            }
        }
        self.receiver.close();
        while let Some(told) = self.receiver.recv().await {
            self.take(told).await;
        }
        for repeat in self.ledger.untold() {
            self.count_up(&repeat).await;
        }
    }

    async fn take(&mut self, told: Told) {
        let identity = Identity::of(&told);
        match self.ledger.step(&identity, &told, Instant::now()) {
            Step::Create => self.create(identity, told).await,
            Step::Repeat(repeat) => {
                if self.count_up(&repeat).await == Counted::Gone {
                    self.ledger.forget(&identity);
                    self.create(identity, told).await;
                }
            }
            Step::Counted => {}
            Step::Drop(why) => self.metrics.event_dropped(why),
        }
    }

    async fn create(&mut self, identity: Identity, told: Told) {
        self.written += 1;
        let at = told.at;
        let event = self.api.event(told, self.written);
        let (namespace, name) = (event.metadata.namespace.clone(), event.metadata.name.clone());
        let (namespace, name) = (namespace.unwrap_or_default(), name.unwrap_or_default());
        let api: Api<events::Event> = Api::namespaced(self.api.client.clone(), &namespace);
        match timeout(CALL_TIMEOUT, api.create(&PostParams::default(), &event)).await {
            Ok(Ok(_)) => self.ledger.created(identity, namespace, name, at, Instant::now()),
            Ok(Err(error)) => self.failed(&error),
            Err(_) => self.metrics.event_dropped("timeout"),
        }
    }

    async fn count_up(&self, repeat: &Repeat) -> Counted {
        let api: Api<events::Event> = Api::namespaced(self.api.client.clone(), &repeat.namespace);
        let patch = json!({ "series": events::EventSeries {
            count: repeat.count,
            last_observed_time: MicroTime(repeat.last),
        }});
        match timeout(CALL_TIMEOUT, api.patch(&repeat.name, &PatchParams::default(), &Patch::Merge(patch)))
            .await
        {
            Ok(Ok(_)) => Counted::Told,
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => Counted::Gone,
            Ok(Err(error)) => {
                self.failed(&error);
                Counted::Failed
            }
            Err(_) => {
                self.metrics.event_dropped("timeout");
                Counted::Failed
            }
        }
    }

    fn failed(&self, error: &kube::Error) {
        tracing::debug!(%error, "an event could not be written");
        self.metrics.event_dropped(if crate::lead::is_not_leader(error) {
            "not-leader"
        } else {
            "api-error"
        });
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Counted {
    Told,
    Gone,
    Failed,
}

impl Sink {
    fn event(&self, told: Told, number: u64) -> events::Event {
        let Told { regarding, event, at } = told;
        let namespace = regarding.namespace.clone().unwrap_or_else(|| CLUSTER_NAMESPACE.into());
        let name = self.unique_name(&regarding, at, number);
        events::Event {
            metadata: ObjectMeta { name: Some(name), namespace: Some(namespace), ..ObjectMeta::default() },
            type_: Some(event.severity.as_str().into()),
            reason: Some(event.reason.into()),
            action: Some(event.action.into()),
            note: Some(truncated(&event.note, MAX_NOTE, "…")),
            regarding: Some(regarding),
            related: event.related,
            event_time: Some(MicroTime(at)),
            reporting_controller: Some(self.reporter.controller.clone()),
            reporting_instance: Some(self.reporter.instance.clone()),
            ..events::Event::default()
        }
    }

    /// `<object>.<16 hex digits>`: unique over replicas, restarts, and many events in one instant.
    fn unique_name(&self, regarding: &ObjectReference, at: jiff::Timestamp, number: u64) -> String {
        let object = truncated(regarding.name.as_deref().unwrap_or_default(), MAX_NAME, "");
        let object = object.trim_end_matches(['.', '-']);
        let unique = format!("{}\0{}\0{}\0{number}", self.reporter.instance, object, at.as_nanosecond());
        format!("{object}.{:016x}", Fingerprint::of(unique.as_bytes()))
    }
}

/// At most `max` bytes of `text`, cut between characters, with `mark` at the cut.
fn truncated(text: &str, max: usize, mark: &str) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let cut = text.floor_char_boundary(max.saturating_sub(mark.len()));
    format!("{}{mark}", text.get(..cut).unwrap_or_default())
}
