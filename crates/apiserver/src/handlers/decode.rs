//! From a request's body to an object of the right kind.

use serde_json::Value;

use super::Call;
use crate::{ApiError, meta, negotiate::ContentType};

/// The body as one object of the call's kind and version.
pub(super) fn object(call: &Call<'_>) -> Result<Value, ApiError> {
    let mut object = match call.content {
        ContentType::Json => json(call.body)?,
        ContentType::Yaml => yaml(call.body)?,
        _ => {
            return Err(ApiError::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml",
            ));
        }
    };
    check_type(call, &mut object)?;
    Ok(object)
}

pub(super) fn json(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::bad_request(format!("couldn't get version/kind; json parse error: {error}"))
    })
}

/// YAML, and JSON as its subset.
pub(super) fn yaml(body: &[u8]) -> Result<Value, ApiError> {
    if body.first() == Some(&b'{') {
        return json(body);
    }
    serde_saphyr::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))
}

/// `apiVersion` and `kind` are the request's; built-in kinds may leave them out.
pub(super) fn check_type(call: &Call<'_>, object: &mut Value) -> Result<(), ApiError> {
    let expected = (call.kind.api_version(), call.kind.kind.as_str());
    let shown = object.to_string();
    let Some(map) = object.as_object_mut() else {
        return Err(ApiError::bad_request("couldn't get version/kind; the body is not an object"));
    };
    let given = |field: &str| map.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (given("apiVersion"), given("kind"));
    if call.kind.custom && kind.is_empty() {
        return Err(ApiError::bad_request(format!("Object 'Kind' is missing in '{shown}'")));
    }
    if call.kind.custom && api_version.is_empty() {
        return Err(ApiError::bad_request(format!("Object 'apiVersion' is missing in '{shown}'")));
    }
    if !kind.is_empty() && kind != expected.1 {
        return Err(ApiError::bad_request(format!(
            "{kind} in version \"{api_version}\" cannot be handled as a {}: the kind does not match the path",
            expected.1
        )));
    }
    if !api_version.is_empty() && api_version != expected.0 {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            expected.0
        )));
    }
    map.insert("apiVersion".into(), Value::String(expected.0));
    map.insert("kind".into(), Value::String(expected.1.to_owned()));
    if meta::of_mut(object).is_none() {
        return Err(ApiError::bad_request("metadata is not an object"));
    }
    Ok(())
}

/// The name and namespace in the object are those of the path.
pub(super) fn check_place(call: &Call<'_>, object: &mut Value) -> Result<(), ApiError> {
    meta::settle_namespace(object, call.namespace())?;
    let given = meta::name(object);
    if given.is_empty() {
        meta::set(object, "name", Value::String(call.name().to_owned()));
    } else if given != call.name() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({})",
            call.name()
        )));
    }
    Ok(())
}
