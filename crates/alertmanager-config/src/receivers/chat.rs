//! Receivers that post to rooms of a chat.

use crate::form::Kind::{
    AlwaysFlag, AnySecret, Duration, Flag, FlagOrNull, Http, Object, Objects, Secret, SecretUrl, Switch,
    TemplateUrl, Text, Texts, Url,
};
use crate::form::{Form, Rule, field};
use crate::invalid::{Invalid, Within};
use crate::references::References;
use crate::shape::SLACK_BOT_API;
use crate::value::{is_true, text};
use rendering::Tree;

pub(super) const SLACK: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("httpConfig", "http_config", Http),
        field("apiURL", "api_url", SecretUrl),
        field("channel", "channel", Text),
        field("username", "username", Text),
        field("color", "color", Text),
        field("title", "title", Text),
        field("titleLink", "title_link", Text),
        field("pretext", "pretext", Text),
        field("text", "text", Text),
        field("fields", "fields", Objects(&SLACK_FIELD)),
        field("shortFields", "short_fields", Switch),
        field("footer", "footer", Text),
        field("fallback", "fallback", Text),
        field("callbackId", "callback_id", Text),
        field("iconEmoji", "icon_emoji", Text),
        field("iconURL", "icon_url", Text),
        field("imageURL", "image_url", Text),
        field("thumbURL", "thumb_url", Text),
        field("linkNames", "link_names", Switch),
        field("mrkdwnIn", "mrkdwn_in", Texts),
        field("actions", "actions", Objects(&SLACK_ACTION)),
        field("timeout", "timeout", Duration),
        field("messageText", "message_text", Text).since("0.31.0"),
        field("updateMessage", "update_message", Flag).since("0.32.0"),
    ],
    rules: &[Rule::CheckReferences(only_bots_change_messages)],
};

const SLACK_FIELD: Form = Form {
    fields: &[field("title", "title", Text), field("value", "value", Text), field("short", "short", Switch)],
    rules: &[Rule::NotEmpty("title"), Rule::NotEmpty("value")],
};

const SLACK_ACTION: Form = Form {
    fields: &[
        field("type", "type", Text),
        field("text", "text", Text),
        field("url", "url", Text),
        field("style", "style", Text),
        field("name", "name", Text),
        field("value", "value", Text),
        field("confirm", "confirm", Object(&SLACK_CONFIRMATION)),
    ],
    rules: &[Rule::NotEmpty("type"), Rule::NotEmpty("text"), Rule::Check(leads_somewhere)],
};

const SLACK_CONFIRMATION: Form = Form {
    fields: &[
        field("text", "text", Text),
        field("title", "title", Text),
        field("okText", "ok_text", Text),
        field("dismissText", "dismiss_text", Text),
    ],
    rules: &[Rule::NotEmpty("text")],
};

fn only_bots_change_messages(config: &Tree, references: &References<'_>) -> Result<(), Invalid> {
    let (Some(url), true) = (config.get("apiURL"), config.get("updateMessage").is_some_and(is_true)) else {
        return Ok(());
    };
    match references.secret(url).within("apiURL")? {
        "" | SLACK_BOT_API => Ok(()),
        _ => Err(Invalid::new(
            "updateMessage",
            format!("works with bot tokens only: apiURL must hold {SLACK_BOT_API}"),
        )),
    }
}

fn leads_somewhere(action: &Tree) -> Result<(), Invalid> {
    let empty = |name| action.get(name).map_or("", text).is_empty();
    if empty("url") && empty("name") {
        Err(Invalid::new("name", "must be given where url is not"))
    } else {
        Ok(())
    }
}

pub(super) const DISCORD: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("httpConfig", "http_config", Http),
        field("apiURL", "webhook_url", SecretUrl),
        field("title", "title", Text),
        field("message", "message", Text),
        field("content", "content", Text),
        field("username", "username", Text),
        field("avatarURL", "avatar_url", Text),
    ],
    rules: &[],
};

pub(super) const ROCKETCHAT: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("httpConfig", "http_config", Http),
        field("apiURL", "api_url", Url),
        field("tokenID", "token_id", AnySecret),
        field("token", "token", AnySecret),
        field("channel", "channel", Text),
        field("color", "color", Text),
        field("title", "title", Text),
        field("titleLink", "title_link", Text),
        field("text", "text", Text),
        field("fields", "fields", Objects(&ROCKETCHAT_FIELD)),
        field("shortFields", "short_fields", AlwaysFlag),
        field("emoji", "emoji", Text),
        field("iconURL", "icon_url", TemplateUrl),
        field("imageURL", "image_url", TemplateUrl),
        field("thumbURL", "thumb_url", TemplateUrl),
        field("linkNames", "link_names", AlwaysFlag),
        field("actions", "actions", Objects(&ROCKETCHAT_ACTION)),
    ],
    rules: &[],
};

const ROCKETCHAT_FIELD: Form = Form {
    fields: &[
        field("short", "short", FlagOrNull),
        field("title", "title", Text),
        field("value", "value", Text),
    ],
    rules: &[],
};

const ROCKETCHAT_ACTION: Form = Form {
    fields: &[field("text", "text", Text), field("url", "url", TemplateUrl), field("msg", "msg", Text)],
    rules: &[],
};

pub(super) const WEBEX: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("httpConfig", "http_config", Http),
        field("apiURL", "api_url", Url),
        field("message", "message", Text),
        field("roomID", "room_id", Text),
    ],
    rules: &[],
};

pub(super) const MSTEAMS: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("httpConfig", "http_config", Http),
        field("webhookUrl", "webhook_url", Secret),
        field("title", "title", Text),
        field("summary", "summary", Text),
        field("text", "text", Text),
    ],
    rules: &[],
};

pub(super) const MSTEAMSV2: Form = Form {
    fields: &[
        field("sendResolved", "send_resolved", Flag),
        field("httpConfig", "http_config", Http),
        field("webhookURL", "webhook_url", Secret),
        field("title", "title", Text),
        field("text", "text", Text),
    ],
    rules: &[],
};
