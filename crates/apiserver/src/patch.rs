//! Patches: a document and what a client wants changed in it. Server-side apply is not one of these; see `apply`.

mod json;
mod merge;
mod strategic;

use serde_json::Value;

use crate::{ApiError, schema::Schema};

/// How a patch is written, which is its content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// RFC 6902
    Json,
    /// RFC 7386
    Merge,
    /// Kubernetes' own, for built-in kinds.
    Strategic,
}

/// `document` after the patch `body`.
pub(crate) fn patch(
    kind: PatchKind,
    document: &Value,
    body: &Value,
    schema: &Schema,
) -> Result<Value, ApiError> {
    match kind {
        PatchKind::Json => json::patch(document, body),
        PatchKind::Merge => merge::patch(document, body),
        PatchKind::Strategic => strategic::patch(document, body, schema),
    }
}

/// A patch that is well formed but does not fit the document. Kubernetes does not say what does not fit.
fn does_not_fit() -> ApiError {
    ApiError::new(422, "Invalid", "the server rejected our request due to an error in our request")
}
