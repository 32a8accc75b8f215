//! Deployments: so many Pods of this template, replaced all at once or one after the other.

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentCondition, DeploymentStatus},
        core::v1::Pod,
    },
    apimachinery::pkg::util::intstr::IntOrString,
};
use kube::ResourceExt as _;

use super::{
    picture::Picture,
    pods::{self, count},
    turn::Turn,
};

const HASH: &str = "pod-template-hash";

pub(super) fn decide(picture: &Picture, turn: &mut Turn) {
    for deployment in picture.deployments.values() {
        if deployment.metadata.deletion_timestamp.is_none() {
            one(deployment, picture, turn);
        }
    }
}

/// The pods of a Deployment. Those that are going count for nothing, but a `Recreate` waits for them.
struct Rollout<'p> {
    deployment: &'p Deployment,
    hash: String,
    wanted: usize,
    new: Vec<&'p Pod>,
    old: Vec<&'p Pod>,
    /// Of another template, and not gone yet.
    old_going: usize,
    available: usize,
    /// The names of all, also of those that are going.
    taken: Vec<String>,
}

fn one(deployment: &Deployment, picture: &Picture, turn: &mut Turn) {
    let spec = &deployment.spec;
    pods::adopt(picture, deployment, &spec.selector, turn);
    let hash = pods::hash(&spec.template);
    let is_new = |pod: &&&Pod| pod.labels().get(HASH) == Some(&hash);
    let all = pods::owned(picture, deployment);
    let active: Vec<&Pod> = all.iter().copied().filter(|pod| pods::is_active(pod)).collect();
    let available = active.iter().filter(|pod| pods::is_available(pod, spec.min_ready_seconds, turn)).count();
    let (new, old): (Vec<&Pod>, Vec<&Pod>) = active.iter().copied().partition(|pod| is_new(&pod));
    let rollout = Rollout {
        deployment,
        wanted: usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or_default(),
        new,
        old,
        old_going: all.iter().filter(|pod| pods::is_going(pod) && !is_new(pod)).count(),
        available,
        taken: all.iter().map(|pod| pod.name_any()).collect(),
        hash,
    };
    rollout.report(turn);
    rollout.proceed(turn);
}

