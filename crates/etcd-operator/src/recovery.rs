//! Where the data of a backup comes from: what users name, resolved to a store and a backup in it; and which wish is to be granted.

use std::sync::Arc;

use etcd_core::{BOOTSTRAP, Recovery};
use etcd_types::{BackupPhase, BackupStore, EtcdBackup, EtcdCluster, EtcdRestore, RecoverySource};
use jiff::Timestamp;
use kube::{Resource as _, ResourceExt as _};
use sha2::{Digest as _, Sha256};

use crate::build;

/// A backup in a store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Source {
    pub(crate) store: BackupStore,
    pub(crate) which: Which,
    /// Refuse a backup of a cluster of another name.
    pub(crate) only_of: Option<String>,
    pub(crate) point: Option<Point>,
}

/// Which backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    Named(String),
    NewestOf(String),
}

/// Where to end after the backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    Revision(i64),
    Time(Timestamp),
}

/// The wish that is to be granted, and what it names.
pub(crate) struct Asked {
    pub(crate) recovery: Recovery,
    pub(crate) source: Option<Source>,
}

/// The wish about `cluster` that is under way; else the data that it is to begin with, while it does not exist; else the oldest EtcdRestore that
/// is not over.
pub(crate) fn asked(
    cluster: &EtcdCluster,
    live: Option<&k8s_openapi::api::core::v1::ConfigMap>,
    restores: &[Arc<EtcdRestore>],
    backup: impl Fn(&str) -> Option<Arc<EtcdBackup>>,
) -> Option<Asked> {
    let latch = live.and_then(|live| build::latch(cluster, live)).unwrap_or_default();
    let under_way =
        latch.restore.as_ref().filter(|record| !record.is_over()).map(|record| record.uid.clone());
    let name = cluster.name_any();
    let bootstrap = cluster.spec.bootstrap.recovery.as_ref();
    let in_place = |restore: &EtcdRestore, from: &RecoverySource| {
        let source = resolve(&name, from, true, &backup);
        let label = format!("{} ({})", restore.name_any(), words(&name, from, source.as_ref().ok()));
        let recovery = Recovery {
            name: Some(restore.name_any()),
            uid: restore.uid().unwrap_or_default(),
            consented: restore.spec.consent == name && restore.meta().deletion_timestamp.is_none(),
            label,
            ..wish(from, &source)
        };
        Asked { recovery, source: source.ok() }
    };
    let first = |from: &RecoverySource| {
        let source = resolve(&name, from, false, &backup);
        let label = words(&name, from, source.as_ref().ok());
        let recovery = Recovery { label, ..wish(from, &source) };
        Asked { recovery, source: source.ok() }
    };
    let of_cluster = restores.iter().filter(|restore| restore.spec.cluster_name == name);
    match under_way {
        Some(uid) if uid == BOOTSTRAP => bootstrap.map(first),
        Some(uid) => of_cluster
            .into_iter()
            .find(|restore| restore.uid().as_ref() == Some(&uid))
            .map(|restore| in_place(restore, &restore.spec.from)),
        None if latch.cluster_id.is_none() => bootstrap.map(first),
        None => {
            let open = |restore: &&Arc<EtcdRestore>| {
                let phase = restore.status.as_ref().and_then(|status| status.phase);
                let over = phase.is_some_and(etcd_types::RestorePhase::is_over);
                let done = restore.uid().is_some_and(|uid| latch.restored.contains(&uid));
                !over && !done && restore.spec.consent == name
            };
            let oldest = of_cluster
                .filter(open)
                .min_by_key(|it| (it.creation_timestamp().map(|at| at.0), it.name_any()));
            oldest.map(|restore| in_place(restore, &restore.spec.from))
        }
    }
}

/// What is the same for both.
fn wish(from: &RecoverySource, source: &Result<Source, String>) -> Recovery {
    Recovery {
        name: None,
        uid: BOOTSTRAP.to_owned(),
        consented: true,
        label: String::new(),
        fingerprint: fingerprint(from),
        to_point: from.has_point(),
        store: source.as_ref().ok().map(|source| source.store.clone()),
        problem: source.as_ref().err().cloned(),
    }
}

/// Plain data with string keys: it cannot fail, and an empty text would only mean one Job too few.
fn fingerprint(from: &RecoverySource) -> String {
    let text = serde_json::to_string(from).unwrap_or_default();
    Sha256::digest(text.as_bytes()).iter().take(5).map(|byte| format!("{byte:02x}")).collect()
}

