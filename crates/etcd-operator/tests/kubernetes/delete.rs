//! Deleted: with or without its data.

use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{Namespace, PersistentVolumeClaim, Secret, Service},
};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::{
    cluster::{Cluster, Clusters as _, spec},
    load::{Endpoints, Request},
    patience::{LONG, PATIENCE, until, when},
    world::scenario,
};

async fn write(cluster: &Cluster<'_>, key: &str, value: &str) {
    let endpoints = Endpoints::new(cluster.place().await.unwrap());
    endpoints.refresh(cluster.world).await;
    endpoints.ask(&Request::Put(key.to_owned(), value.to_owned())).await.unwrap();
}

async fn read(cluster: &Cluster<'_>, key: &str) -> Option<String> {
    let endpoints = Endpoints::new(cluster.place().await.unwrap());
    endpoints.refresh(cluster.world).await;
    endpoints.ask(&Request::Get(key.to_owned())).await.unwrap().value
}

/// Waits until nothing of it is left but so many claims.
async fn rest(cluster: &Cluster<'_>, claims: usize) {
    let (world, labels) = (cluster.world, cluster.labels().labels);
    until("only what should stay is left", LONG, async || {
        let left = (
            world.list::<StatefulSet>(&labels).await.len(),
            world.list::<Service>(&labels).await.len(),
            world.list::<PersistentVolumeClaim>(&labels).await.len(),
        );
        when(left == (0, 0, claims), left)
    })
    .await;
}

#[tokio::test]
async fn the_volumes_stay_and_a_cluster_of_the_same_name_takes_them_back() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        write(&cluster, "kept", "for later").await;
        let (id, claims) = (cluster.status().await.cluster_id, cluster.claim_names().await);
        cluster.delete().await;
        cluster.is_gone().await;
        rest(&cluster, 3).await;

        cluster.run(3, "3.6.16").await;
        assert_eq!(read(&cluster, "kept").await.as_deref(), Some("for later"));
        let status = cluster.status().await;
        assert_eq!(
            (status.cluster_id, cluster.claim_names().await),
            (id, claims),
            "the same cluster goes on"
        );
        cluster.load().await.stop("taken back").await.nothing_failed();
    })
    .await;
}

#[tokio::test]
async fn the_volumes_go_when_the_user_said_so() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        write(&cluster, "gone", "with it").await;
        let id = cluster.status().await.cluster_id;
        cluster.patch(json!({"deletionPolicy": {"volumes": "Delete"}})).await;
        cluster.is_well(3, "3.6.16", PATIENCE).await;
        cluster.delete().await;
        cluster.is_gone().await;
        rest(&cluster, 0).await;
        assert!(world.api::<Secret>().get_opt("db-ca").await.unwrap().is_none(), "the CA goes with it");
        cluster.run(3, "3.6.16").await;
        assert_eq!(read(&cluster, "gone").await, None);
        assert_ne!(cluster.status().await.cluster_id, id);
    })
    .await;
}

#[tokio::test]
async fn a_protected_cluster_goes_on_until_protection_ends() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let mut protected = spec(1, "3.6.16");
        protected["deletionPolicy"] = json!({"protection": true});
        cluster.create(protected).await;
        cluster.is_well(1, "3.6.16", PATIENCE).await;
        let load = cluster.load().await;
        let before = cluster.incarnations().await;
        for cascade in ["background", "foreground"] {
            let refused = world.kubectl(&format!("delete etcd db --cascade={cascade}")).await.unwrap_err();
            assert!(refused.contains("spec.deletionPolicy.protection"), "{refused}");
        }
        load.grows(50).await;
        assert_eq!(cluster.incarnations().await, before);
        load.stop("deletion, protected").await.nothing_failed();
        cluster.patch(json!({"deletionPolicy": {"protection": false}})).await;
        cluster.delete().await;
        cluster.is_gone().await;
    })
    .await;
}

#[tokio::test]
async fn a_namespace_goes_with_the_cluster_in_it() {
    scenario(async |world| {
        let other = world.elsewhere(&format!("{}-b", world.namespace));
        other.create_namespace(&other.namespace).await;
        let cluster = other.cluster("db");
        cluster.run(3, "3.6.16").await;
        other.remove_namespace(&other.namespace).await;
        until("the namespace is gone", LONG, async || {
            let there = Api::<Namespace>::all(world.client.clone()).get_opt(&other.namespace).await.unwrap();
            when(there.is_none(), there.map(|it| (it.name_any(), it.status)))
        })
        .await;
    })
    .await;
}
