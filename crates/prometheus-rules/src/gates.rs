//! Which version of Prometheus and of Thanos knows what in a rule file.

use prometheus_types::prometheus_rule::RuleGroup;
use rendering::{Gate, Version, since};

use crate::names::NameScheme;

/// For whom rules are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Prometheus,
    Thanos,
}

/// What not every version has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    Limit,
    KeepFiringFor,
    QueryOffset,
    GroupLabels,
    PartialResponseStrategy,
    /// Any UTF-8 as a name, not letters, digits and `_` only.
    Utf8Names,
}

struct Row {
    feature: Feature,
    /// Nothing: no version has it.
    prometheus: Option<Gate>,
    thanos: Option<Gate>,
}

const fn row(feature: Feature, prometheus: Option<Gate>, thanos: Option<Gate>) -> Row {
    Row { feature, prometheus, thanos }
}

const GATES: &[Row] = &[
    row(Feature::Limit, Some(since("2.31.0")), Some(since("0.24.0"))),
    row(Feature::KeepFiringFor, Some(since("2.42.0")), Some(since("0.34.0"))),
    row(Feature::QueryOffset, Some(since("2.53.0")), Some(since("0.38.0"))),
    row(Feature::GroupLabels, Some(since("3.0.0")), Some(since("0.39.0"))),
    row(Feature::PartialResponseStrategy, None, Some(Gate::Always)),
    row(Feature::Utf8Names, Some(since("3.0.0")), Some(since("0.38.0"))),
];

impl Target {
    /// Whether this version of the target has the feature.
    pub fn has(self, feature: Feature, version: &Version) -> bool {
        GATES.iter().filter(|row| row.feature == feature).any(|row| {
            let gate = match self {
                Self::Prometheus => row.prometheus,
                Self::Thanos => row.thanos,
            };
            gate.is_some_and(|gate| gate.admits(version))
        })
    }

    pub fn name_scheme(self, version: &Version) -> NameScheme {
        if self.has(Feature::Utf8Names, version) { NameScheme::Utf8 } else { NameScheme::Legacy }
    }

    /// Takes out of a group what this version would not load.
    pub(crate) fn sanitize(self, version: &Version, group: &mut RuleGroup) {
        let lacks = |feature| !self.has(feature, version);
        if lacks(Feature::Limit) {
            group.limit = None;
        }
        if lacks(Feature::QueryOffset) {
            group.query_offset = None;
        }
        if lacks(Feature::GroupLabels) {
            group.labels.clear();
        }
        if lacks(Feature::PartialResponseStrategy) {
            group.partial_response_strategy.clear();
        }
        if lacks(Feature::KeepFiringFor) {
            group.rules.iter_mut().for_each(|rule| rule.keep_firing_for = None);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_candidate_is_older_than_its_release() {
        let version = |text| Version::parse(text).unwrap();
        assert!(Target::Prometheus.has(Feature::GroupLabels, &version("3.0.0")));
        assert!(!Target::Prometheus.has(Feature::GroupLabels, &version("3.0.0-rc.1")));
        assert!(!Target::Prometheus.has(Feature::PartialResponseStrategy, &version("3.14.0")));
        assert!(Target::Thanos.has(Feature::PartialResponseStrategy, &version("0.10.0")));
    }
}
