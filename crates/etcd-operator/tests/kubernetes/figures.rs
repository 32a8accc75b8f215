//! The figures of docs/etcd.md, measured in one run with nothing else going on, each beside what it must not exceed and beside what is
//! possible on the same machine at the same time: etcd in a plain StatefulSet, and a pod with a new volume.

mod table;

use futures::{StreamExt as _, future::join_all};
use k8s_openapi::api::apps::v1::StatefulSet;
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
    load::{Load, Place, Report},
    patience::{LONG, PATIENCE, until, when},
    plain,
    truth::{self, Expected},
    world::{World, trouble},
};
use table::{Table, Unit};

/// So often, where one try would tell more about luck: how volumes are made.
const TRIES: usize = 3;
/// When an election begins, etcd leaves to chance: between one and two timeouts, and later where two candidates share the votes.
const ELECTIONS: usize = 5;
/// As many writes as take longer than `HealthInterval` of etcd, 5 s: for so long after one of three has come, it refuses the next.
const SETTLED: usize = 250;
/// A client notices leadership moving by no more than this, beyond an election.
const NOTICE: f32 = 0.5;

fn seconds(since: Instant) -> f32 {
    since.elapsed().as_secs_f32()
}

fn median(mut times: Vec<f32>) -> f32 {
    times.sort_by(f32::total_cmp);
    times[times.len() / 2]
}

/// What Kubernetes needs for so many pods at once, each with a volume that is made for it.
async fn pods_with_new_volumes(world: &World, names: &[String]) -> f32 {
    let began = Instant::now();
    for name in names {
        make_pod(world, name).await;
    }
    for name in names {
        until("it is ready", LONG, async || {
            let set = world.api::<StatefulSet>().get(name).await.unwrap();
            let ready = set.status.and_then(|it| it.ready_replicas);
            when(ready == Some(1), ready)
        })
        .await;
    }
    let took = seconds(began);
    for name in names {
        world.kubectl(&format!("delete statefulset {name} --wait")).await.unwrap();
    }
    took
}

async fn make_pod(world: &World, name: &str) {
    let labels = json!({"app": name});
    world
        .create_object::<StatefulSet>(json!({"metadata": {"name": name}, "spec": {
            "replicas": 1, "serviceName": name, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {
                "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "sleep", "image": "lab.local/busybox:1", "command": ["sleep", "infinity"],
                    "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                }],
            }},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}],
        }}))
        .await;
}

/// The time without an acknowledged write when a leader is killed and all were well before; the median of some.
async fn election(world: &World, place: &Place, what: &str) -> f32 {
    let well = Expected { size: 3, version: Some("3.6.16"), cluster: None };
    let mut gaps = Vec::new();
    for _ in 0..ELECTIONS {
        truth::holds(world, place, well, PATIENCE).await;
        let load = Load::on(world, place.clone()).await;
        load.grows(50).await;
        ground::signal(&truth::leader(world, place).await, Signal::KILL);
        load.grows(50).await;
        gaps.push(load.stop(what).await.gap.as_secs_f32());
    }
    median(gaps)
}

/// Kills a follower's process, and watches the object until it says that a member is missing. In milliseconds.
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
                return seconds(began) * 1000.0;
            }
        }
        panic!("the watch ended")
    };
    let took = timeout(PATIENCE, missing).await.expect("nobody noticed");
    cluster.is_well(3, "3.6.16", PATIENCE).await;
    took
}

async fn resize(cluster: &Cluster<'_>, size: i32) -> f32 {
    let began = Instant::now();
    cluster.patch(json!({"size": size})).await;
    cluster.is_well(size, "3.6.16", LONG).await;
    seconds(began)
}

/// How many of the two newest members waited in vain for their own greeting, 7 s, before they opened their port for clients.
async fn waited_in_vain(cluster: &Cluster<'_>) -> usize {
    let (mut pods, mut waited) = (cluster.pods().await, 0);
    pods.sort_by_key(|pod| std::cmp::Reverse(damage::serial(pod)));
    for pod in pods.iter().take(2) {
        let log = cluster.world.kubectl(&format!("logs {}", pod.name_any())).await.unwrap();
        waited += usize::from(log.contains("failed to publish local member to cluster through raft"));
    }
    waited
}

