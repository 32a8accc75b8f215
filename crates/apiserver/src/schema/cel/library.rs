//! Calling functions: a few are ours, because the library's differ from cel-go's; the rest are `kube-cel`'s.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value};

use super::eval::{Budget, Fault, Outcome, Scope, eval};

/// A function: its arguments are evaluated here, the function itself is the library's.
pub(super) fn function(call: &CallExpr, scope: &Scope, budget: &Budget) -> Outcome {
    let namespace = match call.target.as_deref() {
        Some(IdedExpr { expr: Expr::Ident(name), .. }) if scope.get(name).is_none() => Some(name.as_str()),
        _ => None,
    };
    let receiver = call.target.as_deref().filter(|_| namespace.is_none());
    let values = receiver
        .into_iter()
        .chain(&call.args)
        .map(|e| eval(e, scope, budget))
        .collect::<Result<Vec<_>, _>>()?;
    budget.charge(values.iter().map(size).sum::<usize>() / 10)?;
    if let Some(namespace) = namespace {
        return library(&call.func_name, Style::Qualified(namespace), values);
    }
    match (call.func_name.as_str(), values.as_slice()) {
        ("dyn", [value]) if call.target.is_none() => Ok(value.clone()),
        ("size", [value]) => match value {
            Value::String(s) => Ok(Value::Int(s.chars().count() as i64)),
            Value::Bytes(_) | Value::List(_) | Value::Map(_) => Ok(Value::Int(size(value) as i64)),
            _ => Err(Fault::NoSuchOverload),
        },
        ("contains", [Value::String(text), Value::String(part)]) => {
            Ok(Value::Bool(text.contains(part.as_str())))
        }
        ("startsWith", [Value::String(text), Value::String(part)]) => {
            Ok(Value::Bool(text.starts_with(part.as_str())))
        }
        ("endsWith", [Value::String(text), Value::String(part)]) => {
            Ok(Value::Bool(text.ends_with(part.as_str())))
        }
        ("contains" | "startsWith" | "endsWith", _) => Err(Fault::NoSuchOverload),
        ("bool", [Value::Bool(b)]) => Ok(Value::Bool(*b)),
        ("bool", [Value::String(s)]) => match s.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(Fault::Other(format!("type conversion error from 'string' to 'bool': {s:?}"))),
        },
        (name, _) => library(name, if receiver.is_some() { Style::Method } else { Style::Function }, values),
    }
}

/// How a function is called.
#[derive(Clone, Copy)]
pub(super) enum Style<'a> {
    /// `quantity(x)`
    Function,
    /// `x.find(y)`: the first value is the receiver.
    Method,
    /// `math.abs(x)`
    Qualified(&'a str),
}

/// Calls a function of the library. Only data gets there: expressions are already evaluated.
pub(super) fn library(name: &str, style: Style, values: Vec<Value>) -> Outcome {
    static LIBRARY: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());
    const NAMES: [&str; 6] = ["@0", "@1", "@2", "@3", "@4", "@5"];

    let mut scope = LIBRARY.new_inner_scope();
    if values.len() > NAMES.len() {
        return Err(Fault::NoSuchOverload);
    }
    let ident = |name: &str| IdedExpr { id: 0, expr: Expr::Ident(name.to_owned()) };
    let mut args = Vec::new();
    for (value, name) in values.into_iter().zip(NAMES) {
        scope.add_variable_from_value(name, value);
        args.push(ident(name));
    }
    let target = match style {
        Style::Function => None,
        Style::Method if args.is_empty() => None,
        Style::Method => Some(Box::new(args.remove(0))),
        Style::Qualified(namespace) => Some(Box::new(ident(namespace))),
    };
    let call = CallExpr { func_name: name.to_owned(), target, args };
    let call = IdedExpr { id: 0, expr: Expr::Call(call) };
    // The library indexes its arguments unchecked in places: a wrong call must not take the server down.
    match catch_unwind(AssertUnwindSafe(|| Value::resolve(&call, &scope))) {
        Ok(outcome) => outcome.map_err(told),
        Err(_) => Err(Fault::NoSuchOverload),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(s) => s.len(),
        Value::Bytes(b) => b.len(),
        Value::List(l) => l.len(),
        Value::Map(m) => m.map.len(),
        _ => 0,
    }
}

/// The library's faults, in cel-go's words.
pub(super) fn told(error: ExecutionError) -> Fault {
    match error {
        ExecutionError::NoSuchKey(key) => Fault::NoSuchKey(key.to_string()),
        ExecutionError::NoSuchOverload
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::InvalidArgumentCount { .. } => Fault::NoSuchOverload,
        ExecutionError::Overflow(..) => Fault::Overflow,
        ExecutionError::DivisionByZero(_) => Fault::DivisionByZero,
        ExecutionError::RemainderByZero(_) => Fault::ModulusByZero,
        ExecutionError::FunctionError { message, .. } => Fault::Other(message),
        other => Fault::Other(other.to_string()),
    }
}
