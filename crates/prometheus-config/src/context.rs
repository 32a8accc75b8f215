//! What a configuration is rendered for: the workload, its version, the switches of the operator, the assets.

use std::cell::RefCell;
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMapKeySelector, SecretKeySelector};
use prometheus_types::auth::SecretOrConfigMap;
use prometheus_types::prometheus::server_and_agent::CommonPrometheusFields;
use prometheus_types::scrape::ScrapeClass;
use prometheus_types::validity::client::check_authorization;
use prometheus_types::{Prometheus, PrometheusAgent};
use rendering::{Assets, Missing, Version, VersionError};

use crate::gates::{Field, Known};
use crate::validate::Rejected;
use crate::validate::relabel::check_relabelings;

/// The version of Prometheus that is deployed when a resource names none.
pub const DEFAULT_VERSION: &str = "v3.14.0";

/// Switches of the operator, and facts about its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The cluster serves EndpointSlices.
    pub endpoint_slices: bool,
    /// Feature gate PrometheusTopologySharding.
    pub topology_sharding: bool,
    /// Feature gate PrometheusShardRetentionPolicy.
    pub shard_retention_policy: bool,
    /// Pods carry the label of their zone (Kubernetes 1.35).
    pub pod_topology_labels: bool,
    /// The agent runs as a DaemonSet.
    pub daemon_set: bool,
}

/// A Prometheus or a PrometheusAgent.
#[derive(Clone, Copy, Debug)]
pub enum Workload<'a> {
    Server(&'a Prometheus),
    Agent(&'a PrometheusAgent),
}

/// A workload that cannot have a configuration, whatever it selects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error("spec.version: {0}")]
    Version(#[from] VersionError),
    #[error("spec.version: Prometheus {0} is not supported; use a version 2 or 3")]
    UnsupportedVersion(Version),
    #[error("spec.{0}")]
    Invalid(#[from] Rejected),
}

impl<'a> Workload<'a> {
    pub fn common(self) -> &'a CommonPrometheusFields {
        match self {
            Self::Server(prometheus) => &prometheus.spec.common,
            Self::Agent(agent) => &agent.spec.common,
        }
    }

    pub fn namespace(self) -> &'a str {
        let metadata = match self {
            Self::Server(prometheus) => &prometheus.metadata,
            Self::Agent(agent) => &agent.metadata,
        };
        metadata.namespace.as_deref().unwrap_or_default()
    }

    pub fn name(self) -> &'a str {
        let metadata = match self {
            Self::Server(prometheus) => &prometheus.metadata,
            Self::Agent(agent) => &agent.metadata,
        };
        metadata.name.as_deref().unwrap_or_default()
    }

    /// The version that decides about gates: never that of an image.
    pub fn version(self) -> Result<Version, Unusable> {
        let version = &self.common().pod.version;
        let version = Version::parse(if version.is_empty() { DEFAULT_VERSION } else { version })?;
        if matches!(version.major(), 2 | 3) {
            Ok(version)
        } else {
            Err(Unusable::UnsupportedVersion(version))
        }
    }
}

/// Everything that the parts of a configuration depend on besides the monitor they are made from.
#[derive(Debug)]
pub struct Context<'a> {
    pub version: Version,
    pub known: Known,
    pub common: &'a CommonPrometheusFields,
    pub namespace: &'a str,
    pub name: &'a str,
    pub options: Options,
    pub assets: &'a Assets,
    classes: BTreeMap<&'a str, &'a ScrapeClass>,
    default_class: Option<&'a ScrapeClass>,
    no_class: ScrapeClass,
    reads: RefCell<Vec<Read>>,
}

/// A key that was looked up, found or not: what a rendered fragment depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) secret: bool,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) key: String,
}

impl<'a> Context<'a> {
    pub fn new(workload: Workload<'a>, options: Options, assets: &'a Assets) -> Result<Self, Unusable> {
        let version = workload.version()?;
        let common = workload.common();
        let known = Known::by(&version);
        let default_class = check_classes(common, &known)?;
        let classes: BTreeMap<&str, &ScrapeClass> =
            common.scrape_classes.iter().map(|class| (class.name.as_str(), class)).collect();
        Ok(Self {
            known,
            version,
            common,
            namespace: workload.namespace(),
            name: workload.name(),
            options,
            assets,
            default_class: classes.get(default_class).copied().filter(|class| !class.name.is_empty()),
            classes,
            no_class: ScrapeClass::default(),
            reads: RefCell::default(),
        })
    }

    /// The class that a monitor names, or the default one, or one that changes nothing.
    pub(crate) fn class(&self, name: Option<&str>) -> &ScrapeClass {
        name.and_then(|name| self.classes.get(name).copied()).or(self.default_class).unwrap_or(&self.no_class)
    }

