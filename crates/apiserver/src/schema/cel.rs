//! `x-kubernetes-validations`: rules in CEL, at any depth, compiled once with the schema.
//!
//! ```text
//! rule ──parse──▶ check ──▶ Rule ──┬─ eval(self, oldSelf) ──▶ holds, or why not
//!        (cel)   (schema)          └─ messageExpression, fieldPath, reason
//! ```
//!
//! A rule that reads `oldSelf` runs on updates, where the old value is known: properties by name, entries of maps by
//! key, elements of lists of type map by their keys. Cost is bounded per rule and per object, as in kube-apiserver.

mod check;
mod eval;
mod library;
mod macros;
#[cfg(test)]
mod tests;
mod value;

use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use kube_cel::cel::parser::Parser;
use kube_cel::cel::{IdedExpr, Value as Cel};
use serde_json::{Value, json};

use self::check::{Env, Type};
use self::eval::{Budget, Fault, Scope};
use super::cause::{NO_FIELD, Path, duplicate, forbidden, invalid, not_supported, required};
use super::{ListType, Schema, counterpart};
use crate::Cause;

/// kube-apiserver's limits on the cost of one rule, and of all rules of one object.
const COST_PER_RULE: u64 = 1_000_000;
const COST_PER_OBJECT: u64 = 10_000_000;

const PARSER_STACK: usize = 64 << 20;

const REASONS: [&str; 4] =
    ["FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate"];

/// Longer messages are cut by no one: the rule's own message is used instead.
const MAX_MESSAGE: usize = 5 * 1024;

#[derive(Debug)]
pub(crate) struct Rule {
    source: String,
    expression: IdedExpr,
    reads_old: bool,
    optional_old: bool,
    message: String,
    message_expression: Option<IdedExpr>,
    reason: String,
    /// Below the rule's own path, for example `.spec.hosts[a.b]`.
    field_path: String,
}

/// Compiles the rules of `openapi` into `schema`, which was built from it.
pub(super) fn compile(schema: &mut Schema, openapi: &Value, causes: &mut Vec<Cause>) {
    if !contains_rules(openapi) {
        return;
    }
    // The parser descends deeply for an expression of a few lines: more than the stack of a runtime's worker.
    let compiled = std::thread::scope(|scope| {
        let compile = || compile_node(schema, openapi, Path::Root, None, causes);
        std::thread::Builder::new()
            .stack_size(PARSER_STACK)
            .spawn_scoped(scope, compile)
            .map(ScopedJoinHandle::join)
    });
    if !matches!(compiled, Ok(Ok(()))) {
        causes.push(invalid(NO_FIELD, &Value::Null, "the rules could not be compiled"));
    }
}

/// `uncorrelated`: the list above, whose elements have no counterpart in the old object.
fn compile_node(
    schema: &mut Schema,
    openapi: &Value,
    path: Path,
    uncorrelated: Option<Path>,
    causes: &mut Vec<Cause>,
) {
    schema.ruled = true;
    let below = |key: &str| openapi.get(key).filter(|below| contains_rules(below));
    if let (Some(items), Some(below)) = (&mut schema.items, below("items")) {
        let correlates = matches!(schema.list_type, ListType::Map(_));
        let uncorrelated = uncorrelated.or((!correlates).then_some(path));
        compile_node(Arc::make_mut(items), below, path.field("items"), uncorrelated, causes);
    }
    if let (Some(values), Some(below)) = (&mut schema.additional, below("additionalProperties")) {
        compile_node(Arc::make_mut(values), below, path.field("additionalProperties"), uncorrelated, causes);
    }
    let at = path.field("properties");
    for (name, below) in openapi.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let (Some(property), true) = (schema.properties.get_mut(name), contains_rules(below)) {
            compile_node(Arc::make_mut(property), below, at.key(name), uncorrelated, causes);
        }
    }
    if let Some(rules) = openapi.get("x-kubernetes-validations").and_then(Value::as_array) {
        let whole = Arc::new(schema.clone());
        let at = path.field("x-kubernetes-validations");
        let rules = rules.iter().enumerate();
        schema.rules = rules
            .filter_map(|(i, rule)| compile_rule(&whole, rule, at.index(i), uncorrelated, causes))
            .collect();
    }
}

/// Saves copying the subtrees that have none.
fn contains_rules(openapi: &Value) -> bool {
    let Value::Object(fields) = openapi else { return false };
    fields.contains_key("x-kubernetes-validations") || fields.values().any(contains_rules)
}

