//! The objects of an ExampleApp. Pure: from the picture to the object that should be there. Pods, and what runs them, are in
//! files of their own.

mod deployment;
mod job;

pub(crate) use deployment::{deployment, selector};
pub(crate) use job::{job, schedule};

use kit::{
    choices::DeletionPolicy,
    kinds::{Container, PersistentVolumeClaim, PodSpec, Secret, Service, ServiceAccount, ServiceSpec},
    owned, parts, secure,
};
use kube::ResourceExt as _;

use super::{decide::Wanted, names, observe::World};
use crate::ExampleApp;

/// Where the application listens.
pub(crate) const PORT: u16 = 8080;
/// The user of our image.
const USER: i64 = 65532;

/// An identity without a token: the application never talks to Kubernetes.
pub(crate) fn account(app: &ExampleApp) -> ServiceAccount {
    owned(parts::account(names::meta(app, app.name_any(), names::APP)), app)
}

/// The Secret, still without its password: that is no part of a plan, because plans are printed.
pub(crate) fn secret(app: &ExampleApp) -> Secret {
    owned(Secret { metadata: names::meta(app, names::secret(app), names::APP), ..Secret::default() }, app)
}

/// With `Retain` nobody owns it, so it survives the ExampleApp; with `Delete` Kubernetes removes it. `version` is that of the
/// data, as far as it is known.
pub(crate) fn claim(world: &World, wanted: &Wanted, version: Option<String>) -> PersistentVolumeClaim {
    let app = &*world.app;
    let mut metadata = names::meta(app, names::claim(app), names::APP);
    metadata.annotations = version.map(|version| [(names::DATA_VERSION.to_owned(), version)].into());
    // Access modes cannot change: a claim that is taken over keeps its own.
    let live = world.claim().and_then(|claim| claim.spec.as_ref()?.access_modes.clone());
    let modes = live.unwrap_or_else(|| vec!["ReadWriteOnce".to_owned()]);
    let claim = parts::claim(metadata, modes, wanted.class.clone(), wanted.size.clone());
    match app.spec.deletion_policy {
        DeletionPolicy::Retain => claim,
        DeletionPolicy::Delete => owned(claim, app),
    }
}

pub(crate) fn service(world: &World) -> Service {
    let app = &*world.app;
    let spec = ServiceSpec {
        type_: Some(format!("{:?}", app.spec.service.kind)),
        selector: selector(world).match_labels,
        ports: Some(vec![parts::service_port("http", 80, PORT)]),
        ..ServiceSpec::default()
    };
    let metadata = names::meta(app, app.name_any(), names::APP);
    owned(Service { metadata, spec: Some(spec), status: None }, app)
}

/// Where it is reached.
pub(crate) fn url(world: &World) -> Option<String> {
    world.live.get(&world.app.name_any()).map(|service| format!("http://{}/", parts::host(service)))
}

/// A container that runs `capstan example-app <arguments>` on the data, with as few rights as possible.
fn container(world: &World, name: &str, arguments: Vec<String>) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(world.app.spec.image.clone().unwrap_or_else(|| world.image.to_string())),
        command: Some(vec!["capstan".to_owned(), "example-app".to_owned()]),
        args: Some(arguments),
        volume_mounts: Some(vec![parts::mount("data", "/data")]),
        security_context: Some(secure::restricted_container()),
        ..Container::default()
    }
}

/// A volume that is bound to one node serves several pods if they are on that node.
fn pod(world: &World, container: Container) -> PodSpec {
    let volumes = vec![parts::claim_volume("data", &world.claim_name)];
    let mut labels = names::labels(&world.app, names::APP);
    labels.remove(names::COMPONENT);
    PodSpec {
        affinity: (!shares_between_nodes(world)).then(|| parts::together(labels)),
        ..secure::pod(world.app.name_any(), USER, container, volumes)
    }
}

/// Whether pods on several nodes can use the volume at once.
fn shares_between_nodes(world: &World) -> bool {
    let modes = world.claim().and_then(|claim| claim.spec.as_ref()?.access_modes.as_ref());
    modes.is_some_and(|modes| modes.iter().any(|mode| mode == "ReadWriteMany"))
}

/// The words of a command line.
fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}
