//! The rule file, with keys in the order of the alphabet, as upstream writes it.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use prometheus_types::prometheus_rule::{Rule, RuleGroup};
use rendering::{Map, Tree};

/// The file of these groups.
///
/// An empty `for` or `interval` is left out: Prometheus refuses a file that has one.
pub(crate) fn content<G: Borrow<RuleGroup>>(groups: &[G]) -> String {
    let mut file = Map::new();
    if !groups.is_empty() {
        file.set("groups", groups.iter().map(|one| group(one.borrow())).collect::<Tree>());
    }
    Tree::from(file).to_yaml()
}

fn group(group: &RuleGroup) -> Tree {
    let mut map = Map::with_capacity(7);
    map.set_text("interval", group.interval.as_deref().unwrap_or_default());
    map.set_some("labels", texts(&group.labels));
    map.set_some("limit", group.limit.map(|limit| limit as i64));
    map.set("name", Tree::text(&group.name));
    map.set_text("partial_response_strategy", &group.partial_response_strategy);
    map.set_some("query_offset", group.query_offset.as_deref().map(Tree::text));
    if !group.rules.is_empty() {
        map.set("rules", group.rules.iter().map(rule).collect::<Tree>());
    }
    map.into()
}

fn rule(rule: &Rule) -> Tree {
    let mut map = Map::with_capacity(7);
    map.set_text("alert", &rule.alert);
    map.set_some("annotations", texts(&rule.annotations));
    map.set(
        "expr",
        match &rule.expr {
            IntOrString::Int(number) => Tree::from(i64::from(*number)),
            IntOrString::String(text) => Tree::text(text),
        },
    );
    map.set_text("for", rule.r#for.as_deref().unwrap_or_default());
    map.set_some("keep_firing_for", rule.keep_firing_for.as_deref().map(Tree::text));
    map.set_some("labels", texts(&rule.labels));
    map.set_text("record", &rule.record);
    map.into()
}

fn texts(texts: &BTreeMap<String, String>) -> Option<Map> {
    texts.iter().map(|(name, text)| (name.clone(), Tree::text(text))).collect::<Map>().non_empty()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Texts that a careless writer would let become something else.
    const HOSTILE: &[&str] = &[
        "x\n- alert: Injected\n  expr: vector(1)",
        "x: y",
        "x #y",
        "#",
        "- x",
        "[x]",
        "{x: y}",
        "'",
        "\"",
        "\\",
        "| x",
        "> x\n  y",
        "&a *a",
        "!!int 1",
        "true",
        "null",
        "0x1F",
        "1_000",
        "---\ngroups: []",
        "...\n",
        " x ",
        "\t\r\n",
        "\u{0}\u{7}\u{feff}\u{2028}\u{85}",
        "<<",
        "=",
        "%YAML 1.1",
    ];

    #[test]
    fn a_hostile_text_changes_its_own_leaf_only() {
        for hostile in HOSTILE {
            let text = || (*hostile).to_owned();
            let rule = Rule {
                expr: IntOrString::String(text()),
                record: text(),
                alert: text(),
                r#for: Some((*hostile).into()),
                keep_firing_for: Some((*hostile).into()),
                labels: BTreeMap::from([(text(), text())]),
                annotations: BTreeMap::from([(text(), text())]),
            };
            let group = RuleGroup {
                name: text(),
                labels: BTreeMap::from([(text(), text())]),
                interval: Some((*hostile).into()),
                query_offset: Some((*hostile).into()),
                rules: vec![rule],
                partial_response_strategy: text(),
                limit: Some(1),
            };
            let leaf = || Tree::text(hostile);
            let texts = || Map::new().with(text(), leaf());
            let expected_rule = Map::new()
                .with("alert", leaf())
                .with("annotations", texts())
                .with("expr", leaf())
                .with("for", leaf())
                .with("keep_firing_for", leaf())
                .with("labels", texts())
                .with("record", leaf());
            let expected_group = Map::new()
                .with("interval", leaf())
                .with("labels", texts())
                .with("limit", 1)
                .with("name", leaf())
                .with("partial_response_strategy", leaf())
                .with("query_offset", leaf())
                .with("rules", vec![expected_rule]);
            let expected = Tree::from(Map::new().with("groups", vec![expected_group]));
            assert_eq!(Tree::parse(&content(&[group])).unwrap(), expected, "{hostile:?}");
        }
    }
}
