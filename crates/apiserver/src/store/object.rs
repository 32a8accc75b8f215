//! One object as of one revision, where it is kept, and its bytes on the wire.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value};

use crate::Kind;

/// Where an object is kept, whatever version it was written in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    pub group: Arc<str>,
    pub plural: Arc<str>,
    /// Empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl ObjectId {
    pub fn new(group: &str, plural: &str, namespace: &str, name: &str) -> Self {
        Self { group: group.into(), plural: plural.into(), namespace: namespace.into(), name: name.into() }
    }
}

impl std::fmt::Display for ObjectId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { group, plural, namespace, name } = self;
        f.write_str(plural)?;
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        if !namespace.is_empty() { write!(f, " {namespace}/{name}") } else { write!(f, " {name}") }
    }
}

/// The objects of one resource, in one namespace or in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    pub group: Arc<str>,
    pub plural: Arc<str>,
    /// `None`: all namespaces, and cluster-scoped objects.
    pub namespace: Option<Arc<str>>,
}

impl Scope {
    pub fn all(group: &str, plural: &str) -> Self {
        Self { group: group.into(), plural: plural.into(), namespace: None }
    }

    pub fn namespace(group: &str, plural: &str, namespace: &str) -> Self {
        Self { namespace: Some(namespace.into()), ..Self::all(group, plural) }
    }

    pub fn holds(&self, id: &ObjectId) -> bool {
        id.group == self.group
            && id.plural == self.plural
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == id.namespace)
    }

    /// Sorts before every object of the scope.
    pub(super) fn first(&self) -> ObjectId {
        ObjectId {
            group: Arc::clone(&self.group),
            plural: Arc::clone(&self.plural),
            namespace: self.namespace.clone().unwrap_or_default(),
            name: Arc::default(),
        }
    }
}

/// How a kind sees an object; `None` when as it is stored.
type View = (Arc<Kind>, Option<Arc<Object>>);

/// An object as of one revision.
#[derive(Debug)]
pub struct Object {
    revision: u64,
    value: Value,
    /// The JSON without `apiVersion` and `kind`: those depend on the version it is asked for in.
    body: OnceLock<Bytes>,
    /// How the last kind that asked sees it.
    view: Mutex<Option<View>>,
}

impl Object {
    pub(super) fn new(mut value: Value, revision: u64) -> Self {
        set_revision(&mut value, revision);
        Self { revision, value, body: OnceLock::new(), view: Mutex::default() }
    }

    /// The same state at another revision: what a deletion's event shows.
    pub(crate) fn as_of(&self, revision: u64) -> Self {
        Self::new(self.value.clone(), revision)
    }

    /// Would writing `value` change nothing?
    pub(super) fn same(&self, value: &Value) -> bool {
        let (Some(old), Some(new)) = (self.value.as_object(), value.as_object()) else { return false };
        let metadata = |object: &Map<String, Value>| -> Option<Map<String, Value>> {
            let mut metadata = object.get("metadata")?.as_object()?.clone();
            metadata.remove("resourceVersion");
            Some(metadata)
        };
        old.len() == new.len()
            && old.iter().all(|(key, value)| key == "metadata" || new.get(key) == Some(value))
            && metadata(old) == metadata(new)
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The object with `metadata.resourceVersion` set, in the version it is stored in.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The object as `kind` shows it. A definition that changed after the object was written drops what it does not know any more
    /// and fills in its new defaults, and each version has its own.
    pub(crate) fn seen_as(self: &Arc<Self>, kind: &Arc<Kind>) -> Arc<Self> {
        // Built-in kinds never change.
        if !kind.custom {
            return Arc::clone(self);
        }
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(&*view, Some((known, _)) if Arc::ptr_eq(known, kind)) {
            let mut value = self.value.clone();
            kind.schema.prune(&mut value);
            kind.schema.default(&mut value);
            let other = (value != self.value).then(|| Arc::new(Self::new(value, self.revision)));
            *view = Some((Arc::clone(kind), other));
        }
        let other = view.as_ref().and_then(|(_, other)| other.clone());
        other.unwrap_or_else(|| Arc::clone(self))
    }

    /// The JSON of the object under another `apiVersion` and `kind`, or (for the items of built-in lists) under none.
    pub fn write_json(&self, type_meta: Option<(&str, &str)>, out: &mut BytesMut) {
        let body = self.body.get_or_init(|| serialise(&self.value));
        match type_meta {
            None => out.put_slice(body),
            Some((api_version, kind)) => {
                out.put_slice(br#"{"apiVersion":""#);
                out.put_slice(api_version.as_bytes());
                out.put_slice(br#"","kind":""#);
                out.put_slice(kind.as_bytes());
                out.put_u8(b'"');
                // An object always has metadata, so that the body is never `{}`.
                out.put_u8(b',');
                out.put_slice(body.get(1..).unwrap_or_default());
            }
        }
    }
}

fn serialise(value: &Value) -> Bytes {
    let Some(object) = value.as_object() else { return Bytes::from_static(b"{}") };
    let rest: std::collections::BTreeMap<&String, &Value> =
        object.iter().filter(|(key, _)| *key != "apiVersion" && *key != "kind").collect();
    // Maps of strings to JSON always serialise.
    serde_json::to_vec(&rest).map(Bytes::from).unwrap_or_default()
}

fn set_revision(value: &mut Value, revision: u64) {
    let Some(object) = value.as_object_mut() else { return };
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("resourceVersion".into(), Value::String(revision.to_string()));
    }
}
