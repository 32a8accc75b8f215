//! Strategic merge patch: a merge patch that knows which lists have keys, with directives in `$` fields.
//!
//! Source: the documented behaviour of apimachinery's strategicpatch on the server. Patches that contradict themselves are 400,
//! lists of lists 422; what Kubernetes does not foresee, such as an element without its merge key, it answers with 500.

mod order;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::does_not_fit;
use crate::{
    ApiError,
    schema::{MergeStrategy, Schema},
};
use order::{check_order, in_order};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

type Object = Map<String, Value>;

pub(super) fn patch(document: &Value, body: &Value, schema: &Schema) -> Result<Value, ApiError> {
    let (Some(document), Some(body)) = (document.as_object(), body.as_object()) else {
        return Err(ApiError::bad_request("invalid JSON document"));
    };
    merge_objects(document.clone(), body.clone(), Some(schema)).map(Value::Object)
}

fn merge_objects(
    mut original: Object,
    mut patch: Object,
    schema: Option<&Schema>,
) -> Result<Object, ApiError> {
    if let Some(directive) = patch.remove(PATCH) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Object::new()),
            _ => Err(unforeseen(format!("unknown patch type: {directive} in map: {}", Value::Object(patch)))),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    set_orders(&mut original, &mut patch, schema)?;
    for (name, value) in patch {
        match name.split_once('/') {
            Some((DELETE_FROM_PRIMITIVE_LIST, list)) => delete_from(&mut original, list, &value),
            _ if name.starts_with(DELETE_FROM_PRIMITIVE_LIST) => {
                return Err(ApiError::bad_request("invalid patch format of primitive list"));
            }
            _ => {
                let field = schema.and_then(|schema| schema.field(&name));
                match merge_values(original.remove(&name), value, field)? {
                    Some(value) => original.insert(name, value),
                    None => None,
                };
            }
        }
    }
    Ok(original)
}

/// A field after its patch; `None` if it is gone.
fn merge_values(
    original: Option<Value>,
    patch: Value,
    schema: Option<&Schema>,
) -> Result<Option<Value>, ApiError> {
    match (original, patch) {
        (_, Value::Null) => Ok(None),
        (Some(Value::Object(original)), Value::Object(patch)) => {
            merge_objects(original, patch, schema).map(|merged| Some(Value::Object(merged)))
        }
        (Some(Value::Array(original)), Value::Array(patch)) => {
            merge_lists(original, patch, schema).map(|merged| Some(Value::Array(merged)))
        }
        (_, patch) => Ok(plain(patch)),
    }
}

fn merge_lists(
    original: Vec<Value>,
    patch: Vec<Value>,
    schema: Option<&Schema>,
) -> Result<Vec<Value>, ApiError> {
    let Some(key) = merge_key(schema) else { return Ok(patch) };
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    check_elements(&original, &patch)?;
    let Some(key) = key.filter(|_| original.iter().chain(&patch).any(Value::is_object)) else {
        let mut merged = original.clone();
        for value in &patch {
            if !merged.contains(value) {
                merged.push(value.clone());
            }
        }
        return Ok(in_order(merged, &patch, &original, None));
    };
    let elements = schema.and_then(Schema::items);
    let Directed { original, patch } = obey_directives(original, patch, key)?;
    let mut merged = original.clone();
    for element in &patch {
        let value = key_value(element, key)?;
        match merged.iter_mut().find(|candidate| candidate.get(key) == Some(value)) {
            Some(found) => {
                if let (Value::Object(before), Value::Object(element)) = (found.take(), element) {
                    *found = Value::Object(merge_objects(before, element.clone(), elements)?);
                }
            }
            None => merged.extend(plain(element.clone())),
        }
    }
    for element in &merged {
        key_value(element, key)?;
    }
    Ok(in_order(merged, &patch, &original, Some(key)))
}

/// `None`: the list is replaced. Otherwise it is merged, by this field if its elements are objects.
fn merge_key(schema: Option<&Schema>) -> Option<Option<&str>> {
    match schema?.merge_strategy() {
        MergeStrategy::Replace | MergeStrategy::RetainKeys => None,
        MergeStrategy::MergeSet => Some(None),
        MergeStrategy::Merge(key) | MergeStrategy::MergeRetainKeys(key) => Some(Some(key)),
    }
}

