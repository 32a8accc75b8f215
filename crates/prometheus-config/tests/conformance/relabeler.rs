//! A small interpreter of relabeling, after Prometheus' documentation: the judge of what rendered steps achieve.

use std::collections::BTreeMap;

use regex::{Captures, Regex};
use rendering::Tree;

pub(crate) type Labels = BTreeMap<String, String>;

/// The labels after all steps, or nothing when a step drops them.
pub(crate) fn relabel(mut labels: Labels, steps: &[Tree]) -> Option<Labels> {
    for step in steps {
        labels = apply(labels, step)?;
    }
    labels.retain(|_, value| !value.is_empty());
    Some(labels)
}

fn apply(mut labels: Labels, step: &Tree) -> Option<Labels> {
    let text = |key: &str, default: &str| step.get(key).map_or_else(|| default.to_owned(), scalar);
    let regex = Regex::new(&format!("^(?s:{})$", text("regex", "(.*)"))).unwrap();
    let sources: Vec<String> =
        step.get("source_labels").and_then(Tree::as_list).unwrap_or_default().iter().map(scalar).collect();
    let value = |labels: &Labels, name: &str| labels.get(name).cloned().unwrap_or_default();
    let joined =
        sources.iter().map(|name| value(&labels, name)).collect::<Vec<_>>().join(&text("separator", ";"));
    let target = text("target_label", "");
    let replacement = text("replacement", "$1");
    match text("action", "replace").as_str() {
        "replace" => {
            if let Some(found) = regex.captures(&joined) {
                let name = expand(&target, &found);
                let new = expand(&replacement, &found);
                if !name.is_empty() {
                    labels.insert(name, new);
                }
            }
        }
        "keep" if !regex.is_match(&joined) => return None,
        "drop" if regex.is_match(&joined) => return None,
        "keepequal" if value(&labels, &target) != joined => return None,
        "dropequal" if value(&labels, &target) == joined => return None,
        "lowercase" => drop(labels.insert(target, joined.to_lowercase())),
        "uppercase" => drop(labels.insert(target, joined.to_uppercase())),
        // Any number serves: no property depends on which shard a target falls to.
        "hashmod" => drop(labels.insert(target, "0".to_owned())),
        "labelmap" => {
            let found: Vec<_> = labels
                .iter()
                .filter_map(|(name, value)| {
                    Some((expand(&replacement, &regex.captures(name)?), value.clone()))
                })
                .collect();
            labels.extend(found);
        }
        "labeldrop" => labels.retain(|name, _| !regex.is_match(name)),
        "labelkeep" => labels.retain(|name, _| regex.is_match(name)),
        _ => {}
    }
    Some(labels)
}

fn scalar(value: &Tree) -> String {
    match value {
        Tree::Str(text) => text.to_string(),
        Tree::Int(number) => number.to_string(),
        other => panic!("{other:?} in a relabeling step"),
    }
}

fn expand(template: &str, found: &Captures<'_>) -> String {
    let mut out = String::new();
    found.expand(template, &mut out);
    out
}
