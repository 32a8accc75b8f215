//! The order of merged lists: `$setElementOrder` before the patch's order before the live order.

use serde_json::Value;

use super::{PATCH, unforeseen};
use crate::ApiError;

/// `merged` with the elements that `order` names in its order, and the others where they were in `live` as far as that goes.
pub(super) fn in_order(merged: Vec<Value>, order: &[Value], live: &[Value], key: Option<&str>) -> Vec<Value> {
    let place = |list: &[Value], element: &Value| list.iter().position(|other| same(other, element, key));
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|element| place(order, element).is_some());
    named.sort_by_key(|element| place(order, element));
    others.sort_by_key(|element| place(live, element).unwrap_or(usize::MAX));

    let mut result = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for element in named {
        let at = place(live, &element);
        let earlier =
            |other: &Value| matches!((place(live, other), at), (Some(other), Some(at)) if other < at);
        while let Some(other) = others.next_if(earlier) {
            result.push(other);
        }
        result.push(element);
    }
    result.extend(others);
    result
}

/// The patch's elements must come in the order that the patch itself asks for.
pub(super) fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), ApiError> {
    if order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    let fits = patch
        .iter()
        .filter(|element| element.get(PATCH).is_none())
        .all(|element| rest.any(|wanted| same(wanted, element, key)));
    if fits {
        return Ok(());
    }
    let (patch, order) = (Value::from(patch.to_vec()), Value::from(order.to_vec()));
    Err(unforeseen(format!(
        "The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n"
    )))
}

fn same(a: &Value, b: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) if a.is_object() => a.get(key) == b.get(key),
        _ => a == b,
    }
}
