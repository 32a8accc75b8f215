//! Every call, on a cluster that is well.

use std::time::Duration;

use etcd_api::{
    Alarm, AlarmKind, Consistency, Downgrade, Endpoint as _, EtcdError, Refusal, Role,
    pb::{
        AlarmRequest, AlarmType, LeaseGrantRequest, LeaseRevokeRequest, PutRequest, SnapshotRequest,
        WatchCreateRequest, WatchRequest, alarm_request::AlarmAction, watch_request::RequestUnion,
    },
};

use futures::StreamExt as _;

use crate::cluster::{Cluster, VERSION, until};

#[tokio::test]
async fn members_come_as_learners_vote_lead_and_go() {
    let mut cluster = Cluster::found("members", 3).await;
    let (leader, status) = cluster.leader().await;
    let client = cluster.dial(leader).await;
    let founders = client.members(Consistency::Linearizable).await.unwrap();
    assert_eq!((founders.cluster, founders.told_by), (status.cluster, status.member));
    assert!(founders.members.iter().all(|member| member.has_started() && member.role == Role::Voter));

    // Strict reconfiguration wants all connections to be five seconds old.
    let fourth = cluster.another();
    let peer_urls = [cluster.members[fourth].peer_url()];
    let added = until("a learner may be added", async || {
        client.add_member(&peer_urls, Role::Learner).await.map_err(|error| {
            assert_eq!(error, EtcdError::Refused(Refusal::Unhealthy));
            error.to_string()
        })
    })
    .await;
    assert_eq!((added.member.role, added.member.has_started()), (Role::Learner, false));
    assert_eq!(added.membership.members.len(), 4);
    let learner = added.member.id;

    let refused = async |peer_urls: &[String]| client.add_member(peer_urls, Role::Learner).await.unwrap_err();
    // An ID is made of URLs and second: at first that is what is there already.
    until("the URL is there already", async || match refused(&peer_urls).await {
        EtcdError::Refused(Refusal::PeerUrlExists) => Ok(()),
        other => {
            assert_eq!(other, EtcdError::Refused(Refusal::MemberExists));
            Err(other.to_string())
        }
    })
    .await;
    let another = ["https://127.0.0.1:9".to_owned()];
    assert_eq!(refused(&another).await, EtcdError::Refused(Refusal::TooManyLearners));
    let not_ready = client.promote_member(learner).await.unwrap_err();
    assert_eq!(not_ready, EtcdError::Refused(Refusal::LearnerNotReady));

    cluster.start(fourth, "existing", &[0, 1, 2, fourth]);
    let itself = cluster.dial(fourth).await;
    let status =
        until("the learner answers", async || itself.status().await.map_err(|e| e.to_string())).await;
    assert_eq!((status.member, status.role), (learner, Role::Learner));
    let refused = itself.members(Consistency::Linearizable).await.unwrap_err();
    assert_eq!(refused, EtcdError::Refused(Refusal::NotForLearners));
    let no_stream = itself.watch_health().next().await;
    assert_eq!(no_stream, Some(Err(EtcdError::Refused(Refusal::NotForLearners))));
    assert!(itself.probe(Consistency::Serializable).await.is_ok());

    until("the learner is promoted", async || {
        client.promote_member(learner).await.map_err(|error| {
            assert_eq!(error, EtcdError::Refused(Refusal::LearnerNotReady));
            error.to_string()
        })
    })
    .await;
    until("it knows that it votes", async || {
        itself.members(Consistency::Linearizable).await.map_err(|error| error.to_string())
    })
    .await;

    client.move_leader(learner).await.unwrap();
    until("it leads", async || match itself.status().await.unwrap().leader {
        Some(leader) if leader == learner => Ok(()),
        leader => Err(format!("{leader:?}")),
    })
    .await;
    let back = founders.told_by;
    let refused = client.move_leader(back).await.unwrap_err();
    assert_eq!(refused, EtcdError::Refused(Refusal::NotLeader));
    itself.move_leader(back).await.unwrap();

    let moved = ["https://127.0.0.1:9".to_owned()];
    let updated = client.update_member(learner, &moved).await.unwrap();
    let url = updated.members.iter().find(|member| member.id == learner).unwrap().peer_urls.clone();
    assert_eq!(url, moved);
    let left = client.remove_member(learner).await.unwrap();
    assert_eq!(left.members.len(), 3);
}

