//! Binds claims, grows them, and keeps those that a pod still uses.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimStatus};
use kube::ResourceExt as _;
use serde_json::json;

use super::{picture::Picture, pods, turn::Turn, volumes};

const PROTECTION: &str = "kubernetes.io/pvc-protection";

pub(super) fn decide(picture: &Picture, turn: &mut Turn) {
    for claim in picture.claims.values() {
        let protected = claim.finalizers().iter().any(|finalizer| finalizer == PROTECTION);
        if claim.metadata.deletion_timestamp.is_some() {
            if protected && !is_in_use(picture, claim) {
                set_finalizers(
                    claim,
                    |finalizers| finalizers.retain(|finalizer| finalizer != PROTECTION),
                    turn,
                );
            }
            continue;
        }
        // Kubernetes' admission does it at the creation; nobody can tell the difference who waits for a bound claim.
        if !protected {
            set_finalizers(claim, |finalizers| finalizers.push(PROTECTION.into()), turn);
        }
        bind(claim, turn);
    }
}

fn set_finalizers(claim: &PersistentVolumeClaim, change: impl FnOnce(&mut Vec<String>), turn: &mut Turn) {
    let mut finalizers = claim.finalizers().to_vec();
    change(&mut finalizers);
    turn.patch(claim, json!({"metadata": {"finalizers": finalizers}}));
}

fn is_in_use(picture: &Picture, claim: &PersistentVolumeClaim) -> bool {
    picture.pods.values().any(|pod| {
        pod.namespace() == claim.namespace()
            && !pods::is_over(pod)
            && volumes::claims(pod).any(|name| claim.metadata.name.as_deref() == Some(name))
    })
}

fn bind(claim: &PersistentVolumeClaim, turn: &mut Turn) {
    let Some(spec) = &claim.spec else { return };
    if spec.volume_name.is_none() {
        let volume = format!("pvc-{}", claim.uid().unwrap_or_default());
        turn.patch(claim, json!({"spec": {"volumeName": volume}}));
    }
    let old = claim.status.clone().unwrap_or_default();
    let new = PersistentVolumeClaimStatus {
        phase: Some("Bound".into()),
        access_modes: spec.access_modes.clone(),
        capacity: spec.resources.as_ref().and_then(|resources| resources.requests.clone()),
        ..old.clone()
    };
    turn.status(claim, &old, &new);
}

/// Bound, and so ready for pods.
pub(super) fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound")
}
