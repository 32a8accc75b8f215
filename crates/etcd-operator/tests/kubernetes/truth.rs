//! How a cluster really is: every member asked for itself, by its pod's address. What status says is compared with this.

use std::{collections::BTreeMap, time::Duration};

use etcd_api::{Client, Consistency, Endpoint as _, MemberId, Role, Status};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use crate::{
    load::Place,
    patience::{PATIENCE, until},
    world::World,
};

/// What all members have to agree on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) size: usize,
    pub(crate) version: Option<&'a str>,
    /// In hexadecimal.
    pub(crate) cluster: Option<&'a str>,
}

/// A member that answers.
pub(crate) struct Member {
    pub(crate) pod: Pod,
    pub(crate) client: Client,
    pub(crate) status: Status,
}

/// The pods of members, those on their way out included.
pub(crate) async fn pods(world: &World, place: &Place) -> Result<Vec<Pod>, String> {
    let list = kube::api::ListParams::default().labels(&place.labels);
    Ok(world.api::<Pod>().list(&list).await.map_err(|error| error.to_string())?.items)
}

/// Every member, with its status; `Err` names the first that does not answer.
pub(crate) async fn members(world: &World, place: &Place) -> Result<Vec<Member>, String> {
    let mut members = Vec::new();
    for pod in pods(world, place).await? {
        let told = |error: etcd_api::EtcdError| format!("{}: {error}", pod.name_any());
        let client = place.dial(&pod).await.map_err(told)?;
        let status = client.status().await.map_err(told)?;
        members.push(Member { pod, client, status });
    }
    Ok(members)
}

/// Waits until the cluster is as expected: so many voters, no learner, nobody unstarted, one cluster, one leader, each serving.
pub(crate) async fn holds(
    world: &World,
    place: &Place,
    expected: Expected<'_>,
    limit: Duration,
) -> Vec<Member> {
    until(&format!("{expected:?}"), limit, async || look(world, place, expected).await).await
}

/// The same, now.
pub(crate) async fn look(
    world: &World,
    place: &Place,
    expected: Expected<'_>,
) -> Result<Vec<Member>, String> {
    let members = members(world, place).await?;
    let first = members.first().ok_or("no pods")?;
    let listed = first.client.members(Consistency::Linearizable).await.map_err(|error| error.to_string())?;
    let voters = listed.members.iter().filter(|it| it.role == Role::Voter && it.has_started()).count();
    if (listed.members.len(), voters, members.len()) != (expected.size, expected.size, expected.size) {
        return Err(format!(
            "{} members, {voters} started voters, {} pods: {:?}",
            listed.members.len(),
            members.len(),
            listed.members.iter().map(|it| (&it.name, it.role)).collect::<Vec<_>>()
        ));
    }
    let leader = first.status.leader;
    for Member { pod, client, status } in &members {
        let name = pod.name_any();
        if expected.version.is_some_and(|version| version != status.version) {
            return Err(format!("{name} is {}", status.version));
        }
        let cluster = listed.cluster.to_string();
        if status.cluster != listed.cluster || expected.cluster.is_some_and(|expected| expected != cluster) {
            return Err(format!("{name} is of cluster {}, listed {cluster}", status.cluster));
        }
        if leader.is_none() || status.leader != leader {
            return Err(format!("{name} follows {:?}, another {leader:?}", status.leader));
        }
        client.probe(Consistency::Linearizable).await.map_err(|error| format!("{name}: {error}"))?;
        if !kit::readiness::is_ready(pod) {
            return Err(format!("{name} is not ready"));
        }
    }
    Ok(members)
}

pub(crate) async fn leader(world: &World, place: &Place) -> Pod {
    until("there is a leader", PATIENCE, async || {
        let members = members(world, place).await?;
        let leads = |member: &Member| member.status.leader == Some(member.status.member);
        members.into_iter().find(leads).map(|member| member.pod).ok_or_else(|| "none leads".to_owned())
    })
    .await
}

/// Any member that does not lead.
pub(crate) async fn follower(world: &World, place: &Place) -> Pod {
    until("there is a follower", PATIENCE, async || {
        let members = members(world, place).await?;
        let follows = |member: &Member| {
            member.status.leader.is_some_and(|MemberId(leader)| leader != member.status.member.0)
        };
        members.into_iter().find(follows).map(|member| member.pod).ok_or_else(|| "none follows".to_owned())
    })
    .await
}

/// All members have the same data: their hashes at one revision are equal.
pub(crate) async fn members_agree(world: &World, place: &Place) {
    until("all members have the same data", PATIENCE, async || {
        let members = members(world, place).await?;
        let first = members.first().ok_or("no pods")?;
        let told = |error: etcd_api::EtcdError| error.to_string();
        let revision = first.client.probe(Consistency::Linearizable).await.map_err(told)?;
        let mut hashes = BTreeMap::new();
        for Member { pod, client, .. } in &members {
            // It has all of it before it is asked.
            client.probe(Consistency::Linearizable).await.map_err(told)?;
            let hash = client.hash_kv(revision).await.map_err(told)?.hash;
            hashes.entry(hash).or_insert_with(Vec::new).push(pod.name_any());
        }
        assert!(hashes.len() == 1, "members differ at revision {revision}: {hashes:?}");
        Ok(())
    })
    .await;
}
