//! The cases of prometheus-operator, put to this crate: inputs read, answers written. Nothing is decided here.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prometheus_rules::NameScheme;
use prometheus_rules::conformance::PromqlOptions;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Judge, Request, respond};

pub const AREAS: &[&str] = &["admission"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    path: String,
    content_type: String,
    request_body: String,
    name_validation_scheme: String,
    #[serde(default)]
    promql_options: PromqlOptions,
}

const TTL: &str = "upstream loses the ttl of Pushover on the way to v1beta1, which has the field; we keep it";

/// Cases in which we do not follow upstream, and why: `area: case`.
pub const DEPARTURES: &[(&str, &str)] = &[
    ("admission: convert-generated/037-to-v1beta1", TTL),
    ("admission: convert-generated/045-to-v1beta1", TTL),
    ("admission: convert-generated/048-to-v1beta1", TTL),
    ("admission: convert-generated/130-to-v1beta1", TTL),
];

/// The answer to a case of one of [`AREAS`].
pub fn answer(_area: &str, input: &Value) -> Result<Value, String> {
    let options = input.get("options").ok_or("the case has no options")?;
    let options = Options::deserialize(options).map_err(|error| error.to_string())?;
    let names =
        if options.name_validation_scheme == "legacy" { NameScheme::Legacy } else { NameScheme::Utf8 };
    let request = Request {
        path: &options.path,
        content_type: &options.content_type,
        body: options.request_body.as_bytes(),
    };
    let response = respond(&request, &Judge { names, promql: options.promql_options.into() });
    let mut body: Value = serde_json::from_str(&response.body).unwrap_or(Value::String(response.body));
    if let Some(patch) = body.pointer_mut("/response/patch") {
        let decoded = patch.as_str().and_then(|patch| STANDARD.decode(patch).ok()).unwrap_or_default();
        *patch = serde_json::from_slice(&decoded).map_err(|error| error.to_string())?;
    }
    Ok(json!({"object": {"status": response.status, "response": body}}))
}
