//! From a PrometheusRule to its rule file, group by group.

use std::collections::BTreeSet;

use prometheus_types::PrometheusRule;
use rendering::Version;

use crate::enforce::Enforcement;
use crate::file;
use crate::gates::Target;
use crate::loadable::Reader;
use crate::pack::MAX_CONFIG_MAP_BYTES;
use crate::validate::{Finding, Judge, repeated, too_large};

/// What a workload that loads the rules is, and wants.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    pub target: Target,
    pub version: Version,
    pub promql: promql::Options,
    pub enforcement: Enforcement<'a>,
}

/// What came of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The file; nothing if no group is left of those that were given, or if they are too many.
    pub content: Option<String>,
    /// Groups that the workload would refuse, and why.
    pub rejected: Vec<RejectedGroup>,
}

/// A group that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedGroup {
    pub name: String,
    pub findings: Vec<Finding>,
}

/// What the file of an object is called. The UID tells `foo-bar/fred` from `foo/bar-fred`.
pub fn file_name(rule: &PrometheusRule) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let metadata = &rule.metadata;
    format!("{}-{}-{}.yaml", text(&metadata.namespace), text(&metadata.name), text(&metadata.uid))
}

/// The file that this workload loads for an object, without the groups that it would refuse.
pub fn render(rule: &PrometheusRule, settings: &Settings<'_>) -> Rendered {
    let reader = match settings.target {
        Target::Prometheus => Reader::Prometheus(&settings.version),
        Target::Thanos => Reader::Anybody,
    };
    render_for(rule, settings, reader)
}

/// As upstream renders: whatever the newest Prometheus reads is written, for every version.
pub fn render_unjudged(rule: &PrometheusRule, settings: &Settings<'_>) -> Rendered {
    render_for(rule, settings, Reader::Anybody)
}

