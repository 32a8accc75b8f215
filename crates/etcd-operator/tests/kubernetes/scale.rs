//! Scaled: learner first, leader never removed without handing over; and nobody notices.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    cluster::{Clusters as _, member_of},
    ground::{self, Signal},
    patience::{LONG, PATIENCE, until, when},
    truth,
    world::scenario,
};

#[tokio::test]
async fn one_three_five_three_one_under_load() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(1, "3.6.16").await;
        let id = cluster.status().await.cluster_id;
        let load = cluster.load().await;
        for size in [3, 5, 3, 1] {
            let began = Instant::now();
            world.kubectl(&format!("scale etcd db --replicas={size}")).await.unwrap();
            cluster.is_well(size, "3.6.16", LONG).await;
            println!("    {size} members after {:.1} s", began.elapsed().as_secs_f32());
            cluster.members_agree().await;
        }
        let report = load.stop("1→3→5→3→1").await.nothing_failed();
        assert!(report.requests > 500 && report.swaps > 0 && report.events > 0, "hardly any load: {report}");
        let status = cluster.status().await;
        assert_eq!((status.cluster_id, status.latest_serial), (id, Some(5)), "one cluster, no number twice");
    })
    .await;
}

#[tokio::test]
async fn three_one_three_with_the_volumes_of_those_that_left() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let load = cluster.load().await;
        cluster.patch(json!({"size": 1})).await;
        cluster.is_well(1, "3.6.16", LONG).await;
        assert_eq!(cluster.claims().await.len(), 3, "volumes stay: {:?}", cluster.claim_names().await);
        cluster.patch(json!({"size": 3})).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        // Old volumes are of members that are no more: they are not used again, and not deleted.
        assert_eq!(cluster.claims().await.len(), 5, "{:?}", cluster.claim_names().await);
        load.stop("3→1→3").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn a_change_of_mind_in_the_middle() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(1, "3.6.16").await;
        let load = cluster.load().await;
        cluster.patch(json!({"size": 5})).await;
        cluster.until("a learner joins", PATIENCE, |_, status| status.replicas >= Some(2)).await;
        cluster.patch(json!({"size": 1})).await;
        cluster.is_well(1, "3.6.16", LONG).await;
        cluster.patch(json!({"size": 5})).await;
        cluster.until("it has grown", LONG, |_, status| status.ready_members >= Some(2)).await;
        cluster.patch(json!({"size": 3})).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        load.stop("scaled while scaling").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn the_member_that_is_down_leaves_first() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(5, "3.6.16").await;
        let load = cluster.load().await;
        let down = cluster.follower().await;
        ground::signal(&down, Signal::STOP);
        cluster.until("one is down", PATIENCE, |_, status| status.ready_members == Some(4)).await;
        cluster.patch(json!({"size": 3})).await;
        let members = cluster.is_well(3, "3.6.16", LONG).await;
        assert!(
            members.iter().all(|it| member_of(&it.pod) != member_of(&down)),
            "{} should have left: {:?}",
            member_of(&down),
            members.iter().map(|it| it.pod.name_any()).collect::<Vec<_>>()
        );
        load.stop("5→3 with a member down").await;
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn volumes_of_those_that_left_go_when_the_user_said_so() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let mut spec = crate::cluster::spec(3, "3.6.16");
        spec["deletionPolicy"] = json!({"volumes": "Delete"});
        spec["remediation"] = json!({"keepOldVolume": "5s"});
        cluster.create(spec).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        cluster.patch(json!({"size": 1})).await;
        let members = cluster.is_well(1, "3.6.16", LONG).await;
        let stays = member_of(&members[0].pod);
        until("only the volume in use is left", PATIENCE, async || {
            let claims: Vec<String> =
                world.list::<PersistentVolumeClaim>("").await.iter().map(ResourceExt::name_any).collect();
            when(claims == [stays.clone()], claims)
        })
        .await;
        truth::members_agree(world, &cluster.place().await.unwrap()).await;
    })
    .await;
}
