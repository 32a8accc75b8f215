//! The node of the seed dies, in each stage of a restore to a point in time.
//!
//! Every stage but Starting is held while the node dies: Fetching and Replaying by a store that does not answer, Stopping and Returning by a
//! finalizer on a pod, Growing by cordoned nodes. Before clients are let in, the old members come back with everything that they had; from
//! then on the seed is kept, because clients may have written to it.

use etcd_types::{EtcdRestore, RestorePhase};
use k8s_openapi::api::core::v1::Pod;
use kube::{ResourceExt, api::DeleteParams};
use serde_json::json;

use super::{cordoned, local, move_operator, node_of, survivor};
use crate::{
    cluster::{Cluster, Clusters as _},
    ground::{self, Signal, Unplugged},
    patience::{LONG, PATIENCE, until, when},
    restore::{capture, captured, consent, get, is_at, put, restore, s3, store, until_restore, with_store},
    world::{World, trouble},
};

const HELD: &str = "scenario.capstan.dev/held";

/// A cluster whose key `kept` is "good" at one revision and "present" at the last one, both captured. The operator and the store run on the
/// node that survives.
struct Scene<'w> {
    world: &'w World,
    cluster: Cluster<'w>,
    victim: String,
    others: Vec<String>,
    store: Pod,
    cluster_id: Option<String>,
    good: i64,
    present: i64,
}

impl<'w> Scene<'w> {
    async fn set(world: &'w World) -> Self {
        let (survivor, mut others) = survivor(world).await;
        let cluster = world.cluster("db");
        cluster.create(local()).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        cordoned(world, &others, async || {
            move_operator(world, &others).await;
            with_store(world).await;
        })
        .await;
        capture(world, "db").await;
        captured(world, "db", put(&cluster, "first", "1").await).await;
        let good = put(&cluster, "kept", "good").await;
        let present = put(&cluster, "kept", "present").await;
        captured(world, "db", present).await;
        let (victim, store) = (others.remove(0), s3(world).await);
        others.push(survivor);
        let cluster_id = cluster.status().await.cluster_id;
        Self { world, cluster, victim, others, store, cluster_id, good, present }
    }

    fn freeze_store(&self) {
        ground::signal(&self.store, Signal::STOP);
    }

    fn thaw_store(&self) {
        ground::signal(&self.store, Signal::CONT);
    }

    /// Begins a restore whose seed is on the victim. The store does not answer yet.
    async fn begin(&self) {
        self.freeze_store();
        cordoned(self.world, &self.others, async || {
            let from = json!({"store": store(), "revision": self.good});
            restore(self.world, "back", from, &consent(&self.cluster).await).await;
            until("the Job of the seed is on the victim", PATIENCE, async || {
                let pods = self.world.list::<Pod>("app.kubernetes.io/name=etcd-restore").await;
                let on = pods.iter().find_map(node_of);
                when(on.as_ref() == Some(&self.victim), on)
            })
            .await;
        })
        .await;
    }

    async fn is_at(&self, steps: &[&str]) {
        is_at(self.world, "back", steps).await;
    }

    /// The seed's pod, as soon as it has a node.
    async fn seed(&self) -> Pod {
        until("the seed has a node", PATIENCE, async || {
            let pod = self.world.api::<Pod>().get_opt("db-4-0").await.map_err(|error| error.to_string())?;
            pod.filter(|pod| node_of(pod).is_some()).ok_or_else(|| "no pod with a node".to_owned())
        })
        .await
    }

    async fn replay_has_a_node(&self) {
        until("the Job that replays has a node", PATIENCE, async || {
            let pods = self.world.list::<Pod>("app.kubernetes.io/name=etcd-restore").await;
            let on = pods.iter().find(|pod| pod.name_any().starts_with("db-replay-")).and_then(node_of);
            when(on.is_some(), on)
        })
        .await;
    }

    /// Pulls the plug of the victim, and waits until Kubernetes knows it.
    async fn kill(&self) -> Unplugged<'w> {
        let unplugged = Unplugged::node(self.world, &self.victim).await;
        let wait = format!("wait --for=condition=Ready=Unknown --timeout=90s node/{}", self.victim);
        self.world.kubectl(&wait).await.unwrap();
        unplugged
    }

    async fn hold(&self, pod: &str) {
        self.finalizers(pod, &format!("[\"{HELD}\"]")).await;
    }

    async fn release(&self, pod: &str) {
        self.finalizers(pod, "null").await;
    }

    async fn finalizers(&self, pod: &str, list: &str) {
        let patch =
            format!("patch pod {pod} --type=merge --patch={{\"metadata\":{{\"finalizers\":{list}}}}}");
        self.world.kubectl(&patch).await.unwrap();
    }

    /// Two old members serve what they had, at the revision that they had; the third returns with its node.
    async fn is_as_before(&self, victim: Unplugged<'_>) {
        let two = |status: &etcd_types::EtcdClusterStatus| status.ready_members >= Some(2);
        self.cluster.until("two members serve", LONG, |_, status| two(status)).await;
        assert_eq!(self.cluster.status().await.cluster_id, self.cluster_id);
        let (kept, revision) = get(&self.cluster, "kept").await;
        assert_eq!(
            (kept.as_deref(), revision),
            (Some("present"), self.present),
            "nothing was lost or written"
        );
        victim.restore().await;
        self.cluster.is_well(3, "3.6.16", LONG).await;
        assert_eq!(
            get(&self.cluster, "kept").await.0.as_deref(),
            Some("present"),
            "the seed serves no client"
        );
        self.cluster.members_agree().await;
    }

    async fn fails(&self) {
        let failed = until_restore(self.world, "back", RestorePhase::Failed, LONG).await;
        println!("    {}", failed.message.unwrap_or_default());
    }

    async fn completes(&self) {
        until_restore(self.world, "back", RestorePhase::Completed, LONG).await;
        assert_eq!(get(&self.cluster, "kept").await.0.as_deref(), Some("good"));
        assert_ne!(self.cluster.status().await.cluster_id, self.cluster_id);
    }
}

