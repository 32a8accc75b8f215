//! What a workload depends on besides its resource: the operator's flags, and what the reconciler made before.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::Deserialize;

/// The operator's own settings, by the names of its flags.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Operator {
    /// The name under which containers of a pod reach each other.
    pub local_host: String,
    pub cluster_domain: String,
    pub prometheus_default_base_image: String,
    pub alertmanager_default_base_image: String,
    pub thanos_default_base_image: String,
    /// Labels and annotations of every object the operator makes.
    #[serde(rename = "operatorLabels")]
    pub labels: BTreeMap<String, String>,
    #[serde(rename = "operatorAnnotations")]
    pub annotations: BTreeMap<String, String>,
    #[serde(rename = "configReloader")]
    pub reloader: ReloaderConfig,
    /// Feature gate `PrometheusTopologySharding`.
    #[serde(rename = "topologyShardingEnabled")]
    pub topology_sharding: bool,
}

/// The config-reloader's containers. A quantity that is zero or absent is left out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReloaderConfig {
    pub image: String,
    pub cpu_request: Option<Quantity>,
    pub cpu_limit: Option<Quantity>,
    pub memory_request: Option<Quantity>,
    pub memory_limit: Option<Quantity>,
    pub enable_probes: bool,
}

/// What was made for the workload before its StatefulSet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Given {
    /// Value of the annotation that tells whether anything changed.
    pub input_hash: String,
    pub rule_config_map_names: Vec<String>,
    pub tls_asset_secret_names: Vec<String>,
}
