//! Prometheus' own word on what we generate: `promtool check config` of the version it was generated for.
//!
//! `CAPSTAN_PROMTOOL` names the programs (`3.15.0=/path/promtool,…`); without it nothing is tested, aloud. Certificates and keys
//! are written where the configuration says, below a directory of the test in place of `/etc/prometheus`, so that promtool finds
//! them: nothing is checked by its syntax alone.

use std::collections::BTreeMap;
use std::path::PathBuf;

use conformance::{Tool, tools};
use prometheus_config::{Additional, Checker, Options, Rejected, Renderer, Selected, Workload};
use prometheus_types::{Prometheus, PrometheusAgent};
use rendering::Assets;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::samples::{WITHOUT, specs};

const CERTIFICATES: &str = "/etc/prometheus/certs";

/// Fields that are refused whatever else is there, for want of what a sample cannot have.
const REFUSED: &[(&str, &str, &str)] = &[];

#[test]
fn promtool_takes_every_field_of_every_kind() {
    run(|version| {
        let mut texts = Texts::default();
        for kind in ["Prometheus", "PrometheusAgent", "ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig"]
        {
            let mut refusals: BTreeMap<String, Vec<Rejected>> = BTreeMap::new();
            for (at, without) in WITHOUT.iter().enumerate() {
                for (field, spec) in specs(kind, without) {
                    let known = refusals.entry(field.clone()).or_default();
                    match rendered(kind, &spec, version, &assets()) {
                        Ok((text, files)) => texts.add(format!("{kind} {field} ({at})"), text, files),
                        Err(refused) => known.push(refused),
                    }
                }
            }
            // In the newest version every field can be used; older ones refuse some.
            if version.starts_with("3.15") {
                for (field, refused) in refusals.iter().filter(|(_, refused)| refused.len() == WITHOUT.len())
                {
                    let expected = REFUSED.iter().any(|(of, name, _)| *of == kind && name == field);
                    assert!(expected, "{kind} {field} is always refused: {}", refused[0]);
                }
            }
        }
        texts
    });
}

#[test]
fn promtool_takes_the_answers_to_recorded_cases() {
    let Some(data) = conformance::data(env!("CARGO_MANIFEST_DIR")) else {
        println!("SKIPPED: no conformance data");
        return;
    };
    let cases = conformance::read(&data.join("prometheus")).unwrap();
    let cases: Vec<_> = cases
        .into_iter()
        .filter(|case| {
            case.note.is_none() && ["prometheus-config", "agent-config"].contains(&case.area.as_str())
        })
        .filter(|case| case.name.starts_with("generated/") || case.name.starts_with("version-matrix/"))
        .collect();
    run(|version| {
        let mut texts = Texts::default();
        for case in &cases {
            let mut input = case.input.clone();
            for resource in input["resources"].as_array_mut().unwrap() {
                if resource["kind"].as_str().unwrap().starts_with("Prometheus") {
                    resource["spec"]["version"] = json!(version);
                    // Another version may refuse them: then there would be nothing to check.
                    resource["spec"].as_object_mut().unwrap().remove("otlp");
                }
            }
            if let Ok(answer) = prometheus_config::conformance::answer(&case.area, &input) {
                let yaml = answer["yaml"].as_str().unwrap().to_owned();
                texts.add(format!("{} {}", case.area, case.name), yaml, BTreeMap::new());
            }
        }
        texts
    });
}

/// Documents by name, and the files that they refer to.
#[derive(Default)]
struct Texts {
    texts: Vec<(String, String)>,
    files: BTreeMap<String, Vec<u8>>,
}

impl Texts {
    fn add(&mut self, name: String, text: String, files: BTreeMap<String, Vec<u8>>) {
        self.texts.push((name, text));
        self.files.extend(files);
    }
}

fn run(made_for: impl Fn(&str) -> Texts) {
    let tools = tools("CAPSTAN_PROMTOOL");
    if tools.is_empty() {
        println!(
            "SKIPPED, NOTHING WAS TESTED: CAPSTAN_PROMTOOL names no program, such as 3.15.0=/path/promtool"
        );
    }
    for tool in tools {
        let made = made_for(&tool.version);
        assert!(!made.texts.is_empty());
        let refused = check(&tool, made);
        assert!(refused.is_empty(), "{} are refused:\n{}", refused.len(), refused.join("\n"));
    }
}

