//! ThanosRuler: rules evaluated against Thanos instead of one Prometheus.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{SecretKeySelector, TopologySpreadConstraint as PodSpreadConstraint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::exclusion::{ObjectReference, PrometheusRuleExcludeConfig};
use crate::http::WebConfigFile;
use crate::object::{kind, object};
use crate::pod::PodFields;
use crate::remote_write::RemoteWriteSpec;
use crate::status::Condition;
use crate::text::{Duration, NonEmpty};
use crate::tls::GrpcServerTlsConfig;

kind! {
    /// A Thanos Ruler, which evaluates rules against Thanos Query.
    #[kube(
        version = "v1",
        kind = "ThanosRuler",
        plural = "thanosrulers",
        shortname = "ruler",
        status = "ThanosRulerStatus"
    )]
    pub struct ThanosRulerSpec {
        inline {
            pub pod: PodFields,
        }
        optional {
            /// How the pods are spread over the cluster.
            pub topology_spread_constraints: Vec<PodSpreadConstraint>,
            /// Thanos Query servers that rules are evaluated against. Ignored when `queryConfig` is given.
            pub query_endpoints: Vec<String>,
            /// The key of a Secret that holds the configuration of query servers.
            pub query_config: Option<SecretKeySelector>,
            /// Alertmanagers that alerts are sent to. Ignored when `alertmanagersConfig` is given.
            pub alertmanagers_url: Vec<String>,
            /// The key of a Secret that holds the configuration of Alertmanagers.
            pub alertmanagers_config: Option<SecretKeySelector>,
            /// The key of a Secret that holds the object storage's configuration.
            pub object_storage_config: Option<SecretKeySelector>,
            /// Path of the object storage's configuration in the container. Wins over `objectStorageConfig`.
            pub object_storage_config_file: Option<String>,
            /// The PrometheusRules, by label. None are taken without it, all with an empty one.
            pub rule_selector: Option<LabelSelector>,
            /// The namespaces of PrometheusRules, by label; the own one when absent.
            pub rule_namespace_selector: Option<LabelSelector>,
            /// Label that carries the namespace of the rule, enforced on its results and as a selector in it.
            pub enforced_namespace_label: String,
            /// Objects that the namespace label is not enforced on.
            pub excluded_from_enforcement: Vec<ObjectReference>,
            /// PrometheusRules that the namespace label is not enforced on. Deprecated: use
            /// `excludedFromEnforcement`.
            pub prometheus_rules_excluded_from_enforce: Vec<PrometheusRuleExcludeConfig>,
            /// Time from evaluation to evaluation.
            #[schemars(extend("default" = "15s"))]
            pub evaluation_interval: Duration,
            /// Shortest time before an alert is sent again.
            pub resend_delay: Option<Duration>,
            /// Longest outage after which the state of pending alerts is restored. Needs Thanos 0.30.
            pub rule_outage_tolerance: Option<Duration>,
            /// How far in the past rules are evaluated. Needs Thanos 0.38.
            pub rule_query_offset: Option<Duration>,
            /// How many rules are evaluated at the same time. Needs Thanos 0.37.
            #[schemars(range(min = 1))]
            pub rule_concurrent_eval: Option<i32>,
            /// Shortest time from a restored alert to its firing. Needs Thanos 0.30.
            pub rule_grace_period: Option<Duration>,
            /// How long samples are kept. Has no effect together with `remoteWrite`.
            #[schemars(extend("default" = "24h"))]
            pub retention: Duration,
            /// The key of a Secret that holds the tracing configuration.
            pub tracing_config: Option<SecretKeySelector>,
            /// Path of the tracing configuration in the container. Wins over `tracingConfig`.
            pub tracing_config_file: String,
            /// External labels. `thanos_ruler_replica` is always added, so that replicas can be told apart.
            pub labels: BTreeMap<String, String>,
            /// Labels that alerts are sent without. `thanos_ruler_replica` is always among them.
            pub alert_drop_labels: Vec<String>,
            /// Address of Thanos Query, for links in alerts.
            pub alert_query_url: String,
            /// Address under which users reach Thanos Ruler, for links.
            pub external_prefix: String,
            /// TLS of the gRPC server. Only files, not Secrets, are supported for the material.
            pub grpc_server_tls_config: Option<GrpcServerTlsConfig>,
            /// The key of a Secret with relabeling steps for alerts.
            pub alert_relabel_configs: Option<SecretKeySelector>,
            /// Path of relabeling steps for alerts in the container. Wins over `alertRelabelConfigs`.
            pub alert_relabel_config_file: Option<String>,
            /// The web server.
            pub web: Option<ThanosRulerWebSpec>,
            /// Systems that results are sent to, instead of being stored. Needs Thanos 0.24.
            pub remote_write: Vec<RemoteWriteSpec>,
            /// Feature flags to switch on. Needs Thanos 0.39.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub enable_features: Vec<NonEmpty>,
        }
    }
}

object! {
    /// The web server of Thanos Ruler.
    pub struct ThanosRulerWebSpec {
        inline {
            pub file: WebConfigFile,
        }
    }
}

object! {
    /// What was last seen of a Thanos Ruler.
    pub struct ThanosRulerStatus {
        optional {
            /// Whether the operator leaves the workload alone.
            pub paused: bool,
            /// Pods of the ruler.
            pub replicas: i32,
            /// Pods with the wanted specification.
            pub updated_replicas: i32,
            /// Pods that are ready.
            pub available_replicas: i32,
            /// Pods that are not ready.
            pub unavailable_replicas: i32,
            /// The workload's state in detail.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["type"]))]
            pub conditions: Vec<Condition>,
        }
    }
}
