//! Who may start: what is on the disk decides, then the arguments.

use etcd_api::Role;

use super::*;

async fn message(town: &Town, serial: u32) -> (String, String) {
    let state = town.state(serial).await;
    let (code, message) = state.split_once(": ").unwrap();
    (code.to_owned(), message.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_founder_whose_disk_is_empty_neither_founds_again_nor_rejoins() {
    let town = Town::founded(&[1, 2, 3]).await;
    town.stop(3).await;
    town.volumes.erase("default", "db-3");
    town.start(3, &[1, 2, 3], "new").await;
    town.pass(5).await;
    let (code, said) = message(&town, 3).await;
    assert!(code == "exit 1" && said.contains("has already been bootstrapped"), "{code} {said}");
    town.stop(3).await;
    town.start(3, &[1, 2, 3], "existing").await;
    town.pass(5).await;
    let (code, said) = message(&town, 3).await;
    assert!(code == "exit 2" && said.contains("is out of range [lastIndex(0)]"), "{code} {said}");
    assert_eq!(town.etcd.foundings().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_has_a_disk_does_not_look_at_its_arguments() {
    let town = Town::founded(&[1, 2, 3]).await;
    let id = town.id(3).await;
    town.stop(3).await;
    town.start(3, &[3], "new").await;
    town.pass(5).await;
    assert_eq!((town.state(3).await, town.id(3).await), ("ready".into(), id));
}

#[tokio::test(start_paused = true)]
async fn who_joins_must_know_exactly_the_members_that_there_are() {
    let town = Town::founded(&[1]).await;
    town.start(2, &[1, 2], "existing").await;
    town.pass(5).await;
    let (code, said) = message(&town, 2).await;
    assert!(code == "exit 1" && said.contains("member count is unequal"), "{code} {said}");
    let added = town.dial(1).await.add_member(&[peer_url(3)], Role::Learner).await.unwrap();
    assert!(!added.member.has_started());
    town.pass(20).await;
    let (_, said) = message(&town, 2).await;
    assert!(said.contains("no match found for existing member"), "{said}");
    town.start(3, &[1, 3], "existing").await;
    town.pass(8).await;
    assert_eq!(town.list(1).await, "db-1 Voter, db-3 Learner");
}

#[tokio::test(start_paused = true)]
async fn who_joins_nobody_ends() {
    let town = Town::new();
    town.start(1, &[1, 2, 3], "existing").await;
    town.pass(5).await;
    let (code, said) = message(&town, 1).await;
    assert!(code == "exit 1" && said.contains("cannot fetch cluster info from peer urls"), "{code} {said}");
    assert_eq!(town.etcd.foundings(), []);
    town.pass(100).await;
    let pod = town.pods().get("db-1").await.unwrap();
    let restarts = pod.status.unwrap().container_statuses.unwrap()[0].restart_count;
    assert_eq!(restarts, 4, "at once, and after 10, 30 and 70 seconds");
}

#[tokio::test(start_paused = true)]
async fn a_second_founding_with_the_same_members_has_the_same_id_and_is_told_apart() {
    let town = Town::founded(&[1]).await;
    town.stop(1).await;
    town.volumes.erase("default", "db-1");
    town.start(1, &[1], "new").await;
    town.pass(10).await;
    assert_eq!(town.state(1).await, "ready", "etcd itself does not notice");
    let foundings = town.etcd.foundings();
    assert_eq!(foundings.len(), 2);
    assert_eq!(foundings[0], foundings[1]);
}

#[tokio::test(start_paused = true)]
async fn a_foreign_disk_belongs_to_another_cluster() {
    let town = Town::founded(&[1]).await;
    town.start(2, &[2], "new").await;
    town.pass(8).await;
    let (first, second) =
        (town.dial(1).await.status().await.unwrap(), town.dial(2).await.status().await.unwrap());
    assert_ne!(first.cluster, second.cluster);
    town.stop(2).await;
    town.volumes.change("default", "db-2", |disk| disk.insert("etcd/identity".into(), "rubbish".into()));
    town.start(2, &[2], "new").await;
    town.pass(5).await;
    let (code, said) = message(&town, 2).await;
    assert!(code == "exit 1" && said.contains("crc mismatch"), "{code} {said}");
}
