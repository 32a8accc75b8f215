//! What every write goes through between its body and the store: pruning, defaults, metadata, generation, validation, field ownership.

use serde_json::{Value, json};

use super::Call;
use crate::{
    ApiError, Cause, Generation, Kind,
    access::grants,
    apply::{self, Manager},
    clock, meta,
    request::FieldValidation,
    rules,
};

/// Which part of an object a request may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Main,
    Status,
    Scale,
    /// `spec.finalizers` of a namespace.
    Finalize,
}

impl Part {
    fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Finalize => "finalize",
        }
    }
}

impl Part {
    /// What this way of writing never changes, and so never owns.
    fn reset(self, kind: &Kind) -> &'static [&'static str] {
        match self {
            Self::Main | Self::Scale | Self::Finalize if kind.status => &["status"],
            Self::Main | Self::Scale | Self::Finalize => &[],
            Self::Status if kind.custom => &["spec", "metadata"],
            Self::Status => &["spec", "metadata.labels", "metadata.ownerReferences"],
        }
    }
}

/// Who keeps `managedFields`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ownership {
    /// Create, update and patch: what changed is the manager's.
    Track,
    /// Server-side apply has settled it.
    Settled,
}

/// Runs `act` with the manager of this call.
pub(super) fn with_manager<R>(call: &Call<'_>, part: Part, act: impl FnOnce(&Manager<'_>) -> R) -> R {
    let api_version = call.kind.api_version();
    act(&Manager {
        name: call.manager_name(),
        subresource: part.subresource(),
        api_version: &api_version,
        time: call.cluster.clock.now(),
        reset: part.reset(&call.kind),
    })
}

/// Drops unknown fields; warns of them, or refuses them, as `fieldValidation` asks.
pub(super) fn unknown_fields(call: &Call<'_>, object: &mut Value) -> Result<Vec<String>, ApiError> {
    let told: Vec<String> =
        call.kind.schema.prune(object).iter().map(|path| format!("unknown field \"{path}\"")).collect();
    match call.params.field_validation {
        FieldValidation::Strict if !told.is_empty() => Err(ApiError::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}",
            call.kind.kind,
            call.kind.version,
            call.kind.kind,
            told.join(", ")
        ))),
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn | FieldValidation::Strict => Ok(told),
    }
}

/// A new object, complete: as it will be stored, but for its revision.
pub(super) fn on_create(call: &Call<'_>, mut object: Value, ownership: Ownership) -> Result<Value, ApiError> {
    let kind = &call.kind;
    meta::settle_namespace(&mut object, call.namespace())?;
    meta::wipe_system_fields(&mut object);
    if meta::name(&object).is_empty() && !meta::text(&object, "generateName").is_empty() {
        let name = call.cluster.generate_name(meta::text(&object, "generateName"));
        meta::set(&mut object, "name", json!(name));
    }
    rules::decode(kind, &mut object);
    rules::reset_status(kind, &mut object);
    kind.schema.default(&mut object);
    if kind.generation == Generation::None {
        meta::remove(&mut object, "generation");
    } else {
        meta::set(&mut object, "generation", json!(1));
    }
    let uid = call.cluster.new_uid(&call.id(meta::name(&object)));
    meta::set(&mut object, "uid", json!(uid));
    meta::set(&mut object, "creationTimestamp", json!(clock::rfc3339(call.cluster.clock.now())));
    meta::remove(&mut object, "resourceVersion");
    if ownership == Ownership::Track {
        with_manager(call, Part::Main, |manager| apply::track(None, &mut object, manager, &kind.schema));
    }
    rules::prepare_create(call.cluster, kind, &mut object)?;

    let mut causes = meta::validate(&object, kind);
    causes.extend(shape(call, &object, None)?);
    causes.extend(rules::validate_create(kind, &object));
    grants::check(&call.cluster.store, call.user, kind, None, &object)?;
    if causes.is_empty() { Ok(object) } else { Err(call.invalid(meta::name(&object), causes)) }
}

