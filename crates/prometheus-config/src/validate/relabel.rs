//! Relabeling steps: what Prometheus refuses when it loads its configuration, said before.

use go_syntax::regexp::Regexp;
use prometheus_types::relabel::RelabelConfig;
use rendering::Version;

use super::label_syntax::{is_label_name, is_label_template};
use super::{Checker, Rejected, needs};
use crate::gates::{Field, Known};

impl Checker<'_> {
    pub(crate) fn check_relabelings(&self, field: &str, steps: &[RelabelConfig]) -> Result<(), Rejected> {
        check_relabelings(field, steps, &self.known)
    }
}

pub(crate) fn check_relabelings(field: &str, steps: &[RelabelConfig], known: &Known) -> Result<(), Rejected> {
    for (at, step) in steps.iter().enumerate() {
        check(step, known).map_err(|error| error.within(&format!("{field}[{at}]")))?;
    }
    Ok(())
}

/// Checks one step for a version of Prometheus.
pub fn check_relabeling(step: &RelabelConfig, version: &Version) -> Result<(), Rejected> {
    check(step, &Known::by(version))
}

fn check(step: &RelabelConfig, known: &Known) -> Result<(), Rejected> {
    let action = if step.action.is_empty() { "replace".to_owned() } else { step.action.to_ascii_lowercase() };
    let action = action.as_str();
    let refuse = |field: &str, why: String| Err(Rejected::new(field, why));
    match action {
        "lowercase" | "uppercase" => needs(known, Field::CaseActions, "action")?,
        "keepequal" | "dropequal" => needs(known, Field::EqualActions, "action")?,
        _ => {}
    }
    // As Prometheus anchors it.
    Regexp::parse(&format!("^(?s:{})$", step.regex)).map_err(|error| Rejected::new("regex", error))?;
    if action == "hashmod" && step.modulus == 0 {
        return refuse("modulus", "hashmod needs a modulus above 0".to_owned());
    }
    let writes =
        matches!(action, "replace" | "hashmod" | "lowercase" | "uppercase" | "keepequal" | "dropequal");
    if writes && step.target_label.is_empty() {
        return refuse("targetLabel", format!("{action} needs a target label"));
    }
    let utf8 = known.has(Field::Utf8Names);
    let target_is_name = match action {
        "replace" if step.target_label.contains('$') => is_label_template(&step.target_label, utf8),
        _ => is_label_name(&step.target_label, utf8),
    };
    if writes && !target_is_name {
        return refuse("targetLabel", format!("{:?} is no name of a label", step.target_label));
    }
    let replacement = step.replacement.as_deref().filter(|replacement| *replacement != "$1");
    if matches!(action, "lowercase" | "uppercase" | "keepequal" | "dropequal") && replacement.is_some() {
        return refuse("replacement", format!("{action} takes no replacement"));
    }
    if action == "labelmap"
        && let Some(replacement) = &step.replacement
        && !is_label_template(replacement, utf8)
    {
        return refuse("replacement", format!("{replacement:?} is no name of a label"));
    }
    check_unused(step, action)
}

/// Fields that an action does not use are refused where Prometheus refuses them.
fn check_unused(step: &RelabelConfig, action: &str) -> Result<(), Rejected> {
    let separator = step.separator.as_deref().is_some_and(|separator| separator != ";");
    let replacement = step.replacement.as_deref().is_some_and(|replacement| replacement != "$1");
    let common = step.modulus != 0 || separator || replacement;
    match action {
        "keepequal" | "dropequal" if common || !matches!(step.regex.as_str(), "" | "(.*)") => {
            Err(Rejected::new("action", format!("{action} takes sourceLabels and targetLabel, nothing else")))
        }
        "labeldrop" | "labelkeep"
            if common || !step.source_labels.is_empty() || !step.target_label.is_empty() =>
        {
            Err(Rejected::new("action", format!("{action} takes regex, nothing else")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(json: serde_json::Value, version: &str) -> Option<String> {
        let step: RelabelConfig = serde_json::from_value(json).unwrap();
        check_relabeling(&step, &Version::parse(version).unwrap()).err().map(|error| error.to_string())
    }

    #[test]
    fn a_refusal_names_the_field_and_the_way_out() {
        use serde_json::json;
        for (step, version, message) in [
            (
                json!({"action": "lowercase", "targetLabel": "a"}),
                "2.30.0",
                "action: lowercase, uppercase needs Prometheus 2.36.0; raise spec.version or remove it",
            ),
            (
                json!({"action": "HashMod", "targetLabel": "a"}),
                "3.0.0",
                "modulus: hashmod needs a modulus above 0",
            ),
            (json!({}), "3.0.0", "targetLabel: replace needs a target label"),
            (json!({"targetLabel": "a-b"}), "2.55.0", r#"targetLabel: "a-b" is no name of a label"#),
            (
                json!({"action": "labeldrop", "regex": "a", "targetLabel": "b"}),
                "3.0.0",
                "action: labeldrop takes regex, nothing else",
            ),
        ] {
            assert_eq!(verdict(step.clone(), version).as_deref(), Some(message), "{step}");
        }
        assert!(verdict(json!({"targetLabel": "a-b"}), "3.0.0").is_none());
        assert!(verdict(json!({"regex": "(", "targetLabel": "a"}), "3.0.0").unwrap().starts_with("regex: "));
    }
}