    /// References of an object in a namespace.
    pub(crate) fn scope<'s>(&'s self, namespace: &'s str) -> Scope<'s> {
        Scope { known: &self.known, assets: self.assets, namespace, reads: Some(&self.reads) }
    }

    /// What was looked up since the last call.
    pub(crate) fn take_reads(&self) -> Vec<Read> {
        self.reads.take()
    }

    /// How many shards the targets are divided among.
    pub(crate) fn shards(&self) -> i32 {
        self.common.shards.unwrap_or(1).max(1)
    }
}

/// The name of the class that monitors get which name none; empty when there is none, or when it has no name to be found by.
fn check_classes<'a>(common: &'a CommonPrometheusFields, known: &Known) -> Result<&'a str, Rejected> {
    let mut default = "";
    for class in &common.scrape_classes {
        check_class(class, known).map_err(|error| error.within(&format!("scrapeClasses[{}]", class.name)))?;
        if class.default == Some(true) && !std::mem::replace(&mut default, &class.name).is_empty() {
            return Err(Rejected::new(
                "scrapeClasses",
                "more than one class is the default; leave `default` on one of them",
            ));
        }
    }
    Ok(default)
}

fn check_class(class: &ScrapeClass, known: &Known) -> Result<(), Rejected> {
    check_relabelings("relabelings", &class.relabelings, known)?;
    check_relabelings("metricRelabelings", &class.metric_relabelings, known)?;
    if let Some(tls) = &class.tls_config {
        tls_assets::validate(tls).map_err(|error| Rejected::new("tlsConfig", error))?;
    }
    match &class.authorization {
        Some(authorization) => Ok(check_authorization(authorization)?),
        None => Ok(()),
    }
}

/// Where references are resolved: the namespace of the object that makes them.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    pub(crate) known: &'a Known,
    assets: &'a Assets,
    namespace: &'a str,
    reads: Option<&'a RefCell<Vec<Read>>>,
}

impl<'a> Scope<'a> {
    /// For an operand whose gates were applied before.
    pub(crate) fn ungated(known: &'a Known, assets: &'a Assets, namespace: &'a str) -> Self {
        Self { known, assets, namespace, reads: None }
    }

    pub(crate) fn namespace(&self) -> &str {
        self.namespace
    }

    pub(crate) fn has(&self, field: Field) -> bool {
        self.known.has(field)
    }

    pub(crate) fn secret(&self, selector: &SecretKeySelector) -> Result<String, Missing> {
        self.note(true, &selector.name, &selector.key);
        self.assets.secret(self.namespace, &selector.name, &selector.key).map(lossy)
    }

    /// The content of a key, or nothing where it is missing: selection has said so already.
    pub(crate) fn secret_or_empty(&self, selector: &SecretKeySelector) -> String {
        self.secret(selector).unwrap_or_default()
    }

    fn config_map(&self, selector: &ConfigMapKeySelector) -> Result<String, Missing> {
        self.note(false, &selector.name, &selector.key);
        self.assets.config_map(self.namespace, &selector.name, &selector.key).map(lossy)
    }

    pub(crate) fn secret_or_config_map(&self, selector: &SecretOrConfigMap) -> Result<String, Missing> {
        match (&selector.secret, &selector.config_map) {
            (Some(secret), _) => self.secret(secret),
            (None, Some(config_map)) => self.config_map(config_map),
            (None, None) => Ok(String::new()),
        }
    }

    fn note(&self, secret: bool, name: &str, key: &str) {
        if let Some(reads) = self.reads {
            let namespace = self.namespace.to_owned();
            reads.borrow_mut().push(Read { secret, namespace, name: name.to_owned(), key: key.to_owned() });
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn default_class(classes: serde_json::Value) -> Result<Option<String>, Unusable> {
        let prometheus = json!({"metadata": {"name": "k8s"}, "spec": {"scrapeClasses": classes}});
        let prometheus: Prometheus = serde_json::from_value(prometheus).unwrap();
        let assets = Assets::new();
        let context = Context::new(Workload::Server(&prometheus), Options::default(), &assets)?;
        Ok(context.default_class.map(|class| format!("{}/{}", class.name, class.relabelings.len())))
    }

    #[test]
    fn the_default_class_is_found_by_its_name() {
        let one = json!({"name": "a", "default": true});
        assert_eq!(default_class(json!([one])).unwrap(), Some("a/0".into()));
        assert_eq!(default_class(json!([{"default": true}])).unwrap(), None);
        let later = json!({"name": "a", "relabelings": [{"targetLabel": "x", "replacement": "y"}]});
        assert_eq!(default_class(json!([one, later])).unwrap(), Some("a/1".into()));
        assert!(default_class(json!([one, {"name": "b", "default": true}])).is_err());
    }
}
