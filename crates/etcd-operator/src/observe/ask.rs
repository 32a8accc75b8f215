//! What etcd says: every member that runs is asked at once, for itself.
//!
//! A member list that was read linearizably is two answers: who the members are, and that the one who told it has a quorum.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use etcd_api::{Consistency, EtcdError, Membership, Status, Tls};
use etcd_core::{
    Alarm, AlarmKind, ClusterId, Endpoint, Etcd, Listed, MemberId, Picture, Serial, Unreachable,
};
use etcd_types::EtcdCluster;
use futures::future::join_all;
use jiff::Timestamp;
use kit::Key;
use tokio::time::timeout;

use crate::{
    etcd::{Connections, Reached},
    names,
};

/// What was learnt, and whom to ask for more.
pub(super) struct Asked {
    pub(super) etcd: Etcd,
    pub(super) endpoints: BTreeMap<Serial, Arc<dyn etcd_api::Endpoint>>,
}

/// One member's answers.
struct Answer {
    reached: Reached,
    status: Status,
    membership: Option<Membership>,
}

pub(super) async fn ask(
    connections: &Connections,
    key: &Key,
    cluster: &EtcdCluster,
    picture: &Picture,
    tls: Option<&Tls>,
    now: Timestamp,
) -> Asked {
    let name = names::of(cluster);
    let name = name.get();
    // Nobody listens to a member that is being stopped: etcd does not end before all streams to it have, for 7 s at most.
    let runs = |pod: &etcd_core::Pod| pod.running && !pod.deleting;
    let running = picture.members.iter().filter(|(_, member)| member.pod.as_ref().is_some_and(runs));
    let urls: Vec<(Serial, String)> =
        running.map(|(serial, _)| (*serial, name.client_url(*serial))).collect();
    let all: Vec<String> = urls.iter().map(|(_, url)| url.clone()).collect();
    connections.keep(key, &all, tls);
    let answers =
        join_all(urls.iter().map(|(serial, url)| async { (*serial, ask_one(connections, key, url).await) }));
    let answers: BTreeMap<Serial, Result<Answer, EtcdError>> = answers.await.into_iter().collect();

    let heard = answers.values().filter_map(|answer| answer.as_ref().ok());
    let known = etcd_core::known_id(picture).or_else(|| same_id(heard.clone()));
    let of_cluster = heard.filter(|answer| Some(ClusterId(answer.status.cluster.0)) == known);
    // The newest term first: among equals, whoever leads.
    let teller = of_cluster
        .filter(|answer| answer.membership.is_some())
        .max_by_key(|answer| (answer.status.raft_term, answer.status.leader == Some(answer.status.member)));
    let alarms = match teller {
        Some(teller) => teller.reached.endpoint.alarms().await.ok(),
        None => None,
    };
    let alarms = alarms.map(|raised| raised.into_iter().map(alarm).collect());
    let members = teller.and_then(|teller| teller.membership.as_ref()).map(listed);
    let endpoints = answers
        .iter()
        .filter_map(|(serial, answer)| Some((*serial, answer.as_ref().ok()?.reached.endpoint.clone())));
    let endpoints = endpoints.collect();
    let said = answers.into_iter().map(|(serial, answer)| {
        let answer = answer.map(|answer| endpoint(answer, now));
        (serial, answer.map_err(|error| Unreachable(error.to_string())))
    });
    let etcd = Etcd { endpoints: said.collect(), members, alarms };
    Asked { etcd, endpoints }
}

async fn ask_one(connections: &Connections, key: &Key, url: &str) -> Result<Answer, EtcdError> {
    let reached = connections.look(key, url).await?;
    let endpoint = &reached.endpoint;
    let patience = reached.tardy.patience();
    let (status, membership) = futures::join!(
        within(patience, endpoint.status()),
        within(patience, endpoint.members(Consistency::Linearizable))
    );
    let late = [status.as_ref().err(), membership.as_ref().err()];
    let late = late.into_iter().flatten().any(|error| matches!(error, EtcdError::Deadline(_)));
    reached.tardy.note(late, patience);
    Ok(Answer { status: status?, membership: membership.ok(), reached })
}

async fn within<T>(
    patience: Duration,
    answer: impl Future<Output = Result<T, EtcdError>>,
) -> Result<T, EtcdError> {
    timeout(patience, answer).await.unwrap_or(Err(EtcdError::Deadline(patience)))
}

/// The ID that all who answer have in common.
fn same_id<'a>(answers: impl Iterator<Item = &'a Answer>) -> Option<ClusterId> {
    let mut ids: Vec<u64> = answers.map(|answer| answer.status.cluster.0).collect();
    ids.dedup();
    match ids.as_slice() {
        [one] => Some(ClusterId(*one)),
        _ => None,
    }
}

fn endpoint(answer: Answer, now: Timestamp) -> Endpoint {
    let Answer { reached, status, membership } = answer;
    let since = reached.watched_for.and_then(|time| now.checked_sub(time).ok());
    Endpoint {
        cluster_id: ClusterId(status.cluster.0),
        member_id: MemberId(status.member.0),
        version: status.version.parse().ok(),
        leader: status.leader.map(|leader| MemberId(leader.0)),
        learner: status.role == etcd_api::Role::Learner,
        serves: membership.is_some(),
        raft_term: status.raft_term,
        raft_index: status.raft_index,
        raft_applied_index: status.raft_applied_index,
        revision: status.revision,
        db_size: status.db_size,
        db_size_in_use: status.db_size_in_use,
        db_quota: status.db_size_quota,
        storage_version: status.storage_version,
        downgrade: status.downgrade_target,
        errors: status.errors,
        since,
    }
}

fn listed(membership: &Membership) -> Vec<Listed> {
    let member = |member: &etcd_api::Member| Listed {
        id: MemberId(member.id.0),
        name: member.name.clone(),
        peer_urls: member.peer_urls.clone(),
        client_urls: member.client_urls.clone(),
        learner: member.role == etcd_api::Role::Learner,
    };
    membership.members.iter().map(member).collect()
}

fn alarm(alarm: etcd_api::Alarm) -> Alarm {
    let kind = match alarm.kind {
        etcd_api::AlarmKind::NoSpace => AlarmKind::NoSpace,
        etcd_api::AlarmKind::Corrupt => AlarmKind::Corrupt,
    };
    Alarm { member: MemberId(alarm.member.0), kind }
}
