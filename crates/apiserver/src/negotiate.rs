//! What clients accept and send: JSON, whole or as metadata only. Protobuf, tables and the rest are refused.

use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use http::{HeaderMap, header};
use serde_json::{Value, json};

use crate::{ApiError, Kind, Object};

/// How much of an object the client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Whole,
    /// `as=PartialObjectMetadata` or `as=PartialObjectMetadataList`.
    Metadata,
}

impl Shape {
    /// The first of the `Accept` header's media types that is served.
    pub(crate) fn accepted(headers: &HeaderMap) -> Result<Self, ApiError> {
        let Some(accept) = headers.get(header::ACCEPT) else { return Ok(Self::Whole) };
        let accept = accept.to_str().unwrap_or_default();
        if accept.trim().is_empty() {
            return Ok(Self::Whole);
        }
        accept.split(',').find_map(Self::of).ok_or_else(|| {
            ApiError::not_acceptable(format!(
                "only the following media types are accepted: application/json \
                 (this test server speaks JSON only; asked for: {accept})"
            ))
        })
    }

    fn of(media_type: &str) -> Option<Self> {
        let mut parts = media_type.split(';').map(str::trim);
        if !matches!(parts.next()?, "application/json" | "application/*" | "*/*") {
            return None;
        }
        match parts.find_map(|part| part.strip_prefix("as=")) {
            None => Some(Self::Whole),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Some(Self::Metadata),
            Some(_) => None,
        }
    }
}

/// What is in a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentType {
    Json,
    Yaml,
    JsonPatch,
    MergePatch,
    StrategicPatch,
    ApplyPatch,
}

impl ContentType {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, ApiError> {
        let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(Self::Json) };
        let value = value.to_str().unwrap_or_default();
        let essence = value.split(';').next().unwrap_or_default().trim();
        match essence {
            "" | "application/json" => Ok(Self::Json),
            "application/yaml" => Ok(Self::Yaml),
            "application/json-patch+json" => Ok(Self::JsonPatch),
            "application/merge-patch+json" => Ok(Self::MergePatch),
            "application/strategic-merge-patch+json" => Ok(Self::StrategicPatch),
            "application/apply-patch+yaml" => Ok(Self::ApplyPatch),
            other => Err(ApiError::unsupported_media_type(format!(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml (this test server has no {other})"
            ))),
        }
    }
}

/// An object on its way out.
#[derive(Debug, Clone)]
pub(crate) enum Shown {
    Stored(Arc<Object>),
    /// Not stored as it is: a dry run, a Scale.
    Made(Value),
}

impl Shown {
    pub(crate) fn value(&self) -> &Value {
        match self {
            Self::Stored(object) => object.value(),
            Self::Made(value) => value,
        }
    }

    /// The object under the version of `kind`, in the shape asked for.
    pub(crate) fn write(&self, kind: &Kind, shape: Shape, out: &mut BytesMut) {
        match (self, shape) {
            (Self::Stored(object), Shape::Whole) => {
                object.write_json(Some((&kind.api_version(), &kind.kind)), out);
            }
            (Self::Made(value), Shape::Whole) => write_value(value, out),
            (shown, Shape::Metadata) => write_value(&partial(shown.value()), out),
        }
    }
}

/// One item of a list: built-in kinds leave out `apiVersion` and `kind` there, custom ones have them.
pub(crate) fn write_item(object: &Object, kind: &Kind, api_version: &str, shape: Shape, out: &mut BytesMut) {
    match shape {
        Shape::Metadata => write_value(&partial(object.value()), out),
        Shape::Whole if kind.custom => object.write_json(Some((api_version, &kind.kind)), out),
        Shape::Whole => object.write_json(None, out),
    }
}

/// `apiVersion` and `kind` of a list.
pub(crate) fn list_type(kind: &Kind, shape: Shape) -> (String, String) {
    match shape {
        Shape::Whole => (kind.api_version(), kind.list_kind.clone()),
        Shape::Metadata => ("meta.k8s.io/v1".into(), "PartialObjectMetadataList".into()),
    }
}

pub(crate) fn partial(object: &Value) -> Value {
    json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
        "metadata": object.get("metadata").cloned().unwrap_or_default(),
    })
}

pub(crate) fn write_value(value: &Value, out: &mut BytesMut) {
    // A `Value` always serialises, and a buffer in memory always takes it.
    let _ = serde_json::to_writer(out.writer(), value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(accept: &str) -> Option<Shape> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        Shape::accepted(&headers).ok()
    }

    #[test]
    fn the_first_served_media_type_wins() {
        let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let rows = [
            ("application/json", Some(Shape::Whole)),
            ("*/*", Some(Shape::Whole)),
            (metadata, Some(Shape::Metadata)),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Some(Shape::Whole)),
            ("application/vnd.kubernetes.protobuf", None),
            ("application/vnd.kubernetes.protobuf,application/json", Some(Shape::Whole)),
        ];
        for (accept, expected) in rows {
            assert_eq!(accepted(accept), expected, "{accept}");
        }
    }
}
