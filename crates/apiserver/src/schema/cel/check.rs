//! Whether an expression fits the schema it speaks about, before any object exists.
//!
//! As much of cel-go's type checker as finds the mistakes people make: fields that do not exist, names and functions
//! that nobody declared, operators on operands that can never match, results of the wrong type.

use std::sync::Arc;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};

use super::macros::{ident, is_cel};
use super::value::unescape;
use crate::schema::{Schema, Type as JsonType};

/// What an expression evaluates to, as far as known.
#[derive(Debug, Clone)]
pub(super) enum Type {
    Dyn,
    Bool,
    Int,
    UInt,
    Double,
    String,
    Bytes,
    Null,
    Timestamp,
    Duration,
    List(Box<Type>),
    Map(Box<Type>),
    Object(Arc<Schema>),
    Optional(Box<Type>),
}

/// Functions of the standard library, of cel-go's extensions and of Kubernetes, by what they return.
const FUNCTIONS: &[(Type, &[&str])] = &[
    (
        Type::Bool,
        &[
            "contains",
            "startsWith",
            "endsWith",
            "matches",
            "bool",
            "isSorted",
            "isURL",
            "isIP",
            "isCIDR",
            "isQuantity",
            "isSemver",
            "isInteger",
            "isGreaterThan",
            "isLessThan",
            "containsIP",
            "containsCIDR",
            "isUnspecified",
            "isLoopback",
            "isLinkLocalMulticast",
            "isLinkLocalUnicast",
            "isGlobalUnicast",
            "ip.isCanonical",
            "sets.contains",
            "sets.equivalent",
            "sets.intersects",
            "math.isNaN",
            "math.isInf",
            "math.isFinite",
            "hasValue",
        ],
    ),
    (
        Type::Int,
        &[
            "size",
            "int",
            "indexOf",
            "lastIndexOf",
            "compareTo",
            "asInteger",
            "sign",
            "family",
            "prefixLength",
            "major",
            "minor",
            "patch",
            "getFullYear",
            "getMonth",
            "getDayOfYear",
            "getDayOfMonth",
            "getDate",
            "getDayOfWeek",
            "getHours",
            "getMinutes",
            "getSeconds",
            "getMilliseconds",
        ],
    ),
    (
        Type::String,
        &[
            "string",
            "charAt",
            "lowerAscii",
            "upperAscii",
            "replace",
            "substring",
            "trim",
            "join",
            "format",
            "find",
            "getScheme",
            "getHost",
            "getHostname",
            "getPort",
            "getEscapedPath",
            "strings.quote",
            "base64.encode",
            "jsonpatch.escapeKey",
        ],
    ),
    (Type::Double, &["double", "asApproximateFloat"]),
    (Type::UInt, &["uint"]),
    (Type::Bytes, &["bytes", "base64.decode"]),
    (Type::Timestamp, &["timestamp"]),
    (Type::Duration, &["duration"]),
    (
        Type::Dyn,
        &[
            "dyn",
            "min",
            "max",
            "sum",
            "first",
            "last",
            "flatten",
            "distinct",
            "reverse",
            "slice",
            "sort",
            "split",
            "findAll",
            "getQuery",
            "url",
            "ip",
            "cidr",
            "masked",
            "quantity",
            "add",
            "sub",
            "semver",
            "lists.range",
            "validate",
            "value",
            "optional.none",
            "optional.of",
            "optional.ofNonZeroValue",
            "math.abs",
            "math.ceil",
            "math.floor",
            "math.greatest",
            "math.least",
            "math.round",
            "math.sign",
            "math.sqrt",
            "math.trunc",
            "math.bitAnd",
            "math.bitOr",
            "math.bitXor",
            "math.bitNot",
            "math.bitShiftLeft",
            "math.bitShiftRight",
            "format.named",
            "format.byte",
            "format.date",
            "format.datetime",
            "format.uri",
            "format.uuid",
            "format.dns1035Label",
            "format.dns1035LabelPrefix",
            "format.dns1123Label",
            "format.dns1123LabelPrefix",
            "format.dns1123Subdomain",
            "format.dns1123SubdomainPrefix",
            "format.labelValue",
            "format.qualifiedName",
        ],
    ),
];

pub(super) struct Env<'a> {
    pub(super) name: &'a str,
    pub(super) kind: Type,
    pub(super) outer: Option<&'a Env<'a>>,
}

impl Env<'_> {
    fn get(&self, name: &str) -> Option<&Type> {
        if self.name == name { Some(&self.kind) } else { self.outer?.get(name) }
    }
}

type Checked = Result<Type, String>;

