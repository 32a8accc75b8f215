//! Which monitors a Prometheus takes, how much it takes of them, and what it imposes on them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::exclusion::ObjectReference;
use crate::object::object;
use crate::text::ByteSize;

object! {
    /// The monitors that are taken. No selector takes none, an empty one takes all; without a selector of
    /// namespaces only the own namespace counts.
    pub struct MonitorSelection {
        optional {
            /// The ServiceMonitors, by label.
            pub service_monitor_selector: Option<LabelSelector>,
            /// The namespaces of ServiceMonitors, by label.
            pub service_monitor_namespace_selector: Option<LabelSelector>,
            /// The PodMonitors, by label.
            pub pod_monitor_selector: Option<LabelSelector>,
            /// The namespaces of PodMonitors, by label.
            pub pod_monitor_namespace_selector: Option<LabelSelector>,
            /// The Probes, by label.
            pub probe_selector: Option<LabelSelector>,
            /// The namespaces of Probes, by label.
            pub probe_namespace_selector: Option<LabelSelector>,
            /// The ScrapeConfigs, by label.
            pub scrape_config_selector: Option<LabelSelector>,
            /// The namespaces of ScrapeConfigs, by label.
            pub scrape_config_namespace_selector: Option<LabelSelector>,
        }
    }
}

object! {
    /// Limits for monitors that state none of their own.
    pub struct ScrapeLimits {
        optional {
            /// Largest response to accept, uncompressed.
            pub body_size_limit: Option<ByteSize>,
            /// Most samples per scrape.
            #[schemars(range(min = 0))]
            pub sample_limit: Option<i64>,
            /// Most targets per scrape configuration.
            #[schemars(range(min = 0))]
            pub target_limit: Option<i64>,
            /// Most labels per sample.
            #[schemars(range(min = 0))]
            pub label_limit: Option<i64>,
            /// Longest name of a label.
            #[schemars(range(min = 0))]
            pub label_name_length_limit: Option<i64>,
            /// Longest value of a label.
            #[schemars(range(min = 0))]
            pub label_value_length_limit: Option<i64>,
            /// How many dropped targets are remembered per job; 0 means all. Needs Prometheus 2.47.
            #[schemars(range(min = 0))]
            pub keep_dropped_targets: Option<i64>,
        }
    }
}

object! {
    /// What is imposed on every monitor and rule, whatever they state.
    pub struct Enforcement {
        optional {
            /// Label that carries the namespace of the monitor or rule: on each metric and alert, and as a
            /// selector in each rule. Users cannot overrule it.
            pub enforced_namespace_label: String,
            /// Objects that the namespace label is not enforced on.
            pub excluded_from_enforcement: Vec<ObjectReference>,
            /// Most samples per scrape.
            #[schemars(range(min = 0))]
            pub enforced_sample_limit: Option<i64>,
            /// Most targets per scrape configuration.
            #[schemars(range(min = 0))]
            pub enforced_target_limit: Option<i64>,
            /// Most labels per sample.
            #[schemars(range(min = 0))]
            pub enforced_label_limit: Option<i64>,
            /// Longest name of a label.
            #[schemars(range(min = 0))]
            pub enforced_label_name_length_limit: Option<i64>,
            /// Longest value of a label.
            #[schemars(range(min = 0))]
            pub enforced_label_value_length_limit: Option<i64>,
            /// How many dropped targets are remembered per job. Needs Prometheus 2.47.
            #[schemars(range(min = 0))]
            pub enforced_keep_dropped_targets: Option<i64>,
            /// Largest response to accept, uncompressed.
            pub enforced_body_size_limit: ByteSize,
        }
    }
}
