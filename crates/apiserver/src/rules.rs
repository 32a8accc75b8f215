//! What single kinds do differently from all others, as tables and small functions.

mod immutable;
mod secrets;
mod services;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::{
    ApiError, Cause, Kind,
    clock::rfc3339,
    cluster::Cluster,
    crd::{self, life},
    kinds::validate_builtin,
    meta, namespaces,
};

/// What becomes of the objects that a deleted one owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependents {
    Background,
    Foreground,
    Orphan,
}

fn is(kind: &Kind, group: &str, plural: &str) -> bool {
    kind.group == group && kind.plural == plural
}

fn listed(kind: &Kind, table: &[(&str, &str)]) -> bool {
    table.iter().any(|(group, plural)| is(kind, group, plural))
}

/// PUT creates what does not exist. Source: `AllowCreateOnUpdate` of each strategy.
pub(crate) fn creates_on_update(kind: &Kind) -> bool {
    const RBAC: &str = "rbac.authorization.k8s.io";
    listed(
        kind,
        &[
            (RBAC, "roles"),
            (RBAC, "rolebindings"),
            (RBAC, "clusterroles"),
            (RBAC, "clusterrolebindings"),
            ("coordination.k8s.io", "leases"),
            ("", "limitranges"),
            ("", "events"),
            ("events.k8s.io", "events"),
            ("", "services"),
            ("", "endpoints"),
        ],
    )
}

/// PUT without a `resourceVersion` overwrites. Source: `AllowUnconditionalUpdate` of each strategy.
pub(crate) fn updates_unconditionally(kind: &Kind) -> bool {
    !kind.custom
        && !listed(
            kind,
            &[
                ("coordination.k8s.io", "leases"),
                ("policy", "poddisruptionbudgets"),
                ("apiextensions.k8s.io", "customresourcedefinitions"),
                ("apiregistration.k8s.io", "apiservices"),
                ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
                ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
                ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
                ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
                ("storage.k8s.io", "csidrivers"),
                ("storage.k8s.io", "csinodes"),
                ("storage.k8s.io", "volumeattachments"),
            ],
        )
}

/// DELETE answers with the object, not with a Status. Source: `ReturnDeletedObject` of each storage.
pub(crate) fn returns_deleted(kind: &Kind) -> bool {
    listed(
        kind,
        &[
            ("", "namespaces"),
            ("", "persistentvolumeclaims"),
            ("", "persistentvolumes"),
            ("", "pods"),
            ("", "podtemplates"),
            ("", "resourcequotas"),
            ("", "serviceaccounts"),
            ("", "services"),
            ("storage.k8s.io", "csidrivers"),
            ("storage.k8s.io", "csinodes"),
            ("storage.k8s.io", "storageclasses"),
            ("storage.k8s.io", "volumeattachments"),
        ],
    )
}

/// What happens to dependents when the client does not say; `None` where there is no garbage collection at all.
pub(crate) fn dependents(kind: &Kind) -> Option<Dependents> {
    if listed(kind, &[("", "events"), ("events.k8s.io", "events")]) {
        None
    } else if listed(kind, &[("batch", "jobs"), ("", "replicationcontrollers")]) {
        // Kept from before there was garbage collection.
        Some(Dependents::Orphan)
    } else {
        Some(Dependents::Background)
    }
}

/// The seconds that a pod gets to stop; `None` where nothing is to be waited for.
pub(crate) fn graceful(kind: &Kind, object: &Value, asked: Option<i64>) -> Option<i64> {
    if !is(kind, "", "pods") {
        return None;
    }
    let asked = asked.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let own = object.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    let node = object.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default();
    let phase = object.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
    // Nobody runs it, or it has run.
    if node.is_empty() || matches!(phase, "Succeeded" | "Failed") {
        return Some(0);
    }
    Some(asked.or(own).unwrap_or(30))
}

/// Marks the deletion of what goes only when its content has gone, however few its finalizers are: namespaces and definitions.
pub(crate) fn stays_for_its_content(cluster: &Cluster, kind: &Kind, object: &mut Value) -> bool {
    if is(kind, "", "namespaces") && namespaces::is_held(object) {
        namespaces::begin_deletion(object);
        return true;
    }
    if is(kind, crd::GROUP, crd::PLURAL) && !meta::is_deleting(object) {
        life::begin_deletion(object, &rfc3339(cluster.clock.now()));
        return true;
    }
    false
}

pub(crate) fn may_delete(kind: &Kind, object: &Value) -> Result<(), ApiError> {
    const ETERNAL: &[&str] = &["default", "kube-system", "kube-public"];
    let name = meta::name(object);
    if is(kind, "", "namespaces") && ETERNAL.contains(&name) {
        return Err(ApiError::forbidden("", "namespaces", name, "this namespace may not be deleted"));
    }
    Ok(())
}

/// New objects need a namespace that exists and stays.
pub(crate) fn namespace_takes(
    cluster: &Cluster,
    kind: &Kind,
    namespace: &str,
    name: &str,
) -> Result<(), ApiError> {
    if kind.namespaced {
        namespaces::check_open(&cluster.store, namespace, &kind.group, &kind.plural, name)?;
    }
    Ok(())
}

/// What is turned into another field before anything looks at it.
pub(crate) fn decode(kind: &Kind, object: &mut Value) {
    if is(kind, "", "secrets") {
        secrets::merge_string_data(object);
    }
}

/// The status of a new object is the server's.
pub(crate) fn reset_status(kind: &Kind, object: &mut Value) {
    if !kind.status {
        return;
    }
    let Some(fields) = object.as_object_mut() else { return };
    fields.remove("status");
    let phase = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => json!({"phase": "Pending", "qosClass": "BestEffort"}),
        ("", "namespaces") => json!({"phase": "Active"}),
        ("", "persistentvolumeclaims" | "persistentvolumes") => json!({"phase": "Pending"}),
        ("", "services") => json!({"loadBalancer": {}}),
        _ if kind.custom => return,
        _ => json!({}),
    };
    fields.insert("status".into(), phase);
}

/// What the server fills in by itself when it creates.
pub(crate) fn prepare_create(cluster: &Cluster, kind: &Kind, object: &mut Value) -> Result<(), ApiError> {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") => namespaces::prepare(object),
        ("", "services") => services::allocate(cluster, object)?,
        (crd::GROUP, crd::PLURAL) => {
            life::prepare(object);
            life::keep_stored_versions(object);
        }
        _ => {}
    }
    Ok(())
}

/// What an update keeps although the client left it out.
pub(crate) fn prepare_update(kind: &Kind, new: &mut Value, old: &Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "services") => services::keep_addresses(new, old),
        ("", "namespaces") => namespaces::keep(new, old),
        (crd::GROUP, crd::PLURAL) => {
            life::prepare(new);
            life::keep_stored_versions(new);
        }
        _ => {}
    }
}

/// What makes a new generation besides the spec.
pub(crate) fn also_counts(kind: &Kind, new: &Value, old: &Value) -> bool {
    is(kind, "apps", "deployments") && meta::of(new).get("annotations") != meta::of(old).get("annotations")
}

pub(crate) fn validate_create(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = validate_builtin(kind, object, None);
    if is(kind, "", "secrets") {
        causes.extend(secrets::validate(object));
    }
    causes
}

pub(crate) fn validate_update(kind: &Kind, new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = immutable::validate(kind, new, old);
    causes.extend(validate_builtin(kind, new, Some(old)));
    if is(kind, "", "secrets") {
        causes.extend(secrets::validate(new));
    }
    causes
}
