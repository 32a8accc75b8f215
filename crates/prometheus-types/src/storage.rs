//! Where an operand keeps its data.

use k8s_openapi::api::core::v1::{
    EmptyDirVolumeSource, EphemeralVolumeSource, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus,
};

use crate::object::object;
use crate::pod::EmbeddedObjectMetadata;

object! {
    /// Where the data lies. The first one given of `emptyDir`, `ephemeral` and `volumeClaimTemplate` is
    /// taken.
    pub struct StorageSpec {
        optional {
            /// Whether the whole volume is mounted, instead of a directory in it. Deprecated.
            pub disable_mount_sub_path: bool,
            /// A directory that lives as long as the pod.
            pub empty_dir: Option<EmptyDirVolumeSource>,
            /// A volume that is made for the pod and goes with it.
            pub ephemeral: Option<EphemeralVolumeSource>,
            /// A claim for each pod, which outlives it.
            pub volume_claim_template: EmbeddedPersistentVolumeClaim,
        }
    }
}

object! {
    /// The template of a pod's volume claim.
    pub struct EmbeddedPersistentVolumeClaim {
        optional {
            /// API version of the claim. Has no effect.
            pub api_version: Option<String>,
            /// Kind of the claim. Has no effect.
            pub kind: Option<String>,
            /// Name, labels and annotations of the claim.
            pub metadata: EmbeddedObjectMetadata,
            /// What the claim asks for.
            pub spec: PersistentVolumeClaimSpec,
            /// Has no effect; kept because older resources carry it.
            pub status: PersistentVolumeClaimStatus,
        }
    }
}
