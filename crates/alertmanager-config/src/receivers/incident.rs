//! Receivers that wake people up.

use rendering::{Tree, since};

use crate::form::Kind::{Duration, Flag, Http, Objects, Pairs, Secret, TemplateUrl, Text, Url};
use crate::form::{Form, Rule, field};
use crate::invalid::{Invalid, Within};
use crate::references::References;
use crate::url;
use crate::value::text;

pub(super) const PAGERDUTY: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("httpConfig", "http_config", Http),
        field("serviceKey", "service_key", Secret),
        field("routingKey", "routing_key", Secret),
        field("url", "url", Url),
        field("client", "client", Text),
        field("clientURL", "client_url", TemplateUrl),
        field("description", "description", Text),
        field("details", "details", Pairs),
        field("pagerDutyImageConfigs", "images", Objects(&PAGERDUTY_IMAGE)),
        field("pagerDutyLinkConfigs", "links", Objects(&PAGERDUTY_LINK)),
        field("severity", "severity", Text),
        field("class", "class", Text),
        field("component", "component", Text),
        field("group", "group", Text),
        field("source", "source", Text),
        field("timeout", "timeout", Duration),
    ],
    rules: &[Rule::AnyOf(&["routingKey", "serviceKey"])],
};

const PAGERDUTY_IMAGE: Form = Form {
    fields: &[field("src", "src", Text), field("alt", "alt", Text), field("href", "href", TemplateUrl)],
    rules: &[],
};

const PAGERDUTY_LINK: Form =
    Form { fields: &[field("href", "href", TemplateUrl), field("alt", "text", Text)], rules: &[] };

pub(super) const OPSGENIE: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("httpConfig", "http_config", Http),
        field("apiKey", "api_key", Secret),
        field("apiURL", "api_url", Url),
        field("message", "message", Text),
        field("description", "description", Text),
        field("source", "source", Text),
        field("details", "details", Pairs),
        field("responders", "responders", Objects(&RESPONDER)),
        field("tags", "tags", Text),
        field("note", "note", Text),
        field("priority", "priority", Text),
        field("updateAlerts", "update_alerts", Flag),
        field("entity", "entity", Text),
        field("actions", "actions", Text),
    ],
    rules: &[],
};

const RESPONDER: Form = Form {
    fields: &[
        field("id", "id", Text),
        field("name", "name", Text),
        field("username", "username", Text),
        field("type", "type", Text),
    ],
    rules: &[Rule::Check(is_somebody), Rule::CheckReferences(teams_need_a_version)],
};

/// What a responder may be, in any case; or a template.
const RESPONDERS: &[&str] = &["team", "teams", "user", "escalation", "schedule"];

fn is_somebody(responder: &Tree) -> Result<(), Invalid> {
    let part = |name| responder.get(name).map_or("", text);
    if ["id", "name", "username"].into_iter().all(|name| part(name).is_empty()) {
        return Err(Invalid::new("", "needs one of id, name, username"));
    }
    let sort = part("type");
    if sort.contains("{{") {
        return url::check_template_text(sort).map_err(|problem| Invalid::new("type", problem));
    }
    match RESPONDERS.contains(&sort.to_lowercase().as_str()) {
        true => Ok(()),
        false => Err(Invalid::new("type", format!("must be one of {}", RESPONDERS.join(", ")))),
    }
}

fn teams_need_a_version(responder: &Tree, references: &References<'_>) -> Result<(), Invalid> {
    match responder.get("type").map(text) {
        Some("teams") => references.demand(since("0.24.0")).within("type"),
        _ => Ok(()),
    }
}

pub(super) const VICTOROPS: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("httpConfig", "http_config", Http),
        field("apiKey", "api_key", Secret),
        field("apiUrl", "api_url", Url),
        field("routingKey", "routing_key", Text),
        field("messageType", "message_type", Text),
        field("stateMessage", "state_message", Text),
        field("entityDisplayName", "entity_display_name", Text),
        field("monitoringTool", "monitoring_tool", Text),
        field("customFields", "custom_fields", Pairs),
    ],
    rules: &[Rule::NotEmpty("routingKey"), Rule::Check(keeps_reserved_names_free)],
};

/// Names that VictorOps' messages have of themselves.
pub(crate) const VICTOROPS_NAMES: &[&str] = &[
    "routing_key",
    "message_type",
    "state_message",
    "entity_display_name",
    "monitoring_tool",
    "entity_id",
    "entity_state",
];

fn keeps_reserved_names_free(config: &Tree) -> Result<(), Invalid> {
    let Some(fields) = config.get("customFields") else { return Ok(()) };
    crate::form::each(fields, |field| match field.get("key").map_or("", text) {
        name if VICTOROPS_NAMES.contains(&name) => {
            Err(Invalid::new("key", format!("{name} is reserved; choose another name")))
        }
        _ => Ok(()),
    })
    .within("customFields")
}
