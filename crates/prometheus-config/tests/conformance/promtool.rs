//! Prometheus' own word on what we generate: `promtool check config` of the version it was generated for.
//!
//! `CAPSTAN_PROMTOOL` names the programs (`3.15.0=/path/promtool,…`); without it nothing is tested, aloud. Both directions are
//! tried: what we write is loaded, and what we leave out would not have been.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use conformance::{Tool, tools};
use prometheus_config::conformance::{World, answer};
use prometheus_config::{Renderer, Selected, Unfit};
use serde_json::{Value, json};

use crate::random::Random;
use crate::samples::{AUTHORITY, ROUNDS, specs, without};

const KINDS: [&str; 6] =
    ["Prometheus", "PrometheusAgent", "ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig"];

/// Files that Prometheus writes itself; all others that a configuration names have to be there.
const WRITTEN: [&str; 2] = ["query_log_file", "scrape_failure_log_file"];

/// As many as promtool judges in seconds.
const RANDOM_CASES: usize = 1500;

#[test]
fn promtool_takes_every_field_of_every_kind() {
    run(|version| {
        let mut texts = Texts::default();
        let mut never = Vec::new();
        for kind in KINDS {
            // By field: how often it was tried, and what was said when it was refused.
            let mut tried: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
            for round in 0..ROUNDS {
                for (field, spec) in specs(kind, &without(round)) {
                    let name = format!("{kind} {field} ({round})");
                    let (count, refusals) = tried.entry(field).or_default();
                    *count += 1;
                    refusals.extend(texts.add(&name, &input(kind, spec, version)));
                }
            }
            let refused = tried.into_iter().filter(|(_, (count, refusals))| *count == refusals.len());
            never.extend(refused.map(|(field, (_, refusals))| format!("{kind} {field}: {}", refusals[0])));
        }
        // In the newest version every field can be used; older ones refuse some.
        let newest = version.starts_with("3.15");
        assert!(!newest || never.is_empty(), "fields that are always refused:\n{}", never.join("\n"));
        texts
    });
}

#[test]
fn promtool_takes_the_answers_to_recorded_cases() {
    let Some(data) = conformance::data(env!("CARGO_MANIFEST_DIR")) else {
        skipped::because(conformance::NO_DATA);
        return;
    };
    let mut cases = conformance::read(&data.join("prometheus")).unwrap();
    cases.retain(|case| {
        case.note.is_none() && ["prometheus-config", "agent-config"].contains(&case.area.as_str())
    });
    run(|version| {
        let mut texts = Texts::default();
        for case in &cases {
            let name = format!("{} {}", case.area, case.name);
            let mut input = as_stored(case.input.clone(), version);
            texts.add(&name, &input);
            // Another version refuses them, and then there is nothing else to see.
            for resource in input["resources"].as_array_mut().unwrap() {
                if resource["spec"].as_object_mut().is_some_and(|spec| spec.remove("otlp").is_some()) {
                    texts.add(&format!("{name}, without otlp"), &input);
                    break;
                }
            }
        }
        texts
    });
}

#[test]
fn promtool_takes_what_is_kept_of_anything_and_refuses_what_is_not() {
    run(|version| {
        let mut texts = Texts::default();
        let mut random = Random::seeded(7);
        for at in 0..RANDOM_CASES {
            // Half of them are of the kind with the most to get wrong.
            let kind = if at % 2 == 0 { "ScrapeConfig" } else { KINDS[at / 2 % KINDS.len()] };
            let input = input(kind, random.spec(kind), version);
            texts.add(&format!("{kind} {at} {}", input["resources"][0]["spec"]), &input);
        }
        texts
    });
}

/// Documents by name: those that we would hand to Prometheus, and those that we would not.
#[derive(Default)]
struct Texts {
    kept: Vec<(String, String)>,
    left_out: Vec<(String, String)>,
}

impl Texts {
    /// Adds what becomes of a case; says why, if its objects are refused before anything is written.
    fn add(&mut self, name: &str, input: &Value) -> Option<String> {
        let world = World::read(input).unwrap_or_else(|error| panic!("{name}: {error}"));
        let agent =
            world.workload().is_ok_and(|workload| matches!(workload, prometheus_config::Workload::Agent(_)));
        let mark = if agent { AGENT } else { "" };
        let workload = world
            .checker()
            .and_then(|checker| checker.workload(world.workload()?).map_err(|error| error.to_string()));
        if let Err(refused) = workload {
            return Some(refused);
        }
        let selected = world.selected().unwrap();
        let mut said = answer("selection-scrape-resources", input).err();
        let mut renderer = Renderer::new();
        let mut as_upstream = |selected: &Selected<'_>, why: &str| {
            if let Ok(text) = world.render(&mut Renderer::unjudged(), selected) {
                self.left_out.push((format!("{mark}{name}: {why}"), text));
            }
        };
        match world.render(&mut renderer, &selected) {
            Ok(text) => self.kept.push((format!("{mark}{name}"), text)),
            Err(error) => {
                as_upstream(&selected, &error);
                return Some(error);
            }
        }
        for left_out in renderer.left_out() {
            let named = |metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta| {
                let part = |part: &Option<String>| part.clone().unwrap_or_default();
                format!("{}/{}", part(&metadata.namespace), part(&metadata.name)) == left_out.key
            };
            let mut alone = selected.clone();
            alone.service_monitors.retain(|it| left_out.kind == "ServiceMonitor" && named(&it.metadata));
            alone.pod_monitors.retain(|it| left_out.kind == "PodMonitor" && named(&it.metadata));
            alone.probes.retain(|it| left_out.kind == "Probe" && named(&it.metadata));
            alone.scrape_configs.retain(|it| left_out.kind == "ScrapeConfig" && named(&it.metadata));
            if matches!(left_out.why, Unfit::Unloadable(_)) {
                as_upstream(&alone, &left_out.to_string());
            }
            said = Some(left_out.to_string());
        }
        said
    }
}

