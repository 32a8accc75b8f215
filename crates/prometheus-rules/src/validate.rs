//! What Prometheus would refuse to load, and where it stands in the object.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use prometheus_types::prometheus_rule::{PrometheusRuleSpec, Rule, RuleGroup};
use rendering::{Version, duration};

use crate::file;
use crate::loadable::Reader;
use crate::names::NameScheme;
use crate::pack::MAX_CONFIG_MAP_BYTES;
use crate::template;

const METRIC_NAME: &str = "__name__";

/// By which rules an object is judged.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    pub names: NameScheme,
    pub promql: promql::Options,
}

/// Something wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `spec.groups[0].rules[1].expr`.
    pub field: String,
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// Everything that is wrong with the rules of an object. No finding: the newest Prometheus loads them.
pub fn validate(spec: &PrometheusRuleSpec, judge: &Judge) -> Vec<Finding> {
    validate_for(spec, judge, Reader::Anybody)
}

/// The same for a Prometheus of this version.
pub fn validate_for_version(spec: &PrometheusRuleSpec, judge: &Judge, version: &Version) -> Vec<Finding> {
    validate_for(spec, judge, Reader::Prometheus(version))
}

fn validate_for(spec: &PrometheusRuleSpec, judge: &Judge, reader: Reader<'_>) -> Vec<Finding> {
    let mut names = BTreeSet::new();
    let mut findings = Vec::new();
    for (at, group) in spec.groups.iter().enumerate() {
        findings.append(&mut judge.group(at, group, reader));
        if !names.insert(group.name.as_str()) {
            findings.push(repeated(at, group));
        }
    }
    let size = file::content(&spec.groups).len();
    if size > MAX_CONFIG_MAP_BYTES {
        findings.push(too_large(size));
    }
    findings
}

pub(crate) fn repeated(at: usize, group: &RuleGroup) -> Finding {
    Finding {
        field: format!("spec.groups[{at}].name"),
        message: format!(
            "group {:?} is there already; give every group of an object its own name",
            group.name
        ),
    }
}

pub(crate) fn too_large(size: usize) -> Finding {
    Finding {
        field: "spec.groups".to_owned(),
        message: format!(
            "the rules are {size} bytes as a file, and {MAX_CONFIG_MAP_BYTES} is the most; \
             spread them over several PrometheusRules"
        ),
    }
}

impl Judge {
    /// What is wrong with the group at this place of an object.
    pub(crate) fn group(&self, at: usize, group: &RuleGroup, reader: Reader<'_>) -> Vec<Finding> {
        let mut found = Found { place: format!("spec.groups[{at}]"), findings: Vec::new() };
        if group.name.is_empty() {
            found.say("name", "must not be empty");
        }
        // An empty interval is none. An empty offset is a mistake that Prometheus refuses.
        if let Some(interval) = group.interval.as_deref().filter(|interval| !interval.is_empty()) {
            found.duration("interval", interval);
        }
        if let Some(offset) = group.query_offset.as_deref() {
            found.duration("query_offset", offset);
        }
        found.labels(self.names, &group.labels);
        for (at, rule) in group.rules.iter().enumerate() {
            let place = format!("{}.rules[{at}]", found.place);
            let mut in_rule = Found { place, findings: Vec::new() };
            self.rule(rule, reader, &mut in_rule);
            found.findings.append(&mut in_rule.findings);
        }
        found.findings
    }

    fn rule(&self, rule: &Rule, reader: Reader<'_>, found: &mut Found) {
        match (rule.record.is_empty(), rule.alert.is_empty()) {
            (false, false) => found.say("record", "set either record or alert, not both"),
            (true, true) => found.say("record", "set either record or alert"),
            _ => {}
        }
        self.expression(&rule.expr, reader, found);
        let held = rule.r#for.as_deref().filter(|held| !held.is_empty());
        let held = held.map_or(0, |held| found.duration("for", held));
        let kept = rule.keep_firing_for.as_deref().map_or(0, |kept| found.duration("keep_firing_for", kept));
        if !rule.record.is_empty() {
            self.recording(rule, held, kept, found);
        }
        found.labels(self.names, &rule.labels);
        for name in rule.annotations.keys() {
            if !self.names.is_label_name(name) {
                found.say(format!("annotations[{name:?}]"), "is not a valid name");
            }
        }
        if !rule.alert.is_empty() {
            for (kind, texts) in [("labels", &rule.labels), ("annotations", &rule.annotations)] {
                for (name, text) in texts {
                    let unread = match template::check_alert_template(&rule.alert, text) {
                        Ok(()) => reader.template(|function| template::calls(&rule.alert, text, function)),
                        Err(error) => vec![format!("is not a template: {error}")],
                    };
                    unread.into_iter().for_each(|why| found.say(format!("{kind}[{name:?}]"), why));
                }
            }
        }
    }

