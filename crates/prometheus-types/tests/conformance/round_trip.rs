//! Every resource of the conformance cases is the same after it was read into the types and written again.

use std::collections::BTreeMap;
use std::fs;

use prometheus_types::alertmanager_config::v1beta1;
use prometheus_types::{
    Alertmanager, AlertmanagerConfig, PodMonitor, Probe, Prometheus, PrometheusAgent, PrometheusRule,
    ScrapeConfig, ServiceMonitor, ThanosRuler,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[test]
fn every_resource_survives_reading_and_writing() {
    let Some(directory) = super::data_or_skipped("prometheus") else { return };
    let mut failures: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for file in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in fs::read_to_string(&file).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            for resource in case["input"]["resources"].as_array().into_iter().flatten() {
                let kind = format!("{} {}", resource["apiVersion"], resource["kind"]);
                *seen.entry(kind.clone()).or_default() += 1;
                if let Err(difference) = check(resource) {
                    failures.entry(kind).or_default().push(format!("{}: {difference}", case["case"]));
                }
            }
        }
    }
    assert!(seen.values().sum::<usize>() > 1000, "hardly any resources were found: {seen:?}");
    let report: String = failures
        .iter()
        .map(|(kind, failures)| {
            format!(
                "{kind}: {} of {}\n    {}\n",
                failures.len(),
                seen[kind],
                failures[..failures.len().min(8)].join("\n    ")
            )
        })
        .collect();
    assert!(report.is_empty(), "\n{report}");
}

fn check(resource: &Value) -> Result<(), String> {
    let version = resource["apiVersion"].as_str().unwrap_or_default();
    match (resource["kind"].as_str().unwrap_or_default(), version.rsplit('/').next().unwrap_or_default()) {
        ("Alertmanager", "v1") => round_trip::<Alertmanager>(resource),
        ("AlertmanagerConfig", "v1alpha1") => round_trip::<AlertmanagerConfig>(resource),
        ("AlertmanagerConfig", "v1beta1") => round_trip::<v1beta1::AlertmanagerConfig>(resource),
        ("PodMonitor", "v1") => round_trip::<PodMonitor>(resource),
        ("Probe", "v1") => round_trip::<Probe>(resource),
        ("Prometheus", "v1") => round_trip::<Prometheus>(resource),
        ("PrometheusAgent", "v1alpha1") => round_trip::<PrometheusAgent>(resource),
        ("PrometheusRule", "v1") => round_trip::<PrometheusRule>(resource),
        ("ScrapeConfig", "v1alpha1") => round_trip::<ScrapeConfig>(resource),
        ("ServiceMonitor", "v1") => round_trip::<ServiceMonitor>(resource),
        ("ThanosRuler", "v1") => round_trip::<ThanosRuler>(resource),
        other => Err(format!("unknown kind {other:?}")),
    }
}

fn round_trip<T: DeserializeOwned + Serialize>(resource: &Value) -> Result<(), String> {
    let typed: T = serde_json::from_value(resource.clone()).map_err(|error| error.to_string())?;
    let written = serde_json::to_value(typed).map_err(|error| error.to_string())?;
    compare("", resource, &written)
}

/// Equal, but for fields that hold the zero of their type on one side and are absent on the other.
pub(super) fn compare(path: &str, left: &Value, right: &Value) -> Result<(), String> {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            for name in left.keys().chain(right.keys()) {
                let (left, right) =
                    (left.get(name).unwrap_or(&Value::Null), right.get(name).unwrap_or(&Value::Null));
                compare(&format!("{path}.{name}"), left, right)?;
            }
            Ok(())
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            left.iter().zip(right).try_for_each(|(left, right)| compare(&format!("{path}[]"), left, right))
        }
        _ if left == right || (zero(left) && zero(right)) => Ok(()),
        // A quantity that was written as a number is the same one as a string.
        (Value::Number(number), Value::String(text)) if number.to_string() == *text => Ok(()),
        _ => Err(format!("{path}: {left} became {right}")),
    }
}

fn zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        Value::Array(value) => value.is_empty(),
        Value::Object(value) => value.values().all(zero),
    }
}
