//! Rules of single sections that the tables have no words for.

use rendering::client::RESERVED_HEADERS;
use rendering::{Gate, Map, Tree, Version, since, until};

use crate::invalid::Invalid;
use crate::references::needs;
use crate::value::{is_true, text};

/// The one address of Slack at which messages can be changed.
pub(crate) const SLACK_BOT_API: &str = "https://slack.com/api/chat.postMessage";

fn string<'a>(section: &'a Map, key: &str) -> &'a str {
    section.get(key).map_or("", text)
}

fn set(section: &Map, key: &str) -> bool {
    section.get(key).is_some_and(is_true)
}

pub(super) fn headers_are_free(client: &mut Map, _: &Version) -> Result<(), Invalid> {
    let headers = client.get("http_headers").and_then(Tree::as_map).into_iter().flat_map(Map::iter);
    for (name, _) in headers {
        if RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(Invalid::new(
                format!("http_headers.{name}"),
                "is set by Alertmanager itself; remove it",
            ));
        }
    }
    Ok(())
}

/// All proxy settings but the address came with this version; only from then on they are judged together.
const PROXY_SETTINGS: Gate = since("0.26.0");

pub(super) fn proxy(client: &mut Map, version: &Version) -> Result<(), Invalid> {
    if !PROXY_SETTINGS.admits(version) {
        return Ok(());
    }
    let from_environment = set(client, "proxy_from_environment");
    let (url, no_proxy) = (!string(client, "proxy_url").is_empty(), !string(client, "no_proxy").is_empty());
    let wrong = |key: &str, problem: &str| Err(Invalid::new(key, problem));
    match (from_environment, url, no_proxy) {
        (false, false, _) if client.contains_key("proxy_connect_header") => {
            wrong("proxy_connect_header", "needs proxy_url or proxy_from_environment")
        }
        (true, true, _) => wrong("proxy_url", "cannot be used together with proxy_from_environment"),
        (true, _, true) => wrong("no_proxy", "cannot be used together with proxy_from_environment"),
        (_, false, true) => wrong("no_proxy", "needs proxy_url"),
        _ => Ok(()),
    }
}

/// Before 0.25 the client that fetches tokens has no proxy settings at all.
pub(super) fn oauth2_proxy(oauth2: &mut Map, version: &Version) -> Result<(), Invalid> {
    let given =
        ["proxy_url", "no_proxy", "proxy_connect_header"].into_iter().any(|key| oauth2.contains_key(key));
    if given && until("0.25.0").admits(version) {
        for key in ["proxy_url", "no_proxy", "proxy_from_environment", "proxy_connect_header"] {
            oauth2.remove(key);
        }
    }
    Ok(())
}

pub(super) fn tls_versions(tls: &mut Map, _: &Version) -> Result<(), Invalid> {
    const KNOWN: &[&str] = &["", "TLS10", "TLS11", "TLS12", "TLS13"];
    let rank = |key: &str| match KNOWN.iter().position(|known| *known == string(tls, key)) {
        Some(rank) => Ok(rank),
        None => Err(Invalid::new(key, "must be one of TLS10, TLS11, TLS12, TLS13")),
    };
    match (rank("min_version")?, rank("max_version")?) {
        (oldest, newest) if oldest > newest && newest > 0 => {
            Err(Invalid::new("max_version", "is older than min_version"))
        }
        _ => Ok(()),
    }
}

pub(super) fn slack_has_one_global_address(global: &mut Map, _: &Version) -> Result<(), Invalid> {
    let given = |key| !string(global, key).is_empty();
    let token = given("slack_app_token") || given("slack_app_token_file");
    let (api, app) = (string(global, "slack_api_url"), string(global, "slack_app_url"));
    if token && !api.is_empty() && !app.is_empty() && api != app {
        return Err(Invalid::new(
            "slack_api_url",
            "must be slack_app_url, or be left out, when an app token is given",
        ));
    }
    Ok(())
}

pub(super) fn only_bots_change_messages(slack: &mut Map, _: &Version) -> Result<(), Invalid> {
    match (set(slack, "update_message"), string(slack, "api_url")) {
        (false, _) | (true, "" | SLACK_BOT_API) => Ok(()),
        _ => Err(Invalid::new(
            "update_message",
            format!("works with bot tokens only: api_url must be {SLACK_BOT_API}"),
        )),
    }
}

pub(super) fn teams_need_a_version(responder: &mut Map, version: &Version) -> Result<(), Invalid> {
    let gate = since("0.24.0");
    match string(responder, "type") == "teams" && !gate.admits(version) {
        true => Err(Invalid::new("type", needs(gate, version))),
        false => Ok(()),
    }
}

pub(super) fn details_are_texts(pagerduty: &mut Map, version: &Version) -> Result<(), Invalid> {
    let gate = since("0.30.0");
    if gate.admits(version) {
        return Ok(());
    }
    let details = pagerduty.get("details").and_then(Tree::as_map).into_iter().flat_map(Map::iter);
    match details.into_iter().find(|(_, value)| value.as_str().is_none()) {
        Some((name, _)) => Err(Invalid::new(
            format!("details.{name}"),
            format!("is not a text, which {}", needs(gate, version)),
        )),
        None => Ok(()),
    }
}

pub(super) fn incidentio_is_authorized_once(incidentio: &mut Map, _: &Version) -> Result<(), Invalid> {
    let authorization =
        incidentio.get("http_config").is_some_and(|client| client.get("authorization").is_some());
    let token = ["alert_source_token", "alert_source_token_file"]
        .into_iter()
        .any(|key| !string(incidentio, key).is_empty());
    match (authorization, token) {
        (true, true) => {
            Err(Invalid::new("alert_source_token", "cannot be used together with http_config.authorization"))
        }
        (false, false) => {
            Err(Invalid::new("alert_source_token", "must be given, or http_config.authorization"))
        }
        _ => Ok(()),
    }
}

pub(super) fn html_or_monospace(pushover: &mut Map, _: &Version) -> Result<(), Invalid> {
    match set(pushover, "html") && set(pushover, "monospace") {
        true => Err(Invalid::new("monospace", "cannot be used together with html")),
        false => Ok(()),
    }
}