fn check(tool: &Tool, made: Texts) -> Vec<String> {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("promtool-{}", tool.version));
    std::fs::create_dir_all(&directory).unwrap();
    let root = directory.display().to_string();
    let mut texts = made.texts;
    for (_, text) in &mut texts {
        for file in files_below(text, CERTIFICATES) {
            std::fs::write(directory.join(&file), made.files.get(&file).map_or(&b"x"[..], Vec::as_slice))
                .unwrap();
        }
        *text = text.replace(CERTIFICATES, &root);
    }
    let refused = tool.refused(&["check", "config"], &texts, &directory);
    println!("promtool {}: {} configurations, {} refused", tool.version, texts.len(), refused.len());
    refused.into_iter().map(|(name, said)| format!("{}, {name}: {said}", tool.version)).collect()
}

/// The names of files below a directory that a document mentions.
fn files_below(text: &str, directory: &str) -> Vec<String> {
    let prefix = format!("{directory}/");
    text.split(&prefix)
        .skip(1)
        .map(|rest| rest.split(['\n', '"', '\'']).next().unwrap_or_default().to_owned())
        .collect()
}

/// The configuration of an object, alone but for the workload that selects it.
fn rendered(
    kind: &str,
    spec: &Value,
    version: &str,
    assets: &Assets,
) -> Result<(String, BTreeMap<String, Vec<u8>>), Rejected> {
    let workload_spec = if kind.starts_with("Prometheus") { spec.clone() } else { json!({}) };
    let mut prometheus: Prometheus = object(&workload_spec);
    let mut agent: PrometheusAgent =
        object(&if kind == "PrometheusAgent" { workload_spec } else { json!({}) });
    for common in [&mut prometheus.spec.common, &mut agent.spec.common] {
        common.pod.version = version.to_owned();
        if common.scrape_interval.is_empty() {
            common.scrape_interval = "30s".into();
        }
    }
    let workload =
        if kind == "PrometheusAgent" { Workload::Agent(&agent) } else { Workload::Server(&prometheus) };
    let unusable = |error: String| Rejected::new("spec", error);
    let checker = Checker::new(workload, assets).map_err(|error| unusable(error.to_string()))?;
    let (mut service, mut pod, mut probe, mut config) = Default::default();
    let mut files = checker.workload(workload)?;
    files.extend(match kind {
        "ServiceMonitor" => checker.service_monitor(put(&mut service, spec))?,
        "PodMonitor" => checker.pod_monitor(put(&mut pod, spec))?,
        "Probe" => checker.probe(put(&mut probe, spec))?,
        "ScrapeConfig" => checker.scrape_config(put(&mut config, spec))?,
        _ => BTreeMap::new(),
    });
    let selected = Selected {
        service_monitors: service.iter().collect(),
        pod_monitors: pod.iter().collect(),
        probes: probe.iter().collect(),
        scrape_configs: config.iter().collect(),
    };
    let options = Options {
        endpoint_slices: true,
        topology_sharding: true,
        shard_retention_policy: true,
        ..Options::default()
    };
    let mut renderer = Renderer::new();
    let document = renderer.render(workload, options, &selected, assets, &Additional::default());
    Ok((document.map_err(|error| unusable(error.to_string()))?.text(), files))
}

fn put<'a, T: DeserializeOwned>(place: &'a mut Option<T>, spec: &Value) -> &'a T {
    place.insert(object(spec))
}

fn object<T: DeserializeOwned>(spec: &Value) -> T {
    serde_json::from_value(json!({"metadata": {"name": "x", "namespace": "ns"}, "spec": spec})).unwrap()
}

/// A Secret with a text and a certificate. Keys are not kept in a repository: pairs of both come with the recorded cases.
fn assets() -> Assets {
    let entry = |key: &str, value: &str| (key.to_owned(), value.as_bytes().to_vec());
    let mut assets = Assets::new();
    assets.add_secret("ns", "s", [entry("text", "secret"), entry("ca.crt", AUTHORITY)]);
    assets
}

const AUTHORITY: &str = "\
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
