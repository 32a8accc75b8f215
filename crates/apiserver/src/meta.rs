//! The rules of object metadata that hold for every kind.
//!
//! Sources: apimachinery `api/validation/objectmeta.go`, apiserver `registry/rest/{create,update}.go`.

mod names;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::{ApiError, Cause, Kind};

pub(crate) use names::{generated, qualified_name, validate_name};

/// Finalizers that the garbage collector serves.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";

/// The server's own metadata fields: what a client sends here on create does not count.
const SYSTEM_FIELDS: &[&str] =
    &["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

/// `metadata` of an object, or an empty map.
pub(crate) fn of(object: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    object.get("metadata").and_then(Value::as_object).unwrap_or(&EMPTY)
}

/// `metadata` for writing; made when it is missing.
pub(crate) fn of_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let object = object.as_object_mut()?;
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    metadata.as_object_mut()
}

/// A string field of `metadata`; empty when it is not set.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    of(object).get(field).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "name")
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    let list = of(object).get("finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

pub(crate) fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    let Some(metadata) = of_mut(object) else { return };
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), json!(finalizers));
    }
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    of(object).get("deletionTimestamp").is_some_and(|time| !time.is_null())
}

pub(crate) fn generation(object: &Value) -> i64 {
    of(object).get("generation").and_then(Value::as_i64).unwrap_or_default()
}

pub(crate) fn set(object: &mut Value, field: &str, value: Value) {
    if let Some(metadata) = of_mut(object) {
        metadata.insert(field.to_owned(), value);
    }
}

pub(crate) fn remove(object: &mut Value, field: &str) {
    if let Some(metadata) = of_mut(object) {
        metadata.remove(field);
    }
}

/// The namespace of the object is the request's, or the request is wrong.
pub(crate) fn settle_namespace(object: &mut Value, namespace: &str) -> Result<(), ApiError> {
    let given = text(object, "namespace").to_owned();
    if namespace.is_empty() {
        remove(object, "namespace");
    } else if given.is_empty() {
        set(object, "namespace", json!(namespace));
    } else if given != namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Takes away what only the server may set.
pub(crate) fn wipe_system_fields(object: &mut Value) {
    if let Some(metadata) = of_mut(object) {
        for field in SYSTEM_FIELDS {
            metadata.remove(*field);
        }
        drop_empty(metadata);
    }
}

/// Go's `omitempty`: empty and null fields of metadata do not exist. An empty `managedFields` means something and stays.
pub(crate) fn drop_empty(metadata: &mut Map<String, Value>) {
    metadata.retain(|field, value| match value {
        Value::Array(_) if field == "managedFields" => true,
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    });
}

/// What an update keeps of the stored metadata, whatever the client sent.
pub(crate) fn carry_over(new: &mut Value, old: &Value) {
    let old = of(old);
    let Some(new) = of_mut(new) else { return };
    drop_empty(new);
    new.remove("selfLink");
    for field in ["creationTimestamp", "generation"] {
        match old.get(field) {
            Some(value) => new.insert(field.into(), value.clone()),
            None => new.remove(field),
        };
    }
    for field in
        ["uid", "deletionTimestamp", "deletionGracePeriodSeconds", "namespace", "name", "generateName"]
    {
        // An update can never remove them; changing them is for validation to refuse, but a deletion's time only moves by DELETE.
        if let Some(value) = old.get(field)
            && (!new.contains_key(field) || field == "deletionTimestamp")
        {
            new.insert(field.into(), value.clone());
        }
    }
}

/// What is wrong with the metadata of a new object.
pub(crate) fn validate(object: &Value, kind: &Kind) -> Vec<Cause> {
    let mut causes = Vec::new();
    let generate = text(object, "generateName");
    if !generate.is_empty() {
        causes.extend(validate_name(kind, generate, "metadata.generateName"));
    }
    match name(object) {
        "" => causes.push(Cause::new(
            "FieldValueRequired",
            "metadata.name",
            "Required value: name or generateName is required",
        )),
        name => causes.extend(validate_name(kind, name, "metadata.name")),
    }
    causes.extend(validate_common(object));
    causes
}

/// What is wrong with the metadata of an update.
pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = validate_common(new);
    if is_deleting(old) {
        let before = finalizers(old);
        let mut extra: Vec<&str> = finalizers(new).into_iter().filter(|f| !before.contains(f)).collect();
        extra.sort_unstable();
        if !extra.is_empty() {
            causes.push(Cause::new(
                "FieldValueForbidden",
                "metadata.finalizers",
                format!(
                    "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers {}",
                    go_strings(&extra)
                ),
            ));
        }
    }
    for field in ["name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (new, old) = (of(new).get(field), of(old).get(field));
        if new != old {
            let shown = new.map_or_else(|| "null".to_owned(), Value::to_string);
            causes.push(Cause::new(
                "FieldValueInvalid",
                format!("metadata.{field}"),
                format!("Invalid value: {shown}: field is immutable"),
            ));
        }
    }
    causes
}

fn validate_common(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let metadata = of(object);
    for (key, value) in entries(metadata, "labels") {
        causes.extend(names::validate_label(key, value));
    }
    let mut size = 0;
    for (key, value) in entries(metadata, "annotations") {
        size += key.len() + value.len();
        causes.extend(names::validate_annotation(key));
    }
    if size > 256 * 1024 {
        causes.push(Cause::new(
            "FieldValueTooLong",
            "metadata.annotations",
            format!("Too long: may not be more than {} bytes", 256 * 1024),
        ));
    }
    let finalizers = finalizers(object);
    for finalizer in &finalizers {
        causes.extend(names::validate_finalizer(finalizer));
    }
    if finalizers.contains(&FOREGROUND) && finalizers.contains(&ORPHAN) {
        causes.push(Cause::new(
            "FieldValueInvalid",
            "metadata.finalizers",
            format!(
                "Invalid value: {}: finalizer {ORPHAN} and {FOREGROUND} cannot be both set",
                json!(finalizers)
            ),
        ));
    }
    causes.extend(validate_owners(metadata));
    causes
}

fn entries<'a>(metadata: &'a Map<String, Value>, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let map = metadata.get(field).and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

fn validate_owners(metadata: &Map<String, Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut controller: Option<String> = None;
    let owners = metadata.get("ownerReferences").and_then(Value::as_array);
    for (index, owner) in owners.into_iter().flatten().enumerate() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner.get(field).and_then(Value::as_str).unwrap_or_default().is_empty() {
                causes.push(Cause::new(
                    "FieldValueRequired",
                    format!("metadata.ownerReferences[{index}].{field}"),
                    "Required value: must not be empty",
                ));
            }
        }
        if owner.get("controller").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        let part = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let this = format!("{}/{}", part("kind"), part("name"));
        match &controller {
            None => controller = Some(this),
            Some(first) => causes.push(Cause::new(
                "FieldValueInvalid",
                "metadata.ownerReferences",
                format!(
                    "Invalid value: {}: Only one reference can have Controller set to true. \
                     Found \"true\" in references for {first} and {this}",
                    json!(owners)
                ),
            )),
        }
    }
    causes
}

/// A list as Go's `%#v` prints it.
fn go_strings(list: &[&str]) -> String {
    let quoted: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[]string{{{}}}", quoted.join(", "))
}
