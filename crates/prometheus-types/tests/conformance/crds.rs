//! Every row of upstream's CRDs, and nothing else, is in ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use prometheus_types::crd::{Descriptions, Versions, crds};
use serde_json::{Value, json};

/// What is known about one field: fact → values.
type Facts = BTreeMap<String, BTreeSet<String>>;

/// How many differences of a kind are printed.
const SHOWN: usize = 12;

#[test]
fn schemas_are_equal_row_by_row() {
    let Some(directory) = super::data_or_skipped("crds") else { return };
    let mut failures = String::new();
    for crd in crds(Descriptions::Slim, Versions::All).unwrap() {
        for version in &crd.spec.versions {
            let kind = format!("{}.{}", crd.spec.names.kind, version.name);
            let table = fs::read_to_string(directory.join(format!("{kind}.tsv"))).unwrap();
            let schema =
                serde_json::to_value(version.schema.as_ref().unwrap().open_api_v3_schema.as_ref()).unwrap();
            let mut ours = BTreeMap::new();
            flatten(&schema, ".".into(), false, &mut ours);
            let differences = differences(&read(&table), &ours);
            if !differences.is_empty() {
                let shown =
                    differences.iter().take(SHOWN).map(|line| format!("    {line}\n")).collect::<String>();
                failures += &format!("{kind}: {} rows differ\n{shown}", differences.len());
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn names_versions_columns_and_subresources_are_equal() {
    let Some(directory) = super::data_or_skipped("crds") else { return };
    let theirs: BTreeMap<String, Value> =
        serde_json::from_str(&fs::read_to_string(directory.join("crds.json")).unwrap()).unwrap();
    let ours: BTreeMap<String, Value> = crds(Descriptions::Full, Versions::All)
        .unwrap()
        .into_iter()
        .map(|crd| (crd.spec.names.kind.clone(), serde_json::to_value(crd).unwrap()))
        .collect();
    assert_eq!(theirs.keys().collect::<Vec<_>>(), ours.keys().collect::<Vec<_>>());
    for (kind, theirs) in &theirs {
        let spec = &ours[kind]["spec"];
        assert_eq!(theirs["names"], spec["names"], "{kind}");
        assert_eq!(theirs["crdName"], ours[kind]["metadata"]["name"], "{kind}");
        assert_eq!(theirs["group"], spec["group"], "{kind}");
        assert_eq!(theirs["scope"], spec["scope"], "{kind}");
        let versions = spec["versions"].as_array().unwrap();
        assert_eq!(theirs["versions"].as_object().unwrap().len(), versions.len(), "{kind}");
        for version in versions {
            let theirs = &theirs["versions"][version["name"].as_str().unwrap()];
            for fact in ["served", "storage", "subresources"] {
                assert_eq!(theirs[fact], version[fact], "{kind}: {fact}");
            }
            assert_eq!(columns(theirs), columns(version), "{kind}");
        }
    }
}

#[test]
fn the_default_bundle_serves_what_upstreams_does() {
    let Some(directory) = super::data_or_skipped("crds") else { return };
    let theirs: BTreeMap<String, Value> =
        serde_json::from_str(&fs::read_to_string(directory.join("crds.json")).unwrap()).unwrap();
    for crd in crds(Descriptions::Slim, Versions::Default).unwrap() {
        let served: Vec<_> = crd.spec.versions.iter().map(|version| version.name.clone()).collect();
        assert_eq!(theirs[&crd.spec.names.kind]["servedInDefaultBundle"], json!(served));
    }
}

/// `kubectl apply` keeps the object, as JSON, in an annotation; all annotations together may have 256 KiB.
#[test]
fn every_crd_is_small_enough_for_client_side_apply() {
    for (descriptions, versions) in [
        (Descriptions::Full, Versions::Default),
        (Descriptions::Full, Versions::All),
        (Descriptions::Slim, Versions::Default),
        (Descriptions::Slim, Versions::All),
    ] {
        for crd in crds(descriptions, versions).unwrap() {
            let (kind, bytes) = (&crd.spec.names.kind, serde_json::to_string(&crd).unwrap().len());
            eprintln!("{bytes:>7} bytes, {descriptions:?}, {versions:?}: {kind}");
            assert!(bytes < 256 * 1024 - 1024, "{kind}: {bytes} bytes, {descriptions:?}, {versions:?}");
        }
    }
}

#[test]
fn every_field_of_ours_is_described_in_the_full_variant() {
    for crd in crds(Descriptions::Full, Versions::All).unwrap() {
        for version in &crd.spec.versions {
            let schema =
                serde_json::to_value(version.schema.as_ref().unwrap().open_api_v3_schema.as_ref()).unwrap();
            for (name, field) in schema["properties"]["spec"]["properties"].as_object().unwrap() {
                assert!(field["description"].is_string(), "{}: spec.{name}", crd.spec.names.kind);
            }
        }
    }
}

/// The printed columns without their texts, which are our own.
fn columns(version: &Value) -> Vec<Value> {
    let mut columns = version["additionalPrinterColumns"].as_array().cloned().unwrap_or_default();
    for column in columns.iter_mut().filter_map(Value::as_object_mut) {
        column.remove("description");
    }
    columns
}

fn differences(theirs: &BTreeMap<String, Facts>, ours: &BTreeMap<String, Facts>) -> Vec<String> {
    let paths: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
    paths
        .into_iter()
        .filter_map(|path| match (theirs.get(path), ours.get(path)) {
            (Some(theirs), None) => Some(format!("{path}: missing, upstream has {theirs:?}")),
            (None, Some(_)) => Some(format!("{path}: not in upstream")),
            (Some(theirs), Some(ours)) if theirs != ours => {
                Some(format!("{path}: upstream {theirs:?}, ours {ours:?}"))
            }
            _ => None,
        })
        .collect()
}

fn read(table: &str) -> BTreeMap<String, Facts> {
    table
        .lines()
        .map(|line| {
            let mut columns = line.split('\t');
            let path = columns.next().unwrap().to_owned();
            let mut facts = Facts::new();
            for fact in columns {
                let (name, value) = fact.split_once('=').unwrap_or((fact, "true"));
                // Types stand bare, everything else is JSON.
                let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
                facts.entry(name.to_owned()).or_default().insert(value.to_string());
            }
            (path, facts)
        })
        .collect()
}

fn flatten(schema: &Value, path: String, required: bool, rows: &mut BTreeMap<String, Facts>) {
    let schema = schema.as_object().unwrap();
    let mut facts = Facts::new();
    if required {
        facts.insert("required".into(), BTreeSet::from(["true".into()]));
    }
    for (key, value) in schema {
        let name = match key.as_str() {
            "properties" | "items" | "additionalProperties" | "required" | "description" => continue,
            "x-kubernetes-validations" => {
                facts.insert(
                    "validation".into(),
                    value.as_array().unwrap().iter().map(Value::to_string).collect(),
                );
                continue;
            }
            key => key.strip_prefix("x-kubernetes-").unwrap_or(key),
        };
        facts.entry(name.to_owned()).or_default().insert(whole(value).to_string());
    }
    let prefix = if path == "." { String::new() } else { path.clone() };
    rows.insert(path, facts);
    if let Some(items) = schema.get("items") {
        flatten(items, format!("{prefix}[]"), false, rows);
    }
    if let Some(values) = schema.get("additionalProperties") {
        flatten(values, format!("{prefix}{{}}"), false, rows);
    }
    let needed = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        flatten(property, format!("{prefix}.{name}"), needed.contains(&json!(name)), rows);
    }
}

/// Kubernetes' Go type of a bound is a float: `0.0` and `0` are the same number.
fn whole(value: &Value) -> Value {
    match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 => json!(number as i64),
        _ => value.clone(),
    }
}
