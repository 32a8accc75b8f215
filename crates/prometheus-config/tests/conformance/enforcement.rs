//! A tenant's relabelings never escape an enforced namespace label, whatever they are.

use prometheus_config::{Additional, Options, Renderer, Selected, Workload};
use prometheus_types::relabel::RelabelConfig;
use prometheus_types::{PodMonitor, Probe, Prometheus, ScrapeConfig, ServiceMonitor};
use proptest::prelude::*;
use rendering::{Assets, Tree};
use serde_json::{Value, json};

use crate::relabeler::{Labels, relabel};

const LABEL: &str = "tenant";
const OWN: &str = "team-a";

/// A step that a tenant might try; most of them aim at the enforced label.
fn attempt() -> impl Strategy<Value = RelabelConfig> {
    let label = || {
        prop::sample::select(vec![
            "tenant",
            "namespace",
            "job",
            "__tmp_x",
            "__address__",
            "__param_target",
            "other",
        ])
    };
    let action = prop::sample::select(vec![
        "",
        "replace",
        "keep",
        "drop",
        "labelmap",
        "labeldrop",
        "labelkeep",
        "lowercase",
        "uppercase",
        "hashmod",
        "Replace",
        "LabelMap",
    ]);
    let regex = prop::sample::select(vec![
        "",
        "(.*)",
        "(.+)",
        "tenant",
        ".*",
        "__(.+)",
        "(tenant|other)",
        "victim",
        "(t)(.*)",
    ]);
    let target = prop::sample::select(vec![
        "tenant",
        "${1}enant",
        "${1}",
        "other",
        "__tenant",
        "tenant_",
        "__tmp_disable_sharding",
    ]);
    let replacement =
        prop::option::of(prop::sample::select(vec!["victim", "$1", "${1}", "tenant", "", "x$2"]));
    (action, regex, target, replacement, prop::collection::vec(label(), 0..3)).prop_map(
        |(action, regex, target, replacement, sources)| RelabelConfig {
            source_labels: sources.into_iter().map(str::to_owned).collect(),
            target_label: target.to_owned(),
            regex: regex.to_owned(),
            modulus: 7,
            replacement: replacement.map(str::to_owned),
            action: action.into(),
            separator: None,
        },
    )
}

/// The jobs of one monitor of each kind, all with the same steps.
fn jobs(steps: &[RelabelConfig], metric_steps: &[RelabelConfig], shards: i32) -> Vec<Tree> {
    let prometheus: Prometheus = read(
        json!({"metadata": {"name": "p", "namespace": "monitoring"}, "spec": {"enforcedNamespaceLabel": LABEL, "scrapeInterval": "30s", "shards": shards}}),
    );
    let metadata = json!({"name": "m", "namespace": OWN});
    let service: ServiceMonitor = read(
        json!({"metadata": metadata, "spec": {"selector": {}, "endpoints": [{"port": "web", "honorLabels": true, "relabelings": steps, "metricRelabelings": metric_steps}]}}),
    );
    let pod: PodMonitor = read(
        json!({"metadata": metadata, "spec": {"selector": {}, "podMetricsEndpoints": [{"port": "web", "relabelings": steps, "metricRelabelings": metric_steps}]}}),
    );
    let static_probe: Probe = read(
        json!({"metadata": metadata, "spec": {"prober": {"url": "p"}, "metricRelabelings": metric_steps, "targets": {"staticConfig": {"static": ["x"], "labels": {LABEL: "victim"}, "relabelingConfigs": steps}}}}),
    );
    let ingress_probe: Probe = read(
        json!({"metadata": {"name": "i", "namespace": OWN}, "spec": {"prober": {"url": "p"}, "metricRelabelings": metric_steps, "targets": {"ingress": {"relabelingConfigs": steps}}}}),
    );
    let config: ScrapeConfig = read(
        json!({"metadata": metadata, "spec": {"staticConfigs": [{"targets": ["x"], "labels": {LABEL: "victim"}}], "relabelings": steps, "metricRelabelings": metric_steps}}),
    );
    let selected = Selected {
        service_monitors: vec![&service],
        pod_monitors: vec![&pod],
        probes: vec![&static_probe, &ingress_probe],
        scrape_configs: vec![&config],
    };
    let options = Options { shard_retention_policy: true, ..Options::default() };
    // What Prometheus would refuse to load has to be confined, too.
    let mut renderer = Renderer::unjudged();
    let assets = Assets::new();
    let document = renderer
        .render(Workload::Server(&prometheus), options, &selected, &assets, &Additional::default())
        .unwrap();
    Tree::parse(&document.text()).unwrap().get("scrape_configs").and_then(Tree::as_list).unwrap().to_vec()
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn steps_of<'a>(job: &'a Tree, key: &str) -> &'a [Tree] {
    job.get(key).and_then(Tree::as_list).unwrap_or_default()
}

/// The last step that sets a label which outlives relabeling is the enforcement.
fn enforced_last(steps: &[Tree]) -> bool {
    let visible = steps
        .iter()
        .filter_map(|step| step.get("target_label")?.as_str())
        .rfind(|label| !label.starts_with("__"));
    visible == Some(LABEL)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_tenant_relabels_the_enforced_label_is_its_own(
        steps in prop::collection::vec(attempt(), 1..6),
        metric_steps in prop::collection::vec(attempt(), 0..6),
        shards in 1..3,
    ) {
        for job in jobs(&steps, &metric_steps, shards) {
            let found = labels(&[("__address__", "10.0.0.1:80"), (LABEL, "victim"), ("job", "x"), ("__meta_kubernetes_endpoint_port_name", "web"),
                ("__meta_kubernetes_pod_container_port_name", "web"), ("__tmp_disable_sharding", "y"), ("__meta_kubernetes_service_name", "s")]);
            // The reloader has put the shard's number in.
            let written = steps_of(&job, "relabel_configs");
            let target_steps: Vec<Tree> = written.iter().filter(|step| step.get("source_labels").is_none_or(|sources| {
                !sources.as_list().unwrap_or_default().iter().any(|source| source.as_str().is_some_and(|name| name.starts_with("__tmp_current_shard")))
            })).cloned().collect();
            prop_assert!(enforced_last(&target_steps));
            if let Some(target) = relabel(found, &target_steps) {
                prop_assert_eq!(target.get(LABEL).map(String::as_str), Some(OWN), "{:?}", job.get("job_name"));
            }
            let sample = labels(&[("__name__", "up"), (LABEL, "victim"), ("other", "tenant")]);
            if let Some(sample) = relabel(sample, steps_of(&job, "metric_relabel_configs")) {
                prop_assert_eq!(sample.get(LABEL).map(String::as_str), Some(OWN), "{:?}", job.get("job_name"));
            }
        }
    }
}

#[test]
fn the_interpreter_would_see_an_escape() {
    let escape = [Tree::parse("target_label: tenant\nreplacement: victim").unwrap()];
    let target = relabel(labels(&[(LABEL, OWN)]), &escape).unwrap();
    assert_eq!(target.get(LABEL).map(String::as_str), Some("victim"));
    assert!(
        relabel(labels(&[("a", "b")]), &[Tree::parse("action: drop\nsource_labels: [a]\nregex: b").unwrap()])
            .is_none()
    );
}
