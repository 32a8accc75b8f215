//! AlertmanagerConfig from one version to the other: matchers, names of time intervals, and child routes.
//!
//! Receivers are the same type in both. What one version cannot say is lost on the way: `regex` of a matcher becomes its
//! `matchType`, and v1beta1 has neither `updateAlerts` of Opsgenie nor optional references to Secrets.

use k8s_openapi::api::core::v1::SecretKeySelector;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::alertmanager_config::{AlertmanagerConfigSpec, InhibitRule, MatchType, Matcher, Route, v1beta1};
use crate::receivers::{Receiver, ReceiverHttpConfig};
use crate::time_interval::MuteTimeInterval;

impl TryFrom<AlertmanagerConfigSpec> for v1beta1::AlertmanagerConfigSpec {
    /// A child route that is no route.
    type Error = serde_json::Error;

    fn try_from(spec: AlertmanagerConfigSpec) -> Result<Self, Self::Error> {
        Ok(Self {
            route: spec.route.map(TryInto::try_into).transpose()?,
            receivers: spec.receivers.into_iter().map(without_what_v1beta1_lacks).collect(),
            inhibit_rules: spec.inhibit_rules.into_iter().map(Into::into).collect(),
            time_intervals: spec.mute_time_intervals.into_iter().map(Into::into).collect(),
        })
    }
}

impl TryFrom<v1beta1::AlertmanagerConfigSpec> for AlertmanagerConfigSpec {
    /// A child route that is no route.
    type Error = serde_json::Error;

    fn try_from(spec: v1beta1::AlertmanagerConfigSpec) -> Result<Self, Self::Error> {
        Ok(Self {
            route: spec.route.map(TryInto::try_into).transpose()?,
            receivers: spec.receivers,
            inhibit_rules: spec.inhibit_rules.into_iter().map(Into::into).collect(),
            mute_time_intervals: spec.time_intervals.into_iter().map(Into::into).collect(),
        })
    }
}

/// Implements one direction for the types that differ by their matchers only.
macro_rules! convert {
    ($($from:ty => $to:ty),+) => {$(
        impl TryFrom<$from> for $to {
            type Error = serde_json::Error;

            fn try_from(route: $from) -> Result<Self, Self::Error> {
                Ok(Self {
                    receiver: route.receiver,
                    group_by: route.group_by,
                    group_wait: route.group_wait,
                    group_interval: route.group_interval,
                    repeat_interval: route.repeat_interval,
                    matchers: route.matchers.into_iter().map(Into::into).collect(),
                    r#continue: route.r#continue,
                    routes: route.routes.into_iter().map(child::<$from, $to>).collect::<Result<_, _>>()?,
                    mute_time_intervals: route.mute_time_intervals,
                    active_time_intervals: route.active_time_intervals,
                })
            }
        }
    )+};
}
convert!(Route => v1beta1::Route, v1beta1::Route => Route);

fn child<From, To>(route: Value) -> serde_json::Result<Value>
where
    From: DeserializeOwned,
    To: Serialize + TryFrom<From, Error = serde_json::Error>,
{
    serde_json::to_value(To::try_from(serde_json::from_value(route)?)?)
}

impl From<InhibitRule> for v1beta1::InhibitRule {
    fn from(rule: InhibitRule) -> Self {
        Self {
            target_match: rule.target_match.into_iter().map(Into::into).collect(),
            source_match: rule.source_match.into_iter().map(Into::into).collect(),
            equal: rule.equal,
        }
    }
}

impl From<v1beta1::InhibitRule> for InhibitRule {
    fn from(rule: v1beta1::InhibitRule) -> Self {
        Self {
            target_match: rule.target_match.into_iter().map(Into::into).collect(),
            source_match: rule.source_match.into_iter().map(Into::into).collect(),
            equal: rule.equal,
        }
    }
}

impl From<Matcher> for v1beta1::Matcher {
    fn from(matcher: Matcher) -> Self {
        let match_type = match (matcher.match_type.is_empty(), matcher.regex) {
            (false, _) => matcher.match_type,
            (true, true) => MatchType::from("=~"),
            (true, false) => MatchType::from("="),
        };
        Self { name: matcher.name, value: matcher.value, match_type }
    }
}

impl From<v1beta1::Matcher> for Matcher {
    fn from(matcher: v1beta1::Matcher) -> Self {
        Self { name: matcher.name, value: matcher.value, match_type: matcher.match_type, regex: false }
    }
}

impl From<MuteTimeInterval> for v1beta1::NamedTimeInterval {
    fn from(interval: MuteTimeInterval) -> Self {
        Self { name: interval.name, time_intervals: interval.time_intervals }
    }
}

impl From<v1beta1::NamedTimeInterval> for MuteTimeInterval {
    fn from(interval: v1beta1::NamedTimeInterval) -> Self {
        Self { name: interval.name, time_intervals: interval.time_intervals }
    }
}

/// Takes away what v1beta1's schema has no place for; the list of references is that of `crd/v1beta1.rs`.
fn without_what_v1beta1_lacks(mut receiver: Receiver) -> Receiver {
    for config in &mut receiver.opsgenie_configs {
        config.update_alerts = None;
    }
    let secrets = (receiver
        .email_configs
        .iter_mut()
        .flat_map(|to| [&mut to.auth_password, &mut to.auth_secret]))
    .chain(receiver.opsgenie_configs.iter_mut().map(|to| &mut to.api_key))
    .chain(receiver.pagerduty_configs.iter_mut().flat_map(|to| [&mut to.routing_key, &mut to.service_key]))
    .chain(receiver.pushover_configs.iter_mut().flat_map(|to| [&mut to.token, &mut to.user_key]))
    .chain(receiver.slack_configs.iter_mut().map(|to| &mut to.api_url))
    .chain(receiver.telegram_configs.iter_mut().map(|to| &mut to.bot_token))
    .chain(receiver.victorops_configs.iter_mut().map(|to| &mut to.api_key))
    .chain(receiver.webhook_configs.iter_mut().map(|to| &mut to.url_secret))
    .chain(receiver.wechat_configs.iter_mut().map(|to| &mut to.api_secret));
    secrets.for_each(must_exist);
    http_clients(&mut receiver).for_each(|client| must_exist(&mut client.http.bearer_token_secret));
    receiver
}

fn must_exist(secret: &mut Option<SecretKeySelector>) {
    if let Some(secret) = secret {
        secret.optional = None;
    }
}

fn http_clients(receiver: &mut Receiver) -> impl Iterator<Item = &mut ReceiverHttpConfig> {
    let clients = (receiver.opsgenie_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.pagerduty_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.discord_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.slack_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.webhook_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.wechat_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.victorops_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.pushover_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.sns_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.telegram_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.webex_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.msteams_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.msteamsv2_configs.iter_mut().map(|to| &mut to.http_config))
        .chain(receiver.rocketchat_configs.iter_mut().map(|to| &mut to.http_config));
    clients.flatten()
}
