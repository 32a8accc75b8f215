//! A schema as merging sees it: what is a leaf, what is a map, and which lists have keys.
//!
//! Where nothing is known of a field, Kubernetes deduces: maps are merged key by key, lists are atomic.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::path::Step;
use crate::schema::{ListType, Schema};

/// The type of a value; `None` is deduced from the value.
#[derive(Clone, Copy)]
pub(crate) struct Type<'s>(Option<&'s Schema>);

/// How a value is merged.
pub(crate) enum Shape<'s> {
    /// As a whole: scalars, atomic maps and atomic lists.
    Leaf,
    /// Field by field.
    Map,
    /// Element by element.
    List(Keys<'s>),
}

/// What tells the elements of a list apart.
#[derive(Clone, Copy)]
pub(crate) enum Keys<'s> {
    /// Their value.
    Value,
    /// These of their fields.
    Fields(&'s [String]),
}

impl<'s> Type<'s> {
    pub(crate) fn of(schema: &'s Schema) -> Self {
        Self(Some(schema))
    }

    pub(crate) fn schema(self) -> Option<&'s Schema> {
        self.0
    }

    /// The type of a field or of a map's value; `None` if the schema has no such field.
    pub(crate) fn field(self, name: &str) -> Option<Self> {
        match self.0 {
            None => Some(self),
            Some(schema) => schema.field(name).map(Self::of),
        }
    }

    /// As [`Type::field`], for values that were accepted before.
    pub(crate) fn field_or_any(self, name: &str) -> Self {
        self.field(name).unwrap_or(Self(None))
    }

    /// Is it a field of its own, and not a key of a map?
    pub(crate) fn declares(self, name: &str) -> bool {
        self.0.is_some_and(|schema| schema.properties.contains_key(name))
    }

    pub(crate) fn items(self) -> Self {
        Self(self.0.and_then(Schema::items))
    }

    /// The type of what `step` leads to.
    pub(crate) fn child(self, step: &Step) -> Self {
        match step {
            Step::Field(name) => self.field_or_any(name),
            Step::Key(_) | Step::Value(_) | Step::Index(_) => self.items(),
        }
    }

    pub(crate) fn shape(self, value: &Value) -> Shape<'s> {
        match (value, self.0) {
            (Value::Object(_), Some(schema)) if schema.is_atomic_map() => Shape::Leaf,
            (Value::Object(_), _) => Shape::Map,
            (Value::Array(_), Some(schema)) => match schema.list_type() {
                ListType::Atomic => Shape::Leaf,
                ListType::Set => Shape::List(Keys::Value),
                ListType::Map(keys) => Shape::List(Keys::Fields(keys)),
            },
            _ => Shape::Leaf,
        }
    }

    /// How two sides of a field are taken together. A side that is absent or null goes with the other.
    pub(crate) fn pair<'v>(self, a: Option<&'v Value>, b: Option<&'v Value>) -> Pair<'s, 'v> {
        if is_empty(a) && is_empty(b) {
            return Pair::Leaf;
        }
        let shape =
            |side: Option<&Value>| side.filter(|value| !value.is_null()).map(|value| self.shape(value));
        match (shape(a), shape(b)) {
            (Some(Shape::Map) | None, Some(Shape::Map) | None) => Pair::Map(fields(a), fields(b)),
            (Some(Shape::List(keys)), Some(Shape::List(_)) | None) | (None, Some(Shape::List(keys))) => {
                Pair::List(keys, items(a), items(b))
            }
            (Some(Shape::Leaf) | None, Some(Shape::Leaf) | None) => Pair::Leaf,
            _ => Pair::Different,
        }
    }

    /// The step that leads to an element of a list. Key fields that are absent take the schema's default, so that a port
    /// without a protocol is the TCP port.
    pub(crate) fn step_to(self, keys: Keys<'_>, item: &Value) -> Result<Step, String> {
        match (keys, item) {
            (Keys::Value, Value::Object(_)) => {
                Err("associative list without keys has an element that's a map type".into())
            }
            (Keys::Value, Value::Array(_)) => {
                Err("not supported: associative list with lists as elements".into())
            }
            (Keys::Value, Value::Null) => {
                Err("associative list without keys has an element that's an explicit null".into())
            }
            (Keys::Value, scalar) => Ok(Step::Value(scalar.clone())),
            (Keys::Fields(_), Value::Null) => {
                Err("associative list with keys may not have a null element".into())
            }
            (Keys::Fields(names), Value::Object(fields)) => self.key_of(names, fields),
            (Keys::Fields(_), _) => Err("associative list with keys may not have non-map elements".into()),
        }
    }

    fn key_of(self, names: &[String], fields: &Map<String, Value>) -> Result<Step, String> {
        let default = |name: &String| self.items().0?.field(name)?.default.as_ref();
        let value = |name: &String| fields.get(name).or_else(|| default(name)).cloned();
        let key: BTreeMap<String, Value> =
            names.iter().filter_map(|name| Some((name.clone(), value(name)?))).collect();
        if key.is_empty() {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values \
                 for any key fields)",
                names.join(" ")
            ));
        }
        Ok(Step::Key(key))
    }

    /// The elements of a list by the step that leads to them, in their order. Elements without a key are left out: the
    /// schema's validation speaks about those.
    pub(crate) fn steps_of<'v>(self, keys: Keys<'_>, items: &'v [Value]) -> Vec<(Step, &'v Value)> {
        items.iter().filter_map(|item| Some((self.step_to(keys, item).ok()?, item))).collect()
    }
}

/// Two sides of a field, as they are merged or compared.
pub(crate) enum Pair<'s, 'v> {
    Leaf,
    Map(Option<&'v Map<String, Value>>, Option<&'v Map<String, Value>>),
    List(Keys<'s>, &'v [Value], &'v [Value]),
    /// A map on one side, a scalar or a list on the other.
    Different,
}

/// Every name on either side, sorted.
pub(crate) fn names<'v>(
    a: Option<&'v Map<String, Value>>,
    b: Option<&'v Map<String, Value>>,
) -> impl Iterator<Item = &'v String> {
    let all: std::collections::BTreeSet<_> =
        a.into_iter().flat_map(Map::keys).chain(b.into_iter().flat_map(Map::keys)).collect();
    all.into_iter()
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(_) => false,
    }
}

fn fields(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
