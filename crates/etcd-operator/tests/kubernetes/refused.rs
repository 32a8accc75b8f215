//! What cannot be done is refused, with the reason and what to do instead; and nothing is touched.

use k8s_openapi::{api::core::v1::PersistentVolumeClaim, apimachinery::pkg::api::resource::Quantity};
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, Clusters as _},
    patience::{LONG, PATIENCE},
    world::scenario,
};

/// How large a volume a claim asks for.
fn asked(claim: &PersistentVolumeClaim) -> Option<Quantity> {
    claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?.get("storage").cloned()
}

/// Asks for something, and reads why not.
async fn refused(cluster: &Cluster<'_>, wish: Value, words: &[&str]) {
    let before = cluster.incarnations().await;
    cluster.patch(wish.clone()).await;
    let said = cluster.says("Refused", PATIENCE).await;
    for word in words {
        assert!(said.contains(word), "{wish}: {word:?} is not in {said:?}");
    }
    println!("    {wish}: {said}");
    assert_eq!(cluster.incarnations().await, before, "something was touched");
}

#[tokio::test]
async fn versions_that_cannot_follow_are_refused_and_the_cluster_goes_on() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.5.21").await;
        let load = cluster.load().await;
        let before = cluster.incarnations().await;
        refused(&cluster, json!({"version": "3.6.16"}), &["spec.version", "3.5.21", "3.5.3"]).await;
        refused(&cluster, json!({"version": "3.7.3"}), &["spec.version", "one minor at a time"]).await;
        refused(&cluster, json!({"version": "9.9.9"}), &["spec.version", "9.9.9"]).await;
        refused(&cluster, json!({"version": "3.4.30"}), &["spec.version", "3.4.30"]).await;
        assert_eq!(cluster.incarnations().await, before);
        // The way that the refusal names is open.
        cluster.patch(json!({"version": "3.5.35"})).await;
        cluster.is_well(3, "3.5.35", LONG).await;
        load.stop("refused versions, then a patch").await.nothing_failed();
    })
    .await;
}

#[tokio::test]
async fn nonsense_before_the_cluster_exists_makes_nothing() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.create(crate::cluster::spec(3, "9.9.9")).await;
        let said = cluster.says("Refused", PATIENCE).await;
        assert!(said.contains("9.9.9"), "{said}");
        assert!(cluster.pods().await.is_empty() && cluster.claims().await.is_empty());
        cluster.patch(json!({"version": "3.6.16"})).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
    })
    .await;
}

#[tokio::test]
async fn what_the_schema_can_refuse_is_refused_at_the_door() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(1, "3.6.16").await;
        for (wish, words) in [
            (json!({"size": 2}), "1, 3, 5 or 7"),
            (json!({"size": 9}), "less than or equal to 7"),
            (json!({"version": "latest"}), "such as 3.6.16"),
            (json!({"tls": {"mode": "Off"}}), "cannot change"),
            (json!({"storage": {"medium": "Memory"}}), "cannot change"),
            (json!({"storage": {"size": "large"}}), "spec.storage.size"),
            (json!({"etcd": {"heartbeatIntervalMilliseconds": 300}}), "five times"),
            (
                json!({"etcd": {"corruptionChecks": {"periodic": "4 hours"}}}),
                "spec.etcd.corruptionChecks.periodic",
            ),
            (
                json!({"etcd": {"autoCompaction": {"mode": "Revision", "retention": "1h"}}}),
                "spec.etcd.autoCompaction",
            ),
            (json!({"remediation": {"keepOldVolume": "30d"}}), "spec.remediation.keepOldVolume"),
            (json!({"bootstrap": {"existingVolumes": "Ignore"}}), "spec.bootstrap"),
        ] {
            let said = cluster.try_patch(wish.clone()).await.map(|_| ()).unwrap_err();
            assert!(said.contains(words), "{wish}: {said}");
        }
        let claims = cluster.claims().await.iter().map(asked).collect::<Vec<_>>();
        refused(&cluster, json!({"storage": {"size": "32Mi"}}), &["spec.storage.size", "members keep 256Mi"])
            .await;
        cluster.patch(json!({"storage": {"size": "256Mi"}})).await;
        let wish = json!({"etcd": {"extraArgs": {"data-dir": "/tmp"}, "snapshotCount": 5000}});
        refused(&cluster, wish, &["data-dir", "What was set before stays"]).await;
        cluster.is_well(1, "3.6.16", PATIENCE).await;
        assert_eq!(cluster.claims().await.iter().map(asked).collect::<Vec<_>>(), claims);
        let told = world.events_about("EtcdCluster", "db").await;
        assert!(told.iter().any(|it| it.contains("Refused")), "{told:?}");
    })
    .await;
}
