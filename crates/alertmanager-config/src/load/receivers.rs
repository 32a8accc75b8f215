//! What else Alertmanager refuses in a receiver of a raw configuration, by the sort of receiver.

use std::collections::HashSet;

use rendering::{Map, Tree};

use super::items;
use crate::invalid::{Invalid, Within};
use crate::receivers::incident::VICTOROPS_NAMES;
use crate::shape::SLACK_BOT_API;
use crate::url;
use crate::value::{is_true, text};

type Check = fn(&Map, Option<&Map>) -> Result<(), Invalid>;

const CHECKS: &[(&str, Check)] = &[
    ("email_configs", email),
    ("incidentio_configs", incidentio),
    ("jira_configs", |config, _| among(config, "api_type", &["auto", "cloud", "datacenter"])),
    ("mattermost_configs", mattermost),
    ("opsgenie_configs", opsgenie),
    ("pushover_configs", pushover),
    ("slack_configs", slack),
    ("sns_configs", sns),
    ("telegram_configs", |config, _| among(config, "parse_mode", &["Markdown", "MarkdownV2", "HTML"])),
    ("victorops_configs", victorops),
    ("webex_configs", webex),
    ("wechat_configs", wechat),
];

pub(super) fn check(configuration: &Map) -> Result<(), Invalid> {
    let global = configuration.get("global").and_then(Tree::as_map);
    if let Some(global) = global {
        one_way_into_slack(global).within("global")?;
    }
    check_with(configuration, global)
}

/// Checks the receivers of a part of a configuration, which fall back to what is global.
pub(crate) fn check_with(configuration: &Map, global: Option<&Map>) -> Result<(), Invalid> {
    for (index, receiver) in items(configuration, "receivers").iter().enumerate() {
        for (sort, check) in CHECKS {
            let configs = receiver.get(sort).and_then(Tree::as_list).unwrap_or_default();
            for (at, config) in configs.iter().enumerate() {
                config
                    .as_map()
                    .map_or(Ok(()), |config| check(config, global))
                    .at(sort, at)
                    .at("receivers", index)?;
            }
        }
    }
    Ok(())
}

/// An app's token goes with the app's address only.
fn one_way_into_slack(global: &Map) -> Result<(), Invalid> {
    let token = global.given("slack_app_token") || global.given("slack_app_token_file");
    let webhook = global.given("slack_api_url") || global.given("slack_api_url_file");
    let app = Some(string(global, "slack_app_url")).filter(|url| !url.is_empty()).unwrap_or(SLACK_BOT_API);
    match token && webhook && string(global, "slack_api_url") != app {
        true => Err(Invalid::new("slack_app_token", "cannot be used together with slack_api_url")),
        false => Ok(()),
    }
}

fn email(config: &Map, _: Option<&Map>) -> Result<(), Invalid> {
    let mut names = HashSet::new();
    for (name, _) in config.get("headers").and_then(Tree::as_map).into_iter().flat_map(Map::iter) {
        if !names.insert(canonical(name)) {
            return Err(Invalid::new("headers", format!("{name} is there twice, but for its case")));
        }
    }
    let Some(threading) = config.get("threading").and_then(Tree::as_map) else { return Ok(()) };
    if !threading.get("enabled").is_some_and(is_true) {
        return Ok(());
    }
    for name in ["references", "in-reply-to"] {
        if names.contains(name) {
            return Err(Invalid::new(format!("headers.{name}"), "cannot be used together with threading"));
        }
    }
    match string(threading, "thread_by_date") {
        "none" | "daily" => Ok(()),
        _ => Err(Invalid::new("threading.thread_by_date", "must be one of none, daily")),
    }
}

/// A header's name in the form in which equal ones are equal; what is no name of a header is left as it is.
fn canonical(name: &str) -> String {
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c));
    if is_name { name.to_ascii_lowercase() } else { name.to_owned() }
}

fn incidentio(config: &Map, _: Option<&Map>) -> Result<(), Invalid> {
    let token = config.given("alert_source_token") || config.given("alert_source_token_file");
    match (client(config).map(authorized), token) {
        (Some(true), true) => {
            Err(Invalid::new("alert_source_token", "cannot be used together with http_config.authorization"))
        }
        (Some(false), false) => {
            Err(Invalid::new("alert_source_token", "must be given, or http_config.authorization"))
        }
        _ => Ok(()),
    }
}

fn mattermost(config: &Map, _: Option<&Map>) -> Result<(), Invalid> {
    each(config, "fields", &|field| all_of(field, &["title", "value"]))?;
    each(config, "attachments", &|attachment| {
        each(attachment, "fields", &|field| all_of(field, &["title", "value"]))
    })
}

