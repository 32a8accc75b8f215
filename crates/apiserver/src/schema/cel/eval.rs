//! Evaluating a parsed expression, with a budget.
//!
//! The parser is `cel`'s, the library of functions `kube-cel`'s. The evaluator in between is ours, because theirs (cel
//! 0.13) has no cost limit, panics on struct literals, stops a comprehension at the first error, unwraps optionals
//! when it copies them, fails on `self.?absent`, counts strings in bytes, and knows neither `cel.bind` nor
//! comprehensions over two variables.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, operators};
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use kube_cel::cel::{IdedExpr, Value};

use super::library::{function, told};
use super::macros;
use super::value::optional;

/// Why an expression has no value, in cel-go's words.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Fault {
    #[error("operation cancelled: actual cost limit exceeded")]
    Budget,
    #[error("no such overload")]
    NoSuchOverload,
    #[error("no such key: {0}")]
    NoSuchKey(String),
    #[error("index out of bounds: {0}")]
    OutOfBounds(i64),
    #[error("integer overflow")]
    Overflow,
    #[error("division by zero")]
    DivisionByZero,
    #[error("modulus by zero")]
    ModulusByZero,
    #[error("{0}")]
    Other(String),
}

pub(super) type Outcome = Result<Value, Fault>;

/// Variables, innermost first. A variable may hold a fault: `exists` goes on after one.
pub(super) struct Scope<'a> {
    pub(super) name: &'a str,
    pub(super) value: Outcome,
    pub(super) outer: Option<&'a Scope<'a>>,
}

impl Scope<'_> {
    pub(super) fn get(&self, name: &str) -> Option<&Outcome> {
        if self.name == name { Some(&self.value) } else { self.outer?.get(name) }
    }
}

/// What an expression may still cost.
pub(super) struct Budget(Cell<u64>);

impl Budget {
    pub(super) fn new(limit: u64) -> Self {
        Self(Cell::new(limit))
    }

    pub(super) fn left(&self) -> u64 {
        self.0.get()
    }

    pub(super) fn charge(&self, cost: usize) -> Result<(), Fault> {
        self.0.set(self.0.get().checked_sub(cost as u64).ok_or(Fault::Budget)?);
        Ok(())
    }
}

pub(super) fn eval(e: &IdedExpr, scope: &Scope, budget: &Budget) -> Outcome {
    budget.charge(1)?;
    match &e.expr {
        Expr::Literal(literal) => Value::try_from(literal.to_val().as_ref()).map_err(told),
        Expr::Ident(name) => match scope.get(name) {
            Some(value) => value.clone(),
            None => Err(Fault::Other(format!("undeclared reference to '{name}'"))),
        },
        Expr::Select(select) => {
            let operand = eval(&select.operand, scope, budget)?;
            let Some(found) = field(&operand, &select.field) else { return Err(Fault::NoSuchOverload) };
            match (select.test, found) {
                (true, found) => Ok(Value::Bool(found.is_some())),
                (false, Some(value)) => Ok(value.clone()),
                (false, None) => Err(Fault::NoSuchKey(select.field.clone())),
            }
        }
        Expr::List(list) => {
            let mut elements = Vec::with_capacity(list.elements.len());
            for (i, element) in list.elements.iter().enumerate() {
                let value = eval(element, scope, budget)?;
                if list.optional_indices.contains(&i) {
                    elements.extend(as_optional(&value)?.cloned());
                } else {
                    elements.push(value);
                }
            }
            Ok(Value::List(Arc::new(elements)))
        }
        Expr::Map(map) => {
            let mut entries = HashMap::with_capacity(map.entries.len());
            for entry in &map.entries {
                let EntryExpr::MapEntry(entry) = &entry.expr else { return Err(Fault::NoSuchOverload) };
                let key = key(&eval(&entry.key, scope, budget)?)?;
                let value = eval(&entry.value, scope, budget)?;
                if !entry.optional {
                    entries.insert(key, value);
                } else if let Some(value) = as_optional(&value)? {
                    entries.insert(key, value.clone());
                }
            }
            Ok(Value::Map(Map { map: Arc::new(entries) }))
        }
        Expr::Comprehension(comprehension) => fold(comprehension, scope, budget),
        Expr::Call(call) => match macros::eval(call, scope, budget) {
            Some(outcome) => outcome,
            None => operator(call, scope, budget),
        },
        Expr::Struct(_) | Expr::Unspecified => Err(Fault::NoSuchOverload),
    }
}

