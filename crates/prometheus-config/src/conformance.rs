//! Answers to upstream's recorded cases: adapts their inputs to this crate, and does nothing itself.

use prometheus_types::exclusion::ObjectReference;
use prometheus_types::relabel::RelabelConfig;
use prometheus_types::remote_write::RemoteWriteSpec;
use prometheus_types::{
    PodMonitor, Probe, Prometheus, PrometheusAgent, ScrapeConfig, ServiceMonitor, ThanosRuler,
};
use rendering::{Assets, Version};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::context::{Options, Workload};
use crate::document::{Additional, Selected};
use crate::relabel::Enforcement;
use crate::renderer::Renderer;
use crate::thanos_ruler;
use crate::validate::{Checker, check_relabeling, check_remote_write};

/// The areas that this crate answers for.
pub const AREAS: &[&str] = &[
    "prometheus-config",
    "agent-config",
    "selection-scrape-resources",
    "namespace-label-relabelings",
    "validation-relabel-config",
    "validation-remote-write",
    "thanos-ruler-config",
];

/// Answers one case.
pub fn answer(area: &str, input: &Value) -> Result<Value, String> {
    match area {
        "prometheus-config" | "agent-config" => configuration(input),
        "selection-scrape-resources" => selection(input),
        "namespace-label-relabelings" => relabelings(option(input, "options")),
        "validation-relabel-config" => {
            let options = option(input, "options");
            let step: RelabelConfig = read(option(options, "relabelConfig"))?;
            check_relabeling(&step, &version(options)?).map_err(|error| error.to_string())?;
            Ok(json!({"accepted": true}))
        }
        "validation-remote-write" => {
            let options = option(input, "options");
            let spec: RemoteWriteSpec = read(option(options, "remoteWrite"))?;
            check_remote_write(&spec, &version(options)?).map_err(|error| error.to_string())?;
            Ok(json!({"accepted": true}))
        }
        "thanos-ruler-config" => {
            let ruler: ThanosRuler = one(input, "ThanosRuler")?.ok_or("no ThanosRuler")?;
            let (file, _) =
                thanos_ruler::remote_write_file(&ruler, &assets(input)).map_err(|error| error.to_string())?;
            Ok(json!({"yaml": file}))
        }
        other => Err(format!("area {other} is not answered here")),
    }
}

/// The resources of a case that make or judge a configuration.
pub struct World {
    prometheus: Option<Prometheus>,
    agent: Option<PrometheusAgent>,
    service_monitors: Vec<ServiceMonitor>,
    pod_monitors: Vec<PodMonitor>,
    probes: Vec<Probe>,
    scrape_configs: Vec<ScrapeConfig>,
    assets: Assets,
    settings: Value,
}

impl World {
    pub fn read(input: &Value) -> Result<Self, String> {
        Ok(Self {
            prometheus: one(input, "Prometheus")?,
            agent: one(input, "PrometheusAgent")?,
            service_monitors: all(input, "ServiceMonitor")?,
            pod_monitors: all(input, "PodMonitor")?,
            probes: all(input, "Probe")?,
            scrape_configs: all(input, "ScrapeConfig")?,
            assets: assets(input),
            settings: option(input, "options").clone(),
        })
    }

