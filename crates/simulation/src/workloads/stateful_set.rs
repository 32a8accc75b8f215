//! StatefulSets: numbered Pods with claims of their own, made in order and replaced from the last to the first.

use std::ops::Range;

use k8s_openapi::api::{
    apps::v1::{StatefulSet, StatefulSetStatus},
    core::v1::{PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume},
};
use kube::{ResourceExt as _, core::ObjectMeta};

use super::{
    picture::Picture,
    pods::{self, count},
    turn::Turn,
};

const REVISION: &str = "controller-revision-hash";

pub(super) fn decide(picture: &Picture, turn: &mut Turn) {
    for set in picture.stateful_sets.values() {
        if set.metadata.deletion_timestamp.is_none() {
            pods::adopt(picture, set, &set.spec.selector, turn);
            let state = State::of(set, picture);
            let status = state.report(turn);
            state.proceed(&status, turn);
        }
    }
}

struct State<'p> {
    set: &'p StatefulSet,
    picture: &'p Picture,
    ordinals: Range<i32>,
    /// By ordinal, those that are going too: their names are taken.
    pods: Vec<(i32, &'p Pod)>,
    update: String,
}

impl<'p> State<'p> {
    fn of(set: &'p StatefulSet, picture: &'p Picture) -> Self {
        let prefix = format!("{}-", set.name_any());
        let ordinal = |pod: &Pod| pod.metadata.name.as_ref()?.strip_prefix(&prefix)?.parse().ok();
        let start = set.spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or_default();
        let owned = pods::owned(picture, set);
        let mut pods: Vec<(i32, &Pod)> =
            owned.into_iter().filter_map(|pod| ordinal(pod).map(|ordinal| (ordinal, pod))).collect();
        pods.sort_by_key(|(ordinal, _)| *ordinal);
        let ordinals = start..start + set.spec.replicas.unwrap_or(1);
        Self { set, picture, ordinals, pods, update: format!("{prefix}{}", pods::hash(&set.spec.template)) }
    }

    fn is_parallel(&self) -> bool {
        self.set.spec.pod_management_policy.as_deref() == Some("Parallel")
    }

