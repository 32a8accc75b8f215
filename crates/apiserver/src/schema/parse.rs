//! From `openAPIV3Schema` to the tree: structural first, then defaults that hold, then rules that compile.

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::Regex;
use serde_json::{Map, Value};

use super::cause::{Path, invalid};
use super::checks::Bound;
use super::{Checks, ListType, Schema, Type, cel, prune, structural, validate};
use crate::Cause;

pub(super) fn parse(openapi: &Value) -> Result<Schema, Vec<Cause>> {
    let mut causes = structural::check(openapi);
    let Some(root) = openapi.as_object().filter(|_| causes.is_empty()) else { return Err(causes) };
    let mut schema = node(root);
    with_server_fields(&mut schema);
    check_defaults(&schema, Path::Root, &mut causes);
    cel::compile(&mut schema, openapi, &mut causes);
    if causes.is_empty() { Ok(schema) } else { Err(causes) }
}

/// The node of one schema object, which [`structural::check`] has passed; rules are compiled later.
pub(crate) fn node(s: &Map<String, Value>) -> Schema {
    let flag = |key: &str| s.get(key) == Some(&Value::Bool(true));
    let child = |key: &str| s.get(key).and_then(Value::as_object).map(|child| Arc::new(node(child)));
    let mut schema = Schema {
        kind: s.get("type").and_then(Value::as_str).and_then(Type::parse),
        properties: s.get("properties").and_then(Value::as_object).map(properties).unwrap_or_default(),
        additional: match s.get("additionalProperties") {
            Some(Value::Bool(true)) => Some(Arc::new(Schema::any())),
            _ => child("additionalProperties"),
        },
        items: child("items"),
        required: texts(s, "required"),
        nullable: flag("nullable"),
        int_or_string: flag("x-kubernetes-int-or-string"),
        preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
        resource: flag("x-kubernetes-embedded-resource"),
        default: s.get("default").cloned(),
        list_type: match s.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => ListType::Set,
            Some("map") => ListType::Map(texts(s, "x-kubernetes-list-map-keys")),
            _ => ListType::Atomic,
        },
        atomic_map: s.get("x-kubernetes-map-type").is_some_and(|t| t == "atomic"),
        checks: checks(s),
        ..Schema::empty()
    };
    if schema.resource {
        with_server_fields(&mut schema);
    }
    schema
}

fn properties(properties: &Map<String, Value>) -> BTreeMap<String, Arc<Schema>> {
    let schemas = properties.iter().filter_map(|(name, s)| Some((name, s.as_object()?)));
    schemas.map(|(name, s)| (name.clone(), Arc::new(node(s)))).collect()
}

fn checks(s: &Map<String, Value>) -> Checks {
    let count = |key: &str| s.get(key).and_then(Value::as_u64);
    let bound = |key: &str, exclusive: &str| {
        let limit = s.get(key)?.as_number()?.clone();
        Some(Bound { limit, exclusive: s.get(exclusive) == Some(&Value::Bool(true)) })
    };
    let branches = |key: &str| -> Vec<Arc<Schema>> {
        let branches = s.get(key).and_then(Value::as_array).into_iter().flatten();
        branches.filter_map(Value::as_object).map(|branch| Arc::new(node(branch))).collect()
    };
    Checks {
        one_of_values: s.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
        minimum: bound("minimum", "exclusiveMinimum"),
        maximum: bound("maximum", "exclusiveMaximum"),
        multiple_of: s.get("multipleOf").and_then(Value::as_number).cloned(),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        pattern: s.get("pattern").and_then(Value::as_str).and_then(|p| Regex::new(p).ok()),
        format: s.get("format").and_then(Value::as_str).map(str::to_owned),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        all_of: branches("allOf"),
        any_of: branches("anyOf"),
        one_of: branches("oneOf"),
        not: s.get("not").and_then(Value::as_object).map(|branch| Arc::new(node(branch))),
    }
}

/// `metadata` is ObjectMeta whatever the schema says; its name and generateName may be narrowed.
fn with_server_fields(schema: &mut Schema) {
    schema.resource = true;
    let mut metadata = crate::kinds::object_meta().as_ref().clone();
    if let Some(narrowed) = schema.properties.get("metadata") {
        for (name, property) in &narrowed.properties {
            if let Some(own) = metadata.properties.get_mut(name)
                && matches!(name.as_str(), "name" | "generateName")
            {
                let narrowed = Schema { checks: property.checks.clone(), ..own.as_ref().clone() };
                *own = Arc::new(narrowed);
            }
        }
    }
    schema.properties.insert("metadata".into(), Arc::new(metadata));
    for name in ["apiVersion", "kind"] {
        let text = || Arc::new(Schema { kind: Some(Type::String), ..Schema::empty() });
        schema.properties.entry(name.into()).or_insert_with(text);
    }
}

/// A default must survive pruning and be valid: it is never checked again.
fn check_defaults(schema: &Schema, path: Path, causes: &mut Vec<Cause>) {
    if let Some(default) = &schema.default {
        let at = path.field("default");
        let mut dropped = Vec::new();
        prune::prune(schema, &mut default.clone(), Path::Root, &mut dropped);
        if !dropped.is_empty() {
            causes.push(invalid(at, default, "must not have unknown fields"));
        }
        let mut filled = default.clone();
        schema.default(&mut filled);
        validate::node(schema, &filled, None, at, causes);
    }
    if let Some(items) = &schema.items {
        check_defaults(items, path.field("items"), causes);
    }
    if let Some(additional) = &schema.additional {
        check_defaults(additional, path.field("additionalProperties"), causes);
    }
    let properties = path.field("properties");
    for (name, property) in &schema.properties {
        check_defaults(property, properties.key(name), causes);
    }
}

fn texts(s: &Map<String, Value>, key: &str) -> Vec<String> {
    let list = s.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Schema {
    pub(crate) fn empty() -> Self {
        <Self as Default>::default()
    }
}
