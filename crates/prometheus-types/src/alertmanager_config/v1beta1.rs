//! AlertmanagerConfig v1beta1: the same as v1alpha1 with tidier names. Receivers and spans of time are
//! shared.
//!
//! Its schema is stricter about references to Secrets and says less about lists: crate::crd::v1beta1.

use serde_json::Value;

use crate::alertmanager_config::MatchType;
use crate::object::{kind, object};
use crate::receivers::Receiver;
use crate::status::ConfigResourceStatus;
use crate::text::NonEmptyDuration;
use crate::time_interval::TimeInterval;

kind! {
    /// A part of an Alertmanager's configuration.
    #[kube(
        version = "v1beta1",
        kind = "AlertmanagerConfig",
        plural = "alertmanagerconfigs",
        shortname = "amcfg",
        status = "ConfigResourceStatus"
    )]
    pub struct AlertmanagerConfigSpec {
        optional {
            /// Where alerts go. By default only alerts of the resource's namespace reach it.
            pub route: Option<Route>,
            /// Whom alerts are sent to.
            pub receivers: Vec<Receiver>,
            /// Which alerts mute which others. By default only alerts of the resource's namespace count.
            pub inhibit_rules: Vec<InhibitRule>,
            /// Time intervals that routes may refer to.
            pub time_intervals: Vec<NamedTimeInterval>,
        }
    }
}

object! {
    /// A node of the routing tree.
    pub struct Route {
        optional {
            /// Receiver of alerts that no child takes. Must be given at the top.
            pub receiver: String,
            /// Labels by which alerts are grouped; `...` groups by all.
            pub group_by: Vec<String>,
            /// How long a new group waits for more alerts.
            pub group_wait: Option<NonEmptyDuration>,
            /// How long changes of a group wait.
            pub group_interval: Option<NonEmptyDuration>,
            /// How long an unchanged group waits to be sent again.
            pub repeat_interval: Option<NonEmptyDuration>,
            /// What an alert must match.
            pub matchers: Vec<Matcher>,
            /// Whether siblings that follow get the alert too.
            pub r#continue: bool,
            /// Child routes, of the same form as this one.
            pub routes: Vec<Value>,
            /// Time intervals in which nothing is sent.
            pub mute_time_intervals: Vec<String>,
            /// Time intervals outside of which nothing is sent.
            pub active_time_intervals: Vec<String>,
        }
    }
}

object! {
    /// Alerts that mute others.
    pub struct InhibitRule {
        optional {
            /// The alerts that are muted.
            pub target_match: Vec<Matcher>,
            /// The alerts that mute them.
            pub source_match: Vec<Matcher>,
            /// Labels that must be the same on both.
            pub equal: Vec<String>,
        }
    }
}

object! {
    /// What an alert's label must be.
    pub struct Matcher {
        required {
            /// Name of the label.
            #[schemars(length(min = 1))]
            pub name: String,
        }
        optional {
            /// Value or expression to compare with.
            pub value: String,
            /// How they are compared.
            pub match_type: MatchType,
        }
    }
}

object! {
    /// Spans of time with a name.
    pub struct NamedTimeInterval {
        required {
            /// Name of the interval.
            pub name: String,
        }
        optional {
            /// The spans; the interval holds when any of them does.
            pub time_intervals: Vec<TimeInterval>,
        }
    }
}
