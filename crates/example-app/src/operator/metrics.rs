//! What is measured of each ExampleApp, beside what the kit measures of its operator. The README has the same table.

use kit::{
    Key,
    metrics::{Extra, Metrics, PerObject},
};

use super::names::word;
use crate::{ExampleAppStatus, OperationKind};

const OPERATIONS: &str = "exampleapp_operations";
const GAUGES: [(&str, &str); 3] = [
    ("exampleapp_ready_replicas", "Pods that serve"),
    ("exampleapp_last_backup_timestamp_seconds", "When the last backup was finished"),
    ("exampleapp_operation", "1 while an operation of this kind is under way"),
];
const COUNTERS: [(&str, &str); 1] = [(OPERATIONS, "Operations that ended, by kind and result")];

pub(crate) fn register(metrics: &Metrics) -> PerObject {
    PerObject::register(metrics, &GAUGES, &COUNTERS)
}

/// The present state of one ExampleApp.
pub(crate) fn show(measured: &PerObject, key: &Key, status: &ExampleAppStatus) {
    use OperationKind::{Backup, Remediation, Restore, Upgrade};
    let [ready, last_backup, operation] = GAUGES.map(|(name, _)| name);
    let last = status.backup.as_ref().and_then(|backup| backup.last_backup_time.as_ref());
    let under_way = status.operation.as_ref().map(|operation| operation.kind);
    let kinds = [Upgrade, Restore, Remediation, Backup];
    let operations = kinds.map(|kind| (operation, of(kind), i64::from(under_way == Some(kind))));
    let ready = (ready, Vec::new(), status.ready_replicas.unwrap_or_default().into());
    let last = last.map(|time| (last_backup, Vec::new(), time.0.as_second()));
    measured.show(key, operations.into_iter().chain([ready]).chain(last));
}

/// An operation has ended.
pub(crate) fn ended(measured: &PerObject, key: &Key, kind: OperationKind, result: &str) {
    let mut labels = of(kind);
    labels.push(("result", result.to_owned()));
    measured.count(key, OPERATIONS, labels, 1);
}

fn of(kind: OperationKind) -> Extra {
    vec![("kind", word(kind))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_come_and_go_with_their_object_and_are_in_the_readme() {
        let metrics = Metrics::new();
        let measured = register(&metrics);
        let key = Key::new("default", "notes");
        show(&measured, &key, &ExampleAppStatus { ready_replicas: Some(2), ..ExampleAppStatus::default() });
        ended(&measured, &key, OperationKind::Upgrade, "succeeded");
        let text = metrics.encode();
        assert!(text.contains(r#"exampleapp_ready_replicas{namespace="default",name="notes"} 2"#), "{text}");
        assert!(
            text.contains(r#"exampleapp_operations_total{namespace="default",name="notes",kind="upgrade",result="succeeded"} 1"#),
            "{text}"
        );
        measured.forget(&key);
        assert!(!metrics.encode().contains(r#"name="notes""#));
        let readme = include_str!("../../README.md");
        for name in GAUGES.map(|(name, _)| name).into_iter().chain(["exampleapp_operations_total"]) {
            assert!(readme.contains(&format!("`{name}`")), "{name} is not in the README");
        }
    }
}
