//! What etcd said when the operator asked it last, as far as the status tells.

use std::collections::BTreeMap;

use etcd_core::{Alarm, AlarmKind, ClusterId, Endpoint, Etcd, Listed, MemberId, Serial, Unreachable, Why};
use etcd_types::{EtcdCluster, EtcdClusterStatus, MemberStatus, Role};

use crate::names;

/// Members with their health. How far each one's log has got is not reported: all count as equal.
pub(super) fn etcd(cluster: &EtcdCluster) -> Etcd {
    let Some(status) = &cluster.status else { return Etcd::default() };
    let name = names::of(cluster);
    let known: Vec<Known<'_>> = status
        .members
        .iter()
        .flatten()
        .filter_map(|member| {
            let id = u64::from_str_radix(member.id.as_deref()?, 16).ok().map(MemberId)?;
            Some(Known { serial: name.get().serial_of_name(&member.name)?, id, member })
        })
        .collect();
    let leader =
        known.iter().find(|known| Some(&known.member.name) == status.leader.as_ref()).map(|known| known.id);
    let endpoints = known.iter().map(|known| (known.serial, endpoint(known, status, leader))).collect();
    let listed = known.iter().map(|known| Listed {
        id: known.id,
        name: known.member.name.clone(),
        peer_urls: vec![name.get().peer_url(known.serial)],
        // A learner that has not answered yet may not have started; a voter has, or it would not be one.
        client_urls: match known.member.role == Role::Learner && !known.member.healthy {
            true => Vec::new(),
            false => vec![name.get().client_url(known.serial)],
        },
        learner: known.member.role == Role::Learner,
    });
    let readable =
        status.conditions.iter().flatten().any(|it| it.type_ == "Available" && it.status == "True");
    let alarms = readable.then(|| alarms(status, leader.unwrap_or(MemberId(0))));
    // What the status says of such a member is all that is known here.
    let blocked = known.iter().filter(|known| {
        let said = known.member.reason.as_deref();
        said.is_some_and(|said| said.starts_with(etcd_core::DATABASE_BLOCKED))
    });
    let blocked = blocked.map(|known| known.serial).collect();
    // Hashes of data are in sentences only.
    Etcd { endpoints, members: readable.then(|| listed.collect()), alarms, blocked, hashes: BTreeMap::new() }
}

/// Alarms that the conditions tell of. Who has raised them is in their sentences only.
fn alarms(status: &EtcdClusterStatus, member: MemberId) -> Vec<Alarm> {
    let told = |why: Why| status.conditions.iter().flatten().any(|it| it.reason == why.as_str());
    let kinds = [(Why::Corrupt, AlarmKind::Corrupt), (Why::NoSpace, AlarmKind::NoSpace)];
    kinds.into_iter().filter(|(why, _)| told(*why)).map(|(_, kind)| Alarm { member, kind }).collect()
}

struct Known<'a> {
    serial: Serial,
    id: MemberId,
    member: &'a MemberStatus,
}

fn endpoint(
    known: &Known<'_>,
    status: &EtcdClusterStatus,
    leader: Option<MemberId>,
) -> Result<Endpoint, Unreachable> {
    let MemberStatus { healthy, reason, version, role, db_size, db_size_in_use, .. } = known.member;
    let id = status.cluster_id.as_ref().and_then(|id| id.parse::<ClusterId>().ok());
    let (true, Some(cluster_id)) = (healthy, id) else {
        return Err(Unreachable(reason.clone().unwrap_or_else(|| "it did not serve".to_owned())));
    };
    Ok(Endpoint {
        cluster_id,
        member_id: known.id,
        version: version.as_ref().and_then(|version| version.parse().ok()),
        leader,
        learner: *role == Role::Learner,
        serves: *role != Role::Learner,
        raft_term: 0,
        raft_index: 0,
        raft_applied_index: 0,
        revision: 0,
        db_size: db_size.unwrap_or_default(),
        db_size_in_use: db_size_in_use.unwrap_or_default(),
        db_quota: None,
        storage_version: status.version.as_ref().and_then(|version| version.storage.clone()),
        downgrade: None,
        errors: Vec::new(),
        since: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_status_tells_is_a_member_list_with_health() {
        let member = |name: &str, id: &str, role: &str, healthy: bool| {
            json!({"name": name, "id": id, "role": role, "healthy": healthy, "since": "2026-11-16T06:00:00Z",
                "version": "3.6.16", "updated": true})
        };
        let cluster: EtcdCluster = serde_json::from_value(json!({
            "apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdCluster",
            "metadata": {"name": "db", "namespace": "shop"}, "spec": {"version": "3.6.16"},
            "status": {"clusterID": "9d3f", "leader": "db-1",
                "members": [member("db-1", "a1", "Leader", true), member("db-2", "a2", "Voter", false), member("db-4", "a4", "Learner", false)],
                "conditions": [{"type": "Available", "status": "True", "reason": "Serving", "message": "", "lastTransitionTime": "2026-11-16T06:00:00Z"}]}
        }))
        .unwrap();
        let etcd = etcd(&cluster);
        let listed = etcd.members.unwrap();
        assert_eq!(
            listed.iter().map(|it| (it.id.0, it.learner, it.has_started())).collect::<Vec<_>>(),
            [(0xa1, false, true), (0xa2, false, true), (0xa4, true, false)]
        );
        assert_eq!(listed[0].peer_urls, ["https://db-1-0.db-peer.shop.svc:2380"]);
        let first = etcd.endpoints[&Serial(1)].as_ref().unwrap();
        assert_eq!(
            (first.leader, first.serves, first.cluster_id),
            (Some(MemberId(0xa1)), true, ClusterId(0x9d3f))
        );
        assert_eq!(etcd.endpoints[&Serial(2)].as_ref().unwrap_err().to_string(), "it did not serve");
        let mut lost = cluster;
        lost.status.as_mut().unwrap().conditions = None;
        assert_eq!(super::etcd(&lost).members, None, "no linearizable read, no list");
        assert_eq!((etcd.alarms, super::etcd(&lost).alarms), (Some(Vec::new()), None));
    }
}
