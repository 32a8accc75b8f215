//! JSON as CEL sees it: only what the schema declares, names escaped, formats as their types.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value as Cel;
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use serde_json::Value;

use super::library::{Style, library};
use crate::schema::{Schema, Type};

/// Property names that are words of CEL.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

pub(super) fn from_json(schema: &Schema, value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(b) => Cel::Bool(*b),
        Value::Number(n) => match (schema.kind, n.as_i64()) {
            (Some(Type::Number), _) | (_, None) => Cel::Float(n.as_f64().unwrap_or(f64::NAN)),
            (_, Some(i)) => Cel::Int(i),
        },
        Value::String(text) => from_string(schema, text),
        Value::Array(elements) => {
            let items = schema.items.as_deref();
            Cel::List(Arc::new(
                elements.iter().map(|e| items.map_or(Cel::Null, |s| from_json(s, e))).collect(),
            ))
        }
        Value::Object(fields) => {
            let mut map = HashMap::with_capacity(fields.len());
            for (name, value) in fields {
                if let Some(property) = accessible(schema, name) {
                    // A field that is null counts as absent.
                    if let (false, Some(escaped)) = (value.is_null(), escape(name)) {
                        map.insert(Key::from(escaped), from_json(property, value));
                    }
                } else if let Some(values) = &schema.additional {
                    map.insert(Key::from(name.clone()), from_json(values, value));
                }
            }
            Cel::Map(Map { map: Arc::new(map) })
        }
    }
}

/// The property under this name, if rules may see it: of metadata, only the names.
pub(super) fn accessible<'a>(schema: &'a Schema, name: &str) -> Option<&'a Schema> {
    let metadata = schema.native.as_ref().is_some_and(|native| native.name == "ObjectMeta");
    if metadata && !matches!(name, "name" | "generateName") {
        return None;
    }
    schema.properties.get(name).map(AsRef::as_ref).filter(|property| !is_unknown(property))
}

/// Nothing is known of the type, so nothing of it can be read.
fn is_unknown(schema: &Schema) -> bool {
    match schema.kind {
        None => !schema.int_or_string,
        Some(Type::Array) => schema.items.as_deref().is_none_or(is_unknown),
        Some(Type::Object) => schema.additional.as_deref().is_some_and(is_unknown),
        Some(_) => false,
    }
}

fn from_string(schema: &Schema, text: &str) -> Cel {
    let plain = || Cel::String(Arc::new(text.to_owned()));
    let parsed =
        |function: &str| library(function, Style::Function, vec![plain()]).unwrap_or_else(|_| plain());
    match (schema.kind, schema.checks.format.as_deref()) {
        (Some(Type::String), Some("date-time")) => parsed("timestamp"),
        (Some(Type::String), Some("duration")) => parsed("duration"),
        (Some(Type::String), Some("byte")) => {
            library("decode", Style::Qualified("base64"), vec![plain()]).unwrap_or_else(|_| plain())
        }
        (Some(Type::String), Some("date")) => {
            let midnight = Cel::String(Arc::new(format!("{text}T00:00:00Z")));
            library("timestamp", Style::Function, vec![midnight]).unwrap_or_else(|_| plain())
        }
        _ => plain(),
    }
}

pub(super) fn optional(value: Option<Cel>) -> Cel {
    Cel::Opaque(Arc::new(value.map_or_else(OptionalValue::none, OptionalValue::of)))
}

/// A property's name as rules write it; None where no spelling exists.
pub(super) fn escape(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let first = name.chars().next()?;
    let writable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    if first.is_ascii_digit() || !name.chars().all(writable) {
        return None;
    }
    let escaped = name.replace("__", "__underscores__");
    Some(escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"))
}

/// The property that a rule means by `name`.
pub(super) fn unescape<'a>(schema: &'a Schema, name: &str) -> Option<(&'a str, &'a Schema)> {
    let (found, _) =
        schema.properties.iter().find(|(property, _)| escape(property).as_deref() == Some(name))?;
    Some((found, accessible(schema, found)?))
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn names_are_escaped_as_kubernetes_does() {
        for (name, escaped) in [
            ("replicas", Some("replicas")),
            ("snake_case", Some("snake_case")),
            ("redact__d", Some("redact__underscores__d")),
            ("x-prop", Some("x__dash__prop")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("namespace", Some("__namespace__")),
            ("1st", None),
            ("a b", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped, "{name}");
        }
    }
}
