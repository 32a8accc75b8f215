//! ServiceMonitor: scrape the endpoints behind Services.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::http::{HttpConfig, ProxyConfig, Scheme};
use crate::object::{kind, object};
use crate::relabel::RelabelConfig;
use crate::scrape::{
    AttachMetadata, NamespaceSelector, NativeHistogramConfig, ScrapeProtocol, SelectorMechanism,
    ServiceDiscoveryRole,
};
use crate::status::ConfigResourceStatus;
use crate::text::{ByteSize, Duration};
use crate::tls::TlsConfig;

kind! {
    /// Scrapes the endpoints behind the Services that it selects.
    #[kube(
        version = "v1",
        kind = "ServiceMonitor",
        plural = "servicemonitors",
        shortname = "smon",
        status = "ConfigResourceStatus"
    )]
    pub struct ServiceMonitorSpec {
        inline {
            pub histograms: NativeHistogramConfig,
        }
        required {
            /// The ports to scrape.
            pub endpoints: Vec<Endpoint>,
            /// The Services, by label.
            pub selector: LabelSelector,
        }
        optional {
            /// Label of the Service whose value becomes the `job` label; the Service's name when absent.
            pub job_label: String,
            /// Labels of the Service that are copied onto its metrics.
            pub target_labels: Vec<String>,
            /// Labels of the pod that are copied onto its metrics.
            pub pod_target_labels: Vec<String>,
            /// Where Services are filtered: by relabeling unless given.
            pub selector_mechanism: Option<SelectorMechanism>,
            /// The namespaces of the Services.
            pub namespace_selector: NamespaceSelector,
            /// Most samples per scrape; a scrape with more fails.
            #[schemars(range(min = 0))]
            pub sample_limit: Option<i64>,
            /// Formats offered to targets, the preferred first. Needs Prometheus 2.49.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub scrape_protocols: Vec<ScrapeProtocol>,
            /// Format assumed when a target states none or an unknown one. Needs Prometheus 3.
            pub fallback_scrape_protocol: Option<ScrapeProtocol>,
            /// Most targets; with more, all of them fail.
            #[schemars(range(min = 0))]
            pub target_limit: Option<i64>,
            /// Most labels per sample.
            #[schemars(range(min = 0))]
            pub label_limit: Option<i64>,
            /// Longest name of a label.
            #[schemars(range(min = 0))]
            pub label_name_length_limit: Option<i64>,
            /// Longest value of a label.
            #[schemars(range(min = 0))]
            pub label_value_length_limit: Option<i64>,
            /// How many dropped targets are remembered for display; 0 means all. Needs Prometheus 2.47.
            #[schemars(range(min = 0))]
            pub keep_dropped_targets: Option<i64>,
            /// Metadata that targets carry.
            pub attach_metadata: Option<AttachMetadata>,
            /// Scrape class to take settings from.
            #[schemars(length(min = 1))]
            pub scrape_class: Option<String>,
            /// Largest response to accept, uncompressed.
            pub body_size_limit: Option<ByteSize>,
            /// Objects from which targets are read; the workload's choice when absent.
            pub service_discovery_role: Option<ServiceDiscoveryRole>,
        }
    }
}

object! {
    /// One port of the selected Services, and how it is scraped.
    pub struct Endpoint {
        inline {
            pub http: HttpConfig,
            pub proxy: ProxyConfig,
        }
        optional {
            /// Name of the Service's port. Wins over `targetPort`.
            pub port: String,
            /// Name or number of the pod's port.
            pub target_port: Option<IntOrString>,
            /// Path of the metrics, `/metrics` unless given.
            pub path: String,
            /// HTTP or HTTPS, `http` unless given.
            pub scheme: Option<Scheme>,
            /// Parameters added to the address.
            pub params: BTreeMap<String, Vec<String>>,
            /// Time from scrape to scrape; the workload's choice when absent.
            pub interval: Duration,
            /// Longest time for a scrape, at most the interval; the workload's choice when absent.
            pub scrape_timeout: Duration,
            /// Whether a target's own labels win over those that Prometheus adds.
            pub honor_labels: bool,
            /// Whether a target's own timestamps are kept.
            pub honor_timestamps: Option<bool>,
            /// Whether series with their own timestamps go stale when they vanish. Needs Prometheus 2.48.
            pub track_timestamps_staleness: Option<bool>,
            /// Steps applied to each scraped sample.
            pub metric_relabelings: Vec<RelabelConfig>,
            /// Steps applied to each target before it is scraped.
            pub relabelings: Vec<RelabelConfig>,
            /// Whether pods that have failed or succeeded are left out, as they are unless given.
            pub filter_running: Option<bool>,
            /// Path of a bearer token in the container. Deprecated: use `authorization`.
            pub bearer_token_file: String,
            /// TLS towards the targets.
            pub tls_config: Option<TlsConfig>,
        }
    }
}
