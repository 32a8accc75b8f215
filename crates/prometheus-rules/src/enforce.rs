//! Confines rules to the namespace they come from: the label on every result, a matcher in every selector.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use prometheus_types::PrometheusRule;
use prometheus_types::exclusion::ObjectReference;
use prometheus_types::prometheus_rule::RuleGroup;
use promql::Matcher;

use crate::validate::Finding;

/// `enforcedNamespaceLabel` and `excludedFromEnforcement` of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Enforcement<'a> {
    /// Empty: nothing is enforced.
    pub label: &'a str,
    pub excluded: &'a [ObjectReference],
}

impl Enforcement<'_> {
    pub const NONE: Enforcement<'static> = Enforcement { label: "", excluded: &[] };

    /// Whether the rules of this object are confined.
    pub fn applies_to(&self, namespace: &str, name: &str) -> bool {
        let excludes = |reference: &ObjectReference| {
            *reference.group == *"monitoring.coreos.com"
                && *reference.resource == *"prometheusrules"
                && !reference.namespace.is_empty()
                && reference.namespace == namespace
                && (reference.name.is_empty() || reference.name == name)
        };
        !self.label.is_empty() && !self.excluded.iter().any(excludes)
    }

    /// Confines all rules of an object, or says which expression cannot be read.
    ///
    /// An expression is read with the features that the workload has enabled: upstream forgets them here, and drops
    /// such rules without a word.
    pub fn enforce(&self, rule: &mut PrometheusRule, options: &promql::Options) -> Result<(), Vec<Finding>> {
        let namespace = rule.metadata.namespace.clone().unwrap_or_default();
        if !self.applies_to(&namespace, rule.metadata.name.as_deref().unwrap_or_default()) {
            return Ok(());
        }
        let mut findings = Vec::new();
        for (at, group) in rule.spec.groups.iter_mut().enumerate() {
            findings.append(&mut self.group(at, group, &namespace, options));
        }
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }

    /// Confines a group; what cannot be read is left as it is, and reported.
    pub(crate) fn group(
        &self,
        at: usize,
        group: &mut RuleGroup,
        namespace: &str,
        options: &promql::Options,
    ) -> Vec<Finding> {
        let matcher = Matcher::equal(self.label, namespace);
        let mut findings = Vec::new();
        for (in_group, rule) in group.rules.iter_mut().enumerate() {
            rule.labels.insert(self.label.to_owned(), namespace.to_owned());
            let parsed = match &rule.expr {
                IntOrString::Int(number) => promql::parse(&number.to_string(), options),
                IntOrString::String(text) => promql::parse(text, options),
            };
            match parsed {
                Ok(mut expr) => {
                    promql::enforce(&mut expr, &matcher);
                    rule.expr = IntOrString::String(expr.to_string());
                }
                Err(error) => findings.push(Finding {
                    field: format!("spec.groups[{at}].rules[{in_group}].expr"),
                    message: format!("is not PromQL, so it cannot be confined to its namespace: {error}"),
                }),
            }
        }
        findings
    }
}
