//! Filling in what is missing, and writing what is there as the server would.
//!
//! Custom kinds: nulls that the schema does not allow go, then `default`s come; an absent parent gets nothing.
//! Built-in kinds pass through Go's types, so empty values go too, quantities become canonical, and some defaults
//! depend on other fields.

use serde_json::{Map, Value};

use super::{Native, Schema, Type};
use crate::kinds::quantity;

pub(super) fn default(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            drop_nulls(schema, fields);
            omit_empty(schema, fields);
            fill_in(schema, fields);
            for (name, value) in fields.iter_mut() {
                if let Some(child) = schema.properties.get(name).or(schema.additional.as_ref()) {
                    default(child, value);
                }
            }
            fill_zeros(schema, fields);
        }
        Value::Array(elements) => {
            let Some(items) = &schema.items else { return };
            for element in elements {
                if let (Value::Null, false, Some(default)) = (&element, items.nullable, &items.default) {
                    *element = default.clone();
                }
                default(items, element);
            }
        }
        Value::String(text) if schema.is_quantity() => {
            if let Some(canonical) = quantity::canonical(text) {
                *text = canonical;
            }
        }
        Value::Number(number) if schema.is_quantity() => {
            if let Some(canonical) = quantity::canonical(&number.to_string()) {
                *value = Value::String(canonical);
            }
        }
        _ => {}
    }
}

fn drop_nulls(schema: &Schema, fields: &mut Map<String, Value>) {
    fields.retain(|name, value| {
        !value.is_null()
            || match (schema.properties.get(name), &schema.additional) {
                (Some(property), _) => property.nullable,
                // A map keeps its key: Go decodes null as the empty value.
                (None, Some(values)) => {
                    if values.native.is_some() && values.kind == Some(Type::String) {
                        *value = Value::String(String::new());
                    } else if let (false, Some(default)) = (values.nullable, &values.default) {
                        *value = default.clone();
                    }
                    !value.is_null() || values.nullable
                }
                (None, None) => true,
            }
    });
}

fn omit_empty(schema: &Schema, fields: &mut Map<String, Value>) {
    fields.retain(|name, value| {
        let omits = |property: &Schema| property.native.as_ref().is_some_and(|native| native.omit_empty);
        !(is_empty(value) && schema.properties.get(name).is_some_and(|property| omits(property)))
    });
}

fn fill_in(schema: &Schema, fields: &mut Map<String, Value>) {
    for (name, property) in &schema.properties {
        if let Some(default) = &property.default
            && !fields.contains_key(name)
        {
            fields.insert(name.clone(), default.clone());
        }
    }
    if let Some(Native { fill: Some(fill), .. }) = &schema.native {
        fill(fields);
    }
}

fn fill_zeros(schema: &Schema, fields: &mut Map<String, Value>) {
    for (name, property) in &schema.properties {
        if let Some(Native { zero: Some(zero), .. }) = &property.native
            && !fields.contains_key(name)
        {
            fields.insert(name.clone(), zero.clone());
        }
    }
}

/// Go's zero values.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
    }
}

impl Schema {
    pub(crate) fn is_quantity(&self) -> bool {
        self.native.as_ref().is_some_and(|native| native.quantity)
    }
}
