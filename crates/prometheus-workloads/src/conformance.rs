//! The cases of prometheus-operator, put to this crate: inputs read, answers written. Nothing is decided here.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Container;
use prometheus_config::Workload;
use prometheus_config::context::Context;
use prometheus_types::http::WebConfigFile;
use prometheus_types::pod::PodFields;
use prometheus_types::tls::SafeTlsConfig;
use prometheus_types::{Alertmanager, Prometheus, PrometheusAgent, ThanosRuler};
use rendering::Assets;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tls_assets::TlsAssets;

use crate::cluster_tls::ClusterTls;
use crate::merge::merge_containers;
use crate::operator::{Given, Operator};
use crate::storage::manifest;
use crate::web_config::WebConfig;
use crate::{alertmanager, prometheus, thanos_ruler};

pub const AREAS: &[&str] = &[
    "statefulset-prometheus",
    "statefulset-agent",
    "statefulset-alertmanager",
    "statefulset-thanos-ruler",
    "daemonset-agent",
    "container-merge",
    "web-config",
    "alertmanager-cluster-tls",
    "tls-assets",
];

/// The answer to a case of one of [`AREAS`].
pub fn answer(area: &str, input: &Value) -> Result<Value, String> {
    let case = Case::read(input)?;
    let object = match area {
        "statefulset-prometheus" => case.prometheus(),
        "statefulset-agent" => case.agent(),
        "statefulset-alertmanager" => case.alertmanager(),
        "statefulset-thanos-ruler" => case.thanos_ruler(),
        "daemonset-agent" => case.daemonset(),
        "container-merge" => case.container_merge(),
        "web-config" => case.web_config(),
        "alertmanager-cluster-tls" => case.cluster_tls(),
        "tls-assets" => case.tls_assets(),
        other => Err(format!("area {other} is not this crate's")),
    };
    object.map(|object| json!({ "object": object }))
}

struct Case<'a> {
    input: &'a Value,
    operator: Operator,
    given: Given,
    options: Options,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Options {
    stateful_set_name: String,
    shard: i32,
    mount_directory: String,
    secret_name: String,
    web: Option<WebConfigFile>,
    namespace: String,
    tls_config: Option<SafeTlsConfig>,
    base: Vec<Container>,
    patches: Vec<Container>,
}

impl<'a> Case<'a> {
    fn read(input: &'a Value) -> Result<Self, String> {
        let options = input.get("options").cloned().unwrap_or_default();
        Ok(Self {
            input,
            operator: parse(options.clone())?,
            given: parse(options.clone())?,
            options: parse(options)?,
        })
    }

    fn resource<T: DeserializeOwned>(&self) -> Result<T, String> {
        let resource = self.input.pointer("/resources/0").cloned();
        parse(resource.ok_or("the case has no resource")?)
    }

    fn prometheus(&self) -> Result<Value, String> {
        let resource: Prometheus = self.resource()?;
        usable(Workload::Server(&resource))?;
        let Options { stateful_set_name: name, shard, .. } = &self.options;
        let made = prometheus::server_statefulset(&resource, &self.operator, name, *shard, &self.given);
        written(made, &resource.spec.common.pod)
    }

    fn agent(&self) -> Result<Value, String> {
        let resource: PrometheusAgent = self.resource()?;
        usable(Workload::Agent(&resource))?;
        let Options { stateful_set_name: name, shard, .. } = &self.options;
        let made = prometheus::agent_statefulset(&resource, &self.operator, name, *shard, &self.given);
        written(made, &resource.spec.common.pod)
    }

    fn daemonset(&self) -> Result<Value, String> {
        let resource: PrometheusAgent = self.resource()?;
        usable(Workload::Agent(&resource))?;
        let made = prometheus::daemonset(&resource, &self.operator, &self.given).map_err(text)?;
        serde_json::to_value(made).map_err(text)
    }

    fn alertmanager(&self) -> Result<Value, String> {
        let resource: Alertmanager = self.resource()?;
        written(alertmanager::statefulset(&resource, &self.operator, &self.given), &resource.spec.pod)
    }

    fn thanos_ruler(&self) -> Result<Value, String> {
        let resource: ThanosRuler = self.resource()?;
        written(thanos_ruler::statefulset(&resource, &self.operator, &self.given), &resource.spec.pod)
    }

    fn container_merge(&self) -> Result<Value, String> {
        let merged = merge_containers(self.options.base.clone(), &self.options.patches).map_err(text)?;
        Ok(json!({ "containers": merged }))
    }

    fn web_config(&self) -> Result<Value, String> {
        let Options { mount_directory, secret_name, web, .. } = &self.options;
        let config = WebConfig::new(mount_directory, secret_name.clone(), web.as_ref()).map_err(text)?;
        let (volumes, mounts) = config.mounts();
        let argument = json!({"name": "web.config.file", "value": config.path()});
        Ok(json!({"argument": argument, "file": config.file(), "volumes": volumes, "volumeMounts": mounts}))
    }

    fn cluster_tls(&self) -> Result<Value, String> {
        let resource: Alertmanager = self.resource()?;
        let name = resource.metadata.name.as_deref().unwrap_or_default();
        let config = ClusterTls::new(&self.options.mount_directory, name, resource.spec.cluster_tls.as_ref())
            .map_err(text)?;
        let (volumes, mounts) = config.mounts();
        let mut object = json!({
            "secretName": config.secret_name(), "file": config.file(), "volumes": volumes, "volumeMounts": mounts,
        });
        if let (Some(path), Value::Object(object)) = (config.path(), &mut object) {
            object.insert("argument".to_owned(), json!({"name": "cluster.tls-config", "value": path}));
        }
        Ok(object)
    }

    fn tls_assets(&self) -> Result<Value, String> {
        let objects =
            |kind: &str| self.input.get(kind).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let assets = Assets::from_objects(objects("secrets"), objects("configmaps"));
        let mut gathered = TlsAssets::default();
        if let Some(tls) = &self.options.tls_config {
            gathered.add_safe(&assets, &self.options.namespace, tls).map_err(text)?;
        }
        let files: BTreeMap<_, _> =
            gathered.files().iter().map(|(name, bytes)| (name, String::from_utf8_lossy(bytes))).collect();
        Ok(json!({ "files": files }))
    }
}

/// Upstream, as our operator, makes no pods for a workload that cannot have a configuration.
fn usable(workload: Workload<'_>) -> Result<(), String> {
    Context::new(workload, prometheus_config::Options::default(), &Assets::new()).map(drop).map_err(text)
}

fn written<E: ToString>(
    made: Result<k8s_openapi::api::apps::v1::StatefulSet, E>,
    fields: &PodFields,
) -> Result<Value, String> {
    manifest(&made.map_err(text)?, fields).map_err(text)
}

fn parse<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(text)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn text(error: impl ToString) -> String {
    error.to_string()
}
