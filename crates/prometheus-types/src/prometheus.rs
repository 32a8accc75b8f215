//! Prometheus: servers that scrape, store, evaluate rules and send alerts.

pub mod query;
pub mod selection;
pub mod server;
pub mod server_and_agent;

use k8s_openapi::api::core::v1::SecretKeySelector;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::exclusion::PrometheusRuleExcludeConfig;
use crate::object::kind;
use crate::prometheus::query::{AlertingSpec, Exemplars, QuerySpec, Rules};
use crate::prometheus::server_and_agent::CommonPrometheusFields;
use crate::remote_write::RemoteReadSpec;
use crate::sharding::{ShardRetentionPolicy, enough_shards};
use crate::status::PrometheusStatus;
use crate::text::{ByteSize, Duration};
use crate::thanos::ThanosSpec;

kind! {
    /// A Prometheus server, possibly sharded and replicated.
    #[kube(
        version = "v1",
        kind = "Prometheus",
        plural = "prometheuses",
        shortname = "prom",
        status = "PrometheusStatus",
        scale(
            spec_replicas_path = ".spec.shards",
            status_replicas_path = ".status.shards",
            label_selector_path = ".status.selector"
        )
    )]
    #[schemars(extend("x-kubernetes-validations" = [enough_shards()]))]
    pub struct PrometheusSpec {
        inline {
            pub common: CommonPrometheusFields,
        }
        optional {
            /// How long samples are kept; 24h when neither this nor a size is given.
            pub retention: Duration,
            /// How much space samples may take.
            pub retention_size: ByteSize,
            /// Share of the volume that samples may take, in percent. Needs Prometheus 3.11.
            pub retention_percentage: Option<Quantity>,
            /// What becomes of shards that are no longer wanted.
            pub shard_retention_policy: Option<ShardRetentionPolicy>,
            /// Whether blocks are never compacted.
            pub disable_compaction: bool,
            /// How rules are evaluated.
            pub rules: Rules,
            /// The PrometheusRules, by label. None are taken without it, all with an empty one.
            pub rule_selector: Option<LabelSelector>,
            /// The namespaces of PrometheusRules, by label; the own one when absent.
            pub rule_namespace_selector: Option<LabelSelector>,
            /// PrometheusRules that the namespace label is not enforced on. Deprecated: use
            /// `excludedFromEnforcement`.
            pub prometheus_rules_excluded_from_enforce: Vec<PrometheusRuleExcludeConfig>,
            /// Time from evaluation to evaluation of rules.
            #[schemars(extend("default" = "30s"))]
            pub evaluation_interval: Duration,
            /// How far in the past rules are evaluated. Needs Prometheus 2.53.
            pub rule_query_offset: Option<Duration>,
            /// Limits of queries.
            pub query: Option<QuerySpec>,
            /// File that queries are logged to; a bare name lies on a volume of its own.
            pub query_log_file: String,
            /// The Alertmanagers that alerts are sent to.
            pub alerting: Option<AlertingSpec>,
            /// The key of a Secret with further relabeling steps for alerts. Nothing checks them.
            pub additional_alert_relabel_configs: Option<SecretKeySelector>,
            /// The key of a Secret with further Alertmanager configurations. Nothing checks them.
            pub additional_alert_manager_configs: Option<SecretKeySelector>,
            /// Systems that samples are read from.
            pub remote_read: Vec<RemoteReadSpec>,
            /// The Thanos sidecar.
            pub thanos: Option<ThanosSpec>,
            /// The storage of exemplars.
            pub exemplars: Option<Exemplars>,
            /// Whether the admin API is served, by which anyone who reaches it can delete data.
            #[serde(rename = "enableAdminAPI")]
            pub enable_admin_api: bool,
            /// Whether blocks may overlap in time. Every supported Prometheus allows it.
            pub allow_overlapping_blocks: bool,
            /// Image without tag. Deprecated: use `image`.
            pub base_image: String,
            /// Tag of the image. Deprecated: use `image`.
            pub tag: String,
            /// Digest of the image. Deprecated: use `image`.
            pub sha: String,
        }
    }
}
