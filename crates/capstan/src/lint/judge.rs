//! What the operators would say to an object that the API server takes.

use std::collections::BTreeSet;

use etcd_core::validate::{Running, judge};
use etcd_types::EtcdCluster;
use prometheus_config::{
    Additional, Checker, ConfigError, Options, Rejected, Renderer, Selected, Unfit, Workload, thanos_ruler,
};
use prometheus_rules::NameScheme;
use prometheus_types::alertmanager_config::v1beta1;
use prometheus_types::scrape::ScrapeClass;
use prometheus_types::{
    Alertmanager, AlertmanagerConfig, PodMonitor, Probe, Prometheus, PrometheusAgent, PrometheusRule,
    ScrapeConfig, ServiceMonitor, ThanosRuler,
};
use rendering::{Assets, Version};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::kinds::Said;
use super::read::{Document, text};
use super::{Names, alerting};

/// What an API server stores with a workload that names no interval.
const DEFAULT_INTERVAL: &str = "30s";

pub(super) struct Judge {
    rules: prometheus_rules::Judge,
    /// Of the Prometheus that would load rules: known where the files name one version, and no ruler.
    rules_version: Option<Version>,
    /// What the files themselves hold, and what they refer to besides.
    assets: Assets,
    /// Stands for the Prometheus that would select monitors: the version that the files name, if it is one, and all their
    /// scrape classes.
    prometheus: Prometheus,
    /// Without a workload among the files, nobody knows which classes there are.
    classes_known: bool,
}

impl Judge {
    pub(super) fn new(documents: &[Document], features: &[String], names: Names) -> Self {
        let of_kind = |kind: &str| -> Vec<Value> {
            documents
                .iter()
                .filter(|document| document.text("/kind") == kind)
                .map(|document| document.value.clone())
                .collect()
        };
        let servers = of_kind("Prometheus");
        let rules_version = one_version(&servers)
            .filter(|_| of_kind("ThanosRuler").is_empty())
            .and_then(|version| Version::parse(version).ok());
        let workloads = [servers, of_kind("PrometheusAgent")].concat();
        let mut prometheus = Prometheus::default();
        let common = &mut prometheus.spec.common;
        common.scrape_classes = workloads.iter().flat_map(scrape_classes).collect();
        common.scrape_interval = DEFAULT_INTERVAL.into();
        if let Some(version) = one_version(&workloads) {
            common.pod.version = version.to_owned();
        }
        prometheus.spec.evaluation_interval = DEFAULT_INTERVAL.into();
        let mut assets = Assets::from_objects(&of_kind("Secret"), &of_kind("ConfigMap"));
        for document in documents {
            let mut references = BTreeSet::new();
            collect_references(&document.value, &mut references);
            for (name, key) in references {
                assets.assume(document.text("/metadata/namespace"), name, key);
            }
        }
        let names = if names == Names::Legacy { NameScheme::Legacy } else { NameScheme::Utf8 };
        Self {
            rules: prometheus_rules::Judge { names, promql: prometheus_rules::promql_options(features) },
            rules_version,
            assets,
            prometheus,
            classes_known: !workloads.is_empty(),
        }
    }

    pub(super) fn check(&self, object: &Value) -> Vec<Said> {
        match (text(object, "/apiVersion"), text(object, "/kind")) {
            ("monitoring.coreos.com/v1", "PrometheusRule") => read::<PrometheusRule>(object, |rule| {
                let findings = match &self.rules_version {
                    Some(version) => prometheus_rules::validate_for_version(&rule.spec, &self.rules, version),
                    None => prometheus_rules::validate(&rule.spec, &self.rules),
                };
                findings.into_iter().map(|finding| (finding.field, finding.message)).collect()
            }),
            ("monitoring.coreos.com/v1alpha1", "AlertmanagerConfig") => {
                read::<AlertmanagerConfig>(object, |config| alerting::config(config, &self.assets))
            }
            ("monitoring.coreos.com/v1beta1", "AlertmanagerConfig") => {
                read::<v1beta1::AlertmanagerConfig>(object, |config| alerting::config_v1beta1(&config))
            }
            ("monitoring.coreos.com/v1", "Alertmanager") => {
                read::<Alertmanager>(object, |it| alerting::alertmanager(&it, &self.assets))
            }
            (api, kind) if api.starts_with("monitoring.coreos.com/") => self.scraping(kind, object),
            (_, "EtcdCluster") => read::<EtcdCluster>(object, |cluster| {
                let refusals = judge(&cluster.spec, &Running::default()).refusals;
                refusals.into_iter().map(|refusal| (refusal.field.to_owned(), refusal.why)).collect()
            }),
            _ => Vec::new(),
        }
    }

