//! The claim for a member's volume.
//!
//! With `Retain` nobody owns it: it survives its member, and the EtcdCluster. With `Delete` Kubernetes removes it together with the
//! EtcdCluster, whether this operator runs or not. What the volume holds is written on the claim, so that it can be taken back.

use std::collections::BTreeMap;

use etcd_types::{EtcdCluster, VolumePolicy};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, VolumeResourceRequirements,
};

use super::owned;
use crate::names;

/// The claim of the member `serial`. Of one that exists, size and class stay as they are.
pub(crate) fn claim(
    cluster: &EtcdCluster,
    serial: u64,
    annotations: BTreeMap<String, String>,
    live: Option<&PersistentVolumeClaim>,
) -> PersistentVolumeClaim {
    let mut metadata = names::member_meta(cluster, &names::member(cluster, serial));
    metadata.annotations = Some(annotations);
    let storage = &cluster.spec.storage;
    let live = live.and_then(|live| live.spec.as_ref());
    let size = live.and_then(|spec| spec.resources.as_ref()?.requests.as_ref()?.get("storage").cloned());
    let class = match live {
        Some(spec) => spec.storage_class_name.clone(),
        None => storage.storage_class_name.clone(),
    };
    let claim = PersistentVolumeClaim {
        metadata,
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            storage_class_name: class,
            resources: Some(VolumeResourceRequirements {
                requests: Some(
                    [("storage".to_owned(), size.unwrap_or_else(|| storage.size.clone()))].into(),
                ),
                limits: None,
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    };
    match cluster.spec.deletion_policy.volumes {
        VolumePolicy::Retain => claim,
        VolumePolicy::Delete => owned(claim, cluster),
    }
}
