//! Everything that one server holds; handlers, controllers and faults share it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::{
    Kind, Object, Store, access::User, clock::Clock, crd::Registry, faults::Faults, meta, record::Record,
};

#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
    pub(crate) faults: Faults,
    pub(crate) record: Record,
    /// Bearer tokens of the HTTP listener.
    pub(crate) tokens: Mutex<HashMap<String, User>>,
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
            rng: Mutex::new(Rng::with_seed(seed)),
        }
    }

    fn with_rng<R>(&self, act: impl FnOnce(&mut Rng) -> R) -> R {
        act(&mut self.rng.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn generate_name(&self, prefix: &str) -> String {
        self.with_rng(|rng| meta::generated(prefix, rng))
    }

    /// A UUID of version 4; the same seed gives the same ones.
    pub(crate) fn new_uid(&self) -> String {
        let number = self.with_rng(|rng| rng.u128(..));
        let number = (number & !(0xf << 76) | (0x4 << 76)) & !(0x3 << 62) | (0x2 << 62);
        let hex = format!("{number:032x}");
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
        [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
    }

    /// How long a watch lasts when the client does not say: half an hour to an hour.
    pub(crate) fn watch_timeout(&self) -> Duration {
        Duration::from_secs(self.with_rng(|rng| rng.u64(1800..3600)))
    }

    /// The object as it is kept: in the storage version.
    pub(crate) fn to_storage(&self, kind: &Kind, mut object: Value) -> Value {
        if !kind.storage
            && let Some(storage) = self.registry.storage(&kind.group, &kind.plural)
        {
            set_version(&mut object, &storage.api_version());
        }
        object
    }

}

/// The stored object in the version of `kind`.
pub(crate) fn to_version(kind: &Arc<Kind>, object: &Arc<Object>) -> Value {
    let mut object = object.seen_as(kind).value().clone();
    set_version(&mut object, &kind.api_version());
    object
}

fn set_version(object: &mut Value, api_version: &str) {
    if let Some(object) = object.as_object_mut() {
        object.insert("apiVersion".into(), json!(api_version));
    }
}
