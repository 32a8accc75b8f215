//! What Prometheus and PrometheusAgent have in common.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSetPersistentVolumeClaimRetentionPolicy;
use k8s_openapi::api::core::v1::SecretKeySelector;

use crate::object::object;
use crate::pod::PodFields;
use crate::prometheus::selection::{Enforcement, MonitorSelection, ScrapeLimits};
use crate::prometheus::server::{
    ApiServerConfig, OtlpConfig, PrometheusWebSpec, TopologySpreadConstraint, TracingConfig, TsdbSpec,
};
use crate::remote_write::{MessageVersion, RemoteWriteSpec};
use crate::scrape::{
    NameEscapingScheme, NameValidationScheme, ScrapeClass, ScrapeProtocol, ServiceDiscoveryRole,
};
use crate::sharding::ShardingStrategy;
use crate::text::{Duration, NonEmpty, text};

text! {
    /// How Prometheus is told about a new configuration.
    pub struct ReloadStrategy {
        "enum": ["HTTP", "ProcessSignal"]
    }
}

object! {
    /// What Prometheus and PrometheusAgent have in common.
    pub struct CommonPrometheusFields {
        inline {
            pub pod: PodFields,
            pub selection: MonitorSelection,
            pub limits: ScrapeLimits,
            pub enforced: Enforcement,
        }
        optional {
            /// How the pods are spread over the cluster.
            pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
            /// Whether the pods get the token of their service account. Prometheus needs it to discover
            /// targets.
            pub automount_service_account_token: Option<bool>,
            /// Whether the pods use the network of their node.
            pub host_network: bool,
            /// What becomes of volume claims when pods go for good.
            pub persistent_volume_claim_retention_policy: Option<StatefulSetPersistentVolumeClaimRetentionPolicy>,
            /// Secrets that are mounted below `/etc/prometheus/secrets/`.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub secrets: Vec<String>,
            /// ConfigMaps that are mounted below `/etc/prometheus/configmaps/`.
            pub config_maps: Vec<String>,
            /// How long Prometheus may take to start, replay of its log included.
            #[schemars(range(min = 60))]
            pub maximum_startup_duration_seconds: Option<i32>,
            /// Number of shards that targets are divided among. Each has as many pods as `replicas` says.
            #[schemars(extend("default" = 1))]
            pub shards: Option<i32>,
            /// How targets are divided among the shards.
            pub sharding_strategy: Option<ShardingStrategy>,
            /// External label that tells pods of a shard apart, `prometheus_replica` unless given; none when
            /// empty.
            pub replica_external_label_name: Option<String>,
            /// External label that names this resource, `prometheus` unless given; none when empty.
            pub prometheus_external_label_name: Option<String>,
            /// Labels added to samples and alerts that leave Prometheus.
            pub external_labels: BTreeMap<String, String>,
            /// Time from scrape to scrape.
            #[schemars(extend("default" = "30s"))]
            pub scrape_interval: Duration,
            /// Longest time for a scrape, at most the interval.
            pub scrape_timeout: Duration,
            /// Formats offered to targets, the preferred first. Needs Prometheus 2.49.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub scrape_protocols: Vec<ScrapeProtocol>,
            /// Whether samples are accepted by remote write.
            pub enable_remote_write_receiver: bool,
            /// Whether samples are accepted by OTLP. Needs Prometheus 2.47.
            #[serde(rename = "enableOTLPReceiver")]
            pub enable_otlp_receiver: Option<bool>,
            /// Versions of the remote-write protocol that are accepted. Needs Prometheus 2.54.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub remote_write_receiver_message_versions: Vec<MessageVersion>,
            /// Feature flags to switch on. They may change or vanish in any release.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub enable_features: Vec<NonEmpty>,
            /// Address under which users reach Prometheus, for links.
            pub external_url: String,
            /// The web server.
            pub web: Option<PrometheusWebSpec>,
            /// Systems that samples are sent to.
            pub remote_write: Vec<RemoteWriteSpec>,
            /// How OTLP metrics become samples. Needs Prometheus 2.55.
            pub otlp: Option<OtlpConfig>,
            /// The key of a Secret with further scrape configurations, appended as they are. Nothing checks
            /// them.
            pub additional_scrape_configs: Option<SecretKeySelector>,
            /// How Prometheus reaches the API server; as pods do when absent.
            pub apiserver_config: Option<ApiServerConfig>,
            /// Whether monitors may name files of the container.
            #[serde(rename = "arbitraryFSAccessThroughSMs")]
            pub arbitrary_fs_access_through_sms: FileAccessThroughMonitors,
            /// Whether `honorLabels` of monitors is overruled: labels of targets never win.
            pub override_honor_labels: bool,
            /// Whether `honorTimestamps` of monitors is overruled: timestamps of targets are never kept.
            pub override_honor_timestamps: bool,
            /// Whether monitors find targets in their own namespace only, whatever they select.
            pub ignore_namespace_selectors: bool,
            /// Which characters names may have. Needs Prometheus 3.
            pub name_validation_scheme: Option<NameValidationScheme>,
            /// How other names are asked for. Needs Prometheus 3.4.
            pub name_escaping_scheme: Option<NameEscapingScheme>,
            /// Whether classic histograms are stored as native ones with custom buckets. Needs Prometheus
            /// 3.4.
            #[serde(rename = "convertClassicHistogramsToNHCB")]
            pub convert_classic_histograms_to_nhcb: Option<bool>,
            /// Whether native histograms are scraped. Needs Prometheus 3.8.
            pub scrape_native_histograms: Option<bool>,
            /// Whether the classic form of a histogram is kept beside its native one. Needs Prometheus 3.5.
            pub scrape_classic_histograms: Option<bool>,
            /// Whether the write-ahead log is compressed.
            pub wal_compression: Option<bool>,
            /// Labels of pods that are copied onto the metrics of every PodMonitor and ServiceMonitor.
            pub pod_target_labels: Vec<String>,
            /// Where Prometheus sends its own traces. Experimental.
            pub tracing_config: Option<TracingConfig>,
            /// How Prometheus is told about a new configuration, `HTTP` unless given.
            pub reload_strategy: Option<ReloadStrategy>,
            /// Scrape settings that monitors may take by name.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["name"]))]
            pub scrape_classes: Vec<ScrapeClass>,
            /// Objects from which targets of Services are read, `Endpoints` unless given.
            pub service_discovery_role: Option<ServiceDiscoveryRole>,
            /// The storage engine.
            pub tsdb: Option<TsdbSpec>,
            /// File that failed scrapes are logged to; a bare name lies on a volume of its own. Needs
            /// Prometheus 2.55.
            #[schemars(length(min = 1))]
            pub scrape_failure_log_file: Option<String>,
            /// Settings of the Go runtime.
            pub runtime: Option<RuntimeConfig>,
        }
    }
}

object! {
    /// Whether monitors may name files of the container.
    pub struct FileAccessThroughMonitors {
        optional {
            /// Whether it is denied: such monitors are then left out.
            pub deny: bool,
        }
    }
}

object! {
    /// Settings of the Go runtime.
    pub struct RuntimeConfig {
        optional {
            /// The garbage collector's target in percent, as `GOGC`. Needs Prometheus 2.53.
            #[serde(rename = "goGC")]
            #[schemars(range(min = -1))]
            pub go_gc: Option<i32>,
        }
    }
}