fn check_elements(original: &[Value], patch: &[Value]) -> Result<(), ApiError> {
    let mut elements = original.iter().chain(patch);
    if elements.clone().any(Value::is_array) {
        return Err(does_not_fit());
    }
    let objects = original.iter().chain(patch).next().is_some_and(Value::is_object);
    if elements.any(|element| element.is_object() != objects) {
        return Err(unforeseen(format!(
            "list element types are not identical: {}",
            Value::from(patch.to_vec())
        )));
    }
    Ok(())
}

/// A list and its patch after the `$patch` elements did their work.
struct Directed {
    original: Vec<Value>,
    patch: Vec<Value>,
}

fn obey_directives(mut original: Vec<Value>, patch: Vec<Value>, key: &str) -> Result<Directed, ApiError> {
    let (directives, patch): (Vec<Value>, Vec<Value>) =
        patch.into_iter().partition(|element| element.get(PATCH).is_some());
    let mut replace = false;
    for directive in &directives {
        match directive.get(PATCH).and_then(Value::as_str) {
            Some("delete") => {
                let gone = key_value(directive, key)?;
                original.retain(|element| element.get(key) != Some(gone));
            }
            Some("replace") => replace = true,
            Some("merge") => return Err(unforeseen("merging lists cannot yet be specified in the patch")),
            _ => return Err(unforeseen(format!("unknown patch type in map: {directive}"))),
        }
    }
    Ok(if replace { Directed { original: patch, patch: Vec::new() } } else { Directed { original, patch } })
}

/// `$retainKeys: [a, b]`: fields of the original that are not named go, and the patch may set no others.
fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), ApiError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let bad = || ApiError::bad_request("invalid patch format of retainKeys");
    let keys = keys.as_array().ok_or_else(bad)?;
    let named = |name: &str| keys.iter().any(|key| key.as_str() == Some(name));
    let directive =
        |name: &str| name.starts_with(DELETE_FROM_PRIMITIVE_LIST) || name.starts_with(SET_ELEMENT_ORDER);
    if patch.iter().any(|(name, value)| !value.is_null() && !directive(name) && !named(name)) {
        return Err(bad());
    }
    original.retain(|name, _| named(name));
    Ok(())
}

/// `$setElementOrder/list`: merges the list now, and puts its elements into this order.
fn set_orders(original: &mut Object, patch: &mut Object, schema: Option<&Schema>) -> Result<(), ApiError> {
    let directives: Vec<String> =
        patch.keys().filter(|name| name.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let bad = || ApiError::bad_request("invalid patch format of setElementOrder list");
        let (_, list) = directive.split_once('/').ok_or_else(bad)?;
        let order = patch.remove(&directive).and_then(into_list).ok_or_else(bad)?;
        let before = original.get(list).cloned().map(|value| into_list(value).ok_or_else(bad)).transpose()?;
        let change = patch.get(list).cloned().map(|value| into_list(value).ok_or_else(bad)).transpose()?;
        let field = schema.and_then(|schema| schema.field(list));
        let key = merge_key(field).flatten();
        check_order(change.as_deref().unwrap_or_default(), &order, key)?;
        let merged = match (before.clone(), change) {
            (None, None) => continue,
            (Some(before), None) => before,
            (None, Some(change)) => change.into_iter().filter_map(plain).collect(),
            (Some(before), Some(change)) => merge_lists(before, change, field)?,
        };
        let ordered = in_order(merged, &order, before.as_deref().unwrap_or_default(), key);
        original.insert(list.to_owned(), Value::Array(ordered));
        patch.remove(list);
    }
    Ok(())
}

fn delete_from(original: &mut Object, list: &str, gone: &Value) {
    if let (Some(Value::Array(items)), Value::Array(gone)) = (original.get_mut(list), gone) {
        items.retain(|item| !gone.contains(item));
    }
}

/// A value that nothing is there to merge with: without nulls and without directives, or not at all.
fn plain(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Some(Value::Object(kept.filter_map(|(name, value)| Some((name, plain(value)?))).collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(plain).collect())),
        scalar => Some(scalar),
    }
}

fn key_value<'v>(element: &'v Value, key: &str) -> Result<&'v Value, ApiError> {
    element
        .get(key)
        .ok_or_else(|| unforeseen(format!("map: {element} does not contain declared merge key: {key}")))
}

fn into_list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// Kubernetes lets these through as errors without a status.
fn unforeseen(message: impl Into<String>) -> ApiError {
    ApiError::new(500, "", message)
}
