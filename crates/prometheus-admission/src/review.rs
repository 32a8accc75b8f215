//! AdmissionReview: the envelope that the API server sends, and expects back.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Request, Response};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    api_version: String,
    kind: String,
    #[serde(borrow)]
    request: Option<AdmissionRequest<'a>>,
}

/// What is to be admitted.
#[derive(Deserialize)]
pub(crate) struct AdmissionRequest<'a> {
    uid: String,
    pub(crate) resource: Resource,
    /// Absent for a deletion.
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
}

#[derive(Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
}

impl AdmissionRequest<'_> {
    pub(crate) fn object(&self) -> &str {
        self.object.map_or("null", RawValue::get)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    api_version: String,
    kind: String,
    response: AdmissionResponse,
}

/// The verdict.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdmissionResponse {
    uid: String,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    /// Base64 of a JSON patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
}

#[derive(Serialize)]
struct Status {
    metadata: Empty,
    status: &'static str,
    message: &'static str,
    reason: &'static str,
    details: Details,
    code: u16,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct Details {
    name: String,
    causes: Vec<Cause>,
}

#[derive(Serialize)]
struct Cause {
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    field: String,
}

/// Why something is refused: what is wrong with which field.
pub(crate) struct Refusal {
    pub(crate) field: String,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn of_whole(message: impl Into<String>) -> Vec<Self> {
        vec![Self { field: String::new(), message: message.into() }]
    }
}

impl AdmissionResponse {
    pub(crate) fn allowed() -> Self {
        Self { allowed: true, ..Self::default() }
    }

    pub(crate) fn patched(patch: String) -> Self {
        Self { patch: Some(patch), patch_type: Some("JSONPatch"), ..Self::allowed() }
    }

    pub(crate) fn refused(message: &'static str, resource: &str, refusals: Vec<Refusal>) -> Self {
        let causes =
            refusals.into_iter().map(|refusal| Cause { message: refusal.message, field: refusal.field });
        let details = Details { name: resource.to_owned(), causes: causes.collect() };
        let status =
            Status { metadata: Empty {}, status: "Failure", message, reason: "Invalid", details, code: 422 };
        Self { status: Some(status), ..Self::default() }
    }

    pub(crate) fn unexpected_resource(expected: &str, got: &Resource) -> Self {
        let message = format!("this webhook is for {expected}, not for {}/{}", got.group, got.resource);
        Self::refused("Unexpected resource kind", expected, Refusal::of_whole(message))
    }
}

/// Opens the envelope, asks for the verdict, and closes it again.
pub(crate) fn respond(
    request: &Request<'_>,
    admit: impl FnOnce(&AdmissionRequest<'_>) -> AdmissionResponse,
) -> Response {
    if request.body.is_empty() {
        return Response::text(400, "the request has no body");
    }
    if request.content_type != "application/json" {
        return Response::text(415, "invalid Content-Type, want application/json");
    }
    let (api_version, kind, response) = match serde_json::from_slice::<Review<'_>>(request.body) {
        Ok(Review { api_version, kind, request: Some(request) }) => {
            let response = AdmissionResponse { uid: request.uid.clone(), ..admit(&request) };
            (api_version, kind, response)
        }
        Ok(Review { api_version, kind, request: None }) => {
            (api_version, kind, unreadable("it has no request"))
        }
        Err(error) => (String::new(), String::new(), unreadable(&error.to_string())),
    };
    Response::json(&Answer { api_version, kind, response })
}

fn unreadable(why: &str) -> AdmissionResponse {
    let message = format!("the AdmissionReview cannot be read: {why}");
    AdmissionResponse::refused("Unable to deserialize request", "", Refusal::of_whole(message))
}