/// Stands before the name of a document for an agent.
const AGENT: &str = "(agent) ";

fn run(made_for: impl Fn(&str) -> Texts) {
    let tools = tools("CAPSTAN_PROMTOOL");
    if tools.is_empty() {
        skipped::because("CAPSTAN_PROMTOOL names no program, such as 3.15.0=/path/promtool");
        return;
    }
    let mut wrong = Vec::new();
    for tool in tools {
        let made = made_for(&tool.version);
        assert!(!made.kept.is_empty());
        let refused = check(&tool, &made.kept);
        let kept = made.kept.len();
        wrong.extend(refused.iter().map(|(name, said)| format!("{} refuses {name}: {said}", tool.version)));
        let refused_rightly = check(&tool, &made.left_out);
        let taken = made
            .left_out
            .iter()
            .filter(|(name, _)| !refused_rightly.iter().any(|(refused, _)| refused == name));
        let before = wrong.len();
        wrong.extend(taken.map(|(name, _)| format!("{} would have taken {name}", tool.version)));
        println!(
            "promtool {}: {kept} configurations, {} refused; {} left out, {} of them needlessly",
            tool.version,
            refused.len(),
            made.left_out.len(),
            wrong.len() - before
        );
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What promtool says to those that it refuses.
fn check(tool: &Tool, texts: &[(String, String)]) -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("promtool-{}", tool.version));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("any-file");
    std::fs::write(&file, "x").unwrap();
    let texts = texts.iter().map(|(name, text)| (name.clone(), with_files(text, &file)));
    let (agents, servers): (Vec<_>, Vec<_>) = texts.partition(|(name, _)| name.starts_with(AGENT));
    let mut refused = tool.refused(&["check", "config"], &servers, &directory);
    refused.extend(tool.refused(&["check", "config", "--agent"], &agents, &directory));
    refused
}

/// The same configuration for this machine: the files that it names are one that is here.
fn with_files(text: &str, file: &Path) -> String {
    let line = |line: &str| match line.split_once("_file: ") {
        Some((key, path))
            if !path.trim_matches(['"', '\'']).is_empty()
                && !WRITTEN.iter().any(|name| line.contains(name)) =>
        {
            format!("{key}_file: {}\n", file.display())
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// One object, beside the workload that selects it.
fn input(kind: &str, spec: Value, version: &str) -> Value {
    let object = |kind: &str, spec: Value| {
        let group = if matches!(kind, "PrometheusAgent" | "ScrapeConfig") { "v1alpha1" } else { "v1" };
        json!({"apiVersion": format!("monitoring.coreos.com/{group}"), "kind": kind,
            "metadata": {"name": "x", "namespace": "ns"}, "spec": spec})
    };
    let mut resources = vec![object(kind, spec)];
    if !kind.starts_with("Prometheus") {
        resources.push(object("Prometheus", json!({"scrapeClasses": [{"name": "text"}]})));
    }
    // Keys are not kept in a repository: pairs of certificate and key come with the recorded cases.
    let secrets = json!([{"metadata": {"name": "s", "namespace": "ns"},
        "stringData": {"text": "secret", "empty": "", "uuid": "00000000-a12b-3c4d-e5f6-000000000000", "ca.crt": AUTHORITY}}]);
    as_stored(
        json!({"resources": resources, "secrets": secrets, "options": {"endpointSliceSupported": true}}),
        version,
    )
}

/// A case as an API server would have stored it, for a version of Prometheus, on a machine that knows its region.
fn as_stored(mut input: Value, version: &str) -> Value {
    for resource in input["resources"].as_array_mut().unwrap() {
        let workload = resource["kind"].as_str().is_some_and(|kind| kind.starts_with("Prometheus"));
        let spec = resource["spec"].as_object_mut().unwrap();
        if workload {
            spec.insert("version".to_owned(), json!(version));
            for key in ["scrapeInterval", "evaluationInterval"] {
                let default = spec.entry(key).or_insert_with(|| json!("30s"));
                if default == "" {
                    *default = json!("30s");
                }
            }
        }
        for key in ["ec2SDConfigs", "lightSailSDConfigs"] {
            for entry in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                let region =
                    entry.as_object_mut().unwrap().entry("region").or_insert_with(|| json!("eu-west-1"));
                if region == "" {
                    *region = json!("eu-west-1");
                }
            }
        }
    }
    input
}
