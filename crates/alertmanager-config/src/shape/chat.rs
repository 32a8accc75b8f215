//! Receivers that post to rooms of a chat.

use rendering::until;

use super::Holds::{
    AlwaysSwitch, AlwaysText, Anything, Duration, Given, GivenOrNull, Section as One, Sections, Switch,
    TemplateUrl, Text, Texts, Url,
};
use super::client::HTTP;
use super::{Rule, Section, checks, key};

pub(super) static SLACK: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("api_url", Text),
        key("api_url_file", Text).since("0.22.0"),
        key("app_token", Text).since("0.30.0"),
        key("app_token_file", Text).since("0.30.0"),
        key("app_url", Text).since("0.30.0"),
        key("channel", Text),
        key("username", Text),
        key("color", Text),
        key("title", Text),
        key("title_link", Text),
        key("pretext", Text),
        key("text", Text),
        key("fields", Sections(&SLACK_FIELD)),
        key("short_fields", Switch),
        key("footer", Text),
        key("fallback", Text),
        key("callback_id", Text),
        key("icon_emoji", Text),
        key("icon_url", Text),
        key("image_url", Text),
        key("thumb_url", Text),
        key("link_names", Switch),
        key("mrkdwn_in", Texts),
        key("actions", Sections(&SLACK_ACTION)),
        key("timeout", Duration).since("0.30.0"),
        key("message_text", Text).since("0.31.0"),
        key("update_message", Given).since("0.32.0"),
    ],
    before: &[],
    after: &[
        Rule::Check(checks::only_bots_change_messages),
        Rule::Prefer("app_token", "app_token_file"),
        Rule::AtMostOne(&["app_token", "api_url"]),
        Rule::AtMostOne(&["app_token", "api_url_file"]),
        Rule::AtMostOne(&["app_token_file", "api_url"]),
        Rule::AtMostOne(&["app_token_file", "api_url_file"]),
        Rule::Prefer("api_url", "api_url_file"),
    ],
};

static SLACK_FIELD: Section = Section {
    keys: &[key("title", Text), key("value", Text), key("short", Switch)],
    before: &[],
    after: &[],
};

static SLACK_ACTION: Section = Section {
    keys: &[
        key("type", Text),
        key("text", Text),
        key("url", Text),
        key("style", Text),
        key("name", Text),
        key("value", Text),
        key("confirm", One(&SLACK_CONFIRMATION)),
    ],
    before: &[],
    after: &[],
};

static SLACK_CONFIRMATION: Section = Section {
    keys: &[key("text", Text), key("title", Text), key("ok_text", Text), key("dismiss_text", Text)],
    before: &[],
    after: &[],
};

pub(super) static DISCORD: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("webhook_url", Text),
        key("webhook_url_file", Text).since("0.28.0"),
        key("title", Text),
        key("message", Text),
        key("content", Text).since("0.28.0"),
        key("username", Text).since("0.28.0"),
        key("avatar_url", Text).since("0.28.0"),
    ],
    before: &[],
    after: &[
        Rule::AnyOf(&["webhook_url", "webhook_url_file"]),
        Rule::AtMostOne(&["webhook_url", "webhook_url_file"]),
    ],
};

pub(super) static WEBEX: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("api_url", Url),
        key("message", Text),
        key("room_id", AlwaysText),
    ],
    before: &[],
    after: &[Rule::AnyOf(&["room_id"])],
};

pub(super) static MSTEAMS: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("webhook_url", Url),
        key("title", Text),
        key("summary", Text).since("0.27.0"),
        key("text", Text),
    ],
    before: &[],
    after: &[Rule::AnyOf(&["webhook_url"])],
};

pub(super) static MSTEAMSV2: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("webhook_url", Url),
        key("webhook_url_file", Text),
        key("title", Text),
        key("text", Text),
    ],
    before: &[],
    after: &[
        Rule::AnyOf(&["webhook_url", "webhook_url_file"]),
        Rule::AtMostOne(&["webhook_url", "webhook_url_file"]),
    ],
};

pub(super) static ROCKETCHAT: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("api_url", Text),
        key("token_id", Given),
        key("token_id_file", Text),
        key("token", Given),
        key("token_file", Text),
        key("channel", Text),
        key("color", Text),
        key("title", Text),
        key("title_link", Text),
        key("text", Text),
        key("fields", Sections(&ROCKETCHAT_FIELD)),
        key("short_fields", AlwaysSwitch),
        key("emoji", Text),
        key("icon_url", Text),
        key("image_url", Text),
        key("thumb_url", Text),
        key("link_names", AlwaysSwitch),
        key("actions", Sections(&ROCKETCHAT_ACTION)),
    ],
    before: &[],
    after: &[Rule::AtMostOne(&["token", "token_file"]), Rule::AtMostOne(&["token_id", "token_id_file"])],
};

static ROCKETCHAT_FIELD: Section = Section {
    keys: &[key("short", GivenOrNull), key("title", Text), key("value", Text)],
    before: &[],
    after: &[],
};

static ROCKETCHAT_ACTION: Section = Section {
    keys: &[
        key("type", Text),
        key("text", Text),
        key("url", Text),
        key("image_url", Text),
        key("is_webview", AlwaysSwitch),
        key("webview_height_ratio", Text),
        key("msg", Text),
        key("msg_in_chat_window", AlwaysSwitch),
        key("msg_processing_type", Text),
    ],
    before: &[],
    after: &[],
};

pub(super) static MATTERMOST: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("webhook_url", Url),
        key("webhook_url_file", Text),
        key("channel", Text),
        key("username", Text),
        key("text", Text),
        key("icon_url", TemplateUrl),
        key("icon_emoji", Text),
        key("attachments", Sections(&MATTERMOST_ATTACHMENT)),
        key("props", Given),
        key("priority", Given),
        key("fallback", Text).since("0.32.0"),
        key("color", Text).since("0.32.0"),
        key("pretext", Text).since("0.32.0"),
        key("author_name", Text).since("0.32.0"),
        key("author_link", TemplateUrl).since("0.32.0"),
        key("author_icon", TemplateUrl).since("0.32.0"),
        key("title", Text).since("0.32.0"),
        key("title_link", TemplateUrl).since("0.32.0"),
        key("fields", Anything).since("0.32.0"),
        key("thumb_url", TemplateUrl).since("0.32.0"),
        key("footer", Text).since("0.32.0"),
        key("footer_icon", TemplateUrl).since("0.32.0"),
        key("image_url", TemplateUrl).since("0.32.0"),
    ],
    before: &[],
    after: &[
        Rule::AnyOfIn(until("0.32.0"), &["webhook_url", "webhook_url_file"]),
        Rule::Prefer("webhook_url", "webhook_url_file"),
    ],
};

static MATTERMOST_ATTACHMENT: Section = Section {
    keys: &[
        key("fallback", Text),
        key("color", Text),
        key("pretext", Text),
        key("text", Text),
        key("author_name", Text),
        key("author_link", TemplateUrl),
        key("author_icon", TemplateUrl),
        key("title", Text),
        key("title_link", TemplateUrl),
        key("fields", Anything),
        key("thumb_url", TemplateUrl),
        key("footer", Text),
        key("footer_icon", TemplateUrl),
        key("image_url", TemplateUrl),
    ],
    before: &[],
    after: &[],
};
