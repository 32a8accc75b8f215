//! Where upstream is known to be wrong, we are right.

use prometheus_config::conformance::{AREAS, answer};
use rendering::Tree;
use serde_json::Value;

/// Fields of remote write that upstream means to drop for an old Thanos but leaves in, and their keys.
const DROPPED: &[(&str, &str)] = &[
    ("roundRobinDNS", "round_robin_dns"),
    ("messageVersion", "protobuf_message"),
    ("proxyFromEnvironment", "proxy_from_environment"),
    ("noProxy", "no_proxy"),
    ("sendNativeHistograms", "send_native_histograms"),
];

#[test]
fn known_faults_of_upstream_are_mended() {
    let Some(data) = conformance::data(env!("CARGO_MANIFEST_DIR")) else {
        skipped::because(conformance::NO_DATA);
        return;
    };
    let Ok(text) = std::fs::read_to_string(data.join("prometheus/upstream-defects.jsonl")) else {
        skipped::because("the conformance data has no prometheus/upstream-defects.jsonl");
        return;
    };
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ours: Vec<&Value> =
        cases.iter().filter(|case| AREAS.contains(&case["area"].as_str().unwrap())).collect();
    for case in &ours {
        let (area, name, note) =
            (case["area"].as_str().unwrap(), &case["case"], case["note"].as_str().unwrap());
        let answered = answer(area, &case["input"]).unwrap_or_else(|error| panic!("{area} {name}: {error}"));
        let document = Tree::parse(answered["yaml"].as_str().unwrap()).unwrap();
        match area {
            "thanos-ruler-config" => {
                let (_, key) = DROPPED.iter().find(|(field, _)| note.contains(field)).unwrap();
                let entries = document.get("remote_write").and_then(Tree::as_list).unwrap();
                assert!(entries.iter().all(|entry| entry.get(key).is_none()), "{name} still has {key}");
            }
            "agent-config" => {
                let tsdb = document
                    .get("storage")
                    .and_then(|storage| storage.get("tsdb"))
                    .and_then(Tree::as_map)
                    .unwrap();
                assert!(tsdb.len() > 1, "{name}: {tsdb:?}");
            }
            _ => assert!(!answered["yaml"].as_str().unwrap().contains("authorization:"), "{name}"),
        }
    }
    assert!(!ours.is_empty());
    println!("{} of upstream's faults are mended", ours.len());
}
