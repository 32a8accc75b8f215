//! Receivers that post to rooms of a chat: Slack, Discord, Rocket.Chat, Webex, Microsoft Teams.

use k8s_openapi::api::core::v1::SecretKeySelector;

use crate::object::object;
use crate::receivers::ReceiverHttpConfig;
use crate::text::{Duration, HttpUrl, NonEmpty};

object! {
    /// A message in Slack.
    pub struct SlackConfig {
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// The key of a Secret that holds the webhook's address; the global one when absent.
            #[serde(rename = "apiURL")]
            pub api_url: Option<SecretKeySelector>,
            /// Channel or user to write to.
            #[schemars(length(min = 1))]
            pub channel: Option<String>,
            /// Name of the sender.
            #[schemars(length(min = 1))]
            pub username: Option<String>,
            /// Colour of the attachment.
            #[schemars(length(min = 1))]
            pub color: Option<String>,
            /// Title of the attachment.
            #[schemars(length(min = 1))]
            pub title: Option<String>,
            /// Where the title links to.
            pub title_link: String,
            /// Text above the attachment.
            #[schemars(length(min = 1))]
            pub pretext: Option<String>,
            /// Text of the attachment.
            #[schemars(length(min = 1))]
            pub text: Option<String>,
            /// Fields of the attachment.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub fields: Vec<SlackField>,
            /// Whether fields are short unless they say otherwise.
            pub short_fields: Option<bool>,
            /// Text below the attachment.
            #[schemars(length(min = 1))]
            pub footer: Option<String>,
            /// Text for clients without attachments.
            #[schemars(length(min = 1))]
            pub fallback: Option<String>,
            /// Identifier of the attachment.
            #[schemars(length(min = 1))]
            pub callback_id: Option<String>,
            /// Emoji shown as the sender's picture.
            #[schemars(length(min = 1))]
            pub icon_emoji: Option<String>,
            /// Picture of the sender.
            #[serde(rename = "iconURL")]
            pub icon_url: String,
            /// Picture in the attachment.
            #[serde(rename = "imageURL")]
            pub image_url: String,
            /// Thumbnail in the attachment.
            #[serde(rename = "thumbURL")]
            pub thumb_url: String,
            /// Whether names of users and channels become links.
            pub link_names: Option<bool>,
            /// Parts of the attachment that are formatted.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub mrkdwn_in: Vec<NonEmpty>,
            /// Buttons of the attachment.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub actions: Vec<SlackAction>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
            /// Longest time for sending. Needs Alertmanager 0.30.
            pub timeout: Option<Duration>,
            /// Text of the message itself, outside of any attachment. Needs Alertmanager 0.31.
            #[schemars(length(min = 1))]
            pub message_text: Option<String>,
            /// Whether the first message of a group is changed instead of a new one being sent. Needs
            /// Alertmanager 0.32.
            pub update_message: Option<bool>,
        }
    }
}

object! {
    /// A button.
    pub struct SlackAction {
        required {
            /// Type of the action, such as `button`.
            #[schemars(length(min = 1))]
            pub r#type: String,
            /// Text of the button.
            #[schemars(length(min = 1))]
            pub text: String,
        }
        optional {
            /// Where the button leads to.
            pub url: String,
            /// Style of the button.
            #[schemars(length(min = 1))]
            pub style: Option<String>,
            /// Name of the action, for a callback.
            #[schemars(length(min = 1))]
            pub name: Option<String>,
            /// Value of the action, for a callback.
            #[schemars(length(min = 1))]
            pub value: Option<String>,
            /// Question that is asked first.
            pub confirm: Option<SlackConfirmationField>,
        }
    }
}

object! {
    /// A question that is asked before an action.
    pub struct SlackConfirmationField {
        required {
            /// The question.
            #[schemars(length(min = 1))]
            pub text: String,
        }
        optional {
            /// Title of the question.
            #[schemars(length(min = 1))]
            pub title: Option<String>,
            /// Text of the button that agrees.
            #[schemars(length(min = 1))]
            pub ok_text: Option<String>,
            /// Text of the button that does not.
            #[schemars(length(min = 1))]
            pub dismiss_text: Option<String>,
        }
    }
}

object! {
    /// A field of an attachment.
    pub struct SlackField {
        required {
            /// Title of the field.
            #[schemars(length(min = 1))]
            pub title: String,
            /// Value of the field.
            #[schemars(length(min = 1))]
            pub value: String,
        }
        optional {
            /// Whether it may stand beside others.
            pub short: Option<bool>,
        }
    }
}

