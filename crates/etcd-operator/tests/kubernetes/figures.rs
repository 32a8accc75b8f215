//! The figures of docs/etcd.md, measured in one run with no other scenario beside it. Each has its samples, its limit, and what is
//! possible on the same machine in the same run: etcd in a plain StatefulSet, and a pod with a new volume.
//!
//! `CAPSTAN_WRITE_FIGURES=1 cargo xtask test-kubernetes --whole etcd` writes them to `docs/figures/etcd.json`; `cargo xtask generate`
//! brings them into the document.

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
use table::{Samples, Table, Unit};

/// Samples of a figure: one alone would say more about chance.
const TRIES: usize = 3;
/// When an election begins, etcd leaves to chance: between one and two timeouts, and later where two candidates share the votes.
const ELECTIONS: usize = 5;
/// As many writes as take longer than `HealthInterval` of etcd, 5 s: for so long after one of three has come, it refuses the next.
const SETTLED: usize = 250;
/// An upgrade of three members costs three restarts, and less than one for what is between them.
const RESTARTS: f32 = 4.0;
/// A client notices leadership moving by no more than this, beyond an election.
const NOTICE: f32 = 0.5;

fn seconds(since: Instant) -> f32 {
    since.elapsed().as_secs_f32()
}

/// What Kubernetes needs for so many pods at once, each with a volume that is made for it.
async fn pods_with_new_volumes(world: &World, names: &[String]) -> f32 {
    let began = Instant::now();
    for name in names {
        make_pod(world, name).await;
    }
    for name in names {
        until("it is ready", LONG, async || is_ready(world, name).await).await;
    }
    let took = seconds(began);
    remove(world, names).await;
    took
}

/// Whether the one pod of a StatefulSet is ready.
async fn is_ready(world: &World, name: &str) -> Result<Option<i32>, String> {
    let set = world.api::<StatefulSet>().get(name).await.map_err(|error| error.to_string())?;
    let ready = set.status.and_then(|it| it.ready_replicas);
    when(ready == Some(1), ready)
}