fn fold(c: &ComprehensionExpr, scope: &Scope, budget: &Budget) -> Outcome {
    let elements = elements(&eval(&c.iter_range, scope, budget)?)?;
    if let Some((filter, element)) = appends(c) {
        let mut result = Vec::new();
        for item in elements {
            let inner = Scope { name: &c.iter_var, value: Ok(item), outer: Some(scope) };
            if filter.map_or(Ok(true), |filter| truth(&eval(filter, &inner, budget)?))? {
                result.push(eval(element, &inner, budget)?);
            }
        }
        return Ok(Value::List(Arc::new(result)));
    }
    let mut accumulated = eval(&c.accu_init, scope, budget);
    for item in elements {
        let with_result = Scope { name: &c.accu_var, value: accumulated.clone(), outer: Some(scope) };
        if !truth(&eval(&c.loop_cond, &with_result, budget)?)? {
            break;
        }
        let with_item = Scope { name: &c.iter_var, value: Ok(item), outer: Some(&with_result) };
        accumulated = eval(&c.loop_step, &with_item, budget);
        if accumulated == Err(Fault::Budget) {
            return accumulated;
        }
    }
    eval(&c.result, &Scope { name: &c.accu_var, value: accumulated, outer: Some(scope) }, budget)
}

/// `map` and `filter` append to their result: the condition, if any, and the element. Done in place, not by copying.
fn appends(c: &ComprehensionExpr) -> Option<(Option<&IdedExpr>, &IdedExpr)> {
    match &c.loop_step.expr {
        Expr::Call(CallExpr { func_name, args, .. }) => match (func_name.as_str(), args.as_slice()) {
            (operators::ADD, [_, added]) => Some((None, only_element(added)?)),
            (operators::CONDITIONAL, [filter, IdedExpr { expr: Expr::Call(add), .. }, _])
                if add.func_name == operators::ADD =>
            {
                Some((Some(filter), only_element(add.args.get(1)?)?))
            }
            _ => None,
        },
        _ => None,
    }
}

fn only_element(e: &IdedExpr) -> Option<&IdedExpr> {
    match &e.expr {
        Expr::List(list) => list.elements.first(),
        _ => None,
    }
}

fn operator(call: &CallExpr, scope: &Scope, budget: &Budget) -> Outcome {
    let value = |e: &IdedExpr| eval(e, scope, budget);
    match (call.func_name.as_str(), call.args.as_slice()) {
        (operators::CONDITIONAL, [condition, yes, no]) => {
            value(if truth(&value(condition)?)? { yes } else { no })
        }
        (operators::LOGICAL_OR, [a, b]) => either(true, value(a), || value(b)),
        (operators::LOGICAL_AND, [a, b]) => either(false, value(a), || value(b)),
        (operators::LOGICAL_NOT, [a]) => Ok(Value::Bool(!truth(&value(a)?)?)),
        (operators::NOT_STRICTLY_FALSE, [a]) => match value(a) {
            Err(Fault::Budget) => Err(Fault::Budget),
            a => Ok(Value::Bool(!matches!(a, Ok(Value::Bool(false))))),
        },
        (operators::EQUALS, [a, b]) => Ok(Value::Bool(equal(&value(a)?, &value(b)?, budget)?)),
        (operators::NOT_EQUALS, [a, b]) => Ok(Value::Bool(!equal(&value(a)?, &value(b)?, budget)?)),
        (operators::LESS, [a, b]) => compare(&value(a)?, &value(b)?, Ordering::is_lt),
        (operators::LESS_EQUALS, [a, b]) => compare(&value(a)?, &value(b)?, Ordering::is_le),
        (operators::GREATER, [a, b]) => compare(&value(a)?, &value(b)?, Ordering::is_gt),
        (operators::GREATER_EQUALS, [a, b]) => compare(&value(a)?, &value(b)?, Ordering::is_ge),
        (operators::IN, [a, b]) => contains(&value(a)?, &value(b)?, budget),
        (operators::INDEX, [a, b]) => index(&value(a)?, &value(b)?)?,
        (operators::OPT_INDEX, [a, b]) => {
            let (a, b) = (value(a)?, value(b)?);
            let found = index_optional(&a, &b)?;
            Ok(optional(found))
        }
        (operators::OPT_SELECT, [a, name]) => {
            let (a, name) = (value(a)?, value(name)?);
            Ok(optional(index_optional(&a, &name)?))
        }
        (operators::NEGATE, [a]) => match value(a)? {
            Value::Int(i) => i.checked_neg().map(Value::Int).ok_or(Fault::Overflow),
            Value::Float(f) => Ok(Value::Float(-f)),
            _ => Err(Fault::NoSuchOverload),
        },
        (
            name @ (operators::ADD
            | operators::SUBSTRACT
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO),
            [a, b],
        ) => arithmetic(name, value(a)?, value(b)?, budget),
        _ => function(call, scope, budget),
    }
}

