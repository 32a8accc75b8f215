//! Fields that an update may not change, as far as operators meet them.

use serde_json::{Value, json};

use crate::{Cause, Kind};

/// One field, and when it is fixed.
struct Fixed {
    group: &'static str,
    plural: &'static str,
    path: &'static str,
    when: When,
}

enum When {
    Always,
    /// Once it is set: the first value may still be given.
    OnceSet,
}

const fn fixed(group: &'static str, plural: &'static str, path: &'static str) -> Fixed {
    Fixed { group, plural, path, when: When::Always }
}

const fn once_set(group: &'static str, plural: &'static str, path: &'static str) -> Fixed {
    Fixed { group, plural, path, when: When::OnceSet }
}

/// Sources: `Validate*Update` of each kind.
const FIXED: &[Fixed] = &[
    fixed("apps", "deployments", "spec.selector"),
    fixed("apps", "replicasets", "spec.selector"),
    fixed("apps", "daemonsets", "spec.selector"),
    fixed("batch", "jobs", "spec.selector"),
    fixed("batch", "jobs", "spec.template"),
    fixed("batch", "jobs", "spec.completionMode"),
    once_set("", "services", "spec.clusterIP"),
    fixed("", "secrets", "type"),
    fixed("storage.k8s.io", "storageclasses", "provisioner"),
    fixed("storage.k8s.io", "storageclasses", "parameters"),
    fixed("storage.k8s.io", "storageclasses", "reclaimPolicy"),
    fixed("storage.k8s.io", "storageclasses", "volumeBindingMode"),
    fixed("rbac.authorization.k8s.io", "rolebindings", "roleRef"),
    fixed("rbac.authorization.k8s.io", "clusterrolebindings", "roleRef"),
    fixed("scheduling.k8s.io", "priorityclasses", "value"),
    fixed("apiextensions.k8s.io", "customresourcedefinitions", "spec.group"),
    fixed("apiextensions.k8s.io", "customresourcedefinitions", "spec.names.plural"),
    fixed("apiextensions.k8s.io", "customresourcedefinitions", "spec.names.kind"),
    fixed("apiextensions.k8s.io", "customresourcedefinitions", "spec.scope"),
];

/// Of a StatefulSet's spec, these may change and nothing else.
const STATEFULSET_MAY: &[&str] = &[
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

pub(super) fn validate(kind: &Kind, new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for rule in FIXED.iter().filter(|rule| rule.group == kind.group && rule.plural == kind.plural) {
        let at = |object: &Value| rule.path.split('.').try_fold(object, |value, key| value.get(key)).cloned();
        let (new, old) = (at(new), at(old));
        let set = old.as_ref().is_some_and(|value| !value.is_null() && *value != "");
        if new != old && (set || matches!(rule.when, When::Always)) {
            let shown = new.unwrap_or(Value::Null);
            let why = match rule.path {
                "roleRef" => "cannot change roleRef",
                _ => "field is immutable",
            };
            causes.push(Cause::new("FieldValueInvalid", rule.path, format!("Invalid value: {shown}: {why}")));
        }
    }
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("apps", "statefulsets") => causes.extend(statefulset(new, old)),
        ("", "persistentvolumeclaims") => causes.extend(claim(new, old)),
        ("", "secrets") => causes.extend(frozen(new, old, &["data"])),
        ("", "configmaps") => causes.extend(frozen(new, old, &["data", "binaryData"])),
        ("", "pods") => causes.extend(pod(new, old)),
        _ => {}
    }
    causes
}

/// The spec without some fields.
fn without(object: &Value, fields: &[&str]) -> Value {
    let mut spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
    if let Some(spec) = spec.as_object_mut() {
        spec.retain(|field, _| !fields.contains(&field.as_str()));
    }
    spec
}

fn statefulset(new: &Value, old: &Value) -> Option<Cause> {
    (without(new, STATEFULSET_MAY) != without(old, STATEFULSET_MAY)).then(|| {
        Cause::new(
            "FieldValueForbidden",
            "spec",
            "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
             'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )
    })
}

/// A claim's volume is given once; its size may grow, and its class of attributes may change.
fn claim(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let may = ["resources", "volumeAttributesClassName"];
    let bound = |object: &Value| object.pointer("/spec/volumeName").is_some_and(|name| *name != "");
    let fixed = |object: &Value| {
        if bound(old) {
            without(object, &may)
        } else {
            without(object, &["resources", "volumeAttributesClassName", "volumeName"])
        }
    };
    if fixed(new) != fixed(old) {
        causes.push(Cause::new(
            "FieldValueForbidden",
            "spec",
            "Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ));
    }
    causes
}

/// `immutable: true` is for ever, and so is the content.
fn frozen(new: &Value, old: &Value, content: &[&str]) -> Vec<Cause> {
    if old.get("immutable") != Some(&json!(true)) {
        return Vec::new();
    }
    let forbidden = |field: &str, why: &str| {
        Cause::new("FieldValueForbidden", field, format!("Forbidden: {why} when `immutable` is set"))
    };
    let mut causes = Vec::new();
    if new.get("immutable") != Some(&json!(true)) {
        causes.push(forbidden("immutable", "field is immutable"));
    }
    for field in content {
        if new.get(field) != old.get(field) {
            causes.push(forbidden(field, "field is immutable"));
        }
    }
    causes
}

/// Of a pod's spec only a few fields may change.
fn pod(new: &Value, old: &Value) -> Option<Cause> {
    const MAY: &[&str] =
        &["activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "nodeName"];
    let fixed = |object: &Value| {
        let mut spec = without(object, MAY);
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(container) = container.as_object_mut() {
                    container.remove("image");
                }
            }
        }
        spec
    };
    let node = |object: &Value| {
        object.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let moved = !node(old).is_empty() && node(new) != node(old);
    (moved || fixed(new) != fixed(old)).then(|| {
        Cause::new(
            "FieldValueForbidden",
            "spec",
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
             `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
             tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        )
    })
}
