//! Relabeling steps: those of users, and the enforcement of a namespace label upon them.
//!
//! Invariant: where a namespace label is enforced, the step that sets it follows every step that the monitor's author
//! wrote; what comes after it touches only labels that begin with `__`.

use prometheus_types::exclusion::ObjectReference;
use prometheus_types::relabel::RelabelConfig;
use rendering::{Map, Text, Tree};

use crate::values::{labels, list};

/// A user's step.
pub(crate) fn step(config: &RelabelConfig) -> Map {
    let mut map = Map::new();
    if !config.source_labels.is_empty() {
        map.set("source_labels", list(&config.source_labels));
    }
    map.set_some("separator", config.separator.as_ref());
    map.set_text("target_label", &config.target_label).set_text("regex", &config.regex);
    if config.modulus != 0 {
        map.set("modulus", config.modulus);
    }
    map.set_some("replacement", config.replacement.as_ref());
    map.set_text("action", &config.action.to_ascii_lowercase());
    map
}

pub(crate) fn steps(configs: &[RelabelConfig]) -> impl Iterator<Item = Map> {
    configs.iter().map(step)
}

/// Copies a label into another.
pub(crate) fn copy(source: impl Into<Text>, target: impl Into<Tree>) -> Map {
    Map::new().with("source_labels", labels([source.into()])).with("target_label", target)
}

/// Copies a label into another where it has a value.
pub(crate) fn copy_present(source: impl Into<Text>, target: impl Into<Tree>) -> Map {
    copy(source, target).with("regex", "(.+)").with("replacement", "${1}")
}

/// Gives a label a fixed value.
pub(crate) fn fixed(target: &'static str, value: &str) -> Map {
    Map::new().with("target_label", target).with("replacement", Tree::text(value))
}

/// Keeps targets whose labels match.
pub(crate) fn keep<const N: usize>(sources: [Text; N], regex: impl Into<Tree>) -> Map {
    Map::new().with("action", "keep").with("source_labels", labels(sources)).with("regex", regex)
}

/// Drops targets whose labels match.
pub(crate) fn drop<const N: usize>(sources: [Text; N], regex: impl Into<Tree>) -> Map {
    Map::new().with("action", "drop").with("source_labels", labels(sources)).with("regex", regex)
}

/// The enforcement of a namespace label.
#[derive(Clone, Copy, Debug)]
pub struct Enforcement<'a> {
    label: &'a str,
    exceptions: &'a [ObjectReference],
}

const GROUP: &str = "monitoring.coreos.com";

impl<'a> Enforcement<'a> {
    pub fn new(label: &'a str, exceptions: &'a [ObjectReference]) -> Self {
        Self { label, exceptions }
    }

    /// The step that is put behind the steps of an object (`resource` is its plural, as in `servicemonitors`), unless
    /// nothing is enforced or the object is excepted.
    pub fn step_for(&self, resource: &str, namespace: &str, name: &str) -> Option<RelabelConfig> {
        if self.label.is_empty()
            || self.exceptions.iter().any(|exception| covers(exception, resource, namespace, name))
        {
            return None;
        }
        Some(RelabelConfig {
            target_label: self.label.to_owned(),
            replacement: Some(namespace.to_owned()),
            ..RelabelConfig::default()
        })
    }
}

fn covers(exception: &ObjectReference, resource: &str, namespace: &str, name: &str) -> bool {
    let group: &str = &exception.group;
    !exception.namespace.is_empty()
        && (group.is_empty() || group == GROUP)
        && *exception.resource == *resource
        && exception.namespace == namespace
        && (exception.name.is_empty() || exception.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_holds_for_one_object_or_for_a_kind_in_a_namespace() {
        let exception = |name: &str| ObjectReference {
            resource: "probes".into(),
            namespace: "a".into(),
            name: name.into(),
            ..ObjectReference::default()
        };
        let enforced = |exceptions: &[ObjectReference], resource, namespace| {
            Enforcement::new("namespace", exceptions).step_for(resource, namespace, "x").is_some()
        };
        assert!(enforced(&[], "probes", "a"));
        assert!(!enforced(&[exception("")], "probes", "a"));
        assert!(!enforced(&[exception("x")], "probes", "a"));
        assert!(enforced(&[exception("y")], "probes", "a"));
        assert!(enforced(&[exception("")], "probes", "b"));
        assert!(enforced(&[exception("")], "podmonitors", "a"));
        assert!(Enforcement::new("", &[]).step_for("probes", "a", "x").is_none());
    }
}
