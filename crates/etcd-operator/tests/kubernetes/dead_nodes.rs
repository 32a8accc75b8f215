//! Restores where nodes are dead: of two members of three, and of the seed in each stage of a restore. These run alone.

mod seed;

use std::panic::{AssertUnwindSafe, resume_unwind};

use etcd_types::{Phase, RestorePhase};
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams},
};
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, Clusters as _, spec},
    ground::Unplugged,
    operator,
    patience::{LONG, PATIENCE, until, when},
    restore::{back_up, consent, get, put, restore, store, until_restore, with_store},
    world::{World, trouble},
};

/// Three members on volumes of their nodes; what is away is given up after seconds instead of minutes.
fn local() -> Value {
    let mut spec = spec(3, "3.6.16");
    spec["storage"]["storageClassName"] = json!("local");
    spec["remediation"] = json!({"restartAfter": "20s", "replaceAfter": "20s"});
    spec
}

fn node_of(pod: &Pod) -> Option<String> {
    pod.spec.as_ref().and_then(|spec| spec.node_name.clone())
}

/// The node that names are resolved on, and all others.
async fn survivor(world: &World) -> (String, Vec<String>) {
    let dns = world.elsewhere("kube-system").list::<Pod>("k8s-app=kube-dns").await;
    let survivor = dns.iter().find_map(node_of).expect("DNS runs");
    let nodes = Api::<Node>::all(world.client.clone()).list(&ListParams::default()).await.unwrap();
    let others = nodes.iter().map(ResourceExt::name_any).filter(|node| *node != survivor).collect();
    (survivor, others)
}

/// Lets nothing new onto these nodes while `story` is played, whatever becomes of it.
async fn cordoned(world: &World, nodes: &[String], story: impl AsyncFnOnce()) {
    let names = nodes.join(" ");
    world.kubectl(&format!("cordon {names}")).await.unwrap();
    let told = AssertUnwindSafe(story()).catch_unwind().await;
    world.kubectl(&format!("uncordon {names}")).await.unwrap();
    told.unwrap_or_else(|panic| resume_unwind(panic));
}

/// Moves the operator to the nodes that take pods.
async fn move_operator(world: &World, away_from: &[String]) {
    let home = world.elsewhere(operator::NAMESPACE).api::<Pod>();
    let is_there = |pod: &Pod| node_of(pod).is_some_and(|node| away_from.contains(&node));
    for pod in operator::pods(world).await.iter().filter(|pod| is_there(pod)) {
        home.delete(&pod.name_any(), &DeleteParams::default()).await.unwrap();
    }
    until("the operator has moved", PATIENCE, async || {
        let pods = operator::pods(world).await;
        when(!pods.iter().any(is_there), pods.len())
    })
    .await;
    operator::is_ready(world).await;
}

async fn quorum_is_lost(cluster: &Cluster<'_>) {
    cluster.until("has lost its quorum", LONG, |_, status| status.phase == Some(Phase::QuorumLost)).await;
}

/// The case that docs/etcd.md sends people to EtcdRestore for.
#[tokio::test]
async fn two_of_three_nodes_are_dead_and_a_restore_brings_the_cluster_back() {
    trouble(async |world| {
        let (_, victims) = survivor(world).await;
        let cluster = world.cluster("db");
        cluster.create(local()).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        let on: Vec<String> = cluster.pods().await.iter().filter_map(node_of).collect();
        assert!(victims.iter().all(|node| on.contains(node)), "members are on all nodes: {on:?}");
        cordoned(world, &victims, async || {
            move_operator(world, &victims).await;
            with_store(world).await;
            put(&cluster, "kept", "1").await;
            let id = back_up(world, "db", "nightly").await.status.unwrap().id.unwrap();
            put(&cluster, "kept", "spoiled").await;
            let before = cluster.status().await.cluster_id;
            let agreed = consent(&cluster).await;

            let mut unplugged = Vec::new();
            for node in &victims {
                unplugged.push(Unplugged::node(world, node).await);
            }
            quorum_is_lost(&cluster).await;
            restore(world, "back", json!({"store": store(), "id": id}), &agreed).await;
            until_restore(world, "back", RestorePhase::Completed, LONG).await;
            assert_eq!(get(&cluster, "kept").await.0.as_deref(), Some("1"));
            assert_ne!(cluster.status().await.cluster_id, before);
            let stuck = world.list::<Pod>("app.kubernetes.io/name=etcd,etcd.capstan.dev/cluster=db").await;
            let stuck = stuck.iter().filter(|pod| pod.metadata.deletion_timestamp.is_some()).count();
            assert_eq!(stuck, 2, "the pods of the dead nodes wait for them");

            for node in unplugged {
                node.restore().await;
            }
            let members = cluster.is_well(3, "3.6.16", LONG).await;
            assert_eq!(members.len(), 3);
            assert_eq!(get(&cluster, "kept").await.0.as_deref(), Some("1"), "nothing of before came back");
            cluster.members_agree().await;
        })
        .await;
    })
    .await;
}
