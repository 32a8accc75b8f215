//! Clients that swap, lease and watch while members restart and while the data is replaced in place. Every load checks these; here the
//! scenario makes sure that there was something to check.

use etcd_types::RestorePhase;
use serde_json::json;

use crate::{
    cluster::Clusters as _,
    patience::{LONG, PATIENCE},
    restore::{back_up, consent, restore, until_restore, with_store},
    world::scenario,
};

/// Writes that take longer than a short lease: 25 ms each, at least.
const LEASE_EXPIRES: usize = 400;

#[tokio::test]
async fn swaps_leases_and_a_watch_survive_the_restart_of_every_member() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let load = cluster.load().await;
        for pod in cluster.pods().await {
            cluster.delete_pod(&pod).await;
            cluster.until("the loss is noticed", PATIENCE, |_, status| status.ready_members < Some(3)).await;
            cluster.is_well(3, "3.6.16", PATIENCE).await;
        }
        crate::ground::signal(&cluster.leader().await, crate::ground::Signal::KILL);
        load.grows(LEASE_EXPIRES).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        let report = load.stop("every member restarted, the leader killed").await;
        assert!(report.swaps > 20, "the counter was hardly incremented: {report}");
        assert!(report.renewals > 0 && report.expired > 0, "no lease was renewed, or none expired: {report}");
        assert_eq!(report.lapsed, 0, "a lease could not be renewed for its whole TTL: {report}");
        assert!(report.resumed > 0, "the watch was never interrupted: {report}");
        assert!(report.events > report.writes, "the watch saw writes and swaps: {report}");
        cluster.members_agree().await;
    })
    .await;
}

/// The data goes back to the backup, and revisions go on: clients lose what came after the backup, and nothing else. A watch is told.
#[tokio::test]
async fn a_restore_in_place_takes_back_what_came_after_the_backup_and_nothing_else() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let before = cluster.status().await.cluster_id;
        let load = cluster.load().await;
        let kept = back_up(world, "db", "nightly").await.status.and_then(|status| status.revision).unwrap();
        load.grows(50).await;
        load.expects_restore_to(kept);
        restore(world, "back", json!({"backup": "nightly"}), &consent(&cluster).await).await;
        until_restore(world, "back", RestorePhase::Completed, LONG).await;
        cluster.is_well(3, "3.6.16", LONG).await;
        load.grows(50).await;
        load.stop("restored in place").await;
        assert_ne!(cluster.status().await.cluster_id, before);
        cluster.members_agree().await;
    })
    .await;
}
