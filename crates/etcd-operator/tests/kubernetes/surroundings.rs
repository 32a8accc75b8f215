//! What is around a cluster is not as it should be: kinds that are missing, Secrets that are deleted, nodes that are drained.

use k8s_openapi::api::core::v1::Secret;
use kube::{
    ResourceExt as _,
    api::{DeleteParams, ListParams},
};
use serde_json::json;

use crate::{
    cluster::{Clusters as _, conditions, spec},
    patience::{PATIENCE, until},
    world::scenario,
};

/// The lab has no Prometheus operator.
#[tokio::test]
async fn a_monitor_of_a_kind_that_is_not_there_keeps_nobody_from_serving() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let mut monitored = spec(1, "3.6.16");
        monitored["monitoring"] = json!({"podMonitor": true});
        cluster.create(monitored).await;
        cluster.is_well(1, "3.6.16", PATIENCE).await;
        let object = cluster
            .until("says what is missing", PATIENCE, |object, _| {
                conditions(object).iter().any(|it| it.type_ == "Reconciled" && it.status == "False")
            })
            .await;
        let said = conditions(&object).into_iter().find(|it| it.type_ == "Reconciled").unwrap().message;
        assert!(said.contains("spec.monitoring.podMonitor") && said.contains("PodMonitor"), "{said}");
        cluster.patch(json!({"size": 3})).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        cluster.patch(json!({"monitoring": {"podMonitor": false}})).await;
        cluster
            .until("all is done", PATIENCE, |object, _| {
                conditions(object).iter().any(|it| it.type_ == "Reconciled" && it.status == "True")
            })
            .await;
    })
    .await;
}

/// Members trust the authority that they were started with: another one would only lock everybody out.
#[tokio::test]
async fn certificates_that_somebody_deletes_are_not_made_by_another_authority() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        let (load, before) = (cluster.load().await, cluster.incarnations().await);
        let secrets = world.api::<Secret>();
        let kept = secrets.get("db-ca").await.unwrap();
        let all = ListParams::default().labels("etcd.capstan.dev/cluster=db");
        secrets.delete_collection(&DeleteParams::default(), &all).await.unwrap();
        let object = cluster
            .until("says that they are gone", PATIENCE, |object, _| {
                conditions(object).iter().any(|it| it.type_ == "TLSValid" && it.status == "False")
            })
            .await;
        let said = conditions(&object).into_iter().find(|it| it.type_ == "TLSValid").unwrap().message;
        assert!(said.contains("db-ca"), "{said}");
        load.grows(50).await;
        assert!(secrets.get_opt("db-ca").await.unwrap().is_none(), "there is another authority");
        assert_eq!(cluster.incarnations().await, before, "somebody was touched");
        load.stop("certificates deleted").await.nothing_failed();

        let mut back = kept.clone();
        back.metadata.resource_version = None;
        back.metadata.uid = None;
        secrets.create(&Default::default(), &back).await.unwrap();
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        assert_eq!(cluster.incarnations().await, before, "somebody was touched");
        cluster.load().await.stop("certificates signed again").await.nothing_failed();
    })
    .await;
}

/// What `kubectl drain` asks for. By kubectl: our client waits and tries again where the budget says no.
#[tokio::test]
async fn one_voter_may_be_evicted_and_a_second_one_waits() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        // Of five, two could go without harm to the quorum; then none is left to spare.
        cluster.run(5, "3.6.16").await;
        let evict = async |name: String| {
            let path = format!("/api/v1/namespaces/{}/pods/{name}/eviction", world.namespace);
            let body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
            world.kubectl_with(&format!("create --raw {path} -f -"), &body.to_string()).await
        };
        let (leader, follower) = (cluster.leader().await, cluster.follower().await);
        until("the budget is known", PATIENCE, async || evict(follower.name_any()).await.map(drop)).await;
        let refused = evict(leader.name_any()).await.unwrap_err();
        assert!(refused.contains("disruption budget"), "{refused}");
        cluster.is_well(5, "3.6.16", PATIENCE).await;
    })
    .await;
}
