//! A guard before the definitions of our kinds: whoever deletes a definition deletes every object of that kind, and with them
//! the applications. That must be said, not happen by `kubectl delete -f install.yaml`.

use k8s_openapi::{
    api::admissionregistration::v1::{
        MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
        ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec,
        ValidatingAdmissionPolicySpec, Validation,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::deployment;

const NAME: &str = "capstan-keep-definitions";

/// With this annotation set to "yes" a definition may go.
pub(super) const CONSENT: &str = "capstan.dev/delete-all-resources";

pub(super) fn definitions(
    definitions: &[CustomResourceDefinition],
) -> (ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding) {
    let names: Vec<String> = definitions
        .iter()
        .filter_map(|crd| crd.metadata.name.as_ref())
        .map(|name| format!("'{name}'"))
        .collect();
    let metadata = ObjectMeta {
        name: Some(NAME.into()),
        labels: Some(deployment::labels().collect()),
        ..ObjectMeta::default()
    };
    let rule = NamedRuleWithOperations {
        api_groups: Some(vec!["apiextensions.k8s.io".into()]),
        api_versions: Some(vec!["v1".into()]),
        operations: Some(vec!["DELETE".into()]),
        resources: Some(vec!["customresourcedefinitions".into()]),
        ..NamedRuleWithOperations::default()
    };
    let validation = Validation {
        expression: format!(
            "has(oldObject.metadata.annotations) && '{CONSENT}' in oldObject.metadata.annotations && \
             oldObject.metadata.annotations['{CONSENT}'] == 'yes'"
        ),
        message_expression: Some(format!(
            "'deleting ' + oldObject.metadata.name + ' deletes every ' + oldObject.spec.names.kind + \
             ' in the cluster, and the applications with them; if that is what you want: kubectl annotate crd ' + \
             oldObject.metadata.name + ' {CONSENT}=yes'"
        )),
        reason: Some("Forbidden".into()),
        ..Validation::default()
    };
    let policy = ValidatingAdmissionPolicy {
        metadata: metadata.clone(),
        spec: Some(ValidatingAdmissionPolicySpec {
            match_constraints: Some(MatchResources {
                resource_rules: Some(vec![rule]),
                ..MatchResources::default()
            }),
            match_conditions: Some(vec![MatchCondition {
                name: "ours".into(),
                expression: format!("oldObject.metadata.name in [{}]", names.join(", ")),
            }]),
            validations: Some(vec![validation]),
            ..ValidatingAdmissionPolicySpec::default()
        }),
        status: None,
    };
    let binding = ValidatingAdmissionPolicyBinding {
        metadata,
        spec: ValidatingAdmissionPolicyBindingSpec {
            policy_name: NAME.into(),
            validation_actions: vec!["Deny".into()],
            ..ValidatingAdmissionPolicyBindingSpec::default()
        },
    };
    (policy, binding)
}
