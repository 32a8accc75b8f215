//! Upgraded, and back: one minor at a time, one member at a time, the leader last; nobody notices.

use std::time::Duration;

use etcd_types::{OperationKind, Phase};
use k8s_openapi::api::core::v1::Pod;
use kube::{ResourceExt as _, api::DeleteParams};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    cluster::{Cluster, Clusters as _, is_current, spec},
    patience::{LONG, PATIENCE, until, when},
    world::{World, scenario},
};

/// How many times the restart of one member an upgrade of three may take: 20 s where a restart takes 3 s.
const RESTARTS: f32 = 20.0 / 3.0;

/// How long Kubernetes takes for a new pod of a follower, from its deletion until it is ready.
async fn restart(world: &World, cluster: &Cluster<'_>) -> Duration {
    let (pods, follower) = (world.api::<Pod>(), cluster.follower().await);
    let began = Instant::now();
    pods.delete(&follower.name_any(), &DeleteParams::default()).await.unwrap();
    until("a new pod is ready", PATIENCE, async || {
        let pod = pods.get_opt(&follower.name_any()).await.map_err(|error| error.to_string())?;
        let again = pod.filter(|pod| pod.uid() != follower.uid() && kit::readiness::is_ready(pod));
        when(again.is_some(), ())
    })
    .await;
    began.elapsed()
}

#[tokio::test]
async fn from_3_5_over_3_6_to_3_7_under_load() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.5.35").await;
        let (id, claims) = (cluster.status().await.cluster_id, cluster.claim_names().await);
        let restart = restart(world, &cluster).await;
        cluster.is_well(3, "3.5.35", PATIENCE).await;
        let load = cluster.load().await;
        for version in ["3.6.16", "3.7.3"] {
            let began = Instant::now();
            cluster.patch(json!({"version": version})).await;
            cluster.is_well(3, version, LONG).await;
            let (took, one) = (began.elapsed(), restart.as_secs_f32());
            println!("    {version} after {:.1} s; one restart took {one:.1} s", took.as_secs_f32());
            assert!(
                took <= restart.mul_f32(RESTARTS),
                "{version} took {took:?}, and one restart {restart:?}"
            );
        }
        load.stop("3.5.35→3.6.16→3.7.3").await.nothing_failed();
        cluster.members_agree().await;
        assert_eq!((cluster.status().await.cluster_id, cluster.claim_names().await), (id, claims));
    })
    .await;
}

#[tokio::test]
async fn a_patch_is_an_upgrade_too() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.8").await;
        let load = cluster.load().await;
        cluster.patch(json!({"version": "3.6.16"})).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        load.stop("3.6.8→3.6.16").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn one_member_alone_is_upgraded_with_a_gap_and_no_loss() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(1, "3.5.35").await;
        let load = cluster.load().await;
        cluster.patch(json!({"version": "3.6.16"})).await;
        cluster.is_well(1, "3.6.16", LONG).await;
        load.stop("one member, 3.5.35→3.6.16").await;
    })
    .await;
}

/// The image is there, but no etcd is in it.
#[tokio::test]
async fn a_failing_image_stops_after_one_member_and_rolls_back_when_the_user_reverts() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.5.35").await;
        let load = cluster.load().await;
        let before = cluster.incarnations().await;
        cluster.patch(json!({"version": "3.6.16", "image": "lab.local/busybox:1"})).await;
        cluster
            .until("one member does not come back", PATIENCE, |object, status| {
                is_current(object) && status.ready_members == Some(2)
            })
            .await;
        let said = cluster.says("RollFailed", LONG).await;
        assert!(said.contains("db-") && said.contains("evert"), "{said}");
        let touched = before.difference(&cluster.incarnations().await).count();
        assert_eq!(touched, 1, "one member only");

        cluster.patch(json!({"version": "3.5.35", "image": null})).await;
        cluster.is_well(3, "3.5.35", LONG).await;
        let touched = before.difference(&cluster.incarnations().await).count();
        assert_eq!(touched, 1, "the others were never touched");
        load.stop("failing image, reverted").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_stops_after_one_member_as_well() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.8").await;
        let load = cluster.load().await;
        let before = cluster.incarnations().await;
        cluster.patch(json!({"version": "3.6.16", "image": "lab.local/not-here"})).await;
        cluster.says("RollFailed", LONG).await;
        assert_eq!(before.difference(&cluster.incarnations().await).count(), 1, "one member only");
        // The correction is as good as a revert.
        cluster.patch(json!({"image": null})).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        load.stop("image not there, corrected").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn back_from_3_6_to_3_5_by_etcds_own_downgrade() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let load = cluster.load().await;
        let began = Instant::now();
        cluster.patch(json!({"version": "3.5.35"})).await;
        cluster
            .until("it says so", PATIENCE, |_, status| {
                status.operation.as_ref().is_some_and(|it| it.kind == OperationKind::Downgrade)
            })
            .await;
        cluster.is_well(3, "3.5.35", LONG).await;
        println!("    back at 3.5.35 after {:.1} s", began.elapsed().as_secs_f32());
        load.stop("3.6.16→3.5.35").await.nothing_failed();
        cluster.members_agree().await;
        cluster.patch(json!({"version": "3.6.16"})).await;
        cluster.is_well(3, "3.6.16", LONG).await;
    })
    .await;
}

#[tokio::test]
async fn a_user_who_changes_their_mind_in_the_middle_gets_the_old_version_back() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.5.35").await;
        let load = cluster.load().await;
        cluster.patch(json!({"version": "3.6.16"})).await;
        cluster.until("one is updated", PATIENCE, |_, status| status.updated_members == Some(1)).await;
        cluster.patch(json!({"version": "3.5.35"})).await;
        cluster.is_well(3, "3.5.35", LONG).await;
        load.stop("upgrade reverted in the middle").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn a_supervised_upgrade_waits_before_the_leader() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let mut supervised = spec(3, "3.5.35");
        supervised["updateStrategy"] = json!({"type": "Supervised"});
        cluster.create(supervised).await;
        cluster.is_well(3, "3.5.35", PATIENCE).await;
        let leader = cluster.leader().await;
        cluster.patch(json!({"version": "3.6.16"})).await;
        let waiting = cluster
            .until("it waits for the user", LONG, |_, status| status.phase == Some(Phase::WaitingForUser))
            .await;
        let status = waiting.status.unwrap();
        assert_eq!(status.updated_members, Some(2));
        assert!(status.message.unwrap_or_default().contains("approve"));
        assert!(cluster.pods().await.iter().any(|pod| pod.uid() == leader.uid()), "the leader is as it was");
        cluster.patch(json!({"updateStrategy": {"approve": "3.6.16"}})).await;
        cluster.is_well(3, "3.6.16", LONG).await;
    })
    .await;
}
