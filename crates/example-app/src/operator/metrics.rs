//! What is measured of each ExampleApp, beside what the kit measures of its operator. The README has the same table.

use kit::{Key, metrics::PerObject, operation::word};

use super::decide::News;
use crate::{ExampleAppStatus, OperationKind};

const OPERATIONS: &str = "exampleapp_operations";
pub(super) const GAUGES: [(&str, &str); 3] = [
    ("exampleapp_ready_replicas", "Pods that serve"),
    ("exampleapp_last_backup_timestamp_seconds", "When the last backup was finished"),
    ("exampleapp_operation", "1 while an operation of this kind is under way"),
];
pub(super) const COUNTERS: [(&str, &str); 1] = [(OPERATIONS, "Operations that ended, by kind and result")];

/// The present state of one ExampleApp, and what has just ended.
pub(crate) fn show(measured: &PerObject, key: &Key, status: &ExampleAppStatus, news: Option<&News>) {
    let of = |kind: OperationKind| ("kind", word(kind));
    let [ready, last_backup, operation] = GAUGES.map(|(name, _)| name);
    let last = status.backup.as_ref().and_then(|backup| backup.last_backup_time.as_ref());
    let under_way = status.operation.as_ref().map(|it| (operation, vec![of(it.kind)], 1));
    let last = last.map(|time| (last_backup, Vec::new(), time.0.as_second()));
    let ready = (ready, Vec::new(), status.ready_replicas.unwrap_or_default().into());
    measured.show(key, [Some(ready), last, under_way].into_iter().flatten());
    if let Some((kind, result)) = news.and_then(News::result) {
        measured.count(key, OPERATIONS, vec![of(kind), ("result", result.to_owned())], 1);
    }
}

#[cfg(test)]
mod tests {
    use kit::metrics::Metrics;

    use super::*;

    #[test]
    fn series_come_and_go_with_their_object_and_are_in_the_readme() {
        let metrics = Metrics::new();
        let measured = PerObject::register(&metrics, &GAUGES, &COUNTERS);
        let key = Key::new("default", "notes");
        let done = crate::operator::model::upgrade();
        let status = ExampleAppStatus {
            ready_replicas: Some(2),
            operation: Some(done.clone()),
            ..ExampleAppStatus::default()
        };
        show(&measured, &key, &status, Some(&News::Succeeded(done)));
        let text = metrics.encode();
        assert!(text.contains(r#"exampleapp_ready_replicas{namespace="default",name="notes"} 2"#), "{text}");
        assert!(
            text.contains(r#"exampleapp_operation{namespace="default",name="notes",kind="upgrade"} 1"#),
            "{text}"
        );
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
