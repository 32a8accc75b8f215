//! Events: what happened to an object, for `kubectl describe`.
//!
//! Invariants: telling never fails and never waits (a full channel drops the event and counts it); the same thing told again
//! counts up one event's series; one object cannot flood the server, nor can all of them together.

mod bucket;
mod recorder;
mod series;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use tokio::sync::mpsc;

pub use recorder::{Recorder, Reporter};

use crate::{Clock, Context, Reason, metrics::Metrics};

/// How many events may wait for the server. A burst beyond it is dropped, and counted.
const CHANNEL: usize = 1024;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    severity: Severity,
    reason: &'static str,
    action: &'static str,
    note: String,
    related: Option<ObjectReference>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Severity {
    Normal,
    Warning,
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

impl Event {
    /// Things go as they should. `action` is what was done, in one CamelCase word, for example `Scale`; `note` is for people.
    pub fn normal(reason: impl Reason, action: &'static str, note: impl Into<String>) -> Self {
        Self::new(Severity::Normal, reason, action, note.into())
    }

    /// Somebody should look. `note` says what happened and what to do.
    pub fn warning(reason: impl Reason, action: &'static str, note: impl Into<String>) -> Self {
        Self::new(Severity::Warning, reason, action, note.into())
    }

    /// Names a second object that the event is about, for example the Pod that was replaced.
    pub fn related<K: Resource<DynamicType = ()>>(mut self, object: &K) -> Self {
        self.related = Some(object.object_ref(&()));
        self
    }

    fn new(severity: Severity, reason: impl Reason, action: &'static str, note: String) -> Self {
        Self { severity, reason: reason.as_str(), action, note, related: None }
    }
}

/// Where events are told. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Events {
    sender: mpsc::Sender<Told>,
    clock: Clock,
    metrics: Metrics,
}

/// An event on its way to the recorder.
#[derive(Debug)]
struct Told {
    regarding: ObjectReference,
    event: Event,
    at: Timestamp,
}

impl Events {
    /// The two ends: events are told to the first, and the second, once it runs, brings them to the server.
    pub fn new(client: kube::Client, reporter: Reporter, clock: Clock, metrics: Metrics) -> (Self, Recorder) {
        let (sender, receiver) = mpsc::channel(CHANNEL);
        let recorder = Recorder::new(client, reporter, receiver, metrics.clone());
        (Self { sender, clock, metrics }, recorder)
    }

    /// Tells that `event` happened to `object`.
    pub fn tell<K: Resource<DynamicType = ()>>(&self, object: &K, event: Event) {
        self.tell_about(object.object_ref(&()), event);
    }

    /// The same, for an object of which no more is known than its name.
    pub fn tell_about(&self, regarding: ObjectReference, event: Event) {
        let told = Told { regarding, event, at: self.clock.now() };
        if let Err(refused) = self.sender.try_send(told) {
            self.metrics.event_dropped(match refused {
                mpsc::error::TrySendError::Full(_) => "queue-full",
                mpsc::error::TrySendError::Closed(_) => "stopped",
            });
        }
    }
}

impl Context {
    /// Tells that `event` happened to `object`. It never fails and never waits.
    pub fn event<K: Resource<DynamicType = ()>>(&self, object: &K, event: Event) {
        tracing::debug!(reason = event.reason, action = event.action, note = event.note, "event");
        self.events.tell(object, event);
    }
}

#[cfg(test)]
mod tests;
