//! What a receiver must state, here or globally, and what it may state only once.

use rendering::{Map, Tree};

use super::items;
use crate::invalid::{Invalid, Within};

/// One of the keys must be given, or one of the global ones.
struct Need {
    receiver: &'static str,
    keys: &'static [&'static str],
    global: &'static [&'static str],
}

const fn need(
    receiver: &'static str,
    keys: &'static [&'static str],
    global: &'static [&'static str],
) -> Need {
    Need { receiver, keys, global }
}

const NEEDS: &[Need] = &[
    need("webhook_configs", &["url", "url_file"], &[]),
    need("email_configs", &["to"], &[]),
    need("email_configs", &["smarthost"], &["smtp_smarthost"]),
    need("email_configs", &["from"], &["smtp_from"]),
    need(
        "slack_configs",
        &["api_url", "api_url_file", "app_token", "app_token_file"],
        &["slack_api_url", "slack_api_url_file", "slack_app_token", "slack_app_token_file"],
    ),
    need("pagerduty_configs", &["service_key", "service_key_file", "routing_key", "routing_key_file"], &[]),
    need("opsgenie_configs", &["api_key", "api_key_file"], &["opsgenie_api_key", "opsgenie_api_key_file"]),
    need(
        "wechat_configs",
        &["api_secret", "api_secret_file"],
        &["wechat_api_secret", "wechat_api_secret_file"],
    ),
    need("wechat_configs", &["corp_id"], &["wechat_api_corp_id"]),
    need("victorops_configs", &["api_key", "api_key_file"], &["victorops_api_key", "victorops_api_key_file"]),
    need("victorops_configs", &["routing_key"], &[]),
    need("pushover_configs", &["user_key", "user_key_file"], &[]),
    need("pushover_configs", &["token", "token_file"], &[]),
    need("sns_configs", &["target_arn", "topic_arn", "phone_number"], &[]),
    need(
        "telegram_configs",
        &["bot_token", "bot_token_file"],
        &["telegram_bot_token", "telegram_bot_token_file"],
    ),
    need("telegram_configs", &["chat_id", "chat_id_file"], &[]),
    need("discord_configs", &["webhook_url", "webhook_url_file"], &[]),
    need("webex_configs", &["room_id"], &[]),
    need("msteams_configs", &["webhook_url", "webhook_url_file"], &[]),
    need("msteamsv2_configs", &["webhook_url", "webhook_url_file"], &[]),
    need("jira_configs", &["api_url"], &["jira_api_url"]),
    need("jira_configs", &["project"], &[]),
    need("jira_configs", &["issue_type"], &[]),
    need("rocketchat_configs", &["token", "token_file"], &["rocketchat_token", "rocketchat_token_file"]),
    need(
        "rocketchat_configs",
        &["token_id", "token_id_file"],
        &["rocketchat_token_id", "rocketchat_token_id_file"],
    ),
    need(
        "mattermost_configs",
        &["webhook_url", "webhook_url_file"],
        &["mattermost_webhook_url", "mattermost_webhook_url_file"],
    ),
    need("incidentio_configs", &["url", "url_file"], &[]),
];

/// A value and the file that holds it: at most one of the two may be given, in a receiver or globally.
const ONCE: &[(&str, &str)] = &[
    ("alert_source_token", "alert_source_token_file"),
    ("api_key", "api_key_file"),
    ("api_secret", "api_secret_file"),
    ("api_url", "api_url_file"),
    ("app_token", "app_token_file"),
    ("auth_password", "auth_password_file"),
    ("auth_secret", "auth_secret_file"),
    ("bot_token", "bot_token_file"),
    ("chat_id", "chat_id_file"),
    ("routing_key", "routing_key_file"),
    ("service_key", "service_key_file"),
    ("token", "token_file"),
    ("token_id", "token_id_file"),
    ("url", "url_file"),
    ("user_key", "user_key_file"),
    ("webhook_url", "webhook_url_file"),
    ("slack_api_url", "slack_api_url_file"),
    ("slack_app_token", "slack_app_token_file"),
    ("opsgenie_api_key", "opsgenie_api_key_file"),
    ("victorops_api_key", "victorops_api_key_file"),
    ("telegram_bot_token", "telegram_bot_token_file"),
    ("smtp_auth_password", "smtp_auth_password_file"),
    ("smtp_auth_secret", "smtp_auth_secret_file"),
    ("wechat_api_secret", "wechat_api_secret_file"),
    ("rocketchat_token", "rocketchat_token_file"),
    ("rocketchat_token_id", "rocketchat_token_id_file"),
    ("mattermost_webhook_url", "mattermost_webhook_url_file"),
];

/// Slack is reached by a webhook or by an app.
const WEBHOOK_OR_APP: (&[&str], &[&str]) = (&["api_url", "api_url_file"], &["app_token", "app_token_file"]);

pub(super) fn check(configuration: &Map) -> Result<(), Invalid> {
    let global = configuration.get("global").and_then(Tree::as_map);
    check_with(configuration, global)
}

/// Checks the receivers of a part of a configuration, which fall back to what is global.
pub(crate) fn check_with(configuration: &Map, global: Option<&Map>) -> Result<(), Invalid> {
    if let Some(global) = global {
        once(global).within("global")?;
    }
    for (index, receiver) in items(configuration, "receivers").iter().enumerate() {
        let lists = receiver.as_map().into_iter().flat_map(Map::iter);
        for (name, configs) in lists {
            for (at, config) in configs.as_list().unwrap_or_default().iter().enumerate() {
                if let Some(config) = config.as_map() {
                    met(name, config, global)
                        .and_then(|()| once(config))
                        .and_then(|()| if name == "slack_configs" { webhook_or_app(config) } else { Ok(()) })
                        .at(name, at)
                        .at("receivers", index)?;
                }
            }
        }
    }
    Ok(())
}

fn met(receiver: &str, config: &Map, global: Option<&Map>) -> Result<(), Invalid> {
    for need in NEEDS.iter().filter(|need| need.receiver == receiver) {
        let here = need.keys.iter().any(|key| config.given(key));
        let globally = global.is_some_and(|global| need.global.iter().any(|key| global.given(key)));
        if !here && !globally {
            let global = need.global.iter().map(|key| format!(", global.{key}")).collect::<String>();
            return Err(Invalid::new("", format!("needs one of {}{global}", need.keys.join(", "))));
        }
    }
    Ok(())
}

fn once(section: &Map) -> Result<(), Invalid> {
    for (value, file) in ONCE {
        if section.given(value) && section.given(file) {
            return Err(Invalid::new(
                *file,
                format!("cannot be used together with {value}; remove one of them"),
            ));
        }
    }
    Ok(())
}

fn webhook_or_app(slack: &Map) -> Result<(), Invalid> {
    let (webhook, app) = WEBHOOK_OR_APP;
    let first = |keys: &[&'static str]| keys.iter().copied().find(|key| slack.given(key));
    match (first(webhook), first(app)) {
        (Some(webhook), Some(app)) => {
            Err(Invalid::new(app, format!("cannot be used together with {webhook}; remove one of them")))
        }
        _ => Ok(()),
    }
}
