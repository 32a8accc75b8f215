//! Receivers that reach a mailbox, a telephone, a messenger, or any HTTP server.

use rendering::until;

use super::Holds::{
    Duration, FullSection, Given, Number, Section as One, Switch, TemplateUrl, Text, TextMap, Url,
};
use super::client::{HTTP, PLAIN_TLS, SIGV4};
use super::{Rule, Section, checks, key};

pub(super) static EMAIL: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("to", Text),
        key("from", Text),
        key("hello", Text),
        key("smarthost", Text),
        key("auth_username", Text),
        key("auth_password", Text),
        key("auth_password_file", Text).since("0.25.0"),
        key("auth_secret", Text),
        key("auth_secret_file", Text).since("0.31.0"),
        key("auth_identity", Text),
        key("headers", TextMap),
        key("html", Given),
        key("text", Given),
        key("require_tls", Given),
        key("tls_config", One(&PLAIN_TLS)),
        key("force_implicit_tls", Given).since("0.31.0"),
        key("threading", One(&THREADING)).since("0.30.0"),
    ],
    before: &[],
    after: &[
        Rule::Prefer("auth_password", "auth_password_file"),
        Rule::Prefer("auth_secret", "auth_secret_file"),
    ],
};

static THREADING: Section = Section {
    keys: &[key("enabled", Given), key("thread_by_date", Text)],
    before: &[],
    after: &[Rule::AnyOf(&["thread_by_date"]), Rule::Among("thread_by_date", &["daily", "none"])],
};

pub(super) static WEBHOOK: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("url", TemplateUrl),
        key("url_file", Text).since("0.26.0"),
        key("http_config", One(&HTTP)),
        key("max_alerts", Number),
        key("timeout", Duration).since("0.28.0"),
        key("payload", Given).since("0.32.0"),
    ],
    before: &[],
    after: &[Rule::Prefer("url", "url_file")],
};

pub(super) static WECHAT: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("api_secret", Text),
        key("api_secret_file", Text).since("0.31.0"),
        key("api_url", Url),
        key("corp_id", Text),
        key("agent_id", Text),
        key("to_user", Text),
        key("to_party", Text),
        key("to_tag", Text),
        key("message", Text),
        key("message_type", Text),
        key("http_config", One(&HTTP)),
    ],
    before: &[],
    after: &[Rule::Prefer("api_secret", "api_secret_file")],
};

pub(super) static PUSHOVER: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("user_key", Text),
        key("user_key_file", Text).since("0.26.0"),
        key("token", Text),
        key("token_file", Text).since("0.26.0"),
        key("title", Text),
        key("message", Text),
        key("url", TemplateUrl),
        key("url_title", Text),
        key("ttl", Text).since("0.27.0"),
        key("device", Text).since("0.26.0"),
        key("sound", Text),
        key("priority", Text),
        key("retry", Duration),
        key("expire", Duration),
        key("html", Given),
        key("monospace", Given).set_since("0.29.0"),
    ],
    before: &[],
    after: &[
        Rule::AnyOf(&["user_key", "user_key_file"]),
        Rule::Prefer("user_key", "user_key_file"),
        Rule::AnyOf(&["token", "token_file"]),
        Rule::Prefer("token", "token_file"),
        Rule::Check(checks::html_or_monospace),
    ],
};

pub(super) static SNS: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("api_url", TemplateUrl),
        key("sigv4", FullSection(&SIGV4)),
        key("topic_arn", Text),
        key("phone_number", Text),
        key("target_arn", Text),
        key("subject", Text),
        key("message", Text),
        key("attributes", TextMap),
        key("use_aws_http_client", Switch).since("0.33.0"),
    ],
    before: &[],
    after: &[],
};

pub(super) static TELEGRAM: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("api_url", Url),
        key("bot_token", Text),
        key("bot_token_file", Text).since("0.26.0"),
        key("chat_id", Number),
        key("chat_id_file", Text).since("0.31.0"),
        key("message_thread_id", Number).since("0.26.0"),
        key("message", Text),
        key("disable_notifications", Switch),
        key("parse_mode", Text),
        key("http_config", One(&HTTP)),
    ],
    before: &[],
    after: &[
        Rule::AnyOf(&["chat_id", "chat_id_file"]),
        Rule::Prefer("chat_id", "chat_id_file"),
        Rule::Prefer("bot_token", "bot_token_file"),
        Rule::AnyOfIn(until("0.31.0"), &["bot_token", "bot_token_file"]),
    ],
};
