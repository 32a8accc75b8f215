//! Sending samples to, and reading them from, another system.

use std::collections::BTreeMap;

use crate::auth::{Authorization, AzureAd, BasicAuth, OAuth2, SigV4};
use crate::http::ProxyConfig;
use crate::object::object;
use crate::relabel::RelabelConfig;
use crate::text::{Duration, Url, text};
use crate::tls::TlsConfig;

text! {
    /// Version of the remote-write protocol.
    pub struct MessageVersion {
        "enum": ["V1.0", "V2.0"]
    }
}

object! {
    /// A system that samples are sent to. At most one kind of credentials is to be given.
    pub struct RemoteWriteSpec {
        inline {
            pub proxy: ProxyConfig,
        }
        required {
            /// Address that samples are sent to.
            pub url: Url,
        }
        optional {
            /// Name of the queue in metrics and logs, unique when given.
            pub name: Option<String>,
            /// Version of the protocol. Needs Prometheus 2.54 or Thanos 0.37.
            pub message_version: Option<MessageVersion>,
            /// Whether exemplars are sent.
            pub send_exemplars: Option<bool>,
            /// Whether native histograms are sent.
            pub send_native_histograms: Option<bool>,
            /// Longest time for a request.
            pub remote_timeout: Option<Duration>,
            /// Headers added to each request. Those that Prometheus sets itself cannot be overridden.
            pub headers: BTreeMap<String, String>,
            /// Steps applied to each sample before it is sent.
            pub write_relabel_configs: Vec<RelabelConfig>,
            /// OAuth 2.0 client credentials.
            pub oauth2: Option<OAuth2>,
            /// Basic authentication.
            pub basic_auth: Option<BasicAuth>,
            /// Path of a bearer token in the container. Deprecated: use `authorization`.
            pub bearer_token_file: String,
            /// The `Authorization` header.
            pub authorization: Option<Authorization>,
            /// AWS signatures.
            pub sigv4: Option<SigV4>,
            /// Tokens of Microsoft Entra ID.
            pub azure_ad: Option<AzureAd>,
            /// A bearer token in plain sight. Deprecated: use `authorization`.
            pub bearer_token: String,
            /// TLS towards the server.
            pub tls_config: Option<TlsConfig>,
            /// Whether redirects are followed.
            pub follow_redirects: Option<bool>,
            /// How samples are queued, batched and sent again.
            pub queue_config: Option<QueueConfig>,
            /// Whether and how metadata of metrics is sent.
            pub metadata_config: Option<MetadataConfig>,
            /// Whether HTTP/2 is offered.
            #[serde(rename = "enableHTTP2")]
            pub enable_http2: Option<bool>,
            /// Whether connections go in turn to all addresses of the host, instead of Go's choice. Needs
            /// Prometheus 3.1 or Thanos 0.38.
            #[serde(rename = "roundRobinDNS")]
            pub round_robin_dns: Option<bool>,
        }
    }
}

object! {
    /// How samples are queued, batched and sent again; Prometheus' own values where absent.
    pub struct QueueConfig {
        optional {
            /// Samples that a shard holds back before reading of the log is blocked.
            pub capacity: isize,
            /// Fewest shards, which is also how many it starts with.
            pub min_shards: isize,
            /// Most shards.
            pub max_shards: isize,
            /// Most samples in a request.
            pub max_samples_per_send: isize,
            /// How long a sample waits at most for its request to fill.
            pub batch_send_deadline: Option<Duration>,
            /// Most attempts for a request. Prometheus has no such limit any more.
            pub max_retries: isize,
            /// First pause before a request is sent again; it doubles each time.
            pub min_backoff: Option<Duration>,
            /// Longest pause before a request is sent again.
            pub max_backoff: Option<Duration>,
            /// Whether a request is sent again when the server answers 429. Experimental.
            pub retry_on_rate_limit: bool,
            /// Age at which samples are dropped instead of sent. Needs Prometheus 2.50 or Thanos 0.32.
            pub sample_age_limit: Option<Duration>,
        }
    }
}

object! {
    /// Whether and how metadata of metrics is sent.
    pub struct MetadataConfig {
        optional {
            /// Whether metadata is sent.
            pub send: bool,
            /// Time from sending to sending.
            pub send_interval: Duration,
            /// Most entries in a request.
            #[schemars(range(min = -1))]
            pub max_samples_per_send: Option<i32>,
        }
    }
}

object! {
    /// A system that samples are read from. At most one kind of credentials is to be given.
    pub struct RemoteReadSpec {
        inline {
            pub proxy: ProxyConfig,
        }
        required {
            /// Address that queries are sent to.
            pub url: Url,
        }
        optional {
            /// Name in metrics and logs, unique when given.
            pub name: String,
            /// Labels that a query must select for it to be sent.
            pub required_matchers: BTreeMap<String, String>,
            /// Longest time for a request.
            pub remote_timeout: Option<Duration>,
            /// Headers added to each request. Those that Prometheus sets itself cannot be overridden.
            pub headers: BTreeMap<String, String>,
            /// Whether it is asked about times that the local storage covers completely.
            pub read_recent: bool,
            /// OAuth 2.0 client credentials.
            pub oauth2: Option<OAuth2>,
            /// Basic authentication.
            pub basic_auth: Option<BasicAuth>,
            /// Path of a bearer token in the container. Deprecated: use `authorization`.
            pub bearer_token_file: String,
            /// The `Authorization` header.
            pub authorization: Option<Authorization>,
            /// A bearer token in plain sight. Deprecated: use `authorization`.
            pub bearer_token: String,
            /// TLS towards the server.
            pub tls_config: Option<TlsConfig>,
            /// Whether redirects are followed.
            pub follow_redirects: Option<bool>,
            /// Whether the external labels are added to queries as selectors.
            pub filter_external_labels: Option<bool>,
        }
    }
}
