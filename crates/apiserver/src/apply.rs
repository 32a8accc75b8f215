//! Server-side apply, and who owns what after every other write (KEP-555, structured-merge-diff v6).
//!
//! ```text
//! apply:  live + intent ──merge──▶ both ──prune──▶ less what is given up ──compare──▶ conflicts, owners
//! track:  old, new ──compare──▶ the writer owns what it changed; removed fields have no owner
//! ```
//!
//! Invariants: applying the same intent again changes nothing, not even times; nobody loses a field that kept its value.

mod compare;
mod conflicts;
mod fieldset;
mod managers;
mod merge;
mod owned;
mod path;
#[cfg(test)]
mod tests;
mod typed;
mod validate;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::schema::{Schema, Type as Kind};
use compare::Change;
use fieldset::FieldSet;
use managers::{Entry, Id, Managers, Operation, managed_fields};
use owned::{fields_of, with_declared};
use path::same;
use typed::Type;

pub(crate) use conflicts::ApplyError;

/// Who writes, and through what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manager<'a> {
    /// `fieldManager`, or the user agent up to its first `/`.
    pub(crate) name: &'a str,
    /// `status`, `scale`, or empty for the object itself.
    pub(crate) subresource: &'a str,
    pub(crate) api_version: &'a str,
    pub(crate) time: Timestamp,
    /// What this way of writing never stores, and so never owns: `status` for the object itself where status is a
    /// subresource, `spec` for `/status`. Dotted paths.
    pub(crate) reset: &'a [&'a str],
}

/// Fields that nobody owns. Source: apimachinery's stripMeta.
const OWNERLESS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "metadata.name",
    "metadata.namespace",
    "metadata.creationTimestamp",
    "metadata.selfLink",
    "metadata.uid",
    "metadata.clusterName",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.resourceVersion",
];

/// Fields that are structs and no pointers, or lists without `omitempty`, in the Go types of built-in kinds.
const HELD: &[&str] = &[
    "metadata",
    "spec",
    "status",
    "template",
    "jobTemplate",
    "strategy",
    "updateStrategy",
    "containers",
    "names",
];

/// Who owns what an object held before its managedFields were kept.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Server-side apply of `intent` onto `live`: the merged object with its new managedFields. If nothing changes, `live` as it
/// was. Defaults come after, from the schema, and belong to nobody.
pub(crate) fn apply(
    live: Option<&Value>,
    intent: &Value,
    manager: &Manager<'_>,
    force: bool,
    schema: &Schema,
) -> Result<Value, ApplyError> {
    let ty = Type::of(schema);
    check(live, intent, manager)?;
    check_type(ty, intent)?;
    let old = without_managers(live.unwrap_or(&json!({})));
    let mut managers = Managers::decode(live.unwrap_or(&Value::Null))
        .map_err(|why| ApplyError::Unreadable(format!("failed to decode managed fields: {why}")))?;
    let before = managers.clone();
    if managers.0.is_empty() && live.is_some() {
        let legacy = Manager { name: BEFORE_FIRST_APPLY, ..*manager };
        record_update(&mut managers, &Change::between(ty, &blank(schema), &old), &legacy);
    }
    managers.follow_schema(ty);

    let me = Id::new(manager.name, Operation::Apply, manager.api_version, manager.subresource);
    let last = managers.0.remove(&me);
    let applied = Entry {
        api_version: manager.api_version.to_owned(),
        time: last.as_ref().and_then(|last| last.time),
        fields: fields_of(ty, intent).without(&FieldSet::of_fields(manager.reset)),
    };
    managers.0.insert(me.clone(), applied);

    let merged = merge::merge(ty, &old, intent);
    let new = match last {
        Some(last) => prune(ty, merged, &managers, &last.fields),
        None => merged,
    };

    let change = Change::between(ty, &old, &new).without(&FieldSet::of_fields(manager.reset));
    let conflicts = managers.conflicts(&change, &me);
    if !force && !conflicts.is_empty() {
        return Err(ApplyError::Conflicts(conflicts));
    }
    managers.take(&change, Some(&me));
    let changed = !same(&old, &new);
    if let Some(mine) = managers.0.get_mut(&me) {
        mine.fields = mine.fields.difference(&FieldSet::of_fields(OWNERLESS));
        if changed {
            mine.time = Some(manager.time);
        }
    }
    managers.0.retain(|_, entry| !entry.fields.is_empty());

    if let (Some(live), false) = (live, changed || managers != before) {
        return Ok(live.clone());
    }
    let mut result = if changed { new } else { old };
    managers.encode(&mut result);
    Ok(result)
}

