//! What etcd refuses, and what becomes of calls when the quorum is gone.

use etcd_api::{Consistency, Endpoint as _, EtcdError, MemberId, Refusal, Role};

use crate::cluster::{Cluster, until};

const NOBODY: MemberId = MemberId(0xdead);

#[tokio::test]
async fn who_is_not_there_cannot_be_changed_and_voters_are_added_only_while_enough_have_started() {
    let cluster = Cluster::found("refused", 3).await;
    let (leader, status) = cluster.leader().await;
    let client = cluster.dial(leader).await;
    let not_found = Some(Refusal::MemberNotFound);
    assert_eq!(client.remove_member(NOBODY).await.unwrap_err().refusal(), not_found);
    assert_eq!(client.promote_member(NOBODY).await.unwrap_err().refusal(), not_found);
    assert_eq!(
        client.update_member(NOBODY, &["https://127.0.0.1:9".into()]).await.unwrap_err().refusal(),
        not_found
    );
    let refused = client.promote_member(status.member).await.unwrap_err();
    assert_eq!(refused.refusal(), Some(Refusal::MemberNotLearner));
    let refused = client.move_leader(NOBODY).await.unwrap_err();
    assert_eq!(refused.refusal(), Some(Refusal::BadLeaderTransferee));
    let refused = client.add_member(&["no url".into()], Role::Voter).await.unwrap_err();
    assert_eq!(refused.refusal(), Some(Refusal::BadPeerUrls));

    let mut port = 1;
    let mut add = async || {
        port += 1;
        client.add_member(&[format!("https://127.0.0.1:{port}")], Role::Voter).await
    };
    until("a voter may be added", async || add().await.map_err(|error| error.to_string())).await;
    add().await.expect("three of five have started");
    assert_eq!(add().await.unwrap_err().refusal(), Some(Refusal::NotEnoughStarted));
}

#[tokio::test]
async fn without_a_quorum_a_member_answers_for_itself_and_refuses_the_rest() {
    let mut cluster = Cluster::found("quorum", 3).await;
    let client = cluster.dial(0).await;
    let members = client.members(Consistency::Linearizable).await.unwrap();
    cluster.members[1].kill().await;
    cluster.members[2].kill().await;
    until("the leader is given up", async || match client.status().await.unwrap().leader {
        None => Ok(()),
        Some(leader) => Err(format!("still {leader}")),
    })
    .await;
    assert!(client.probe(Consistency::Serializable).await.is_ok());
    assert_eq!(client.members(Consistency::Serializable).await.unwrap().members, members.members);
    let error = client.probe(Consistency::Linearizable).await.unwrap_err();
    assert!(error.leaves_doubt() || error.refusal() == Some(Refusal::NoLeader), "{error:?}");
    let error = client.add_member(&["https://127.0.0.1:9".into()], Role::Learner).await.unwrap_err();
    assert_eq!(error, EtcdError::Refused(Refusal::Unhealthy));
    assert_eq!(client.status().await.unwrap().errors, ["etcdserver: no leader"]);
}
