//! What is measured of each cluster, beside what the kit measures of its operator. A series goes away with its object.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use etcd_types::{EtcdClusterStatus, OperationKind, Phase};
use kit::{Key, metrics::Metrics};
use prometheus_client::metrics::{counter::Counter, family::Family, gauge::Gauge};

type Labels = Vec<(&'static str, String)>;

/// Names without the `_total` that the format adds to counters, and meanings. docs/etcd.md has the same table.
pub const FAMILIES: [(&str, &str); 9] = [
    ("capstan_etcd_size", "Members that the spec asks for"),
    ("capstan_etcd_members", "Members there are, those that are still joining included"),
    ("capstan_etcd_ready_members", "Members that vote and serve"),
    ("capstan_etcd_leader_changes", "Changes of the leader that the operator has seen"),
    ("capstan_etcd_db_size_bytes", "The size of a member's database, free pages included"),
    ("capstan_etcd_db_in_use_bytes", "How much of a member's database is in use"),
    ("capstan_etcd_certificate_expiry_timestamp_seconds", "When the first certificate of the cluster ends"),
    ("capstan_etcd_operation", "1 while an operation of this kind is under way"),
    ("capstan_etcd_phase", "1 for the phase that the cluster is in"),
];

/// The families.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    size: Family<Labels, Gauge>,
    members: Family<Labels, Gauge>,
    ready: Family<Labels, Gauge>,
    leader_changes: Family<Labels, Counter>,
    db_size: Family<Labels, Gauge>,
    db_in_use: Family<Labels, Gauge>,
    certificate: Family<Labels, Gauge>,
    operation: Family<Labels, Gauge>,
    phase: Family<Labels, Gauge>,
    /// What each cluster shows, to take away what it no longer does.
    shown: Arc<Mutex<BTreeMap<Key, Shown>>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Shown {
    leader: Option<String>,
    members: Vec<String>,
    operation: Option<OperationKind>,
    phase: Option<Phase>,
}

impl Measured {
    /// Adds the families to what the operator serves.
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let measured = Self::default();
        let Self {
            size,
            members,
            ready,
            leader_changes,
            db_size,
            db_in_use,
            certificate,
            operation,
            phase,
            ..
        } = measured.clone();
        let [a, b, c, d, e, f, g, h, i] = FAMILIES;
        metrics.with_registry(|registry| {
            registry.register(a.0, a.1, size);
            registry.register(b.0, b.1, members);
            registry.register(c.0, c.1, ready);
            registry.register(d.0, d.1, leader_changes);
            registry.register(e.0, e.1, db_size);
            registry.register(f.0, f.1, db_in_use);
            registry.register(g.0, g.1, certificate);
            registry.register(h.0, h.1, operation);
            registry.register(i.0, i.1, phase);
        });
        measured
    }

    /// The present state of one cluster.
    pub(crate) fn show(&self, key: &Key, size: i32, status: &EtcdClusterStatus) {
        let mut all = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(key).cloned().unwrap_or_default();
        self.size.get_or_create(&of(key)).set(size.into());
        self.members.get_or_create(&of(key)).set(status.replicas.unwrap_or_default().into());
        self.ready.get_or_create(&of(key)).set(status.ready_members.unwrap_or_default().into());
        let ends = status.tls.as_ref().and_then(|tls| tls.not_after.as_ref());
        if let Some(ends) = ends {
            self.certificate.get_or_create(&of(key)).set(ends.0.as_second());
        }
        let changes = self.leader_changes.get_or_create(&of(key)).clone();
        let leader = status.leader.clone().or_else(|| known.leader.clone());
        if known.leader.is_some() && leader != known.leader {
            changes.inc();
        }
        let members = status.members.iter().flatten();
        for member in members.clone() {
            let labels = with(key, "member", &member.name);
            self.db_size.get_or_create(&labels).set(member.db_size.unwrap_or_default());
            self.db_in_use.get_or_create(&labels).set(member.db_size_in_use.unwrap_or_default());
        }
        let now = Shown {
            leader,
            members: members.map(|member| member.name.clone()).collect(),
            operation: status.operation.as_ref().map(|operation| operation.kind),
            phase: status.phase,
        };
        self.withdraw(key, &known, &now);
        if let Some(kind) = now.operation {
            self.operation.get_or_create(&with(key, "kind", &format!("{kind:?}"))).set(1);
        }
        if let Some(phase) = now.phase {
            self.phase.get_or_create(&with(key, "phase", &format!("{phase:?}"))).set(1);
        }
        all.insert(key.clone(), now);
    }

    /// The cluster is gone.
    pub(crate) fn forget(&self, key: &Key) {
        let known = self.shown.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        self.withdraw(key, &known.unwrap_or_default(), &Shown::default());
        for family in [&self.size, &self.members, &self.ready, &self.certificate] {
            family.remove(&of(key));
        }
        self.leader_changes.remove(&of(key));
    }

    /// Takes away the series of what was shown and is no longer.
    fn withdraw(&self, key: &Key, known: &Shown, now: &Shown) {
        for member in known.members.iter().filter(|member| !now.members.contains(member)) {
            self.db_size.remove(&with(key, "member", member));
            self.db_in_use.remove(&with(key, "member", member));
        }
        if let Some(kind) = known.operation.filter(|_| known.operation != now.operation) {
            self.operation.remove(&with(key, "kind", &format!("{kind:?}")));
        }
        if let Some(phase) = known.phase.filter(|_| known.phase != now.phase) {
            self.phase.remove(&with(key, "phase", &format!("{phase:?}")));
        }
    }
}

fn of(key: &Key) -> Labels {
    vec![("namespace", key.namespace().to_owned()), ("name", key.name().to_owned())]
}

fn with(key: &Key, label: &'static str, value: &str) -> Labels {
    let mut labels = of(key);
    labels.push((label, value.to_owned()));
    labels
}

#[cfg(test)]
mod tests {
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
}
