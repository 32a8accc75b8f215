//! Objects with every field of the CRDs, one at a time: no data from outside is needed, and a field that is added is tried.

use std::sync::LazyLock;

use prometheus_types::crd::{Descriptions, Versions, crds};
use serde_json::{Map, Value, json};

/// What cannot stand beside something else: a round keeps one alternative of each group, in turn.
const GROUPS: &[&[&[&str]]] = &[
    &[
        &["basicAuth", "tokenRef"],
        &["authorization"],
        &["oauth2"],
        &["bearerTokenSecret"],
        &["sigv4"],
        &["azureAd"],
        &["azureAd"],
        &["azureAd"],
        &["azureAd"],
    ],
    &[&["oauth"], &["managedIdentity"], &["sdk"], &["workloadIdentity"]],
    &[&["proxyUrl", "noProxy"], &["proxyFromEnvironment"]],
    &[&["staticConfig"], &["ingress"]],
    &[&["apiServer"], &["ownNamespace"]],
    &[&["promoteResourceAttributes"], &["promoteAllResourceAttributes", "ignoreResourceAttributes"]],
];

/// As many as the largest group has alternatives.
pub(crate) const ROUNDS: usize = 9;

/// The fields that a round goes without.
pub(crate) fn without(round: usize) -> Vec<&'static str> {
    let dropped = GROUPS.iter().flat_map(|group| {
        let kept = group[round % group.len()];
        group.iter().copied().flatten().copied().filter(move |field| !kept.contains(field))
    });
    dropped.collect()
}

/// Where the field is in a list, the list's items are varied and not the list.
const LISTS: &[&str] = &["endpoints", "podMetricsEndpoints"];

/// The definitions, made once: they are large.
static DEFINITIONS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let crds = crds(Descriptions::Slim, Versions::Default).unwrap();
    crds.iter().map(|crd| serde_json::to_value(crd).unwrap()).collect()
});

/// The schema of a kind's spec.
pub(crate) fn schema(kind: &str) -> &'static Value {
    let crd = DEFINITIONS.iter().find(|crd| crd["spec"]["names"]["kind"] == kind).unwrap();
    crd.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap()
}

/// Fields that mean something only beside another.
const COMPANIONS: &[(&str, &str)] = &[("noProxy", "proxyUrl"), ("proxyConnectHeader", "proxyUrl")];

/// An object with the required fields and one other, whole.
fn with(field: &str, schema: &Value, without: &[&str]) -> Map<String, Value> {
    let mut object = required(schema, without);
    let companion = COMPANIONS.iter().find(|(name, _)| *name == field).map(|(_, companion)| *companion);
    for name in companion.into_iter().chain([field]) {
        object.insert(name.to_owned(), example(name, &schema["properties"][name], without));
    }
    object
}

/// Specs of a kind, each with the required fields and one other field, whole; by that field's name.
pub(crate) fn specs(kind: &str, without: &[&str]) -> Vec<(String, Value)> {
    let schema = schema(kind);
    let mut all = Vec::new();
    for (field, below) in fields(schema).filter(|(field, _)| !without.contains(&field.as_str())) {
        if LISTS.contains(&field.as_str()) {
            let items = &below["items"];
            for (inner, _) in fields(items).filter(|(inner, _)| !without.contains(&inner.as_str())) {
                let mut spec = required(schema, without);
                spec.insert(field.clone(), json!([with(inner, items, without)]));
                all.push((format!("{field}.{inner}"), Value::Object(spec)));
            }
        } else {
            all.push((field.clone(), Value::Object(with(field, schema, without))));
        }
    }
    if kind == "Probe" {
        // No schema says it, but nothing is probed without both, and the prober's address is none of the web.
        for (_, spec) in &mut all {
            let targets = spec.as_object_mut().unwrap().entry("targets");
            targets.or_insert_with(|| example("targets", &schema["properties"]["targets"], without));
            spec["prober"]["url"] = json!("prober:9115");
        }
    }
    all
}

pub(crate) fn fields(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
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
        // Scaleway's keys have a form.
        return json!({"name": "s", "key": if name == "secretKey" { "uuid" } else { "text" }});
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
pub(crate) fn text<'a>(name: &str, schema: &'a Value) -> &'a str {
    if let Some(word) = schema["enum"][0].as_str() {
        return word;
    }
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    match name {
        "scrapeTimeout" | "fetchTimeout" => "10s",
        "field" | "label" => "a=b",
        "accessKey" => "SCWXXXXXXXXXXXXXXXXX",
        "projectID" => "00000000-a12b-3c4d-e5f6-000000000000",
        "zone" => "fr-par-1",
        "apiURL" => "https://example.com",
        "files" => "/etc/prometheus/targets/*.json",
        "host" if pattern.contains("://") => "unix:///var/run/docker.sock",
        "nativeHistogramMinBucketFactor" => "1.5",
        "clientId" | "tenantId" | "clientID" | "tenantID" => "00000000-a12b-3c4d-e5f6-000000000000",
        "certPEM" | "bearerToken" | "bearerTokenFile" | "credentialsFile" => "",
        "operator" => "In",
        "regex" | "separator" | "replacement" | "modulus" => "x",
        _ if schema["format"] == "date-time" => "2026-01-01T00:00:00Z",
        _ if pattern.contains("ms)") => "30s",
        _ if pattern.contains("B)$") => "1MB",
        _ if pattern.contains("http") || name.to_lowercase().ends_with("url") => "https://example.com/",
        _ => "text",
    }
}

/// A certificate that signs itself.
pub(crate) const AUTHORITY: &str = "\
-----BEGIN CERTIFICATE-----
MIIBgjCCASmgAwIBAgIULL/6DhOQAQK8FThjftWda0247kIwCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLZXhhbXBsZS5jb20wIBcNMjYxMTE2MTI1OTA1WhgPMjEyNjEw
MjMxMjU5MDVaMBYxFDASBgNVBAMMC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAE5mtcDoivka7iDq5Eq1J5lMXE2K7+387jERexw4X+aWLae2ey
KlZqn7fZdVKYPrENv9PTZxtC9CaBXsyQ4VbcaqNTMFEwHQYDVR0OBBYEFI5AX7o1
KqRndaJrEjQGBzyFBBbpMB8GA1UdIwQYMBaAFI5AX7o1KqRndaJrEjQGBzyFBBbp
MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgKh7zZsnJj/y0UYSB
YTdhqXMpQibW8p1AUnECsMcADWICIBXmv1bvWqYVcVqBLUPoZWGauqe9WMp0fWAi
nu+pCl1E
-----END CERTIFICATE-----
";