/// What there is without us.
struct Bare {
    pod: f32,
    three: f32,
    election: f32,
}

async fn measure_bare(world: &World) -> Bare {
    let (mut pods, mut times, mut place) = (Vec::new(), Vec::new(), None::<Place>);
    for number in 0..TRIES {
        pods.push(pods_with_new_volumes(world, &[format!("pod-{number}")]).await);
        let name = format!("plain-{number}");
        let (members, took) = plain::three(world, &name, "3.6.16").await;
        times.push(took);
        if number + 1 < TRIES {
            world.kubectl(&format!("delete statefulset {name} --wait")).await.unwrap();
            until("its pods are gone", PATIENCE, async || {
                let left = truth::pods(world, &members).await?.len();
                when(left == 0, left)
            })
            .await;
        } else {
            place = Some(members);
        }
    }
    let place = place.unwrap();
    let election = election(world, &place, "a bare etcd's leader killed").await;
    world.kubectl("delete statefulset --all --wait").await.unwrap();
    Bare { pod: median(pods), three: median(times), election }
}

/// Creates it so often, and leaves the last one.
async fn create<'w>(world: &'w World, table: &mut Table, bare: &Bare) -> Cluster<'w> {
    let mut times = Vec::new();
    for number in 0..TRIES {
        let cluster = world.cluster(&format!("db{number}"));
        let began = Instant::now();
        cluster.run(3, "3.6.16").await;
        times.push(seconds(began));
        if number + 1 < TRIES {
            cluster.delete().await;
            cluster.is_gone().await;
        }
    }
    let beside = format!("{:.1} s: a plain StatefulSet of three, without TLS; × 1.5", bare.three);
    table.row("apply → 3 healthy TLS voters", median(times), Unit::Seconds, 1.5 * bare.three, &beside);
    world.cluster(&format!("db{}", TRIES - 1))
}

async fn loss(cluster: &Cluster<'_>, table: &mut Table, bare: &Bare) {
    let mut times = Vec::new();
    for _ in 0..TRIES {
        times.push(known_after_death(cluster).await);
    }
    let what = "a member's process dies → the operator's first write about it";
    table.row(
        what,
        median(times),
        Unit::Milliseconds,
        1000.0,
        "the connection breaks; no probe is waited for",
    );

    let gap = election(cluster.world, &cluster.place().await.unwrap(), "leader killed").await;
    cluster.is_well(3, "3.6.16", PATIENCE).await;
    let beside = format!("{:.2} s: a bare etcd's, median of {ELECTIONS} kills too", bare.election);
    table.row("write gap, leader killed", gap, Unit::Seconds, bare.election + NOTICE, &beside);

    let began = Instant::now();
    damage::lose_volume(cluster, &cluster.follower().await).await;
    cluster.until("noticed", PATIENCE, |_, status| status.ready_members < Some(3)).await;
    cluster.is_well(3, "3.6.16", LONG).await;
    let beside = format!("{:.1} s: any pod with a new volume", bare.pod);
    table.row("follower's pod and volume lost → 3 healthy", seconds(began), Unit::Seconds, 20.0, &beside);
}

