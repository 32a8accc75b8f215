//! `/scale`: the number of replicas of anything, as autoscaling/v1 `Scale`.

use serde_json::{Value, json};

use crate::{
    ApiError, Cause, ScalePaths,
    handlers::{
        Answer, Call,
        admit::{Ownership, Part},
        decode, update,
    },
    meta,
    negotiate::{ContentType, Shape, Shown, partial},
    patch::{self, PatchKind},
    request::{Verb, method_not_allowed},
};

pub(super) fn answer(call: &Call<'_>) -> Result<Answer, ApiError> {
    let Some(paths) = &call.kind.scale else { return Err(crate::handlers::page_not_found()) };
    match call.verb {
        Verb::Get => {
            let object = call.cluster.store.get(&call.id(call.name()));
            let object = object.ok_or_else(|| call.not_found(call.name()))?;
            Ok(show(call, 200, &scale_of(paths, object.seen_as(&call.kind).value())))
        }
        Verb::Update => {
            let scale = decode::json(call.body)?;
            write(call, paths, |_| Ok(scale.clone()))
        }
        Verb::Patch if call.content == ContentType::ApplyPatch => apply(call, paths),
        Verb::Patch => {
            let kind = match call.content {
                ContentType::JsonPatch => PatchKind::Json,
                _ => PatchKind::Merge,
            };
            let body = decode::json(call.body)?;
            write(call, paths, |current| patch::patch(kind, current, &body, &crate::Schema::any()))
        }
        _ => Err(method_not_allowed()),
    }
}

fn show(call: &Call<'_>, code: u16, scale: &Value) -> Answer {
    match call.shape {
        Shape::Whole => Answer::json(code, scale),
        Shape::Metadata => Answer::json(code, &partial(scale)),
    }
}

/// Writes the replicas that a new Scale asks for.
fn write(
    call: &Call<'_>,
    paths: &ScalePaths,
    change: impl Fn(&Value) -> Result<Value, ApiError>,
) -> Result<Answer, ApiError> {
    let answer = update::write(call, Part::Scale, Ownership::Track, |live| {
        let live = live.ok_or_else(|| call.not_found(call.name()))?;
        let scale = change(&scale_of(paths, live))?;
        check(call, &scale, live)?;
        let mut new = live.clone();
        set_path(&mut new, &paths.spec_replicas, replicas(&scale));
        let version = meta::text(&scale, "resourceVersion");
        if !version.is_empty() {
            meta::set(&mut new, "resourceVersion", json!(version));
        }
        Ok(new)
    })?;
    Ok(as_scale(call, paths, answer))
}

/// Applying a Scale is applying the replicas of the object.
fn apply(call: &Call<'_>, paths: &ScalePaths) -> Result<Answer, ApiError> {
    let scale = decode::yaml(call.body)?;
    let mut intent = json!({"apiVersion": call.kind.api_version(), "kind": call.kind.kind, "metadata": {"name": call.name()}});
    if scale.pointer("/spec/replicas").is_some() {
        set_path(&mut intent, &paths.spec_replicas, replicas(&scale));
    }
    if call.kind.namespaced {
        meta::set(&mut intent, "namespace", json!(call.namespace()));
    }
    let answer = crate::handlers::patch::apply_intent(call, Part::Scale, &intent)?;
    Ok(as_scale(call, paths, answer))
}

fn as_scale(call: &Call<'_>, paths: &ScalePaths, answer: Answer) -> Answer {
    let shown = match &answer.content {
        crate::handlers::Content::Object(Shown::Stored(object)) => scale_of(paths, object.value()),
        crate::handlers::Content::Object(Shown::Made(value)) => scale_of(paths, value),
        _ => return answer,
    };
    Answer { revision: answer.revision, warnings: answer.warnings, ..show(call, answer.code, &shown) }
}

fn check(call: &Call<'_>, scale: &Value, live: &Value) -> Result<(), ApiError> {
    let name = meta::name(scale);
    if !name.is_empty() && name != call.name() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.name()
        )));
    }
    let uid = meta::text(scale, "uid");
    if !uid.is_empty() && uid != meta::text(live, "uid") {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            meta::text(live, "uid")
        );
        return Err(ApiError::conflict(&call.kind.group, &call.kind.plural, call.name(), &why));
    }
    let wanted = replicas(scale);
    if wanted < 0 {
        let why = format!("Invalid value: {wanted}: must be greater than or equal to 0");
        let cause = Cause::new("FieldValueInvalid", "spec.replicas", why);
        return Err(ApiError::invalid("autoscaling", "Scale", call.name(), vec![cause]));
    }
    Ok(())
}

fn replicas(scale: &Value) -> i64 {
    scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or_default()
}

/// The Scale that an object shows.
fn scale_of(paths: &ScalePaths, object: &Value) -> Value {
    let mut metadata = serde_json::Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = meta::of(object).get(field) {
            metadata.insert(field.into(), value.clone());
        }
    }
    let number = |path: &str| at_path(object, path).and_then(Value::as_i64).unwrap_or_default();
    let mut status = json!({"replicas": number(&paths.status_replicas)});
    let selector = paths.selector.as_deref().and_then(|path| at_path(object, path)).map(selector_text);
    if let (Some(status), Some(selector)) = (status.as_object_mut(), selector.filter(|text| !text.is_empty()))
    {
        status.insert("selector".into(), json!(selector));
    }
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": {"replicas": number(&paths.spec_replicas)}, "status": status,
    })
}

/// A label selector as text: custom kinds hold it as text, built-in ones as `LabelSelector`.
fn selector_text(selector: &Value) -> String {
    if let Some(text) = selector.as_str() {
        return text.to_owned();
    }
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let mut parts: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default()))
        .collect();
    for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
        let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
        let values = values.filter_map(Value::as_str).collect::<Vec<_>>().join(",");
        parts.push(match text("operator") {
            "In" => format!("{} in ({values})", text("key")),
            "NotIn" => format!("{} notin ({values})", text("key")),
            "Exists" => text("key").to_owned(),
            _ => format!("!{}", text("key")),
        });
    }
    parts.join(",")
}

fn at_path<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|key| !key.is_empty()).try_fold(object, |value, key| value.get(key))
}

fn set_path(object: &mut Value, path: &str, replicas: i64) {
    let mut place = object;
    for key in path.split('.').filter(|key| !key.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        let Some(map) = place.as_object_mut() else { return };
        place = map.entry(key).or_insert(Value::Null);
    }
    *place = json!(replicas);
}
