//! What one look at the world led to: actions, as data, and when to look again.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{NamespaceResourceScope, apimachinery::pkg::apis::meta::v1::Time};
use kube::{
    Resource, ResourceExt as _,
    core::{ApiResource, ObjectMeta},
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Built-in kinds that live in namespaces.
pub(super) trait Kind: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Serialize {}
impl<K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Serialize> Kind for K {}

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Action {
    pub(super) resource: ApiResource,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    Create(Value),
    /// A merge patch.
    Patch(Value),
    Status(Value),
    /// Only the object of this UID.
    Delete {
        uid: String,
        grace_seconds: Option<u32>,
    },
}

#[derive(Debug)]
pub(super) struct Turn {
    now: Timestamp,
    actions: Vec<Action>,
    wake: Option<Timestamp>,
}

impl Turn {
    pub(super) fn at(now: Timestamp) -> Self {
        Self { now, actions: Vec::new(), wake: None }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    /// Now, as Kubernetes writes it: in whole seconds.
    pub(super) fn time(&self) -> Time {
        Time(Timestamp::from_second(self.now.as_second()).unwrap_or(self.now))
    }

    /// Has that much time passed since `since`? If not, look again when it has.
    pub(super) fn is_past(&mut self, since: Timestamp, seconds: i64) -> bool {
        let due = since.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
        if due <= self.now {
            return true;
        }
        self.wake = Some(self.wake.map_or(due, |wake| wake.min(due)));
        false
    }

    pub(super) fn wake(&self) -> Option<Timestamp> {
        self.wake
    }

    pub(super) fn into_actions(self) -> Vec<Action> {
        self.actions
    }

    fn push<K: Kind>(&mut self, meta: &ObjectMeta, what: What) {
        self.actions.push(Action {
            resource: ApiResource::erase::<K>(&()),
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
            what,
        });
    }

    pub(super) fn create<K: Kind>(&mut self, object: &K) {
        match serde_json::to_value(object) {
            Ok(value) => self.push::<K>(object.meta(), What::Create(value)),
            Err(error) => tracing::error!(name = object.name_any(), %error, "cannot be written as JSON"),
        }
    }

    pub(super) fn patch<K: Kind>(&mut self, object: &K, patch: Value) {
        self.push::<K>(object.meta(), What::Patch(patch));
    }

    /// Writes the status when it is another one.
    pub(super) fn status<K: Kind, S: Serialize>(&mut self, object: &K, old: &S, new: &S) {
        let fields = |status: &S| match serde_json::to_value(status) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let (old, mut new) = (fields(old), fields(new));
        if old != new {
            for field in old.into_iter().map(|(field, _)| field) {
                new.entry(field).or_insert(Value::Null);
            }
            self.push::<K>(object.meta(), What::Status(json!({ "status": new })));
        }
    }

    /// Deletes it, and in the background all that it owns.
    pub(super) fn delete<K: Kind>(&mut self, object: &K) {
        let uid = object.uid().unwrap_or_default();
        self.push::<K>(object.meta(), What::Delete { uid, grace_seconds: None });
    }

    /// Deletes it without waiting for its processes.
    pub(super) fn delete_now<K: Kind>(&mut self, object: &K) {
        let uid = object.uid().unwrap_or_default();
        self.push::<K>(object.meta(), What::Delete { uid, grace_seconds: Some(0) });
    }
}
