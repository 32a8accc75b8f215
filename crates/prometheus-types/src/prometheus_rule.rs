//! PrometheusRule: recording and alerting rules.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::object::{kind, object};
use crate::status::ConfigResourceStatus;
use crate::text::{Duration, NonEmptyDuration};

kind! {
    /// Recording and alerting rules for Prometheus and Thanos Ruler.
    #[kube(
        version = "v1",
        kind = "PrometheusRule",
        plural = "prometheusrules",
        shortname = "promrule",
        status = "ConfigResourceStatus"
    )]
    pub struct PrometheusRuleSpec {
        optional {
            /// The groups of rules.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["name"]))]
            pub groups: Vec<RuleGroup>,
        }
    }
}

object! {
    /// Rules that are evaluated together and in order.
    pub struct RuleGroup {
        required {
            /// Name of the group, unique within the resource.
            #[schemars(length(min = 1))]
            pub name: String,
        }
        optional {
            /// Labels added to the results of all rules; a rule's own win. Needs Prometheus 3.
            pub labels: BTreeMap<String, String>,
            /// Time from evaluation to evaluation; the workload's choice when absent.
            pub interval: Option<Duration>,
            /// How far in the past the rules are evaluated. Needs Prometheus 2.53.
            #[serde(rename = "query_offset")]
            pub query_offset: Option<Duration>,
            /// The rules.
            pub rules: Vec<Rule>,
            /// What Thanos does when a store does not answer: `abort` or `warn`. Prometheus ignores it.
            #[serde(rename = "partial_response_strategy")]
            #[schemars(extend("pattern" = "^(?i)(abort|warn)?$"))]
            pub partial_response_strategy: String,
            /// Most alerts or series that a rule may yield.
            pub limit: Option<isize>,
        }
    }
}

object! {
    /// A recording rule or an alerting rule: exactly one of `record` and `alert` is to be given.
    pub struct Rule {
        required {
            /// The PromQL expression.
            pub expr: IntOrString,
        }
        optional {
            /// Name of the series that the result is stored as.
            pub record: String,
            /// Name of the alert that each result raises.
            pub alert: String,
            /// How long an alert must hold before it fires.
            pub r#for: Option<Duration>,
            /// How long an alert goes on firing when it no longer holds.
            #[serde(rename = "keep_firing_for")]
            pub keep_firing_for: Option<NonEmptyDuration>,
            /// Labels added to the result.
            pub labels: BTreeMap<String, String>,
            /// Texts for people, added to the alert. Alerting rules only.
            pub annotations: BTreeMap<String, String>,
        }
    }
}