fn opsgenie(config: &Map, _: Option<&Map>) -> Result<(), Invalid> {
    each(config, "responders", &|responder| {
        if !["id", "username", "name"].into_iter().any(|key| responder.given(key)) {
            return Err(Invalid::new("", "needs one of id, username, name"));
        }
        let sort = string(responder, "type");
        if sort.contains("{{") {
            return url::check_template_text(sort).map_err(|problem| Invalid::new("type", problem));
        }
        match sort.to_lowercase().as_str() {
            "team" | "teams" | "user" | "escalation" | "schedule" => Ok(()),
            _ => Err(Invalid::new("type", "must be one of team, teams, user, escalation, schedule")),
        }
    })
}

fn pushover(config: &Map, _: Option<&Map>) -> Result<(), Invalid> {
    match config.get("html").is_some_and(is_true) && config.get("monospace").is_some_and(is_true) {
        true => Err(Invalid::new("monospace", "cannot be used together with html")),
        false => Ok(()),
    }
}

fn slack(config: &Map, global: Option<&Map>) -> Result<(), Invalid> {
    each(config, "fields", &|field| all_of(field, &["title", "value"]))?;
    each(config, "actions", &|action| {
        all_of(action, &["type", "text"])?;
        if !action.given("url") && !action.given("name") {
            return Err(Invalid::new("", "needs one of name, url"));
        }
        let confirm = action.get("confirm").and_then(Tree::as_map);
        confirm.map_or(Ok(()), |confirm| all_of(confirm, &["text"])).within("confirm")
    })?;
    if config.get("update_message").is_some_and(is_true) && string(config, "api_url") != SLACK_BOT_API {
        return Err(Invalid::new(
            "update_message",
            format!("works with bot tokens only: api_url must be {SLACK_BOT_API}"),
        ));
    }
    let token = |section: &Map, prefix: &str| {
        section.given(&format!("{prefix}app_token")) || section.given(&format!("{prefix}app_token_file"))
    };
    let inherits = !client(config).is_some_and(authorized)
        && !config.given("api_url")
        && global.is_some_and(|global| token(global, "slack_"));
    let effective = client(config).or_else(|| global.and_then(client));
    match (token(config, "") || inherits) && effective.is_some_and(authorized) {
        true => Err(Invalid::new("http_config.authorization", "cannot be used together with an app's token")),
        false => Ok(()),
    }
}

fn sns(config: &Map, _: Option<&Map>) -> Result<(), Invalid> {
    // Alertmanager takes one of them, and all three; it is two that it refuses.
    if ["target_arn", "topic_arn", "phone_number"].into_iter().filter(|key| config.given(key)).count() == 2 {
        return Err(Invalid::new("", "must have one of target_arn, topic_arn, phone_number, not two"));
    }
    let sigv4 = config.get("sigv4").and_then(Tree::as_map);
    match sigv4.is_some_and(|sigv4| sigv4.given("access_key") != sigv4.given("secret_key")) {
        true => Err(Invalid::new("sigv4", "needs both of access_key and secret_key, or neither")),
        false => Ok(()),
    }
}

fn victorops(config: &Map, _: Option<&Map>) -> Result<(), Invalid> {
    let custom = config.get("custom_fields").and_then(Tree::as_map);
    match VICTOROPS_NAMES.iter().find(|field| custom.is_some_and(|custom| custom.contains_key(field))) {
        Some(field) => Err(Invalid::new(
            format!("custom_fields.{field}"),
            "is filled in by Alertmanager; choose another name",
        )),
        None => Ok(()),
    }
}

/// A bot's token is the only way into Webex.
fn webex(config: &Map, _: Option<&Map>) -> Result<(), Invalid> {
    match client(config).is_some_and(authorized) {
        true => Ok(()),
        false => Err(Invalid::new("http_config.authorization", "is needed: give the bot's access token")),
    }
}

fn wechat(config: &Map, _: Option<&Map>) -> Result<(), Invalid> {
    match string(config, "message_type") {
        "" | "text" | "markdown" => Ok(()),
        _ => Err(Invalid::new("message_type", "must be text or markdown")),
    }
}

fn client(section: &Map) -> Option<&Map> {
    section.get("http_config").and_then(Tree::as_map)
}

/// The two keys of old times are another way to write an authorization.
fn authorized(client: &Map) -> bool {
    client.contains_key("authorization") || client.given("bearer_token") || client.given("bearer_token_file")
}

fn each(section: &Map, key: &str, check: &dyn Fn(&Map) -> Result<(), Invalid>) -> Result<(), Invalid> {
    for (index, item) in items(section, key).iter().enumerate() {
        item.as_map().map_or(Ok(()), check).at(key, index)?;
    }
    Ok(())
}

fn all_of(section: &Map, keys: &[&str]) -> Result<(), Invalid> {
    match keys.iter().find(|key| !section.given(key)) {
        Some(key) => Err(Invalid::new(*key, "must be given")),
        None => Ok(()),
    }
}

