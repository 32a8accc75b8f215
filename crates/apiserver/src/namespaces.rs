//! The life of a namespace: active, then terminating until it is empty, then gone.
//!
//! Source: Kubernetes `pkg/registry/core/namespace` and `pkg/controller/namespace`.

use serde_json::{Value, json};

use crate::{ApiError, ObjectId, Store, meta};

/// What every cluster has.
pub(crate) const BOOTSTRAP: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

/// A new namespace: held by the namespace controller, labelled with its name, active.
pub(crate) fn prepare(namespace: &mut Value) {
    let name = meta::name(namespace).to_owned();
    if let Some(metadata) = meta::of_mut(namespace)
        && let Some(labels) = metadata.entry("labels").or_insert_with(|| json!({})).as_object_mut()
    {
        labels.insert("kubernetes.io/metadata.name".into(), json!(name));
    }
    if let Some(object) = namespace.as_object_mut() {
        let spec = object.entry("spec").or_insert_with(|| json!({}));
        if let Some(spec) = spec.as_object_mut() {
            spec.entry("finalizers").or_insert_with(|| json!(["kubernetes"]));
        }
        object.insert("status".into(), json!({"phase": "Active"}));
    }
}

/// What an update cannot change: who holds it, and the label with its name.
pub(crate) fn keep(new: &mut Value, old: &Value) {
    if let (Some(fields), Some(spec)) = (new.as_object_mut(), old.get("spec")) {
        fields.insert("spec".into(), spec.clone());
    }
    if let Some(metadata) = meta::of_mut(new)
        && let Some(labels) = metadata.entry("labels").or_insert_with(|| json!({})).as_object_mut()
    {
        labels.insert("kubernetes.io/metadata.name".into(), json!(meta::name(old)));
    }
}

/// The first request to delete it.
pub(crate) fn begin_deletion(namespace: &mut Value) {
    if let Some(object) = namespace.as_object_mut() {
        object.insert("status".into(), json!({"phase": "Terminating"}));
    }
}

/// Is something besides `metadata.finalizers` still holding it?
pub(crate) fn is_held(namespace: &Value) -> bool {
    namespace.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

/// Refuses a new object in a namespace that does not exist or is on its way out.
pub(crate) fn check_open(
    store: &Store,
    namespace: &str,
    group: &str,
    plural: &str,
    name: &str,
) -> Result<(), ApiError> {
    let Some(found) = store.get(&ObjectId::new("", "namespaces", "", namespace)) else {
        return Err(ApiError::not_found("", "namespaces", namespace));
    };
    if !meta::is_deleting(found.value()) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut error = ApiError::forbidden(group, plural, name, &why);
    error.details.causes = vec![crate::Cause::new(
        "NamespaceTerminating",
        "metadata.namespace",
        format!("namespace {namespace} is being terminated"),
    )];
    Err(error)
}
