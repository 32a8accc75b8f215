//! Configured: other settings reach every member, one after another.

use serde_json::json;

use crate::{
    cluster::Clusters as _,
    patience::{LONG, PATIENCE},
    truth,
    world::scenario,
};

#[tokio::test]
async fn other_settings_reach_every_member_one_after_another() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let (load, before) = (cluster.load().await, cluster.incarnations().await);
        cluster.patch(json!({"etcd": {"quotaBackendBytes": "64Mi", "snapshotCount": 5000}})).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        assert!(cluster.incarnations().await.is_disjoint(&before), "every member was restarted");
        for member in truth::members(world, &cluster.place().await.unwrap()).await.unwrap() {
            assert_eq!(member.status.db_size_quota, Some(64 << 20));
        }
        load.stop("settings changed").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}

#[tokio::test]
async fn what_touches_no_process_restarts_nobody() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let before = cluster.incarnations().await;
        cluster
            .patch(json!({"remediation": {"replaceAfter": "20m"}, "deletionPolicy": {"protection": true}, "networkPolicy": {}}))
            .await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        assert_eq!(cluster.incarnations().await, before);
        // Protection is for deletion: it must not outlive the scenario.
        cluster.patch(json!({"deletionPolicy": {"protection": false}})).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
    })
    .await;
}
