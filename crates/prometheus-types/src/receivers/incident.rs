//! Receivers that wake people up: PagerDuty, Opsgenie, VictorOps.

use k8s_openapi::api::core::v1::SecretKeySelector;

use crate::object::object;
use crate::receivers::{KeyValue, ReceiverHttpConfig};
use crate::text::{Duration, HttpUrl, text};

text! {
    /// What a responder is.
    pub struct ResponderType {
        "enum": ["team", "teams", "user", "escalation", "schedule"]
    }
}

object! {
    /// An event in PagerDuty. One of `routingKey` and `serviceKey` is to be given.
    pub struct PagerDutyConfig {
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// The key of a Secret that holds the integration key of Events API v2.
            pub routing_key: Option<SecretKeySelector>,
            /// The key of a Secret that holds the integration key of Prometheus' own integration.
            pub service_key: Option<SecretKeySelector>,
            /// Address that events are sent to; the global one when absent.
            pub url: Option<HttpUrl>,
            /// Name of the monitoring system.
            #[schemars(length(min = 1))]
            pub client: Option<String>,
            /// Where the event's name links to.
            #[serde(rename = "clientURL")]
            pub client_url: Option<String>,
            /// Description of the event.
            #[schemars(length(min = 1))]
            pub description: Option<String>,
            /// Severity of the event.
            #[schemars(length(min = 1))]
            pub severity: Option<String>,
            /// Class of the event.
            #[schemars(length(min = 1))]
            pub class: Option<String>,
            /// Group of the component.
            #[schemars(length(min = 1))]
            pub group: Option<String>,
            /// Component that is affected.
            #[schemars(length(min = 1))]
            pub component: Option<String>,
            /// Further details of the event.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub details: Vec<KeyValue>,
            /// Pictures in the event.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub pager_duty_image_configs: Vec<PagerDutyImageConfig>,
            /// Links in the event.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub pager_duty_link_configs: Vec<PagerDutyLinkConfig>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
            /// Source of the event.
            #[schemars(length(min = 1))]
            pub source: Option<String>,
            /// Longest time for sending. Needs Alertmanager 0.30.
            pub timeout: Option<Duration>,
        }
    }
}

object! {
    /// A picture.
    pub struct PagerDutyImageConfig {
        optional {
            /// Address of the picture.
            #[schemars(length(min = 1))]
            pub src: Option<String>,
            /// Where the picture links to.
            pub href: Option<String>,
            /// Text instead of the picture.
            #[schemars(length(min = 1))]
            pub alt: Option<String>,
        }
    }
}

object! {
    /// A link.
    pub struct PagerDutyLinkConfig {
        optional {
            /// Where the link leads to.
            pub href: Option<String>,
            /// Text of the link.
            #[schemars(length(min = 1))]
            pub alt: Option<String>,
        }
    }
}

object! {
    /// An alert in Opsgenie.
    pub struct OpsGenieConfig {
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// The key of a Secret that holds the API key; the global one when absent.
            pub api_key: Option<SecretKeySelector>,
            /// Address of the API; the global one when absent.
            #[serde(rename = "apiURL")]
            pub api_url: Option<HttpUrl>,
            /// Text of the alert.
            #[schemars(length(min = 1))]
            pub message: Option<String>,
            /// Description of the incident.
            #[schemars(length(min = 1))]
            pub description: Option<String>,
            /// Where the alert comes from.
            #[schemars(length(min = 1))]
            pub source: Option<String>,
            /// Comma-separated tags.
            #[schemars(length(min = 1))]
            pub tags: Option<String>,
            /// Further note.
            #[schemars(length(min = 1))]
            pub note: Option<String>,
            /// Priority from `P1` to `P5`.
            #[schemars(length(min = 1))]
            pub priority: Option<String>,
            /// Whether text and description of an alert are brought up to date.
            pub update_alerts: Option<bool>,
            /// Further details of the alert.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub details: Vec<KeyValue>,
            /// Who is responsible.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub responders: Vec<OpsGenieResponder>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
            /// What the alert is about.
            #[schemars(length(min = 1))]
            pub entity: Option<String>,
            /// Comma-separated actions.
            #[schemars(length(min = 1))]
            pub actions: Option<String>,
        }
    }
}

object! {
    /// Somebody responsible, by one of ID, name and user name.
    pub struct OpsGenieResponder {
        required {
            /// What the responder is.
            #[schemars(length(min = 1))]
            pub r#type: ResponderType,
        }
        optional {
            /// ID of the responder.
            #[schemars(length(min = 1))]
            pub id: Option<String>,
            /// Name of the responder.
            #[schemars(length(min = 1))]
            pub name: Option<String>,
            /// User name of the responder.
            #[schemars(length(min = 1))]
            pub username: Option<String>,
        }
    }
}

object! {
    /// An incident in VictorOps.
    pub struct VictorOpsConfig {
        required {
            /// Key that maps the alert to a team.
            #[schemars(length(min = 1))]
            pub routing_key: String,
        }
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// The key of a Secret that holds the API key; the global one when absent.
            pub api_key: Option<SecretKeySelector>,
            /// Address of the API; the global one when absent.
            pub api_url: Option<HttpUrl>,
            /// What the alert does: `CRITICAL`, `WARNING` or `INFO`.
            #[schemars(length(min = 1))]
            pub message_type: Option<String>,
            /// Summary of the alert.
            #[schemars(length(min = 1))]
            pub entity_display_name: Option<String>,
            /// Long explanation of the alert.
            #[schemars(length(min = 1))]
            pub state_message: Option<String>,
            /// Name of the monitoring system.
            #[schemars(length(min = 1))]
            pub monitoring_tool: Option<String>,
            /// Further fields.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub custom_fields: Vec<KeyValue>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
        }
    }
}
