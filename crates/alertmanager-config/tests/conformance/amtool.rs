//! Alertmanager's own word on what we generate: `amtool check-config` of the version it was generated for.
//!
//! `CAPSTAN_AMTOOL` names the programs (`0.34.2=/path/amtool,…`); without it nothing is tested, aloud.
//! Certificates are taken out first: they would have to be on this machine.

use std::path::PathBuf;

use alertmanager_config::{Request, provision};
use conformance::{Tool, tools};
use prometheus_types::Alertmanager;
use serde_json::{Value, json};

use crate::injection::{VARIANTS, assets, object, one_sort_each};
use crate::isolation::{World, cases, world};

#[test]
fn amtool_loads_every_field_of_every_receiver() {
    run(|tool| {
        let objects = VARIANTS.iter().flat_map(|without| one_sort_each(&object(without)));
        let mut made = Vec::new();
        for (at, object) in objects.enumerate() {
            let alertmanager: Alertmanager = serde_json::from_value(json!({
                "metadata": {"name": "main", "namespace": "ns"},
                "spec": {"alertmanagerConfigSelector": {}, "version": tool.version},
            }))
            .unwrap();
            let configs = [serde_json::from_value(object).unwrap()];
            let assets = assets("value");
            let request = Request { alertmanager: &alertmanager, configs: &configs, assets: &assets };
            made.push((format!("object {at}"), provision(&request).unwrap().configuration));
        }
        made
    });
}

#[test]
fn amtool_loads_the_answers_to_recorded_cases() {
    let Some(cases) = cases("alertmanager-config.jsonl") else {
        skipped::because(conformance::NO_DATA);
        return;
    };
    run(|tool| {
        let mut made = Vec::new();
        for case in &cases {
            let base = case["input"]["options"]["baseConfig"].as_str().unwrap().to_owned();
            // What the user's own configuration needs is the user's affair.
            if !refused(tool, &[("base".to_owned(), base)]).is_empty() {
                continue;
            }
            let World { mut alertmanager, configs, assets } = world(&without_certificates(case));
            alertmanager.spec.pod.version = tool.version.clone();
            let request = Request { alertmanager: &alertmanager, configs: &configs, assets: &assets };
            // A base for another version is refused, which is another test's affair.
            if let Ok(answer) = provision(&request) {
                made.push((case["case"].to_string(), answer.configuration));
            }
        }
        made
    });
}

fn run(made_for: impl Fn(&Tool) -> Vec<(String, String)>) {
    let tools = tools("CAPSTAN_AMTOOL");
    if tools.is_empty() {
        skipped::because("CAPSTAN_AMTOOL names no program, such as 0.34.2=/path/amtool");
        return;
    }
    for tool in tools {
        let made = made_for(&tool);
        let refused = refused(&tool, &made);
        println!("amtool {}: {} configurations, {} refused", tool.version, made.len(), refused.len());
        let said: Vec<String> = refused.into_iter().map(|(name, said)| format!("{name}: {said}")).collect();
        assert!(said.is_empty(), "{}, {} are refused:\n{}", tool.version, said.len(), said.join("\n"));
    }
}

fn refused(tool: &Tool, texts: &[(String, String)]) -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("amtool-{}", tool.version));
    std::fs::create_dir_all(&directory).unwrap();
    tool.refused(&["check-config"], texts, &directory)
}

fn without_certificates(case: &Value) -> Value {
    let mut case = case.clone();
    remove(&mut case["input"]["resources"]);
    case
}

fn remove(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("tlsConfig");
            map.values_mut().for_each(remove);
        }
        Value::Array(items) => items.iter_mut().for_each(remove),
        _ => {}
    }
}
