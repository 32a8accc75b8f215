//! What is measured of each cluster, beside what the kit measures of its operator. A series goes away with its object.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use etcd_types::EtcdClusterStatus;
use kit::{
    Key,
    metrics::{Metrics, PerObject},
};

const LEADER_CHANGES: &str = "capstan_etcd_leader_changes";

/// Names without the `_total` that the format adds to counters, and meanings. docs/reference/metrics.md is made from it.
pub const FAMILIES: [(&str, &str); 10] = [
    ("capstan_etcd_size", "Members that the spec asks for"),
    ("capstan_etcd_members", "Members there are, those that are still joining included"),
    ("capstan_etcd_ready_members", "Members that vote and serve"),
    ("capstan_etcd_leader_changes", "Changes of the leader that the operator has seen"),
    ("capstan_etcd_db_size_bytes", "The size of a member's database, free pages included"),
    ("capstan_etcd_db_in_use_bytes", "How much of a member's database is in use"),
    ("capstan_etcd_certificate_expiry_timestamp_seconds", "When the first certificate of the cluster ends"),
    ("capstan_etcd_operation", "1 while an operation of this kind is under way"),
    ("capstan_etcd_phase", "1 for the phase that the cluster is in"),
    ("capstan_etcd_condition", "1 for a condition that is True, 0 for False, -1 for Unknown"),
];

/// The families, and each cluster's last leader.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    families: PerObject,
    leaders: Arc<Mutex<BTreeMap<Key, String>>>,
}

impl Measured {
    /// Adds the families to what the operator serves.
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let (counters, gauges): (Vec<_>, Vec<_>) =
            FAMILIES.into_iter().partition(|(name, _)| *name == LEADER_CHANGES);
        Self { families: PerObject::register(metrics, &gauges, &counters), leaders: Arc::default() }
    }

    /// The present state of one cluster.
    pub(crate) fn show(&self, key: &Key, size: i32, status: &EtcdClusterStatus) {
        let one = |family: &'static str, value: i64| (family, Vec::new(), value);
        let mut series = vec![
            one("capstan_etcd_size", size.into()),
            one("capstan_etcd_members", status.replicas.unwrap_or_default().into()),
            one("capstan_etcd_ready_members", status.ready_members.unwrap_or_default().into()),
        ];
        let ends = status.tls.as_ref().and_then(|tls| tls.not_after.as_ref());
        series.extend(
            ends.map(|ends| one("capstan_etcd_certificate_expiry_timestamp_seconds", ends.0.as_second())),
        );
        for member in status.members.iter().flatten() {
            let of = || vec![("member", member.name.clone())];
            series.push(("capstan_etcd_db_size_bytes", of(), member.db_size.unwrap_or_default()));
            series.push(("capstan_etcd_db_in_use_bytes", of(), member.db_size_in_use.unwrap_or_default()));
        }
        let operation = status.operation.as_ref().map(|operation| format!("{:?}", operation.kind));
        series.extend(operation.map(|kind| ("capstan_etcd_operation", vec![("kind", kind)], 1)));
        let phase = status.phase.map(|phase| format!("{phase:?}"));
        series.extend(phase.map(|phase| ("capstan_etcd_phase", vec![("phase", phase)], 1)));
        for condition in status.conditions.iter().flatten() {
            let truth = match condition.status.as_str() {
                "True" => 1,
                "False" => 0,
                _ => -1,
            };
            series.push(("capstan_etcd_condition", vec![("type", condition.type_.clone())], truth));
        }
        self.families.show(key, series);

        let mut leaders = self.leaders.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is not known is none that has changed.
        let known = status.leader.clone().and_then(|leader| {
            let before = leaders.insert(key.clone(), leader.clone())?;
            Some(before != leader)
        });
        self.families.count(key, LEADER_CHANGES, Vec::new(), known.unwrap_or_default().into());
    }

    /// The cluster is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.families.forget(key);
        self.leaders.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

#[cfg(test)]
mod tests {
    use etcd_types::Phase;
    use serde_json::json;

    use super::*;

    #[test]
    fn series_come_and_go_with_their_object() {
        let metrics = Metrics::new();
        let measured = Measured::register(&metrics);
        let key = Key::new("default", "db");
        let status = |leader: &str, phase| EtcdClusterStatus {
            leader: Some(leader.into()),
            phase: Some(phase),
            ready_members: Some(3),
            ..EtcdClusterStatus::default()
        };
        measured.show(&key, 3, &status("db-1", Phase::Healthy));
        measured.show(&key, 3, &status("db-2", Phase::Degraded));
        let text = metrics.encode();
        let has = |line: &str| assert!(text.contains(line), "{line}\n{text}");
        has(r#"capstan_etcd_ready_members{namespace="default",name="db"} 3"#);
        has(r#"capstan_etcd_leader_changes_total{namespace="default",name="db"} 1"#);
        has(r#"capstan_etcd_phase{namespace="default",name="db",phase="Degraded"} 1"#);
        assert!(!text.contains("Healthy"));
        measured.forget(&key);
        assert!(!metrics.encode().contains(r#"name="db""#));
    }
    #[test]
    fn every_condition_is_a_number() {
        let metrics = Metrics::new();
        let measured = Measured::register(&metrics);
        let key = Key::new("default", "db");
        let status = |conditions: &[(&str, &str)]| -> EtcdClusterStatus {
            let condition = |(kind, status): &(&str, &str)| {
                json!({"type": kind, "status": status, "reason": "R", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"})
            };
            let conditions: Vec<_> = conditions.iter().map(condition).collect();
            serde_json::from_value(json!({ "conditions": conditions })).unwrap()
        };
        let before = [("TLSValid", "True"), ("SpaceOK", "Unknown"), ("Gone", "True")];
        measured.show(&key, 3, &status(&before));
        measured.show(
            &key,
            3,
            &status(&[("TLSValid", "False"), ("SpaceOK", "Unknown"), ("Available", "True")]),
        );
        let text = metrics.encode();
        let has = |line: &str| assert!(text.contains(line), "{line}\n{text}");
        has(r#"capstan_etcd_condition{namespace="default",name="db",type="TLSValid"} 0"#);
        has(r#"capstan_etcd_condition{namespace="default",name="db",type="SpaceOK"} -1"#);
        has(r#"capstan_etcd_condition{namespace="default",name="db",type="Available"} 1"#);
        assert!(!text.contains(r#"type="Gone""#), "{text}");
        measured.forget(&key);
        assert!(!metrics.encode().contains(r#"name="db""#));
    }
}