    fn expression(&self, expr: &IntOrString, reader: Reader<'_>, found: &mut Found) {
        // A whole number is a valid expression.
        let IntOrString::String(text) = expr else { return };
        if text.is_empty() {
            return found.say("expr", "must be set");
        }
        match promql::parse_with_parts(text, &reader.grammar(self.promql)) {
            Ok((_, parts)) => {
                let unread = reader.expression(&parts, &self.promql);
                unread.into_iter().for_each(|why| found.say("expr", why));
            }
            Err(error) => found.say("expr", format!("is not PromQL: {error}")),
        }
    }

    fn recording(&self, rule: &Rule, held: u64, kept: u64, found: &mut Found) {
        if !rule.annotations.is_empty() {
            found
                .say("annotations", "a recording rule has none; remove them, or set alert instead of record");
        }
        if held != 0 {
            found.say("for", "a recording rule has none; remove it, or set alert instead of record");
        }
        if kept != 0 {
            found.say(
                "keep_firing_for",
                "a recording rule has none; remove it, or set alert instead of record",
            );
        }
        if !self.names.is_metric_name(&rule.record) {
            found.say("record", format!("{:?} is not a valid name of a metric", rule.record));
        } else if rule.record.contains(['{', '}']) {
            found.say("record", format!("{:?} has braces; does it belong into expr?", rule.record));
        }
    }
}

/// Findings in one place.
struct Found {
    place: String,
    findings: Vec<Finding>,
}

impl Found {
    fn say(&mut self, field: impl fmt::Display, message: impl Into<String>) {
        self.findings.push(Finding { field: format!("{}.{field}", self.place), message: message.into() });
    }

    /// The duration in milliseconds, or zero and a finding.
    fn duration(&mut self, field: &str, text: &str) -> u64 {
        duration::prometheus(text).unwrap_or_else(|error| {
            self.say(field, error.to_string());
            0
        })
    }

    fn labels(&mut self, names: NameScheme, labels: &BTreeMap<String, String>) {
        for name in labels.keys() {
            if !names.is_label_name(name) || name == METRIC_NAME {
                self.say(format!("labels[{name:?}]"), "is not a valid name of a label");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn findings(groups: &str) -> Vec<String> {
        let spec = serde_json::from_str(&format!("{{\"groups\":{groups}}}")).unwrap();
        let judge = Judge { names: NameScheme::Legacy, promql: promql::Options::default() };
        validate(&spec, &judge).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_finding_names_the_field() {
        let groups = r#"[{"name": "a", "rules": [
            {"record": "ok", "expr": "up"},
            {"alert": "A", "expr": "up ==", "for": "5 minutes", "labels": {"a-b": "x"}, "annotations": {"s": "{{ $x }}"}}
        ]}, {"name": "a"}]"#;
        assert_eq!(
            findings(groups),
            [
                "spec.groups[0].rules[1].expr: is not PromQL: 1:6: unexpected end of input",
                "spec.groups[0].rules[1].for: \"5 minutes\" is not a duration; write it as in 30s or 1h30m",
                "spec.groups[0].rules[1].labels[\"a-b\"]: is not a valid name of a label",
                "spec.groups[0].rules[1].annotations[\"s\"]: is not a template: line 1: undefined variable \"$x\"",
                "spec.groups[1].name: group \"a\" is there already; give every group of an object its own name",
            ]
        );
    }

    #[test]
    fn an_empty_for_or_interval_is_none() {
        assert!(
            findings(r#"[{"name": "a", "interval": "", "rules": [{"alert": "A", "expr": 1, "for": ""}]}]"#)
                .is_empty()
        );
        assert_eq!(findings(r#"[{"name": "a", "query_offset": ""}]"#).len(), 1);
    }

    #[test]
    fn an_object_must_fit_into_a_config_map() {
        let annotation = "x".repeat(MAX_CONFIG_MAP_BYTES);
        let groups = format!(
            r#"[{{"name": "a", "rules": [{{"alert": "A", "expr": "up", "annotations": {{"s": "{annotation}"}}}}]}}]"#
        );
        assert_eq!(findings(&groups).len(), 1);
    }
}
