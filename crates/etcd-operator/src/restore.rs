//! EtcdRestore: says how the restore stands. What is done is the cluster's reconcile's: nobody else touches members.

use std::{sync::Arc, time::Duration};

use etcd_types::{EtcdCluster, EtcdRestore, EtcdRestoreStatus, RestorePhase};
use jiff::Timestamp;
use kit::{
    Acted, Change, Condition, Conditions, Context, Key, Manager, Outcome, Reconciler, Result, Store,
    access::Access,
};
use kube::{Resource as _, ResourceExt as _};

use crate::recovery::consent;

/// When to look at a cluster whose status has not moved.
const LOOK: Duration = Duration::from_secs(30);

kit::reasons! {
    /// The reasons of an EtcdRestore's conditions.
    pub enum Why {
        /// All members serve the restored data.
        Restored,
        /// It is being carried out; the message says how far it is.
        Restoring,
        /// There is no such EtcdCluster yet, or it waits for another restore.
        Waiting,
        /// spec.consent must be `<name of the EtcdCluster>/<its status.clusterID>`, as its present data is given up. Nothing is touched until then.
        NoConsent,
        /// It was given up; the message says why. The cluster has the data that it had before. Create another EtcdRestore.
        GivenUp,
    }
}

/// Adds the controller.
pub(crate) fn add_to(manager: &mut Manager, clusters: &Store<EtcdCluster>, restores: &Store<EtcdRestore>) {
    let reconciler = EtcdRestores { clusters: clusters.clone(), restores: restores.clone() };
    let near = restores.clone();
    let controller = manager.controller(reconciler, restores).watches(
        clusters,
        move |change: &Change<'_, EtcdCluster>| {
            let of_it = near.in_namespace(change.key.namespace());
            of_it
                .iter()
                .filter(|it| it.spec.cluster_name == change.key.name())
                .map(|it| Key::of(&**it))
                .collect()
        },
    );
    manager.add(controller);
}

/// Which cluster an EtcdRestore is about.
pub(crate) fn of_cluster(change: &Change<'_, EtcdRestore>) -> Vec<Key> {
    let both = [change.old, change.new].into_iter().flatten();
    both.map(|restore| Key::new(change.key.namespace(), restore.spec.cluster_name.as_str())).collect()
}

struct EtcdRestores {
    clusters: Store<EtcdCluster>,
    restores: Store<EtcdRestore>,
}

/// An EtcdRestore, and the cluster that it is about; nothing if it is gone.
struct Seen {
    restore: Option<Arc<EtcdRestore>>,
    cluster: Option<Arc<EtcdCluster>>,
}

/// How it stands.
#[derive(Debug, Clone, PartialEq)]
struct Told {
    phase: RestorePhase,
    step: Option<String>,
    message: String,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
}

impl Reconciler for EtcdRestores {
    const NAME: &'static str = "etcd-restore";
    type Kind = EtcdRestore;
    type Picture = Seen;
    type Plan = Option<Told>;

    async fn observe(&self, _: &Context, key: &Key) -> Result<Seen> {
        let restore = self.restores.get(key);
        let cluster = restore
            .as_ref()
            .and_then(|it| self.clusters.get(&Key::new(key.namespace(), it.spec.cluster_name.as_str())));
        Ok(Seen { restore, cluster })
    }

    fn decide(&self, seen: &Seen, _: Timestamp) -> Option<Told> {
        Some(tell(seen.restore.as_ref()?, seen.cluster.as_deref()))
    }

    async fn act(&self, _: &Context, _: &Self::Plan) -> Result<()> {
        Ok(())
    }

    async fn report(&self, cx: &Context, seen: &Seen, told: &Self::Plan, acted: Acted) -> Outcome {
        let (Some(restore), Some(told)) = (&seen.restore, told) else { return acted.outcome() };
        let status = status(restore, told, cx.now());
        match cx.report(&**restore, &status, [], acted).await {
            Ok((acted @ Acted::Failed(_), _)) => acted.outcome(),
            Ok(_) if told.phase.is_over() => Outcome::Done,
            Ok(_) => Outcome::wait("the cluster", LOOK),
            Err(outcome) => outcome,
        }
    }

    fn access() -> Vec<Access> {
        vec![Access::status::<EtcdRestore>()]
    }
}

