//! Probe: ask a prober, such as the blackbox exporter, about static targets or Ingresses.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::http::{HttpConfig, ProxyConfig, Scheme};
use crate::object::{kind, object};
use crate::relabel::RelabelConfig;
use crate::scrape::{NamespaceSelector, NativeHistogramConfig, ScrapeProtocol};
use crate::status::ConfigResourceStatus;
use crate::text::{Duration, NonEmpty};
use crate::tls::SafeTlsConfig;

kind! {
    /// Asks a prober about targets that do not expose metrics themselves.
    #[kube(
        version = "v1",
        kind = "Probe",
        plural = "probes",
        shortname = "prb",
        status = "ConfigResourceStatus"
    )]
    pub struct ProbeSpec {
        inline {
            pub http: HttpConfig,
            pub histograms: NativeHistogramConfig,
        }
        optional {
            /// Value of the `job` label; a name made from the Probe's when absent.
            pub job_name: String,
            /// The prober to ask.
            pub prober: ProberSpec,
            /// The prober's module to use.
            pub module: String,
            /// What to probe.
            pub targets: ProbeTargets,
            /// Time from probe to probe; the workload's choice when absent.
            pub interval: Duration,
            /// Longest time for a probe; the workload's choice when absent.
            pub scrape_timeout: Duration,
            /// TLS towards the prober.
            pub tls_config: Option<SafeTlsConfig>,
            /// Steps applied to each scraped sample.
            pub metric_relabelings: Vec<RelabelConfig>,
            /// Most samples per scrape; a scrape with more fails.
            #[schemars(range(min = 0))]
            pub sample_limit: Option<i64>,
            /// Most targets; with more, all of them fail.
            #[schemars(range(min = 0))]
            pub target_limit: Option<i64>,
            /// Formats offered to the prober, the preferred first. Needs Prometheus 2.49.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub scrape_protocols: Vec<ScrapeProtocol>,
            /// Format assumed when the prober states none or an unknown one. Needs Prometheus 3.
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
            /// Scrape class to take settings from.
            #[schemars(length(min = 1))]
            pub scrape_class: Option<String>,
            /// Further parameters for the prober. `module` and `target` have fields of their own.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["name"]))]
            pub params: Vec<ProbeParam>,
        }
    }
}

object! {
    /// A parameter of the address, with its values.
    pub struct ProbeParam {
        required {
            /// Name of the parameter.
            #[schemars(length(min = 1))]
            pub name: String,
        }
        optional {
            /// Values of the parameter.
            #[schemars(length(min = 1))]
            pub values: Vec<NonEmpty>,
        }
    }
}

object! {
    /// Where the prober is.
    pub struct ProberSpec {
        inline {
            pub proxy: ProxyConfig,
        }
        required {
            /// Host and, if needed, port of the prober.
            #[schemars(length(min = 1))]
            pub url: String,
        }
        optional {
            /// HTTP or HTTPS, `http` unless given.
            pub scheme: Option<Scheme>,
            /// Path of the probe.
            #[schemars(extend("default" = "/probe"))]
            pub path: String,
        }
    }
}

object! {
    /// What to probe. When both are given, the static ones are taken.
    pub struct ProbeTargets {
        optional {
            /// Targets known beforehand.
            pub static_config: Option<ProbeTargetStaticConfig>,
            /// Targets found in Ingresses.
            pub ingress: Option<ProbeTargetIngress>,
        }
    }
}

object! {
    /// Targets known beforehand.
    pub struct ProbeTargetStaticConfig {
        optional {
            /// Hosts or addresses to probe.
            pub r#static: Vec<String>,
            /// Labels put on the targets' metrics.
            pub labels: BTreeMap<String, String>,
            /// Steps applied to each target.
            pub relabeling_configs: Vec<RelabelConfig>,
        }
    }
}

object! {
    /// Every host and path of the selected Ingresses.
    pub struct ProbeTargetIngress {
        optional {
            /// The Ingresses, by label.
            pub selector: LabelSelector,
            /// The namespaces of the Ingresses.
            pub namespace_selector: NamespaceSelector,
            /// Steps applied to each target. The original address is in `__tmp_prometheus_ingress_address`.
            pub relabeling_configs: Vec<RelabelConfig>,
        }
    }
}
