//! From a Rust type to the structural schema of a CRD.
//!
//! schemars describes JSON as JSON Schema does: references, `null`, type lists. A CRD wants one plain tree. Everything that
//! Kubernetes knows about its own types and that its OpenAPI does not say comes from [`kubernetes`].

mod kubernetes;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The structural schema of `T`, descriptions included.
pub(crate) fn structural<T: JsonSchema>() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let root = generator.subschema_for::<T>().to_value();
    resolve(root, &generator.take_definitions(true))
}

/// Removes every description: the slim variant of a CRD.
pub(crate) fn drop_descriptions(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    map.remove("description");
    for (key, value) in map {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(drop_descriptions),
            ("items" | "additionalProperties", value) => drop_descriptions(value),
            _ => {}
        }
    }
}

fn resolve(schema: Value, definitions: &Map<String, Value>) -> Value {
    // `true` is JSON Schema's "anything".
    let Value::Object(mut map) = schema else { return json!({"x-kubernetes-preserve-unknown-fields": true}) };
    // What stands beside a reference is about this use of the type, so it wins over what the type says.
    if let Some(target) = referenced(&mut map) {
        let mut resolved = match target {
            Reference::Inline(schema) => resolve(schema, definitions),
            Reference::Named(name) => resolve_named(&name, definitions),
        };
        tidy_scalars(&mut map);
        if let Value::Object(target) = &mut resolved {
            target.extend(map);
        }
        return resolved;
    }
    tidy_scalars(&mut map);
    if let Some(Value::Object(properties)) = map.remove("properties") {
        let (properties, required) = resolve_properties(properties, map.remove("required"), definitions);
        map.insert("properties".into(), Value::Object(properties));
        if !required.is_empty() {
            map.insert("required".into(), Value::from(required));
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = map.remove(key) {
            map.insert(key.into(), resolve(inner, definitions));
        }
    }
    Value::Object(map)
}

enum Reference {
    Named(String),
    Inline(Value),
}

/// Takes the reference out of `{"$ref": X}`, `{"allOf": [X]}` and `{"anyOf": [X, {"type": "null"}]}`.
fn referenced(map: &mut Map<String, Value>) -> Option<Reference> {
    if let Some(Value::String(target)) = map.remove("$ref") {
        let name = target.rsplit('/').next().unwrap_or_default();
        return Some(Reference::Named(name.to_owned()));
    }
    let alternatives = match map.remove("allOf") {
        Some(all) => all,
        // An integer or a string is the one alternative that CRDs know.
        None if map.contains_key("x-kubernetes-int-or-string") => return None,
        None => map.remove("anyOf")?,
    };
    let Value::Array(alternatives) = alternatives else { return None };
    alternatives
        .into_iter()
        .find(|alternative| alternative.get("type") != Some(&json!("null")))
        .map(Reference::Inline)
}

fn resolve_named(name: &str, definitions: &Map<String, Value>) -> Value {
    if let Some(schema) = kubernetes::replaced(name) {
        return schema;
    }
    let mut schema = resolve(definitions.get(name).cloned().unwrap_or_default(), definitions);
    kubernetes::complete(name, &mut schema);
    schema
}

fn tidy_scalars(map: &mut Map<String, Value>) {
    for key in ["title", "$schema", "$defs"] {
        map.remove(key);
    }
    // `nullable` is what upstream's CRDs never are: absent and null are the same to their readers.
    if let Some(Value::Array(types)) = map.get("type") {
        let first = types.iter().find(|name| **name != json!("null")).cloned();
        map.insert("type".into(), first.unwrap_or_default());
    }
    if let Some(Value::Array(words)) = map.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if map.get("default") == Some(&Value::Null) {
        map.remove("default");
    }
    // Rust's isize stands for Go's int, of which CRDs state no format.
    if map.get("format") == Some(&json!("int")) {
        map.remove("format");
    }
}

/// The fields, and which of them are required: by the type's own list, or by the mark that [`crate::object`] leaves.
fn resolve_properties(
    properties: Map<String, Value>,
    required: Option<Value>,
    definitions: &Map<String, Value>,
) -> (Map<String, Value>, Vec<String>) {
    let listed: Vec<Value> = required.and_then(|names| names.as_array().cloned()).unwrap_or_default();
    let mut needed = Vec::new();
    let mut resolved = Map::new();
    for (name, property) in properties {
        let mut property = resolve(property, definitions);
        if let Value::Object(map) = &mut property {
            let marked = map.remove("x-required").is_some();
            if marked {
                // The zero value that reading falls back to is not a default that the API server may fill in.
                map.remove("default");
            }
            if marked || listed.contains(&json!(name)) {
                needed.push(name.clone());
            }
        }
        resolved.insert(name, property);
    }
    (resolved, needed)
}