fn resolve(
    cluster: &str,
    from: &RecoverySource,
    in_place: bool,
    backup: impl Fn(&str) -> Option<Arc<EtcdBackup>>,
) -> Result<Source, String> {
    let point = match (from.revision, &from.time) {
        (Some(revision), _) => Some(Point::Revision(revision)),
        (None, Some(time)) => Some(Point::Time(time.0)),
        (None, None) => None,
    };
    if let Some(store) = &from.store {
        let which = match &from.id {
            Some(id) => Which::Named(id.clone()),
            None => Which::NewestOf(from.cluster.clone().unwrap_or_else(|| cluster.to_owned())),
        };
        return Ok(Source { store: store.clone(), which, only_of: None, point });
    }
    let name = from.backup.as_deref().unwrap_or_default();
    let Some(backup) = backup(name) else {
        return Err(format!("there is no EtcdBackup {name} in this namespace: create it, or name a store"));
    };
    let status = backup.status.clone().unwrap_or_default();
    match (status.phase, status.id) {
        (Some(BackupPhase::Completed), Some(id)) => Ok(Source {
            store: backup.spec.store.clone(),
            which: Which::Named(id),
            only_of: in_place.then(|| cluster.to_owned()),
            point,
        }),
        (Some(BackupPhase::Failed), _) => {
            let why = status.message.unwrap_or_default();
            Err(format!("the EtcdBackup {name} has failed: {why}. Name another one"))
        }
        (phase, _) => {
            let phase = phase.map_or_else(|| "not begun".to_owned(), |phase| format!("{phase:?}"));
            Err(format!("the EtcdBackup {name} is {phase}: it is waited for until it is Completed"))
        }
    }
}

/// As people read it.
fn words(cluster: &str, from: &RecoverySource, source: Option<&Source>) -> String {
    let which = match (&from.backup, source.map(|source| &source.which)) {
        (Some(backup), _) => format!("the backup {backup}"),
        (None, Some(Which::Named(id))) => format!("the backup {id}"),
        (None, Some(Which::NewestOf(of))) => format!("the newest backup of {of}"),
        (None, None) => format!("a backup of {cluster}"),
    };
    match (from.revision, &from.time) {
        (Some(revision), _) => format!("{which} and on to revision {revision}"),
        (None, Some(time)) => format!("{which} and on to {}", time.0),
        (None, None) => which,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::{Value, json};

    use super::*;

    fn cluster(spec: Value) -> EtcdCluster {
        serde_json::from_value(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
            "metadata": {"name": "db", "namespace": "shop", "uid": "u"}, "spec": spec,
        }))
        .unwrap()
    }

    fn restore(name: &str, consent: &str, status: Value) -> Arc<EtcdRestore> {
        Arc::new(
            serde_json::from_value(json!({
                "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdRestore",
                "metadata": {"name": name, "uid": format!("uid-{name}")},
                "spec": {"clusterName": "db", "from": {"backup": "nightly"}, "consent": consent}, "status": status,
            }))
            .unwrap(),
        )
    }

    fn nightly(phase: &str) -> impl Fn(&str) -> Option<Arc<EtcdBackup>> {
        let backup: EtcdBackup = serde_json::from_value(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackup", "metadata": {"name": "nightly"},
            "spec": {"clusterName": "db", "store": {"url": "s3://backups"}},
            "status": {"phase": phase, "id": "nightly-1234"},
        }))
        .unwrap();
        let backup = Arc::new(backup);
        move |name| (name == "nightly").then(|| backup.clone())
    }

    fn latched() -> ConfigMap {
        serde_json::from_value(
            json!({"data": {"uid": "u", "clusterID": "9d3f", "latestSerial": "3", "restored": "uid-done"}}),
        )
        .unwrap()
    }

    #[test]
    fn a_new_cluster_begins_with_what_its_spec_names() {
        let recovery =
            json!({"version": "3.6.16", "bootstrap": {"recovery": {"backup": "nightly", "revision": 7}}});
        let asked = asked(&cluster(recovery.clone()), None, &[], nightly("Completed")).unwrap();
        assert_eq!(asked.recovery.label, "the backup nightly and on to revision 7");
        let source = asked.source.unwrap();
        assert_eq!(
            (source.which, source.point),
            (Which::Named("nightly-1234".into()), Some(Point::Revision(7)))
        );
        assert_eq!(source.only_of, None, "of whatever cluster it is");
        let waits = super::asked(&cluster(recovery.clone()), None, &[], nightly("Running")).unwrap();
        assert!(waits.recovery.problem.unwrap().contains("nightly is Running"));
        let failed = super::asked(&cluster(recovery), None, &[], nightly("Failed")).unwrap();
        assert!(failed.recovery.problem.unwrap().contains("nightly has failed"));
    }

    #[test]
    fn a_store_without_an_id_means_the_newest_of_this_cluster() {
        let from =
            json!({"version": "3.6.16", "bootstrap": {"recovery": {"store": {"url": "s3://backups"}}}});
        let asked = asked(&cluster(from), None, &[], |_| None).unwrap();
        assert_eq!(asked.source.unwrap().which, Which::NewestOf("db".into()));
    }

    #[test]
    fn only_a_restore_that_is_consented_to_and_not_over_is_granted() {
        let cluster = cluster(json!({"version": "3.6.16", "bootstrap": {"recovery": {"backup": "nightly"}}}));
        let of = |restores: &[Arc<EtcdRestore>]| {
            asked(&cluster, Some(&latched()), restores, nightly("Completed"))
                .map(|it| it.recovery.name.unwrap())
        };
        assert_eq!(of(&[]), None, "the cluster exists: it does not begin again");
        assert_eq!(of(&[restore("no", "", json!({})), restore("wrong", "other", json!({}))]), None);
        assert_eq!(of(&[restore("over", "db", json!({"phase": "Completed"}))]), None);
        assert_eq!(of(&[restore("done", "db", json!({}))]), None, "the latch remembers what a status forgot");
        assert_eq!(
            of(&[restore("done", "db", json!({})), restore("next", "db", json!({}))]).as_deref(),
            Some("next")
        );
    }
}
