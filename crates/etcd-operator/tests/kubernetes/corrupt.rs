//! A member's data differs from the others', because bytes of its database file were changed. The minority is replaced, its volume is kept,
//! and clients write again.

use etcd_api::{
    Consistency, Endpoint as _,
    pb::{PutRequest, RangeRequest},
};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    cluster::{Cluster, Clusters as _, member_of, spec},
    damage::{self, serial},
    ground::{self, Signal},
    patience::{LONG, PATIENCE, until, when},
    truth::{self, Member},
    world::scenario,
};

const KEY: &str = "corrupt/marker";
/// Values that are nowhere else in a database, of the same length.
const MARKER: &str = "the value of the marker as it was written 5d41402a";
const ALTERED: &str = "the value of the marker as it was altered 5d41402a";
/// Writes after which the page with the marker is not written again.
const LATER_WRITES: usize = 400;

async fn members(cluster: &Cluster<'_>) -> Result<Vec<Member>, String> {
    truth::members(cluster.world, &cluster.place().await?).await
}

/// Writes the marker, and enough after it that its page is left alone.
async fn mark(cluster: &Cluster<'_>) {
    let members = members(cluster).await.unwrap();
    let client = &members[0].client;
    let put = async |key: String, value: &str| {
        let request = PutRequest { key: key.into(), value: value.to_owned().into(), ..PutRequest::default() };
        client.call(client.kv().put(request)).await.unwrap();
    };
    put(KEY.to_owned(), MARKER).await;
    for number in 0..LATER_WRITES {
        put(format!("corrupt/later/{number}"), &"x".repeat(64)).await;
    }
}

/// Changes the marker in the database file of the member in `pod`, under the running process: bbolt maps the file.
async fn corrupt(cluster: &Cluster<'_>, pod: &Pod) {
    until("its data differs from the others'", PATIENCE, async || {
        damage::alter(cluster, pod, MARKER.as_bytes(), ALTERED.as_bytes()).await;
        let members = members(cluster).await?;
        let revision = members.iter().map(|it| it.status.revision).min().ok_or("no members")?;
        let (mut own, mut others) = (None, Vec::new());
        for Member { pod: it, client, .. } in &members {
            let hash = client.hash_kv(revision).await.map_err(|error| error.to_string())?.hash;
            match it.uid() == pod.uid() {
                true => own = Some(hash),
                false => others.push(hash),
            }
        }
        when(own.is_none_or(|own| others.iter().all(|other| *other != own)), (own, others))
    })
    .await;
}

/// Three members serve, the one in `pod` is none of them, its volume is kept, and every member has what was written.
async fn is_healed(cluster: &Cluster<'_>, pod: &Pod) {
    // Until the next check finds the difference, all members serve.
    until("the corrupt member is removed", LONG, async || {
        let names: Vec<String> = cluster.pods().await.iter().map(ResourceExt::name_any).collect();
        when(!names.contains(&pod.name_any()), names)
    })
    .await;
    let members = cluster.is_well(3, "3.6.16", LONG).await;
    let serials: Vec<u64> = members.iter().map(|it| serial(&it.pod)).collect();
    assert!(!serials.contains(&serial(pod)), "{} was not replaced: {serials:?}", pod.name_any());
    assert!(cluster.claim_names().await.contains(&member_of(pod)), "its volume is kept");
    for Member { pod, client, .. } in &members {
        assert_eq!(client.alarms().await, Ok(Vec::new()));
        let request = RangeRequest { key: KEY.into(), serializable: true, ..RangeRequest::default() };
        let found = client.call(client.kv().range(request)).await.unwrap();
        let value = found.kvs.first().map(|kv| String::from_utf8_lossy(&kv.value).into_owned());
        assert_eq!(value.as_deref(), Some(MARKER), "{}", pod.name_any());
    }
    cluster.members_agree().await;
}

/// With a corrupt leader, etcd's periodic check names a follower: hashes say which member it is.
#[tokio::test]
async fn corrupt_member_is_replaced_whether_it_leads_or_follows() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let mut spec = spec(3, "3.6.16");
        spec["etcd"] = json!({"corruptionChecks": {"periodic": "15s"}});
        cluster.create(spec).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        for leads in [false, true] {
            mark(&cluster).await;
            let load = cluster.load().await;
            let pod = if leads { cluster.leader().await } else { cluster.follower().await };
            corrupt(&cluster, &pod).await;
            let began = Instant::now();
            is_healed(&cluster, &pod).await;
            println!("    corrupt {}, healed after {:.1} s", pod.name_any(), began.elapsed().as_secs_f32());
            load.stop(if leads { "corrupt leader" } else { "corrupt follower" }).await;
        }
    })
    .await;
}

#[tokio::test]
async fn member_that_finds_itself_different_at_its_start_is_replaced() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        mark(&cluster).await;
        let load = cluster.load().await;
        let pod = cluster.follower().await;
        corrupt(&cluster, &pod).await;
        let began = Instant::now();
        ground::signal(&pod, Signal::KILL);
        is_healed(&cluster, &pod).await;
        println!("    refused to start, healed after {:.1} s", began.elapsed().as_secs_f32());
        load.stop("corrupt follower restarted").await.nothing_failed();
    })
    .await;
}

#[tokio::test]
async fn without_majority_nothing_is_changed() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let mut spec = spec(1, "3.6.16");
        spec["etcd"] = json!({"corruptionChecks": {"periodic": "15s"}});
        cluster.create(spec).await;
        cluster.is_well(1, "3.6.16", PATIENCE).await;
        let alarmed = members(&cluster).await.unwrap();
        let Member { client, status, .. } = &alarmed[0];
        damage::raise_corrupt(client, status.member).await;
        let message = cluster.says("Corrupt", PATIENCE).await;
        assert!(message.contains("nothing is changed"), "{message}");
        let before = cluster.incarnations().await;
        assert_eq!(client.members(Consistency::Linearizable).await.unwrap().members.len(), 1);
        client
            .disarm(etcd_api::Alarm { member: status.member, kind: etcd_api::AlarmKind::Corrupt })
            .await
            .unwrap();
        cluster.is_well(1, "3.6.16", PATIENCE).await;
        assert_eq!(cluster.incarnations().await, before);
    })
    .await;
}
