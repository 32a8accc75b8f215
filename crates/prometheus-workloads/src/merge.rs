//! Containers of the user's, merged into the operator's by name: Kubernetes' strategic merge patch.
//!
//! Objects merge field by field, lists with a merge key element by element, other lists are replaced. What a patch leaves at its zero
//! value it leaves alone, since upstream's types cannot tell zero from absent; fields where they can are [`TOLD_APART`].

use k8s_openapi::api::core::v1::{Container, Probe};
use serde_json::{Map, Value};

#[derive(Debug, thiserror::Error)]
#[error("container {name:?} cannot be merged into the operator's container of that name: {source}")]
pub struct MergeError {
    name: String,
    source: serde_json::Error,
}

/// Lists that merge element by element, with the field that tells elements apart. Source: the `patchMergeKey` markers of core/v1.
const MERGE_KEYS: &[(&str, &str)] = &[
    ("env", "name"),
    ("ports", "containerPort"),
    ("volumeDevices", "devicePath"),
    ("volumeMounts", "mountPath"),
];

/// Fields whose zero value is not the same as absence: pointers in core/v1.
const TOLD_APART: &[&str] = &[
    "allowPrivilegeEscalation",
    "gmsaCredentialSpec",
    "gmsaCredentialSpecName",
    "hostProcess",
    "localhostProfile",
    "mountPropagation",
    "optional",
    "privileged",
    "procMount",
    "readOnlyRootFilesystem",
    "recursiveReadOnly",
    "restartPolicy",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "runAsUserName",
    "service",
    "stopSignal",
    "terminationGracePeriodSeconds",
];

/// `base` with each of `patches` merged into the container of its name; those without one follow, in their order.
pub fn merge_containers(base: Vec<Container>, patches: &[Container]) -> Result<Vec<Container>, MergeError> {
    // Of two patches with one name the later counts.
    let last = |name: &str| patches.iter().rfind(|patch| patch.name == name);
    let mut merged = Vec::with_capacity(base.len() + patches.len());
    for container in base {
        merged.push(match last(&container.name) {
            Some(patch) => merge(&container, patch)
                .map_err(|source| MergeError { name: container.name.clone(), source })?,
            None => container,
        });
    }
    let own = merged.len();
    for patch in patches {
        let known = merged.iter().take(own).any(|container| container.name == patch.name);
        if !known && let Some(patch) = last(&patch.name) {
            merged.push(patch.clone());
        }
    }
    Ok(merged)
}

fn merge(base: &Container, patch: &Container) -> serde_json::Result<Container> {
    let base = serde_json::to_value(base)?;
    let mut changes = serde_json::to_value(patch)?;
    drop_zeros(&mut changes);
    let mut merged: Container = serde_json::from_value(merge_values(base, changes))?;
    for (merged, patch) in [
        (&mut merged.startup_probe, &patch.startup_probe),
        (&mut merged.readiness_probe, &patch.readiness_probe),
        (&mut merged.liveness_probe, &patch.liveness_probe),
    ] {
        if let (Some(merged), Some(patch)) = (merged, patch) {
            keep_one_handler(merged, patch);
        }
    }
    Ok(merged)
}

/// A probe with two handlers is refused by Kubernetes: the user's counts.
fn keep_one_handler(merged: &mut Probe, patch: &Probe) {
    let handlers = [
        merged.exec.is_some(),
        merged.grpc.is_some(),
        merged.http_get.is_some(),
        merged.tcp_socket.is_some(),
    ];
    if handlers.iter().filter(|set| **set).count() > 1 {
        merged.exec.clone_from(&patch.exec);
        merged.grpc.clone_from(&patch.grpc);
        merged.http_get.clone_from(&patch.http_get);
        merged.tcp_socket.clone_from(&patch.tcp_socket);
    }
}

fn merge_values(base: Value, patch: Value) -> Value {
    match (base, patch) {
        (Value::Object(base), Value::Object(patch)) => Value::Object(merge_maps(base, patch)),
        (_, patch) => patch,
    }
}

fn merge_maps(mut base: Map<String, Value>, patch: Map<String, Value>) -> Map<String, Value> {
    for (field, change) in patch {
        let merged = match (base.remove(&field), merge_key(&field), change) {
            (Some(Value::Array(base)), Some(key), Value::Array(change)) => {
                Value::Array(merge_lists(base, change, key))
            }
            (Some(base), _, change) => merge_values(base, change),
            (None, _, change) => change,
        };
        base.insert(field, merged);
    }
    base
}

