//! The global part that an Alertmanager resource states for its configuration.

use prometheus_types::alertmanager::global::AlertmanagerGlobalConfig;
use rendering::{Gate, Map, Tree, since};

use crate::form::Kind::{Address, Duration, Flag, Secret, SecretAddress, SecretUrl, Special, Text, Tls, Url};
use crate::form::{Form, field};
use crate::http;
use crate::invalid::{Invalid, Within};
use crate::references::References;
use crate::value::text;

/// What stands at the top, but for the HTTP client.
const TOP: Form = Form {
    fields: &[
        field("resolveTimeout", "resolve_timeout", Duration),
        field("slackApiUrl", "slack_api_url", SecretAddress),
        field("opsGenieApiUrl", "opsgenie_api_url", SecretAddress),
        field("opsGenieApiKey", "opsgenie_api_key", Secret),
        field("pagerdutyUrl", "pagerduty_url", Address),
    ],
    rules: &[],
};

/// Groups of settings, each with the versions that have it.
const GROUPS: &[(&str, Form, Gate)] = &[
    ("smtp", SMTP, Gate::Always),
    ("telegram", TELEGRAM, since("0.24.0")),
    ("jira", JIRA, since("0.28.0")),
    ("rocketChat", ROCKETCHAT, since("0.28.0")),
    ("webex", WEBEX, since("0.25.0")),
    ("wechat", WECHAT, Gate::Always),
    ("victorops", VICTOROPS, Gate::Always),
    ("mattermost", MATTERMOST, since("0.32.0")),
];

const SMTP: Form = Form {
    fields: &[
        field("from", "smtp_from", Text),
        field("hello", "smtp_hello", Text),
        field("smartHost", "smtp_smarthost", Special(host_port)),
        field("authUsername", "smtp_auth_username", Text),
        field("authPassword", "smtp_auth_password", Secret),
        field("authSecret", "smtp_auth_secret", Secret),
        field("authIdentity", "smtp_auth_identity", Text),
        field("requireTLS", "smtp_require_tls", Flag),
        field("tlsConfig", "smtp_tls_config", Tls),
        field("forceImplicitTLS", "smtp_force_implicit_tls", Flag).since("0.31.0"),
    ],
    rules: &[],
};

const ROCKETCHAT: Form = Form {
    fields: &[
        field("apiURL", "rocketchat_api_url", Url),
        field("token", "rocketchat_token", Secret),
        field("tokenID", "rocketchat_token_id", Secret),
    ],
    rules: &[],
};

const WECHAT: Form = Form {
    fields: &[
        field("apiURL", "wechat_api_url", Url),
        field("apiSecret", "wechat_api_secret", Secret),
        field("apiCorpID", "wechat_api_corp_id", Text),
    ],
    rules: &[],
};

const VICTOROPS: Form = Form {
    fields: &[field("apiURL", "victorops_api_url", Url), field("apiKey", "victorops_api_key", Secret)],
    rules: &[],
};

const MATTERMOST: Form =
    Form { fields: &[field("webhookURL", "mattermost_webhook_url", SecretUrl)], rules: &[] };

const TELEGRAM: Form = Form { fields: &[field("apiURL", "telegram_api_url", Url)], rules: &[] };
const JIRA: Form = Form { fields: &[field("apiURL", "jira_api_url", Url)], rules: &[] };
const WEBEX: Form = Form { fields: &[field("apiURL", "webex_api_url", Url)], rules: &[] };

fn host_port(value: &Tree) -> Tree {
    let part = |name| value.get(name).map_or("", text);
    match part("host") {
        host if host.contains(':') => format!("[{host}]:{}", part("port")).into(),
        host => format!("{host}:{}", part("port")).into(),
    }
}

/// Checks the global settings and renders them.
pub(crate) fn render(global: &AlertmanagerGlobalConfig, references: &References<'_>) -> Result<Map, Invalid> {
    let tree = Tree::of(global).map_err(|error| Invalid::new("", error.to_string()))?;
    let mut out = Map::new();
    if let Some(client) = &global.http_config {
        let client = http::global(client);
        let rendered = http::validate(&client)
            .and_then(|()| http::resolve(&client, references))
            .and_then(|()| http::render(&client, references));
        out.set("http_config", rendered.within("httpConfig")?);
    }
    out.extend(part(&TOP, &tree, references)?);
    for (name, form, gate) in GROUPS {
        if let Some(group) = tree.get(name) {
            let rendered = references.demand(*gate).and_then(|()| part(form, group, references));
            out.extend(rendered.within(name)?);
        }
    }
    Ok(out)
}

fn part(form: &Form, group: &Tree, references: &References<'_>) -> Result<Map, Invalid> {
    form.validate(group)?;
    form.select(group, references)?;
    form.render(group, references)
}

#[cfg(test)]
mod tests {
    use rendering::{Assets, Version};
    use serde_json::{Value, json};

    use super::*;

    fn rendered(global: Value, version: &str) -> Result<String, String> {
        let global: AlertmanagerGlobalConfig = serde_json::from_value(global).unwrap();
        let mut assets = Assets::new();
        assets.add_secret("ns", "s", [("k".to_owned(), b"https://hook.example.com".to_vec())]);
        let version = Version::parse(version).unwrap();
        let references = References { assets: &assets, namespace: "ns", version: &version, tls: None };
        render(&global, &references).map(|map| map.to_yaml()).map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn groups_become_keys_with_their_prefix() {
        let global = json!({
            "resolveTimeout": "90s",
            "smtp": {"smartHost": {"host": "::1", "port": "25"}, "requireTLS": false},
            "slackApiUrl": {"name": "s", "key": "k"},
        });
        assert_eq!(
            rendered(global, "0.34.0").unwrap(),
            "resolve_timeout: 1m30s\nslack_api_url: https://hook.example.com\nsmtp_smarthost: \"[::1]:25\"\nsmtp_require_tls: false\n"
        );
    }

    #[test]
    fn a_group_needs_its_version_and_an_address_is_one() {
        let webex = json!({"webex": {"apiURL": "https://webex.example.com"}});
        assert!(rendered(webex, "0.24.0").unwrap_err().starts_with("webex: needs Alertmanager 0.25.0"));
        let wrong = json!({"pagerdutyUrl": "://pagerduty"});
        assert_eq!(
            rendered(wrong, "0.34.0").unwrap_err(),
            "pagerdutyUrl: there is a colon with no scheme before it; begin with one, such as http://"
        );
    }
}