impl Type {
    pub(super) fn of(schema: &Arc<Schema>) -> Self {
        let inner = |schema: &Option<Arc<Schema>>| Box::new(schema.as_ref().map_or(Self::Dyn, Self::of));
        match (schema.kind, schema.checks.format.as_deref()) {
            (None, _) => Self::Dyn,
            (Some(JsonType::Boolean), _) => Self::Bool,
            (Some(JsonType::Integer), _) => Self::Int,
            (Some(JsonType::Number), _) => Self::Double,
            (Some(JsonType::String), Some("date-time" | "date")) => Self::Timestamp,
            (Some(JsonType::String), Some("duration")) => Self::Duration,
            (Some(JsonType::String), Some("byte")) => Self::Bytes,
            (Some(JsonType::String), _) => Self::String,
            (Some(JsonType::Array), _) => Self::List(inner(&schema.items)),
            (Some(JsonType::Object), _) if schema.additional.is_some() => {
                Self::Map(inner(&schema.additional))
            }
            (Some(JsonType::Object), _) => Self::Object(schema.clone()),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Dyn => "dyn".into(),
            Self::Bool => "bool".into(),
            Self::Int => "int".into(),
            Self::UInt => "uint".into(),
            Self::Double => "double".into(),
            Self::String => "string".into(),
            Self::Bytes => "bytes".into(),
            Self::Null => "null".into(),
            Self::Timestamp => "timestamp".into(),
            Self::Duration => "duration".into(),
            Self::List(inner) => format!("list({})", inner.name()),
            Self::Map(inner) => format!("map(string, {})", inner.name()),
            Self::Object(_) => "object".into(),
            Self::Optional(inner) => format!("optional_type({})", inner.name()),
        }
    }

    /// Whether values of the two can ever be compared.
    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.meets(b),
            (Self::Map(a), Self::Map(b)) => a.meets(b),
            (Self::Object(_), Self::Object(_) | Self::Map(_) | Self::Null) => true,
            (Self::Map(_) | Self::Null | Self::Timestamp | Self::Duration, Self::Object(_) | Self::Null) => {
                true
            }
            (Self::Null, Self::Timestamp | Self::Duration) => true,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::UInt | Self::Double | Self::Dyn)
    }
}

pub(super) fn check(e: &IdedExpr, env: &Env) -> Checked {
    match &e.expr {
        Expr::Literal(literal) => Ok(match literal {
            LiteralValue::Boolean(_) => Type::Bool,
            LiteralValue::Bytes(_) => Type::Bytes,
            LiteralValue::Double(_) => Type::Double,
            LiteralValue::Int(_) => Type::Int,
            LiteralValue::Null => Type::Null,
            LiteralValue::String(_) => Type::String,
            LiteralValue::UInt(_) => Type::UInt,
        }),
        Expr::Ident(name) => env.get(name).cloned().ok_or_else(|| undeclared(name)),
        Expr::Select(select) => {
            let selected = field(&check(&select.operand, env)?, &select.field)?;
            Ok(if select.test { Type::Bool } else { selected })
        }
        Expr::List(list) => {
            let kinds = list.elements.iter().map(|e| check(e, env)).collect::<Result<Vec<_>, _>>()?;
            Ok(Type::List(Box::new(common(&kinds))))
        }
        Expr::Map(map) => {
            let mut kinds = Vec::new();
            for entry in &map.entries {
                let EntryExpr::MapEntry(entry) = &entry.expr else {
                    return Err("unsupported message type".into());
                };
                check(&entry.key, env)?;
                kinds.push(check(&entry.value, env)?);
            }
            Ok(Type::Map(Box::new(common(&kinds))))
        }
        Expr::Comprehension(c) => comprehension(c, env),
        Expr::Call(call) => match macro_call(call, env) {
            Some(checked) => checked,
            None => self::call(call, env),
        },
        Expr::Struct(literal) => {
            Err(format!("undeclared reference to '{}' (in container '')", literal.type_name))
        }
        Expr::Unspecified => Err("empty expression".into()),
    }
}

fn undeclared(name: &str) -> String {
    format!("undeclared reference to '{name}' (in container '')")
}

fn field(operand: &Type, name: &str) -> Checked {
    match operand {
        Type::Dyn => Ok(Type::Dyn),
        Type::Object(schema) => match unescape(schema, name) {
            Some((property, _)) => Ok(schema.properties.get(property).map_or(Type::Dyn, Type::of)),
            None => Err(format!("undefined field '{name}'")),
        },
        Type::Map(value) => Ok(value.as_ref().clone()),
        Type::Optional(inner) => Ok(Type::Optional(Box::new(field(inner, name)?))),
        other => Err(format!("type '{}' does not support field selection", other.name())),
    }
}

