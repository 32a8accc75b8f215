//! Rules, queries and alerts of a Prometheus server.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::auth::{BasicAuth, SafeAuthorization, SigV4};
use crate::http::{ProxyConfig, Scheme};
use crate::object::object;
use crate::relabel::RelabelConfig;
use crate::text::{Duration, text};
use crate::tls::TlsConfig;

text! {
    /// Version of Alertmanager's API.
    pub struct AlertmanagerApiVersion {
        "enum": ["v1", "V1", "v2", "V2"]
    }
}

object! {
    /// How rules are evaluated.
    pub struct Rules {
        optional {
            /// How alerting rules are evaluated.
            pub alert: RulesAlert,
        }
    }
}

object! {
    /// How alerting rules are evaluated.
    pub struct RulesAlert {
        optional {
            /// Longest outage after which the state of pending alerts is restored.
            pub for_outage_tolerance: String,
            /// Shortest time from a restored alert to its firing.
            pub for_grace_period: String,
            /// Shortest time before an alert is sent again.
            pub resend_delay: String,
        }
    }
}

object! {
    /// Limits of queries.
    pub struct QuerySpec {
        optional {
            /// How far back a sample is looked for.
            pub lookback_delta: Option<String>,
            /// Most queries at the same time.
            #[schemars(range(min = 1))]
            pub max_concurrency: Option<i32>,
            /// Most samples that a query may hold in memory.
            pub max_samples: Option<i32>,
            /// Longest time for a query.
            pub timeout: Option<Duration>,
        }
    }
}

object! {
    /// The storage of exemplars.
    pub struct Exemplars {
        optional {
            /// How many exemplars are kept in memory.
            pub max_size: Option<i64>,
        }
    }
}

object! {
    /// The Alertmanagers that alerts are sent to.
    pub struct AlertingSpec {
        required {
            /// The Alertmanagers.
            pub alertmanagers: Vec<AlertmanagerEndpoints>,
        }
    }
}

object! {
    /// The Alertmanagers behind a Service. At most one kind of credentials is to be given.
    pub struct AlertmanagerEndpoints {
        inline {
            pub proxy: ProxyConfig,
        }
        required {
            /// Name of the Service.
            #[schemars(length(min = 1))]
            pub name: String,
            /// Name or number of the Service's port.
            pub port: IntOrString,
        }
        optional {
            /// Namespace of the Service; the own one when absent.
            #[schemars(length(min = 1))]
            pub namespace: Option<String>,
            /// HTTP or HTTPS.
            pub scheme: Option<Scheme>,
            /// Prefix of the API's path.
            #[schemars(length(min = 1))]
            pub path_prefix: Option<String>,
            /// TLS towards Alertmanager.
            pub tls_config: Option<TlsConfig>,
            /// Basic authentication.
            pub basic_auth: Option<BasicAuth>,
            /// Path of a bearer token in the container. Deprecated: use `authorization`.
            pub bearer_token_file: String,
            /// The `Authorization` header.
            pub authorization: Option<SafeAuthorization>,
            /// AWS signatures. Needs Prometheus 2.48.
            pub sigv4: Option<SigV4>,
            /// Version of Alertmanager's API, `v2` unless given. Prometheus 3 knows no other.
            pub api_version: Option<AlertmanagerApiVersion>,
            /// Longest time for sending alerts.
            pub timeout: Option<Duration>,
            /// Whether HTTP/2 is offered.
            pub enable_http2: Option<bool>,
            /// Steps applied to the discovered Alertmanagers.
            pub relabelings: Vec<RelabelConfig>,
            /// Steps applied to alerts for these Alertmanagers. Needs Prometheus 2.51.
            pub alert_relabelings: Vec<RelabelConfig>,
        }
    }
}
