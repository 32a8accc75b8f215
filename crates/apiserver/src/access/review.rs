//! The reviews: "may I?", "may they?", "what may I?", "who am I?". Nothing of them is stored.

use serde_json::{Value, json};

use super::{Attributes, User, is_allowed, rules_of};
use crate::{ApiError, Cause, Store};

/// The review resources, by group and plural; all are `v1` and only created.
pub(crate) const REVIEWS: &[(&str, &str, &str, bool)] = &[
    // group, plural, kind, namespaced
    ("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", false),
    ("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", false),
    ("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview", true),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview", false),
    ("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", false),
];

/// Answers the review in `body`; `None` when `plural` is no review.
pub(crate) fn answer(
    store: &Store,
    user: &User,
    group: &str,
    plural: &str,
    namespace: &str,
    body: &Value,
) -> Option<Result<Value, ApiError>> {
    let (_, _, kind, _) = REVIEWS.iter().find(|(g, p, _, _)| *g == group && *p == plural)?;
    let status = match *kind {
        "SelfSubjectAccessReview" => access(store, kind, user, body),
        "SelfSubjectRulesReview" => rules(store, user, body),
        "SelfSubjectReview" => Ok(json!({"userInfo": {"username": user.name, "groups": user.groups}})),
        _ => subject(kind, body).and_then(|subject| match *kind {
            "LocalSubjectAccessReview" if text(body, "/spec/resourceAttributes/namespace") != namespace => {
                let why = format!(
                    "Invalid value: \"{}\": must match metadata.namespace",
                    text(body, "/spec/resourceAttributes/namespace")
                );
                Err(invalid(kind, "spec.resourceAttributes.namespace", &why))
            }
            _ => access(store, kind, &subject, body),
        }),
    };
    Some(status.map(|status| {
        let mut answered = body.clone();
        if let Some(answered) = answered.as_object_mut() {
            answered.insert("apiVersion".into(), json!(format!("{group}/v1")));
            answered.insert("kind".into(), json!(kind));
            answered.entry("metadata").or_insert_with(|| json!({}));
            answered.insert("status".into(), status);
        }
        answered
    }))
}

fn access(store: &Store, kind: &str, user: &User, body: &Value) -> Result<Value, ApiError> {
    let resource = body.pointer("/spec/resourceAttributes");
    let path = body.pointer("/spec/nonResourceAttributes");
    let wanted = match (resource, path) {
        (Some(resource), None) => {
            let field =
                |name: &str| resource.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let resource = match (field("resource"), field("subresource")) {
                (resource, sub) if sub.is_empty() => resource,
                (resource, sub) => format!("{resource}/{sub}"),
            };
            let (verb, group) = (field("verb"), field("group"));
            Attributes::Resource { verb, group, resource, namespace: field("namespace"), name: field("name") }
        }
        (None, Some(path)) => {
            let field = |name: &str| path.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            Attributes::Path { verb: field("verb"), path: field("path") }
        }
        _ => {
            let why = "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified";
            return Err(invalid(kind, "spec.resourceAttributes", why));
        }
    };
    let allowed = is_allowed(store, user, &wanted);
    let reason = if allowed { "RBAC: allowed" } else { "" };
    Ok(json!({"allowed": allowed, "reason": reason}))
}

fn rules(store: &Store, user: &User, body: &Value) -> Result<Value, ApiError> {
    let namespace = text(body, "/spec/namespace");
    if namespace.is_empty() {
        return Err(ApiError::bad_request("no namespace on request"));
    }
    let (paths, resources): (Vec<_>, Vec<_>) =
        rules_of(store, user, namespace).into_iter().partition(|rule| !rule.paths.is_empty());
    let json_of = |rules: Vec<super::Rule>| rules.iter().map(super::Rule::to_json).collect::<Vec<_>>();
    Ok(json!({"resourceRules": json_of(resources), "nonResourceRules": json_of(paths), "incomplete": false}))
}

/// Whom a SubjectAccessReview asks about.
fn subject(kind: &str, body: &Value) -> Result<User, ApiError> {
    let name = text(body, "/spec/user");
    let groups = body.pointer("/spec/groups").and_then(Value::as_array);
    let groups: Vec<String> =
        groups.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    if name.is_empty() && groups.is_empty() {
        let why = "Invalid value: \"\": at least one of user or group must be specified";
        return Err(invalid(kind, "spec.user", why));
    }
    Ok(User { name: name.into(), groups })
}

fn text<'a>(body: &'a Value, pointer: &str) -> &'a str {
    body.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn invalid(kind: &str, field: &str, why: &str) -> ApiError {
    ApiError::invalid("authorization.k8s.io", kind, "", vec![Cause::new("FieldValueInvalid", field, why)])
}