fn common(kinds: &[Type]) -> Type {
    match kinds {
        [first, rest @ ..] if rest.iter().all(|kind| kind.name() == first.name()) => first.clone(),
        _ => Type::Dyn,
    }
}

fn element(range: &Type) -> Checked {
    match range {
        Type::List(element) => Ok(element.as_ref().clone()),
        Type::Map(_) => Ok(Type::String),
        Type::Dyn => Ok(Type::Dyn),
        other => Err(format!(
            "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
            other.name()
        )),
    }
}

fn comprehension(c: &ComprehensionExpr, env: &Env) -> Checked {
    let range = check(&c.iter_range, env)?;
    let initial = match check(&c.accu_init, env)? {
        // `map` starts from an empty list, whose elements are not known yet.
        Type::List(_) => Type::Dyn,
        other => other,
    };
    let accumulator = Env { name: &c.accu_var, kind: initial.clone(), outer: Some(env) };
    let item = Env { name: &c.iter_var, kind: element(&range)?, outer: Some(&accumulator) };
    check(&c.loop_cond, &accumulator)?;
    let step = check(&c.loop_step, &item)?;
    let kind = if matches!(initial, Type::Dyn) { step } else { initial };
    check(&c.result, &Env { name: &c.accu_var, kind, outer: Some(env) })
}

/// The macros that the parser leaves as calls.
fn macro_call(call: &CallExpr, env: &Env) -> Option<Checked> {
    let target = call.target.as_deref()?;
    let inner_of = |kind: Type| match kind {
        Type::Optional(inner) => Ok(*inner),
        Type::Dyn => Ok(Type::Dyn),
        other => Err(no_overload(&call.func_name, &[other])),
    };
    Some(match (call.func_name.as_str(), call.args.as_slice()) {
        ("bind", [name, init, body]) if is_cel(target) => {
            let name = ident(name)?;
            check(init, env).and_then(|kind| check(body, &Env { name, kind, outer: Some(env) }))
        }
        ("optMap" | "optFlatMap", [name, body]) => {
            let name = ident(name)?;
            let inner = check(target, env).and_then(inner_of);
            let mapped = inner.and_then(|kind| check(body, &Env { name, kind, outer: Some(env) }));
            mapped.map(|kind| if call.func_name == "optMap" { Type::Optional(Box::new(kind)) } else { kind })
        }
        ("orValue", [other]) => check(other, env).and_then(|_| check(target, env)).and_then(inner_of),
        ("or", [other]) => check(other, env).and_then(|_| check(target, env)),
        ("sortBy", [name, body]) => {
            let name = ident(name)?;
            let range = check(target, env);
            range.and_then(|range| {
                check(body, &Env { name, kind: element(&range)?, outer: Some(env) })?;
                Ok(range)
            })
        }
        ("all" | "exists" | "exists_one" | "existsOne", [a, b, body]) => {
            two_variables(target, [ident(a)?, ident(b)?], std::slice::from_ref(body), env).map(|_| Type::Bool)
        }
        ("transformList", [a, b, rest @ ..]) if !rest.is_empty() => {
            two_variables(target, [ident(a)?, ident(b)?], rest, env).map(|kind| Type::List(Box::new(kind)))
        }
        ("transformMap" | "transformMapEntry", [a, b, rest @ ..]) if !rest.is_empty() => {
            two_variables(target, [ident(a)?, ident(b)?], rest, env).map(|_| Type::Dyn)
        }
        _ => return None,
    })
}

fn two_variables(target: &IdedExpr, names: [&str; 2], bodies: &[IdedExpr], env: &Env) -> Checked {
    let (first, second) = match check(target, env)? {
        Type::List(element) => (Type::Int, *element),
        Type::Map(value) => (Type::String, *value),
        Type::Dyn => (Type::Dyn, Type::Dyn),
        other => return element(&other),
    };
    let [a, b] = names;
    let outer = Env { name: a, kind: first, outer: Some(env) };
    let inner = Env { name: b, kind: second, outer: Some(&outer) };
    let mut kind = Type::Dyn;
    for body in bodies {
        kind = check(body, &inner)?;
    }
    Ok(kind)
}

