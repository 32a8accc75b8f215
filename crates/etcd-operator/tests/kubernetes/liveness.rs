//! A member that does not answer: a process that hangs is killed within the documented time, with or without the operator; one that is busy
//! with its database is left alone.

use std::time::Duration;

use etcd_api::Endpoint as _;
use kube::ResourceExt as _;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    cluster::{Clusters as _, member_of, restarts, spec},
    ground::{self, Signal, SlowDisk},
    patience::{LONG, PATIENCE, until, when},
    world::scenario,
};

/// Six probes of liveness, 5 s each, begun up to 5 s late, and 5 s until it is killed: docs/etcd.md says 45 s.
const KILLED: Duration = Duration::from_secs(45);
/// A container that starts, on a busy machine.
const STARTED: Duration = Duration::from_secs(15);
/// Of the 30 s after which a process that hangs is killed.
const HALF: Duration = Duration::from_secs(15);
/// A defragmentation waits for its disk at least six times: to end the present transaction, to make a file, to grow and to fill it.
const EACH: Duration = Duration::from_secs(12);

#[tokio::test]
async fn a_process_that_hangs_is_killed_in_time_without_the_operator() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let mut patient = spec(3, "3.6.16");
        patient["remediation"] = json!({"restartAfter": "1h", "replaceAfter": "2h"});
        cluster.create(patient).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        let load = cluster.load().await;
        let pod = cluster.follower().await;
        let began = Instant::now();
        ground::signal(&pod, Signal::STOP);
        until("its container is restarted", KILLED + STARTED, async || {
            let pods = cluster.pods().await;
            let now = pods.iter().find(|it| it.uid() == pod.uid()).map(restarts);
            when(now > Some(restarts(&pod)), now)
        })
        .await;
        println!("    {} hung, restarted after {:.1} s", member_of(&pod), began.elapsed().as_secs_f32());
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        load.stop("a follower hangs").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn a_process_that_hangs_for_a_moment_is_not_restarted() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let (before, load) = (cluster.incarnations().await, cluster.load().await);
        let pod = cluster.follower().await;
        let began = Instant::now();
        ground::signal(&pod, Signal::STOP);
        until("it has hung for a moment", HALF + STARTED, async || {
            when(began.elapsed() >= HALF, began.elapsed())
        })
        .await;
        ground::signal(&pod, Signal::CONT);
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        assert_eq!(cluster.incarnations().await, before, "it was restarted, or replaced");
        load.stop("a follower hangs for a moment").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

/// Nothing is written meanwhile: only the defragmentation waits for the disk, and the member stays in touch with its leader.
async fn defragmented(version: &str) {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let mut impatient = spec(3, version);
        impatient["remediation"] = json!({"restartAfter": "15s", "replaceAfter": "30s"});
        cluster.create(impatient).await;
        cluster.is_well(3, version, PATIENCE).await;
        let before = cluster.incarnations().await;
        let pod = cluster.follower().await;
        let client = cluster.place().await.unwrap().dial(&pod).await.unwrap();
        let slow = SlowDisk::under(&pod, EACH).await;
        let began = Instant::now();
        let done = client.defragment(LONG).await;
        let took = began.elapsed();
        println!("    {} defragmented for {:.1} s", member_of(&pod), took.as_secs_f32());
        drop(slow);
        done.unwrap();
        assert!(took > KILLED, "{took:?} is too short: a process that hangs is not killed earlier either");
        assert_eq!(cluster.incarnations().await, before, "it was killed, or replaced");
        cluster.is_well(3, version, PATIENCE).await;
        assert_eq!(cluster.incarnations().await, before, "it was restarted, or replaced");
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn a_long_defragmentation_is_not_interrupted() {
    defragmented("3.6.16").await;
}

#[tokio::test]
async fn a_long_defragmentation_of_3_5_is_not_interrupted() {
    defragmented("3.5.35").await;
}

#[tokio::test]
async fn a_long_defragmentation_of_3_7_is_not_interrupted() {
    defragmented("3.7.3").await;
}