/// `||` (absorbing true) and `&&` (absorbing false): a fault on one side gives way to the absorbing value.
fn either(absorbing: bool, a: Outcome, b: impl FnOnce() -> Outcome) -> Outcome {
    let a = match a {
        Ok(Value::Bool(a)) if a == absorbing => return Ok(Value::Bool(a)),
        Err(Fault::Budget) => return a,
        Ok(Value::Bool(_)) => None,
        Ok(_) => Some(Fault::NoSuchOverload),
        Err(fault) => Some(fault),
    };
    match (b()?, a) {
        (Value::Bool(b), _) if b == absorbing => Ok(Value::Bool(b)),
        (Value::Bool(b), None) => Ok(Value::Bool(b)),
        (_, Some(fault)) => Err(fault),
        (_, None) => Err(Fault::NoSuchOverload),
    }
}

pub(super) fn truth(value: &Value) -> Result<bool, Fault> {
    if let Value::Bool(b) = value { Ok(*b) } else { Err(Fault::NoSuchOverload) }
}

/// None: not something with fields.
fn field<'a>(operand: &'a Value, name: &str) -> Option<Option<&'a Value>> {
    match operand {
        Value::Map(map) => Some(map.map.get(&Key::from(name.to_owned()))),
        _ => None,
    }
}

pub(super) fn key(value: &Value) -> Result<Key, Fault> {
    Ok(match value {
        Value::String(s) => Key::String(s.clone()),
        Value::Int(i) => Key::Int(*i),
        Value::UInt(u) => i64::try_from(*u).map_or(Key::Uint(*u), Key::Int),
        Value::Bool(b) => Key::Bool(*b),
        _ => return Err(Fault::NoSuchOverload),
    })
}

fn index(container: &Value, at: &Value) -> Result<Outcome, Fault> {
    Ok(match container {
        Value::List(list) => {
            let Value::Int(i) = at else { return Err(Fault::NoSuchOverload) };
            let found = usize::try_from(*i).ok().and_then(|i| list.get(i));
            found.cloned().ok_or(Fault::OutOfBounds(*i))
        }
        Value::Map(map) => {
            let key = key(at)?;
            map.map.get(&key).cloned().ok_or_else(|| Fault::NoSuchKey(shown(at)))
        }
        other => match as_optional(other)? {
            Some(inner) => return Ok(index(inner, at)?.map(|found| optional(Some(found)))),
            None => Ok(optional(None)),
        },
    })
}

fn index_optional(container: &Value, at: &Value) -> Result<Option<Value>, Fault> {
    let inner = match container {
        Value::Opaque(_) => match as_optional(container)? {
            Some(inner) => inner,
            None => return Ok(None),
        },
        other => other,
    };
    Ok(index(inner, at)?.ok())
}

pub(super) fn as_optional(value: &Value) -> Result<Option<&Value>, Fault> {
    <&OptionalValue>::try_from(value).map(OptionalValue::value).map_err(|_| Fault::NoSuchOverload)
}

