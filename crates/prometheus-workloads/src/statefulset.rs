//! The StatefulSet around a workload's pods.

use k8s_openapi::api::apps::v1::{
    RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetPersistentVolumeClaimRetentionPolicy,
    StatefulSetSpec, StatefulSetUpdateStrategy,
};
use k8s_openapi::api::core::v1::{PodSpec, PodTemplateSpec, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use prometheus_types::pod::PodFields;

use crate::metadata::{Labels, Made};
use crate::storage::{Storage, storage};

pub(crate) struct Parts<'a> {
    pub(crate) made: Made<'a>,
    pub(crate) fields: &'a PodFields,
    pub(crate) replicas: Option<i32>,
    /// The Service that the operator makes for all workloads of the kind.
    pub(crate) service: &'a str,
    pub(crate) retention: Option<StatefulSetPersistentVolumeClaimRetentionPolicy>,
    pub(crate) pod_labels: Labels,
    pub(crate) pod_annotations: Labels,
    pub(crate) pod: PodSpec,
    /// The operator's volumes; that of the data and the user's follow.
    pub(crate) volumes: Vec<Volume>,
    pub(crate) data_volume: &'a str,
}

pub(crate) fn statefulset(parts: Parts<'_>) -> StatefulSet {
    let Parts { made, fields, mut pod, mut volumes, .. } = parts;
    let claim = match storage(fields.storage.as_ref(), parts.data_volume) {
        Storage::Volume(volume) => {
            volumes.push(*volume);
            None
        }
        Storage::Claim(claim) => Some(vec![*claim]),
    };
    volumes.extend_from_slice(&fields.volumes);
    pod.volumes = Some(volumes);
    StatefulSet {
        spec: StatefulSetSpec {
            // At once, for a pod that cannot start must not keep the others from being replaced (kubernetes#60164).
            pod_management_policy: Some(
                fields
                    .pod_management_policy
                    .as_ref()
                    .map_or_else(|| "Parallel".to_owned(), ToString::to_string),
            ),
            replicas: parts.replicas,
            min_ready_seconds: fields.min_ready_seconds.filter(|seconds| *seconds != 0),
            service_name: Some(fields.service_name.clone().unwrap_or_else(|| parts.service.to_owned())),
            selector: selector(made.selector),
            update_strategy: Some(update_strategy(fields)),
            persistent_volume_claim_retention_policy: parts.retention,
            volume_claim_templates: claim,
            template: template(parts.pod_labels, parts.pod_annotations, pod),
            ..Default::default()
        },
        metadata: made.metadata(),
        ..Default::default()
    }
}

pub(crate) fn selector(labels: &Labels) -> LabelSelector {
    LabelSelector { match_labels: Some(labels.clone()), ..Default::default() }
}

pub(crate) fn template(labels: Labels, annotations: Labels, pod: PodSpec) -> PodTemplateSpec {
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels),
            annotations: Some(annotations),
            ..Default::default()
        }),
        spec: Some(pod),
    }
}

fn update_strategy(fields: &PodFields) -> StatefulSetUpdateStrategy {
    match &fields.update_strategy {
        None => StatefulSetUpdateStrategy { type_: Some("RollingUpdate".to_owned()), ..Default::default() },
        Some(strategy) => StatefulSetUpdateStrategy {
            type_: (!strategy.r#type.is_empty()).then(|| strategy.r#type.to_string()),
            rolling_update: strategy.rolling_update.as_ref().map(|rolling| {
                RollingUpdateStatefulSetStrategy {
                    max_unavailable: rolling.max_unavailable.clone(),
                    ..Default::default()
                }
            }),
        },
    }
}