impl Rollout<'_> {
    fn proceed(&self, turn: &mut Turn) {
        if self.is_recreate() {
            self.old.iter().for_each(|pod| turn.delete(*pod));
            if self.old.is_empty() && self.old_going == 0 {
                self.create(self.wanted.saturating_sub(self.new.len()), turn);
            }
        } else {
            let (surge, unavailable) = self.limits();
            let room = (self.wanted + surge).saturating_sub(self.new.len() + self.old.len());
            self.create(room.min(self.wanted.saturating_sub(self.new.len())), turn);
            // Those that do not serve may always go; of those that do, as many as are not needed.
            let (serving, idle): (Vec<&Pod>, Vec<&Pod>) =
                self.old.iter().partition(|pod| pods::is_ready(pod));
            let may_go = self.available.saturating_sub(self.wanted.saturating_sub(unavailable));
            idle.iter().chain(serving.iter().take(may_go)).for_each(|pod| turn.delete(*pod));
        }
        let mut spare = self.new.clone();
        // Unready ones first, then the youngest name.
        spare.sort_by_key(|pod| (!pods::is_ready(pod), pod.name_any()));
        let excess = self.new.len().saturating_sub(self.wanted);
        spare.iter().rev().take(excess).for_each(|pod| turn.delete(*pod));
    }

    fn create(&self, number: usize, turn: &mut Turn) {
        let base = format!("{}-{}", self.deployment.name_any(), self.hash);
        let free = (0..).map(|index| format!("{base}-{index}")).filter(|name| !self.taken.contains(name));
        for name in free.take(number) {
            let labels = [(HASH, self.hash.clone())];
            turn.create(&pods::from_template(&self.deployment.spec.template, self.deployment, name, labels));
        }
    }

    fn is_recreate(&self) -> bool {
        let strategy = self.deployment.spec.strategy.as_ref();
        strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate")
    }

    /// How many more there may be, and how many fewer.
    fn limits(&self) -> (usize, usize) {
        let rolling =
            self.deployment.spec.strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
        let share = |of: Option<&IntOrString>, up: bool| match of {
            Some(IntOrString::Int(number)) => usize::try_from(*number).unwrap_or_default(),
            Some(IntOrString::String(text)) => {
                let percent: usize = text.trim_end_matches('%').parse().unwrap_or_default();
                let hundredths = percent * self.wanted;
                if up { hundredths.div_ceil(100) } else { hundredths / 100 }
            }
            None => 0,
        };
        let surge = share(rolling.and_then(|rolling| rolling.max_surge.as_ref()), true);
        let unavailable = share(rolling.and_then(|rolling| rolling.max_unavailable.as_ref()), false);
        if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
    }

    fn report(&self, turn: &mut Turn) {
        let old = self.deployment.status.clone().unwrap_or_default();
        let active = || self.new.iter().chain(&self.old);
        let mut new = DeploymentStatus {
            observed_generation: self.deployment.metadata.generation,
            replicas: count(active().count()),
            updated_replicas: count(self.new.len()),
            ready_replicas: count(active().filter(|pod| pods::is_ready(pod)).count()),
            available_replicas: count(self.available),
            unavailable_replicas: count(self.wanted.saturating_sub(self.available)),
            ..old.clone()
        };
        let conditions = [self.available_condition(), self.progressing_condition(&old, &new, turn)];
        new.conditions = Some(conditions.map(|condition| stamped(condition, &old, turn)).into());
        turn.status(self.deployment, &old, &new);
    }

    fn available_condition(&self) -> DeploymentCondition {
        let unavailable = if self.is_recreate() { 0 } else { self.limits().1 };
        if self.available >= self.wanted.saturating_sub(unavailable) {
            condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        } else {
            let message = "Deployment does not have minimum availability.";
            condition("Available", "False", "MinimumReplicasUnavailable", message)
        }
    }

    /// Done, under way, or stuck. What was done once does not get stuck later.
    fn progressing_condition(
        &self,
        old: &DeploymentStatus,
        new: &DeploymentStatus,
        turn: &mut Turn,
    ) -> DeploymentCondition {
        const DONE: &str = "NewReplicaSetAvailable";
        let set = format!("{}-{}", self.deployment.name_any(), self.hash);
        let says = |what: &str| format!("ReplicaSet \"{set}\" {what}.");
        let done = condition("Progressing", "True", DONE, &says("has successfully progressed"));
        let before = find(old, "Progressing");
        let of_this =
            before.filter(|before| before.message.as_ref().is_some_and(|message| message.contains(&set)));
        let complete = self.new.len() == self.wanted && self.old.is_empty() && self.available >= self.wanted;
        if complete || of_this.is_some_and(|before| before.reason.as_deref() == Some(DONE)) {
            return done;
        }
        let progress =
            |status: &DeploymentStatus| (status.updated_replicas, status.available_replicas, status.replicas);
        let standing = of_this.filter(|_| progress(old) == progress(new));
        let deadline = i64::from(self.deployment.spec.progress_deadline_seconds.unwrap_or(600));
        let since = match standing.and_then(|before| before.last_update_time.as_ref()) {
            Some(since) => since.clone(),
            None => turn.time(),
        };
        let stuck = standing.is_some_and(|before| before.status.as_deref() == Some("False"));
        let mut now = if stuck || turn.is_past(since.0, deadline) {
            condition("Progressing", "False", "ProgressDeadlineExceeded", &says("has timed out progressing"))
        } else {
            condition("Progressing", "True", "ReplicaSetUpdated", &says("is progressing"))
        };
        now.last_update_time = Some(since);
        now
    }
}

fn find<'s>(status: &'s DeploymentStatus, kind: &str) -> Option<&'s DeploymentCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_.as_deref() == Some(kind))
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> DeploymentCondition {
    DeploymentCondition {
        type_: Some(kind.into()),
        status: Some(status.into()),
        reason: Some(reason.into()),
        message: Some(message.into()),
        ..DeploymentCondition::default()
    }
}