/// What a comprehension goes over: a list's elements, a map's keys.
pub(super) fn elements(value: &Value) -> Result<Vec<Value>, Fault> {
    match value {
        Value::List(list) => Ok(list.to_vec()),
        Value::Map(map) => {
            let mut keys: Vec<&Key> = map.map.keys().collect();
            keys.sort();
            Ok(keys.into_iter().map(Value::from).collect())
        }
        _ => Err(Fault::NoSuchOverload),
    }
}

pub(super) fn equal(a: &Value, b: &Value, budget: &Budget) -> Result<bool, Fault> {
    budget.charge(1)?;
    Ok(match (a, b) {
        (
            Value::Int(_) | Value::UInt(_) | Value::Float(_),
            Value::Int(_) | Value::UInt(_) | Value::Float(_),
        ) => a.partial_cmp(b) == Some(Ordering::Equal),
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b.iter()) {
                if !equal(a, b, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.map.len() != b.map.len() {
                return Ok(false);
            }
            for (key, a) in a.map.iter() {
                match b.map.get(key) {
                    Some(b) if equal(a, b, budget)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        (Value::Opaque(_), Value::Opaque(_)) => match (as_optional(a), as_optional(b)) {
            (Ok(Some(a)), Ok(Some(b))) => equal(a, b, budget)?,
            (Ok(a), Ok(b)) => a.is_none() && b.is_none(),
            _ => a == b,
        },
        (Value::String(x), Value::String(y)) => {
            budget.charge(x.len().min(y.len()) / 10)?;
            x == y
        }
        _ => a == b,
    })
}

fn compare(a: &Value, b: &Value, test: impl Fn(Ordering) -> bool) -> Outcome {
    match (a, b) {
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Value::Bool(test(a.cmp(b)))),
        (Value::Float(a), _) if a.is_nan() => Ok(Value::Bool(false)),
        (_, Value::Float(b)) if b.is_nan() => Ok(Value::Bool(false)),
        _ => a.partial_cmp(b).map(|order| Value::Bool(test(order))).ok_or(Fault::NoSuchOverload),
    }
}

fn contains(a: &Value, container: &Value, budget: &Budget) -> Outcome {
    match container {
        Value::List(list) => {
            for element in list.iter() {
                if equal(a, element, budget)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        Value::Map(map) => Ok(Value::Bool(map.map.contains_key(&key(a)?))),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn arithmetic(name: &str, a: Value, b: Value, budget: &Budget) -> Outcome {
    match (&a, &b) {
        (Value::Int(x), Value::Int(y)) => integer(name, *x, *y),
        (Value::String(x), Value::String(y)) if name == operators::ADD => {
            budget.charge((x.len() + y.len()) / 10)?;
            Ok(Value::String(Arc::new(format!("{x}{y}"))))
        }
        _ => {
            if let (Value::List(x), Value::List(y)) = (&a, &b) {
                budget.charge(x.len() + y.len())?;
            }
            let outcome = match name {
                operators::ADD => a + b,
                operators::SUBSTRACT => a - b,
                operators::MULTIPLY => a * b,
                operators::DIVIDE => a / b,
                _ => a % b,
            };
            outcome.map_err(told)
        }
    }
}

fn integer(name: &str, x: i64, y: i64) -> Outcome {
    let result = match name {
        operators::ADD => x.checked_add(y),
        operators::SUBSTRACT => x.checked_sub(y),
        operators::MULTIPLY => x.checked_mul(y),
        operators::DIVIDE if y == 0 => return Err(Fault::DivisionByZero),
        operators::DIVIDE => x.checked_div(y),
        _ if y == 0 => return Err(Fault::ModulusByZero),
        _ => x.checked_rem(y),
    };
    result.map(Value::Int).ok_or(Fault::Overflow)
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(s) => s.to_string(),
        Value::Int(i) => i.to_string(),
        Value::UInt(u) => u.to_string(),
        Value::Bool(b) => b.to_string(),
        _ => "?".into(),
    }
}