fn tell(restore: &EtcdRestore, cluster: Option<&EtcdCluster>) -> Told {
    let before = restore.status.clone().unwrap_or_default();
    let waits =
        |phase, message: String| Told { phase, step: None, message, started_at: None, completed_at: None };
    if let Some(phase) = before.phase.filter(|phase| phase.is_over()) {
        return Told {
            phase,
            step: before.step,
            message: before.message.unwrap_or_default(),
            started_at: before.started_at.map(|time| time.0),
            completed_at: before.completed_at.map(|time| time.0),
        };
    }
    let name = &restore.spec.cluster_name;
    let Some(cluster) = cluster else {
        let message = format!(
            "there is no EtcdCluster {name} in this namespace. To begin a new one with a backup, set spec.bootstrap.recovery in it"
        );
        return waits(RestorePhase::Pending, message);
    };
    let status = cluster.status.as_ref();
    let standing = status.and_then(|status| status.restore.as_ref());
    if let Some(own) = standing.filter(|own| own.uid == restore.uid()) {
        return Told {
            phase: own.phase,
            step: Some(own.step.clone()),
            message: own.message.clone(),
            started_at: Some(own.started_at.0),
            completed_at: own.completed_at.as_ref().map(|time| time.0),
        };
    }
    if before.phase == Some(RestorePhase::Running) && standing.is_some() {
        let message = "another EtcdRestore took its place".to_owned();
        return waits(RestorePhase::Failed, message);
    }
    let id = status.and_then(|status| status.cluster_id.as_ref());
    if let Some(consent) = id.map(|id| consent(name, id)).filter(|consent| restore.spec.consent != *consent) {
        let message = format!(
            "spec.consent: the present data of the EtcdCluster {name} would be given up; set it to {consent} to agree. Nothing is touched until then"
        );
        return waits(RestorePhase::WaitingForConsent, message);
    }
    if let Some(other) = standing.filter(|other| !other.phase.is_over()) {
        let other = other.name.as_deref().unwrap_or("spec.bootstrap.recovery");
        return waits(RestorePhase::Pending, format!("another restore of {name} is under way: {other}"));
    }
    let message = match id {
        None => format!("the EtcdCluster {name} does not exist in etcd yet: it begins when it does"),
        Some(_) if cluster.spec.paused => format!("the EtcdCluster {name} is paused"),
        Some(_) => "it is about to begin".to_owned(),
    };
    waits(RestorePhase::Pending, message)
}

fn status(restore: &EtcdRestore, told: &Told, now: Timestamp) -> EtcdRestoreStatus {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    let before = restore.status.clone().unwrap_or_default();
    let live = before.conditions.unwrap_or_default();
    let mut conditions = Conditions::from_live(&live, restore.meta().generation, now);
    let (truth, why) = match told.phase {
        RestorePhase::Completed => (true, Why::Restored),
        RestorePhase::Failed => (false, Why::GivenUp),
        RestorePhase::Running => (false, Why::Restoring),
        RestorePhase::Pending => (false, Why::Waiting),
        RestorePhase::WaitingForConsent => (false, Why::NoConsent),
    };
    conditions.set(Condition::new("Restored", truth, why, told.message.clone()));
    EtcdRestoreStatus {
        phase: Some(told.phase),
        step: told.step.clone(),
        message: Some(told.message.clone()),
        observed_generation: restore.meta().generation,
        started_at: told.started_at.map(Time),
        completed_at: told.completed_at.map(Time),
        conditions: Some(conditions.into_vec()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn restore(consent: &str) -> EtcdRestore {
        serde_json::from_value(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdRestore", "metadata": {"name": "back", "uid": "r"},
            "spec": {"clusterName": "db", "from": {"backup": "nightly"}, "consent": consent},
        }))
        .unwrap()
    }

    fn cluster(restore: Value) -> EtcdCluster {
        serde_json::from_value(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster", "metadata": {"name": "db"},
            "spec": {"version": "3.6.16"}, "status": {"clusterID": "9d3f", "restore": restore},
        }))
        .unwrap()
    }

    fn running(uid: &str) -> Value {
        json!({"name": "other", "uid": uid, "phase": "Running", "step": "Fetching", "message": "it is fetched", "startedAt": "2026-11-16T12:00:00Z"})
    }

    #[test]
    fn it_says_what_the_cluster_says_about_it() {
        let told = tell(&restore("db/9d3f"), Some(&cluster(running("r"))));
        assert_eq!((told.phase, told.step.as_deref()), (RestorePhase::Running, Some("Fetching")));
        let told = tell(&restore("db/9d3f"), Some(&cluster(running("another"))));
        assert_eq!(
            (told.phase, told.message.contains("another restore of db")),
            (RestorePhase::Pending, true)
        );
    }

    #[test]
    fn without_consent_it_waits_and_says_what_for() {
        for consent in ["", "db", "db/77aa"] {
            let told = tell(&restore(consent), Some(&cluster(Value::Null)));
            assert_eq!(told.phase, RestorePhase::WaitingForConsent);
            assert!(told.message.contains("set it to db/9d3f to agree"), "{}", told.message);
        }
        assert_eq!(tell(&restore("db/9d3f"), None).phase, RestorePhase::Pending);
    }

    #[test]
    fn what_is_over_stays_over() {
        let mut over = restore("db/9d3f");
        over.status =
            Some(EtcdRestoreStatus { phase: Some(RestorePhase::Completed), ..EtcdRestoreStatus::default() });
        assert_eq!(tell(&over, Some(&cluster(running("another")))).phase, RestorePhase::Completed);
    }
}
