//! What all pods of an ExampleApp have in common: the image, the volume, and as few rights as possible.

use k8s_openapi::api::core::v1::{
    Affinity, Container, PersistentVolumeClaimVolumeSource, PodAffinity, PodAffinityTerm, PodSpec, Volume,
    VolumeMount, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kit::secure;
use kube::ResourceExt as _;

use crate::operator::{names, observe::World};

/// The user of our image.
const USER: i64 = 65532;

/// A container that runs `capstan example-app <arguments>` on the data.
pub(super) fn container(world: &World, name: &str, arguments: Vec<String>) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(world.app.spec.image.clone().unwrap_or_else(|| world.image.to_string())),
        command: Some(vec!["capstan".to_owned(), "example-app".to_owned()]),
        args: Some(arguments),
        volume_mounts: Some(vec![mount("data", "/data", false)]),
        security_context: Some(secure::restricted_container()),
        ..Container::default()
    }
}

pub(super) fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

pub(super) fn pod(world: &World, container: Container) -> PodSpec {
    let claim = PersistentVolumeClaimVolumeSource { claim_name: world.claim_name.clone(), read_only: None };
    PodSpec {
        service_account_name: Some(world.app.name_any()),
        automount_service_account_token: Some(false),
        security_context: Some(secure::restricted_pod(USER)),
        affinity: (!shares_between_nodes(world)).then(|| together(world)),
        containers: vec![container],
        volumes: Some(vec![Volume {
            name: "data".to_owned(),
            persistent_volume_claim: Some(claim),
            ..Volume::default()
        }]),
        ..PodSpec::default()
    }
}

/// Whether pods on several nodes can use the volume at once.
pub(super) fn shares_between_nodes(world: &World) -> bool {
    let modes = world.claim.as_ref().and_then(|claim| claim.spec.as_ref()?.access_modes.as_ref());
    modes.is_some_and(|modes| modes.iter().any(|mode| mode == "ReadWriteMany"))
}

/// A volume that is bound to one node serves several pods if they are on that node. A preference: after the loss of a node,
/// pods of which Kubernetes does not yet know that they are dead must not hold their successors back.
fn together(world: &World) -> Affinity {
    let mut labels = names::labels(&world.app, names::APP);
    labels.remove(names::COMPONENT);
    let term = PodAffinityTerm {
        label_selector: Some(LabelSelector { match_labels: Some(labels), match_expressions: None }),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    };
    let preferred = WeightedPodAffinityTerm { weight: 100, pod_affinity_term: term };
    let pod_affinity = PodAffinity {
        preferred_during_scheduling_ignored_during_execution: Some(vec![preferred]),
        ..PodAffinity::default()
    };
    Affinity { pod_affinity: Some(pod_affinity), ..Affinity::default() }
}
