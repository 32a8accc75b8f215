//! What the simulated etcd takes for granted about processes that must not start: exit codes and last words of a real one.

use etcd_api::{Consistency, Endpoint as _, Role};

use crate::cluster::{Cluster, until};

#[tokio::test]
async fn a_founder_with_an_empty_disk_neither_founds_again_nor_rejoins() {
    let mut cluster = Cluster::found("empty-disk", 3).await;
    let (leader, _) = cluster.leader().await;
    let follower = (leader + 1) % 3;
    cluster.members[follower].kill().await;
    cluster.erase(follower);
    cluster.start(follower, "new", &[0, 1, 2]);
    let (code, said) = cluster.last_words(follower).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("has already been bootstrapped"), "{said}");

    cluster.erase(follower);
    cluster.start(follower, "existing", &[0, 1, 2]);
    let (code, said) = cluster.last_words(follower).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("is out of range [lastIndex(0)]"), "{said}");
}

#[tokio::test]
async fn who_joins_with_a_wrong_list_fails_and_who_was_removed_ends_with_success() {
    let mut cluster = Cluster::found("wrong-list", 3).await;
    let (leader, _) = cluster.leader().await;
    let client = cluster.dial(leader).await;
    let fourth = cluster.another();
    cluster.start(fourth, "existing", &[0, 1, 2, fourth]);
    let (code, said) = cluster.last_words(fourth).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("member count is unequal"), "{said}");
    let elsewhere = ["https://127.0.0.1:9".to_owned()];
    let added = until("a learner may be added", async || {
        client.add_member(&elsewhere, Role::Learner).await.map_err(|error| error.to_string())
    })
    .await;
    cluster.start(fourth, "existing", &[0, 1, 2, fourth]);
    let (code, said) = cluster.last_words(fourth).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no match found for existing member"), "{said}");
    client.remove_member(added.member.id).await.unwrap();

    let follower = (leader + 1) % 3;
    let id = cluster.dial(follower).await.status().await.unwrap().member;
    client.remove_member(id).await.unwrap();
    assert_eq!(cluster.last_words(follower).await.0, Some(0));
    cluster.start(follower, "existing", &[0, 1, 2]);
    let (code, said) = cluster.last_words(follower).await;
    assert!(matches!(code, Some(0 | 1)), "what ends first decides: {said}");
    assert!(said.contains("the member has been permanently removed from the cluster"), "{said}");
    assert_eq!(client.members(Consistency::Linearizable).await.unwrap().members.len(), 2);
}

#[tokio::test]
async fn who_joins_nobody_fails() {
    let mut cluster = Cluster::found("nobody", 1).await;
    cluster.members[0].kill().await;
    let second = cluster.another();
    cluster.start(second, "existing", &[0, second]);
    let (code, said) = cluster.last_words(second).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cannot fetch cluster info from peer urls"), "{said}");
}
