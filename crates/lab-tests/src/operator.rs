//! The operator in the cluster: installed as users do, scaled, killed, cut off.

use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::{ResourceExt as _, api::DeleteParams};

use crate::{
    ground,
    patience::{PATIENCE, until, when},
    world::World,
};

pub const NAMESPACE: &str = "capstan-system";
const NAME: &str = "capstan";

/// `kubectl apply -f deploy/install.yaml`, and waits until all of it serves. Where it is there already this changes nothing.
pub async fn install(world: &World) {
    let said = world
        .elsewhere(NAMESPACE)
        .kubectl("apply --server-side --force-conflicts -f deploy/install.yaml")
        .await;
    said.unwrap_or_else(|error| panic!("{error}\n(`cargo xtask generate` writes deploy/install.yaml)"));
    is_ready(world).await;
}

pub async fn is_ready(world: &World) {
    let deployments = world.elsewhere(NAMESPACE).api::<Deployment>();
    until("the operator is ready", PATIENCE, async || {
        let live = deployments.get(NAME).await.map_err(|error| error.to_string())?;
        let wanted = live.spec.replicas;
        let status = live.status.unwrap_or_default();
        let now = status.observed_generation >= live.metadata.generation;
        when(
            now && status.ready_replicas == wanted && status.updated_replicas == wanted,
            (wanted, status.ready_replicas),
        )
    })
    .await;
}

pub async fn pods(world: &World) -> Vec<Pod> {
    world.elsewhere(NAMESPACE).list("app.kubernetes.io/name=capstan").await
}

/// `kubectl scale`; with 0 it waits until no process of it is left.
pub async fn scale(world: &World, replicas: usize) {
    let home = world.elsewhere(NAMESPACE);
    home.kubectl(&format!("scale deployment {NAME} --replicas={replicas}")).await.unwrap();
    if replicas > 0 {
        is_ready(world).await;
    }
    until("as many operators as wanted", PATIENCE, async || {
        let there = pods(world).await.len();
        when(there == replicas, there)
    })
    .await;
}

/// Kills one of its processes with no time for a last word, and its pod, so that Kubernetes does not wait before the next one.
pub async fn kill_one(world: &World) -> Option<String> {
    let pods = pods(world).await;
    let pod = pods.get(fastrand::usize(..pods.len().max(1)))?;
    ground::signal(pod, ground::Signal::KILL);
    let _ = world.elsewhere(NAMESPACE).api::<Pod>().delete(&pod.name_any(), &DeleteParams::default()).await;
    Some(pod.name_any())
}
