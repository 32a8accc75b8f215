//! PrometheusAgent: servers that scrape and forward, without storing or evaluating.

use serde_json::{Value, json};

use crate::object::kind;
use crate::prometheus::server_and_agent::CommonPrometheusFields;
use crate::sharding::enough_shards;
use crate::status::PrometheusStatus;
use crate::text::text;

text! {
    /// How the agents run: as replicas, or one on each node.
    pub struct AgentMode {
        "enum": ["StatefulSet", "DaemonSet"]
    }
}

kind! {
    /// A Prometheus in agent mode: it scrapes and sends on, and neither stores nor evaluates.
    #[kube(
        version = "v1alpha1",
        kind = "PrometheusAgent",
        plural = "prometheusagents",
        shortname = "promagent",
        status = "PrometheusStatus",
        scale(
            spec_replicas_path = ".spec.shards",
            status_replicas_path = ".status.shards",
            label_selector_path = ".status.selector"
        )
    )]
    #[schemars(extend("x-kubernetes-validations" = rules()))]
    pub struct PrometheusAgentSpec {
        inline {
            pub common: CommonPrometheusFields,
        }
        optional {
            /// How the agents run, `StatefulSet` unless given. `DaemonSet` needs the operator's feature gate
            /// PrometheusAgentDaemonSet.
            pub mode: Option<AgentMode>,
        }
    }
}

/// What an agent that runs on each node cannot have.
const NOT_IN_DAEMON_SETS: &[&str] = &[
    "additionalScrapeConfigs",
    "persistentVolumeClaimRetentionPolicy",
    "probeNamespaceSelector",
    "probeSelector",
    "replicas",
    "scrapeConfigNamespaceSelector",
    "scrapeConfigSelector",
    "serviceMonitorNamespaceSelector",
    "serviceMonitorSelector",
    "shardingStrategy",
    "storage",
];

fn rules() -> Vec<Value> {
    let not_with_daemon_set =
        |condition: String| format!("!(has(self.mode) && self.mode == 'DaemonSet' && {condition})");
    let forbidden = NOT_IN_DAEMON_SETS.iter().map(|field| {
        json!({
            "rule": not_with_daemon_set(format!("has(self.{field})")),
            "message": format!("{field} cannot be set when mode is DaemonSet"),
        })
    });
    let one_shard = json!({
        "rule": not_with_daemon_set("has(self.shards) && self.shards > 1".to_owned()),
        "message": "shards cannot be greater than 1 when mode is DaemonSet",
    });
    forbidden.chain([one_shard, enough_shards()]).collect()
}
