//! What is measured of backups and schedules. A series goes away with its object.

use etcd_types::{EtcdBackupScheduleStatus, EtcdBackupStatus};
use kit::{
    Key,
    metrics::{Extra, Metrics, PerObject},
};

const FAILURES: &str = "capstan_etcd_schedule_failures";

/// Names without the `_total` that the format adds to counters, and meanings. Each has `namespace`, `name` and `cluster`.
pub const FAMILIES: [(&str, &str); 10] = [
    ("capstan_etcd_backup_phase", "1 for the phase that the EtcdBackup is in"),
    ("capstan_etcd_backup_bytes", "The size of the database that the EtcdBackup holds"),
    (
        "capstan_etcd_schedule_last_success_timestamp_seconds",
        "When the newest backup of the EtcdBackupSchedule was stored and read back",
    ),
    ("capstan_etcd_schedule_last_duration_milliseconds", "How long it took"),
    ("capstan_etcd_schedule_last_bytes", "The size of the database that it holds"),
    (
        "capstan_etcd_schedule_missed",
        "Backups that should have been there since the last good one, and are not",
    ),
    ("capstan_etcd_schedule_failures", "Attempts that came to nothing, as far as the operator has seen them"),
    ("capstan_etcd_schedule_suspended", "1 while no backups are wanted"),
    ("capstan_etcd_schedule_verified", "1 if the newest backup was restored and found right, 0 if not"),
    (
        "capstan_etcd_schedule_recoverable_timestamp_seconds",
        "Up to when everything can be restored, where it is captured",
    ),
];

/// The families.
#[derive(Debug, Clone)]
pub(super) struct Measured(PerObject);

impl Measured {
    /// Adds the families of which `beginning` is the beginning: each controller has its own objects.
    pub(super) fn register(metrics: &Metrics, beginning: &str) -> Self {
        let ours = FAMILIES.into_iter().filter(|(name, _)| name.starts_with(beginning));
        let (counters, gauges): (Vec<_>, Vec<_>) = ours.partition(|(name, _)| *name == FAILURES);
        Self(PerObject::register(metrics, &gauges, &counters))
    }

    pub(super) fn show_backup(&self, key: &Key, cluster: &str, status: &EtcdBackupStatus) {
        let phase = status.phase.map(|phase| {
            let labels = of(cluster).into_iter().chain([("phase", format!("{phase:?}"))]).collect();
            ("capstan_etcd_backup_phase", labels, 1)
        });
        let bytes = status.bytes.map(|bytes| ("capstan_etcd_backup_bytes", of(cluster), bytes));
        self.0.show(key, phase.into_iter().chain(bytes));
    }

    pub(super) fn show_schedule(
        &self,
        key: &Key,
        cluster: &str,
        suspended: bool,
        status: &EtcdBackupScheduleStatus,
    ) {
        let last = status.last_success.as_ref();
        let figures = [
            ("capstan_etcd_schedule_last_success_timestamp_seconds", last.map(|last| last.at.0.as_second())),
            ("capstan_etcd_schedule_last_duration_milliseconds", last.and_then(|last| last.milliseconds)),
            ("capstan_etcd_schedule_last_bytes", last.and_then(|last| last.bytes)),
            ("capstan_etcd_schedule_missed", Some(status.missed.unwrap_or_default())),
            ("capstan_etcd_schedule_suspended", Some(suspended.into())),
            ("capstan_etcd_schedule_verified", status.verified.as_ref().map(|it| it.good.into())),
            (
                "capstan_etcd_schedule_recoverable_timestamp_seconds",
                status.recoverable.as_ref().map(|it| it.to.time.0.as_second()),
            ),
        ];
        let series = figures.into_iter().filter_map(|(family, value)| Some((family, of(cluster), value?)));
        self.0.show(key, series);
        // It appears with 0: a rate over a series that appears with 1 misses that first event.
        self.0.count(key, FAILURES, of(cluster), 0);
    }

    pub(super) fn failed(&self, key: &Key, cluster: &str) {
        self.0.count(key, FAILURES, of(cluster), 1);
    }

    pub(super) fn forget(&self, key: &Key) {
        self.0.forget(key);
    }
}

fn of(cluster: &str) -> Extra {
    vec![("cluster", cluster.to_owned())]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn series_come_and_go_with_their_object() {
        let metrics = Metrics::new();
        let (backups, schedules) = (
            Measured::register(&metrics, "capstan_etcd_backup_"),
            Measured::register(&metrics, "capstan_etcd_schedule_"),
        );
        let key = Key::new("prod", "nightly");
        backups.show_backup(&key, "db", &serde_json::from_value(json!({"phase": "Failed"})).unwrap());
        let status = json!({"missed": 2, "lastSuccess": {"at": "2026-01-01T00:00:00Z", "milliseconds": 7}});
        schedules.show_schedule(&key, "db", false, &serde_json::from_value(status).unwrap());
        schedules.failed(&key, "db");
        let text = metrics.encode();
        for line in [
            r#"capstan_etcd_backup_phase{namespace="prod",name="nightly",cluster="db",phase="Failed"} 1"#,
            r#"capstan_etcd_schedule_missed{namespace="prod",name="nightly",cluster="db"} 2"#,
            r#"capstan_etcd_schedule_failures_total{namespace="prod",name="nightly",cluster="db"} 1"#,
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        backups.forget(&key);
        schedules.forget(&key);
        assert!(!metrics.encode().contains(r#"name="nightly""#));
    }
}
