//! Receivers that reach a mailbox, a telephone, a person's messenger, or any HTTP server.

use rendering::{Map, Tree};

use crate::form::Kind::{
    AnyText, Duration, Flag, FullSecret, HostPort, Http, Number, Object, Pairs, Secret, SecretTemplateUrl,
    Special, Switch, TemplateUrl, Text, TextMap, Tls, Unwritten, Url,
};
use crate::form::{Form, Rule, field};
use crate::invalid::{Invalid, Within};
use crate::references::References;
use crate::url;
use crate::value::{duration, is_present, text};

pub(super) const EMAIL: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("to", "to", Text),
        field("from", "from", Text),
        field("hello", "hello", Text),
        field("smarthost", "smarthost", HostPort),
        field("authUsername", "auth_username", Text),
        field("authPassword", "auth_password", Secret),
        field("authSecret", "auth_secret", Secret),
        field("authIdentity", "auth_identity", Text),
        field("headers", "headers", Pairs),
        field("html", "html", AnyText),
        field("text", "text", AnyText),
        field("requireTLS", "require_tls", Flag),
        field("tlsConfig", "tls_config", Tls),
        field("forceImplicitTLS", "force_implicit_tls", Flag).since("0.31.0"),
        field("threading", "threading", Special(threading)).since("0.30.0"),
    ],
    rules: &[Rule::NotEmpty("to"), Rule::Check(headers_differ)],
};

/// Names of headers are compared without regard to case.
fn headers_differ(config: &Tree) -> Result<(), Invalid> {
    let Some(headers) = config.get("headers") else { return Ok(()) };
    let mut seen = Vec::new();
    crate::form::each(headers, |header| {
        let name = header.get("key").map_or("", text).to_lowercase();
        if seen.contains(&name) {
            return Err(Invalid::new("key", format!("the header {name:?} is given twice")));
        }
        seen.push(name);
        Ok(())
    })
    .within("headers")
}

fn threading(value: &Tree) -> Tree {
    let mut out = Map::new().with("enabled", true);
    out.set_text("thread_by_date", &value.get("threadByDate").map_or("", text).to_lowercase());
    out.into()
}

pub(super) const WEBHOOK: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("url", "url", TemplateUrl),
        // After `url`, because it wins over it.
        field("urlSecret", "url", SecretTemplateUrl),
        field("httpConfig", "http_config", Http),
        field("maxAlerts", "max_alerts", Number),
        field("timeout", "timeout", Duration),
        field("payload", "payload", AnyText).since("0.32.0"),
    ],
    rules: &[Rule::AnyOf(&["url", "urlSecret"])],
};

pub(super) const WECHAT: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("apiSecret", "api_secret", Secret),
        field("apiURL", "api_url", Url),
        field("corpID", "corp_id", Text),
        field("agentID", "agent_id", Text),
        field("toUser", "to_user", Text),
        field("toParty", "to_party", Text),
        field("toTag", "to_tag", Text),
        field("message", "message", Text),
        field("messageType", "message_type", Text),
        field("httpConfig", "http_config", Http),
    ],
    rules: &[],
};

pub(super) const PUSHOVER: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("httpConfig", "http_config", Http),
        field("userKey", "user_key", FullSecret),
        field("userKeyFile", "user_key_file", Text),
        field("token", "token", FullSecret),
        field("tokenFile", "token_file", Text),
        field("title", "title", Text),
        field("message", "message", Text),
        field("url", "url", TemplateUrl),
        field("urlTitle", "url_title", Text),
        field("ttl", "ttl", Text),
        field("device", "device", Text),
        field("sound", "sound", Unwritten),
        field("priority", "priority", Text),
        field("retry", "retry", Duration),
        field("expire", "expire", Duration),
        field("html", "html", Flag),
        field("monospace", "monospace", Flag),
    ],
    rules: &[
        Rule::AnyOf(&["userKey", "userKeyFile"]),
        Rule::AnyOf(&["token", "tokenFile"]),
        Rule::NotBothSet("html", "monospace"),
        Rule::CheckReferences(repetition_is_timed),
    ],
};

fn repetition_is_timed(config: &Tree, _: &References<'_>) -> Result<(), Invalid> {
    for name in ["retry", "expire"] {
        match config.get(name).map_or("", text) {
            "" => {}
            time => drop(duration(time).map_err(|problem| Invalid::new(name, problem))?),
        }
    }
    Ok(())
}