/// Keeps managedFields for create, update and every patch but apply: the writer gets what it changed, others lose it. `old` is
/// `None` on create.
pub(crate) fn track(old: Option<&Value>, new: &mut Value, manager: &Manager<'_>, schema: &Schema) {
    let ty = Type::of(schema);
    let exists = old.is_some();
    let mut managers = known_managers(old, new, manager);
    let old = old.map_or_else(|| blank(schema), without_managers);
    *new = without_managers(new);
    // An object whose managers were reset, or never kept, is left alone until somebody applies to it.
    if exists && managers.0.is_empty() {
        return;
    }
    managers.follow_schema(ty);
    record_update(&mut managers, &Change::between(ty, &old, new), manager);
    managers.fold_old_updates();
    managers.encode(new);
}

/// What Go's type of a built-in kind holds before anything is set. Creating an object does not add these, which decides
/// where FieldsV1 has its dots. Empty for custom kinds.
fn blank(schema: &Schema) -> Value {
    if schema.native.is_none() {
        return json!({});
    }
    let held = HELD.iter().filter_map(|name| {
        let field = schema.properties.get(*name)?;
        let value = if field.kind == Some(Kind::Array) { Value::Null } else { blank(field) };
        Some(((*name).to_owned(), value))
    });
    Value::Object(held.collect())
}

fn check(live: Option<&Value>, intent: &Value, manager: &Manager<'_>) -> Result<(), ApplyError> {
    if manager.name.is_empty() {
        return Err(ApplyError::NoManager);
    }
    let kind_differs = live.is_some_and(|live| live.get("kind") != intent.get("kind"));
    if kind_differs || intent.get("apiVersion").and_then(Value::as_str) != Some(manager.api_version) {
        return Err(ApplyError::BadRequest(format!("invalid object type: {}", type_of(intent))));
    }
    if managed_fields(intent).is_some_and(|managers| !managers.is_null()) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".into()));
    }
    Ok(())
}

fn check_type(ty: Type<'_>, intent: &Value) -> Result<(), ApplyError> {
    let faults = match validate::faults(ty, intent).as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        many => format!("errors:\n  {}", many.join("\n  ")),
    };
    let text = |path: &str| intent.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let object = format!("{namespace}/{name}; {}", type_of(intent));
    Err(ApplyError::Unreadable(format!("failed to create typed patch object ({object}): {faults}")))
}

/// `apps/v1, Kind=Deployment`, or `/v1, Kind=Pod` for the core group.
fn type_of(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let version = text("apiVersion");
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{slash}{version}, Kind={}", text("kind"))
}

/// The updates of `change` by `manager`, in the entries.
fn record_update(managers: &mut Managers, change: &Change, manager: &Manager<'_>) {
    let change = change.without(&FieldSet::of_fields(manager.reset));
    managers.take(&change, None);
    let written = change.written().difference(&FieldSet::of_fields(OWNERLESS));
    if written.is_empty() {
        return;
    }
    let me = Id::new(manager.name, Operation::Update, manager.api_version, manager.subresource);
    let before = managers.0.remove(&me).map(|entry| entry.fields).unwrap_or_default();
    let entry = Entry {
        api_version: manager.api_version.to_owned(),
        time: Some(manager.time),
        fields: before.union(&written),
    };
    managers.0.insert(me, entry);
}

/// Takes out what the applier owned before and does not name any more, unless somebody else owns it.
///
/// A declared field on the way (`.spec`) goes with the last field that somebody owns below it, and then takes what nobody
/// owns, such as defaults, along.
fn prune(ty: Type<'_>, merged: Value, managers: &Managers, last: &FieldSet) -> Value {
    if last.is_empty() {
        return merged;
    }
    let without = |gone: &FieldSet| merge::remove(ty, &merged, gone);
    let all = |value: &Value| with_declared(ty, &fields_of(ty, value));
    let owned = managers.0.values().fold(FieldSet::default(), |owned, entry| owned.union(&entry.fields));

    let last = with_declared(ty, last);
    let everything = all(&merged);
    let bare = all(&without(&last));
    let kept = without(&everything.difference(&bare.union(&with_declared(ty, &owned))));
    without(&everything.difference(&all(&kept)).intersection(&last))
}

/// The entries to start from. Clients that know nothing of managedFields send none and lose none; those that send an empty
/// list, or one empty entry, reset them. Subresources cannot write them.
fn known_managers(old: Option<&Value>, new: &Value, manager: &Manager<'_>) -> Managers {
    let sent = managed_fields(new).filter(|_| manager.subresource.is_empty());
    if let Some(Value::Array(entries)) = sent
        && matches!(entries.as_slice(), [] | [Value::Object(_)])
        && entries.iter().all(|entry| *entry == json!({}))
    {
        return Managers::default();
    }
    let sent = sent.and_then(|_| Managers::decode(new).ok()).filter(|managers| !managers.0.is_empty());
    sent.or_else(|| Managers::decode(old?).ok()).unwrap_or_default()
}

fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}
