//! Guards before what cannot be undone: deletions that the API server would accept and then carry out, or never let anybody take back.
//!
//! | guard | refuses to delete | because |
//! |---|---|---|
//! | [`definitions`] | the definitions of our kinds | every object of that kind goes with its definition, and with them the applications; that must be said, not happen by `kubectl delete -f install.yaml` |
//! | [`clusters`] | EtcdClusters with `spec.deletionPolicy.protection` | an accepted deletion cannot be taken back; the finalizer only holds it up, as a second line |

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

/// With this annotation set to "yes" a definition may go.
pub(super) const CONSENT: &str = "capstan.dev/delete-all-resources";

/// A policy, and what puts it in force.
pub(super) type Guard = (ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding);

/// What a guard says to deletions.
struct Rule<'a> {
    name: &'a str,
    group: &'a str,
    version: &'a str,
    resource: &'a str,
    /// Which of them it is about; all of them unless said otherwise.
    only: Option<MatchCondition>,
    /// In CEL: when `oldObject` may go.
    allows: &'a str,
    /// In CEL: what is said when it may not.
    says: &'a str,
}

pub(super) fn definitions(definitions: &[CustomResourceDefinition]) -> Guard {
    let names: Vec<String> = definitions
        .iter()
        .filter_map(|crd| crd.metadata.name.as_ref())
        .map(|name| format!("'{name}'"))
        .collect();
    guard(Rule {
        name: "capstan-keep-definitions",
        group: "apiextensions.k8s.io",
        version: "v1",
        resource: "customresourcedefinitions",
        only: Some(MatchCondition {
            name: "ours".into(),
            expression: format!("oldObject.metadata.name in [{}]", names.join(", ")),
        }),
        allows: &format!(
            "has(oldObject.metadata.annotations) && '{CONSENT}' in oldObject.metadata.annotations && \
             oldObject.metadata.annotations['{CONSENT}'] == 'yes'"
        ),
        says: &format!(
            "'deleting ' + oldObject.metadata.name + ' deletes every ' + oldObject.spec.names.kind + \
             ' in the cluster, and the applications with them; if that is what you want: kubectl annotate crd ' + \
             oldObject.metadata.name + ' {CONSENT}=yes'"
        ),
    })
}

pub(super) fn clusters() -> Guard {
    guard(Rule {
        name: "capstan-keep-protected-clusters",
        group: "etcd.capstan.dev",
        version: "*",
        resource: "etcdclusters",
        only: None,
        allows: "!has(oldObject.spec.deletionPolicy) || !has(oldObject.spec.deletionPolicy.protection) || \
                 !oldObject.spec.deletionPolicy.protection",
        says: "'EtcdCluster ' + oldObject.metadata.namespace + '/' + oldObject.metadata.name + \
               ' is protected, and nothing was deleted: spec.deletionPolicy.protection is true; to let it go: kubectl -n ' + \
               oldObject.metadata.namespace + ' patch etcd ' + oldObject.metadata.name + \
               ' --type=merge -p \\'{\"spec\": {\"deletionPolicy\": {\"protection\": false}}}\\''",
    })
}

fn guard(rule: Rule<'_>) -> Guard {
    let metadata = ObjectMeta {
        name: Some(rule.name.into()),
        labels: Some(deployment::labels().collect()),
        ..ObjectMeta::default()
    };
    let deletions = NamedRuleWithOperations {
        api_groups: Some(vec![rule.group.into()]),
        api_versions: Some(vec![rule.version.into()]),
        operations: Some(vec!["DELETE".into()]),
        resources: Some(vec![rule.resource.into()]),
        ..NamedRuleWithOperations::default()
    };
    let validation = Validation {
        expression: rule.allows.into(),
        message_expression: Some(rule.says.into()),
        reason: Some("Forbidden".into()),
        ..Validation::default()
    };
    let policy = ValidatingAdmissionPolicy {
        metadata: metadata.clone(),
        spec: Some(ValidatingAdmissionPolicySpec {
            match_constraints: Some(MatchResources {
                resource_rules: Some(vec![deletions]),
                ..MatchResources::default()
            }),
            match_conditions: rule.only.map(|only| vec![only]),
            validations: Some(vec![validation]),
            ..ValidatingAdmissionPolicySpec::default()
        }),
        status: None,
    };
    let binding = ValidatingAdmissionPolicyBinding {
        metadata,
        spec: ValidatingAdmissionPolicyBindingSpec {
            policy_name: rule.name.into(),
            validation_actions: vec!["Deny".into()],
            ..ValidatingAdmissionPolicyBindingSpec::default()
        },
    };
    (policy, binding)
}
