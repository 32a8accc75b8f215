//! ConversionReview: AlertmanagerConfigs from one version to the other.

use prometheus_types::alertmanager_config::{AlertmanagerConfigSpec, v1beta1};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Response;

const V1ALPHA1: &str = "monitoring.coreos.com/v1alpha1";
const V1BETA1: &str = "monitoring.coreos.com/v1beta1";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    api_version: String,
    kind: String,
    request: Request,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired_api_version: String,
    objects: Vec<Map<String, Value>>,
}

pub(crate) fn respond(body: &[u8]) -> Response {
    let review: Review = match serde_json::from_slice(body) {
        Ok(review) => review,
        Err(error) => return Response::text(400, format!("the ConversionReview cannot be read: {error}")),
    };
    let Request { uid, desired_api_version, objects } = review.request;
    let converted: Result<Vec<_>, _> =
        objects.into_iter().map(|object| convert(object, &desired_api_version)).collect();
    let (objects, result) = match converted {
        Ok(objects) => (json!(objects), json!({"metadata": {}, "status": "Success"})),
        Err(message) => (Value::Null, json!({"metadata": {}, "status": "Failure", "message": message})),
    };
    Response::json(&json!({
        "apiVersion": review.api_version,
        "kind": review.kind,
        "response": {"uid": uid, "convertedObjects": objects, "result": result},
    }))
}

/// The object in the desired version: only `apiVersion` and `spec` differ.
fn convert(mut object: Map<String, Value>, desired: &str) -> Result<Map<String, Value>, String> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, given) = (text("kind"), text("apiVersion"));
    let name = object.get("metadata").map_or(String::new(), |metadata| {
        let part = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default();
        format!("{}/{}", part("namespace"), part("name"))
    });
    let refuse = |why: &str| format!("{kind} {name} cannot be converted from {given} to {desired}: {why}");
    if kind != "AlertmanagerConfig" {
        return Err(refuse("only AlertmanagerConfig has more than one version"));
    }
    if given == desired {
        return Ok(object);
    }
    let spec = object.remove("spec").unwrap_or(Value::Object(Map::new()));
    let converted = match (given.as_str(), desired) {
        (V1ALPHA1, V1BETA1) => between::<AlertmanagerConfigSpec, v1beta1::AlertmanagerConfigSpec>(spec),
        (V1BETA1, V1ALPHA1) => between::<v1beta1::AlertmanagerConfigSpec, AlertmanagerConfigSpec>(spec),
        _ => return Err(refuse("there are v1alpha1 and v1beta1")),
    };
    object.insert("apiVersion".to_owned(), desired.into());
    object.insert("spec".to_owned(), converted.map_err(|error| refuse(&error.to_string()))?);
    Ok(object)
}

fn between<From, To>(spec: Value) -> serde_json::Result<Value>
where
    From: DeserializeOwned,
    To: Serialize + TryFrom<From, Error = serde_json::Error>,
{
    let mut spec = serde_json::to_value(To::try_from(serde_json::from_value(spec)?)?)?;
    complete("spec", &mut spec)?;
    Ok(spec)
}

/// What upstream's webhook writes even where it was absent, by the field that holds it. So do we: tools that compare what is
/// in the cluster with what is in Git must see no change when the webhook changes hands.
const ALWAYS: &[(&str, &str, &str)] = &[
    ("spec", "route", "null"),
    ("spec", "receivers", "null"),
    ("route", "receiver", r#""""#),
    ("routes", "receiver", r#""""#),
    ("matchers", "value", r#""""#),
    ("sourceMatch", "value", r#""""#),
    ("targetMatch", "value", r#""""#),
    ("basicAuth", "username", r#"{"key": ""}"#),
    ("basicAuth", "password", r#"{"key": ""}"#),
    ("tlsConfig", "ca", "{}"),
    ("tlsConfig", "cert", "{}"),
];

fn complete(field: &str, value: &mut Value) -> serde_json::Result<()> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| complete(field, item)),
        Value::Object(fields) => {
            for (_, name, absent) in ALWAYS.iter().filter(|(holder, ..)| *holder == field) {
                if !fields.contains_key(*name) {
                    fields.insert((*name).to_owned(), serde_json::from_str(absent)?);
                }
            }
            fields.iter_mut().try_for_each(|(name, value)| complete(name, value))
        }
        _ => Ok(()),
    }
}
