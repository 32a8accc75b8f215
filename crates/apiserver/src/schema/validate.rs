//! What is wrong with a value, in kube-apiserver's words: types, required fields, checks, lists, then CEL.
//!
//! An update is judged more mildly (KEP 4008): a part that is equal to its counterpart in the old object passes,
//! whatever the schema says of it now.

use serde_json::{Map, Value, json};

use super::cause::{NO_FIELD, Path, duplicate, invalid, required, type_invalid};
use super::{ListType, Schema, Type, cel, counterpart};
use crate::Cause;
use crate::kinds::quantity;

/// After one of these the object may not have the shape that rules rely on.
const BLOCKING: &[&str] =
    &["FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"];

pub(super) fn validate(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    node(schema, new, old, Path::Root, &mut causes);

    // Duplicates that were there before are tolerated: an old object must stay writable.
    let duplicates_in = |object: &Value| {
        let mut found = Vec::new();
        lists(schema, object, Path::Root, &mut found);
        found
    };
    if old.is_none_or(|old| duplicates_in(old).is_empty()) {
        causes.extend(duplicates_in(new));
    }

    if !schema.ruled {
        return causes;
    }
    if causes.iter().any(|cause| BLOCKING.contains(&cause.reason)) {
        let why = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        causes.push(invalid(NO_FIELD, &Value::Null, why));
    } else {
        cel::validate(schema, new, old, &mut causes);
    }
    causes
}

/// This node and all below it, without list uniqueness and rules.
pub(super) fn node(schema: &Schema, new: &Value, old: Option<&Value>, path: Path, causes: &mut Vec<Cause>) {
    if old == Some(new) || (new.is_null() && schema.nullable) {
        return;
    }
    if !type_matches(schema, new, path, causes) {
        return;
    }
    schema.checks.run(new, path, causes);
    match new {
        Value::Object(fields) => object(schema, fields, old, path, causes),
        Value::Array(elements) => {
            let Some(items) = &schema.items else { return };
            for (i, element) in elements.iter().enumerate() {
                node(items, element, counterpart(&schema.list_type, element, old), path.index(i), causes);
            }
        }
        _ => {}
    }
}

fn type_matches(schema: &Schema, value: &Value, path: Path, causes: &mut Vec<Cause>) -> bool {
    let is = Type::name_of(value);
    let wanted = if schema.is_quantity() {
        let text = value.as_str().map(str::to_owned).or_else(|| value.as_number().map(ToString::to_string));
        match text {
            Some(text) if quantity::canonical(&text).is_none() => {
                causes.push(invalid(path, value, quantity::FAULT));
                return false;
            }
            Some(_) => return true,
            None => "integer,string",
        }
    } else if schema.int_or_string {
        if matches!(is, "integer" | "string") {
            return true;
        }
        "integer,string"
    } else {
        match schema.kind {
            Some(kind) if !kind.admits(value) => kind.name(),
            _ => return true,
        }
    };
    let why = format_args!("{path} in body must be of type {wanted}: \"{is}\"");
    causes.push(type_invalid(path, &json!(is), why));
    false
}

fn object(
    schema: &Schema,
    fields: &Map<String, Value>,
    old: Option<&Value>,
    path: Path,
    causes: &mut Vec<Cause>,
) {
    // The resource at the root is the server's business; one inside must say what it is.
    if schema.resource && schema.native.is_none() && !matches!(path, Path::Root) {
        for name in ["apiVersion", "kind"] {
            if fields.get(name).is_none_or(|value| value.is_null() || value == "") {
                causes.push(required(path.field(name), "must not be empty"));
            }
        }
    }
    for name in &schema.required {
        if !fields.contains_key(name) {
            causes.push(required(path.field(name), ""));
        }
    }
    for (name, value) in fields {
        if let Some(child) = schema.properties.get(name).or(schema.additional.as_ref()) {
            node(child, value, old.and_then(|old| old.get(name)), path.field(name), causes);
        }
    }
}

/// Duplicates in lists of type set and map.
fn lists(schema: &Schema, value: &Value, path: Path, causes: &mut Vec<Cause>) {
    // Built-in types say for themselves what must be unique.
    if schema.native.is_some() {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let property = schema.properties.get(name).map(|child| (child, path.field(name)));
                let entry = || schema.additional.as_ref().map(|child| (child, path.key(name)));
                if let Some((child, at)) = property.or_else(entry) {
                    lists(child, value, at, causes);
                }
            }
        }
        Value::Array(elements) => {
            for (i, element) in elements.iter().enumerate() {
                let key = match &schema.list_type {
                    ListType::Atomic => continue,
                    ListType::Set => element.clone(),
                    ListType::Map(keys) => key_object(keys, element),
                };
                let same = |earlier: &Value| match &schema.list_type {
                    ListType::Map(keys) => key_object(keys, earlier) == key,
                    _ => *earlier == key,
                };
                if elements.iter().take(i).any(same) {
                    causes.push(duplicate(path.index(i), &key));
                }
            }
            if let Some(items) = &schema.items {
                for (i, element) in elements.iter().enumerate() {
                    lists(items, element, path.index(i), causes);
                }
            }
        }
        _ => {}
    }
}

fn key_object(keys: &[String], element: &Value) -> Value {
    keys.iter().filter_map(|key| Some((key.clone(), element.get(key)?.clone()))).collect::<Map<_, _>>().into()
}
