//! Paused: hands off; and resumed.

use etcd_types::Phase;
use kube::ResourceExt as _;
use serde_json::json;

use crate::{
    cluster::{Clusters as _, is_current},
    patience::{LONG, PATIENCE, until, when},
    world::scenario,
};

#[tokio::test]
async fn while_paused_nothing_is_changed_and_kubernetes_still_restarts_pods() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let load = cluster.load().await;
        cluster.patch(json!({"paused": true})).await;
        cluster.until("is paused", PATIENCE, |_, status| status.phase == Some(Phase::Paused)).await;
        cluster.patch(json!({"size": 5, "version": "3.7.3"})).await;
        cluster
            .until("has read it", PATIENCE, |object, status| {
                is_current(object) && status.phase == Some(Phase::Paused)
            })
            .await;
        let lost = cluster.follower().await;
        cluster.delete_pod(&lost).await;
        until("the pod is back", PATIENCE, async || {
            let pods = cluster.pods().await;
            let ready = pods.iter().filter(|pod| kit::readiness::is_ready(*pod)).count();
            when(ready == 3 && pods.iter().all(|pod| pod.uid() != lost.uid()), pods.len())
        })
        .await;
        let status = cluster.status().await;
        assert_eq!((status.replicas, status.operation), (Some(3), None), "nothing was begun");
        cluster.patch(json!({"paused": false})).await;
        cluster.is_well(5, "3.7.3", LONG).await;
        load.stop("paused and resumed").await.nothing_failed();
        cluster.members_agree().await;
    })
    .await;
}
