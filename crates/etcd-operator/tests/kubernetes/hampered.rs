//! A member is hampered, not lost: its disk is slow, or the others do not hear it. It stays, is reported, and nobody notices.

use std::time::Duration;

use etcd_api::{Consistency, Endpoint as _};
use etcd_types::EtcdClusterStatus;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    cluster::{Cluster, Clusters as _, member_of, spec},
    ground::{CutOff, SlowDisk},
    load::Report,
    patience::{PATIENCE, until},
    world::scenario,
};

/// Writes that take longer than the patience below: 25 ms each, at least.
const LONG_ENOUGH: usize = 1600;

/// Three probes of readiness, 2 s each, and as much again for a busy machine.
const NOTICED: Duration = Duration::from_secs(13);

/// Why the status says that the member in `pod` does not serve.
fn complaint(status: &EtcdClusterStatus, pod: &Pod) -> Option<String> {
    let name = member_of(pod);
    let member = status.members.iter().flatten().find(|it| it.name == name)?;
    member.reason.clone().filter(|_| !member.healthy)
}

async fn is_reported(cluster: &Cluster<'_>, pod: &Pod) -> String {
    let object =
        cluster.until("the member is reported", PATIENCE, |_, status| complaint(status, pod).is_some()).await;
    complaint(&object.status.unwrap_or_default(), pod).unwrap_or_default()
}

/// With little patience for members that do not serve: slow is not broken.
#[tokio::test]
async fn a_member_whose_disk_is_slow_is_neither_restarted_nor_replaced() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let mut impatient = spec(3, "3.6.16");
        impatient["remediation"] = json!({"restartAfter": "15s", "replaceAfter": "30s"});
        cluster.create(impatient).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        let (before, load) = (cluster.incarnations().await, cluster.load().await);
        let pod = cluster.follower().await;
        let slow = SlowDisk::under(&pod, Duration::from_millis(300)).await;
        load.grows(LONG_ENOUGH).await;
        assert_eq!(cluster.incarnations().await, before, "it was restarted, or replaced");
        assert_eq!(cluster.status().await.latest_serial, Some(3), "nobody was added");
        drop(slow);
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        load.stop("a follower's disk is slow").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

/// So slow that it does not keep up. That is told; with the usual patience it has two minutes.
#[tokio::test]
async fn a_member_whose_disk_hardly_moves_is_reported_and_comes_back_by_itself() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let (before, load) = (cluster.incarnations().await, cluster.load().await);
        let pod = cluster.follower().await;
        let slow = SlowDisk::under(&pod, Duration::from_secs(3)).await;
        let said = is_reported(&cluster, &pod).await;
        println!("    {}: {said}", member_of(&pod));
        load.grows(200).await;
        drop(slow);
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        assert_eq!(cluster.incarnations().await, before, "it was restarted, or replaced");
        load.stop("a follower's disk hardly moves").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn a_leader_whose_disk_is_slow_does_not_stop_the_cluster() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let (before, load) = (cluster.incarnations().await, cluster.load().await);
        let slow = SlowDisk::under(&cluster.leader().await, Duration::from_millis(300)).await;
        load.grows(400).await;
        drop(slow);
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        assert_eq!(cluster.incarnations().await, before, "somebody was restarted, or replaced");
        load.stop("the leader's disk is slow").await;
        cluster.members_agree().await;
    })
    .await;
}

/// The operator, the kubelet and clients reach it; the other members do not.
async fn isolated(cluster: &Cluster<'_>, who: &str, pod: Pod) -> Report {
    let (before, load) = (cluster.incarnations().await, cluster.load().await);
    let began = Instant::now();
    let cut = CutOff::from_others(cluster.world, &pod, &cluster.pods().await);
    let said = is_reported(cluster, &pod).await;
    let after = began.elapsed();
    println!("    isolated {who} reported after {:.1} s: {said}", after.as_secs_f32());
    assert!(after < NOTICED, "clients were sent to an isolated {who} for {after:?}");
    load.grows(200).await;
    // What it alone says is not to be trusted, and it says so.
    let client = cluster.place().await.unwrap().dial(&pod).await.unwrap();
    let alone = client.probe(Consistency::Linearizable).await;
    assert!(alone.is_err(), "an isolated {who} answers a linearizable read: {alone:?}");
    let began = Instant::now();
    drop(cut);
    until("it serves", PATIENCE, async || {
        client.probe(Consistency::Linearizable).await.map_err(|error| error.to_string())
    })
    .await;
    println!("    the {who} serves after {:.1} s", began.elapsed().as_secs_f32());
    cluster.is_well(3, "3.6.16", PATIENCE).await;
    println!("    the {who} is back after {:.1} s", began.elapsed().as_secs_f32());
    assert_eq!(cluster.incarnations().await, before, "somebody was restarted, or replaced");
    let report = load.stop(&format!("{who} isolated")).await;
    cluster.members_agree().await;
    report
}

#[tokio::test]
async fn a_follower_that_its_peers_do_not_reach_is_reported_and_comes_back_without_a_restart() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        isolated(&cluster, "follower", cluster.follower().await).await.nothing_failed();
    })
    .await;
}

#[tokio::test]
async fn a_leader_that_its_peers_do_not_reach_is_reported_and_comes_back_without_a_restart() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        // Whoever asked a follower meanwhile may have been led to the old leader, twice: what failed is told, and nothing is lost.
        isolated(&cluster, "leader", cluster.leader().await).await;
    })
    .await;
}
