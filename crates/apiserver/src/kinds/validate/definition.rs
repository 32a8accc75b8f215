//! CustomResourceDefinitions: names that fit together, one stored version, schemas that are structural.

use serde_json::{Value, json};

use super::names::dns_label;
use super::{list, text};
use crate::Cause;
use crate::schema::{Path, Schema, duplicate, invalid, not_supported, required};

pub(super) fn definition(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let root = Path::Root;
    let at = root.field("spec");
    let spec = new.get("spec").unwrap_or(&Value::Null);
    names(new, spec, at, causes);
    let scopes = ["Cluster", "Namespaced"];
    if let Some(scope) = spec.get("scope").filter(|scope| !scopes.iter().any(|s| scope == s)) {
        causes.push(not_supported(at.field("scope"), scope, &scopes.map(Value::from)));
    }
    versions(spec, old.and_then(|old| old.get("spec")), at, causes);
    stored_versions(new, causes);
}

fn names(new: &Value, spec: &Value, at: Path, causes: &mut Vec<Cause>) {
    let (group, plural) = (text(spec, "/group"), text(spec, "/names/plural"));
    let wanted = format!("{plural}.{group}");
    if !plural.is_empty() && !group.is_empty() && text(new, "/metadata/name") != wanted {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(invalid("metadata.name", &json!(text(new, "/metadata/name")), why));
    }
    if !group.is_empty() && !group.contains('.') {
        causes.push(invalid(at.field("group"), &json!(group), "should be a domain with at least one dot"));
    }
    let at_names = at.field("names");
    let mut label = |field: &str, name: &str| {
        causes.extend(dns_label(name).map(|why| invalid(at_names.field(field), &json!(name), why)));
    };
    for field in ["plural", "singular"] {
        let name = spec.pointer("/names").and_then(|n| n.get(field)).and_then(Value::as_str);
        name.into_iter().for_each(|name| label(field, name));
    }
    for field in ["kind", "listKind"] {
        let name = spec.pointer("/names").and_then(|n| n.get(field)).and_then(Value::as_str);
        name.into_iter().for_each(|name| label(field, &name.to_lowercase()));
    }
    if !text(spec, "/names/kind").is_empty() && text(spec, "/names/kind") == text(spec, "/names/listKind") {
        let why = "kind and listKind may not be the same";
        causes.push(invalid(at_names.field("listKind"), &json!(text(spec, "/names/listKind")), why));
    }
}

fn versions(spec: &Value, old: Option<&Value>, at: Path, causes: &mut Vec<Cause>) {
    let versions = list(spec, "/versions");
    let at_versions = at.field("versions");
    let stored = versions.iter().filter(|version| version.get("storage") == Some(&Value::Bool(true))).count();
    if stored != 1 {
        causes.push(invalid(
            at_versions,
            &json!(versions),
            "must have exactly one version marked as storage version",
        ));
    }
    let schema_of = |version: &Value| version.pointer("/schema/openAPIV3Schema").cloned();
    // One schema for all versions is reported where it used to stand, before versions had their own.
    let shared = versions.windows(2).all(|pair| match pair {
        [a, b] => schema_of(a) == schema_of(b),
        _ => true,
    });
    for (i, version) in versions.iter().enumerate() {
        let at = at_versions.index(i);
        let name = text(version, "/name");
        causes.extend(dns_label(name).map(|why| invalid(at.field("name"), &json!(name), why)));
        if versions.iter().take(i).any(|earlier| text(earlier, "/name") == name) {
            causes.push(duplicate(at.field("name"), &json!(name)));
        }
        let at_schema = at.field("schema");
        let Some(schema) = schema_of(version) else {
            causes.push(required(at_schema.field("openAPIV3Schema"), "schemas are required"));
            continue;
        };
        // What was accepted once stays accepted, or an old definition could never be changed again.
        let before = old.map(|old| list(old, "/versions")).unwrap_or_default();
        if before
            .iter()
            .any(|earlier| text(earlier, "/name") == name && schema_of(earlier).as_ref() == Some(&schema))
        {
            continue;
        }
        if shared && i > 0 {
            continue;
        }
        let place = if shared {
            "spec.validation.openAPIV3Schema".into()
        } else {
            at_schema.field("openAPIV3Schema").to_string()
        };
        match Schema::parse(&schema) {
            Ok(parsed) => selectable(version, &parsed, at, causes),
            Err(faults) => causes.extend(faults.into_iter().map(|fault| below(&place, fault))),
        }
    }
}

fn below(place: &str, mut cause: Cause) -> Cause {
    let joint = if cause.field.is_empty() || cause.field.starts_with('[') { "" } else { "." };
    cause.field = format!("{place}{joint}{}", cause.field);
    cause
}

/// A selectable field exists, and is text, a number or a boolean.
fn selectable(version: &Value, schema: &Schema, at: Path, causes: &mut Vec<Cause>) {
    let at = at.field("selectableFields");
    for (i, field) in list(version, "/selectableFields").iter().enumerate() {
        let path = text(field, "/jsonPath");
        let at = at.index(i);
        let at = at.field("jsonPath");
        let mut keys = path.split('.').filter(|key| !key.is_empty());
        let found = keys.try_fold(schema, |schema, key| schema.properties.get(key).map(AsRef::as_ref));
        match found.and_then(|found| found.kind).map(crate::schema::Type::name) {
            Some("string" | "integer" | "boolean") if !path.starts_with(".metadata") => {}
            Some(_) => causes.push(invalid(
                at,
                &json!(path),
                "must point to a field of type string, boolean or integer",
            )),
            None => {
                causes.push(invalid(at, &json!(path), "is an invalid path: does not refer to a valid field"));
            }
        }
    }
}

/// A version that objects are stored in stays defined.
fn stored_versions(new: &Value, causes: &mut Vec<Cause>) {
    let defined: Vec<&str> = list(new, "/spec/versions").iter().map(|v| text(v, "/name")).collect();
    for (i, stored) in list(new, "/status/storedVersions").iter().enumerate() {
        if !stored.as_str().is_some_and(|stored| defined.contains(&stored)) {
            let why = "missing from spec.versions; must be present if still in status.storedVersions";
            causes.push(invalid(format_args!("status.storedVersions[{i}]"), stored, why));
        }
    }
}
