//! Relabeling steps as Prometheus judges them once they are written.

use go_syntax::regexp::Regexp;
use rendering::{Gate, Map, Tree, Version, between, since, until};

use super::{Verdict, list, refuse, text};
use crate::validate::Rejected;
use crate::validate::label_syntax::{is_label_name, is_label_template};

/// Any text may be the name of a label.
const UTF8_NAMES: Gate = since("3.0.0");
/// A name with references to groups (`${1}`) is still one of letters, digits and `_`.
const LEGACY_TEMPLATES: Gate = until("3.2.0");
/// Names have the form that the job asks for.
const BY_JOB: Gate = since("3.7.0");
/// Where a job asks for the old form, no name may refer to groups.
const NO_TEMPLATES: Gate = between("3.7.0", "3.8.0");
/// What writes a label may refer to groups in its name, whatever the action.
const ALL_TEMPLATES: Gate = until("2.50.0");

const ACTIONS: &[&str] = &[
    "replace",
    "keep",
    "drop",
    "hashmod",
    "labelmap",
    "labeldrop",
    "labelkeep",
    "lowercase",
    "uppercase",
    "keepequal",
    "dropequal",
];

/// Which names labels may have in the steps of a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    sources_utf8: bool,
    targets_utf8: bool,
    templates: Templates,
    all_templates: bool,
}

#[derive(Clone, Copy, Debug)]
enum Templates {
    None,
    Legacy,
    Utf8,
}

impl Names {
    pub(super) fn of(version: &Version, legacy: bool) -> Self {
        let utf8 = UTF8_NAMES.admits(version);
        let old_form = legacy && BY_JOB.admits(version);
        let templates = match old_form {
            true if NO_TEMPLATES.admits(version) => Templates::None,
            true => Templates::Legacy,
            false if LEGACY_TEMPLATES.admits(version) => Templates::Legacy,
            false => Templates::Utf8,
        };
        Self {
            sources_utf8: utf8,
            targets_utf8: utf8 && !old_form,
            templates,
            all_templates: ALL_TEMPLATES.admits(version),
        }
    }

    pub(super) fn check_steps(&self, key: &str, steps: &[Tree]) -> Verdict {
        for step in steps.iter().filter_map(Tree::as_map) {
            self.check_step(step).map_err(|error| Rejected::new(key, error))?;
        }
        Ok(())
    }

    /// A label outside of steps, such as one of a static target.
    pub(super) fn is_label(&self, name: &str) -> bool {
        is_label_name(name, self.targets_utf8)
    }

    fn is_template(&self, name: &str) -> bool {
        match self.templates {
            Templates::None => is_label_name(name, false),
            Templates::Legacy => is_label_template(name, false),
            Templates::Utf8 => is_label_template(name, true),
        }
    }

    fn check_step(&self, step: &Map) -> Verdict {
        let lower;
        let action = match text(step, "action") {
            "" => "replace",
            action if action.bytes().all(|byte| byte.is_ascii_lowercase()) => action,
            action => {
                lower = action.to_ascii_lowercase();
                &lower
            }
        };
        let target = text(step, "target_label");
        let equal = matches!(action, "keepequal" | "dropequal");
        let plain = equal || matches!(action, "lowercase" | "uppercase");
        let writes = plain || matches!(action, "replace" | "hashmod");
        if !ACTIONS.contains(&action) {
            return refuse("action", format!("{action:?} is no action"));
        }
        if let Some(name) = list(step, "source_labels")
            .iter()
            .filter_map(Tree::as_str)
            .find(|name| !is_label_name(name, self.sources_utf8))
        {
            return refuse("sourceLabels", format!("{name:?} is no name of a label"));
        }
        check_regex(text(step, "regex"))?;
        let modulus = step.get("modulus").and_then(Tree::as_int).unwrap_or_default();
        if modulus < 0 || (action == "hashmod" && modulus == 0) {
            return refuse("modulus", "must be above 0");
        }
        let template = match action {
            "replace" => target.contains('$') || self.all_templates,
            "hashmod" => false,
            _ => self.all_templates,
        };
        let named = if template { self.is_template(target) } else { self.is_label(target) };
        if writes && !named {
            return refuse(
                "targetLabel",
                format!("{target:?} is no name of a label that {action} can write"),
            );
        }
        let replacement = step.get("replacement").and_then(Tree::as_str).unwrap_or("$1");
        if action == "labelmap" && !self.is_template(replacement) {
            return refuse("replacement", format!("{replacement:?} is no name of a label"));
        }
        let separator = step.get("separator").and_then(Tree::as_str).unwrap_or(";");
        let others = modulus != 0 || separator != ";" || replacement != "$1";
        match action {
            _ if plain && replacement != "$1" => {
                refuse("replacement", format!("{action} takes none; remove it"))
            }
            // Prometheus takes even the default for a setting of the user when it is written out.
            _ if equal && (others || step.given("regex")) => {
                refuse("action", format!("{action} takes sourceLabels and targetLabel, nothing else"))
            }
            "labeldrop" | "labelkeep"
                if others || !target.is_empty() || step.contains_key("source_labels") =>
            {
                refuse("action", format!("{action} takes regex, nothing else"))
            }
            _ => Ok(()),
        }
    }
}

/// An expression, anchored as Prometheus does.
fn check_regex(regex: &str) -> Verdict {
    if is_plain(regex) {
        return Ok(());
    }
    match Regexp::parse(&format!("^(?s:{regex})$")) {
        Ok(_) => Ok(()),
        Err(error) => refuse("regex", error),
    }
}

/// Words, groups, alternatives and repetitions, as most expressions are: told at a glance, since a configuration has very many.
fn is_plain(regex: &str) -> bool {
    let (mut depth, mut repeatable) = (0_u32, false);
    for byte in regex.bytes() {
        repeatable = match byte {
            b'_' | b'-' | b'/' | b':' | b';' | b',' | b'@' | b'=' | b'.' => true,
            _ if byte.is_ascii_alphanumeric() => true,
            b'*' | b'+' | b'?' if repeatable => false,
            b'|' => false,
            b'(' => {
                depth += 1;
                false
            }
            b')' if depth > 0 => {
                depth -= 1;
                true
            }
            _ => return false,
        };
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain_is_an_expression() {
        for regex in ["", "(.+)", "(Failed|Succeeded)", "Node;(.*)", "a|", "(a(b|c)*)?d", "go_.*", "()"] {
            assert!(is_plain(regex) && Regexp::parse(regex).is_ok(), "{regex}");
        }
        for regex in ["(", ")", "*a", "a**", "|+", "(?i:a)", "[a]", "a\\d", "$(SHARD)", "a{2}", "(*)"] {
            assert!(!is_plain(regex), "{regex}");
        }
    }
}
