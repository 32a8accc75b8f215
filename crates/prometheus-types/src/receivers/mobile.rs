//! Receivers that reach a telephone or a person's messenger: Pushover, Telegram, WeChat, SNS.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::SecretKeySelector;

use crate::auth::SigV4;
use crate::object::object;
use crate::receivers::ReceiverHttpConfig;
use crate::text::{Duration, DurationWithUnit, HttpUrl, text};

text! {
    /// How Telegram formats a message.
    pub struct ParseMode {
        "enum": ["MarkdownV2", "Markdown", "HTML"]
    }
}

object! {
    /// A notification by Pushover.
    pub struct PushoverConfig {
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// The key of a Secret that holds the recipient's key. Either this or `userKeyFile` is to be
            /// given.
            pub user_key: Option<SecretKeySelector>,
            /// Path of the recipient's key in the container. Needs Alertmanager 0.26.
            #[schemars(length(min = 1))]
            pub user_key_file: Option<String>,
            /// The key of a Secret that holds the application's token. Either this or `tokenFile` is to be
            /// given.
            pub token: Option<SecretKeySelector>,
            /// Path of the application's token in the container. Needs Alertmanager 0.26.
            #[schemars(length(min = 1))]
            pub token_file: Option<String>,
            /// Title of the notification.
            #[schemars(length(min = 1))]
            pub title: Option<String>,
            /// Text of the notification.
            #[schemars(length(min = 1))]
            pub message: Option<String>,
            /// Address shown beside the text.
            pub url: String,
            /// Title of the address.
            #[schemars(length(min = 1))]
            pub url_title: Option<String>,
            /// How long the notification lives.
            pub ttl: Option<Duration>,
            /// Device that it goes to.
            #[schemars(length(min = 1))]
            pub device: Option<String>,
            /// Sound that it makes.
            #[schemars(length(min = 1))]
            pub sound: Option<String>,
            /// Priority of the notification.
            #[schemars(length(min = 1))]
            pub priority: Option<String>,
            /// How often an emergency is repeated, at least every 30 seconds.
            pub retry: Option<DurationWithUnit>,
            /// How long an emergency is repeated.
            pub expire: Option<DurationWithUnit>,
            /// Whether the text is HTML.
            pub html: Option<bool>,
            /// Whether the text is shown in a fixed-width font.
            pub monospace: Option<bool>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
        }
    }
}

object! {
    /// A message in Telegram.
    pub struct TelegramConfig {
        required {
            /// ID of the chat.
            #[serde(rename = "chatID")]
            pub chat_id: i64,
        }
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// Address of the API; the global one when absent.
            #[serde(rename = "apiURL")]
            pub api_url: Option<HttpUrl>,
            /// The key of a Secret that holds the bot's token. Wins over `botTokenFile`.
            pub bot_token: Option<SecretKeySelector>,
            /// Path of the bot's token in the container. Needs Alertmanager 0.26.
            pub bot_token_file: Option<String>,
            /// ID of the topic in a group. Needs Alertmanager 0.26.
            #[serde(rename = "messageThreadID")]
            pub message_thread_id: Option<i64>,
            /// Text of the message.
            pub message: String,
            /// Whether the message arrives without a sound.
            pub disable_notifications: Option<bool>,
            /// How the message is formatted.
            pub parse_mode: ParseMode,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
        }
    }
}

object! {
    /// A message in WeChat.
    pub struct WeChatConfig {
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// The key of a Secret that holds the API's secret; the global one when absent.
            pub api_secret: Option<SecretKeySelector>,
            /// Address of the API; the global one when absent.
            #[serde(rename = "apiURL")]
            pub api_url: Option<HttpUrl>,
            /// ID of the corporation; the global one when absent.
            #[serde(rename = "corpID")]
            #[schemars(length(min = 1))]
            pub corp_id: Option<String>,
            /// ID of the application.
            #[serde(rename = "agentID")]
            #[schemars(length(min = 1))]
            pub agent_id: Option<String>,
            /// Users that it goes to.
            #[schemars(length(min = 1))]
            pub to_user: Option<String>,
            /// Departments that it goes to.
            #[schemars(length(min = 1))]
            pub to_party: Option<String>,
            /// Tags that it goes to.
            #[schemars(length(min = 1))]
            pub to_tag: Option<String>,
            /// Text of the message.
            #[schemars(length(min = 1))]
            pub message: Option<String>,
            /// Type of the message: `text` or `markdown`.
            #[schemars(length(min = 1))]
            pub message_type: Option<String>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
        }
    }
}

object! {
    /// A message by AWS SNS. One of topic, telephone number and target is to be given.
    pub struct SnsConfig {
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// Address of the API; that of the region when absent.
            #[serde(rename = "apiURL")]
            pub api_url: Option<String>,
            /// AWS signatures.
            pub sigv4: Option<SigV4>,
            /// Topic that it goes to.
            #[serde(rename = "topicARN")]
            #[schemars(length(min = 1))]
            pub topic_arn: Option<String>,
            /// Subject, for messages that become email.
            #[schemars(length(min = 1))]
            pub subject: Option<String>,
            /// Telephone number that it goes to.
            #[schemars(length(min = 1))]
            pub phone_number: Option<String>,
            /// Mobile endpoint that it goes to.
            #[serde(rename = "targetARN")]
            #[schemars(length(min = 1))]
            pub target_arn: Option<String>,
            /// Text of the message.
            #[schemars(length(min = 1))]
            pub message: Option<String>,
            /// Attributes of the message.
            pub attributes: BTreeMap<String, String>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
            /// Whether AWS' own HTTP client is used instead. Needs Alertmanager 0.33.
            #[serde(rename = "useAWSHTTPClient")]
            pub use_aws_http_client: Option<bool>,
        }
    }
}
