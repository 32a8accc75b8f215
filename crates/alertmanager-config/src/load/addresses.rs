//! Addresses of a raw configuration, judged as Alertmanager judges them when it reads its file.

use rendering::{Map, Tree};

use super::items;
use crate::form::split_host_port;
use crate::invalid::{Invalid, Within};
use crate::url;
use crate::value::text;

#[derive(Clone, Copy)]
enum Address {
    Http,
    /// HTTP, or what Alertmanager shows in its place; never repeated in messages.
    Secret,
    /// The same, or the template of one.
    Template,
    /// A host with a port.
    Mail,
}
use Address::{Http, Mail, Secret, Template};

const GLOBAL: &[(&str, Address)] = &[
    ("jira_api_url", Http),
    ("mattermost_webhook_url", Secret),
    ("opsgenie_api_url", Http),
    ("pagerduty_url", Http),
    ("rocketchat_api_url", Http),
    ("slack_api_url", Secret),
    ("slack_app_url", Http),
    ("smtp_smarthost", Mail),
    ("telegram_api_url", Http),
    ("victorops_api_url", Http),
    ("webex_api_url", Http),
    ("wechat_api_url", Http),
];

const RECEIVERS: &[(&str, &str, Address)] = &[
    ("discord_configs", "webhook_url", Secret),
    ("email_configs", "smarthost", Mail),
    ("incidentio_configs", "url", Http),
    ("jira_configs", "api_url", Http),
    ("mattermost_configs", "webhook_url", Secret),
    ("msteams_configs", "webhook_url", Secret),
    ("msteamsv2_configs", "webhook_url", Secret),
    ("opsgenie_configs", "api_url", Http),
    ("pagerduty_configs", "url", Http),
    ("rocketchat_configs", "api_url", Http),
    ("slack_configs", "api_url", Secret),
    ("slack_configs", "app_url", Http),
    ("telegram_configs", "api_url", Http),
    ("victorops_configs", "api_url", Http),
    ("webex_configs", "api_url", Http),
    ("webhook_configs", "url", Template),
    ("wechat_configs", "api_url", Http),
];

pub(super) fn check(configuration: &Map) -> Result<(), Invalid> {
    if let Some(global) = configuration.get("global") {
        for (key, address) in GLOBAL {
            judge(global, key, *address).within("global")?;
        }
    }
    for (index, receiver) in items(configuration, "receivers").iter().enumerate() {
        for (sort, key, address) in RECEIVERS {
            let configs = receiver.get(sort).and_then(Tree::as_list).unwrap_or_default();
            for (at, config) in configs.iter().enumerate() {
                judge(config, key, *address).at(sort, at).at("receivers", index)?;
            }
        }
    }
    Ok(())
}

fn judge(section: &Tree, key: &str, address: Address) -> Result<(), Invalid> {
    let given = section.get(key).map_or("", text);
    if given.is_empty() {
        return Ok(());
    }
    let hidden = |_| "is not an address that begins with http:// or https://".to_owned();
    match address {
        Http => url::check_http(given),
        Secret if given == "<secret>" => Ok(()),
        Secret => url::check_http(given).map_err(hidden),
        Template => url::check_template(given).map_err(hidden),
        Mail if given.ends_with(':') => Err(format!("{given:?} has no port")),
        Mail => return split_host_port(given).map(|_| ()).within(key),
    }
    .map_err(|problem| Invalid::new(key, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(yaml: &str) -> Result<(), String> {
        let Tree::Map(configuration) = Tree::parse(yaml).unwrap() else { panic!("no mapping") };
        check(&configuration).map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn addresses_that_alertmanager_would_not_read_are_refused() {
        for (yaml, field) in [
            ("global: {telegram_api_url: host}", "global.telegram_api_url"),
            ("global: {smtp_smarthost: mail}", "global.smtp_smarthost"),
            ("global: {smtp_smarthost: 'mail:'}", "global.smtp_smarthost"),
            (
                "receivers: [{telegram_configs: [{api_url: host}]}]",
                "receivers[0].telegram_configs[0].api_url",
            ),
            ("receivers: [{webhook_configs: [{url: host}]}]", "receivers[0].webhook_configs[0].url"),
            ("receivers: [{webhook_configs: [{url: 'http://{{'}]}]", "receivers[0].webhook_configs[0].url"),
            ("receivers: [{email_configs: [{smarthost: mail}]}]", "receivers[0].email_configs[0].smarthost"),
        ] {
            let refused = verdict(yaml).unwrap_err();
            assert!(refused.starts_with(&format!("{field}: ")), "{yaml}: {refused}");
        }
    }

    #[test]
    fn what_stands_for_a_secret_and_what_is_a_template_is_taken() {
        for yaml in [
            "global: {slack_api_url: <secret>, smtp_smarthost: 'mail:25'}",
            "receivers: [{webhook_configs: [{url: 'http://{{ .Status }}'}], slack_configs: [{api_url: <secret>}]}]",
        ] {
            assert_eq!(verdict(yaml), Ok(()), "{yaml}");
        }
    }

    #[test]
    fn a_secret_address_is_not_repeated() {
        let refused = verdict("receivers: [{slack_configs: [{api_url: 'ftp://hush'}]}]").unwrap_err();
        assert!(!refused.contains("hush"), "{refused}");
    }
}