object! {
    /// A message in Discord.
    pub struct DiscordConfig {
        required {
            /// The key of a Secret that holds the webhook's address.
            #[serde(rename = "apiURL")]
            pub api_url: SecretKeySelector,
        }
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// Title of the message.
            pub title: Option<String>,
            /// Body of the message.
            pub message: Option<String>,
            /// Text above the message. Needs Alertmanager 0.28.
            #[schemars(length(min = 1))]
            pub content: Option<String>,
            /// Name of the sender. Needs Alertmanager 0.28.
            #[schemars(length(min = 1))]
            pub username: Option<String>,
            /// Picture of the sender. Needs Alertmanager 0.28.
            #[serde(rename = "avatarURL")]
            pub avatar_url: Option<HttpUrl>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
        }
    }
}

object! {
    /// A message in Rocket.Chat.
    pub struct RocketChatConfig {
        required {
            /// The key of a Secret that holds the token.
            pub token: SecretKeySelector,
            /// The key of a Secret that holds the token's ID.
            #[serde(rename = "tokenID")]
            pub token_id: SecretKeySelector,
        }
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// Address of the API; the global one when absent.
            #[serde(rename = "apiURL")]
            pub api_url: Option<HttpUrl>,
            /// Channel or user to write to.
            #[schemars(length(min = 1))]
            pub channel: Option<String>,
            /// Colour of the message.
            #[schemars(length(min = 1))]
            pub color: Option<String>,
            /// Emoji shown as the sender's picture.
            #[schemars(length(min = 1))]
            pub emoji: Option<String>,
            /// Picture of the sender.
            #[serde(rename = "iconURL")]
            pub icon_url: Option<String>,
            /// Text of the message.
            #[schemars(length(min = 1))]
            pub text: Option<String>,
            /// Title of the message.
            #[schemars(length(min = 1))]
            pub title: Option<String>,
            /// Where the title links to.
            #[schemars(length(min = 1))]
            pub title_link: Option<String>,
            /// Fields of the message.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub fields: Vec<RocketChatFieldConfig>,
            /// Whether fields are short unless they say otherwise.
            pub short_fields: Option<bool>,
            /// Picture in the message.
            #[serde(rename = "imageURL")]
            pub image_url: Option<String>,
            /// Thumbnail in the message.
            #[serde(rename = "thumbURL")]
            pub thumb_url: Option<String>,
            /// Whether names of users and channels become links.
            pub link_names: Option<bool>,
            /// Buttons of the message.
            #[schemars(length(min = 1))]
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub actions: Vec<RocketChatActionConfig>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
        }
    }
}

object! {
    /// A field of a message.
    pub struct RocketChatFieldConfig {
        optional {
            /// Title of the field.
            #[schemars(length(min = 1))]
            pub title: Option<String>,
            /// Value of the field.
            #[schemars(length(min = 1))]
            pub value: Option<String>,
            /// Whether it may stand beside others.
            pub short: Option<bool>,
        }
    }
}

object! {
    /// A button.
    pub struct RocketChatActionConfig {
        optional {
            /// Text of the button.
            #[schemars(length(min = 1))]
            pub text: Option<String>,
            /// Where the button leads to.
            pub url: Option<String>,
            /// Message that the button sends.
            #[schemars(length(min = 1))]
            pub msg: Option<String>,
        }
    }
}

object! {
    /// A message in Webex.
    pub struct WebexConfig {
        required {
            /// Room to write to.
            #[serde(rename = "roomID")]
            #[schemars(length(min = 1))]
            pub room_id: String,
        }
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// Address of the API; the global one when absent.
            #[serde(rename = "apiURL")]
            pub api_url: Option<HttpUrl>,
            /// The HTTP client, which must state the bot's authorization.
            pub http_config: Option<ReceiverHttpConfig>,
            /// Text of the message.
            pub message: Option<String>,
        }
    }
}

object! {
    /// A message in Microsoft Teams, by a connector.
    pub struct MsTeamsConfig {
        required {
            /// The key of a Secret that holds the webhook's address.
            pub webhook_url: SecretKeySelector,
        }
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// Title of the message.
            pub title: Option<String>,
            /// Summary of the message. Needs Alertmanager 0.27.
            pub summary: Option<String>,
            /// Text of the message.
            pub text: Option<String>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
        }
    }
}

object! {
    /// A message in Microsoft Teams, by a flow.
    pub struct MsTeamsV2Config {
        optional {
            /// Whether it is told when alerts are over.
            pub send_resolved: Option<bool>,
            /// The key of a Secret that holds the flow's address.
            #[serde(rename = "webhookURL")]
            pub webhook_url: Option<SecretKeySelector>,
            /// Title of the message.
            #[schemars(length(min = 1))]
            pub title: Option<String>,
            /// Text of the message.
            #[schemars(length(min = 1))]
            pub text: Option<String>,
            /// The HTTP client.
            pub http_config: Option<ReceiverHttpConfig>,
        }
    }
}
