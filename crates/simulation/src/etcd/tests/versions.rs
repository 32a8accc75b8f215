//! Clusters agree on a version, and go back only when they were asked to.

use etcd_api::Downgrade;

use super::*;

async fn storage(town: &Town) -> Option<String> {
    town.dial(1).await.status().await.unwrap().storage_version
}

#[tokio::test(start_paused = true)]
async fn the_cluster_has_the_version_of_its_oldest_member_and_no_way_back_from_there() {
    let mut town = Town::founded(&[1, 2, 3]).await;
    assert_eq!(storage(&town).await.as_deref(), Some("3.6.0"));
    town.version = "3.7.3";
    for serial in [3, 2] {
        town.stop(serial).await;
        town.start(serial, &[1, 2, 3], "existing").await;
        town.pass(10).await;
        assert_eq!(town.state(serial).await, "ready");
    }
    assert_eq!(storage(&town).await.as_deref(), Some("3.6.0"));
    town.version = "3.6.16";
    town.stop(2).await;
    town.start(2, &[1, 2, 3], "existing").await;
    town.pass(10).await;
    assert_eq!(town.state(2).await, "ready", "one old member remains: going back is free");

    town.version = "3.7.3";
    for serial in [2, 1] {
        town.stop(serial).await;
        town.start(serial, &[1, 2, 3], "existing").await;
        town.pass(10).await;
    }
    assert_eq!(storage(&town).await.as_deref(), Some("3.7.0"));
    town.version = "3.6.16";
    town.stop(2).await;
    town.start(2, &[1, 2, 3], "existing").await;
    town.pass(5).await;
    let state = town.state(2).await;
    assert!(state.starts_with("exit 1: ") && state.contains("is not supported"), "{state}");
}

#[tokio::test(start_paused = true)]
async fn a_downgrade_that_was_enabled_lets_older_members_start_and_ends_with_the_last_one() {
    let mut town = Town::founded(&[1]).await;
    let client = town.dial(1).await;
    assert_eq!(refused(client.downgrade(Downgrade::Validate("3.4")).await), Refusal::BadDowngradeTarget);
    assert_eq!(refused(client.downgrade(Downgrade::Validate("old")).await), Refusal::BadDowngradeFormat);
    assert_eq!(client.downgrade(Downgrade::Enable("3.5")).await.as_deref(), Ok("3.6"));
    assert_eq!(client.status().await.unwrap().downgrade_target.as_deref(), Some("3.5.0"));
    assert_eq!(refused(client.downgrade(Downgrade::Enable("3.5")).await), Refusal::DowngradeInProgress);
    town.pass(5).await;
    assert_eq!(storage(&town).await.as_deref(), Some("3.5.0"));
    town.version = "3.5.35";
    town.stop(1).await;
    town.start(1, &[1], "existing").await;
    town.pass(10).await;
    assert_eq!(town.state(1).await, "ready");
    assert_eq!(storage(&town).await, None, "3.5 does not tell");
    town.version = "3.6.16";
    town.stop(1).await;
    town.start(1, &[1], "existing").await;
    town.pass(10).await;
    let status = town.dial(1).await.status().await.unwrap();
    assert_eq!((status.storage_version.as_deref(), status.downgrade_target), (Some("3.6.0"), None));
}

#[tokio::test(start_paused = true)]
async fn a_broken_version_and_one_two_minors_ahead_do_not_start() {
    let mut town = Town::founded(&[1]).await;
    town.etcd.break_version("3.6.17");
    for (version, said) in
        [("3.6.17", "etcd 3.6.17 is broken"), ("3.8.0", "incompatible with current running cluster")]
    {
        town.version = version;
        town.stop(1).await;
        town.start(1, &[1], "existing").await;
        town.pass(5).await;
        let state = town.state(1).await;
        assert!(state.starts_with("exit 1: ") && state.contains(said), "{state}");
    }
}
