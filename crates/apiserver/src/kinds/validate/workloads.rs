//! Pods and what makes them: names, selectors, amounts.

use serde_json::{Value, json};

use super::names::dns_label;
use super::{list, text};
use crate::Cause;
use crate::schema::{Path, duplicate, forbidden, invalid, not_supported, required};

pub(super) fn pod(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let root = Path::Root;
    pod_spec(new.get("spec").unwrap_or(&Value::Null), root.field("spec"), causes);
}

fn pod_spec(spec: &Value, path: Path, causes: &mut Vec<Cause>) {
    let at_volumes = path.field("volumes");
    let volumes: Vec<&str> = list(spec, "/volumes").iter().map(|v| text(v, "/name")).collect();
    named(list(spec, "/volumes"), at_volumes, causes);
    for (i, volume) in list(spec, "/volumes").iter().enumerate() {
        if volume.as_object().is_some_and(|fields| fields.len() > 2) {
            let why = "may not specify more than 1 volume type";
            causes.push(forbidden(at_volumes.index(i), why));
        }
    }
    let at_containers = path.field("containers");
    if spec.get("containers").is_some_and(|list| list.as_array().is_some_and(Vec::is_empty)) {
        causes.push(required(at_containers, ""));
    }
    let mut all = Vec::new();
    for field in ["initContainers", "containers"] {
        let at = path.field(field);
        let containers = spec.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        named(containers, at, causes);
        for (i, container) in containers.iter().enumerate() {
            if field == "containers" && all.contains(&text(container, "/name")) {
                causes.push(duplicate(at.index(i).field("name"), &json!(text(container, "/name"))));
            }
            self::container(container, &volumes, at.index(i), causes);
        }
        all.extend(containers.iter().map(|c| text(c, "/name")));
    }
    one_of(spec, "restartPolicy", &["Always", "OnFailure", "Never"], path, causes);
    one_of(spec, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], path, causes);
    if let Some(seconds) =
        spec.get("terminationGracePeriodSeconds").filter(|v| v.as_i64().is_some_and(|s| s < 0))
    {
        let why = "must be greater than or equal to 0";
        causes.push(invalid(path.field("terminationGracePeriodSeconds"), seconds, why));
    }
}

fn container(container: &Value, volumes: &[&str], path: Path, causes: &mut Vec<Cause>) {
    let image = text(container, "/image");
    if image.is_empty() {
        causes.push(required(path.field("image"), ""));
    } else if image.trim() != image {
        let why = "must not have leading or trailing whitespace";
        causes.push(invalid(path.field("image"), &json!(image), why));
    }
    one_of(container, "imagePullPolicy", &["Always", "IfNotPresent", "Never"], path, causes);
    let at_ports = path.field("ports");
    for (i, port) in list(container, "/ports").iter().enumerate() {
        let at = at_ports.index(i);
        port_number(port.get("containerPort"), at.field("containerPort"), causes);
        one_of(port, "protocol", &["SCTP", "TCP", "UDP"], at, causes);
        let name = text(port, "/name");
        let why = (!name.is_empty()).then(|| super::names::port_name(name)).flatten();
        causes.extend(why.map(|why| invalid(at.field("name"), &json!(name), why)));
        if !name.is_empty() && list(container, "/ports").iter().take(i).any(|p| text(p, "/name") == name) {
            causes.push(duplicate(at.field("name"), &json!(name)));
        }
    }
    let at_mounts = path.field("volumeMounts");
    for (i, mount) in list(container, "/volumeMounts").iter().enumerate() {
        let at = at_mounts.index(i);
        let name = text(mount, "/name");
        if !name.is_empty() && !volumes.contains(&name) {
            causes.push(Cause::new(
                "FieldValueNotFound",
                at.field("name").to_string(),
                format!("Not found: {name:?}"),
            ));
        }
        let mount_path = text(mount, "/mountPath");
        if list(container, "/volumeMounts").iter().take(i).any(|m| text(m, "/mountPath") == mount_path) {
            causes.push(invalid(at.field("mountPath"), &json!(mount_path), "must be unique"));
        }
    }
    requests_within_limits(container, path, causes);
}

fn requests_within_limits(container: &Value, path: Path, causes: &mut Vec<Cause>) {
    let (at_resources, resources) =
        (path.field("resources"), container.get("resources").unwrap_or(&Value::Null));
    let at = at_resources.field("requests");
    for (name, request) in super::entries(resources, "requests") {
        let limit = resources.get("limits").and_then(|limits| limits.get(name));
        let amount = |value: &Value| crate::kinds::quantity::nanos(value.as_str()?);
        if let (Some(request_amount), Some(limit_amount)) = (amount(request), limit.and_then(amount))
            && request_amount > limit_amount
        {
            let limit = limit.and_then(Value::as_str).unwrap_or_default();
            let why = format!("must be less than or equal to {name} limit of {limit}");
            causes.push(invalid(at, request, why));
        }
    }
}