fn compile_rule(
    schema: &Arc<Schema>,
    rule: &Value,
    path: Path,
    uncorrelated: Option<Path>,
    causes: &mut Vec<Cause>,
) -> Option<Rule> {
    let before = causes.len();
    let text = |key: &str| rule.get(key).and_then(Value::as_str).unwrap_or_default().trim();
    let (source, message, reason, field_path) =
        (text("rule"), text("message"), text("reason"), text("fieldPath"));
    if source.is_empty() {
        causes.push(required(path.field("rule"), "rule is not specified"));
    }
    if rule.get("message").is_some_and(|m| m.as_str().is_some_and(|m| !m.is_empty() && m.trim().is_empty())) {
        causes.push(invalid(
            path.field("message"),
            &json!(message),
            "message must be non-empty if specified",
        ));
    } else if message.contains('\n') {
        causes.push(invalid(path.field("message"), &json!(message), "message must not contain line breaks"));
    } else if message.is_empty() && source.contains('\n') {
        let why = "message must be specified if rule contains line breaks";
        causes.push(required(path.field("message"), why));
    }
    if !reason.is_empty() && !REASONS.contains(&reason) {
        causes.push(not_supported(path.field("reason"), &json!(reason), &REASONS.map(Value::from)));
    }
    let at_field = match field_path_of(schema, field_path) {
        Ok(at_field) => at_field,
        Err(why) => {
            let why = format!("fieldPath must be a valid path: {why}");
            causes.push(invalid(path.field("fieldPath"), &json!(field_path), why));
            String::new()
        }
    };

    let optional_old = rule.get("optionalOldSelf") == Some(&Value::Bool(true));
    let condition = expression(schema, source, optional_old, "bool", path.field("rule"), causes);
    let message_expression = match text("messageExpression") {
        "" => None,
        source => expression(schema, source, optional_old, "string", path.field("messageExpression"), causes),
    };
    let reads_old = condition.as_ref().is_some_and(|e| e.references().has_variable("oldSelf"));
    if let (true, Some(list)) = (reads_old, uncorrelated) {
        let why = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {list}");
        causes.push(invalid(path.field("rule"), &json!(source), why));
    }
    if optional_old && !reads_old && condition.is_some() {
        let why = "may not be set if oldSelf is not used in rule";
        causes.push(invalid(path.field("optionalOldSelf"), &json!(true), why));
    }
    if causes.len() > before {
        return None;
    }
    Some(Rule {
        source: source.to_owned(),
        expression: condition?,
        reads_old,
        optional_old,
        message: message.to_owned(),
        message_expression,
        reason: reason.to_owned(),
        field_path: at_field,
    })
}

/// Parses and checks an expression that must come out as `wanted`.
fn expression(
    schema: &Arc<Schema>,
    source: &str,
    optional_old: bool,
    wanted: &str,
    path: Path,
    causes: &mut Vec<Cause>,
) -> Option<IdedExpr> {
    if source.is_empty() {
        return None;
    }
    let mut fault = |why: String| causes.push(invalid(path, &json!(source), why));
    let parsed = match Parser::new().enable_optional_syntax(true).parse(source) {
        Ok(parsed) => parsed,
        Err(errors) => {
            fault(format!("compilation failed: {errors}"));
            return None;
        }
    };
    let kind = Type::of(schema);
    let old = if optional_old { Type::Optional(Box::new(kind.clone())) } else { kind.clone() };
    let outer = Env { name: "oldSelf", kind: old, outer: None };
    let checked = check::check(&parsed, &Env { name: "self", kind, outer: Some(&outer) });
    match (checked, wanted) {
        (Err(why), _) => fault(format!("compilation failed: ERROR: {why}")),
        (Ok(Type::Bool | Type::Dyn), "bool") | (Ok(Type::String | Type::Dyn), "string") => {
            return Some(parsed);
        }
        (Ok(_), "bool") => fault("cel expression must evaluate to a bool".into()),
        (Ok(_), _) => fault("messageExpression must evaluate to a string".into()),
    }
    None
}

/// `.spec.hosts['a.b']` as paths in causes are written: fields that exist, no indices.
fn field_path_of(schema: &Schema, path: &str) -> Result<String, String> {
    let (mut at, mut rest) = (schema, path);
    let mut written = String::new();
    while !rest.is_empty() {
        let (name, after) = if let Some(tail) = rest.strip_prefix("['") {
            tail.split_once("']").ok_or("unexpected end of JSON path")?
        } else if let Some(tail) = rest.strip_prefix('.') {
            tail.split_at(tail.find(['.', '[']).unwrap_or(tail.len()))
        } else {
            return Err(format!("expected [ or . but got: {rest}"));
        };
        if let Some(property) = at.properties.get(name) {
            written.push_str(&format!(".{name}"));
            at = property;
        } else if let Some(values) = &at.additional {
            written.push_str(&format!("[{name}]"));
            at = values;
        } else {
            return Err("does not refer to a valid field".into());
        }
        rest = after;
    }
    Ok(written)
}

