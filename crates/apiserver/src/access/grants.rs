//! Nobody gives away more than they have: creating or changing roles and bindings.
//!
//! Source: "Privilege escalation prevention and bootstrapping" in Kubernetes' RBAC documentation.

use serde_json::Value;

use super::{
    Attributes, User, is_allowed,
    rules::{Rule, parse_rules, rules_of, rules_of_role},
};
use crate::{ApiError, Store, kinds::Kind};

/// Refuses a write of a role or binding that grants what `user` does not have. `old` is what is stored now.
pub(crate) fn check(
    store: &Store,
    user: &User,
    kind: &Kind,
    old: Option<&Value>,
    new: &Value,
) -> Result<(), ApiError> {
    if kind.group != "rbac.authorization.k8s.io"
        || user.is_admin()
        || old.is_some_and(|old| only_for_collection(old, new))
    {
        return Ok(());
    }
    let field = |path: &str| new.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name) = (field("/metadata/namespace"), field("/metadata/name"));
    let (granted, verb, resource, named) = match kind.kind.as_str() {
        "Role" | "ClusterRole" => (parse_rules(new), "escalate", kind.plural.as_str(), name),
        "RoleBinding" | "ClusterRoleBinding" => {
            let resource = if field("/roleRef/kind") == "Role" { "roles" } else { "clusterroles" };
            (rules_of_role(store, new.get("roleRef"), namespace), "bind", resource, field("/roleRef/name"))
        }
        _ => return Ok(()),
    };
    let exempt = Attributes::Resource {
        verb: verb.into(),
        group: kind.group.clone(),
        resource: resource.into(),
        namespace: namespace.into(),
        name: named.into(),
    };
    if is_allowed(store, user, &exempt) {
        return Ok(());
    }
    let own = rules_of(store, user, namespace);
    let missing: Vec<Rule> = granted
        .iter()
        .flat_map(Rule::atoms)
        .filter(|atom| !own.iter().any(|rule| rule.covers(atom)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let told: Vec<String> = missing.iter().map(tell).collect();
    let why = format!(
        "user \"{}\" (groups={:?}) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        user.groups,
        told.join("\n")
    );
    Err(ApiError::forbidden(&kind.group, &kind.plural, name, &why))
}

/// Whether a change is one that lets the garbage collector do its work, and nothing else. Everything else is checked again,
/// a label too: who may write a role may hand out its rights.
fn only_for_collection(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["ownerReferences", "finalizers", "managedFields", "resourceVersion"] {
                metadata.remove(field);
            }
        }
        object
    };
    rest(old) == rest(new)
}

fn tell(rule: &Rule) -> String {
    let Rule { verbs, groups, resources, names, paths } = rule;
    let mut parts = Vec::new();
    if !paths.is_empty() {
        parts.push(format!("NonResourceURLs:{paths:?}"));
    }
    if !groups.is_empty() {
        parts.push(format!("APIGroups:{groups:?}, Resources:{resources:?}"));
    }
    if !names.is_empty() {
        parts.push(format!("ResourceNames:{names:?}"));
    }
    parts.push(format!("Verbs:{verbs:?}"));
    format!("{{{}}}", parts.join(", "))
}