fn call(call: &CallExpr, env: &Env) -> Checked {
    let namespace = call.target.as_deref().and_then(ident).filter(|name| env.get(name).is_none());
    if let (operators::OPT_SELECT, [operand, name]) = (call.func_name.as_str(), call.args.as_slice()) {
        let Expr::Literal(LiteralValue::String(name)) = &name.expr else { return Ok(Type::Dyn) };
        return match field(&check(operand, env)?, name.inner())? {
            already @ Type::Optional(_) => Ok(already),
            kind => Ok(Type::Optional(Box::new(kind))),
        };
    }
    let mut kinds = Vec::new();
    if let (Some(target), None) = (&call.target, namespace) {
        kinds.push(check(target, env)?);
    }
    for arg in &call.args {
        kinds.push(check(arg, env)?);
    }
    let name = call.func_name.as_str();
    if call.target.is_none()
        && let Some(kind) = operator(name, &kinds)
    {
        return kind.ok_or_else(|| no_overload(name, &kinds));
    }
    let full = namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}.{name}"));
    let declared = FUNCTIONS.iter().find(|(_, names)| names.contains(&full.as_str()));
    match declared {
        Some((kind, _)) => Ok(kind.clone()),
        None => Err(undeclared(&full)),
    }
}

/// None: not an operator. Some(None): no overload for these operands.
fn operator(name: &str, kinds: &[Type]) -> Option<Option<Type>> {
    let is_bool = |kind: &Type| matches!(kind, Type::Bool | Type::Dyn);
    Some(match (name, kinds) {
        (operators::LOGICAL_AND | operators::LOGICAL_OR, [a, b]) => {
            (is_bool(a) && is_bool(b)).then_some(Type::Bool)
        }
        (operators::LOGICAL_NOT | operators::NOT_STRICTLY_FALSE, [a]) => is_bool(a).then_some(Type::Bool),
        (operators::CONDITIONAL, [condition, a, b]) => {
            let kind = if matches!(a, Type::Dyn) { b } else { a };
            (is_bool(condition) && a.meets(b)).then(|| kind.clone())
        }
        (operators::EQUALS | operators::NOT_EQUALS, [a, b]) => a.meets(b).then_some(Type::Bool),
        (
            operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS,
            [a, b],
        ) => {
            let ordered =
                |kind: &Type| !matches!(kind, Type::List(_) | Type::Map(_) | Type::Object(_) | Type::Null);
            let numbers = a.is_number() && b.is_number();
            (numbers || (a.meets(b) && ordered(a) && ordered(b))).then_some(Type::Bool)
        }
        (operators::IN, [a, b]) => match b {
            Type::List(element) => a.meets(element).then_some(Type::Bool),
            Type::Map(_) => a.meets(&Type::String).then_some(Type::Bool),
            Type::Dyn => Some(Type::Bool),
            _ => None,
        },
        (operators::INDEX, [a, b]) => indexed(a, b),
        (operators::OPT_INDEX, [a, b]) => {
            let inner = if let Type::Optional(inner) = a { inner } else { a };
            indexed(inner, b).map(|kind| Type::Optional(Box::new(kind)))
        }
        (operators::NEGATE, [a]) => matches!(a, Type::Int | Type::Double | Type::Dyn).then(|| a.clone()),
        (operators::ADD | operators::SUBSTRACT, [Type::Timestamp, Type::Duration]) => Some(Type::Timestamp),
        (operators::ADD, [Type::Duration, Type::Timestamp]) => Some(Type::Timestamp),
        (operators::SUBSTRACT, [Type::Timestamp, Type::Timestamp]) => Some(Type::Duration),
        (operators::ADD, [a, b]) => {
            let adds = !matches!(a, Type::Bool | Type::Null | Type::Object(_) | Type::Map(_));
            (adds && a.meets(b)).then(|| if matches!(a, Type::Dyn) { b.clone() } else { a.clone() })
        }
        (operators::SUBSTRACT, [a @ Type::Duration, Type::Duration]) => Some(a.clone()),
        (operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO, [a, b]) => {
            (a.is_number() && b.is_number() && a.meets(b)).then(|| a.clone())
        }
        _ => return None,
    })
}

fn indexed(container: &Type, at: &Type) -> Option<Type> {
    match container {
        Type::List(element) => at.meets(&Type::Int).then(|| element.as_ref().clone()),
        Type::Map(value) => at.meets(&Type::String).then(|| value.as_ref().clone()),
        Type::Optional(inner) => indexed(inner, at).map(|kind| Type::Optional(Box::new(kind))),
        Type::Dyn => Some(Type::Dyn),
        _ => None,
    }
}

fn no_overload(name: &str, kinds: &[Type]) -> String {
    let kinds: Vec<String> = kinds.iter().map(Type::name).collect();
    format!("found no matching overload for '{name}' applied to '({})'", kinds.join(", "))
}