fn among(section: &Map, key: &str, values: &[&str]) -> Result<(), Invalid> {
    match string(section, key) {
        "" => Ok(()),
        value if values.contains(&value) => Ok(()),
        _ => Err(Invalid::new(key, format!("must be one of {}", values.join(", ")))),
    }
}

fn string<'a>(section: &'a Map, key: &str) -> &'a str {
    section.get(key).map_or("", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(sort: &str, config: &str, global: &str) -> String {
        let yaml = format!("global: {global}\nreceivers: [{{{sort}: [{config}]}}]");
        let Tree::Map(configuration) = Tree::parse(&yaml).unwrap() else { panic!("no mapping") };
        check(&configuration).map_or_else(|invalid| invalid.field, |()| "loads".into())
    }

    #[test]
    fn what_alertmanager_refuses_in_a_receiver_is_refused_by_name() {
        for (sort, config, field) in [
            ("email_configs", "{headers: {To: a, to: b}}", "headers"),
            (
                "email_configs",
                "{headers: {References: a}, threading: {enabled: true, thread_by_date: none}}",
                "headers.references",
            ),
            ("email_configs", "{threading: {enabled: true}}", "threading.thread_by_date"),
            ("incidentio_configs", "{http_config: {}}", "alert_source_token"),
            (
                "incidentio_configs",
                "{alert_source_token: a, http_config: {authorization: {credentials: b}}}",
                "alert_source_token",
            ),
            ("jira_configs", "{api_type: server}", "api_type"),
            (
                "mattermost_configs",
                "{attachments: [{fields: [{title: a}]}]}",
                "attachments[0].fields[0].value",
            ),
            ("opsgenie_configs", "{responders: [{type: team}]}", "responders[0]"),
            ("opsgenie_configs", "{responders: [{id: a, type: teem}]}", "responders[0].type"),
            ("pushover_configs", "{html: true, monospace: true}", "monospace"),
            ("slack_configs", "{fields: [{title: a}]}", "fields[0].value"),
            ("slack_configs", "{actions: [{text: a}]}", "actions[0].type"),
            ("slack_configs", "{actions: [{text: a, type: b}]}", "actions[0]"),
            (
                "slack_configs",
                "{actions: [{text: a, type: b, url: c, confirm: {}}]}",
                "actions[0].confirm.text",
            ),
            ("slack_configs", "{api_url: 'http://a', update_message: true}", "update_message"),
            ("slack_configs", "{app_token: a, http_config: {bearer_token: b}}", "http_config.authorization"),
            ("sns_configs", "{topic_arn: a, phone_number: b}", ""),
            ("sns_configs", "{topic_arn: a, sigv4: {access_key: b}}", "sigv4"),
            ("telegram_configs", "{parse_mode: html}", "parse_mode"),
            ("victorops_configs", "{custom_fields: {entity_id: a}}", "custom_fields.entity_id"),
            ("webex_configs", "{room_id: a}", "http_config.authorization"),
            ("wechat_configs", "{message_type: html}", "message_type"),
        ] {
            let at = format!("receivers[0].{sort}[0]");
            let wanted = if field.is_empty() { at } else { format!("{at}.{field}") };
            assert_eq!(verdict(sort, config, "{}"), wanted, "{config}");
        }
    }

    #[test]
    fn what_alertmanager_takes_in_a_receiver_is_taken() {
        for (sort, config) in [
            ("email_configs", "{headers: {a b: x, A b: y}, threading: {thread_by_date: weekly}}"),
            ("incidentio_configs", "{}"),
            ("opsgenie_configs", "{responders: [{name: a, type: '{{ .Status }}'}, {name: b, type: TEAM}]}"),
            ("slack_configs", "{actions: [{text: a, type: b, name: c}]}"),
            ("slack_configs", "{api_url: 'https://slack.com/api/chat.postMessage', update_message: true}"),
            ("sns_configs", "{topic_arn: a, phone_number: b, target_arn: c}"),
            ("telegram_configs", "{parse_mode: ''}"),
            ("webex_configs", "{room_id: a, http_config: {bearer_token_file: /t}}"),
        ] {
            assert_eq!(verdict(sort, config, "{}"), "loads", "{config}");
        }
    }

    #[test]
    fn a_global_token_of_slack_is_inherited_and_goes_with_one_address() {
        let token = "{slack_app_token: t, http_config: {bearer_token: b}}";
        assert_eq!(
            verdict("slack_configs", "{}", token),
            "receivers[0].slack_configs[0].http_config.authorization"
        );
        assert_eq!(verdict("slack_configs", "{api_url: 'http://a'}", token), "loads");
        let both = "{slack_app_token: t, slack_api_url: 'http://a'}";
        assert_eq!(verdict("slack_configs", "{}", both), "global.slack_app_token");
        let workaround = "{slack_app_token: t, slack_api_url: 'http://a', slack_app_url: 'http://a'}";
        assert_eq!(verdict("slack_configs", "{api_url: 'http://a'}", workaround), "loads");
    }
}