    fn pod(&self, ordinal: i32) -> Option<&'p Pod> {
        self.pods.iter().find(|(of, _)| *of == ordinal).map(|(_, pod)| *pod)
    }

    /// The first ordinal that a rollout changes; none with `OnDelete`.
    fn partition(&self) -> Option<i32> {
        let strategy = self.set.spec.update_strategy.as_ref();
        if strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("OnDelete") {
            return None;
        }
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        Some(rolling.and_then(|rolling| rolling.partition).unwrap_or_default())
    }

    fn is_of(&self, pod: &Pod, revision: &str) -> bool {
        pod.labels().get(REVISION).is_some_and(|of| of == revision)
    }

    fn proceed(&self, status: &StatefulSetStatus, turn: &mut Turn) {
        for ordinal in self.ordinals.clone() {
            match self.pod(ordinal) {
                None => self.create(ordinal, status, turn),
                Some(pod) if pods::is_over(pod) && !pods::is_going(pod) => turn.delete(pod),
                Some(pod) if pods::is_ready(pod) && !pods::is_going(pod) => continue,
                Some(_) => {}
            }
            if !self.is_parallel() {
                // Not even a better template helps: who has rolled out a broken one deletes its pod ("Forced rollback").
                return;
            }
        }
        for (_, pod) in self.pods.iter().rev().filter(|(ordinal, _)| !self.ordinals.contains(ordinal)) {
            if !pods::is_going(pod) {
                turn.delete(*pod);
            }
            if !self.is_parallel() {
                return;
            }
        }
        self.replace(turn);
    }

    /// From the last to the first, one at a time, waiting for each to be ready.
    fn replace(&self, turn: &mut Turn) {
        let Some(partition) = self.partition() else { return };
        for ordinal in self.ordinals.clone().rev().filter(|ordinal| *ordinal >= partition) {
            let Some(pod) = self.pod(ordinal).filter(|pod| !pods::is_going(pod)) else { return };
            if !self.is_of(pod, &self.update) {
                return turn.delete(pod);
            }
            if !pods::is_available(pod, self.set.spec.min_ready_seconds, turn) {
                return;
            }
        }
    }

    fn create(&self, ordinal: i32, status: &StatefulSetStatus, turn: &mut Turn) {
        let set = self.set.name_any();
        let name = format!("{set}-{ordinal}");
        let (revision, template) = self.revision_for(ordinal, status);
        let labels = [
            (REVISION, revision),
            ("statefulset.kubernetes.io/pod-name", name.clone()),
            ("apps.kubernetes.io/pod-index", ordinal.to_string()),
        ];
        let mut pod = pods::from_template(template, self.set, name.clone(), labels);
        let Some(spec) = pod.spec.as_mut() else { return };
        spec.hostname = Some(name.clone());
        spec.subdomain = self.set.spec.service_name.clone();
        for wanted in self.set.spec.volume_claim_templates.iter().flatten() {
            let claim_name = format!("{}-{name}", wanted.name_any());
            let volumes = spec.volumes.get_or_insert_default();
            volumes.retain(|volume| volume.name != wanted.name_any());
            volumes.push(Volume {
                name: wanted.name_any(),
                persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                    claim_name: claim_name.clone(),
                    read_only: None,
                }),
                ..Volume::default()
            });
            let key = (self.set.namespace().unwrap_or_default(), claim_name.clone());
            if !self.picture.claims.contains_key(&key) {
                turn.create(&self.claim(wanted, claim_name));
            }
        }
        turn.create(&pod);
    }

    /// Below the partition a pod comes back as it was.
    fn revision_for(&self, ordinal: i32, status: &StatefulSetStatus) -> (String, &PodTemplateSpec) {
        let new = (self.update.clone(), &self.set.spec.template);
        let kept = self.partition().is_some_and(|partition| ordinal < partition);
        let Some(current) = status.current_revision.as_ref().filter(|_| kept) else { return new };
        let hash = current.rsplit('-').next().unwrap_or_default();
        self.picture.templates.get(hash).map_or(new, |template| (current.clone(), template))
    }

    fn claim(&self, wanted: &PersistentVolumeClaim, name: String) -> PersistentVolumeClaim {
        let policy = self.set.spec.persistent_volume_claim_retention_policy.as_ref();
        let goes = policy.and_then(|policy| policy.when_deleted.as_deref()) == Some("Delete");
        PersistentVolumeClaim {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: self.set.namespace(),
                labels: self.set.spec.selector.match_labels.clone(),
                annotations: wanted.metadata.annotations.clone(),
                owner_references: pods::reference(self.set).filter(|_| goes).map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            spec: wanted.spec.clone(),
            status: None,
        }
    }

    fn report(&self, turn: &mut Turn) -> StatefulSetStatus {
        let old = self.set.status.clone().unwrap_or_default();
        let min_ready = self.set.spec.min_ready_seconds;
        let current = old.current_revision.clone().unwrap_or_else(|| self.update.clone());
        let mut counted = |test: &mut dyn FnMut(&Pod, &mut Turn) -> bool| {
            self.pods.iter().filter(|(_, pod)| !pods::is_going(pod) && test(pod, turn)).count()
        };
        let updated = counted(&mut |pod, _| self.is_of(pod, &self.update));
        let ready = counted(&mut |pod, _| pods::is_ready(pod));
        // A rollout is over when every pod is of the new revision and ready.
        let wanted = self.ordinals.len();
        let over = updated == wanted && ready >= wanted && self.pods.len() == wanted;
        let current = if over { self.update.clone() } else { current };
        let new = StatefulSetStatus {
            observed_generation: self.set.metadata.generation,
            replicas: i32::try_from(counted(&mut |_, _| true)).unwrap_or_default(),
            ready_replicas: count(ready),
            available_replicas: Some(
                count(counted(&mut |pod, turn| pods::is_available(pod, min_ready, turn))).unwrap_or_default(),
            ),
            updated_replicas: count(updated),
            current_replicas: count(counted(&mut |pod, _| self.is_of(pod, &current))),
            current_revision: Some(current),
            update_revision: Some(self.update.clone()),
            collision_count: Some(0),
            ..old.clone()
        };
        turn.status(self.set, &old, &new);
        new
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{Cluster, template};

    fn with_claims(more: Value) -> Value {
        let mut spec = json!({"replicas": 3, "volumeClaimTemplates": [{"metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    }

    #[tokio::test(start_paused = true)]
    async fn pods_come_in_order_each_with_its_claim_and_go_from_the_last() {
        let cluster = Cluster::new();
        cluster.stateful_set("db", with_claims(json!({})), "serve 1").await;
        cluster.rest().await;
        assert_eq!(
            cluster.pods().await,
            ["db-0 serve 1: ready", "db-1 serve 1: ready", "db-2 serve 1: ready"]
        );
        assert_eq!(cluster.created("pods"), ["db-0", "db-1", "db-2"]);
        assert_eq!(cluster.created("persistentvolumeclaims"), ["data-db-0", "data-db-1", "data-db-2"]);
        let status = cluster.status("statefulsets.apps", "db");
        assert_eq!((&status["readyReplicas"], &status["updatedReplicas"]), (&json!(3), &json!(3)));
        assert_eq!(status["currentRevision"], status["updateRevision"]);

        cluster.patch("statefulsets.apps", "db", json!({"spec": {"replicas": 1}})).await;
        cluster.rest().await;
        assert_eq!(cluster.deleted("pods"), ["db-2", "db-1"]);
        assert!(cluster.deleted("persistentvolumeclaims").is_empty(), "claims outlive the pods");
    }

    #[tokio::test(start_paused = true)]
    async fn a_rolling_update_goes_from_the_last_to_the_partition_and_stops_at_one_that_is_not_ready() {
        let cluster = Cluster::new();
        cluster.stateful_set("db", with_claims(json!({})), "serve 1").await;
        cluster.rest().await;
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}});
        let to = |what: &str| json!({"spec": {"updateStrategy": strategy, "template": template(what)}});
        cluster.patch("statefulsets.apps", "db", to("serve 2")).await;
        cluster.rest().await;
        assert_eq!(
            cluster.pods().await,
            ["db-0 serve 1: ready", "db-1 serve 2: ready", "db-2 serve 2: ready"]
        );
        assert_eq!(cluster.deleted("pods"), ["db-2", "db-1"]);
        cluster.delete_pod("db-0").await;
        cluster.rest().await;
        assert_eq!(
            cluster.pods().await[0],
            "db-0 serve 1: ready",
            "below the partition it comes back as it was"
        );

        cluster.patch("statefulsets.apps", "db", to("crash")).await;
        cluster.rest().await;
        let broken = ["db-0 serve 1: ready", "db-1 serve 2: ready", "db-2 crash: CrashLoopBackOff"];
        assert_eq!(cluster.pods().await, broken);
        cluster.patch("statefulsets.apps", "db", to("serve 2")).await;
        cluster.rest().await;
        assert_eq!(cluster.pods().await, broken, "the way back waits for the broken pod");
        cluster.delete_pod("db-2").await;
        cluster.rest().await;
        assert_eq!(cluster.pods().await[2], "db-2 serve 2: ready");
    }

    #[tokio::test(start_paused = true)]
    async fn on_delete_changes_nothing_until_a_pod_is_deleted() {
        let cluster = Cluster::new();
        cluster
            .stateful_set("db", with_claims(json!({"updateStrategy": {"type": "OnDelete"}})), "serve 1")
            .await;
        cluster.rest().await;
        cluster.patch("statefulsets.apps", "db", json!({"spec": {"template": template("serve 2")}})).await;
        cluster.rest().await;
        assert!(cluster.deleted("pods").is_empty());
        assert_eq!(cluster.status("statefulsets.apps", "db")["updatedReplicas"], json!(null));
        cluster.delete_pod("db-1").await;
        cluster.rest().await;
        assert_eq!(
            cluster.pods().await,
            ["db-0 serve 1: ready", "db-1 serve 2: ready", "db-2 serve 1: ready"]
        );
        assert_eq!(cluster.status("statefulsets.apps", "db")["updatedReplicas"], json!(1));
    }
}
