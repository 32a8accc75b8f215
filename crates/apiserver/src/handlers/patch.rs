//! PATCH: JSON, merge, strategic merge, and server-side apply.

use serde_json::Value;

use super::{
    Answer, Call,
    admit::{self, Ownership, Part},
    decode, update,
};
use crate::{
    ApiError, Cause, apply, meta,
    negotiate::ContentType,
    patch::{self, PatchKind},
    request::FieldValidation,
};

pub(super) fn answer(call: &Call<'_>) -> Result<Answer, ApiError> {
    patch_part(call, Part::Main)
}

/// PATCH of the object or of its status.
pub(super) fn patch_part(call: &Call<'_>, part: Part) -> Result<Answer, ApiError> {
    let kind = match call.content {
        ContentType::ApplyPatch => return apply_part(call, part),
        ContentType::JsonPatch => PatchKind::Json,
        ContentType::MergePatch => PatchKind::Merge,
        ContentType::StrategicPatch if !call.kind.custom => PatchKind::Strategic,
        ContentType::StrategicPatch => return Err(unsupported("application/apply-patch+yaml")),
        ContentType::Json | ContentType::Yaml => {
            return Err(unsupported("application/strategic-merge-patch+json, application/apply-patch+yaml"));
        }
    };
    if call.params.force.is_some() {
        let why = "Forbidden: may not be specified for non-apply patch";
        let cause = Cause::new("FieldValueForbidden", "force", why);
        return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", vec![cause]));
    }
    let body = decode::json(call.body)?;
    let mut warnings = std::cell::RefCell::new(Vec::new());
    let answer = update::write(call, part, Ownership::Track, |live| {
        let live = live.ok_or_else(|| call.not_found(call.name()))?;
        let mut new = patch::patch(kind, live, &body, &call.kind.schema)?;
        decode::check_type(call, &mut new)?;
        decode::check_place(call, &mut new)?;
        *warnings.borrow_mut() = unknown(call, &mut new)?;
        Ok(new)
    })?;
    Ok(Answer { warnings: std::mem::take(warnings.get_mut()), ..answer })
}

/// As for other writes, but a strict refusal is of the patch: 422.
fn unknown(call: &Call<'_>, new: &mut Value) -> Result<Vec<String>, ApiError> {
    if call.params.field_validation != FieldValidation::Strict {
        return admit::unknown_fields(call, new);
    }
    let shown = new.to_string();
    let told: Vec<String> =
        call.kind.schema.prune(new).iter().map(|path| format!("unknown field \"{path}\"")).collect();
    if told.is_empty() {
        return Ok(told);
    }
    let message = format!("Invalid value: {shown:?}: strict decoding error: {}", told.join(", "));
    Err(ApiError::invalid("", "", "", vec![Cause::new("FieldValueInvalid", "patch", message)]))
}

fn unsupported(also: &str) -> ApiError {
    ApiError::unsupported_media_type(format!(
        "the body of the request was in an unknown format - accepted media types include: \
         application/json-patch+json, application/merge-patch+json, {also}"
    ))
}

/// Server-side apply; what does not exist is created.
pub(super) fn apply_part(call: &Call<'_>, part: Part) -> Result<Answer, ApiError> {
    let mut intent = decode::yaml(call.body)?;
    if call.params.field_manager.is_none() {
        let why = "Required value: is required for apply patch";
        let cause = Cause::new("FieldValueRequired", "fieldManager", why);
        return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", vec![cause]));
    }
    check_intent(call, &mut intent)?;
    let warnings = admit::unknown_fields(call, &mut intent)?;
    leave_only(call, &mut intent, part);
    let answer = apply_intent(call, part, &intent)?;
    Ok(Answer { warnings, ..answer })
}

/// The apply itself, once it is clear what is applied.
pub(super) fn apply_intent(call: &Call<'_>, part: Part, intent: &Value) -> Result<Answer, ApiError> {
    let force = call.params.force == Some(true);
    update::write(call, part, Ownership::Settled, |live| {
        match live {
            None if part != Part::Main => return Err(call.not_found(call.name())),
            None if !meta::text(intent, "uid").is_empty() => {
                let why = format!(
                    "uid mismatch: the provided object specified uid {}, and no existing object was found",
                    meta::text(intent, "uid")
                );
                return Err(ApiError::conflict(&call.kind.group, &call.kind.plural, call.name(), &why));
            }
            _ => {}
        }
        let merged = admit::with_manager(call, part, |manager| {
            apply::apply(live, intent, manager, force, &call.kind.schema)
        });
        merged.map_err(Into::into)
    })
}

/// An apply must say what it is about: in the right version, under the right name, with nobody's field ownership.
fn check_intent(call: &Call<'_>, intent: &mut Value) -> Result<(), ApiError> {
    for field in ["apiVersion", "kind"] {
        if intent.get(field).and_then(Value::as_str).unwrap_or_default().is_empty() {
            let what = if field == "kind" { "Kind" } else { field };
            return Err(ApiError::bad_request(format!("Object '{what}' is missing in '{intent}'")));
        }
    }
    decode::check_type(call, intent)?;
    decode::check_place(call, intent)?;
    if meta::of(intent)
        .get("managedFields")
        .is_some_and(|fields| fields.as_array().is_none_or(|f| !f.is_empty()))
    {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// What the endpoint does not write, the applier does not own.
fn leave_only(call: &Call<'_>, intent: &mut Value, part: Part) {
    let Some(fields) = intent.as_object_mut() else { return };
    match part {
        Part::Status => {}
        _ if call.kind.status => {
            fields.remove("status");
        }
        _ => {}
    }
    match part {
        Part::Main | Part::Scale | Part::Finalize => {}
        Part::Status => {
            fields.retain(|field, _| matches!(field.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        }
    }
    if part == Part::Status
        && let Some(metadata) = meta::of_mut(intent)
    {
        metadata
            .retain(|field, _| matches!(field.as_str(), "name" | "namespace" | "uid" | "resourceVersion"));
    }
}
