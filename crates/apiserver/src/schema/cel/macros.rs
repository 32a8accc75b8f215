//! The macros that the parser leaves as calls: `cel.bind`, `optMap`, optionals, comprehensions over two variables,
//! `sortBy`.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{IdedExpr, Value};

use super::eval::{
    Budget, Fault, Outcome, Scope, as_optional, elements, eval as value_of, key as as_key, truth,
};
use super::value::optional;

/// None when `call` is no macro.
pub(super) fn eval(call: &CallExpr, scope: &Scope, budget: &Budget) -> Option<Outcome> {
    let target = call.target.as_deref()?;
    Some(match (call.func_name.as_str(), call.args.as_slice()) {
        ("bind", [name, init, body]) if is_cel(target) => bind(ident(name)?, init, body, scope, budget),
        ("optMap", [name, body]) => opt_map(target, ident(name)?, body, scope, budget, |v| optional(Some(v))),
        ("optFlatMap", [name, body]) => opt_map(target, ident(name)?, body, scope, budget, |v| v),
        ("or", [other]) => or_else(target, other, scope, budget, |_, whole| whole),
        ("orValue", [other]) => or_else(target, other, scope, budget, |inner, _| inner),
        ("all" | "exists" | "exists_one" | "existsOne", [a, b, body]) => {
            quantified(&call.func_name, target, [ident(a)?, ident(b)?], body, scope, budget)
        }
        ("transformList", [a, b, rest @ ..]) if matches!(rest.len(), 1 | 2) => {
            let pairs = transformed(target, [ident(a)?, ident(b)?], rest, scope, budget);
            pairs.map(|pairs| Value::List(Arc::new(pairs.into_iter().map(|(_, value)| value).collect())))
        }
        ("transformMap", [a, b, rest @ ..]) if matches!(rest.len(), 1 | 2) => {
            transformed(target, [ident(a)?, ident(b)?], rest, scope, budget).and_then(to_map)
        }
        ("transformMapEntry", [a, b, rest @ ..]) if matches!(rest.len(), 1 | 2) => {
            transformed(target, [ident(a)?, ident(b)?], rest, scope, budget).and_then(merge_maps)
        }
        ("sortBy", [name, body]) => sort_by(target, ident(name)?, body, scope, budget),
        _ => return None,
    })
}

pub(super) fn ident(e: &IdedExpr) -> Option<&str> {
    if let Expr::Ident(name) = &e.expr { Some(name) } else { None }
}

pub(super) fn is_cel(e: &IdedExpr) -> bool {
    ident(e) == Some("cel")
}

fn bind(name: &str, init: &IdedExpr, body: &IdedExpr, scope: &Scope, budget: &Budget) -> Outcome {
    let value = value_of(init, scope, budget)?;
    value_of(body, &Scope { name, value: Ok(value), outer: Some(scope) }, budget)
}

fn opt_map(
    target: &IdedExpr,
    name: &str,
    body: &IdedExpr,
    scope: &Scope,
    budget: &Budget,
    wrap: fn(Value) -> Value,
) -> Outcome {
    let value = value_of(target, scope, budget)?;
    match as_optional(&value)? {
        None => Ok(optional(None)),
        Some(inner) => {
            let inner = Scope { name, value: Ok(inner.clone()), outer: Some(scope) };
            value_of(body, &inner, budget).map(wrap)
        }
    }
}

/// `pick` sees the value inside and the optional around it.
fn or_else(
    target: &IdedExpr,
    other: &IdedExpr,
    scope: &Scope,
    budget: &Budget,
    pick: fn(Value, Value) -> Value,
) -> Outcome {
    let value = value_of(target, scope, budget)?;
    match as_optional(&value)?.cloned() {
        Some(inner) => Ok(pick(inner, value)),
        None => value_of(other, scope, budget),
    }
}