/// The order is Kubernetes': the patch's elements in their order, each of the others before the first of them that it preceded.
fn merge_lists(base: Vec<Value>, patch: Vec<Value>, key: &str) -> Vec<Value> {
    let order: Vec<Value> = base.iter().map(|element| key_of(element, key).clone()).collect();
    let place = |element: &Value| order.iter().position(|known| known == key_of(element, key));
    let mut others = base;
    let mut patched: Vec<Value> = Vec::with_capacity(patch.len());
    for change in patch {
        let same = |element: &Value| key_of(element, key) == key_of(&change, key);
        if let Some(at) = patched.iter().position(same) {
            let before = patched.remove(at);
            patched.insert(at, merge_values(before, change));
        } else if others.iter().any(same) {
            // Ports may repeat a number for another protocol: the first is changed, the others stay with it.
            let mut found = others.extract_if(.., |element| same(element)).collect::<Vec<_>>().into_iter();
            patched.extend(found.next().map(|first| merge_values(first, change)));
            patched.extend(found);
        } else {
            patched.push(change);
        }
    }
    let mut merged = Vec::with_capacity(patched.len() + others.len());
    let mut others = others.into_iter().peekable();
    for element in patched {
        while let Some(other) =
            others.next_if(|other| place(&element).is_some_and(|at| place(other) < Some(at)))
        {
            merged.push(other);
        }
        merged.push(element);
    }
    merged.extend(others);
    merged
}

fn key_of<'a>(element: &'a Value, key: &str) -> &'a Value {
    element.get(key).unwrap_or(&Value::Null)
}

fn merge_key(field: &str) -> Option<&'static str> {
    MERGE_KEYS.iter().find(|(list, _)| *list == field).map(|(_, key)| *key)
}

fn drop_zeros(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|field, value| {
                // An object says that something is there (`exec: {}`), even if nothing about it.
                let zero = match value {
                    Value::Null => true,
                    Value::Bool(value) => !*value,
                    Value::Number(number) => number.as_i64() == Some(0),
                    Value::String(text) => text.is_empty(),
                    Value::Array(list) => list.is_empty(),
                    Value::Object(_) => false,
                };
                !zero || TOLD_APART.contains(&field.as_str())
            });
            map.values_mut().for_each(drop_zeros);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_zeros),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(base: Value, patch: Value) -> Value {
        let [base, patch] =
            [base, patch].map(|container| serde_json::from_value::<Container>(container).unwrap());
        serde_json::to_value(merge_containers(vec![base], &[patch]).unwrap().remove(0)).unwrap()
    }

    #[test]
    fn new_elements_come_before_those_they_do_not_know() {
        let env = |names: &[&str]| json!({"name": "c", "env": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()});
        assert_eq!(merged(env(&["a", "b", "c"]), env(&["x"])), env(&["x", "a", "b", "c"]));
        assert_eq!(merged(env(&["a", "b", "c"]), env(&["b", "x"])), env(&["a", "b", "x", "c"]));
        assert_eq!(merged(env(&["a", "b", "c"]), env(&["c", "a"])), env(&["b", "c", "a"]));
    }

    #[test]
    fn zero_leaves_alone_what_is_there() {
        let base = json!({"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": true}],
            "securityContext": {"readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}});
        let patch = json!({"name": "c", "image": "", "args": [], "volumeMounts": [{"name": "w", "mountPath": "/v", "readOnly": false}],
            "securityContext": {"readOnlyRootFilesystem": false, "capabilities": {"add": ["X"]}}});
        let expected = json!({"name": "c", "image": "i", "volumeMounts": [{"name": "w", "mountPath": "/v", "readOnly": true}],
            "securityContext": {"readOnlyRootFilesystem": false, "capabilities": {"drop": ["ALL"], "add": ["X"]}}});
        assert_eq!(merged(base, patch), expected);
    }

    #[test]
    fn lists_without_key_are_replaced() {
        let args = |args: &[&str]| json!({"name": "c", "args": args});
        assert_eq!(merged(args(&["a"]), args(&["b"])), args(&["b"]));
    }

    #[test]
    fn of_two_patches_with_one_name_the_later_counts() {
        let container = |image: &str| Container {
            name: "c".to_owned(),
            image: Some(image.to_owned()),
            ..Default::default()
        };
        let merged = merge_containers(vec![container("base")], &[container("a"), container("b")]).unwrap();
        assert_eq!(merged, [container("b")]);
    }
}