async fn remove(world: &World, names: &[String]) {
    for name in names {
        world.kubectl(&format!("delete statefulset {name} --wait")).await.unwrap();
    }
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

/// The times without an acknowledged write when a leader is killed and all were well before.
async fn elections(world: &World, place: &Place, what: &str) -> Vec<f32> {
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
    gaps
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

/// What is possible without the operator.
struct Bare {
    pod: Samples,
    three: Samples,
    election: Samples,
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
    let gaps = elections(world, &place.unwrap(), "leader of a plain etcd killed").await;
    world.kubectl("delete statefulset --all --wait").await.unwrap();
    Bare {
        pod: Samples::seconds("a pod with a new volume", &pods),
        three: Samples::seconds("a plain StatefulSet of three, without TLS", &times),
        election: Samples::seconds("the same with a plain etcd", &gaps),
    }
}

/// So many etcds of one member, each in a StatefulSet of its own: the seconds until all of them serve.
async fn plain_etcds(world: &World, names: &[String]) -> f32 {
    let began = Instant::now();
    let mut places = Vec::new();
    for name in names {
        places.push(plain::create(world, name, 1, "3.6.16").await);
    }
    for name in names {
        until("it is ready", LONG, async || is_ready(world, name).await).await;
    }
    join_all(places.iter().map(|place| plain::serves(world, place, 1, "3.6.16"))).await;
    let took = seconds(began);
    remove(world, names).await;
    took
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
    let limit = 1.5 * bare.three.measured();
    table.row(
        Samples::seconds("apply → 3 healthy TLS voters", &times),
        limit,
        &[&bare.three],
        "limit: × 1.5",
    );
    world.cluster(&format!("db{}", TRIES - 1))
}

async fn loss(cluster: &Cluster<'_>, table: &mut Table, bare: &Bare) {
    let mut times = Vec::new();
    for _ in 0..TRIES {
        times.push(known_after_death(cluster).await);
    }
    let what = "a member's process dies → the operator's first write about it";
    let noticed = Samples::of(what, Unit::Milliseconds, &times);
    table.row(noticed, 1000.0, &[], "by the connection that breaks, not by a probe");

    let gaps = elections(cluster.world, &cluster.place().await.unwrap(), "leader killed").await;
    cluster.is_well(3, "3.6.16", PATIENCE).await;
    let limit = bare.election.measured() + NOTICE;
    table.row(Samples::seconds("write gap, leader killed", &gaps), limit, &[&bare.election], "");

    let mut times = Vec::new();
    for _ in 0..TRIES {
        let began = Instant::now();
        damage::lose_volume(cluster, &cluster.follower().await).await;
        cluster.until("noticed", PATIENCE, |_, status| status.ready_members < Some(3)).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        times.push(seconds(began));
    }
    let lost = Samples::seconds("follower's pod and volume lost → 3 healthy", &times);
    table.row(lost, 20.0, &[&bare.pod], "");
}

/// 3 → 5 → 3, so often; gives the times of both, and how many of the new members waited in vain.
async fn resizes(cluster: &Cluster<'_>, load: &Load, tries: usize) -> (Vec<f32>, Vec<f32>, usize) {
    let (mut grown, mut shrunk, mut waited) = (Vec::new(), Vec::new(), 0);
    for _ in 0..tries {
        // etcd refuses the next change for a while after the last one: that is no part of this figure.
        load.grows(SETTLED).await;
        grown.push(resize(cluster, 5).await);
        waited += waited_in_vain(cluster).await;
        shrunk.push(resize(cluster, 3).await);
    }
    (grown, shrunk, waited)
}

async fn growth(cluster: &Cluster<'_>, table: &mut Table, bare: &Bare) {
    let load = cluster.load().await;
    let waited_of = |waited: usize, tries: usize| {
        format!("{waited} of {} new members waited 7 s for their own announcement", 2 * tries)
    };
    let (grown, shrunk, waited) = resizes(cluster, &load, TRIES).await;
    table.row(Samples::seconds("3 → 5", &grown), 16.0, &[&bare.pod], &waited_of(waited, TRIES));
    table.row(Samples::seconds("5 → 3", &shrunk), 16.0, &[], "");
    let broken = cluster.world.cluster("broken");
    let mut wrong = spec(3, "3.6.16");
    wrong["image"] = json!("lab.local/busybox:1");
    broken.create(wrong).await;
    broken.until("is broken", PATIENCE, |_, status| status.replicas == Some(3)).await;
    let (grown, _, waited) = resizes(cluster, &load, 1).await;
    let beside_broken = Samples::seconds("3 → 5 beside a broken cluster", &grown);
    table.row(beside_broken, 16.0, &[&bare.pod], &waited_of(waited, 1));
    broken.delete().await;
    let report = load.stop("scaled").await;
    under_load(&[report], &format!("3 → 5 → 3, {} times", TRIES + 1), table, bare);
}

/// Deletes a follower's pod, and waits until all members serve.
async fn restart(cluster: &Cluster<'_>, version: &str) -> f32 {
    let pod = cluster.follower().await;
    let began = Instant::now();
    cluster.delete_pod(&pod).await;
    cluster.until("noticed", PATIENCE, |_, status| status.ready_members < Some(3)).await;
    cluster.is_well(3, version, PATIENCE).await;
    seconds(began)
}

async fn upgrades(world: &World, table: &mut Table, bare: &Bare) {
    const STEPS: [(&str, &str); 2] = [("3.5.35", "3.6.16"), ("3.6.16", "3.7.3")];
    let (mut restarts, mut times, mut reports) =
        (Vec::new(), [Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for number in 0..TRIES {
        let cluster = world.cluster(&format!("upgraded-{number}"));
        cluster.run(3, "3.5.35").await;
        restarts.push(restart(&cluster, "3.5.35").await);
        for ((_, version), (times, reports)) in STEPS.iter().zip(times.iter_mut().zip(&mut reports)) {
            let load = cluster.load().await;
            let began = Instant::now();
            cluster.patch(json!({"version": version})).await;
            cluster.is_well(3, version, LONG).await;
            times.push(seconds(began));
            reports.push(load.stop(&format!("upgraded to {version}")).await);
        }
        cluster.delete().await;
        cluster.is_gone().await;
    }
    let restart = Samples::seconds("one member's pod deleted → 3 healthy", &restarts);
    for (((from, to), times), reports) in STEPS.iter().zip(&times).zip(&reports) {
        let what = format!("upgrade {from} → {to}, three members");
        // The goal is 20 s where a pod restarts in 5 s. The machine decides how long a restart takes, the operator how many it costs.
        let limit = RESTARTS * restart.measured();
        table.row(
            Samples::seconds(&what, times),
            limit,
            &[&restart],
            "limit: four restarts of one member's pod",
        );
        under_load(reports, &what, table, bare);
    }
}

/// What clients with all members as endpoints and one retry noticed.
fn under_load(reports: &[Report], what: &str, table: &mut Table, bare: &Bare) {
    let gaps: Vec<f32> = reports.iter().map(|report| report.gap.as_secs_f32()).collect();
    let gap = Samples::seconds(&format!("write gap, {what}"), &gaps);
    table.row(
        gap,
        bare.election.measured() + NOTICE,
        &[],
        "limit: a plain etcd whose leader is killed, and 0.5 s",
    );
    let failed: Vec<f32> = reports.iter().map(|report| report.failed.len() as f32).collect();
    let (requests, retried) =
        reports.iter().fold((0, 0), |(all, again), it| (all + it.requests, again + it.retried));
    let failed = Samples::of(&format!("failed requests, {what}"), Unit::Requests, &failed);
    table.row(failed, 0.0, &[], &format!("of {requests}, {retried} needed their retry"));
}

async fn many(world: &World, table: &mut Table) {
    let mut times = Vec::new();
    for number in 0..TRIES {
        let one = world.cluster(&format!("one-{number}"));
        let began = Instant::now();
        one.run(1, "3.6.16").await;
        times.push(seconds(began));
    }
    let alone = Samples::seconds("one of them", &times);
    // Where the machine is the limit, and not the operator, this is what shows it.
    let names: Vec<String> = (1..=20).map(|number| format!("pods-{number}")).collect();
    let pods = Samples::seconds("20 pods with new volumes", &[pods_with_new_volumes(world, &names).await]);
    let names: Vec<String> = (1..=20).map(|number| format!("etcd-{number}")).collect();
    let plain = plain_etcds(world, &names).await;
    let plain = Samples::seconds("20 plain StatefulSets of one etcd, without TLS", &[plain]);
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
    let twenty = Samples::seconds("20 clusters of one member", &[seconds(began)]);
    table.row(twenty, 1.5 * plain.measured(), &[&plain, &alone, &pods], "limit: the plain ones × 1.5");
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
        cluster.is_gone().await;
        upgrades(world, &mut table, &bare).await;
        many(world, &mut table).await;
        table.write_and_judge(world).await;
    })
    .await;
}
