//! Where the data of a backup comes from: what users name, resolved to a store and a backup in it; and which wish is to be granted.

use std::sync::Arc;

use etcd_core::{BOOTSTRAP, ClusterId, Recovery, Stage};
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
    /// Even if a restore has found it bad.
    NamedThoughRefuted(String),
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
    let status = cluster.status.clone().unwrap_or_default();
    let latch = etcd_core::remembered(live.and_then(|live| build::latch(cluster, live)), &status);
    let record = latch.restore.as_ref().filter(|record| !record.is_over());
    // While the cluster grows from its seed, nothing is asked of its EtcdRestore any more, and another one may begin.
    let growing = record.filter(|record| record.stage == Stage::Growing).map(|record| record.uid.clone());
    let under_way = record.filter(|_| growing.is_none()).map(|record| record.uid.clone());
    // What is given up: of a restore under way what it began with, as the cluster has another ID in the end.
    let before = record.filter(|_| growing.is_none()).and_then(|record| record.before.as_ref());
    let given_up = before.map(|before| before.cluster_id).or(latch.cluster_id);
    let name = cluster.name_any();
    let bootstrap = cluster.spec.bootstrap.recovery.as_ref();
    let in_place = |restore: &EtcdRestore, from: &RecoverySource| {
        let source = resolve(&name, from, true, &backup);
        let label = format!("{} ({})", restore.name_any(), words(&name, from, source.as_ref().ok()));
        let recovery = Recovery {
            name: Some(restore.name_any()),
            uid: restore.uid().unwrap_or_default(),
            consented: is_consented(restore, given_up) && restore.meta().deletion_timestamp.is_none(),
            without_safety_backup: restore.spec.without_safety_backup,
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
                !over && !done && restore.uid() != growing && is_consented(restore, given_up)
            };
            let oldest = of_cluster
                .filter(open)
                .min_by_key(|it| (it.creation_timestamp().map(|at| at.0), it.name_any()));
            oldest.map(|restore| in_place(restore, &restore.spec.from))
        }
    }
}

/// What `spec.consent` must be, to give up the data of the cluster with this ID. The ID is another one after every restore: an EtcdRestore
/// that is created once more, by GitOps say, does not restore once more.
pub(crate) fn consent(cluster: &str, id: impl std::fmt::Display) -> String {
    format!("{cluster}/{id}")
}

fn is_consented(restore: &EtcdRestore, given_up: Option<ClusterId>) -> bool {
    given_up.is_some_and(|id| restore.spec.consent == consent(&restore.spec.cluster_name, id))
}

/// What is the same for both.
fn wish(from: &RecoverySource, source: &Result<Source, String>) -> Recovery {
    Recovery {
        name: None,
        uid: BOOTSTRAP.to_owned(),
        consented: true,
        without_safety_backup: false,
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
            Some(id) if from.allow_refuted == Some(true) => Which::NamedThoughRefuted(id.clone()),
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
        (None, Some(Which::Named(id) | Which::NamedThoughRefuted(id))) => format!("the backup {id}"),
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
    fn a_refuted_backup_is_allowed_only_by_its_id() {
        let which = |from: Value| {
            let spec = json!({"version": "3.6.16", "bootstrap": {"recovery": from}});
            asked(&cluster(spec), None, &[], |_| None).unwrap().source.unwrap().which
        };
        let store = json!({"url": "s3://backups"});
        let bad = which(json!({"store": store, "id": "bad-1", "allowRefuted": true}));
        assert_eq!(bad, Which::NamedThoughRefuted("bad-1".into()));
        assert_eq!(which(json!({"store": store, "id": "bad-1"})), Which::Named("bad-1".into()));
        assert_eq!(which(json!({"store": store, "allowRefuted": true})), Which::NewestOf("db".into()));
    }

    /// The fingerprint of what was asked for is on record while a seed is under way: a field that is not used must not change it.
    #[test]
    fn an_unused_field_does_not_change_the_fingerprint() {
        let from: RecoverySource = serde_json::from_value(json!({"backup": "nightly"})).unwrap();
        assert_eq!(serde_json::to_value(&from).unwrap(), json!({"backup": "nightly"}));
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
        assert_eq!(of(&[restore("over", "db/9d3f", json!({"phase": "Completed"}))]), None);
        assert_eq!(
            of(&[restore("done", "db/9d3f", json!({}))]),
            None,
            "the latch remembers what a status forgot"
        );
        assert_eq!(
            of(&[restore("done", "db/9d3f", json!({})), restore("next", "db/9d3f", json!({}))]).as_deref(),
            Some("next")
        );
    }

    /// The name alone, or the ID of a cluster that an earlier restore has replaced: what a manifest in a repository still says.
    #[test]
    fn consent_of_before_an_earlier_restore_begins_nothing() {
        let cluster = cluster(json!({"version": "3.6.16"}));
        for consent in ["db", "9d3f", "db/77aa", "other/9d3f", "db/9d3f "] {
            let restores = [restore("again", consent, json!({}))];
            assert!(
                asked(&cluster, Some(&latched()), &restores, nightly("Completed")).is_none(),
                "{consent}"
            );
        }
    }

    fn under_way(stage: &str, before: &str) -> ConfigMap {
        let record = json!({"name": "back", "uid": "uid-back", "label": "", "seed": 4, "version": "3.6.16",
            "before": {"clusterId": before, "members": [1]}, "stage": {"at": stage}});
        let data = json!({"uid": "u", "latestSerial": "4", "restore": record.to_string()});
        serde_json::from_value(json!({ "data": data })).unwrap()
    }

    /// Its members are stopped, and the cluster has no ID, or another one.
    #[test]
    fn consent_of_a_restore_under_way_is_to_what_it_began_with() {
        let cluster = cluster(json!({"version": "3.6.16"}));
        let restores = [restore("back", "db/9d3f", json!({}))];
        let asked = asked(&cluster, Some(&under_way("starting", "9d3f")), &restores, nightly("Completed"));
        assert!(asked.unwrap().recovery.consented);
        let taken_back = [restore("back", "", json!({}))];
        let asked =
            super::asked(&cluster, Some(&under_way("starting", "9d3f")), &taken_back, nightly("Completed"));
        assert!(!asked.unwrap().recovery.consented);
    }

    #[test]
    fn a_restore_under_way_is_known_from_the_status_if_the_config_map_is_lost() {
        let record = under_way("starting", "9d3f").data.unwrap()["restore"].clone();
        let mut cluster = cluster(json!({"version": "3.6.16"}));
        let restore_status = json!({"uid": "uid-back", "phase": "Running", "step": "Starting", "message": "",
            "startedAt": "2026-11-16T12:00:00Z", "record": record});
        cluster.status = Some(serde_json::from_value(json!({ "restore": restore_status })).unwrap());
        let restores = [restore("back", "db/9d3f", json!({}))];
        let asked = asked(&cluster, None, &restores, nightly("Completed")).unwrap();
        assert_eq!((asked.recovery.uid.as_str(), asked.recovery.consented), ("uid-back", true));
    }
}
