//! Receivers that wake people up, or open tickets.

use super::Holds::{Anything, Duration, Given, Section as One, Sections, Text, TextMap, Texts, Url};
use super::client::HTTP;
use super::{Rule, Section, checks, key};

pub(super) static OPSGENIE: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("api_key", Text),
        key("api_key_file", Text).since("0.24.0"),
        key("api_url", Url),
        key("message", Text),
        key("description", Text),
        key("source", Text),
        key("details", TextMap),
        key("responders", Sections(&RESPONDER)),
        key("tags", Text),
        key("note", Text),
        key("priority", Text),
        key("update_alerts", Given).since("0.24.0"),
        key("entity", Text).since("0.24.0"),
        key("actions", Text).since("0.24.0"),
    ],
    before: &[],
    after: &[Rule::Prefer("api_key", "api_key_file")],
};

static RESPONDER: Section = Section {
    keys: &[key("id", Text), key("name", Text), key("username", Text), key("type", Text)],
    before: &[Rule::Check(checks::teams_need_a_version)],
    after: &[],
};

pub(super) static PAGERDUTY: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("service_key", Text),
        key("service_key_file", Text).since("0.25.0"),
        key("routing_key", Text),
        key("routing_key_file", Text).since("0.25.0"),
        key("url", Text),
        key("client", Text),
        key("client_url", Text),
        key("description", Text),
        key("details", Anything),
        key("images", Sections(&PAGERDUTY_IMAGE)),
        key("links", Sections(&PAGERDUTY_LINK)),
        key("severity", Text),
        key("class", Text),
        key("component", Text),
        key("group", Text),
        key("source", Text).since("0.25.0"),
        key("timeout", Duration).since("0.30.0"),
    ],
    before: &[],
    after: &[
        Rule::Prefer("service_key", "service_key_file"),
        Rule::Prefer("routing_key", "routing_key_file"),
        Rule::Check(checks::details_are_texts),
    ],
};

static PAGERDUTY_IMAGE: Section =
    Section { keys: &[key("src", Text), key("alt", Text), key("href", Text)], before: &[], after: &[] };

static PAGERDUTY_LINK: Section =
    Section { keys: &[key("href", Text), key("text", Text)], before: &[], after: &[] };

pub(super) static VICTOROPS: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("api_key", Text),
        key("api_key_file", Text).since("0.25.0"),
        key("api_url", Url),
        key("routing_key", Text),
        key("message_type", Text),
        key("state_message", Text),
        key("entity_display_name", Text),
        key("monitoring_tool", Text),
        key("custom_fields", TextMap),
    ],
    before: &[],
    after: &[Rule::Prefer("api_key", "api_key_file")],
};

pub(super) static JIRA: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("api_url", Url),
        key("project", Text),
        key("summary", Text),
        key("description", Text),
        key("labels", Texts),
        key("priority", Text),
        key("issue_type", Text),
        key("reopen_transition", Text),
        key("resolve_transition", Text),
        key("wont_fix_resolution", Text),
        key("reopen_duration", Duration),
        key("fields", Anything),
        key("api_type", Text).since("0.29.0"),
    ],
    before: &[],
    after: &[
        Rule::AnyOf(&["project"]),
        Rule::AnyOf(&["issue_type"]),
        Rule::Among("api_type", &["auto", "cloud", "datacenter"]),
    ],
};

pub(super) static INCIDENTIO: Section = Section {
    keys: &[
        key("send_resolved", Given),
        key("http_config", One(&HTTP)),
        key("url", Url),
        key("url_file", Text),
        key("alert_source_token", Text),
        key("alert_source_token_file", Text),
        key("max_alerts", Given),
        key("timeout", Duration),
    ],
    before: &[],
    after: &[
        Rule::AnyOf(&["url", "url_file"]),
        Rule::AtMostOne(&["url", "url_file"]),
        Rule::AtMostOne(&["alert_source_token", "alert_source_token_file"]),
        Rule::Check(checks::incidentio_is_authorized_once),
    ],
};
