//! The figures of docs/etcd.md, measured in one run with nothing else going on, each beside what it must not exceed.

use futures::StreamExt as _;
use kube::{
    ResourceExt as _,
    api::{WatchEvent, WatchParams},
};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::{
    cluster::{Cluster, Clusters as _, spec},
    damage,
    ground::{self, Signal},
    load::Load,
    patience::{LONG, PATIENCE},
    plain, truth,
    world::trouble,
};

/// What was measured, in seconds, and the limit.
struct Row(&'static str, f32, f32);

#[derive(Default)]
struct Rows(Vec<Row>);

impl Rows {
    /// Told at once: those before a failure are worth something, too.
    fn push(&mut self, row: Row) {
        let Row(what, took, limit) = row;
        println!("    {took:6.2} s of {limit:5.1} s  {what}");
        self.0.push(row);
    }
}

fn seconds(since: Instant) -> f32 {
    since.elapsed().as_secs_f32()
}

/// Kills a follower's process, and watches the object until it says that a member is missing.
async fn known_after_death(cluster: &Cluster<'_>) -> f32 {
    let (follower, object) = (cluster.follower().await, cluster.object().await);
    let this = WatchParams::default().fields(&format!("metadata.name={}", cluster.name));
    let api = cluster.api();
    let mut told = api.watch(&this, &object.resource_version().unwrap()).await.unwrap().boxed();
    let began = Instant::now();
    ground::signal(&follower, Signal::KILL);
    let missing = async {
        while let Some(event) = told.next().await {
            let WatchEvent::Modified(object) = event.unwrap() else { continue };
            if object.status.is_some_and(|status| status.ready_members < Some(3)) {
                return seconds(began);
            }
        }
        panic!("the watch ended")
    };
    timeout(PATIENCE, missing).await.expect("nobody noticed")
}

#[tokio::test]
async fn times_are_what_the_documents_say() {
    trouble(async |world| {
        let mut rows = Rows::default();
        let (place, bare) = plain::three(world, "plain", "3.6.16").await;
        let load = Load::on(world, place.clone()).await;
        ground::signal(&truth::leader(world, &place).await, Signal::KILL);
        load.grows(50).await;
        let election = load.stop("a bare etcd's leader killed").await.gap.as_secs_f32();
        world.kubectl("delete statefulset plain --wait").await.unwrap();

        let cluster = world.cluster("db");
        let began = Instant::now();
        cluster.run(3, "3.6.16").await;
        rows.push(Row("apply → 3 healthy TLS voters (1.5 × a plain StatefulSet)", seconds(began), 1.5 * bare));

        let known = known_after_death(&cluster).await;
        rows.push(Row("a member's process dies → its status says so", known, 1.0));
        cluster.is_well(3, "3.6.16", PATIENCE).await;

        let load = cluster.load().await;
        ground::signal(&cluster.leader().await, Signal::KILL);
        load.grows(50).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        let gap = load.stop("leader killed").await.gap.as_secs_f32();
        rows.push(Row("write gap, leader killed (a bare etcd's + 0.5 s)", gap, election + 0.5));

        let began = Instant::now();
        damage::lose_volume(&cluster, &cluster.follower().await).await;
        cluster.until("noticed", PATIENCE, |_, status| status.ready_members < Some(3)).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        rows.push(Row("follower's pod and volume lost → 3 healthy", seconds(began), 20.0));

        let broken = world.cluster("broken");
        let mut wrong = spec(3, "3.6.16");
        wrong["image"] = json!("lab.local/busybox:1");
        broken.create(wrong).await;
        broken.until("is broken", PATIENCE, |_, status| status.replicas == Some(3)).await;
        let load = cluster.load().await;
        let began = Instant::now();
        cluster.patch(json!({"size": 5})).await;
        cluster.is_well(5, "3.6.16", LONG).await;
        rows.push(Row("3 → 5 beside a broken cluster", seconds(began), 16.0));
        let began = Instant::now();
        cluster.patch(json!({"size": 3})).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        rows.push(Row("5 → 3", seconds(began), 16.0));
        let gap = load.stop("scaled").await.nothing_failed().gap.as_secs_f32();
        rows.push(Row("write gap, 3 → 5 → 3 (a bare etcd's + 0.5 s)", gap, election + 0.5));

        let load = cluster.load().await;
        let began = Instant::now();
        cluster.patch(json!({"version": "3.7.3"})).await;
        cluster.is_well(3, "3.7.3", LONG).await;
        rows.push(Row("upgrade 3.6.16 → 3.7.3", seconds(began), 60.0));
        let gap = load.stop("upgraded").await.nothing_failed().gap.as_secs_f32();
        rows.push(Row("write gap, upgrade (a bare etcd's + 0.5 s)", gap, election + 0.5));
        broken.delete().await;
        cluster.delete().await;

        let one = world.cluster("one");
        let began = Instant::now();
        one.run(1, "3.6.16").await;
        let alone = seconds(began);
        let many: Vec<_> = (1..=20).map(|number| world.cluster(&format!("many-{number}"))).collect();
        let began = Instant::now();
        for cluster in &many {
            cluster.create(spec(1, "3.6.16")).await;
        }
        for cluster in &many {
            cluster.is_well(1, "3.6.16", LONG).await;
        }
        rows.push(Row("20 clusters of one member (3 × one)", seconds(began), 3.0 * alone));

        println!("    a plain StatefulSet of three: {bare:.1} s; a bare etcd's write gap on leader kill: {election:.2} s; one member: {alone:.1} s");
        let slow: Vec<&str> = rows.0.iter().filter(|it| it.1 > it.2).map(|it| it.0).collect();
        assert!(slow.is_empty(), "too slow: {slow:?}");
    })
    .await;
}
