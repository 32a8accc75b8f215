//! Kubernetes' structural schemas: what a field may hold, and what the server does with it.
//!
//! ```text
//! openAPIV3Schema ──parse──▶ Schema ──┬─ prune     unknown fields go
//! k8s-openapi + tables ────────▲      ├─ default   missing fields come
//!                                     ├─ validate  types, bounds, lists, CEL
//!                                     └─ field, items, list_type …  the way through it for apply and patch
//! ```
//!
//! One tree serves custom and built-in kinds. Subtrees are shared: `ObjectMeta` and `PodSpec` exist once.

mod cause;
mod cel;
mod checks;
mod default;
mod format;
mod parse;
mod prune;
mod structural;
#[cfg(test)]
mod tests;
mod validate;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

pub(crate) use cause::{Path, duplicate, forbidden, invalid, not_supported, required, too_long};
pub(crate) use checks::Checks;

use crate::Cause;

/// One node of the tree.
#[derive(Debug, Default, Clone)]
pub struct Schema {
    /// None: anything (an untyped leaf, or int-or-string).
    pub(crate) kind: Option<Type>,
    pub(crate) properties: BTreeMap<String, Arc<Schema>>,
    pub(crate) additional: Option<Arc<Schema>>,
    pub(crate) items: Option<Arc<Schema>>,
    pub(crate) required: Vec<String>,
    pub(crate) nullable: bool,
    pub(crate) int_or_string: bool,
    pub(crate) preserve_unknown: bool,
    /// An object of its own inside another: `apiVersion`, `kind` and `metadata` are the server's.
    pub(crate) resource: bool,
    pub(crate) default: Option<Value>,
    pub(crate) list_type: ListType,
    pub(crate) atomic_map: bool,
    pub(crate) merge: MergeStrategy,
    pub(crate) checks: Checks,
    pub(crate) rules: Arc<[cel::Rule]>,
    /// There are rules here or below.
    pub(crate) ruled: bool,
    pub(crate) native: Option<Native>,
}

/// What Go's type behind a field of a built-in kind adds to the schema.
#[derive(Debug, Clone, Default)]
pub(crate) struct Native {
    /// Go's name of the type, for example `PodSpec`; empty for scalars, lists and maps.
    pub(crate) name: String,
    /// A resource.Quantity: rewritten in its canonical form.
    pub(crate) quantity: bool,
    /// `omitempty` on a field that is no pointer: the empty value is not stored.
    pub(crate) omit_empty: bool,
    /// The empty value is stored when the field is missing: no `omitempty`.
    pub(crate) zero: Option<Value>,
    /// Defaults that depend on other fields.
    pub(crate) fill: Option<fn(&mut Map<String, Value>)>,
}

/// JSON's types, as OpenAPI names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// How the elements of a list are told apart: `x-kubernetes-list-type`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ListType {
    #[default]
    Atomic,
    Set,
    /// Elements are objects; these fields are their key.
    Map(Vec<String>),
}

/// What strategic merge patch does with a field of a built-in kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MergeStrategy {
    /// Lists are replaced as a whole, objects are merged field by field.
    #[default]
    Replace,
    /// Elements with the same value of this field are merged.
    Merge(String),
    /// A list of scalars: the union.
    MergeSet,
    /// An object whose fields that the patch does not list under `$retainKeys` go away.
    RetainKeys,
    /// `Merge`, with `RetainKeys` in each element.
    MergeRetainKeys(String),
}

static ANY: LazyLock<Schema> = LazyLock::new(Schema::any);

impl Schema {
    /// The schema of an `openAPIV3Schema`, or why the server refuses it: paths are relative to its root.
    pub fn parse(openapi: &Value) -> Result<Self, Vec<Cause>> {
        parse::parse(openapi)
    }

    /// Preserves everything; every list below it is atomic.
    pub fn any() -> Self {
        Self { preserve_unknown: true, ..Self::empty() }
    }

    /// Drops what the schema does not know; the paths of what went.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut dropped = Vec::new();
        prune::prune(self, object, Path::Root, &mut dropped);
        dropped
    }

    /// Fills in what is missing; in built-in kinds, also writes what is there as Go would.
    pub fn default(&self, object: &mut Value) {
        default::default(self, object);
    }

    /// What is wrong with `new`. With `old`, transition rules run, and faults in unchanged parts are tolerated.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<Cause> {
        validate::validate(self, new, old)
    }

    /// The schema of a property, or of a map's values.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let known = self.properties.get(name).or(self.additional.as_ref()).map(AsRef::as_ref);
        known.or_else(|| self.preserve_unknown.then(|| &*ANY))
    }

    /// The schema of a list's elements.
    pub fn items(&self) -> Option<&Self> {
        self.items.as_deref().or_else(|| self.preserve_unknown.then(|| &*ANY))
    }

    pub fn list_type(&self) -> &ListType {
        &self.list_type
    }

    /// Written and owned as a whole: `x-kubernetes-map-type: atomic`, or an object that nothing is known of.
    pub fn is_atomic_map(&self) -> bool {
        self.atomic_map || (self.properties.is_empty() && self.additional.is_none() && !self.preserve_unknown)
    }

    pub fn merge_strategy(&self) -> &MergeStrategy {
        &self.merge
    }
}

impl Type {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    /// What JSON says `value` is; a number without fraction is an integer.
    pub(crate) fn name_of(value: &Value) -> &'static str {
        match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(n) if n.is_f64() && n.as_f64().is_some_and(|f| f.fract() != 0.0) => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }

    pub(crate) fn admits(self, value: &Value) -> bool {
        let name = Self::name_of(value);
        name == self.name() || (self == Self::Number && name == "integer")
    }
}

/// The values of the fields that are the key of a list's element.
pub(crate) fn key_of<'a>(keys: &'a [String], element: &'a Value) -> Vec<Option<&'a Value>> {
    keys.iter().map(|key| element.get(key)).collect()
}

/// The element of `old` that is the same as `element`: only lists of type map can tell.
pub(crate) fn counterpart<'a>(
    list_type: &ListType,
    element: &Value,
    old: Option<&'a Value>,
) -> Option<&'a Value> {
    let ListType::Map(keys) = list_type else { return None };
    let key = key_of(keys, element);
    old?.as_array()?.iter().find(|candidate| key_of(keys, candidate) == key)
}
