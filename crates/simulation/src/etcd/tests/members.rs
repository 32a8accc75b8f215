//! Quorums, learners, leaders, and who may go.

use etcd_api::Role;
use futures::StreamExt as _;

use super::*;

#[tokio::test(start_paused = true)]
async fn three_founders_serve_within_one_election_and_found_once() {
    let town = Town::new();
    for founder in [1, 2, 3] {
        town.start(founder, &[1, 2, 3], "new").await;
    }
    town.pass(5).await;
    for founder in [1, 2, 3] {
        assert_eq!(town.state(founder).await, "ready");
    }
    assert_eq!(town.list(2).await, "db-1 Voter, db-2 Voter, db-3 Voter");
    assert_eq!(town.etcd.foundings().len(), 1);
    let status = town.dial(1).await.status().await.unwrap();
    assert_eq!(status.leader, Some(town.id(town.leader(1).unwrap()).await));
}

#[tokio::test(start_paused = true)]
async fn one_of_three_may_be_away_and_two_may_not() {
    let town = Town::founded(&[1, 2, 3]).await;
    town.stop(1).await;
    town.pass(2).await;
    let third = town.dial(3).await;
    assert!(third.probe(Consistency::Linearizable).await.is_ok());
    town.etcd.put(&url(3)).unwrap();
    town.stop(2).await;
    assert_eq!(third.probe(Consistency::Linearizable).await, Err(EtcdError::Deadline(DEADLINE)));
    assert!(third.probe(Consistency::Serializable).await.is_ok());
    assert!(town.etcd.put(&url(3)).is_err());
    let status = third.status().await.unwrap();
    assert_eq!((status.leader, status.errors), (None, vec!["etcdserver: no leader".to_owned()]));
    assert_eq!(town.state(3).await, "not ready");
    assert_eq!(refused(third.add_member(&[peer_url(4)], Role::Learner).await), Refusal::Unhealthy);

    town.start(1, &[], "existing").await;
    town.pass(8).await;
    assert_eq!((town.state(1).await, town.state(3).await), ("ready".into(), "ready".into()));
}

