//! PodMonitor: scrape pods directly.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::http::{HttpConfig, ProxyConfig, Scheme};
use crate::object::{kind, object};
use crate::relabel::RelabelConfig;
use crate::scrape::{
    AttachMetadata, NamespaceSelector, NativeHistogramConfig, ScrapeProtocol, SelectorMechanism,
};
use crate::status::ConfigResourceStatus;
use crate::text::{ByteSize, Duration};
use crate::tls::SafeTlsConfig;

kind! {
    /// Scrapes the pods that it selects, no Service needed.
    #[kube(
        version = "v1",
        kind = "PodMonitor",
        plural = "podmonitors",
        shortname = "pmon",
        status = "ConfigResourceStatus"
    )]
    pub struct PodMonitorSpec {
        inline {
            pub histograms: NativeHistogramConfig,
        }
        required {
            /// The pods, by label.
            pub selector: LabelSelector,
        }
        optional {
            /// The ports to scrape.
            pub pod_metrics_endpoints: Vec<PodMetricsEndpoint>,
            /// Label of the pod whose value becomes the `job` label; the PodMonitor's name when absent.
            pub job_label: String,
            /// Labels of the pod that are copied onto its metrics.
            pub pod_target_labels: Vec<String>,
            /// Where pods are filtered: by relabeling unless given.
            pub selector_mechanism: Option<SelectorMechanism>,
            /// The namespaces of the pods.
            pub namespace_selector: NamespaceSelector,
            /// Most samples per scrape; a scrape with more fails.
            #[schemars(range(min = 0))]
            pub sample_limit: Option<i64>,
            /// Most targets; with more, all of them fail.
            #[schemars(range(min = 0))]
            pub target_limit: Option<i64>,
            /// Formats offered to targets, the preferred first. Needs Prometheus 2.49.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub scrape_protocols: Vec<ScrapeProtocol>,
            /// Format assumed when a target states none or an unknown one. Needs Prometheus 3.
            pub fallback_scrape_protocol: Option<ScrapeProtocol>,
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
        }
    }
}

object! {
    /// One port of the selected pods, and how it is scraped.
    pub struct PodMetricsEndpoint {
        inline {
            pub http: HttpConfig,
            pub proxy: ProxyConfig,
        }
        optional {
            /// Name of the pod's port. Wins over `portNumber` and `targetPort`.
            pub port: Option<String>,
            /// Number of the pod's port.
            #[schemars(range(min = 1, max = 65535))]
            pub port_number: Option<i32>,
            /// Name or number of the pod's port. Deprecated: use `port` or `portNumber`.
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
            /// TLS towards the targets.
            pub tls_config: Option<SafeTlsConfig>,
        }
    }
}
