//! AlertmanagerConfig v1alpha1: a tenant's routes, receivers, inhibitions and time intervals.

mod conversion;
pub mod v1beta1;

use serde_json::Value;

use crate::object::{kind, object};
use crate::receivers::Receiver;
use crate::status::ConfigResourceStatus;
use crate::text::{NonEmptyDuration, text};
use crate::time_interval::MuteTimeInterval;

text! {
    /// How a matcher compares.
    pub struct MatchType {
        "enum": ["!=", "=", "=~", "!~"]
    }
}

kind! {
    /// A part of an Alertmanager's configuration.
    #[kube(
        version = "v1alpha1",
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
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["name"]))]
            pub receivers: Vec<Receiver>,
            /// Which alerts mute which others. By default only alerts of the resource's namespace count.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub inhibit_rules: Vec<InhibitRule>,
            /// Time intervals that routes may refer to.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub mute_time_intervals: Vec<MuteTimeInterval>,
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
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub group_by: Vec<String>,
            /// How long a new group waits for more alerts.
            pub group_wait: Option<NonEmptyDuration>,
            /// How long changes of a group wait.
            pub group_interval: Option<NonEmptyDuration>,
            /// How long an unchanged group waits to be sent again.
            pub repeat_interval: Option<NonEmptyDuration>,
            /// What an alert must match.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub matchers: Vec<Matcher>,
            /// Whether siblings that follow get the alert too.
            pub r#continue: bool,
            /// Child routes, of the same form as this one.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub routes: Vec<Value>,
            /// Time intervals in which nothing is sent.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub mute_time_intervals: Vec<String>,
            /// Time intervals outside of which nothing is sent.
            #[schemars(extend("x-kubernetes-list-type" = "set"))]
            pub active_time_intervals: Vec<String>,
        }
    }
}

object! {
    /// Alerts that mute others.
    pub struct InhibitRule {
        optional {
            /// The alerts that are muted.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub target_match: Vec<Matcher>,
            /// The alerts that mute them.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub source_match: Vec<Matcher>,
            /// Labels that must be the same on both.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
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
            /// How they are compared. Wins over `regex`. Needs Alertmanager 0.22.
            pub match_type: MatchType,
            /// Whether the value is an expression. Deprecated: use `matchType`.
            pub regex: bool,
        }
    }
}