/// Nothing has started on that volume: the data is fetched once more, to another node.
#[tokio::test]
async fn seeds_node_dies_in_fetching_and_the_data_goes_elsewhere() {
    trouble(async |world| {
        let scene = Scene::set(world).await;
        scene.begin().await;
        scene.is_at(&["Fetching"]).await;
        let victim = scene.kill().await;
        scene.thaw_store();
        scene.completes().await;
        victim.restore().await;
        scene.cluster.is_well(3, "3.6.16", LONG).await;
        assert_eq!(get(&scene.cluster, "kept").await.0.as_deref(), Some("good"));
        scene.cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn seeds_node_dies_in_stopping_and_the_old_members_return() {
    trouble(async |world| {
        let scene = Scene::set(world).await;
        scene.begin().await;
        let pods = scene.cluster.pods().await;
        let elsewhere = |pod: &&Pod| node_of(pod).is_some_and(|node| node != scene.victim);
        let held = pods.iter().find(elsewhere).expect("a member on another node").name_any();
        scene.hold(&held).await;
        scene.thaw_store();
        scene.is_at(&["Stopping"]).await;
        let victim = scene.kill().await;
        scene.is_at(&["Stopping"]).await;
        scene.release(&held).await;
        scene.fails().await;
        scene.is_as_before(victim).await;
    })
    .await;
}

#[tokio::test]
async fn seeds_node_dies_in_starting_and_the_old_members_return() {
    trouble(async |world| {
        let scene = Scene::set(world).await;
        scene.begin().await;
        scene.thaw_store();
        scene.is_at(&["Stopping", "Starting"]).await;
        let victim = scene.kill().await;
        scene.fails().await;
        scene.is_as_before(victim).await;
    })
    .await;
}

#[tokio::test]
async fn seeds_node_dies_in_replaying_and_the_old_members_return() {
    trouble(async |world| {
        let scene = Scene::set(world).await;
        scene.begin().await;
        scene.thaw_store();
        scene.is_at(&["Stopping", "Starting"]).await;
        scene.freeze_store();
        scene.is_at(&["Replaying"]).await;
        let victim = scene.kill().await;
        scene.fails().await;
        scene.thaw_store();
        scene.is_as_before(victim).await;
    })
    .await;
}

#[tokio::test]
async fn seeds_node_dies_in_returning_and_the_old_members_return() {
    trouble(async |world| {
        let scene = Scene::set(world).await;
        scene.begin().await;
        scene.thaw_store();
        scene.is_at(&["Stopping", "Starting"]).await;
        scene.freeze_store();
        scene.is_at(&["Replaying"]).await;
        let seed = scene.seed().await.name_any();
        scene.hold(&seed).await;
        world.api::<EtcdRestore>().delete("back", &DeleteParams::default()).await.unwrap();
        until("the seed is being stopped", PATIENCE, async || {
            let pod = world.api::<Pod>().get(&seed).await.map_err(|error| error.to_string())?;
            when(pod.metadata.deletion_timestamp.is_some(), pod.metadata)
        })
        .await;
        let victim = scene.kill().await;
        scene.thaw_store();
        scene.cluster.until("two members serve", LONG, |_, it| it.ready_members >= Some(2)).await;
        scene.release(&seed).await;
        scene.is_as_before(victim).await;
    })
    .await;
}

/// Clients may have written to the seed: it is waited for, and the message says what else can be done.
#[tokio::test]
async fn seeds_node_dies_in_growing_and_is_waited_for() {
    trouble(async |world| {
        let scene = Scene::set(world).await;
        scene.begin().await;
        scene.thaw_store();
        scene.is_at(&["Stopping", "Starting"]).await;
        scene.freeze_store();
        scene.is_at(&["Replaying"]).await;
        scene.replay_has_a_node().await;
        let all: Vec<String> = scene.others.iter().chain([&scene.victim]).cloned().collect();
        let mut dead = None;
        cordoned(world, &all, async || {
            scene.thaw_store();
            scene.is_at(&["Growing"]).await;
            let victim = scene.kill().await;
            until("the restore says what can be done", LONG, async || {
                let back = world.api::<EtcdRestore>().get("back").await.map_err(|error| error.to_string())?;
                let message = back.status.and_then(|status| status.message).unwrap_or_default();
                when(message.contains("create another EtcdRestore"), message)
            })
            .await;
            dead = Some(victim);
        })
        .await;
        dead.expect("the victim").restore().await;
        scene.completes().await;
        scene.cluster.is_well(3, "3.6.16", LONG).await;
        scene.cluster.members_agree().await;
    })
    .await;
}
