//! Whether an `openAPIV3Schema` is structural: the rules and the words of apiextensions-apiserver.
//!
//! Source: KEP 1693 and kubernetes.io "Specifying a structural schema".

use serde_json::{Map, Value, json};

use super::cause::{Path, duplicate, forbidden, invalid, not_supported, required};
use crate::Cause;

/// Keywords that apiextensions refuses wherever they stand.
const UNSUPPORTED: &[&str] =
    &["$ref", "$schema", "id", "definitions", "dependencies", "additionalItems", "patternProperties"];

/// Keywords that describe the shape of data: they have no place inside `allOf`, `anyOf`, `oneOf` and `not`.
const FORBIDDEN_IN_JUNCTORS: &[(&str, &str)] = &[
    ("type", "must be empty to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("default", "must be undefined to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("nullable", "must be false to be structural"),
    ("externalDocs", "must be undefined to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Every reason why `openapi` is not structural; none when it is.
pub(super) fn check(openapi: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let Some(schema) = openapi.as_object() else {
        return vec![required("", "schemas are required")];
    };
    check_node(schema, Level::Root, Path::Root, &mut causes);
    check_complete(schema, Path::Root, &mut causes);
    causes.sort_by(|a, b| (&a.field, &a.message).cmp(&(&b.field, &b.message)));
    causes.dedup();
    causes
}

fn check_node(s: &Map<String, Value>, level: Level, path: Path, causes: &mut Vec<Cause>) {
    check_keywords(s, path, causes);
    check_shape(s, level, path, causes);
    check_metadata(s, level, path, causes);
    check_list(s, path, causes);
    check_map(s, path, causes);
    check_values(s, is_int_or_string_pattern(s), path, causes);

    if let Some(items) = s.get("items").and_then(Value::as_object) {
        check_node(items, Level::Item, path.field("items"), causes);
    }
    if let Some(additional) = s.get("additionalProperties").and_then(Value::as_object) {
        check_node(additional, Level::Field, path.field("additionalProperties"), causes);
    }
    let properties = path.field("properties");
    for (name, property) in object(s, "properties") {
        if let Some(property) = property.as_object() {
            check_node(property, Level::Field, properties.key(name), causes);
        }
    }
}

fn check_keywords(s: &Map<String, Value>, path: Path, causes: &mut Vec<Cause>) {
    for keyword in UNSUPPORTED {
        if s.contains_key(*keyword) {
            causes.push(forbidden(path.field(keyword), &format!("{keyword} is not supported")));
        }
    }
    if flag(s, "uniqueItems") {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        causes.push(forbidden(path.field("uniqueItems"), why));
    }
    let additional = path.field("additionalProperties");
    if s.get("additionalProperties") == Some(&Value::Bool(false)) {
        causes.push(forbidden(additional, "additionalProperties cannot be set to false"));
    } else if s.contains_key("additionalProperties") && object(s, "properties").next().is_some() {
        causes.push(forbidden(additional, "additionalProperties and properties are mutual exclusive"));
    }
    if s.get("items").is_some_and(Value::is_array) {
        causes.push(forbidden(path.field("items"), "items must be a schema object and not an array"));
    }
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if s.get(preserve) == Some(&Value::Bool(false)) {
        causes.push(invalid(path.field(preserve), &Value::Bool(false), "must be true or undefined"));
    }
    let kinds = ["object", "array", "string", "integer", "number", "boolean"];
    if let Some(kind) = s.get("type")
        && !kinds.iter().any(|k| kind == k)
    {
        let supported = kinds.map(Value::from);
        causes.push(not_supported(path.field("type"), kind, &supported));
    }
}

fn check_shape(s: &Map<String, Value>, level: Level, path: Path, causes: &mut Vec<Cause>) {
    let kind = text(s, "type");
    let embedded = flag(s, "x-kubernetes-embedded-resource");
    let preserve = flag(s, "x-kubernetes-preserve-unknown-fields");
    let int_or_string = flag(s, "x-kubernetes-int-or-string");

    if kind == "array" && !s.contains_key("items") {
        causes.push(required(path.field("items"), "must be specified"));
    }
    if embedded && kind != "object" {
        causes.push(wrong_type(s, path, "must be object if x-kubernetes-embedded-resource is true"));
    } else if kind.is_empty() && !int_or_string && !preserve {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        causes.push(required(path.field("type"), why));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        causes.push(invalid(path.field("type"), &json!(kind), "must be object at the root"));
    }
    if s.contains_key("additionalProperties") {
        if level == Level::Root {
            causes.push(forbidden(path.field("additionalProperties"), "must not be used at the root"));
        }
        if embedded {
            let why = "must not be used if x-kubernetes-embedded-resource is set";
            causes.push(forbidden(path.field("additionalProperties"), why));
        }
    }
    if embedded && !preserve && object(s, "properties").next().is_none() {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        causes.push(required(path.field("properties"), why));
    }
    for (clash, set) in
        [("x-kubernetes-preserve-unknown-fields", preserve), ("x-kubernetes-embedded-resource", embedded)]
    {
        if int_or_string && set {
            let why = "must be false if x-kubernetes-int-or-string is true";
            causes.push(invalid(path.field(clash), &Value::Bool(true), why));
        }
    }
}

/// `kind`, `apiVersion` and `metadata` belong to the server; a schema may only narrow the name.
fn check_metadata(s: &Map<String, Value>, level: Level, path: Path, causes: &mut Vec<Cause>) {
    let properties = path.field("properties");
    let get = |name: &str| s.get("properties").and_then(|p| p.get(name)).and_then(Value::as_object);
    let a_resource = level == Level::Root || flag(s, "x-kubernetes-embedded-resource");
    for name in ["kind", "apiVersion"] {
        if let Some(property) = get(name)
            && a_resource
            && text(property, "type") != "string"
        {
            let at = properties.key(name);
            causes.push(invalid(at.field("type"), &json!(text(property, "type")), "must be string"));
        }
    }
    let Some(metadata) = get("metadata") else { return };
    let at = properties.key("metadata");
    if a_resource && text(metadata, "type") != "object" {
        causes.push(invalid(at.field("type"), &json!(text(metadata, "type")), "must be object"));
    }
    if level == Level::Root {
        let only_names =
            object(metadata, "properties").all(|(name, _)| name == "name" || name == "generateName");
        let only_properties =
            metadata.iter().all(|(k, v)| matches!(k.as_str(), "type" | "properties" | "default") || empty(v));
        if !only_names || !only_properties {
            let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            causes.push(forbidden(at, why));
        }
    }
}

fn check_list(s: &Map<String, Value>, path: Path, causes: &mut Vec<Cause>) {
    let (list_type, keys) = (s.get("x-kubernetes-list-type"), s.get("x-kubernetes-list-map-keys"));
    let at_type = path.field("x-kubernetes-list-type");
    let has_keys = keys.is_some_and(|k| !empty(k));
    match list_type.map(|t| t.as_str().unwrap_or_default()) {
        Some(_) if text(s, "type") != "array" => {
            causes.push(wrong_type(s, path, "must be array if x-kubernetes-list-type is specified"));
        }
        Some("map") => return check_list_map(s, path, causes),
        Some("set") => check_list_set(s, path, causes),
        Some("atomic") | None => {}
        Some(other) => {
            let supported = ["atomic", "set", "map"].map(Value::from);
            causes.push(not_supported(at_type, &json!(other), &supported));
        }
    }
    if has_keys {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        causes.push(match list_type {
            None => required(at_type, why),
            Some(other) => invalid(at_type, other, why),
        });
    }
}

fn check_list_map(s: &Map<String, Value>, path: Path, causes: &mut Vec<Cause>) {
    let at_keys = path.field("x-kubernetes-list-map-keys");
    let keys: Vec<&str> = strings(s, "x-kubernetes-list-map-keys").collect();
    if keys.is_empty() {
        causes.push(required(at_keys, "must not be empty if x-kubernetes-list-type is map"));
    }
    let at_items = path.field("items");
    let Some(items) = s.get("items").and_then(Value::as_object) else {
        causes.push(required(at_items, "must have a schema if x-kubernetes-list-type is map"));
        return;
    };
    if text(items, "type") != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        causes.push(invalid(at_items.field("type"), &json!(text(items, "type")), why));
        return;
    }
    if flag(items, "nullable") {
        causes.push(forbidden(
            at_items.field("nullable"),
            "cannot be nullable when x-kubernetes-list-type is map",
        ));
    }
    let at_properties = at_items.field("properties");
    for (i, key) in keys.iter().enumerate() {
        if keys.iter().take(i).any(|earlier| earlier == key) {
            causes.push(duplicate(at_keys.index(i), &json!(key)));
        }
        let Some(property) = items.get("properties").and_then(|p| p.get(key)).and_then(Value::as_object)
        else {
            causes.push(invalid(at_keys, &json!(keys), "entries must all be names of item properties"));
            continue;
        };
        let at = at_properties.key(key);
        if matches!(text(property, "type"), "array" | "object") {
            let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            causes.push(invalid(at.field("type"), &json!(text(property, "type")), why));
        }
        if !property.contains_key("default") && !strings(items, "required").any(|r| r == *key) {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            causes.push(required(at.field("default"), why));
        }
        if flag(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            causes.push(forbidden(at.field("nullable"), why));
        }
    }
}

fn check_list_set(s: &Map<String, Value>, path: Path, causes: &mut Vec<Cause>) {
    let Some(items) = s.get("items").and_then(Value::as_object) else { return };
    let at = path.field("items");
    if flag(items, "nullable") {
        causes.push(forbidden(at.field("nullable"), "cannot be nullable when x-kubernetes-list-type is set"));
    }
    let (keyword, why) = match text(items, "type") {
        "array" => {
            ("x-kubernetes-list-type", "must be atomic as item of a list with x-kubernetes-list-type=set")
        }
        "object" => {
            ("x-kubernetes-map-type", "must be atomic as item of a list with x-kubernetes-list-type=set")
        }
        _ => return,
    };
    match items.get(keyword) {
        Some(t) if t == "atomic" => {}
        Some(t) => causes.push(invalid(at.field(keyword), t, why)),
        // Lists are atomic when they say nothing; objects are not.
        None if keyword == "x-kubernetes-list-type" => {}
        None => causes.push(required(at.field(keyword), why)),
    }
}

fn check_map(s: &Map<String, Value>, path: Path, causes: &mut Vec<Cause>) {
    let Some(map_type) = s.get("x-kubernetes-map-type") else { return };
    if text(s, "type") != "object" {
        causes.push(wrong_type(s, path, "must be object if x-kubernetes-map-type is specified"));
    }
    if map_type != "atomic" && map_type != "granular" {
        let supported = ["atomic", "granular"].map(Value::from);
        causes.push(not_supported(path.field("x-kubernetes-map-type"), map_type, &supported));
    }
}

/// The keywords that check values, here and inside the logical junctors.
fn check_values(s: &Map<String, Value>, int_or_string: IntOrString, path: Path, causes: &mut Vec<Cause>) {
    if let Some(pattern) = s.get("pattern").and_then(Value::as_str)
        && let Err(error) = regex::Regex::new(pattern)
    {
        let why = format!("must be a valid regular expression, but isn't: {error}");
        causes.push(invalid(path.field("pattern"), &json!(pattern), why));
    }
    for junctor in ["anyOf", "allOf", "oneOf"] {
        let at = path.field(junctor);
        for (i, branch) in s.get(junctor).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let excused = match (junctor, int_or_string) {
                ("anyOf", IntOrString::AnyOf) => continue,
                ("allOf", IntOrString::FirstAllOf) if i == 0 => IntOrString::AnyOf,
                _ => IntOrString::No,
            };
            check_branch(branch, excused, at.index(i), causes);
        }
    }
    if let Some(not) = s.get("not") {
        check_branch(not, IntOrString::No, path.field("not"), causes);
    }
}

fn check_branch(branch: &Value, int_or_string: IntOrString, path: Path, causes: &mut Vec<Cause>) {
    let Some(branch) = branch.as_object() else { return };
    check_values(branch, int_or_string, path, causes);
    for (keyword, why) in FORBIDDEN_IN_JUNCTORS {
        if branch.get(*keyword).is_some_and(|v| !empty(v) || *keyword == "default") {
            causes.push(forbidden(path.field(keyword), why));
        }
    }
    if let Some(items) = branch.get("items") {
        check_branch(items, IntOrString::No, path.field("items"), causes);
    }
    let properties = path.field("properties");
    for (name, property) in object(branch, "properties") {
        if name == "metadata" {
            causes.push(forbidden(properties.key(name), "must not be specified in a nested context"));
        }
        check_branch(property, IntOrString::No, properties.key(name), causes);
    }
}

/// The one place where `type` may stand in a junctor: the two ways to write int-or-string.
#[derive(Clone, Copy, PartialEq)]
enum IntOrString {
    No,
    AnyOf,
    FirstAllOf,
}

fn is_int_or_string_pattern(s: &Map<String, Value>) -> IntOrString {
    let pattern = json!([{"type": "integer"}, {"type": "string"}]);
    if s.get("anyOf") == Some(&pattern) {
        IntOrString::AnyOf
    } else if s.get("allOf").and_then(|a| a.get(0)).and_then(|a| a.get("anyOf")) == Some(&pattern) {
        IntOrString::FirstAllOf
    } else {
        IntOrString::No
    }
}

/// Every field that a junctor speaks of is also specified outside of it.
fn check_complete(s: &Map<String, Value>, path: Path, causes: &mut Vec<Cause>) {
    for junctor in ["anyOf", "allOf", "oneOf"] {
        let at = path.field(junctor);
        for (i, branch) in s.get(junctor).and_then(Value::as_array).into_iter().flatten().enumerate() {
            check_covered(s, branch, path, at.index(i), causes);
        }
    }
    if let Some(not) = s.get("not") {
        check_covered(s, not, path, path.field("not"), causes);
    }
    if let Some(items) = s.get("items").and_then(Value::as_object) {
        check_complete(items, path.field("items"), causes);
    }
    if let Some(additional) = s.get("additionalProperties").and_then(Value::as_object) {
        check_complete(additional, path.field("additionalProperties"), causes);
    }
    let properties = path.field("properties");
    for (name, property) in object(s, "properties") {
        if let Some(property) = property.as_object() {
            check_complete(property, properties.key(name), causes);
        }
    }
}

fn check_covered(s: &Map<String, Value>, branch: &Value, path: Path, from: Path, causes: &mut Vec<Cause>) {
    let Some(branch) = branch.as_object() else { return };
    let (properties, from_properties) = (path.field("properties"), from.field("properties"));
    for (name, inner) in object(branch, "properties") {
        let (at, from) = (properties.key(name), from_properties.key(name));
        let outer = s.get("properties").and_then(|p| p.get(name));
        match outer.or_else(|| s.get("additionalProperties")).and_then(Value::as_object) {
            Some(outer) => check_covered(outer, inner, at, from, causes),
            None if flag(s, "x-kubernetes-preserve-unknown-fields") => {}
            None => causes.push(required(at, &format!("because it is defined in {from}"))),
        }
    }
    if let Some(inner) = branch.get("items") {
        let (at, from) = (path.field("items"), from.field("items"));
        match s.get("items").and_then(Value::as_object) {
            Some(outer) => check_covered(outer, inner, at, from, causes),
            None => causes.push(required(at, &format!("because it is defined in {from}"))),
        }
    }
    for junctor in ["anyOf", "allOf", "oneOf"] {
        let from = from.field(junctor);
        for (i, inner) in branch.get(junctor).and_then(Value::as_array).into_iter().flatten().enumerate() {
            check_covered(s, inner, path, from.index(i), causes);
        }
    }
    if let Some(inner) = branch.get("not") {
        check_covered(s, inner, path, from.field("not"), causes);
    }
}

fn wrong_type(s: &Map<String, Value>, path: Path, why: &str) -> Cause {
    match text(s, "type") {
        "" => required(path.field("type"), why),
        kind => invalid(path.field("type"), &json!(kind), why),
    }
}

fn flag(s: &Map<String, Value>, key: &str) -> bool {
    s.get(key) == Some(&Value::Bool(true))
}

fn text<'a>(s: &'a Map<String, Value>, key: &str) -> &'a str {
    s.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn object<'a>(
    s: &'a Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    s.get(key).and_then(Value::as_object).into_iter().flatten()
}

fn strings<'a>(s: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    s.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Go's zero values: as good as not written.
fn empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
        Value::Number(_) => false,
    }
}
