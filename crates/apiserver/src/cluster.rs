//! Everything that one server holds; handlers, controllers and faults share it.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::{
    ApiError, CommitError, Expect, Kind, Object, ObjectId, Store, access::User, clock::Clock, crd::Registry,
    faults::Faults, meta, record::Record,
};

/// What etcd takes: 1.5 MiB per request.
const MAX_OBJECT: usize = 3 * 512 * 1024;

/// The object as stored, and the revision made; or why it did not go in.
pub(crate) type Committed = Result<(Arc<Object>, Option<u64>), CommitError>;

#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
    pub(crate) faults: Faults,
    pub(crate) record: Record,
    /// Bearer tokens of the HTTP listener.
    pub(crate) tokens: Mutex<HashMap<String, User>>,
    seed: u64,
    rng: Mutex<Rng>,
}

impl Cluster {
    pub(crate) fn new(clock: Clock, seed: u64) -> Self {
        Self {
            store: Store::new(),
            registry: Registry::default(),
            clock,
            faults: Faults::default(),
            record: Record::default(),
            tokens: Mutex::default(),
            seed,
            rng: Mutex::new(Rng::with_seed(seed)),
        }
    }

    fn with_rng<R>(&self, act: impl FnOnce(&mut Rng) -> R) -> R {
        act(&mut self.rng.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn generate_name(&self, prefix: &str) -> String {
        self.with_rng(|rng| meta::generated(prefix, rng))
    }

    /// A UUID of version 4 for the next object at this place. With the same seed it is the same one, whatever else was made before: what
    /// somebody makes from it, such as the ID of an etcd cluster, can be compared between two runs.
    pub(crate) fn new_uid(&self, id: &ObjectId) -> String {
        let mut hasher = DefaultHasher::new();
        (self.seed, id, self.store.came(id)).hash(&mut hasher);
        let number = Rng::with_seed(hasher.finish()).u128(..);
        let number = (number & !(0xf << 76) | (0x4 << 76)) & !(0x3 << 62) | (0x2 << 62);
        let hex = format!("{number:032x}");
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
        [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
    }

    /// How long a watch lasts when the client does not say: half an hour to an hour.
    pub(crate) fn watch_timeout(&self) -> Duration {
        Duration::from_secs(self.with_rng(|rng| rng.u64(1800..3600)))
    }

    /// Commits an object in its storage version; the revision is `None` when nothing changed.
    pub(crate) fn commit(
        &self,
        kind: &Kind,
        id: &ObjectId,
        expect: Expect,
        mut object: Value,
    ) -> Result<Committed, ApiError> {
        if !kind.storage
            && let Some(storage) = self.registry.storage(&kind.group, &kind.plural)
        {
            set_version(&mut object, &storage.api_version());
        }
        if is_larger_than(&object, MAX_OBJECT) {
            return Err(ApiError::new(500, "", "etcdserver: request is too large"));
        }
        Ok(self.store.commit_event(id, expect, Some(object)))
    }
}

/// The stored object in the version of `kind`.
pub(crate) fn to_version(kind: &Arc<Kind>, object: &Arc<Object>) -> Value {
    let mut object = object.seen_as(kind).value().clone();
    set_version(&mut object, &kind.api_version());
    object
}

/// Is the JSON longer than that? Counts strings and keys only, and stops early.
fn is_larger_than(value: &Value, limit: usize) -> bool {
    fn spend(value: &Value, left: &mut usize) -> bool {
        let spent = match value {
            Value::String(text) => text.len(),
            Value::Array(list) => return list.iter().all(|value| spend(value, left)),
            Value::Object(map) => {
                return map.iter().all(|(key, value)| take(key.len(), left) && spend(value, left));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        };
        take(spent, left)
    }
    fn take(spent: usize, left: &mut usize) -> bool {
        match left.checked_sub(spent) {
            Some(rest) => {
                *left = rest;
                true
            }
            None => false,
        }
    }
    let mut left = limit;
    !spend(value, &mut left)
}

fn set_version(object: &mut Value, api_version: &str) {
    if let Some(object) = object.as_object_mut() {
        object.insert("apiVersion".into(), json!(api_version));
    }
}
