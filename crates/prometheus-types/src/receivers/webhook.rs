//! The receiver that posts JSON to any HTTP server.

use k8s_openapi::api::core::v1::SecretKeySelector;

use crate::object::object;
use crate::receivers::ReceiverHttpConfig;
use crate::text::Duration;

object! {
    /// A POST request to an HTTP server.
    pub struct WebhookConfig {
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// Address of the server. `urlSecret` wins over it.
            pub url: Option<String>,
            /// The key of a Secret that holds the address of the server.
            pub url_secret: Option<SecretKeySelector>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
            /// Most alerts in a request; 0 means all.
            #[schemars(range(min = 0))]
            pub max_alerts: i32,
            /// Longest time for sending. Needs Alertmanager 0.28.
            pub timeout: Option<Duration>,
            /// Template of the request's body, instead of the usual JSON. Needs Alertmanager 0.32.
            #[schemars(length(min = 1))]
            pub payload: Option<String>,
        }
    }
}