/// Runs every rule; stops when the object's budget is spent.
pub(super) fn validate(schema: &Schema, new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let mut run = Run { left: COST_PER_OBJECT, causes };
    run.node(schema, new, old, Path::Root);
}

struct Run<'a> {
    left: u64,
    causes: &'a mut Vec<Cause>,
}

impl Run<'_> {
    /// None: the budget is spent, nothing more is run.
    fn node(&mut self, schema: &Schema, new: &Value, old: Option<&Value>, path: Path) -> Option<()> {
        if new.is_null() || !schema.ruled {
            return Some(());
        }
        self.rules(schema, new, old, path)?;
        match new {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let old = old.and_then(|old| old.get(name));
                    if let Some(property) = schema.properties.get(name) {
                        self.node(property, value, old, path.field(name))?;
                    } else if let Some(values) = &schema.additional {
                        self.node(values, value, old, path.key(name))?;
                    }
                }
            }
            Value::Array(elements) => {
                if let Some(items) = &schema.items {
                    for (i, element) in elements.iter().enumerate() {
                        let old = counterpart(&schema.list_type, element, old);
                        self.node(items, element, old, path.index(i))?;
                    }
                }
            }
            _ => {}
        }
        Some(())
    }

    fn rules(&mut self, schema: &Schema, new: &Value, old: Option<&Value>, path: Path) -> Option<()> {
        if schema.rules.is_empty() {
            return Some(());
        }
        let kind = json!(schema.kind.map_or("", super::Type::name));
        let this = value::from_json(schema, new);
        let before = old.filter(|old| !old.is_null()).map(|old| value::from_json(schema, old));
        for rule in schema.rules.iter() {
            if rule.reads_old && before.is_none() && !rule.optional_old {
                continue;
            }
            // What did not change was accepted before; transition rules judge the change itself.
            if old == Some(new) && !rule.reads_old {
                continue;
            }
            let old = if rule.optional_old {
                value::optional(before.clone())
            } else {
                before.clone().unwrap_or(Cel::Null)
            };
            let outer = Scope { name: "oldSelf", value: Ok(old), outer: None };
            let scope = Scope { name: "self", value: Ok(this.clone()), outer: Some(&outer) };
            let limit = COST_PER_RULE.min(self.left);
            let budget = Budget::new(limit);
            let outcome = eval::eval(&rule.expression, &scope, &budget);
            self.left -= limit - budget.left();
            match outcome {
                Ok(Cel::Bool(true)) => {}
                Ok(_) => self.causes.push(failed(rule, &scope, &kind, path)),
                Err(fault) => {
                    let spent = fault == Fault::Budget;
                    self.causes.push(invalid(place(path, ""), &kind, broken(rule, &fault)));
                    if spent {
                        return None;
                    }
                }
            }
        }
        Some(())
    }
}

fn broken(rule: &Rule, fault: &Fault) -> String {
    let told = rule_told(rule);
    match fault {
        Fault::NoSuchOverload => format!(
            "'{fault}': call arguments did not match a supported operator, function or macro signature for rule: {told}"
        ),
        Fault::Budget => {
            format!(
                "'{fault}': no further validation rules will be run due to call cost exceeds limit for rule: {told}"
            )
        }
        _ => format!("{fault} evaluating rule: {told}"),
    }
}

fn rule_told(rule: &Rule) -> &str {
    if rule.message.is_empty() { &rule.source } else { &rule.message }
}

fn failed(rule: &Rule, scope: &Scope, kind: &Value, path: Path) -> Cause {
    let message = message(rule, scope);
    let at = place(path, &rule.field_path);
    match rule.reason.as_str() {
        "FieldValueForbidden" => forbidden(at, &message),
        "FieldValueRequired" => required(at, &message),
        "FieldValueDuplicate" => duplicate(at, kind),
        _ => invalid(at, kind, message),
    }
}

fn place(path: Path, below: &str) -> String {
    match (path, below) {
        (Path::Root, "") => NO_FIELD.to_owned(),
        (Path::Root, below) => below.trim_start_matches('.').to_owned(),
        (path, below) => format!("{path}{below}"),
    }
}

fn message(rule: &Rule, scope: &Scope) -> String {
    let told = rule.message_expression.as_ref().and_then(|expression| {
        let Ok(Cel::String(text)) = eval::eval(expression, scope, &Budget::new(COST_PER_RULE)) else {
            return None;
        };
        let text = text.trim();
        (!text.is_empty() && !text.contains('\n') && text.len() <= MAX_MESSAGE).then(|| text.to_owned())
    });
    told.unwrap_or_else(|| {
        if rule.message.is_empty() { format!("failed rule: {}", rule.source) } else { rule.message.clone() }
    })
}