pub(super) const SNS: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("httpConfig", "http_config", Http),
        field("apiURL", "api_url", TemplateUrl),
        field("sigv4", "sigv4", Object(&SIGV4)),
        field("topicARN", "topic_arn", Text),
        field("phoneNumber", "phone_number", Text),
        field("targetARN", "target_arn", Text),
        field("subject", "subject", Text),
        field("message", "message", Text),
        field("attributes", "attributes", TextMap),
        field("useAWSHTTPClient", "use_aws_http_client", Switch).since("0.33.0"),
    ],
    rules: &[Rule::Check(has_one_recipient), Rule::Check(an_address_that_is_given_is_one)],
};

/// One of three recipients, or all of them: upstream compares the three with two "not equal" in a row.
fn has_one_recipient(config: &Tree) -> Result<(), Invalid> {
    let given = ["targetARN", "topicARN", "phoneNumber"]
        .into_iter()
        .filter(|name| !config.get(name).map_or("", text).is_empty())
        .count();
    match given % 2 {
        1 => Ok(()),
        _ => Err(Invalid::new("", "needs exactly one of targetARN, topicARN, phoneNumber")),
    }
}

fn an_address_that_is_given_is_one(config: &Tree) -> Result<(), Invalid> {
    match config.get("apiURL").filter(|value| is_present(value)) {
        Some(value) => url::check_template(text(value)).map_err(|problem| Invalid::new("apiURL", problem)),
        None => Ok(()),
    }
}

const SIGV4: Form = Form {
    fields: &[
        field("region", "region", Text),
        field("accessKey", "access_key", Secret),
        field("secretKey", "secret_key", Secret),
        field("profile", "profile", Text),
        field("roleArn", "role_arn", Text),
        field("externalId", "external_id", Text).written_since("0.34.0"),
        field("useFIPSSTSEndpoint", "use_fips_sts_endpoint", Unwritten),
    ],
    rules: &[Rule::CheckReferences(keys_come_in_pairs)],
};

fn keys_come_in_pairs(sigv4: &Tree, _: &References<'_>) -> Result<(), Invalid> {
    let given = |name| sigv4.get(name).is_some_and(is_present);
    match (given("accessKey"), given("secretKey")) {
        (true, false) => Err(Invalid::new("secretKey", "must be given with accessKey")),
        (false, true) => Err(Invalid::new("accessKey", "must be given with secretKey")),
        _ => Ok(()),
    }
}

pub(super) const TELEGRAM: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("apiURL", "api_url", Url),
        field("botToken", "bot_token", Secret),
        field("botTokenFile", "bot_token_file", Text).since("0.26.0"),
        field("chatID", "chat_id", Number),
        field("messageThreadID", "message_thread_id", Number),
        field("message", "message", Text),
        field("disableNotifications", "disable_notifications", Switch),
        field("parseMode", "parse_mode", Text),
        field("httpConfig", "http_config", Http),
    ],
    rules: &[
        Rule::AnyOf(&["botToken", "botTokenFile"]),
        Rule::NotBoth("botToken", "botTokenFile"),
        Rule::Check(has_a_chat),
    ],
};

fn has_a_chat(config: &Tree) -> Result<(), Invalid> {
    match config.get("chatID").and_then(Tree::as_int) {
        None | Some(0) => Err(Invalid::new("chatID", "must be given")),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rendering::{Assets, Version};

    use super::*;

    #[test]
    fn an_external_id_is_written_only_for_versions_that_have_it() {
        let sns = Tree::parse("{topicARN: a, sigv4: {region: b, externalId: c}}").unwrap();
        let rendered = |version: &str| {
            let (assets, version) = (Assets::new(), Version::parse(version).unwrap());
            let references = References { assets: &assets, namespace: "ns", version: &version, tls: None };
            SNS.render(&sns, &references).unwrap().to_yaml()
        };
        assert_eq!(rendered("0.33.1"), "sigv4:\n  region: b\ntopic_arn: a\n");
        assert_eq!(rendered("0.34.0"), "sigv4:\n  region: b\n  external_id: c\ntopic_arn: a\n");
    }
}