#[tokio::test]
async fn maintenance_is_answered_by_each_member_for_itself() {
    let cluster = Cluster::found("maintenance", 3).await;
    let client = cluster.dial(0).await;
    let put =
        |key: &str| PutRequest { key: key.to_owned().into(), value: "v".into(), ..PutRequest::default() };
    let revision = client.call(client.kv().put(put("a"))).await.unwrap().header.unwrap().revision;
    assert_eq!(client.probe(Consistency::Linearizable).await, Ok(revision));
    assert_eq!(client.auth_enabled().await, Ok(false));

    let mut hashes = Vec::new();
    for number in 0..3 {
        let member = cluster.dial(number).await;
        until("the write is there", async || match member.probe(Consistency::Serializable).await.unwrap() {
            seen if seen >= revision => Ok(()),
            seen => Err(format!("revision {seen}")),
        })
        .await;
        hashes.push(member.hash_kv(revision).await.unwrap());
        let status = until("storage at 3.6", async || {
            let status = member.status().await.unwrap();
            let there = status.storage_version.as_deref() == Some("3.6.0");
            if there { Ok(status) } else { Err(format!("{status:?}")) }
        })
        .await;
        assert_eq!(status.version, VERSION);
        assert_eq!(status.db_size_quota, Some(2 << 30));
        assert!(status.db_size >= status.db_size_in_use && status.db_size_in_use > 0, "{status:?}");
        assert_eq!((status.downgrade_target, status.errors), (None, Vec::new()));
        member.defragment(Duration::from_secs(20)).await.unwrap();
    }
    assert_eq!(hashes[0].hash_revision, Some(revision));
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");

    client.compact(revision).await.unwrap();
    assert_eq!(client.compact(revision).await, Err(EtcdError::Refused(Refusal::Compacted)));
    assert_eq!(client.compact(revision + 9).await, Err(EtcdError::Refused(Refusal::FutureRevision)));

    let mut snapshot = client.call(client.maintenance().snapshot(SnapshotRequest {})).await.unwrap();
    let mut size = 0;
    while let Some(chunk) = snapshot.message().await.unwrap() {
        size += chunk.blob.len();
    }
    assert_eq!(size % 512, 32, "a database and its SHA-256");

    let create = WatchCreateRequest { key: "b".into(), ..WatchCreateRequest::default() };
    let request = WatchRequest { request_union: Some(RequestUnion::CreateRequest(create)) };
    let mut watch = client
        .call(client.watch().watch(futures::stream::iter([request]).chain(futures::stream::pending())))
        .await
        .unwrap();
    assert!(watch.message().await.unwrap().unwrap().created);
    client.call(client.kv().put(put("b"))).await.unwrap();
    assert_eq!(watch.message().await.unwrap().unwrap().events.len(), 1);
}

#[tokio::test]
async fn a_lease_is_granted_renewed_and_revoked_with_its_key() {
    let cluster = Cluster::found("leases", 1).await;
    let client = cluster.dial(0).await;
    let grant = LeaseGrantRequest { ttl: 60, ..LeaseGrantRequest::default() };
    let granted = client.call(client.lease().lease_grant(grant)).await.unwrap();
    assert_eq!(granted.ttl, 60);
    let leased = PutRequest { key: "a".into(), lease: granted.id, ..PutRequest::default() };
    client.call(client.kv().put(leased.clone())).await.unwrap();
    let renewed = client.keep_alive(granted.id).await.unwrap();
    assert_eq!((renewed.id, renewed.ttl), (granted.id, 60));
    client.call(client.lease().lease_revoke(LeaseRevokeRequest { id: granted.id })).await.unwrap();
    assert_eq!(client.keep_alive(granted.id).await.unwrap().ttl, 0, "there is no such lease");
    // Clients of the load tell a lost lease by these words.
    let refused = client.call(client.kv().put(leased)).await.unwrap_err();
    assert!(refused.to_string().contains("requested lease not found"), "{refused}");
}

#[tokio::test]
async fn alarms_restrict_until_they_are_disarmed_and_a_downgrade_can_be_called_off() {
    let cluster = Cluster::found("alarms", 1).await;
    let client = cluster.dial(0).await;
    let member = client.status().await.unwrap().member;
    let put = || PutRequest { key: "a".into(), value: "v".into(), ..PutRequest::default() };
    let arm = async |alarm: AlarmType| {
        let action = AlarmAction::Activate.into();
        let request = AlarmRequest { action, member_id: member.0, alarm: alarm.into() };
        client.call(client.maintenance().alarm(request)).await.unwrap();
    };
    for (wire, kind, refusal) in [
        (AlarmType::Nospace, AlarmKind::NoSpace, Refusal::NoSpace),
        (AlarmType::Corrupt, AlarmKind::Corrupt, Refusal::Corrupt),
    ] {
        arm(wire).await;
        let alarm = Alarm { member, kind };
        assert_eq!(client.alarms().await, Ok(vec![alarm]));
        assert_eq!(client.call(client.kv().put(put())).await, Err(EtcdError::Refused(refusal)));
        assert_eq!(client.status().await.unwrap().errors.len(), 1);
        client.disarm(alarm).await.unwrap();
        assert_eq!(client.alarms().await, Ok(Vec::new()));
        assert!(client.call(client.kv().put(put())).await.is_ok());
    }
    let large = PutRequest { value: vec![0; 1_700_000].into(), ..put() };
    let refused = client.call(client.kv().put(large)).await;
    assert_eq!(refused, Err(EtcdError::Refused(Refusal::RequestTooLarge)));

    let downgrade = async |what: Downgrade<'_>| client.downgrade(what).await.map_err(|error| error.refusal());
    until("a cluster version", async || {
        downgrade(Downgrade::Validate("3.5")).await.map_err(|e| format!("{e:?}"))
    })
    .await;
    assert_eq!(downgrade(Downgrade::Validate("3.3")).await, Err(Some(Refusal::BadDowngradeTarget)));
    assert_eq!(downgrade(Downgrade::Validate("old")).await, Err(Some(Refusal::BadDowngradeFormat)));
    assert_eq!(downgrade(Downgrade::Cancel).await.as_deref(), Ok("3.6"), "3.5 refused it: there is none");
    downgrade(Downgrade::Enable("3.5")).await.unwrap();
    assert_eq!(client.status().await.unwrap().downgrade_target.as_deref(), Some("3.5.0"));
    assert_eq!(downgrade(Downgrade::Enable("3.5")).await, Err(Some(Refusal::DowngradeInProgress)));
    downgrade(Downgrade::Cancel).await.unwrap();
    assert_eq!(client.status().await.unwrap().downgrade_target, None);
}
