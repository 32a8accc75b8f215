//! The claim for the volume. With `Retain` nobody owns it, so it survives the ExampleApp; with `Delete` Kubernetes removes it.

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};

use super::owned;
use crate::{
    DeletionPolicy,
    operator::{decide::spec::Wanted, names, observe::World},
};

/// `version` is that of the data, as far as it is known.
pub(crate) fn claim(world: &World, wanted: &Wanted, version: Option<String>) -> PersistentVolumeClaim {
    let app = &*world.app;
    let mut metadata = names::meta(app, names::claim(app), names::APP);
    metadata.annotations = version.map(|version| [(names::DATA_VERSION.to_owned(), version)].into());
    // Access modes cannot change: a claim that is taken over keeps its own.
    let live = world.claim.as_ref().and_then(|claim| claim.spec.as_ref()?.access_modes.clone());
    let claim = PersistentVolumeClaim {
        metadata,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: live.or_else(|| Some(vec!["ReadWriteOnce".to_owned()])),
            storage_class_name: wanted.class.clone(),
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".to_owned(), wanted.size.clone())].into()),
                limits: None,
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    };
    match app.spec.deletion_policy {
        DeletionPolicy::Retain => claim,
        DeletionPolicy::Delete => owned(claim, app),
    }
}
