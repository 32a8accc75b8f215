//! The configuration as a whole: routes, inhibition rules, receivers, intervals of time.

use super::Holds::{
    AlwaysText, AlwaysTexts, DurationText, NonZeroDuration, Section as One, Sections, Spans, Switch, Text,
    TextMap, Texts,
};
use super::global::GLOBAL;
use super::{Section, chat, incident, key, message};

pub(crate) static CONFIGURATION: Section = Section {
    keys: &[
        key("global", One(&GLOBAL)),
        key("route", One(&ROUTE)),
        key("inhibit_rules", Sections(&INHIBIT_RULE)),
        key("receivers", Sections(&RECEIVER)),
        key("mute_time_intervals", Sections(&TIME_INTERVAL)).since("0.22.0"),
        key("time_intervals", Sections(&TIME_INTERVAL)).since("0.24.0"),
        key("templates", AlwaysTexts),
    ],
    before: &[],
    after: &[],
};

static ROUTE: Section = Section {
    keys: &[
        key("receiver", Text),
        key("group_by", Texts),
        key("match", TextMap),
        key("match_re", TextMap),
        key("matchers", Texts).refused_before("0.22.0"),
        key("continue", Switch),
        key("routes", Sections(&ROUTE)),
        key("group_wait", DurationText),
        key("group_interval", NonZeroDuration),
        key("repeat_interval", NonZeroDuration),
        key("mute_time_intervals", Texts).since("0.22.0"),
        key("active_time_intervals", Texts).since("0.24.0"),
    ],
    before: &[],
    after: &[],
};

static INHIBIT_RULE: Section = Section {
    keys: &[
        key("target_match", TextMap),
        key("target_match_re", TextMap),
        key("target_matchers", Texts).refused_before("0.22.0"),
        key("source_match", TextMap),
        key("source_match_re", TextMap),
        key("source_matchers", Texts).refused_before("0.22.0"),
        key("equal", Texts),
    ],
    before: &[],
    after: &[],
};

static TIME_INTERVAL: Section =
    Section { keys: &[key("name", AlwaysText), key("time_intervals", Spans)], before: &[], after: &[] };

static RECEIVER: Section = Section {
    keys: &[
        key("name", AlwaysText),
        key("opsgenie_configs", Sections(&incident::OPSGENIE)),
        key("pagerduty_configs", Sections(&incident::PAGERDUTY)),
        key("slack_configs", Sections(&chat::SLACK)),
        key("webhook_configs", Sections(&message::WEBHOOK)),
        key("wechat_configs", Sections(&message::WECHAT)),
        key("email_configs", Sections(&message::EMAIL)),
        key("pushover_configs", Sections(&message::PUSHOVER)),
        key("victorops_configs", Sections(&incident::VICTOROPS)),
        key("sns_configs", Sections(&message::SNS)),
        key("telegram_configs", Sections(&message::TELEGRAM)).refused_before("0.24.0"),
        key("discord_configs", Sections(&chat::DISCORD)).refused_before("0.25.0"),
        key("webex_configs", Sections(&chat::WEBEX)).refused_before("0.25.0"),
        key("msteams_configs", Sections(&chat::MSTEAMS)).refused_before("0.26.0"),
        key("msteamsv2_configs", Sections(&chat::MSTEAMSV2)).refused_before("0.28.0"),
        key("jira_configs", Sections(&incident::JIRA)).refused_before("0.28.0"),
        key("rocketchat_configs", Sections(&chat::ROCKETCHAT)).refused_before("0.28.0"),
        key("incidentio_configs", Sections(&incident::INCIDENTIO)).refused_before("0.29.0"),
        key("mattermost_configs", Sections(&chat::MATTERMOST)).refused_before("0.30.0"),
    ],
    before: &[],
    after: &[],
};
