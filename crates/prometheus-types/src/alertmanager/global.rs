//! The global part of an Alertmanager's configuration: what receivers fall back to.

use k8s_openapi::api::core::v1::SecretKeySelector;

use crate::http::HttpConfigWithProxy;
use crate::object::object;
use crate::text::{Duration, Url};
use crate::tls::SafeTlsConfig;

object! {
    /// What receivers fall back to.
    pub struct AlertmanagerGlobalConfig {
        optional {
            /// Mail server.
            pub smtp: Option<GlobalSmtpConfig>,
            /// Time after which an alert counts as resolved when it is no longer sent.
            pub resolve_timeout: Duration,
            /// HTTP client of receivers that state none of their own.
            pub http_config: Option<HttpConfigWithProxy>,
            /// The key of a Secret that holds Slack's webhook address.
            pub slack_api_url: Option<SecretKeySelector>,
            /// The key of a Secret that holds Opsgenie's address.
            pub ops_genie_api_url: Option<SecretKeySelector>,
            /// The key of a Secret that holds Opsgenie's API key.
            pub ops_genie_api_key: Option<SecretKeySelector>,
            /// Address of PagerDuty.
            pub pagerduty_url: Option<Url>,
            /// Telegram.
            pub telegram: Option<GlobalTelegramConfig>,
            /// Jira.
            pub jira: Option<GlobalJiraConfig>,
            /// VictorOps.
            pub victorops: Option<GlobalVictorOpsConfig>,
            /// Rocket.Chat.
            pub rocket_chat: Option<GlobalRocketChatConfig>,
            /// Webex.
            pub webex: Option<GlobalWebexConfig>,
            /// WeChat.
            pub wechat: Option<GlobalWeChatConfig>,
            /// Mattermost.
            pub mattermost: Option<GlobalMattermostConfig>,
        }
    }
}

object! {
    /// The mail server of email receivers.
    pub struct GlobalSmtpConfig {
        optional {
            /// Sender of the mails.
            pub from: Option<String>,
            /// The mail server.
            pub smart_host: Option<HostPort>,
            /// Name given to the mail server.
            pub hello: Option<String>,
            /// User name for CRAM-MD5, LOGIN and PLAIN.
            pub auth_username: Option<String>,
            /// The key of a Secret that holds the password for LOGIN and PLAIN.
            pub auth_password: Option<SecretKeySelector>,
            /// Identity for PLAIN.
            pub auth_identity: Option<String>,
            /// The key of a Secret that holds the secret for CRAM-MD5.
            pub auth_secret: Option<SecretKeySelector>,
            /// Whether STARTTLS is insisted on. Go refuses plain connections to other hosts.
            #[serde(rename = "requireTLS")]
            pub require_tls: Option<bool>,
            /// TLS towards the mail server. Needs Alertmanager 0.28.
            pub tls_config: Option<SafeTlsConfig>,
            /// Whether TLS begins with the connection instead of STARTTLS. Needs Alertmanager 0.31.
            #[serde(rename = "forceImplicitTLS")]
            pub force_implicit_tls: Option<bool>,
        }
    }
}

object! {
    /// A host and its port.
    pub struct HostPort {
        required {
            /// The host.
            #[schemars(length(min = 1))]
            pub host: String,
            /// The port, as a number or a name.
            #[schemars(length(min = 1))]
            pub port: String,
        }
    }
}

object! {
    /// What Telegram receivers fall back to.
    pub struct GlobalTelegramConfig {
        optional {
            /// Address of Telegram's API. Needs Alertmanager 0.24.
            #[serde(rename = "apiURL")]
            pub api_url: Option<Url>,
        }
    }
}

object! {
    /// What Jira receivers fall back to.
    pub struct GlobalJiraConfig {
        optional {
            /// Address of Jira's API. Needs Alertmanager 0.28.
            #[serde(rename = "apiURL")]
            pub api_url: Option<Url>,
        }
    }
}

object! {
    /// What Webex receivers fall back to.
    pub struct GlobalWebexConfig {
        optional {
            /// Address of Webex' API. Needs Alertmanager 0.25.
            #[serde(rename = "apiURL")]
            pub api_url: Option<Url>,
        }
    }
}

object! {
    /// What Rocket.Chat receivers fall back to.
    pub struct GlobalRocketChatConfig {
        optional {
            /// Address of Rocket.Chat's API. Needs Alertmanager 0.28.
            #[serde(rename = "apiURL")]
            pub api_url: Option<Url>,
            /// The key of a Secret that holds the token.
            pub token: Option<SecretKeySelector>,
            /// The key of a Secret that holds the token's ID.
            #[serde(rename = "tokenID")]
            pub token_id: Option<SecretKeySelector>,
        }
    }
}

object! {
    /// What VictorOps receivers fall back to.
    pub struct GlobalVictorOpsConfig {
        optional {
            /// Address of VictorOps' API.
            #[serde(rename = "apiURL")]
            pub api_url: Option<Url>,
            /// The key of a Secret that holds the API key.
            pub api_key: Option<SecretKeySelector>,
        }
    }
}

object! {
    /// What WeChat receivers fall back to.
    pub struct GlobalWeChatConfig {
        optional {
            /// Address of WeChat's API.
            #[serde(rename = "apiURL")]
            pub api_url: Option<Url>,
            /// The key of a Secret that holds the API's secret.
            pub api_secret: Option<SecretKeySelector>,
            /// ID of the corporation.
            #[serde(rename = "apiCorpID")]
            #[schemars(length(min = 1))]
            pub api_corp_id: Option<String>,
        }
    }
}

object! {
    /// What Mattermost receivers fall back to.
    pub struct GlobalMattermostConfig {
        optional {
            /// The key of a Secret that holds the webhook's address. Needs Alertmanager 0.32.
            #[serde(rename = "webhookURL")]
            pub webhook_url: Option<SecretKeySelector>,
        }
    }
}