/// The index and element of a list, or the key and value of a map.
fn pairs(range: &Value) -> Result<Vec<(Value, Value)>, Fault> {
    match range {
        Value::List(list) => {
            Ok(list.iter().enumerate().map(|(i, v)| (Value::Int(i as i64), v.clone())).collect())
        }
        Value::Map(map) => {
            let mut entries: Vec<(&Key, &Value)> = map.map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Ok(entries.into_iter().map(|(key, value)| (Value::from(key), value.clone())).collect())
        }
        _ => Err(Fault::NoSuchOverload),
    }
}

fn with_pair(
    names: [&str; 2],
    pair: (Value, Value),
    body: &IdedExpr,
    scope: &Scope,
    budget: &Budget,
) -> Outcome {
    let [first, second] = names;
    let outer = Scope { name: first, value: Ok(pair.0), outer: Some(scope) };
    value_of(body, &Scope { name: second, value: Ok(pair.1), outer: Some(&outer) }, budget)
}

fn quantified(
    kind: &str,
    target: &IdedExpr,
    names: [&str; 2],
    body: &IdedExpr,
    scope: &Scope,
    budget: &Budget,
) -> Outcome {
    let mut fault = None;
    let mut found = 0;
    for pair in pairs(&value_of(target, scope, budget)?)? {
        match with_pair(names, pair, body, scope, budget).and_then(|v| truth(&v)) {
            Err(Fault::Budget) => return Err(Fault::Budget),
            Err(other) => fault = Some(other),
            Ok(false) if kind == "all" => return Ok(Value::Bool(false)),
            Ok(true) if kind == "exists" => return Ok(Value::Bool(true)),
            Ok(holds) => found += usize::from(holds),
        }
    }
    match (fault, kind) {
        (Some(fault), _) => Err(fault),
        (None, "all") => Ok(Value::Bool(true)),
        (None, "exists") => Ok(Value::Bool(false)),
        (None, _) => Ok(Value::Bool(found == 1)),
    }
}

/// `rest` is the body, or a filter and the body.
fn transformed(
    target: &IdedExpr,
    names: [&str; 2],
    rest: &[IdedExpr],
    scope: &Scope,
    budget: &Budget,
) -> Result<Vec<(Value, Value)>, Fault> {
    let (filter, body) = match rest {
        [filter, body] => (Some(filter), body),
        [body] => (None, body),
        _ => return Err(Fault::NoSuchOverload),
    };
    let mut result = Vec::new();
    for pair in pairs(&value_of(target, scope, budget)?)? {
        if let Some(filter) = filter
            && !truth(&with_pair(names, pair.clone(), filter, scope, budget)?)?
        {
            continue;
        }
        let key = pair.0.clone();
        result.push((key, with_pair(names, pair, body, scope, budget)?));
    }
    Ok(result)
}

fn to_map(pairs: Vec<(Value, Value)>) -> Outcome {
    let mut entries = HashMap::new();
    for (key, value) in pairs {
        entries.insert(as_key(&key)?, value);
    }
    Ok(Value::Map(Map { map: Arc::new(entries) }))
}

fn merge_maps(pairs: Vec<(Value, Value)>) -> Outcome {
    let mut entries = HashMap::new();
    for (_, value) in pairs {
        let Value::Map(map) = value else { return Err(Fault::NoSuchOverload) };
        for (key, value) in map.map.iter() {
            if entries.insert(key.clone(), value.clone()).is_some() {
                return Err(Fault::Other(format!("insert failed: key {key:?} already exists")));
            }
        }
    }
    Ok(Value::Map(Map { map: Arc::new(entries) }))
}

fn sort_by(target: &IdedExpr, name: &str, body: &IdedExpr, scope: &Scope, budget: &Budget) -> Outcome {
    let mut keyed = Vec::new();
    for element in elements(&value_of(target, scope, budget)?)? {
        let inner = Scope { name, value: Ok(element.clone()), outer: Some(scope) };
        keyed.push((value_of(body, &inner, budget)?, element));
    }
    keyed.sort_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    Ok(Value::List(Arc::new(keyed.into_iter().map(|(_, element)| element).collect())))
}
