//! Services: cluster addresses, given once and kept.

use serde_json::{Value, json};

use crate::{ApiError, Scope, cluster::Cluster};

/// The address range of the cluster: 10.96.0.0/16, `.0` and `.1` of the first block being the network's and Kubernetes' own.
fn address(number: u32) -> String {
    format!("10.96.{}.{}", (number / 250) % 256, 2 + number % 250)
}

/// Gives a service its address, unless it is headless or a name only.
pub(super) fn allocate(cluster: &Cluster, service: &mut Value) -> Result<(), ApiError> {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
    if spec.get("type").and_then(Value::as_str) == Some("ExternalName") {
        return Ok(());
    }
    let given = spec.get("clusterIP").and_then(Value::as_str).unwrap_or_default().to_owned();
    let address = if given.is_empty() { free(cluster)? } else { given };
    spec.insert("clusterIPs".into(), json!([address]));
    spec.insert("clusterIP".into(), json!(address));
    spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
    spec.entry("ipFamilyPolicy").or_insert_with(|| json!("SingleStack"));
    spec.entry("internalTrafficPolicy").or_insert_with(|| json!("Cluster"));
    Ok(())
}

fn free(cluster: &Cluster) -> Result<String, ApiError> {
    let (_, services) = cluster.store.list(&Scope::all("", "services"));
    let taken: std::collections::BTreeSet<&str> =
        services.iter().filter_map(|service| service.value().pointer("/spec/clusterIP")?.as_str()).collect();
    let free = (0..64_000).map(address).find(|address| !taken.contains(address.as_str()));
    free.ok_or_else(|| ApiError::internal("failed to allocate a serviceIP: range is full"))
}

/// An update that leaves the addresses out keeps them.
pub(super) fn keep_addresses(new: &mut Value, old: &Value) {
    let (Some(new), Some(old)) = (new.get_mut("spec").and_then(Value::as_object_mut), old.get("spec")) else {
        return;
    };
    if new.get("type").and_then(Value::as_str) == Some("ExternalName") {
        return;
    }
    for field in [
        "clusterIP",
        "clusterIPs",
        "ipFamilies",
        "ipFamilyPolicy",
        "internalTrafficPolicy",
        "healthCheckNodePort",
    ] {
        let empty = new.get(field).is_none_or(|value| value.is_null() || value == "" || *value == json!([]));
        if let (true, Some(value)) = (empty, old.get(field)) {
            new.insert(field.into(), value.clone());
        }
    }
}
