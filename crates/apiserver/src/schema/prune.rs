//! Dropping what a schema does not know.

use serde_json::Value;

use super::{Path, Schema};

/// `apiVersion` and `kind` of a resource are the server's own, whatever the schema says.
const SERVERS_OWN: [&str; 2] = ["apiVersion", "kind"];

pub(super) fn prune(schema: &Schema, value: &mut Value, path: Path, dropped: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let at = path.field(name);
                if let Some(known) = schema.properties.get(name).or(schema.additional.as_ref()) {
                    prune(known, value, at, dropped);
                    return true;
                }
                let keep = schema.preserve_unknown
                    || schema.int_or_string
                    || (schema.resource && SERVERS_OWN.contains(&name.as_str()));
                if !keep {
                    dropped.push(at.to_string());
                }
                keep
            });
        }
        Value::Array(elements) => {
            if let Some(items) = &schema.items {
                for (i, element) in elements.iter_mut().enumerate() {
                    prune(items, element, path.index(i), dropped);
                }
            }
        }
        _ => {}
    }
}
