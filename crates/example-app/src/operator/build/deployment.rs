//! The Deployment: the pods that serve. Kubernetes restarts and reschedules them, with or without this operator.
//!
//! One that is taken over keeps its selector, its strategy and its container. A volume that is bound to one node is handed over by `Recreate`: a new pod on another node would wait for it for ever while
//! an old one has it, and a rolling update waits for the new pod. Where pods on several nodes can share it, pods roll.

use kit::{
    adopt, claims,
    kinds::{Deployment, LabelSelector, PodSpec},
    owned,
    parts::{self, words},
};
use kube::ResourceExt as _;

use super::{PORT, container, pod};
use crate::operator::{decide::Wanted, names, observe::World};

pub(crate) fn deployment(world: &World, wanted: &Wanted, version: &str, replicas: i32) -> Deployment {
    let app = &*world.app;
    let strategy = if claims::is_shared(world.claim()) { "RollingUpdate" } else { "Recreate" };
    let metadata = names::meta(app, app.name_any(), names::APP);
    let template = parts::template(names::labels(app, names::APP), serving(world, wanted, version));
    let desired = parts::deployment(metadata, replicas, strategy, own_selector(world), template);
    owned(adopt::keep(desired, world.deployment()), app)
}

/// Which pods are the application's.
pub(crate) fn selector(world: &World) -> LabelSelector {
    adopt::selector(world.deployment(), own_selector(world))
}

fn own_selector(world: &World) -> LabelSelector {
    let mut labels = names::labels(&world.app, names::APP);
    labels.remove("app.kubernetes.io/managed-by");
    parts::matching(labels)
}

fn serving(world: &World, wanted: &Wanted, version: &str) -> PodSpec {
    let mut container = container(world, names::APP, arguments(world, wanted, version));
    container.resources = wanted.resources.clone();
    container.ports = Some(vec![parts::container_port("http", PORT)]);
    container.readiness_probe = Some(parts::http_probe("/readyz", PORT, 2, 2, 3));
    container.liveness_probe = Some(parts::http_probe("/healthz", PORT, 5, 2, 6));
    container.volume_mounts.get_or_insert_default().push(parts::mount_read_only("auth", "/auth"));
    let mut pod = pod(world, container);
    pod.volumes.get_or_insert_default().push(parts::secret_volume("auth", names::secret(&world.app)));
    pod
}

fn arguments(world: &World, wanted: &Wanted, version: &str) -> Vec<String> {
    let mut arguments = words(["serve", "--app-version", version, "--data", "/data"]);
    arguments.extend(words(["--listen", "0.0.0.0:8080", "--password-file", "/auth/password"]));
    arguments.extend(["--cache".to_owned(), format!("{}Ki", wanted.cache >> 10)]);
    let features = &world.app.spec.features;
    let all =
        [("exampleFeature1", features.example_feature1), ("exampleFeature2", features.example_feature2)];
    let on = all.into_iter().filter(|(_, on)| *on);
    arguments.extend(on.flat_map(|(feature, _)| words(["--feature", feature])));
    arguments
}