    /// Monitors, and the workloads that select them.
    fn scraping(&self, kind: &str, object: &Value) -> Vec<Said> {
        match kind {
            "ServiceMonitor" => self.monitor::<ServiceMonitor>(
                object,
                |checker, monitor| checker.service_monitor(monitor).map(drop),
                |monitor| Selected { service_monitors: vec![monitor], ..Selected::default() },
            ),
            "PodMonitor" => self.monitor::<PodMonitor>(
                object,
                |checker, monitor| checker.pod_monitor(monitor).map(drop),
                |monitor| Selected { pod_monitors: vec![monitor], ..Selected::default() },
            ),
            "Probe" => self.monitor::<Probe>(
                object,
                |checker, probe| checker.probe(probe).map(drop),
                |probe| Selected { probes: vec![probe], ..Selected::default() },
            ),
            "ScrapeConfig" => self.monitor::<ScrapeConfig>(
                object,
                |checker, config| checker.scrape_config(config).map(drop),
                |config| Selected { scrape_configs: vec![config], ..Selected::default() },
            ),
            "Prometheus" => {
                read::<Prometheus>(object, |prometheus| self.workload(Workload::Server(&prometheus)))
            }
            "PrometheusAgent" => {
                read::<PrometheusAgent>(object, |agent| self.workload(Workload::Agent(&agent)))
            }
            "ThanosRuler" => read::<ThanosRuler>(object, |ruler| {
                let made = thanos_ruler::remote_write_file(&ruler, &self.assets);
                made.err().map(|error| split(&error.to_string())).into_iter().collect()
            }),
            _ => Vec::new(),
        }
    }

    /// Would a Prometheus take the monitor, and load what becomes of it?
    fn monitor<K: DeserializeOwned>(
        &self,
        object: &Value,
        check: impl FnOnce(&Checker<'_>, &K) -> Result<(), Rejected>,
        select: impl for<'k> FnOnce(&'k K) -> Selected<'k>,
    ) -> Vec<Said> {
        let mut prometheus = self.prometheus.clone();
        let class = text(object, "/spec/scrapeClass");
        if !self.classes_known && !class.is_empty() {
            prometheus
                .spec
                .common
                .scrape_classes
                .push(ScrapeClass { name: class.to_owned(), ..ScrapeClass::default() });
        }
        let workload = Workload::Server(&prometheus);
        let checker = match Checker::new(workload, &self.assets) {
            Ok(checker) => checker,
            Err(unusable) => return vec![split(&unusable.to_string())],
        };
        read::<K>(object, |monitor| {
            let said = within_spec(check(&checker, &monitor));
            if !said.is_empty() {
                return said;
            }
            let mut renderer = Renderer::new();
            // What is wrong with the workload is said where the workload stands.
            drop(self.render(&mut renderer, workload, &select(&monitor)));
            let unloadable = renderer.left_out().filter_map(|left_out| match left_out.why {
                Unfit::Unloadable(rejected) => Some(rejected),
                Unfit::Missing(_) => None,
            });
            unloadable.flat_map(|rejected| within_spec(Err(rejected))).collect()
        })
    }

    fn workload(&self, workload: Workload<'_>) -> Vec<Said> {
        let checked = Checker::new(workload, &self.assets).map_err(ConfigError::from);
        let checked = checked.and_then(|checker| Ok(checker.workload(workload).map(drop)?));
        let made = checked.and_then(|()| self.render(&mut Renderer::new(), workload, &Selected::default()));
        made.err().map(|error| split(&error.to_string())).into_iter().collect()
    }

    fn render(
        &self,
        renderer: &mut Renderer,
        workload: Workload<'_>,
        selected: &Selected<'_>,
    ) -> Result<(), ConfigError> {
        let options = Options { endpoint_slices: true, ..Options::default() };
        renderer.render(workload, options, selected, &self.assets, &Additional::default()).map(drop)
    }
}

/// A message in its two parts: the field, and what is wrong with it.
fn split(said: &str) -> Said {
    let (field, why) = said.split_once(": ").unwrap_or(("spec", said));
    (field.to_owned(), why.to_owned())
}

/// Every `{name: …, key: …}` in an object.
fn collect_references<'a>(value: &'a Value, references: &mut BTreeSet<(&'a str, &'a str)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, references)),
        Value::Object(fields) => {
            let field = |name: &str| fields.get(name).and_then(Value::as_str);
            if let (Some(name), Some(key)) = (field("name"), field("key")) {
                references.insert((name, key));
            }
            fields.values().for_each(|value| collect_references(value, references));
        }
        _ => {}
    }
}

/// The version that all of these workloads are of; empty for the default.
fn one_version(workloads: &[Value]) -> Option<&str> {
    let mut versions = workloads.iter().map(|workload| text(workload, "/spec/version"));
    let first = versions.next()?;
    versions.all(|version| version == first).then_some(first)
}

fn scrape_classes(workload: &Value) -> Vec<ScrapeClass> {
    let classes = workload.pointer("/spec/scrapeClasses");
    classes.and_then(|classes| Vec::deserialize(classes).ok()).unwrap_or_default()
}

/// The object as its type; what the schema lets pass and the type does not is a finding, too.
fn read<K: DeserializeOwned>(object: &Value, check: impl FnOnce(K) -> Vec<Said>) -> Vec<Said> {
    match serde_json::from_value(object.clone()) {
        Ok(typed) => check(typed),
        Err(error) => vec![("spec".to_owned(), error.to_string())],
    }
}

fn within_spec(verdict: Result<(), Rejected>) -> Vec<Said> {
    verdict.err().map(|rejected| (format!("spec.{}", rejected.field), rejected.why)).into_iter().collect()
}
