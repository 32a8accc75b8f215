//! What is measured of each ExampleApp, beside what the kit measures of its operator. A series goes away with its object.

use kit::{Key, metrics::Metrics};
use prometheus_client::metrics::{counter::Counter, family::Family, gauge::Gauge};

use crate::{ExampleAppStatus, OperationKind};

type Labels = Vec<(&'static str, String)>;

/// Name without the `_total` that the format adds to counters, and meaning. The README has the same table.
const READY: (&str, &str) = ("exampleapp_ready_replicas", "Pods that serve");
const LAST_BACKUP: (&str, &str) =
    ("exampleapp_last_backup_timestamp_seconds", "When the last backup was finished");
const OPERATION: (&str, &str) = ("exampleapp_operation", "1 while an operation of this kind is under way");
const OPERATIONS: (&str, &str) = ("exampleapp_operations", "Operations that ended, by kind and result");

/// The families.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    ready: Family<Labels, Gauge>,
    last_backup: Family<Labels, Gauge>,
    operation: Family<Labels, Gauge>,
    operations: Family<Labels, Counter>,
}

impl Measured {
    /// Adds the families to what the operator serves.
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let measured = Self::default();
        let Self { ready, last_backup, operation, operations } = measured.clone();
        metrics.with_registry(|registry| {
            registry.register(READY.0, READY.1, ready);
            registry.register(LAST_BACKUP.0, LAST_BACKUP.1, last_backup);
            registry.register(OPERATION.0, OPERATION.1, operation);
            registry.register(OPERATIONS.0, OPERATIONS.1, operations);
        });
        measured
    }

    /// The present state of one ExampleApp.
    pub(crate) fn show(&self, key: &Key, status: &ExampleAppStatus) {
        self.ready.get_or_create(&of(key)).set(status.ready_replicas.unwrap_or_default().into());
        if let Some(time) = status.backup.as_ref().and_then(|backup| backup.last_backup_time.as_ref()) {
            self.last_backup.get_or_create(&of(key)).set(time.0.as_second());
        }
        for kind in KINDS {
            let is = status.operation.as_ref().is_some_and(|operation| operation.kind == kind);
            self.operation.get_or_create(&of_kind(key, kind)).set(is.into());
        }
    }

    /// An operation has ended.
    pub(crate) fn ended(&self, key: &Key, kind: OperationKind, result: &'static str) {
        let mut labels = of_kind(key, kind);
        labels.push(("result", result.to_owned()));
        self.operations.get_or_create(&labels).inc();
    }

    /// The ExampleApp is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.ready.remove(&of(key));
        self.last_backup.remove(&of(key));
        for kind in KINDS {
            self.operation.remove(&of_kind(key, kind));
            for result in ["succeeded", "given-up"] {
                let mut labels = of_kind(key, kind);
                labels.push(("result", result.to_owned()));
                self.operations.remove(&labels);
            }
        }
    }
}

const KINDS: [OperationKind; 4] =
    [OperationKind::Upgrade, OperationKind::Restore, OperationKind::Remediation, OperationKind::Backup];

fn of(key: &Key) -> Labels {
    vec![("namespace", key.namespace().to_owned()), ("name", key.name().to_owned())]
}

fn of_kind(key: &Key, kind: OperationKind) -> Labels {
    let mut labels = of(key);
    labels.push(("kind", super::names::kind(kind).to_owned()));
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_come_and_go_with_their_object_and_are_in_the_readme() {
        let metrics = Metrics::new();
        let measured = Measured::register(&metrics);
        let key = Key::new("default", "notes");
        measured.show(&key, &ExampleAppStatus { ready_replicas: Some(2), ..ExampleAppStatus::default() });
        measured.ended(&key, OperationKind::Upgrade, "succeeded");
        let text = metrics.encode();
        assert!(text.contains(r#"exampleapp_ready_replicas{namespace="default",name="notes"} 2"#), "{text}");
        assert!(
            text.contains(r#"exampleapp_operations_total{namespace="default",name="notes",kind="upgrade",result="succeeded"} 1"#),
            "{text}"
        );
        measured.forget(&key);
        assert!(!metrics.encode().contains(r#"name="notes""#));
        let readme = include_str!("../../README.md");
        for name in [READY.0, LAST_BACKUP.0, OPERATION.0, "exampleapp_operations_total"] {
            assert!(readme.contains(&format!("`{name}`")), "{name} is not in the README");
        }
    }
}
