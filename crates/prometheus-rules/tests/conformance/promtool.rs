//! Prometheus' own word on what we generate: `promtool check rules` of the version it was generated for.
//!
//! `CAPSTAN_PROMTOOL` names the programs (`3.15.0=/path/promtool,…`); without it nothing is tested, aloud. The recorded expressions
//! are of Prometheus 3.14, and older ones lack some of their functions: upstream, as we, takes the words of the newest for all.

use std::path::PathBuf;

use conformance::tools;
use prometheus_rules::conformance::answer;
use serde_json::{Value, json};

/// The Prometheus whose expressions were recorded.
const RECORDED: (u32, u32) = (3, 14);

#[test]
fn promtool_takes_our_rule_files() {
    let tools = tools("CAPSTAN_PROMTOOL");
    if tools.is_empty() {
        println!(
            "SKIPPED, NOTHING WAS TESTED: CAPSTAN_PROMTOOL names no program, such as 3.15.0=/path/promtool"
        );
    }
    for tool in tools {
        let mut inputs = vec![("every field".to_owned(), every_field())];
        if minor(&tool.version) >= RECORDED {
            inputs.extend(recorded());
        }
        let texts: Vec<(String, String)> = inputs
            .into_iter()
            .filter_map(|(name, mut input)| {
                input["options"]["version"] = json!(tool.version);
                let answer = answer("rules", &input).ok()?;
                Some((name, answer["yaml"].as_str().unwrap().to_owned()))
            })
            .collect();
        assert!(!texts.is_empty());
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("rules-{}", tool.version));
        std::fs::create_dir_all(&directory).unwrap();
        let refused = tool.refused(&["check", "rules", "--lint=none"], &texts, &directory);
        println!("promtool {}: {} rule files, {} refused", tool.version, texts.len(), refused.len());
        let said: Vec<String> = refused.into_iter().map(|(name, said)| format!("{name}: {said}")).collect();
        assert!(said.is_empty(), "{}, {} are refused:\n{}", tool.version, said.len(), said.join("\n"));
    }
}

/// Recorded rules for Prometheus that need no feature to be switched on.
fn recorded() -> Vec<(String, Value)> {
    let Some(data) = conformance::data(env!("CARGO_MANIFEST_DIR")) else {
        println!("SKIPPED: no conformance data");
        return Vec::new();
    };
    let cases = conformance::read(&data.join("prometheus")).unwrap().into_iter();
    cases
        .filter(|case| case.area == "rules" && case.note.is_none())
        .filter(|case| case.input["options"]["target"] == "Prometheus")
        .filter(|case| case.input["options"].get("promqlOptions").is_none())
        .map(|case| (case.name, case.input))
        .collect()
}

/// What an object may say, in words of every version.
fn every_field() -> Value {
    let alert = json!({
        "alert": "Down", "expr": "up{job=~\"a|b\"} == 0 and on (instance) rate(x[5m]) > 1", "for": "5m", "keep_firing_for": "10m",
        "labels": {"severity": "page", "value": "{{ $value | humanize }}"},
        "annotations": {"summary": "{{ $labels.instance }} is down: \"{{ printf \"%.2f\" $value }}\""},
    });
    let record = json!({"record": "job:up:sum", "expr": "sum by (job) (up)", "labels": {"a": "yes"}});
    let group = json!({
        "name": "g: #1", "interval": "30s", "limit": 10, "query_offset": "1m", "partial_response_strategy": "warn",
        "labels": {"team": "0x1F"}, "rules": [alert, record, {"record": "one", "expr": 1}],
    });
    json!({
        "resources": [{
            "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
            "metadata": {"name": "r", "namespace": "ns"}, "spec": {"groups": [group, {"name": "empty"}]},
        }],
        "options": {"target": "Prometheus"},
    })
}

fn minor(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}