async fn growth(cluster: &Cluster<'_>, table: &mut Table, bare: &Bare) {
    let load = cluster.load().await;
    let possible = |waited: usize| {
        let pods = 2.0 * bare.pod;
        format!(
            "{pods:.1} s: two pods with new volumes, one after the other; {waited} of 2 waited for their own greeting"
        )
    };
    // etcd is still careful after the member that was replaced before: that is no part of this figure.
    load.grows(SETTLED).await;
    let took = resize(cluster, 5).await;
    table.row("3 → 5", took, Unit::Seconds, 16.0, &possible(waited_in_vain(cluster).await));
    table.row("5 → 3", resize(cluster, 3).await, Unit::Seconds, 16.0, "");
    let broken = cluster.world.cluster("broken");
    let mut wrong = spec(3, "3.6.16");
    wrong["image"] = json!("lab.local/busybox:1");
    broken.create(wrong).await;
    broken.until("is broken", PATIENCE, |_, status| status.replicas == Some(3)).await;
    load.grows(SETTLED).await;
    let took = resize(cluster, 5).await;
    let waited = waited_in_vain(cluster).await;
    table.row("3 → 5 beside a broken cluster", took, Unit::Seconds, 16.0, &possible(waited));
    broken.delete().await;
    resize(cluster, 3).await;
    under_load(load.stop("scaled").await, "3 → 5 → 3, twice", table, bare);
}

async fn upgrade(cluster: &Cluster<'_>, table: &mut Table, bare: &Bare) {
    cluster.run(3, "3.5.35").await;
    let load = cluster.load().await;
    for (version, what) in [("3.6.16", "upgrade 3.5.35 → 3.6.16"), ("3.7.3", "upgrade 3.6.16 → 3.7.3")] {
        let began = Instant::now();
        cluster.patch(json!({"version": version})).await;
        cluster.is_well(3, version, LONG).await;
        table.row(what, seconds(began), Unit::Seconds, 60.0, "each member's start and 5 s of calm after it");
    }
    under_load(load.stop("upgraded").await, "upgrade 3.5 → 3.6 → 3.7", table, bare);
}

fn under_load(report: Report, what: &str, table: &mut Table, bare: &Bare) {
    let beside = format!("{:.2} s: a bare etcd's leader killed", bare.election);
    table.row(
        &format!("write gap, {what}"),
        report.gap.as_secs_f32(),
        Unit::Seconds,
        bare.election + NOTICE,
        &beside,
    );
    let requests = report.writes as u64 + report.reads;
    let beside = format!("of {requests}; {} needed the one retry that a client has", report.retried);
    table.row(&format!("failed requests, {what}"), report.failed.len() as f32, Unit::Requests, 0.0, &beside);
}

async fn many(world: &World, table: &mut Table) {
    let mut times = Vec::new();
    for number in 0..TRIES {
        let one = world.cluster(&format!("one-{number}"));
        let began = Instant::now();
        one.run(1, "3.6.16").await;
        times.push(seconds(began));
    }
    let alone = median(times);
    // Where the machine is the limit, and not the operator, this is what shows it.
    let names: Vec<String> = (1..=20).map(|number| format!("pods-{number}")).collect();
    let pods = pods_with_new_volumes(world, &names).await;
    let many: Vec<_> = (1..=20).map(|number| world.cluster(&format!("many-{number}"))).collect();
    let began = Instant::now();
    for cluster in &many {
        cluster.create(spec(1, "3.6.16")).await;
    }
    // To ask every member all the time would be a load of its own.
    for cluster in &many {
        cluster.until("is healthy", LONG, |_, status| status.ready_members == Some(1)).await;
    }
    join_all(many.iter().map(|cluster| cluster.is_well(1, "3.6.16", LONG))).await;
    let beside = format!("{alone:.1} s: one of them; × 3; {pods:.1} s: 20 pods with new volumes");
    table.row("20 clusters of one member", seconds(began), Unit::Seconds, 3.0 * alone, &beside);
}

#[tokio::test]
async fn times_are_what_the_documents_say() {
    trouble(async |world| {
        let mut table = Table::default();
        let bare = measure_bare(world).await;
        let cluster = create(world, &mut table, &bare).await;
        loss(&cluster, &mut table, &bare).await;
        growth(&cluster, &mut table, &bare).await;
        cluster.delete().await;
        let upgraded = world.cluster("upgraded");
        upgrade(&upgraded, &mut table, &bare).await;
        upgraded.delete().await;
        upgraded.is_gone().await;
        many(world, &mut table).await;
        table.print_and_judge();
    })
    .await;
}
