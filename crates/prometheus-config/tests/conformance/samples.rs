//! Objects with every field of the CRDs, one at a time: no data from outside is needed, and a field that is added is tried.

use prometheus_types::crd::{Descriptions, Versions, crds};
use serde_json::{Map, Value, json};

/// What cannot stand beside something else; each set leaves out all but one of a kind.
pub(crate) const WITHOUT: &[&[&str]] = &[
    &[
        "authorization",
        "oauth2",
        "bearerTokenSecret",
        "proxyFromEnvironment",
        "ingress",
        "managedIdentity",
        "sdk",
    ],
    &[
        "basicAuth",
        "oauth2",
        "proxyUrl",
        "noProxy",
        "bearerTokenSecret",
        "staticConfig",
        "oauth",
        "workloadIdentity",
    ],
    &[
        "basicAuth",
        "authorization",
        "bearerTokenSecret",
        "proxyFromEnvironment",
        "managedIdentity",
        "oauth",
        "sdk",
    ],
    &[
        "basicAuth",
        "authorization",
        "oauth2",
        "proxyFromEnvironment",
        "managedIdentity",
        "oauth",
        "workloadIdentity",
    ],
];

/// Where the field is in a list, the list's items are varied and not the list.
const LISTS: &[&str] = &["endpoints", "podMetricsEndpoints"];

/// Specs of a kind, each with the required fields and one other field, whole; by that field's name.
pub(crate) fn specs(kind: &str, without: &[&str]) -> Vec<(String, Value)> {
    let crds = crds(Descriptions::Slim, Versions::Default).unwrap();
    let crd = crds.iter().find(|crd| crd.spec.names.kind == kind).unwrap();
    let schema = serde_json::to_value(crd).unwrap();
    let schema = schema.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
    let mut all = Vec::new();
    for (field, below) in fields(schema).filter(|(field, _)| !without.contains(&field.as_str())) {
        let base = required(schema, without);
        if LISTS.contains(&field.as_str()) {
            for (inner, deep) in
                fields(&below["items"]).filter(|(inner, _)| !without.contains(&inner.as_str()))
            {
                let mut item = required(&below["items"], without);
                item.insert(inner.clone(), example(inner, deep, without));
                let mut spec = base.clone();
                spec.insert(field.clone(), json!([item]));
                all.push((format!("{field}.{inner}"), Value::Object(spec)));
            }
        } else {
            let mut spec = base;
            spec.insert(field.clone(), example(field, below, without));
            all.push((field.clone(), Value::Object(spec)));
        }
    }
    all
}

fn fields(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn required(schema: &Value, without: &[&str]) -> Map<String, Value> {
    let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    names
        .filter(|name| !without.contains(name))
        .map(|name| (name.to_owned(), example(name, &schema["properties"][name], without)))
        .collect()
}

fn example(name: &str, schema: &Value, without: &[&str]) -> Value {
    let properties = &schema["properties"];
    if properties["key"].is_object() && properties["name"].is_object() {
        return json!({"name": "s", "key": "text"});
    }
    match name {
        "ca" => return json!({"secret": {"name": "s", "key": "ca.crt"}}),
        // A certificate needs its key, and neither is kept in a repository.
        "cert" => return json!({}),
        // Files exclude what Secrets hold.
        "caFile" | "certFile" | "keyFile" if properties.is_null() => return json!(""),
        _ => {}
    }
    match schema["type"].as_str() {
        _ if schema["x-kubernetes-int-or-string"] == true => json!(if name == "port" { 9090 } else { 1 }),
        Some("object") if properties["secret"].is_object() => json!({"secret": {"name": "s", "key": "text"}}),
        Some("object") if properties.is_object() => {
            let inner =
                fields(schema).filter(|(name, _)| !without.contains(&name.as_str()) && *name != "keySecret");
            inner.map(|(name, schema)| (name.clone(), example(name, schema, without))).collect()
        }
        Some("object") => json!({"text": example("", &schema["additionalProperties"], without)}),
        Some("array") => json!([example(name, &schema["items"], without)]),
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(schema["minimum"].as_u64().unwrap_or_default() + 1),
        _ => json!(text(name, schema)),
    }
}

/// A text that the field's form allows.
fn text<'a>(name: &str, schema: &'a Value) -> &'a str {
    if let Some(word) = schema["enum"][0].as_str() {
        return word;
    }
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    match name {
        "scrapeTimeout" | "fetchTimeout" => "10s",
        "files" => "/etc/prometheus/targets/*.json",
        "host" if pattern.contains("://") => "unix:///var/run/docker.sock",
        "nativeHistogramMinBucketFactor" => "1.5",
        "clientId" | "tenantId" | "clientID" | "tenantID" => "00000000-a12b-3c4d-e5f6-000000000000",
        "certPEM" | "bearerToken" | "bearerTokenFile" | "credentialsFile" => "",
        "operator" => "Exists",
        "regex" | "separator" | "replacement" | "modulus" => "x",
        _ if pattern.contains("ms)") => "30s",
        _ if pattern.contains("B)$") => "1MB",
        _ if pattern.contains("http") || name.to_lowercase().ends_with("url") => "https://example.com/",
        _ => "text",
    }
}
