//! The fewest rules that say the same.

use std::{borrow::Cow, collections::BTreeMap, collections::BTreeSet};

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{Access, Reach, Verb};

/// Merges what is declared several times, and drops what another declaration includes. The order is stable.
pub fn merged(accesses: &[Access]) -> Vec<Access> {
    type Resource = (Cow<'static, str>, Cow<'static, str>, Reach);
    type Names = BTreeSet<Cow<'static, str>>;
    let mut verbs: BTreeMap<(Resource, Names), BTreeSet<Verb>> = BTreeMap::new();
    for access in accesses {
        let resource = (access.group.clone(), access.resource.clone(), access.reach);
        for verb in &access.verbs {
            // An object that is to be created has no name yet that RBAC could look at.
            let names = if *verb == Verb::Create { Names::new() } else { access.names.clone() };
            verbs.entry((resource.clone(), names)).or_default().insert(*verb);
        }
    }
    let unlimited: BTreeMap<Resource, BTreeSet<Verb>> = verbs
        .iter()
        .filter(|((_, names), _)| names.is_empty())
        .map(|((resource, _), verbs)| (resource.clone(), verbs.clone()))
        .collect();
    let mut minimal = Vec::new();
    for ((resource, names), mut verbs) in verbs {
        if !names.is_empty()
            && let Some(anyway) = unlimited.get(&resource)
        {
            verbs.retain(|verb| !anyway.contains(verb));
        }
        if !verbs.is_empty() {
            let (group, resource, reach) = resource;
            minimal.push(Access { group, resource, verbs, reach, names });
        }
    }
    minimal
}

/// The RBAC rules of `accesses`: resources of a group with the same verbs share one.
pub fn rules(accesses: &[Access]) -> Vec<PolicyRule> {
    let mut rules: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for Access { group, resource, verbs, names, .. } in merged(accesses) {
        rules.entry((group, names, verbs)).or_default().insert(resource.into_owned());
    }
    rules
        .into_iter()
        .map(|((group, names, verbs), resources)| PolicyRule {
            api_groups: Some(vec![group.into_owned()]),
            resources: Some(resources.into_iter().collect()),
            verbs: verbs.into_iter().map(|verb| verb.as_str().to_owned()).collect(),
            resource_names: (!names.is_empty()).then(|| names.into_iter().map(Cow::into_owned).collect()),
            non_resource_urls: None,
        })
        .collect()
}