/// With the times of the condition before, as far as it is still the same.
fn stamped(new: DeploymentCondition, old: &DeploymentStatus, turn: &Turn) -> DeploymentCondition {
    let before = new.type_.as_deref().and_then(|kind| find(old, kind));
    let turned = before.filter(|before| before.status == new.status);
    let same = turned.filter(|before| before.reason == new.reason && before.message == new.message);
    DeploymentCondition {
        last_transition_time: turned.map_or(Some(turn.time()), |before| before.last_transition_time.clone()),
        last_update_time: new
            .last_update_time
            .or_else(|| same.and_then(|before| before.last_update_time.clone()))
            .or_else(|| Some(turn.time())),
        ..new
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{Cluster, template};

    #[tokio::test(start_paused = true)]
    async fn a_deployment_gets_its_pods_and_says_so() {
        let cluster = Cluster::new();
        cluster.deployment("web", json!({"replicas": 2}), "serve 1").await;
        cluster.rest().await;
        assert_eq!(cluster.pods().await, ["web-0 serve 1: ready", "web-1 serve 1: ready"]);
        let status = cluster.status("deployments.apps", "web");
        assert_eq!(
            (
                &status["replicas"],
                &status["updatedReplicas"],
                &status["readyReplicas"],
                &status["availableReplicas"]
            ),
            (&json!(2), &json!(2), &json!(2), &json!(2))
        );
        assert_eq!(status["observedGeneration"], json!(1));
        assert_eq!(cluster.conditions("deployments.apps", "web"), ["Available=True", "Progressing=True"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rolling_update_never_has_fewer_than_wanted_that_serve() {
        let cluster = Cluster::new();
        let rolling =
            json!({"replicas": 2, "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}});
        cluster.deployment("web", rolling, "serve 1").await;
        cluster.rest().await;
        let before = cluster.revision();
        cluster.patch("deployments.apps", "web", json!({"spec": {"template": template("serve 2")}})).await;
        cluster.rest().await;
        assert_eq!(cluster.pods().await, ["web-0 serve 2: ready", "web-1 serve 2: ready"]);
        let (fewest, most) = cluster.serving_since(before);
        assert_eq!((fewest, most), (2, 3));
    }

    #[tokio::test(start_paused = true)]
    async fn recreate_stops_the_old_before_it_starts_the_new() {
        let cluster = Cluster::new();
        cluster.deployment("web", json!({"strategy": {"type": "Recreate"}}), "serve 1").await;
        cluster.rest().await;
        let before = cluster.revision();
        cluster.patch("deployments.apps", "web", json!({"spec": {"template": template("serve 2")}})).await;
        cluster.rest().await;
        assert_eq!(cluster.pods().await, ["web-0 serve 2: ready"]);
        assert_eq!(cluster.serving_since(before), (0, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rollout_that_does_not_get_on_is_stuck_at_its_deadline_and_leaves_the_old_serving() {
        let cluster = Cluster::new();
        let spec = json!({"replicas": 1, "progressDeadlineSeconds": 120, "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}});
        cluster.deployment("web", spec, "serve 1").await;
        cluster.rest().await;
        cluster.patch("deployments.apps", "web", json!({"spec": {"template": template("crash")}})).await;
        cluster.pass(100).await;
        assert_eq!(cluster.conditions("deployments.apps", "web"), ["Available=True", "Progressing=True"]);
        cluster.pass(60).await;
        assert_eq!(cluster.conditions("deployments.apps", "web"), ["Available=True", "Progressing=False"]);
        assert_eq!(cluster.pods().await, ["web-0 crash: CrashLoopBackOff", "web-0 serve 1: ready"]);

        cluster.patch("deployments.apps", "web", json!({"spec": {"template": template("serve 1")}})).await;
        cluster.rest().await;
        assert_eq!(cluster.pods().await, ["web-0 serve 1: ready"]);
        assert_eq!(cluster.conditions("deployments.apps", "web"), ["Available=True", "Progressing=True"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_pod_comes_back_and_fewer_replicas_are_fewer_pods() {
        let cluster = Cluster::new();
        cluster.deployment("web", json!({"replicas": 3}), "serve 1").await;
        cluster.rest().await;
        cluster.delete_pod("web-1").await;
        cluster.rest().await;
        assert_eq!(cluster.pods().await.len(), 3);
        cluster.patch("deployments.apps", "web", json!({"spec": {"replicas": 1}})).await;
        cluster.rest().await;
        assert_eq!(cluster.pods().await, ["web-0 serve 1: ready"]);
    }

    #[tokio::test(start_paused = true)]
    async fn pods_that_were_orphaned_are_adopted_by_the_next_deployment_that_selects_them() {
        let cluster = Cluster::new();
        cluster.deployment("web", json!({}), "serve 1").await;
        cluster.rest().await;
        cluster.delete("deployments.apps", "web", "Orphan").await;
        cluster.rest().await;
        let before = cluster.uid("pods", &cluster.pod_names("web").await[0]);
        cluster.deployment("web", json!({}), "serve 1").await;
        cluster.rest().await;
        let names = cluster.pod_names("web").await;
        assert_eq!((names.len(), cluster.uid("pods", &names[0])), (1, before));
    }

    #[tokio::test(start_paused = true)]
    async fn the_pods_of_a_deleted_deployment_go() {
        let cluster = Cluster::new();
        cluster.deployment("web", json!({}), "serve 1").await;
        cluster.rest().await;
        cluster.delete("deployments.apps", "web", "Background").await;
        cluster.rest().await;
        assert!(cluster.pods().await.is_empty());
    }
}
