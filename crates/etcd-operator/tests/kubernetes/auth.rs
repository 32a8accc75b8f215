//! etcd's authentication is on: the operator, backups, capture and restores go on as its user root.

use etcd_api::Endpoint as _;
use etcd_types::{EtcdBackup, EtcdCluster, EtcdClusterStatus, Phase, RestorePhase};
use kube::ResourceExt as _;
use serde_json::json;

use crate::{
    cluster::{Cluster, Clusters as _, is_current},
    load::{Endpoints, Load, Place, Request},
    patience::{LONG, PATIENCE, until, when},
    restore::{capture, captured, consent, restore, store, until_restore, with_store},
    world::{World, scenario},
};

/// As root: only the operator's certificate has that name.
async fn as_root(cluster: &Cluster<'_>) -> Place {
    Place { tls: Some(cluster.credentials("db-operator-tls").await.unwrap()), ..cluster.labels() }
}

async fn ask(cluster: &Cluster<'_>, request: Request) -> (Option<String>, i64) {
    let endpoints = Endpoints::new(as_root(cluster).await);
    endpoints.refresh(cluster.world).await;
    let answer = endpoints.ask(&request).await.unwrap();
    (answer.value, answer.revision)
}

async fn put(cluster: &Cluster<'_>, key: &str, value: &str) -> i64 {
    ask(cluster, Request::Put(key.to_owned(), value.to_owned())).await.1
}

/// As etcd's documentation says; no other user is created.
async fn switch_on(world: &World, cluster: &Cluster<'_>) {
    let pod = cluster.pods().await[0].name_any();
    let tls =
        "--cacert /etc/etcd/server/ca.crt --cert /etc/etcd/server/tls.crt --key /etc/etcd/server/tls.key";
    for command in ["user add root --no-password", "user grant-role root root", "auth enable"] {
        let etcdctl = format!("exec {pod} -- etcdctl --endpoints https://localhost:2379 {tls} {command}");
        world.kubectl(&etcdctl).await.unwrap();
    }
}

async fn is_healthy(cluster: &Cluster<'_>, size: i32) {
    let healthy = |object: &EtcdCluster, status: &EtcdClusterStatus| {
        is_current(object)
            && status.phase == Some(Phase::Healthy)
            && status.ready_members == Some(size)
            && status.operation.is_none()
    };
    cluster.until(&format!("{size} members serve"), LONG, healthy).await;
}

#[tokio::test]
async fn with_authentication_on_backups_scaling_and_restores_work() {
    scenario(async |world| {
        with_store(world).await;
        let cluster = world.cluster("db");
        cluster.run(3, "3.6.16").await;
        switch_on(world, &cluster).await;
        // Clients of another name are refused from now on.
        let place = cluster.place().await.unwrap();
        let client = place.dial(&cluster.pods().await[0]).await.unwrap();
        assert!(client.auth_enabled().await.is_err(), "etcd-client is no user");

        let kept = put(&cluster, "kept", "1").await;
        world
            .create_object::<EtcdBackup>(json!({"apiVersion": "etcd.capstan.dev/v1alpha1", "kind": "EtcdBackup",
                "metadata": {"name": "first"}, "spec": {"clusterName": "db", "store": store(), "verifyByRestore": true}}))
            .await;
        until("the backup is stored and verified", LONG, async || {
            let backup = world.api::<EtcdBackup>().get("first").await.map_err(|error| error.to_string())?;
            let status = json!(backup.status);
            when(status["phase"] == "Completed" && status.to_string().contains("HashKV"), status)
        })
        .await;
        capture(world, "db").await;
        let wanted = put(&cluster, "kept", "2").await;
        assert!(wanted > kept);
        captured(world, "db", wanted).await;

        let load = Load::on(world, as_root(&cluster).await).await;
        cluster.patch(json!({"size": 5})).await;
        is_healthy(&cluster, 5).await;
        let lost = cluster.pods().await[0].clone();
        cluster.delete_pod(&lost).await;
        is_healthy(&cluster, 5).await;
        cluster.patch(json!({"size": 3})).await;
        is_healthy(&cluster, 3).await;
        load.stop("scaled with authentication on").await.nothing_failed();

        put(&cluster, "kept", "by mistake").await;
        let from = json!({"store": store(), "revision": wanted});
        restore(world, "back", from, &consent(&cluster).await).await;
        until_restore(world, "back", RestorePhase::Completed, LONG).await;
        is_healthy(&cluster, 3).await;
        let (value, _) = ask(&cluster, Request::Get("kept".to_owned())).await;
        assert_eq!(value.as_deref(), Some("2"), "as it was at revision {wanted}");
        let client = as_root(&cluster).await.dial(&cluster.pods().await[0]).await.unwrap();
        assert_eq!(client.auth_enabled().await, Ok(true), "users come with the backup");
        put(&cluster, "after", "1").await;
        is_healthy(&cluster, 3).await;
    })
    .await;
}

/// Without TLS the operator has no user: it says so, and touches nothing.
#[tokio::test]
async fn without_tls_a_rejected_operator_says_why() {
    scenario(async |world| {
        let cluster = world.cluster("db");
        let mut plain = crate::cluster::spec(1, "3.6.16");
        plain["tls"] = json!({"mode": "Off"});
        cluster.create(plain).await;
        cluster.is_well(1, "3.6.16", PATIENCE).await;
        let before = cluster.incarnations().await;
        let pod = cluster.pods().await[0].name_any();
        for command in ["user add root:secret", "user grant-role root root", "auth enable"] {
            world.kubectl(&format!("exec {pod} -- etcdctl {command}")).await.unwrap();
        }
        cluster
            .until("says that it is rejected", PATIENCE, |object, _| {
                json!(object.status).to_string().contains("without TLS the operator has no user")
            })
            .await;
        world.kubectl(&format!("exec {pod} -- etcdctl --user root:secret auth disable")).await.unwrap();
        cluster.is_well(1, "3.6.16", LONG).await;
        assert_eq!(cluster.incarnations().await, before, "the member was touched");
    })
    .await;
}
