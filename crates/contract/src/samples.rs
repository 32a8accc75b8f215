//! Small objects of the built-in kinds, as cases send them.

use serde_json::{Value, json};

pub(crate) fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A ConfigMap that is nothing but labels.
pub(crate) fn labelled(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}})
}

pub(crate) fn with_finalizers(name: &str, finalizers: &[&str]) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "finalizers": finalizers}})
}

pub(crate) fn secret(name: &str, string_data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": string_data})
}

pub(crate) fn service(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

/// No replicas: no controller of a real cluster has anything to do.
pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "example.test/main:1"}]},
            },
        },
    })
}

pub(crate) fn stateful_set(name: &str) -> Value {
    let mut body = deployment(name);
    if let Some(map) = body.as_object_mut() {
        map.insert("kind".to_owned(), json!("StatefulSet"));
    }
    if let Some(spec) = body.pointer_mut("/spec").and_then(Value::as_object_mut) {
        spec.insert("serviceName".to_owned(), json!(name));
    }
    body
}

pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "serviceAccountName": "pods",
            "automountServiceAccountToken": false,
            "schedulerName": "nobody",
            "containers": [{"name": "main", "image": "example.test/main:1"}],
        },
    })
}

/// Owned by `owner`, as an entry of metadata.ownerReferences.
pub(crate) fn owned_by(owner: &Value) -> Value {
    let text = |pointer: &str| owner.pointer(pointer).cloned().unwrap_or_default();
    json!({
        "apiVersion": text("/apiVersion"), "kind": text("/kind"),
        "name": text("/metadata/name"), "uid": text("/metadata/uid"),
    })
}

pub(crate) fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

pub(crate) fn role(name: &str, rules: Value) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules})
}

pub(crate) fn role_binding(name: &str, role_kind: &str, role: &str, user: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    })
}
