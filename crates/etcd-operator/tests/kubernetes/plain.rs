//! etcd without an operator: a StatefulSet as people write it. What ours is measured against, and what the load is tried on.

use k8s_openapi::api::{apps::v1::StatefulSet, core::v1::Service};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    load::{Load, Place},
    patience::PATIENCE,
    truth::{self, Expected},
    world::{World, scenario},
};

/// Three members, started together; gives the seconds until all of them serve.
pub(crate) async fn three(world: &World, name: &str, version: &str) -> (Place, f32) {
    let began = Instant::now();
    let place = create(world, name, 3, version).await;
    serves(world, &place, 3, version).await;
    (place, began.elapsed().as_secs_f32())
}

/// Waits until all members serve.
pub(crate) async fn serves(world: &World, place: &Place, size: usize, version: &str) {
    truth::holds(world, place, Expected { size, version: Some(version), cluster: None }, PATIENCE).await;
}

/// Creates the Service and the StatefulSet of so many members.
pub(crate) async fn create(world: &World, name: &str, size: usize, version: &str) -> Place {
    let labels = json!({"app": name});
    world
        .create_object::<Service>(json!({"metadata": {"name": name}, "spec": {
            "clusterIP": "None", "publishNotReadyAddresses": true, "selector": labels, "ports": [{"port": 2379}]}}))
        .await;
    let url = |number: usize, port: u16| format!("http://{name}-{number}.{name}:{port}");
    let members: Vec<String> =
        (0..size).map(|number| format!("{name}-{number}={}", url(number, 2380))).collect();
    let arguments = [
        "--name=$(NAME)".to_owned(),
        "--data-dir=/var/lib/etcd/data".to_owned(),
        "--listen-client-urls=http://0.0.0.0:2379".to_owned(),
        "--listen-peer-urls=http://0.0.0.0:2380".to_owned(),
        "--listen-metrics-urls=http://0.0.0.0:2381".to_owned(),
        format!("--advertise-client-urls=http://$(NAME).{name}:2379"),
        format!("--initial-advertise-peer-urls=http://$(NAME).{name}:2380"),
        format!("--initial-cluster={}", members.join(",")),
    ];
    let probe = |path: &str| json!({"httpGet": {"path": path, "port": 2381}, "periodSeconds": 1});
    world
        .create_object::<StatefulSet>(json!({
            "metadata": {"name": name},
            "spec": {
                "replicas": size, "serviceName": name, "podManagementPolicy": "Parallel", "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
                        "containers": [{
                            "name": "etcd", "image": format!("quay.io/coreos/etcd:v{version}"), "command": ["etcd"], "args": arguments,
                            "env": [{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                            "startupProbe": probe("/livez"), "readinessProbe": probe("/readyz"),
                            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                            "volumeMounts": [{"name": "data", "mountPath": "/var/lib/etcd"}],
                        }],
                    },
                },
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "256Mi"}}}}],
            },
        }))
        .await;
    Place { labels: format!("app={name}"), service: name.to_owned(), tls: None, cluster: None }
}

/// The load itself is on trial: with a leader that is killed it must notice, and find everything in the end.
#[tokio::test]
async fn a_load_on_a_plain_etcd_notices_the_death_of_a_leader_and_loses_nothing() {
    scenario(async |world| {
        let (place, seconds) = three(world, "plain", "3.6.16").await;
        println!("    a plain StatefulSet of three serves after {seconds:.1} s");
        let load = Load::on(world, place.clone()).await;
        load.grows(50).await;
        let leader = truth::leader(world, &place).await;
        crate::ground::signal(&leader, crate::ground::Signal::KILL);
        load.grows(50).await;
        truth::holds(world, &place, Expected { size: 3, version: Some("3.6.16"), cluster: None }, PATIENCE)
            .await;
        let report = load.stop("leader of a plain etcd killed").await;
        assert!(report.retried > 0 && report.gap.as_millis() > 200, "nothing was noticed: {report}");
        truth::members_agree(world, &place).await;
    })
    .await;
}