/// Names that are there, well formed and unique.
fn named(items: &[Value], path: Path, causes: &mut Vec<Cause>) {
    for (i, item) in items.iter().enumerate() {
        let (at, name) = (path.index(i), text(item, "/name"));
        if name.is_empty() {
            if item.get("name").is_some() {
                causes.push(required(at.field("name"), ""));
            }
            continue;
        }
        causes.extend(dns_label(name).map(|why| invalid(at.field("name"), &json!(name), why)));
        if items.iter().take(i).any(|earlier| text(earlier, "/name") == name) {
            causes.push(duplicate(at.field("name"), &json!(name)));
        }
    }
}

fn one_of(object: &Value, field: &str, supported: &[&str], path: Path, causes: &mut Vec<Cause>) {
    if let Some(value) = object.get(field)
        && !supported.iter().any(|s| value == s)
    {
        let supported: Vec<Value> = supported.iter().map(|s| Value::from(*s)).collect();
        causes.push(not_supported(path.field(field), value, &supported));
    }
}

pub(super) fn port_number(port: Option<&Value>, path: Path, causes: &mut Vec<Cause>) {
    if let Some(port) = port
        && !port.as_i64().is_some_and(|p| (1..=65535).contains(&p))
    {
        causes.push(invalid(path, port, "must be between 1 and 65535, inclusive"));
    }
}

/// Deployment, ReplicaSet, DaemonSet, StatefulSet: the selector selects the template.
pub(super) fn workload(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let root = Path::Root;
    let at_spec = root.field("spec");
    let spec = new.get("spec").unwrap_or(&Value::Null);
    if let Some(replicas) = spec.get("replicas").filter(|r| r.as_i64().is_some_and(|r| r < 0)) {
        causes.push(invalid(at_spec.field("replicas"), replicas, "must be greater than or equal to 0"));
    }
    if let Some(seconds) = spec.get("minReadySeconds").filter(|r| r.as_i64().is_some_and(|r| r < 0)) {
        causes.push(invalid(at_spec.field("minReadySeconds"), seconds, "must be greater than or equal to 0"));
    }
    let at_template = at_spec.field("template");
    if let Some(selector) = spec.get("selector") {
        if selector.as_object().is_none_or(serde_json::Map::is_empty) {
            let why = "empty selector is invalid for deployment";
            causes.push(invalid(at_spec.field("selector"), selector, why));
        } else {
            let labels = spec.pointer("/template/metadata/labels").cloned().unwrap_or_else(|| json!({}));
            if !selects(selector, &labels) {
                let at = at_template.field("metadata");
                causes.push(invalid(
                    at.field("labels"),
                    &labels,
                    "`selector` does not match template `labels`",
                ));
            }
        }
    }
    if let Some(template) = spec.get("template") {
        pod_spec(template.get("spec").unwrap_or(&Value::Null), at_template.field("spec"), causes);
        if let Some(policy) = template.pointer("/spec/restartPolicy").filter(|p| *p != "Always") {
            let at = at_template.field("spec");
            causes.push(not_supported(at.field("restartPolicy"), policy, &[json!("Always")]));
        }
    }
}

pub(super) fn stateful_set(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let root = Path::Root;
    let at = root.field("spec");
    let spec = new.get("spec").unwrap_or(&Value::Null);
    one_of(spec, "podManagementPolicy", &["OrderedReady", "Parallel"], at, causes);
    // The volumes that claims provide may be mounted.
    let mut completed = new.clone();
    if let Some(template) = completed.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut) {
        let volumes = template.entry("volumes").or_insert_with(|| json!([]));
        for claim in list(spec, "/volumeClaimTemplates") {
            let name = text(claim, "/metadata/name");
            let taken = volumes.as_array().is_some_and(|v| v.iter().any(|v| text(v, "/name") == name));
            if let (false, Some(volumes)) = (taken, volumes.as_array_mut()) {
                volumes.push(json!({"name": name}));
            }
        }
    }
    workload(&completed, old, causes);
}