#[tokio::test(start_paused = true)]
async fn a_member_cut_off_from_its_peers_answers_for_itself_only() {
    let town = Town::founded(&[1, 2, 3]).await;
    let leader = town.leader(1).unwrap();
    town.etcd.trouble(&url(leader), Trouble::CutFromPeers);
    town.pass(3).await;
    let cut = town.dial(leader).await;
    assert_eq!(cut.probe(Consistency::Linearizable).await, Err(EtcdError::Deadline(DEADLINE)));
    let other = if leader == 1 { 2 } else { 1 };
    assert_ne!(town.leader(other), Some(leader));
    assert!(town.dial(other).await.probe(Consistency::Linearizable).await.is_ok());
    town.etcd.heal(&url(leader));
    town.pass(3).await;
    assert!(cut.probe(Consistency::Linearizable).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_learner_comes_catches_up_votes_and_goes() {
    let town = Town::founded(&[1, 2, 3]).await;
    let client = town.dial(1).await;
    let learner = client.add_member(&[peer_url(4)], Role::Learner).await.unwrap().member.id;
    assert_eq!(refused(client.add_member(&[peer_url(4)], Role::Learner).await), Refusal::MemberExists);
    town.pass(1).await;
    assert_eq!(refused(client.add_member(&[peer_url(4)], Role::Learner).await), Refusal::PeerUrlExists);
    assert_eq!(refused(client.add_member(&[peer_url(5)], Role::Learner).await), Refusal::TooManyLearners);
    assert_eq!(refused(client.promote_member(learner).await), Refusal::LearnerNotReady);

    town.start(4, &[1, 2, 3, 4], "existing").await;
    town.pass(3).await;
    assert_eq!(refused(client.promote_member(learner).await), Refusal::LearnerNotReady);
    town.pass(3).await;
    assert_eq!(town.state(4).await, "not ready");
    let itself = town.dial(4).await;
    assert_eq!(itself.status().await.unwrap().role, Role::Learner);
    assert_eq!(refused(itself.members(Consistency::Serializable).await), Refusal::NotForLearners);
    assert_eq!(refused(itself.watch_health().next().await.unwrap()), Refusal::NotForLearners);
    client.promote_member(learner).await.unwrap();
    assert_eq!(refused(client.promote_member(learner).await), Refusal::MemberNotLearner);
    town.pass(1).await;
    assert_eq!(town.state(4).await, "ready");
    assert_eq!(town.list(4).await, "db-1 Voter, db-2 Voter, db-3 Voter, db-4 Voter");

    client.remove_member(learner).await.unwrap();
    assert_eq!(refused(client.remove_member(learner).await), Refusal::MemberNotFound);
    town.pass(2).await;
    assert_eq!(town.state(4).await, "exit 0: ");
    town.pass(60).await;
    assert_eq!(town.list(1).await, "db-1 Voter, db-2 Voter, db-3 Voter");
}

#[tokio::test(start_paused = true)]
async fn changes_of_members_wait_for_connections_that_are_five_seconds_old() {
    let town = Town::new();
    for founder in [1, 2, 3] {
        town.start(founder, &[1, 2, 3], "new").await;
    }
    town.pass(4).await;
    let client = town.dial(1).await;
    assert_eq!(refused(client.add_member(&[peer_url(4)], Role::Voter).await), Refusal::Unhealthy);
    town.pass(5).await;
    client.add_member(&[peer_url(4)], Role::Voter).await.unwrap();
    client.add_member(&[peer_url(5)], Role::Voter).await.unwrap();
    let more = client.add_member(&[peer_url(6)], Role::Voter).await;
    assert_eq!(refused(more), Refusal::NotEnoughStarted, "three of six");
}

#[tokio::test(start_paused = true)]
async fn the_dead_may_be_removed_and_the_living_only_while_the_rest_is_a_quorum() {
    let town = Town::founded(&[1, 2, 3]).await;
    let (second, third) = (town.id(2).await, town.id(3).await);
    town.etcd.kill(&url(3));
    let client = town.dial(1).await;
    assert_eq!(refused(client.remove_member(second).await), Refusal::Unhealthy);
    client.remove_member(third).await.unwrap();
    town.pass(30).await;
    assert_eq!(town.state(3).await, "exit 0: ", "it comes back, and hears that it is out");

    town.etcd.kill(&url(2));
    let (client, second) = (town.dial(1).await, client.remove_member(second).await);
    assert!(second.is_err(), "one of two is no quorum: {second:?}");
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_leader_hands_over_when_it_is_asked_to_end_and_not_when_it_is_killed() {
    let town = Town::founded(&[1, 2, 3]).await;
    let first = town.leader(1).unwrap();
    town.pods().delete(&name(first), &DeleteParams::default()).await.unwrap();
    town.pass(1).await;
    let heir = town.leader(if first == 1 { 2 } else { 1 }).unwrap();
    assert_ne!(heir, first);
    town.pass(2).await;
    town.start(first, &[1, 2, 3], "existing").await;
    town.pass(10).await;
    town.etcd.kill(&url(heir));
    assert_eq!(town.leader(first), None);
    town.pass(2).await;
    assert!(town.leader(first).is_some_and(|leader| leader != heir));
    town.pass(20).await;
    assert_eq!(town.state(heir).await, "ready", "its container was started again");
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_can_hand_over_and_only_to_a_voter() {
    let town = Town::founded(&[1, 2, 3]).await;
    let leader = town.leader(1).unwrap();
    let follower = if leader == 1 { 2 } else { 1 };
    let id = town.id(follower).await;
    assert_eq!(refused(town.dial(follower).await.move_leader(id).await), Refusal::NotLeader);
    let client = town.dial(leader).await;
    assert_eq!(refused(client.move_leader(MemberId(9)).await), Refusal::BadLeaderTransferee);
    client.move_leader(id).await.unwrap();
    assert_eq!(town.leader(1), Some(follower));
}

#[tokio::test(start_paused = true)]
async fn an_alarm_stops_writes_until_it_is_disarmed_and_defragmentation_shrinks_the_file() {
    let town = Town::founded(&[1]).await;
    let client = town.dial(1).await;
    town.etcd.resize(&url(1), 3 << 30, 1 << 20);
    town.etcd.alarm(&url(1), AlarmKind::NoSpace);
    assert_eq!(refused(town.etcd.put(&url(1))), Refusal::NoSpace);
    client.defragment(DEADLINE).await.unwrap();
    assert_eq!(client.status().await.unwrap().db_size, 1 << 20);
    let alarms = client.alarms().await.unwrap();
    client.disarm(alarms[0]).await.unwrap();
    assert!(town.etcd.put(&url(1)).is_ok());
}
