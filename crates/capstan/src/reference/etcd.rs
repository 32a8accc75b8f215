//! docs/reference/etcd.md: every field, reason and alert of EtcdCluster and the kinds around it, from the code that has them.

use std::fmt::Write as _;

use etcd_core::Why;
use etcd_operator::{
    Carried, RestoreWhy, backup,
    monitoring::{ALERTS, Severity},
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kit::Reason as _;

/// What is Kubernetes' own, and described in its documentation: named, not unfolded.
const KUBERNETES_OWN: &[&str] = &[
    "spec.pod.affinity",
    "spec.pod.env",
    "spec.pod.imagePullSecrets",
    "spec.pod.resources",
    "spec.pod.securityContext",
    "spec.pod.tolerations",
    "spec.pod.topologySpreadConstraints",
    "spec.networkPolicy.clients",
    "status.conditions",
];

pub(super) fn page() -> String {
    let kinds = etcd_types::definitions();
    format!(
        "# etcd: reference\n\nHow EtcdCluster is used is in [docs/etcd.md](../etcd.md), how backups are in [docs/etcd-backup.md](../etcd-backup.md); the operator's \
         metrics are in [metrics.md](metrics.md).\n\n{}\
         ## Reasons of conditions and events\n\nOf EtcdCluster:\n\n| reason | |\n|---|---|\n{}\n\
         Of EtcdBackup and EtcdBackupSchedule:\n\n| reason | |\n|---|---|\n{}\n\
         Of EtcdRestore:\n\n| reason | |\n|---|---|\n{}\n\
         ## Alerts\n\n`deploy/monitoring/etcd-alerts.yaml` has them for all clusters, `spec.monitoring.prometheusRule` makes them for one.\n\n\
         | alert | severity | after | |\n|---|---|---|---|\n{}",
        kinds.iter().map(kind_page).collect::<String>(),
        Why::ALL
            .iter()
            .map(|why| reason(why.as_str(), why.meaning()))
            .chain(Carried::ALL.iter().map(|why| reason(why.as_str(), why.meaning())))
            .collect::<String>(),
        backup::Why::ALL.iter().map(|why| reason(why.as_str(), why.meaning())).collect::<String>(),
        RestoreWhy::ALL.iter().map(|why| reason(why.as_str(), why.meaning())).collect::<String>(),
        alerts(),
    )
}

/// The fields of one kind.
fn kind_page(definition: &CustomResourceDefinition) -> String {
    let versions = definition.spec.versions.iter();
    let schema = versions.filter_map(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref()).next();
    let mut rows = Vec::new();
    for (name, part) in schema.iter().flat_map(|schema| schema.properties.iter().flatten()) {
        if name == "spec" || name == "status" {
            unfold(name, part, &mut rows);
        }
    }
    let of = |part: &'static str| rows.iter().filter(move |row| row.path.starts_with(part));
    format!(
        "## {}\n\n| field | type | default | |\n|---|---|---|---|\n{}\n| field | type | |\n|---|---|---|\n{}\n",
        definition.spec.names.kind,
        of("spec.").map(Row::line).collect::<String>(),
        of("status.").map(Row::status_line).collect::<String>(),
    )
}

struct Row {
    path: String,
    kind: String,
    default: String,
    meaning: String,
}

impl Row {
    fn line(&self) -> String {
        let Self { path, kind, default, meaning } = self;
        format!("| `{path}` | {kind} | {default} | {meaning} |\n")
    }

    fn status_line(&self) -> String {
        let Self { path, kind, meaning, .. } = self;
        format!("| `{path}` | {kind} | {meaning} |\n")
    }
}

/// A row for each field below `path`, parents before children.
fn unfold(path: &str, of: &JSONSchemaProps, rows: &mut Vec<Row>) {
    for (name, field) in of.properties.iter().flatten() {
        let path = format!("{path}.{name}");
        let own = KUBERNETES_OWN.contains(&path.as_str());
        let item = match &field.items {
            Some(JSONSchemaPropsOrArray::Schema(item)) => Some(&**item),
            _ => None,
        };
        let below = item.unwrap_or(field);
        let default =
            field.default.as_ref().map(|value| value.0.to_string()).filter(|text| !text.starts_with('{'));
        rows.push(Row {
            kind: kind(field, item),
            default: default.map_or_else(String::new, |text| format!("`{text}`")),
            meaning: one_line(field.description.as_deref().unwrap_or_default()),
            path: path.clone(),
        });
        if !own {
            let path = if item.is_some() { format!("{path}[]") } else { path };
            unfold(&path, below, rows);
        }
    }
}

fn kind(field: &JSONSchemaProps, item: Option<&JSONSchemaProps>) -> String {
    if let Some(words) = &field.enum_ {
        let words = words.iter().filter_map(|word| word.0.as_str());
        return words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    let name = |field: &JSONSchemaProps| match (&field.type_, field.x_kubernetes_int_or_string) {
        (_, Some(true)) => "quantity".to_owned(),
        (Some(name), _) => name.clone(),
        (None, _) => String::new(),
    };
    match item {
        Some(item) => format!("list of {}", name(item)),
        None if field.additional_properties.is_some() => "map".to_owned(),
        None => name(field),
    }
}

fn reason(word: &str, meaning: &str) -> String {
    format!("| `{word}` | {} |\n", one_line(meaning))
}

fn alerts() -> String {
    let mut text = String::new();
    for alert in ALERTS {
        let severity = match alert.severity {
            Severity::Critical => "critical",
            Severity::Warning => "warning",
        };
        let advice = alert.advice.replace("{{ $labels.", "<").replace(" }}", ">").replace('|', "\\|");
        writeln!(text, "| `{}` | {severity} | {} | {} |", alert.name, alert.after, one_line(&advice)).ok();
    }
    text
}

/// Cells have one line, and no column of their own.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_described_and_kubernetes_own_are_not_unfolded() {
        let page = page();
        for part in [
            "| `spec.size` | integer | `3` | How many members vote",
            "| `spec.pod.affinity` |",
            "| `status.members[].role` |",
            "| `QuorumLost` |",
            "## EtcdBackupSchedule",
            "| `spec.retention.keepLast` | integer |",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(!page.contains("spec.pod.affinity."), "unfolded");
        let bare: Vec<&str> =
            page.lines().filter(|line| line.starts_with("| `spec.") && line.ends_with("|  |")).collect();
        assert!(bare.is_empty(), "not described: {bare:?}");
    }
}