fn selects(selector: &Value, labels: &Value) -> bool {
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let equal = super::entries(selector, "matchLabels").all(|(key, value)| label(key) == value.as_str());
    let expressions = list(selector, "/matchExpressions").iter().all(|expression| {
        let value = label(text(expression, "/key"));
        let listed = value.is_some_and(|value| list(expression, "/values").iter().any(|v| v == value));
        match text(expression, "/operator") {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    });
    equal && expressions
}

pub(super) fn job(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let root = Path::Root;
    job_spec(new.get("spec").unwrap_or(&Value::Null), root.field("spec"), causes);
}

fn job_spec(spec: &Value, path: Path, causes: &mut Vec<Cause>) {
    for field in
        ["parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"]
    {
        if let Some(value) = spec.get(field).filter(|v| v.as_i64().is_some_and(|v| v < 0)) {
            causes.push(invalid(path.field(field), value, "must be greater than or equal to 0"));
        }
    }
    let at = path.field("template");
    let at = at.field("spec");
    let pod = spec.pointer("/template/spec").unwrap_or(&Value::Null);
    pod_spec(pod, at, causes);
    one_of(pod, "restartPolicy", &["OnFailure", "Never"], at, causes);
}

pub(super) fn cron_job(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let root = Path::Root;
    let at = root.field("spec");
    let spec = new.get("spec").unwrap_or(&Value::Null);
    let schedule = text(spec, "/schedule");
    let fields = schedule.split_whitespace().count();
    if spec.get("schedule").is_some() && !schedule.starts_with('@') && fields != 5 {
        let why = format!("expected exactly 5 fields, found {fields}: [{schedule}]");
        causes.push(invalid(at.field("schedule"), &json!(schedule), why));
    }
    one_of(spec, "concurrencyPolicy", &["Allow", "Forbid", "Replace"], at, causes);
    let at = at.field("jobTemplate");
    job_spec(spec.pointer("/jobTemplate/spec").unwrap_or(&Value::Null), at.field("spec"), causes);
}

pub(super) fn claim(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let root = Path::Root;
    let at = root.field("spec");
    let spec = new.get("spec").unwrap_or(&Value::Null);
    if list(spec, "/accessModes").is_empty() {
        causes.push(required(at.field("accessModes"), "at least 1 access mode is required"));
    }
    let modes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"].map(Value::from);
    for mode in list(spec, "/accessModes") {
        if !modes.contains(mode) {
            causes.push(not_supported(at.field("accessModes"), mode, &modes));
        }
    }
    let size = |object: &Value| {
        let storage = object.pointer("/spec/resources/requests/storage")?;
        crate::kinds::quantity::nanos(storage.as_str()?)
    };
    let at_resources = at.field("resources");
    match (size(new), old.and_then(size)) {
        (None, _) => causes.push(required(at_resources.key("storage"), "")),
        (Some(n), _) if n <= 0 => {
            let at = at_resources.field("requests");
            causes.push(invalid(
                at.key("storage"),
                &json!(text(spec, "/resources/requests/storage")),
                "must be greater than zero",
            ));
        }
        (Some(new), Some(old)) if new < old => {
            let at = at_resources.field("requests");
            let why = "field can not be less than status.capacity";
            causes.push(forbidden(at.field("storage"), why));
        }
        _ => {}
    }
    one_of(spec, "volumeMode", &["Block", "Filesystem"], at, causes);
}

pub(super) fn disruption_budget(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = new.get("spec").unwrap_or(&Value::Null);
    if spec.get("minAvailable").is_some() && spec.get("maxUnavailable").is_some() {
        causes.push(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        if let Some(Value::String(share)) = spec.get(field)
            && !share.strip_suffix('%').is_some_and(|n| n.parse::<u8>().is_ok_and(|n| n <= 100))
        {
            let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
            causes.push(invalid(format_args!("spec.{field}"), &json!(share), why));
        }
    }
}

pub(super) fn autoscaler(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let spec = new.get("spec").unwrap_or(&Value::Null);
    let number = |field: &str| spec.get(field).and_then(Value::as_i64);
    let (min, max) = (number("minReplicas"), number("maxReplicas"));
    if let Some(min) = min.filter(|min| *min < 1) {
        causes.push(invalid("spec.minReplicas", &json!(min), "must be greater than or equal to 1"));
    }
    if let Some(max) = max.filter(|max| *max < 1) {
        causes.push(invalid("spec.maxReplicas", &json!(max), "must be greater than 0"));
    }
    if let (Some(min), Some(max)) = (min, max)
        && max < min
    {
        causes.push(invalid(
            "spec.maxReplicas",
            &json!(max),
            "must be greater than or equal to `minReplicas`",
        ));
    }
}
