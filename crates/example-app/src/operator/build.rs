//! The objects of an ExampleApp. Pure: from the picture to the object that should be there. Pods, and what runs them, are in
//! files of their own.

mod deployment;
mod job;

pub(crate) use deployment::{deployment, selector};
pub(crate) use job::{job, schedule};

use kit::{
    COMPONENT, claims,
    kinds::{Container, PersistentVolumeClaim, PodSpec, Secret, Service, ServiceAccount},
    owned,
    parts::{self, words},
    secure,
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

/// Nothing when the data is on a claim that somebody else made. With `Retain` nobody owns it, so it survives the ExampleApp; with
/// `Delete` Kubernetes removes it. `version` is that of the data, as far as it is known.
pub(crate) fn claim(
    world: &World,
    wanted: &Wanted,
    version: Option<String>,
) -> Option<PersistentVolumeClaim> {
    let app = &*world.app;
    if world.claim_name != names::claim(app) || app.spec.storage.existing_claim.is_some() {
        return None;
    }
    let mut metadata = names::meta(app, names::claim(app), names::APP);
    metadata.annotations = version.map(|version| [(names::DATA_VERSION.to_owned(), version)].into());
    let modes = claims::access_modes(world.claim());
    let claim = parts::claim(metadata, modes, wanted.class.clone(), wanted.size.clone());
    Some(app.spec.deletion_policy.owned(claim, app))
}

pub(crate) fn service(world: &World) -> Service {
    let app = &*world.app;
    let metadata = names::meta(app, app.name_any(), names::APP);
    let ports = vec![parts::service_port("http", 80, PORT)];
    owned(parts::service(metadata, app.spec.service.kind, selector(world).match_labels, ports), app)
}

/// Where it is reached.
pub(crate) fn url(world: &World) -> Option<String> {
    world.live.get(&world.app.name_any()).map(|service| format!("http://{}/", parts::host(service)))
}

/// A container that runs `capstan example-app <arguments>` on the data, with as few rights as possible.
fn container(world: &World, name: &str, arguments: Vec<String>) -> Container {
    let image = world.app.spec.image.clone().unwrap_or_else(|| world.image.to_string());
    Container {
        command: Some(words(["capstan", "example-app"])),
        args: Some(arguments),
        volume_mounts: Some(vec![parts::mount("data", "/data")]),
        ..secure::container(name, image)
    }
}

/// A volume that is bound to one node serves several pods if they are on that node.
fn pod(world: &World, container: Container) -> PodSpec {
    let volumes = vec![parts::claim_volume("data", &world.claim_name)];
    let mut labels = names::labels(&world.app, names::APP);
    labels.remove(COMPONENT);
    PodSpec {
        affinity: (!claims::is_shared(world.claim())).then(|| parts::together(labels)),
        ..secure::pod(world.app.name_any(), USER, container, volumes)
    }
}
