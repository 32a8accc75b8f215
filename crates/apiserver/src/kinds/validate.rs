//! What single built-in kinds check beyond their schema, as far as operators meet it.

mod definition;
mod names;
mod network;
mod workloads;

use serde_json::Value;

use super::Kind;
use crate::Cause;
use crate::schema::{Path, invalid, not_supported, required, too_long};

/// The new object, and the old one if it is an update.
type Check = fn(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>);

const CHECKS: &[(&str, &str, Check)] = &[
    ("", "ConfigMap", config_map),
    ("", "Event", core_event),
    ("", "PersistentVolumeClaim", workloads::claim),
    ("", "Pod", workloads::pod),
    ("", "Secret", secret),
    ("", "Service", network::service),
    ("apiextensions.k8s.io", "CustomResourceDefinition", definition::definition),
    ("apps", "DaemonSet", workloads::workload),
    ("apps", "Deployment", workloads::workload),
    ("apps", "ReplicaSet", workloads::workload),
    ("apps", "StatefulSet", workloads::stateful_set),
    ("autoscaling", "HorizontalPodAutoscaler", workloads::autoscaler),
    ("batch", "CronJob", workloads::cron_job),
    ("batch", "Job", workloads::job),
    ("coordination.k8s.io", "Lease", lease),
    ("events.k8s.io", "Event", new_event),
    ("networking.k8s.io", "Ingress", network::ingress),
    ("policy", "PodDisruptionBudget", workloads::disruption_budget),
    ("rbac.authorization.k8s.io", "ClusterRole", role),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", binding),
    ("rbac.authorization.k8s.io", "Role", role),
    ("rbac.authorization.k8s.io", "RoleBinding", binding),
];

/// A ConfigMap and a Secret hold at most this much, in bytes.
const MAX_DATA: usize = 1024 * 1024;

/// What is wrong with an object of a built-in kind besides its shape.
pub(crate) fn validate_builtin(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let checks =
        CHECKS.iter().filter(|(group, name, _)| *group == kind.group && *name == kind.kind && !kind.custom);
    checks.for_each(|(_, _, check)| check(new, old, &mut causes));
    causes
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn entries<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    value.get(field).and_then(Value::as_object).into_iter().flatten()
}

/// An event lives in the namespace of what it is about; one about something outside of namespaces lives in `default`.
fn event(new: &Value, about: &str, causes: &mut Vec<Cause>) {
    let home = text(new, "/metadata/namespace");
    let namespace = text(new, &format!("/{about}/namespace"));
    let wanted = if namespace.is_empty() { "default" } else { namespace };
    if home != wanted && !(namespace.is_empty() && home.is_empty()) {
        let at = Path::Root.field(about);
        causes.push(invalid(
            at.field("namespace"),
            &Value::from(namespace),
            "does not match event.namespace",
        ));
    }
}

fn core_event(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    event(new, "involvedObject", causes);
}

fn new_event(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    event(new, "regarding", causes);
}

fn config_map(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let root = Path::Root;
    for field in ["data", "binaryData"] {
        let at = root.field(field);
        for (key, _) in entries(new, field) {
            causes.extend(
                names::config_key(key).map(|why| invalid(at.key(key), &Value::from(key.as_str()), why)),
            );
            if field == "data" && new.pointer("/binaryData").and_then(|b| b.get(key)).is_some() {
                causes.push(invalid(
                    at.key(key),
                    &Value::from(key.as_str()),
                    "duplicate of key present in binaryData",
                ));
            }
        }
    }
    let size = |field| entries(new, field).map(|(_, v)| v.as_str().map_or(0, str::len)).sum::<usize>();
    if size("data") + size("binaryData") / 4 * 3 > MAX_DATA {
        causes.push(too_long("", MAX_DATA as u64));
    }
}

fn secret(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let size: usize = entries(new, "data").map(|(_, v)| v.as_str().map_or(0, str::len) / 4 * 3).sum();
    if size > MAX_DATA {
        causes.push(too_long("data", MAX_DATA as u64));
    }
}

fn lease(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let number = |pointer| new.pointer(pointer).filter(|v| v.is_number());
    if let Some(seconds) = number("/spec/leaseDurationSeconds").filter(|v| v.as_i64().is_some_and(|s| s <= 0))
    {
        causes.push(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
    }
    if let Some(count) = number("/spec/leaseTransitions").filter(|v| v.as_i64().is_some_and(|s| s < 0)) {
        causes.push(invalid("spec.leaseTransitions", count, "must be greater than or equal to 0"));
    }
}

fn role(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let root = Path::Root;
    let rules = root.field("rules");
    for (i, rule) in list(new, "/rules").iter().enumerate() {
        let at = rules.index(i);
        if list(rule, "/verbs").is_empty() {
            causes.push(required(at.field("verbs"), "verbs must contain at least one value"));
        }
        if !list(rule, "/nonResourceURLs").is_empty() {
            if !text(new, "/metadata/namespace").is_empty() {
                let why = "namespaced rules cannot apply to non-resource URLs";
                causes.push(invalid(
                    at.field("nonResourceURLs"),
                    rule.get("nonResourceURLs").unwrap_or(&Value::Null),
                    why,
                ));
            }
            continue;
        }
        if list(rule, "/apiGroups").is_empty() {
            causes.push(required(at.field("apiGroups"), "resource rules must supply at least one api group"));
        }
        if list(rule, "/resources").is_empty() {
            causes.push(required(at.field("resources"), "resource rules must supply at least one resource"));
        }
    }
}

fn binding(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let kind = text(new, "/roleRef/kind");
    let supported = if text(new, "/metadata/namespace").is_empty() {
        vec!["ClusterRole"]
    } else {
        vec!["Role", "ClusterRole"]
    };
    if !supported.contains(&kind) && !kind.is_empty() {
        let supported: Vec<Value> = supported.into_iter().map(Value::from).collect();
        causes.push(not_supported("roleRef.kind", &Value::from(kind), &supported));
    }
    let root = Path::Root;
    let subjects = root.field("subjects");
    for (i, subject) in list(new, "/subjects").iter().enumerate() {
        let at = subjects.index(i);
        match text(subject, "/kind") {
            "ServiceAccount" if text(subject, "/namespace").is_empty() => {
                causes.push(required(at.field("namespace"), ""));
            }
            "ServiceAccount" if !text(subject, "/apiGroup").is_empty() => {
                causes.push(not_supported(
                    at.field("apiGroup"),
                    &Value::from(text(subject, "/apiGroup")),
                    &[Value::from("")],
                ));
            }
            "ServiceAccount" | "User" | "Group" => {}
            other => {
                let supported = ["ServiceAccount", "User", "Group"].map(Value::from);
                causes.push(not_supported(at.field("kind"), &Value::from(other), &supported));
            }
        }
    }
}
