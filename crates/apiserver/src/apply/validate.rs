//! Is an applied object of its type? An applier may name neither unknown fields nor one list element twice.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    path::Step,
    typed::{Shape, Type},
};
use crate::schema::Type as Kind;

/// What is wrong, each with its path, in the words of kube-apiserver. Nulls are of every type.
pub(crate) fn faults(ty: Type<'_>, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    walk(ty, value, &mut String::new(), &mut faults);
    faults
}

fn walk(ty: Type<'_>, value: &Value, path: &mut String, faults: &mut Vec<String>) {
    if let Some(fault) = wrong_type(ty, value) {
        return faults.push(said(path, &fault));
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let step = Step::field(name).to_string();
                let Some(field) = ty.field(name) else {
                    return faults.push(said(&format!("{path}{step}"), "field not declared in schema"));
                };
                below(&step, path, |path| walk(field, value, path, faults));
            }
        }
        Value::Array(items) => {
            let mut seen = BTreeSet::new();
            for (index, item) in items.iter().enumerate() {
                let step = match ty.shape(value) {
                    Shape::List(keys) => match ty.step_to(keys, item) {
                        Ok(step) => step,
                        Err(why) => return faults.push(said(path, &format!("element {index}: {why}"))),
                    },
                    Shape::Leaf | Shape::Map => Step::Index(i64::try_from(index).unwrap_or(i64::MAX)),
                };
                let printed = step.to_string();
                if !seen.insert(step) {
                    faults.push(said(path, &format!("duplicate entries for key {printed}")));
                }
                below(&printed, path, |path| walk(ty.items(), item, path, faults));
            }
        }
        _ => {}
    }
}

fn below(step: &str, path: &mut String, walk: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(step);
    walk(path);
    path.truncate(length);
}

fn wrong_type(ty: Type<'_>, value: &Value) -> Option<String> {
    let expected = ty.schema()?.kind?;
    match (expected, value) {
        (_, Value::Null)
        | (Kind::Object, Value::Object(_))
        | (Kind::Array, Value::Array(_))
        | (Kind::String, Value::String(_))
        | (Kind::Integer | Kind::Number, Value::Number(_))
        | (Kind::Boolean, Value::Bool(_)) => None,
        (Kind::Object, _) => Some(format!("expected map, got &{{{}}}", in_go(value))),
        (Kind::Array, _) => Some(format!("expected list, got &{{{}}}", in_go(value))),
        (Kind::String, _) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", in_go(value)))
        }
        (Kind::Integer | Kind::Number, _) => {
            Some(format!("expected numeric (int or float), got {}", go_type(value)))
        }
        (Kind::Boolean, _) => Some(format!("expected boolean, got &{{{}}}", in_go(value))),
    }
}

fn said(path: &str, fault: &str) -> String {
    if path.is_empty() { fault.to_owned() } else { format!("{path}: {fault}") }
}

/// As Go's fmt prints it.
fn in_go(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(in_go).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}:{}", in_go(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