    pub fn workload(&self) -> Result<Workload<'_>, String> {
        match (&self.prometheus, &self.agent) {
            (Some(prometheus), _) => Ok(Workload::Server(prometheus)),
            (None, Some(agent)) => Ok(Workload::Agent(agent)),
            (None, None) => Err("no Prometheus and no PrometheusAgent".to_owned()),
        }
    }

    pub fn everything(&self) -> Selected<'_> {
        Selected {
            service_monitors: self.service_monitors.iter().collect(),
            pod_monitors: self.pod_monitors.iter().collect(),
            probes: self.probes.iter().collect(),
            scrape_configs: self.scrape_configs.iter().collect(),
        }
    }

    /// What passes the checks before it is selected, as it happens in a cluster.
    pub fn selected(&self) -> Result<Selected<'_>, String> {
        let checker = self.checker()?;
        let mut selected = self.everything();
        selected.service_monitors.retain(|monitor| checker.service_monitor(monitor).is_ok());
        selected.pod_monitors.retain(|monitor| checker.pod_monitor(monitor).is_ok());
        selected.probes.retain(|probe| checker.probe(probe).is_ok());
        selected.scrape_configs.retain(|config| checker.scrape_config(config).is_ok());
        Ok(selected)
    }

    pub fn checker(&self) -> Result<Checker<'_>, String> {
        Checker::new(self.workload()?, &self.assets).map_err(|error| error.to_string())
    }

    /// The configuration with what is selected.
    pub fn render(&self, renderer: &mut Renderer, selected: &Selected<'_>) -> Result<String, String> {
        let flag = |name: &str| option(&self.settings, name).as_bool().unwrap_or_default();
        let text = |name: &str| option(&self.settings, name).as_str();
        let rules: Vec<String> = read(option(&self.settings, "ruleConfigMapNames")).unwrap_or_default();
        let options = Options {
            endpoint_slices: flag("endpointSliceSupported"),
            topology_sharding: flag("topologyShardingEnabled"),
            shard_retention_policy: flag("shardRetentionPolicyEnabled"),
            pod_topology_labels: flag("podTopologyLabelsSupported"),
            daemon_set: flag("daemonSetMode"),
        };
        let additional = Additional {
            scrape_configs: text("additionalScrapeConfigs"),
            alert_relabel_configs: text("additionalAlertRelabelConfigs"),
            alertmanager_configs: text("additionalAlertManagerConfigs"),
            rule_config_maps: &rules,
        };
        let document = renderer.render(self.workload()?, options, selected, &self.assets, &additional);
        Ok(document.map_err(|error| error.to_string())?.text())
    }
}

/// Upstream's answer, also where no Prometheus would load it.
fn configuration(input: &Value) -> Result<Value, String> {
    let world = World::read(input)?;
    let mut renderer = Renderer::unjudged();
    let yaml = world.render(&mut renderer, &world.everything())?;
    match renderer.left_out().next() {
        Some(left_out) => Err(left_out.to_string()),
        None => Ok(json!({"yaml": yaml})),
    }
}

fn selection(input: &Value) -> Result<Value, String> {
    let world = World::read(input)?;
    let checker = world.checker()?;
    let services = world.service_monitors.iter().map(|monitor| checker.service_monitor(monitor));
    let pods = world.pod_monitors.iter().map(|monitor| checker.pod_monitor(monitor));
    let probes = world.probes.iter().map(|probe| checker.probe(probe));
    let configs = world.scrape_configs.iter().map(|config| checker.scrape_config(config));
    let refused = services.chain(pods).chain(probes).chain(configs).find_map(Result::err);
    refused.map_or_else(|| Ok(json!({"accepted": true})), |error| Err(error.to_string()))
}

fn relabelings(options: &Value) -> Result<Value, String> {
    let label = option(options, "enforcedNamespaceLabel").as_str().unwrap_or_default();
    let exceptions: Vec<ObjectReference> =
        read(option(options, "excludedFromEnforcement")).unwrap_or_default();
    let mut steps: Vec<RelabelConfig> = read(option(options, "relabelConfigs")).unwrap_or_default();
    let monitor = option(options, "monitor");
    let field = |name: &str| option(monitor, name).as_str().unwrap_or_default();
    let resource = format!("{}s", field("kind").to_ascii_lowercase());
    steps.extend(Enforcement::new(label, &exceptions).step_for(&resource, field("namespace"), field("name")));
    Ok(json!({"object": {"relabelConfigs": steps}}))
}

fn version(options: &Value) -> Result<Version, String> {
    let version = option(options, "prometheusVersion").as_str().unwrap_or_default();
    Version::parse(version).map_err(|error| error.to_string())
}

fn assets(input: &Value) -> Assets {
    let list = |name| option(input, name).as_array().map(Vec::as_slice).unwrap_or_default();
    Assets::from_objects(list("secrets"), list("configmaps"))
}

fn option<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

fn all<T: DeserializeOwned>(input: &Value, kind: &str) -> Result<Vec<T>, String> {
    let resources = option(input, "resources").as_array().map(Vec::as_slice).unwrap_or_default();
    resources.iter().filter(|resource| option(resource, "kind").as_str() == Some(kind)).map(read).collect()
}

fn one<T: DeserializeOwned>(input: &Value, kind: &str) -> Result<Option<T>, String> {
    Ok(all(input, kind)?.into_iter().next())
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}
