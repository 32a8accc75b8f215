//! Secrets: `stringData` for people who write, and the keys that typed secrets must have.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::Cause;

/// `stringData` is write-only: it wins over `data` and is never shown.
pub(super) fn merge_string_data(secret: &mut Value) {
    let Some(fields) = secret.as_object_mut() else { return };
    let Some(Value::Object(texts)) = fields.remove("stringData") else { return };
    let data = fields.entry("data").or_insert_with(|| json!({}));
    if data.is_null() {
        *data = json!({});
    }
    let Some(data) = data.as_object_mut() else { return };
    for (key, text) in texts {
        data.insert(key, json!(STANDARD.encode(text.as_str().unwrap_or_default())));
    }
}

/// Source: core validation, `ValidateSecret`.
pub(super) fn validate(secret: &Value) -> Vec<Cause> {
    const REQUIRED: &[(&str, &[&str])] = &[
        ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
        ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
        ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ];
    let kind = secret.get("type").and_then(Value::as_str).unwrap_or("Opaque");
    let mut causes = Vec::new();
    for key in REQUIRED.iter().filter(|(name, _)| *name == kind).flat_map(|(_, keys)| keys.iter()) {
        if secret.get("data").and_then(|data| data.get(key)).is_none() {
            causes.push(Cause::new("FieldValueRequired", format!("data[{key}]"), "Required value"));
        }
    }
    let data = secret.get("data").and_then(Value::as_object);
    for (key, value) in data.into_iter().flatten() {
        let fits = !key.is_empty()
            && key.len() <= 253
            && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if !fits {
            causes.push(Cause::new(
                "FieldValueInvalid",
                format!("data[{key}]"),
                format!("Invalid value: {key:?}: a valid config key must consist of alphanumeric characters, '-', '_' or '.'"),
            ));
        }
        if value.as_str().is_none_or(|text| STANDARD.decode(text).is_err()) {
            causes.push(Cause::new(
                "FieldValueInvalid",
                format!("data[{key}]"),
                "Invalid value: illegal base64 data",
            ));
        }
    }
    causes
}
