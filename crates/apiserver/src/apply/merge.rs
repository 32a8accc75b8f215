//! The intent laid over the live object, and fields taken out of an object.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    fieldset::FieldSet,
    path::Step,
    typed::{Keys, Pair, Shape, Type, names},
};

/// `live` with everything that `intent` says. Nothing is removed by merging.
pub(crate) fn merge(ty: Type<'_>, live: &Value, intent: &Value) -> Value {
    match ty.pair(Some(live), Some(intent)) {
        Pair::Leaf | Pair::Different => intent.clone(),
        Pair::Map(a, b) => {
            let merged = names(a, b).filter_map(|name| {
                let sides = (a.and_then(|map| map.get(name)), b.and_then(|map| map.get(name)));
                let value = match sides {
                    (Some(live), Some(intent)) => merge(ty.field_or_any(name), live, intent),
                    (one, other) => other.or(one)?.clone(),
                };
                Some((name.clone(), value))
            });
            Value::Object(merged.collect())
        }
        Pair::List(keys, a, b) => Value::Array(merge_lists(ty, keys, a, b)),
    }
}

/// The intent's elements in the intent's order; elements that only the live list has stay where they were between them.
fn merge_lists(ty: Type<'_>, keys: Keys<'_>, live: &[Value], intent: &[Value]) -> Vec<Value> {
    let live = ty.steps_of(keys, live);
    let intent = ty.steps_of(keys, intent);
    let wanted: BTreeMap<&Step, usize> =
        intent.iter().enumerate().map(|(at, (step, _))| (step, at)).collect();
    let mut found: BTreeMap<&Step, Vec<&Value>> = BTreeMap::new();
    for (step, item) in &live {
        found.entry(step).or_default().push(item);
    }
    let mut shared = intent.iter().map(|(step, _)| step).filter(|step| found.contains_key(step)).peekable();

    let mut merged = Vec::with_capacity(live.len() + intent.len());
    let mut rest = live.iter().peekable();
    for (step, item) in &intent {
        while let Some((at, element)) = rest.next_if(|(at, _)| shared.peek() != Some(&at)) {
            if !wanted.contains_key(at) {
                merged.push((*element).clone());
            } else if shared.peek().is_none() {
                // A live list that has this key twice: Kubernetes lets the next element of the intent pass.
                break;
            }
        }
        if shared.next_if_eq(&step).is_some() {
            rest.next_if(|(at, _)| at == step);
        }
        merged.push(match found.get(step).map(Vec::as_slice) {
            Some([live]) => merge(ty.items(), live, item),
            // New, or one of several live elements with this key: there is nothing to merge with.
            _ => (*item).clone(),
        });
    }
    merged.extend(rest.filter(|(at, _)| !wanted.contains_key(at)).map(|(_, element)| (*element).clone()));
    merged
}

/// `value` without the fields in `gone`. What is emptied by that and not gone itself becomes null, as in Kubernetes: a
/// client that names `{}` where it named fields before gets null first.
pub(crate) fn remove(ty: Type<'_>, value: &Value, gone: &FieldSet) -> Value {
    let keep = |step: &Step, value: &Value| match gone.below(step) {
        _ if gone.contains(step) => None,
        Some(below) => Some(remove(ty.child(step), value, below)),
        None => Some(value.clone()),
    };
    match (ty.shape(value), value) {
        (Shape::Map, Value::Object(fields)) => {
            let kept = fields
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), keep(&Step::field(name), value)?)));
            let kept: Map<String, Value> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        (Shape::List(keys), Value::Array(items)) => {
            let kept = ty.steps_of(keys, items).into_iter().filter_map(|(step, item)| keep(&step, item));
            let kept: Vec<Value> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        _ => value.clone(),
    }
}
