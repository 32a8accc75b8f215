//! The Deployment: the pods that serve. Kubernetes restarts and reschedules them, with or without this operator.
//!
//! A volume that is bound to one node is handed over by `Recreate`: a new pod on another node would wait for it for ever while
//! an old one has it, and a rolling update waits for the new pod. Where pods on several nodes can share it, pods roll.

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
        core::v1::{ContainerPort, HTTPGetAction, PodTemplateSpec, Probe, SecretVolumeSource, Volume},
    },
    apimachinery::pkg::{
        apis::meta::v1::{LabelSelector, ObjectMeta},
        util::intstr::IntOrString,
    },
};
use kube::ResourceExt as _;

use super::{PORT, owned, pod};
use crate::operator::{decide::spec::Wanted, names, observe::World};

pub(crate) fn deployment(world: &World, wanted: &Wanted, version: &str, replicas: i32) -> Deployment {
    let app = &*world.app;
    let selector = selector(world);
    let mut labels = names::labels(app, names::APP);
    labels.extend(selector.match_labels.clone().unwrap_or_default());
    let deployment = Deployment {
        metadata: names::meta(app, app.name_any(), names::APP),
        spec: DeploymentSpec {
            replicas: Some(replicas),
            strategy: strategy(world),
            revision_history_limit: Some(2),
            selector,
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
                spec: Some(serving(world, wanted, version)),
            },
            ..DeploymentSpec::default()
        },
        status: None,
    };
    owned(deployment, app)
}

/// Which pods are the application's. It cannot change: a Deployment that is taken over keeps its own.
pub(crate) fn selector(world: &World) -> LabelSelector {
    adopted(world).map_or_else(|| own_selector(world), |live| live.spec.selector.clone())
}

fn own_selector(world: &World) -> LabelSelector {
    let mut labels = names::labels(&world.app, names::APP);
    labels.remove("app.kubernetes.io/managed-by");
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

/// The live Deployment, if somebody else made it.
fn adopted(world: &World) -> Option<&Deployment> {
    world.deployment.as_deref().filter(|live| live.spec.selector != own_selector(world))
}

/// One that is taken over keeps its strategy: the parameters of a rolling update are its creator's, and `Recreate` may not
/// stand beside them.
fn strategy(world: &World) -> Option<DeploymentStrategy> {
    if let Some(live) = adopted(world) {
        return live.spec.strategy.clone();
    }
    let kind = if pod::shares_between_nodes(world) { "RollingUpdate" } else { "Recreate" };
    Some(DeploymentStrategy { type_: Some(kind.to_owned()), rolling_update: None })
}

fn serving(world: &World, wanted: &Wanted, version: &str) -> k8s_openapi::api::core::v1::PodSpec {
    let app = &*world.app;
    // Of a Deployment that is taken over this container is changed, not another one added.
    let name = adopted(world).and_then(|live| live.spec.template.spec.as_ref()?.containers.first());
    let name = name.map_or_else(|| names::APP.to_owned(), |container| container.name.clone());
    let mut container = pod::container(world, &name, arguments(world, wanted, version));
    container.resources = wanted.resources.clone();
    container.ports = Some(vec![ContainerPort {
        name: Some("http".to_owned()),
        container_port: PORT,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }]);
    container.readiness_probe = Some(probe("/readyz", 2, 3));
    container.liveness_probe = Some(probe("/healthz", 5, 6));
    container.volume_mounts.get_or_insert_default().push(pod::mount("auth", "/auth", true));
    let mut pod = pod::pod(world, container);
    pod.volumes.get_or_insert_default().push(Volume {
        name: "auth".to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(names::secret(app)),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    });
    pod
}

fn arguments(world: &World, wanted: &Wanted, version: &str) -> Vec<String> {
    let features = &world.app.spec.features;
    let mut arguments: Vec<String> =
        ["serve", "--app-version", version, "--data", "/data"].map(str::to_owned).into();
    arguments.extend(["--listen", "0.0.0.0:8080", "--password-file", "/auth/password"].map(str::to_owned));
    arguments.extend(["--cache".to_owned(), format!("{}Ki", wanted.cache >> 10)]);
    let switched =
        [("exampleFeature1", features.example_feature1), ("exampleFeature2", features.example_feature2)];
    for (feature, _) in switched.into_iter().filter(|(_, on)| *on) {
        arguments.extend(["--feature".to_owned(), feature.to_owned()]);
    }
    arguments
}

fn probe(path: &str, period: i32, failures: i32) -> Probe {
    let get = HTTPGetAction {
        path: Some(path.to_owned()),
        port: IntOrString::Int(PORT),
        ..HTTPGetAction::default()
    };
    Probe {
        http_get: Some(get),
        period_seconds: Some(period),
        failure_threshold: Some(failures),
        timeout_seconds: Some(2),
        ..Probe::default()
    }
}