/// The object after an update, complete.
pub(super) fn on_update(
    call: &Call<'_>,
    mut new: Value,
    old: &Value,
    part: Part,
    ownership: Ownership,
) -> Result<Value, ApiError> {
    let kind = &call.kind;
    rules::decode(kind, &mut new);
    meta::carry_over(&mut new, old);
    match part {
        Part::Main if kind.status => copy_field(&mut new, old, "status"),
        Part::Main => {}
        Part::Status => new = only_status(&new, old, kind.custom),
        Part::Scale => {}
        Part::Finalize => {
            let finalizers = new.get("spec").cloned();
            new = old.clone();
            if let (Some(object), Some(finalizers)) = (new.as_object_mut(), finalizers) {
                object.insert("spec".into(), finalizers);
            }
        }
    }
    // An empty list means "forget the owners", which defaulting would take for nothing said.
    let managers = meta::of(&new).get("managedFields").cloned();
    kind.schema.default(&mut new);
    put(&mut new, "managedFields", managers);
    if part != Part::Finalize {
        rules::prepare_update(kind, &mut new, old);
    }
    if ownership == Ownership::Track {
        with_manager(call, part, |manager| apply::track(Some(old), &mut new, manager, &kind.schema));
    }
    if part != Part::Status && counts(call, &new, old) {
        meta::set(&mut new, "generation", json!(meta::generation(old) + 1));
    }
    ignore_times_of_managed_fields(&mut new, old);

    let mut causes = meta::validate_update(&new, old);
    causes.extend(shape(call, &new, Some(old))?);
    if part != Part::Status {
        grants::check(&call.cluster.store, call.user, kind, Some(old), &new)?;
        causes.extend(rules::validate_update(kind, &new, old));
    }
    if causes.is_empty() { Ok(new) } else { Err(call.invalid(meta::name(old), causes)) }
}

/// What the schema says. A value of the wrong type cannot even be decoded as a built-in kind.
fn shape(call: &Call<'_>, object: &Value, old: Option<&Value>) -> Result<Vec<Cause>, ApiError> {
    let kind = &call.kind;
    let causes = kind.schema.validate(object, old);
    match causes.iter().find(|cause| !kind.custom && cause.reason == "FieldValueTypeInvalid") {
        Some(cause) => Err(ApiError::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: {}: {}",
            kind.kind, kind.version, kind.kind, cause.field, cause.message
        ))),
        None => Ok(causes),
    }
}

/// Does the difference make a new generation?
fn counts(call: &Call<'_>, new: &Value, old: &Value) -> bool {
    match call.kind.generation {
        Generation::None => false,
        Generation::OnSpecChange => {
            new.get("spec") != old.get("spec") || rules::also_counts(&call.kind, new, old)
        }
        Generation::OnAnyChangeButMetaAndStatus => {
            let content = |object: &Value| -> Option<serde_json::Map<String, Value>> {
                let mut content = object.as_object()?.clone();
                for field in ["apiVersion", "kind", "metadata"] {
                    content.remove(field);
                }
                if call.kind.status {
                    content.remove("status");
                }
                Some(content)
            };
            content(new) != content(old)
        }
    }
}

/// A write to `/status` changes the status; of the metadata, custom kinds let nothing through but the field managers, built-in ones
/// refuse labels and owners.
fn only_status(new: &Value, old: &Value, custom: bool) -> Value {
    let mut result = old.clone();
    copy_field(&mut result, new, "status");
    if custom {
        let managed = meta::of(new).get("managedFields").cloned();
        put(&mut result, "managedFields", managed);
    } else {
        let mut metadata = meta::of(new).clone();
        for field in ["labels", "ownerReferences"] {
            match meta::of(old).get(field) {
                Some(value) => metadata.insert(field.into(), value.clone()),
                None => metadata.remove(field),
            };
        }
        if let Some(object) = result.as_object_mut() {
            object.insert("metadata".into(), Value::Object(metadata));
        }
    }
    result
}

fn put(object: &mut Value, field: &str, value: Option<Value>) {
    match value {
        Some(value) => meta::set(object, field, value),
        None => meta::remove(object, field),
    }
}

/// `to[field] = from[field]`, absence included.
pub(super) fn copy_field(to: &mut Value, from: &Value, field: &str) {
    let Some(to) = to.as_object_mut() else { return };
    match from.get(field) {
        Some(value) => to.insert(field.into(), value.clone()),
        None => to.remove(field),
    };
}

/// A write that would change nothing but the times in `managedFields` changes nothing.
fn ignore_times_of_managed_fields(new: &mut Value, old: &Value) {
    let timeless = |object: &Value| -> Value {
        let mut managed = meta::of(object).get("managedFields").cloned().unwrap_or_default();
        for entry in managed.as_array_mut().into_iter().flatten() {
            if let Some(entry) = entry.as_object_mut() {
                entry.remove("time");
            }
        }
        managed
    };
    let same_content = || {
        let (Some(a), Some(b)) = (new.as_object(), old.as_object()) else { return false };
        let rest = |object: &Value| {
            let mut metadata = meta::of(object).clone();
            metadata.remove("managedFields");
            metadata.remove("resourceVersion");
            metadata
        };
        a.len() == b.len()
            && a.iter().all(|(key, value)| key == "metadata" || b.get(key) == Some(value))
            && rest(new) == rest(old)
    };
    if timeless(new) == timeless(old) && same_content() {
        let managed = meta::of(old).get("managedFields").cloned();
        put(new, "managedFields", managed);
    }
}
