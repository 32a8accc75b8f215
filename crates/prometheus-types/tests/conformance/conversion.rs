//! AlertmanagerConfigs are converted as upstream's webhook converts them.

use std::fs;

use prometheus_types::alertmanager_config::{AlertmanagerConfigSpec, v1beta1};
use serde_json::Value;

/// Where we are right and upstream is not: field, why.
const MENDED: &[(&str, &str)] = &[(
    ".receivers[].pushoverConfigs[].ttl:",
    "upstream forgets it on the way to v1beta1, which has the field too",
)];

#[test]
fn both_ways_are_those_of_upstream() {
    let Some(directory) = super::data_or_skipped("prometheus") else { return };
    let (mut converted, mut failures) = (0, String::new());
    for line in fs::read_to_string(directory.join("admission.jsonl")).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["input"]["options"]["path"] != "/convert" {
            continue;
        }
        let review: Value =
            serde_json::from_str(case["input"]["options"]["requestBody"].as_str().unwrap()).unwrap();
        let expected =
            case["expect"]["object"]["response"]["response"]["convertedObjects"].as_array().unwrap();
        for (object, expected) in review["request"]["objects"].as_array().unwrap().iter().zip(expected) {
            converted += 1;
            let spec = convert(&review["request"]["desiredAPIVersion"], object["spec"].clone()).unwrap();
            if let Err(difference) = super::round_trip::compare("", &expected["spec"], &spec)
                && !MENDED.iter().any(|(field, _)| difference.starts_with(field))
            {
                failures += &format!("{}: {difference}\n", case["case"]);
            }
        }
    }
    assert!(converted > 100, "hardly any conversions were found: {converted}");
    assert!(failures.is_empty(), "\n{failures}");
}

fn convert(version: &Value, spec: Value) -> serde_json::Result<Value> {
    match version.as_str() {
        Some("monitoring.coreos.com/v1beta1") => {
            let spec: AlertmanagerConfigSpec = serde_json::from_value(spec)?;
            serde_json::to_value(v1beta1::AlertmanagerConfigSpec::try_from(spec)?)
        }
        _ => {
            let spec: v1beta1::AlertmanagerConfigSpec = serde_json::from_value(spec)?;
            serde_json::to_value(AlertmanagerConfigSpec::try_from(spec)?)
        }
    }
}
