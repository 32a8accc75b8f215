//! PrometheusRules written by hand: `severity: 1` becomes `severity: "1"`, and what passed is marked as validated.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::review::{AdmissionRequest, AdmissionResponse, Refusal};
use crate::rules::{RESOURCE, is_for_rules};

const VALIDATED: &str = "prometheus-operator-validated";

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(default)]
    groups: Option<Vec<Group>>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    rules: Option<Vec<Rule>>,
}

#[derive(Deserialize)]
struct Rule {
    #[serde(default)]
    labels: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, Value>>,
}

pub(crate) fn mutate(request: &AdmissionRequest<'_>) -> AdmissionResponse {
    if !is_for_rules(request) {
        return AdmissionResponse::unexpected_resource(RESOURCE, &request.resource);
    }
    let object: Object = match serde_json::from_str(request.object()) {
        Ok(object) => object,
        Err(error) => {
            let refusal = Refusal::of_whole(format!("the PrometheusRule cannot be read: {error}"));
            return AdmissionResponse::refused("Cannot unmarshal rules from spec", RESOURCE, refusal);
        }
    };
    let mut patch = Vec::new();
    for (at, group) in object.spec.groups.iter().flatten().enumerate() {
        for (in_group, rule) in group.rules.iter().flatten().enumerate() {
            for (field, texts) in [("labels", &rule.labels), ("annotations", &rule.annotations)] {
                for (name, value) in texts.iter().flatten() {
                    let Some(text) = as_text(value) else { continue };
                    let path = format!("/spec/groups/{at}/rules/{in_group}/{field}/{}", escaped(name));
                    patch.push(json!({"op": "replace", "path": path, "value": text}));
                }
            }
        }
    }
    patch.push(match object.metadata.annotations {
        Some(annotations) if !annotations.is_empty() => {
            json!({"op": "add", "path": format!("/metadata/annotations/{VALIDATED}"), "value": "true"})
        }
        _ => json!({"op": "add", "path": "/metadata/annotations", "value": {VALIDATED: "true"}}),
    });
    AdmissionResponse::patched(STANDARD.encode(Value::from(patch).to_string()))
}

/// What a number or a truth value would be as the text that it was meant to be. Lists and objects were not.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A key within a JSON pointer (RFC 6901).
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_the_texts_they_look_like_and_keys_are_escaped() {
        assert_eq!(as_text(&json!(1_000_000)).as_deref(), Some("1000000"));
        assert_eq!(as_text(&json!(0.5)).as_deref(), Some("0.5"));
        assert_eq!(as_text(&json!(false)).as_deref(), Some("false"));
        assert_eq!(as_text(&json!("x")), None);
        assert_eq!(as_text(&json!({"a": 1})), None);
        assert_eq!(escaped("a/b~c"), "a~1b~0c");
    }
}
