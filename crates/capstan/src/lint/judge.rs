//! What the operators would say to an object that the API server takes.

use std::collections::BTreeSet;

use etcd_core::validate::{Running, judge};
use etcd_types::EtcdCluster;
use prometheus_config::{Checker, Rejected, Workload};
use prometheus_rules::NameScheme;
use prometheus_types::alertmanager_config::v1beta1;
use prometheus_types::scrape::ScrapeClass;
use prometheus_types::{
    AlertmanagerConfig, PodMonitor, Probe, Prometheus, PrometheusAgent, PrometheusRule, ScrapeConfig,
    ServiceMonitor,
};
use rendering::Assets;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Names;
use super::kinds::Said;
use super::read::{Document, text};

pub(super) struct Judge {
    rules: prometheus_rules::Judge,
    /// What the files themselves hold.
    assets: Assets,
    /// Stands for the Prometheus that would select monitors: the default version, and all scrape classes of the files.
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
        let workloads = [of_kind("Prometheus"), of_kind("PrometheusAgent")].concat();
        let mut prometheus = Prometheus::default();
        prometheus.spec.common.scrape_classes = workloads.iter().flat_map(scrape_classes).collect();
        let names = if names == Names::Legacy { NameScheme::Legacy } else { NameScheme::Utf8 };
        Self {
            rules: prometheus_rules::Judge { names, promql: prometheus_rules::promql_options(features) },
            assets: Assets::from_objects(&of_kind("Secret"), &of_kind("ConfigMap")),
            prometheus,
            classes_known: !workloads.is_empty(),
        }
    }

    pub(super) fn check(&self, object: &Value) -> Vec<Said> {
        match (text(object, "/apiVersion"), text(object, "/kind")) {
            ("monitoring.coreos.com/v1", "PrometheusRule") => read::<PrometheusRule>(object, |rule| {
                let findings = prometheus_rules::validate(&rule.spec, &self.rules);
                findings.into_iter().map(|finding| (finding.field, finding.message)).collect()
            }),
            ("monitoring.coreos.com/v1alpha1", "AlertmanagerConfig") => {
                read::<AlertmanagerConfig>(object, |config| {
                    refused(alertmanager_config::validate::v1alpha1(&config.spec))
                })
            }
            ("monitoring.coreos.com/v1beta1", "AlertmanagerConfig") => {
                read::<v1beta1::AlertmanagerConfig>(object, |config| {
                    refused(alertmanager_config::validate::v1beta1(&config.spec))
                })
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
        if !self.refers_only_to_what_is_here(object) {
            return Vec::new();
        }
        match kind {
            "ServiceMonitor" => self.monitor::<ServiceMonitor>(object, |checker, monitor| {
                checker.service_monitor(monitor).map(drop)
            }),
            "PodMonitor" => {
                self.monitor::<PodMonitor>(object, |checker, monitor| checker.pod_monitor(monitor).map(drop))
            }
            "Probe" => self.monitor::<Probe>(object, |checker, probe| checker.probe(probe).map(drop)),
            "ScrapeConfig" => self
                .monitor::<ScrapeConfig>(object, |checker, config| checker.scrape_config(config).map(drop)),
            "Prometheus" => {
                read::<Prometheus>(object, |prometheus| self.workload(Workload::Server(&prometheus)))
            }
            "PrometheusAgent" => {
                read::<PrometheusAgent>(object, |agent| self.workload(Workload::Agent(&agent)))
            }
            _ => Vec::new(),
        }
    }

    fn monitor<K: DeserializeOwned>(
        &self,
        object: &Value,
        check: impl FnOnce(&Checker<'_>, &K) -> Result<(), Rejected>,
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
        match Checker::new(Workload::Server(&prometheus), &self.assets) {
            Ok(checker) => read::<K>(object, |monitor| within_spec(check(&checker, &monitor))),
            Err(unusable) => vec![("spec".to_owned(), unusable.to_string())],
        }
    }

    fn workload(&self, workload: Workload<'_>) -> Vec<Said> {
        match Checker::new(workload, &self.assets) {
            Ok(checker) => within_spec(checker.workload(workload).map(drop)),
            Err(unusable) => {
                let said = unusable.to_string();
                let (field, why) = said.split_once(": ").unwrap_or(("spec", &said));
                vec![(field.to_owned(), why.to_owned())]
            }
        }
    }

    /// Whether every reference to a key of a Secret or ConfigMap leads to one of the files.
    fn refers_only_to_what_is_here(&self, object: &Value) -> bool {
        let namespace = text(object, "/metadata/namespace");
        let mut references = BTreeSet::new();
        collect_references(object, &mut references);
        references.into_iter().all(|(name, key)| {
            self.assets.secret(namespace, name, key).is_ok()
                || self.assets.config_map(namespace, name, key).is_ok()
        })
    }
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

fn refused(verdict: Result<(), alertmanager_config::Invalid>) -> Vec<Said> {
    verdict.err().map(|invalid| (invalid.field, invalid.problem)).into_iter().collect()
}

fn within_spec(verdict: Result<(), Rejected>) -> Vec<Said> {
    verdict.err().map(|rejected| (format!("spec.{}", rejected.field), rejected.why)).into_iter().collect()
}
