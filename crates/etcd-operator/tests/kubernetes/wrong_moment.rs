//! Members are killed, paused, cut off or lost with their node just when the operator is in the middle of something else. What was begun
//! waits or goes on, is finished in the end, and nothing that was acknowledged is lost.

use std::time::Duration;

use serde_json::json;

use crate::{
    cluster::{Cluster, Clusters as _, member_of, spec},
    ground::{self, CutOff, Signal, Unplugged},
    load::Load,
    patience::{LONG, PATIENCE},
    world::{World, scenario, trouble},
};

/// A cluster of which one member has the new version, and the others have not.
async fn in_the_middle_of_an_upgrade<'w>(world: &'w World, patience: &str) -> (Cluster<'w>, Load) {
    let cluster = world.cluster("db");
    let mut old = spec(3, "3.5.35");
    old["remediation"] = json!({"restartAfter": patience, "replaceAfter": patience});
    cluster.create(old).await;
    cluster.is_well(3, "3.5.35", PATIENCE).await;
    let load = cluster.load().await;
    cluster.patch(json!({"version": "3.6.16"})).await;
    cluster.until("the first has moved", PATIENCE, |_, status| status.updated_members == Some(1)).await;
    (cluster, load)
}

/// All of it was carried out, and nothing was lost.
async fn ends_well(cluster: &Cluster<'_>, size: i32, load: Load, what: &str) {
    cluster.is_well(size, "3.6.16", LONG).await;
    load.stop(what).await;
    cluster.members_agree().await;
}

#[tokio::test]
async fn the_leader_is_killed_in_the_middle_of_an_upgrade() {
    scenario(async |world| {
        let (cluster, load) = in_the_middle_of_an_upgrade(world, "5m").await;
        ground::signal(&cluster.leader().await, Signal::KILL);
        load.grows(50).await;
        ends_well(&cluster, 3, load, "leader killed while upgrading").await;
        assert_eq!(cluster.status().await.latest_serial, Some(3), "nobody was replaced");
    })
    .await;
}

#[tokio::test]
async fn a_follower_is_cut_off_in_the_middle_of_an_upgrade() {
    scenario(async |world| {
        let (cluster, load) = in_the_middle_of_an_upgrade(world, "5m").await;
        let cut = CutOff::from_others(world, &cluster.follower().await, &cluster.pods().await);
        cluster.until("it is missed", PATIENCE, |_, status| status.ready_members == Some(2)).await;
        load.grows(100).await;
        drop(cut);
        ends_well(&cluster, 3, load, "follower cut off while upgrading").await;
        assert_eq!(cluster.status().await.latest_serial, Some(3), "nobody was replaced");
    })
    .await;
}

#[tokio::test]
async fn a_follower_hangs_while_another_joins() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let load = cluster.load().await;
        let follower = cluster.follower().await;
        cluster.patch(json!({"size": 5})).await;
        cluster.until("one more is a member", PATIENCE, |_, status| status.replicas == Some(4)).await;
        ground::signal(&follower, Signal::STOP);
        load.grows(100).await;
        ground::signal(&follower, Signal::CONT);
        ends_well(&cluster, 5, load, "follower paused while growing").await;
        assert_eq!(cluster.status().await.latest_serial, Some(5), "nobody was replaced");
    })
    .await;
}

#[tokio::test]
async fn a_node_dies_in_the_middle_of_an_upgrade() {
    trouble(async |world| {
        let (cluster, load) = in_the_middle_of_an_upgrade(world, "20s").await;
        let lost = cluster.follower().await;
        let node = lost.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap();
        let unplugged = Unplugged::node(world, &node).await;
        let done = |status: &etcd_types::EtcdClusterStatus| status.ready_members == Some(3);
        cluster.until("it is missed", PATIENCE, |_, status| !done(status)).await;
        cluster
            .until("three serve without it", LONG + Duration::from_secs(60), |_, status| done(status))
            .await;
        unplugged.restore().await;
        ends_well(&cluster, 3, load, "node lost while upgrading").await;
        let members = cluster.status().await.members.unwrap_or_default();
        assert!(members.iter().all(|member| member.name != member_of(&lost)), "it was replaced: {members:?}");
    })
    .await;
}