fn render_for(rule: &PrometheusRule, settings: &Settings<'_>, reader: Reader<'_>) -> Rendered {
    let judge = Judge { names: settings.target.name_scheme(&settings.version), promql: settings.promql };
    let namespace = rule.metadata.namespace.as_deref().unwrap_or_default();
    let name = rule.metadata.name.as_deref().unwrap_or_default();
    let confined = settings.enforcement.applies_to(namespace, name);
    let mut names = BTreeSet::new();
    let mut kept = Vec::with_capacity(rule.spec.groups.len());
    let mut rejected = Vec::new();
    for (at, given) in rule.spec.groups.iter().enumerate() {
        let mut group = given.clone();
        let mut findings = Vec::new();
        if confined {
            let grammar = reader.grammar(settings.promql);
            findings = settings.enforcement.group(at, &mut group, namespace, &grammar);
        }
        settings.target.sanitize(&settings.version, &mut group);
        if findings.is_empty() {
            findings = judge.group(at, &group, reader);
        }
        if !names.insert(given.name.as_str()) {
            findings.push(repeated(at, given));
        }
        if findings.is_empty() {
            kept.push(group);
        } else {
            rejected.push(RejectedGroup { name: given.name.clone(), findings });
        }
    }
    let nothing_left = kept.is_empty() && !rejected.is_empty();
    let content = (!nothing_left).then(|| file::content(&kept));
    match content {
        Some(content) if content.len() > MAX_CONFIG_MAP_BYTES => {
            let finding = too_large(content.len());
            let groups = rule.spec.groups.iter();
            let all = groups
                .map(|group| RejectedGroup { name: group.name.clone(), findings: vec![finding.clone()] });
            Rendered { content: None, rejected: all.collect() }
        }
        content => Rendered { content, rejected },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn rendered(groups: &str, enforcement: Enforcement<'_>) -> Rendered {
        rendered_for(Target::Prometheus, Version::new(3, 14, 0), groups, enforcement)
    }

    fn rendered_for(
        target: Target,
        version: Version,
        groups: &str,
        enforcement: Enforcement<'_>,
    ) -> Rendered {
        let object = format!(
            r#"{{"metadata": {{"name": "r", "namespace": "tenant", "uid": "7"}}, "spec": {{"groups": {groups}}}}}"#
        );
        let rule: PrometheusRule = serde_json::from_str(&object).unwrap();
        assert_eq!(file_name(&rule), "tenant-r-7.yaml");
        render(&rule, &Settings { target, version, promql: promql::Options::default(), enforcement })
    }

    #[test]
    fn what_the_version_does_not_read_costs_its_group() {
        let groups = r#"[
            {"name": "new", "rules": [{"record": "a", "expr": "histogram_avg(rate(a[300]))"}]},
            {"name": "template", "rules": [
                {"alert": "A", "expr": "up", "annotations": {"now": "{{ now | humanizeTimestamp }}", "b": "for now"}}
            ]},
            {"name": "old", "rules": [{"record": "b", "expr": "holt_winters(b[5m], 0.1, 0.2)"}]}
        ]"#;
        let of = |target, version| rendered_for(target, version, groups, Enforcement::NONE);
        let old = of(Target::Prometheus, Version::new(2, 47, 2));
        assert!(old.content.unwrap().contains("holt_winters"));
        let said = old.rejected.iter().flat_map(|group| &group.findings).map(ToString::to_string);
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                "spec.groups[0].rules[0].expr: `histogram_avg()` is known to Prometheus 2.51.0 and newer, this one is \
                 2.47.2; rewrite the expression or upgrade",
                "spec.groups[0].rules[0].expr: a number as a duration is known to Prometheus 2.54.0 and newer, this one is \
                 2.47.2; rewrite the expression or upgrade",
                "spec.groups[1].rules[0].annotations[\"now\"]: `now` is known to Prometheus 3.6.0 and newer, this one is \
                 2.47.2; rewrite the template or upgrade",
            ]
        );
        let refused =
            |rendered: Rendered| rendered.rejected.into_iter().map(|group| group.name).collect::<Vec<_>>();
        assert_eq!(refused(of(Target::Prometheus, Version::new(3, 15, 0))), ["old"]);
        assert_eq!(refused(of(Target::Thanos, Version::new(0, 31, 0))), ["old"]);
    }

    #[test]
    fn a_bad_group_costs_that_group_only() {
        let groups = r#"[
            {"name": "bad", "rules": [{"record": "a", "expr": "sum("}]},
            {"name": "good", "rules": [{"record": "b", "expr": "sum(up)"}]},
            {"name": "good", "rules": []}
        ]"#;
        let rendered = rendered(groups, Enforcement::NONE);
        assert_eq!(
            rendered.content.as_deref(),
            Some("groups:\n- name: good\n  rules:\n  - expr: sum(up)\n    record: b\n")
        );
        let rejected: Vec<_> = rendered.rejected.iter().map(|group| group.findings[0].to_string()).collect();
        assert_eq!(
            rejected,
            [
                "spec.groups[0].rules[0].expr: is not PromQL: 1:5: unclosed left parenthesis",
                "spec.groups[2].name: group \"good\" is there already; give every group of an object its own name",
            ]
        );
    }

    #[test]
    fn nothing_is_written_when_no_group_is_left() {
        let rendered = rendered(r#"[{"name": ""}]"#, Enforcement::NONE);
        assert_eq!((rendered.content, rendered.rejected.len()), (None, 1));
    }

    #[test]
    fn a_confined_rule_stays_in_its_namespace() {
        let enforcement = Enforcement { label: "namespace", excluded: &[] };
        let groups =
            r#"[{"name": "g", "rules": [{"record": "a", "expr": "up{namespace=\"kube-system\"}"}]}]"#;
        let content = rendered(groups, enforcement).content.unwrap();
        assert!(
            content.contains(r#"up{namespace=\"tenant\"}"#) && content.contains("namespace: tenant"),
            "{content}"
        );
    }
}
