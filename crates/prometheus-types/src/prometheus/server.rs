//! The Prometheus server's own parts: web, storage engine, OTLP, tracing, access to the API server,
//! spreading.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::TopologySpreadConstraint as PodSpreadConstraint;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::auth::{Authorization, BasicAuth};
use crate::http::{ProxyConfig, WebConfigFile};
use crate::object::object;
use crate::text::{Duration, NonEmpty, text};
use crate::tls::TlsConfig;

text! {
    /// Which labels the operator adds to a spread constraint: those of all pods of the resource, or of the
    /// shard.
    pub struct AdditionalLabelSelectors {
        "enum": ["OnResource", "OnShard"]
    }

    /// How OTLP names become Prometheus names.
    pub struct TranslationStrategy {
        "enum": [
            "NoUTF8EscapingWithSuffixes", "UnderscoreEscapingWithSuffixes", "NoTranslation",
            "UnderscoreEscapingWithoutSuffixes"
        ]
    }

    /// Encoding of chunks of float samples.
    pub struct FloatEncoding {
        "enum": ["Xor", "Xor2"]
    }

    /// Protocol for sending traces.
    pub struct TracingClient {
        "enum": ["http", "grpc", "HTTP", "GRPC"]
    }

    /// Compression of traces.
    pub struct TracingCompression {
        "enum": ["gzip", "Gzip"]
    }
}

object! {
    /// The web server of Prometheus.
    pub struct PrometheusWebSpec {
        inline {
            pub file: WebConfigFile,
        }
        optional {
            /// Title of the pages.
            pub page_title: Option<String>,
            /// Most connections at the same time.
            #[schemars(range(min = 0))]
            pub max_connections: Option<i32>,
        }
    }
}

object! {
    /// A constraint of the Pod API, with a selector that the operator may complete.
    pub struct TopologySpreadConstraint {
        inline {
            pub constraint: PodSpreadConstraint,
        }
        optional {
            /// Which labels the operator adds to the selector; none when absent.
            pub additional_label_selectors: Option<AdditionalLabelSelectors>,
        }
    }
}

object! {
    /// The storage engine.
    pub struct TsdbSpec {
        optional {
            /// How far in the past samples are still accepted out of order.
            pub out_of_order_time_window: Option<Duration>,
            /// Share of stale series at which they are compacted early, from 0 to 1. Needs Prometheus 3.10.
            pub stale_series_compaction_threshold: Option<Quantity>,
            /// Encodings of chunks. Needs Prometheus 3.13.
            pub chunk_encoding: Option<ChunkEncoding>,
        }
    }
}

object! {
    /// Encodings of chunks.
    pub struct ChunkEncoding {
        optional {
            /// Encoding of float samples.
            pub floats: Option<FloatEncoding>,
        }
    }
}

object! {
    /// How OTLP metrics become samples.
    pub struct OtlpConfig {
        optional {
            /// Whether all resource attributes become labels. Needs Prometheus 3.5.
            pub promote_all_resource_attributes: Option<bool>,
            /// Resource attributes that do not become labels though all others do. Needs Prometheus 3.5.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub ignore_resource_attributes: Vec<NonEmpty>,
            /// Resource attributes that become labels.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub promote_resource_attributes: Vec<NonEmpty>,
            /// How names are translated. Needs Prometheus 3.
            pub translation_strategy: Option<TranslationStrategy>,
            /// Whether `target_info` keeps the service's identifying attributes. Needs Prometheus 3.1.
            pub keep_identifying_resource_attributes: Option<bool>,
            /// Whether explicit histograms are stored as native ones with custom buckets. Needs Prometheus
            /// 3.4.
            #[serde(rename = "convertHistogramsToNHCB")]
            pub convert_histograms_to_nhcb: Option<bool>,
            /// Whether name, version and attributes of the scope become labels. Needs Prometheus 3.6.
            pub promote_scope_metadata: Option<bool>,
            /// Whether labels that begin with an underscore get the prefix `key`. Needs Prometheus 3.8.
            pub label_name_underscore_sanitization: Option<bool>,
            /// Whether consecutive underscores in labels are kept. Needs Prometheus 3.8.
            pub label_name_preserve_multiple_underscores: Option<bool>,
        }
    }
}

object! {
    /// Where Prometheus sends its own traces.
    pub struct TracingConfig {
        required {
            /// Host and port that traces are sent to.
            #[schemars(length(min = 1))]
            pub endpoint: String,
        }
        optional {
            /// Protocol for sending traces.
            pub client_type: Option<TracingClient>,
            /// Share of requests that are traced, from 0 to 1.
            pub sampling_fraction: Option<Quantity>,
            /// Whether traces are sent without TLS.
            pub insecure: Option<bool>,
            /// Headers or gRPC metadata added to each export.
            pub headers: BTreeMap<String, String>,
            /// Compression of traces.
            pub compression: Option<TracingCompression>,
            /// Longest time for an export.
            pub timeout: Option<Duration>,
            /// TLS towards the collector.
            pub tls_config: Option<TlsConfig>,
        }
    }
}

object! {
    /// How Prometheus reaches the API server to discover targets.
    pub struct ApiServerConfig {
        inline {
            pub proxy: ProxyConfig,
        }
        required {
            /// Address of the API server.
            pub host: String,
        }
        optional {
            /// Basic authentication.
            pub basic_auth: Option<BasicAuth>,
            /// Path of a bearer token in the container. Deprecated: use `authorization`.
            pub bearer_token_file: String,
            /// TLS towards the API server.
            pub tls_config: Option<TlsConfig>,
            /// The `Authorization` header.
            pub authorization: Option<Authorization>,
            /// A bearer token in plain sight. Deprecated: use `authorization`.
            pub bearer_token: String,
        }
    }
}
