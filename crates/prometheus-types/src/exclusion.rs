//! Exceptions from the enforcement of namespace labels.

use crate::object::object;
use crate::status::MonitoringGroup;
use crate::text::text;

text! {
    /// The plural name of a kind that enforcement applies to.
    pub struct EnforcedResource {
        "enum": ["prometheusrules", "servicemonitors", "podmonitors", "probes", "scrapeconfigs"]
    }
}

object! {
    /// An object that is not subject to enforcement, or all of a kind in a namespace.
    pub struct ObjectReference {
        required {
            /// Kind of the object, in the plural.
            pub resource: EnforcedResource,
            /// Namespace of the object.
            #[schemars(length(min = 1))]
            pub namespace: String,
        }
        optional {
            /// Group of the object.
            #[schemars(extend("default" = "monitoring.coreos.com"))]
            pub group: MonitoringGroup,
            /// Name of the object; all of the kind when absent.
            pub name: String,
        }
    }
}

object! {
    /// A PrometheusRule that is not subject to enforcement.
    pub struct PrometheusRuleExcludeConfig {
        required {
            /// Namespace of the rule.
            pub rule_namespace: String,
            /// Name of the rule.
            pub rule_name: String,
        }
    }
}
