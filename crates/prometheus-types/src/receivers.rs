//! Receivers: whom Alertmanager sends alerts to. One file by the sort of service, all fields being templates
//! unless they hold secrets or addresses.

pub mod chat;
pub mod email;
pub mod incident;
pub mod mobile;
pub mod webhook;

use crate::http::{HttpConfig, ProxyConfig};
use crate::object::object;
use crate::receivers::chat::{
    DiscordConfig, MsTeamsConfig, MsTeamsV2Config, RocketChatConfig, SlackConfig, WebexConfig,
};
use crate::receivers::email::EmailConfig;
use crate::receivers::incident::{OpsGenieConfig, PagerDutyConfig, VictorOpsConfig};
use crate::receivers::mobile::{PushoverConfig, SnsConfig, TelegramConfig, WeChatConfig};
use crate::receivers::webhook::WebhookConfig;
use crate::tls::SafeTlsConfig;

object! {
    /// Whom alerts are sent to, by any number of ways.
    pub struct Receiver {
        required {
            /// Name of the receiver, by which routes refer to it.
            #[schemars(length(min = 1))]
            pub name: String,
        }
        optional {
            /// Opsgenie.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub opsgenie_configs: Vec<OpsGenieConfig>,
            /// PagerDuty.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub pagerduty_configs: Vec<PagerDutyConfig>,
            /// Discord.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub discord_configs: Vec<DiscordConfig>,
            /// Slack.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub slack_configs: Vec<SlackConfig>,
            /// Any HTTP server.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub webhook_configs: Vec<WebhookConfig>,
            /// WeChat.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub wechat_configs: Vec<WeChatConfig>,
            /// Email.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub email_configs: Vec<EmailConfig>,
            /// VictorOps.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub victorops_configs: Vec<VictorOpsConfig>,
            /// Pushover.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub pushover_configs: Vec<PushoverConfig>,
            /// AWS SNS.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub sns_configs: Vec<SnsConfig>,
            /// Telegram.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub telegram_configs: Vec<TelegramConfig>,
            /// Webex.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub webex_configs: Vec<WebexConfig>,
            /// Microsoft Teams by connectors. Needs Alertmanager 0.26.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub msteams_configs: Vec<MsTeamsConfig>,
            /// Microsoft Teams by flows. Needs Alertmanager 0.28.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub msteamsv2_configs: Vec<MsTeamsV2Config>,
            /// Rocket.Chat. Needs Alertmanager 0.28.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub rocketchat_configs: Vec<RocketChatConfig>,
        }
    }
}

object! {
    /// A key with its value.
    pub struct KeyValue {
        required {
            /// The key.
            #[schemars(length(min = 1))]
            pub key: String,
            /// The value.
            pub value: String,
        }
    }
}

object! {
    /// The HTTP client of a receiver.
    pub struct ReceiverHttpConfig {
        inline {
            pub http: HttpConfig,
            pub proxy: ProxyConfig,
        }
        optional {
            /// TLS towards the service.
            pub tls_config: Option<SafeTlsConfig>,
            /// Address of the proxy, in an older spelling. Wins over `proxyUrl`.
            #[serde(rename = "proxyURL")]
            pub proxy_url_original: Option<String>,
        }
    }
}
