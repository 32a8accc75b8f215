//! What etcd says: every member that runs is asked at once, for itself.
//!
//! A member list that was read linearizably is two answers: who the members are, and that the one who told it has a quorum.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use etcd_api::{Consistency, EtcdError, Membership, Refusal, Status, Tls};
use etcd_core::{
    Alarm, AlarmKind, ClusterId, Endpoint, Etcd, Listed, MemberId, Picture, Serial, Unreachable,
};
use etcd_types::EtcdCluster;
use futures::{StreamExt as _, future::join_all};
use jiff::Timestamp;
use kit::Key;
use tokio::time::timeout;

use crate::{
    etcd::{At, Connections, IMPATIENCE, Reached},
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
    // On a node that is not ready it may go on, as no kubelet stops it: whoever replaces its cluster must know.
    let is_left = |pod: &etcd_core::Pod| {
        pod.node.as_ref().is_some_and(|node| node.state == etcd_core::NodeState::NotReady)
    };
    let runs = |pod: &etcd_core::Pod| pod.running && (!pod.deleting || is_left(pod));
    let running = picture.members.iter().filter(|(_, member)| member.pod.as_ref().is_some_and(runs));
    let urls: Vec<(Serial, String)> =
        running.map(|(serial, _)| (*serial, name.client_url(*serial))).collect();
    let all: Vec<String> = urls.iter().map(|(_, url)| url.clone()).collect();
    connections.keep(key, &all, tls);
    let answers =
        join_all(urls.iter().map(|(serial, url)| async { (*serial, ask_one(connections, key, url).await) }));
    let answers: BTreeMap<Serial, Result<Answer, NoAnswer>> = answers.await.into_iter().collect();
    let blocked = answers.iter().filter(|(_, answer)| matches!(answer, Err(NoAnswer::Blocked(_))));
    let blocked = blocked.map(|(serial, _)| *serial).collect();

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
    let endpoints: BTreeMap<Serial, Arc<dyn etcd_api::Endpoint>> = endpoints.collect();
    let said = answers.into_iter().map(|(serial, answer)| {
        let answer = answer.map(|answer| endpoint(answer, now));
        (serial, answer.map_err(|error| Unreachable(told(&error, tls.is_some()))))
    });
    let mut etcd = Etcd { endpoints: said.collect(), members, alarms, blocked, hashes: BTreeMap::new() };
    compare(connections, key, picture, &mut etcd, &endpoints).await;
    Asked { etcd, endpoints }
}

/// Asks each voter for the hash of its data, if that may differ.
async fn compare(
    connections: &Connections,
    key: &Key,
    picture: &Picture,
    etcd: &mut Etcd,
    endpoints: &BTreeMap<Serial, Arc<dyn etcd_api::Endpoint>>,
) {
    let Some(listed) = etcd.members.as_ref().filter(|_| etcd_core::data_may_differ(&picture.members, etcd))
    else {
        return connections.forget_hashes(key);
    };
    let is_voter = |id: MemberId| listed.iter().any(|member| member.id == id && !member.learner);
    let answered = etcd.endpoints.iter().filter_map(|(serial, answer)| {
        let answer = answer.as_ref().ok().filter(|answer| is_voter(answer.member_id))?;
        Some((answer.member_id, answer.revision, endpoints.get(serial)?.clone()))
    });
    let answered: Vec<(MemberId, i64, Arc<dyn etcd_api::Endpoint>)> = answered.collect();
    let is_raised = etcd.alarms.iter().flatten().any(|alarm| alarm.kind == AlarmKind::Corrupt);
    let lowest = answered.iter().map(|(_, revision, _)| *revision).min().unwrap_or_default();
    let at = if is_raised { At::Frozen } else { At::Revision(lowest) };
    let members = answered.into_iter().map(|(id, _, endpoint)| (id, endpoint)).collect();
    etcd.hashes = connections.hashes(key, members, at).await;
}

/// Why a member did not answer.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error(transparent)]
    Silent(#[from] EtcdError),
    /// Its process answers, its database does not.
    #[error("its database does not respond: {0}")]
    Blocked(EtcdError),
}

async fn ask_one(connections: &Connections, key: &Key, url: &str) -> Result<Answer, NoAnswer> {
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
    if let Some(rejected) = membership.as_ref().err().filter(|error| is_about_users(error)) {
        return Err(rejected.clone().into());
    }
    match status {
        Ok(status) => Ok(Answer { status, membership: membership.ok(), reached }),
        // From 3.6 on, the status is read from the database too. The health service needs no database.
        Err(error @ EtcdError::Deadline(_)) => {
            let said = timeout(IMPATIENCE, endpoint.watch_health().next()).await;
            let alive = matches!(said, Ok(Some(Ok(_))));
            Err(if alive { NoAnswer::Blocked(error) } else { error.into() })
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether etcd's authentication is on, and does not accept us. From 3.5.28 and 3.6.9 on, members are told to users only.
fn is_about_users(error: &EtcdError) -> bool {
    let users =
        [Refusal::UserEmpty, Refusal::PermissionDenied, Refusal::AuthFailed, Refusal::InvalidAuthToken];
    matches!(error, EtcdError::Refused(refusal) if users.contains(refusal))
}

/// Why a member could not be asked.
fn told(error: &NoAnswer, with_tls: bool) -> String {
    match error {
        NoAnswer::Silent(error) if is_about_users(error) && with_tls => format!(
            "etcd's authentication is on and rejects the operator ({error}); the common name of the operator's certificate must be a user \
             with role root"
        ),
        NoAnswer::Silent(error) if is_about_users(error) => format!(
            "etcd's authentication is on, and without TLS the operator has no user ({error}); disable it with etcdctl auth disable"
        ),
        NoAnswer::Silent(_) | NoAnswer::Blocked(_) => error.to_string(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_operator_is_told_which_user_it_lacks() {
        let rejected = NoAnswer::Silent(EtcdError::Refused(Refusal::PermissionDenied));
        assert!(told(&rejected, true).contains("must be a user with role root"));
        let without = told(&NoAnswer::Silent(EtcdError::Refused(Refusal::UserEmpty)), false);
        assert!(
            without.contains("without TLS the operator has no user (etcdserver: user name is empty"),
            "{without}"
        );
        let others = NoAnswer::Silent(EtcdError::Unreachable("no route".into()));
        assert_eq!(told(&others, true), others.to_string());
    }
}
