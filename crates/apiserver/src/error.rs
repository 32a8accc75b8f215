//! What the server answers when it refuses: one type, rendered as Kubernetes' `Status` object.

use serde_json::{Map, Value, json};

/// A refusal, with everything that `kind: Status` carries.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    pub code: u16,
    /// Kubernetes' machine-readable reason, for example `NotFound`.
    pub reason: &'static str,
    pub message: String,
    /// Boxed, so that results stay small.
    pub details: Box<Details>,
}

/// `status.details`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    pub name: Option<String>,
    pub group: Option<String>,
    /// The resource (plural) for most refusals, the kind for `Invalid`, as Kubernetes does.
    pub kind: Option<String>,
    pub uid: Option<String>,
    pub causes: Vec<Cause>,
    pub retry_after_seconds: Option<u32>,
    /// Not a detail but `metadata.continue`: where to go on after an expired list.
    pub continue_token: Option<String>,
}

/// One reason out of several: which field, and what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// For example `FieldValueInvalid`, `FieldValueRequired`, `FieldManagerConflict`.
    pub reason: &'static str,
    pub message: String,
    pub field: String,
}

impl Cause {
    pub fn new(reason: &'static str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason, field: field.into(), message: message.into() }
    }
}

impl ApiError {
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Box::default() }
    }

    fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        let some = |s: &str| (!s.is_empty()).then(|| s.to_owned());
        self.details.group = some(group);
        self.details.kind = some(kind);
        self.details.name = some(name);
        self
    }

    pub fn not_found(group: &str, plural: &str, name: &str) -> Self {
        let resource = qualified(group, plural);
        Self::new(404, "NotFound", format!("{resource} \"{name}\" not found")).about(group, plural, name)
    }

    pub fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        let resource = qualified(group, plural);
        Self::new(409, "AlreadyExists", format!("{resource} \"{name}\" already exists"))
            .about(group, plural, name)
    }

    pub fn conflict(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let resource = qualified(group, plural);
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}"))
            .about(group, plural, name)
    }

    /// The message and the causes in the form that kube-apiserver gives them.
    pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Self {
        let told: Vec<String> = causes.iter().map(|c| format!("{}: {}", c.field, c.message)).collect();
        let list = match told.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let subject = qualified(group, kind);
        let mut error = Self::new(422, "Invalid", format!("{subject} \"{name}\" is invalid: {list}"))
            .about(group, kind, name);
        error.details.causes = causes;
        error
    }

    pub fn forbidden(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let resource = qualified(group, plural);
        let quoted = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
        Self::new(403, "Forbidden", format!("{resource}{quoted} is forbidden: {why}"))
            .about(group, plural, name)
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 410 with reason `Expired`: the revision asked for is compacted.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub fn method_not_allowed(message: impl Into<String>) -> Self {
        Self::new(405, "MethodNotAllowed", message)
    }

    pub fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub fn too_many_requests(retry_after_seconds: u32) -> Self {
        let mut error = Self::new(
            429,
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later",
        );
        error.details.retry_after_seconds = Some(retry_after_seconds);
        error
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "InternalError", message)
    }

    /// `kind: Status`, as it goes over the wire.
    pub fn to_status(&self) -> Value {
        let mut details = Map::new();
        let Details { name, group, kind, uid, causes, retry_after_seconds, continue_token } = &*self.details;
        for (key, value) in [("name", name), ("group", group), ("kind", kind), ("uid", uid)] {
            if let Some(value) = value {
                details.insert(key.into(), json!(value));
            }
        }
        if !causes.is_empty() {
            let causes: Vec<Value> = causes
                .iter()
                .map(|c| json!({"reason": c.reason, "message": c.message, "field": c.field}))
                .collect();
            details.insert("causes".into(), json!(causes));
        }
        if let Some(seconds) = retry_after_seconds {
            details.insert("retryAfterSeconds".into(), json!(seconds));
        }
        let metadata = continue_token.as_ref().map_or_else(|| json!({}), |token| json!({"continue": token}));
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let (Some(status), false) = (status.as_object_mut(), details.is_empty()) {
            status.insert("details".into(), Value::Object(details));
        }
        status
    }
}

/// `deployments.apps`, or `pods` for the core group.
fn qualified(group: &str, what: &str) -> String {
    if group.is_empty() { what.to_owned() } else { format!("{what}.{group}") }
}
