//! Services and Ingresses: ports, their names, and where they lead.

use serde_json::{Value, json};

use super::names::{dns_label, dns_subdomain, port_name};
use super::workloads::port_number;
use super::{list, text};
use crate::Cause;
use crate::schema::{Path, duplicate, invalid, not_supported, required};

pub(super) fn service(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let root = Path::Root;
    let at = root.field("spec");
    let spec = new.get("spec").unwrap_or(&Value::Null);
    let kind = text(spec, "/type");
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    if !kind.is_empty() && !kinds.contains(&kind) {
        causes.push(not_supported(at.field("type"), &json!(kind), &kinds.map(Value::from)));
    }
    let ports = list(spec, "/ports");
    let headless = text(spec, "/clusterIP") == "None";
    if ports.is_empty() && !headless && kind != "ExternalName" {
        causes.push(required(at.field("ports"), ""));
    }
    if kind == "ExternalName" && text(spec, "/externalName").is_empty() {
        causes.push(required(at.field("externalName"), ""));
    }
    let at_ports = at.field("ports");
    for (i, port) in ports.iter().enumerate() {
        let at = at_ports.index(i);
        let name = text(port, "/name");
        let earlier = ports.iter().take(i);
        if name.is_empty() && ports.len() > 1 {
            causes.push(required(at.field("name"), ""));
        } else if !name.is_empty() {
            causes.extend(dns_label(name).map(|why| invalid(at.field("name"), &json!(name), why)));
            if earlier.clone().any(|p| text(p, "/name") == name) {
                causes.push(duplicate(at.field("name"), &json!(name)));
            }
        }
        port_number(port.get("port"), at.field("port"), causes);
        match port.get("targetPort") {
            Some(Value::String(name)) => {
                causes.extend(port_name(name).map(|why| invalid(at.field("targetPort"), &json!(name), why)));
            }
            other => port_number(other, at.field("targetPort"), causes),
        }
        let protocols = ["SCTP", "TCP", "UDP"];
        if !protocols.contains(&text(port, "/protocol")) {
            let value = port.get("protocol").unwrap_or(&Value::Null);
            causes.push(not_supported(at.field("protocol"), value, &protocols.map(Value::from)));
        }
        let of = |port: &Value| json!({"port": port.get("port"), "protocol": port.get("protocol")});
        if earlier.clone().any(|p| of(p) == of(port)) {
            causes.push(duplicate(at, &of(port)));
        }
    }
    let affinities = ["ClientIP", "None"];
    if let Some(affinity) = spec.get("sessionAffinity").filter(|a| !affinities.iter().any(|s| a == s)) {
        causes.push(not_supported(at.field("sessionAffinity"), affinity, &affinities.map(Value::from)));
    }
}

pub(super) fn ingress(new: &Value, _: Option<&Value>, causes: &mut Vec<Cause>) {
    let root = Path::Root;
    let at = root.field("spec");
    let spec = new.get("spec").unwrap_or(&Value::Null);
    if list(spec, "/rules").is_empty() && spec.get("defaultBackend").is_none() {
        causes.push(invalid(at, &json!([]), "either `defaultBackend` or `rules` must be specified"));
    }
    let at_rules = at.field("rules");
    for (i, rule) in list(spec, "/rules").iter().enumerate() {
        let at = at_rules.index(i);
        let host = text(rule, "/host");
        let bare = host.strip_prefix("*.").unwrap_or(host);
        let why = (!host.is_empty()).then(|| dns_subdomain(bare)).flatten();
        causes.extend(why.map(|why| invalid(at.field("host"), &json!(host), why)));
        let at_http = at.field("http");
        let at_paths = at_http.field("paths");
        for (i, path) in list(rule, "/http/paths").iter().enumerate() {
            let at = at_paths.index(i);
            let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
            let kind = text(path, "/pathType");
            if !kind.is_empty() && !kinds.contains(&kind) {
                causes.push(not_supported(at.field("pathType"), &json!(kind), &kinds.map(Value::from)));
            }
            if matches!(kind, "Exact" | "Prefix") && !text(path, "/path").starts_with('/') {
                causes.push(invalid(
                    at.field("path"),
                    &json!(text(path, "/path")),
                    "must be an absolute path",
                ));
            }
        }
    }
}
