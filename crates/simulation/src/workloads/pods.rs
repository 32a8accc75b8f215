//! Pods as their controllers see them: whose they are, how they do, and how they are made from a template.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Pod, PodCondition, PodTemplateSpec},
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference},
};
use kube::{Resource, ResourceExt as _};
use serde_json::json;

use super::{picture::Picture, turn::Turn};

pub(super) type Labels = BTreeMap<String, String>;

/// The pods that `owner` controls, by name.
pub(super) fn owned<'p>(picture: &'p Picture, owner: &impl Resource<DynamicType = ()>) -> Vec<&'p Pod> {
    let uid = owner.meta().uid.as_deref();
    picture
        .pods
        .values()
        .filter(|pod| controller(*pod).is_some_and(|by| Some(by.uid.as_str()) == uid))
        .collect()
}

/// Pods without a controller that `selector` selects come under `owner`.
pub(super) fn adopt<O: Resource<DynamicType = ()>>(
    picture: &Picture,
    owner: &O,
    selector: &LabelSelector,
    turn: &mut Turn,
) {
    let namespace = owner.meta().namespace.as_deref();
    let orphans = picture.pods.values().filter(|pod| {
        pod.metadata.namespace.as_deref() == namespace
            && controller(*pod).is_none()
            && !is_going(pod)
            && selects(selector, pod.labels())
    });
    for pod in orphans {
        let mut owners = pod.owner_references().to_vec();
        owners.extend(reference(owner));
        turn.patch(pod, json!({"metadata": {"ownerReferences": owners}}));
    }
}

pub(super) fn controller<K: Resource>(object: &K) -> Option<&OwnerReference> {
    object.meta().owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// As controllers refer to what they made.
pub(super) fn reference(owner: &impl Resource<DynamicType = ()>) -> Option<OwnerReference> {
    let reference = owner.controller_owner_ref(&())?;
    Some(OwnerReference { block_owner_deletion: Some(true), ..reference })
}

fn selects(selector: &LabelSelector, labels: &Labels) -> bool {
    let equal = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    equal
        && selector.match_expressions.iter().flatten().all(|wanted| {
            let value = labels.get(&wanted.key);
            let listed = value.is_some_and(|value| wanted.values.iter().flatten().any(|v| v == value));
            match wanted.operator.as_str() {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => value.is_some(),
                _ => value.is_none(),
            }
        })
}

/// A name for a template: the same for the same content.
pub(super) fn hash(template: &PodTemplateSpec) -> String {
    let text = serde_json::to_string(template).unwrap_or_default();
    format!("{:010x}", fnv(&text) & 0xff_ffff_ffff)
}

/// FNV-1a: short, and the same on every machine and with every compiler.
pub(crate) fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The pod `name` of `owner`.
pub(super) fn from_template(
    template: &PodTemplateSpec,
    owner: &impl Resource<DynamicType = ()>,
    name: String,
    labels: impl IntoIterator<Item = (&'static str, String)>,
) -> Pod {
    let meta = template.metadata.clone().unwrap_or_default();
    let mut all = meta.labels.unwrap_or_default();
    all.extend(labels.into_iter().map(|(key, value)| (key.to_owned(), value)));
    Pod {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: owner.meta().namespace.clone(),
            labels: Some(all),
            annotations: meta.annotations,
            owner_references: reference(owner).map(|owner| vec![owner]),
            finalizers: meta.finalizers,
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    }
}

pub(super) fn is_going(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

pub(super) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

/// It has run to its end, or will run no more.
pub(super) fn is_over(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

pub(super) fn is_active(pod: &Pod) -> bool {
    !is_going(pod) && !is_over(pod)
}

pub(super) fn is_ready(pod: &Pod) -> bool {
    ready_since(pod).is_some()
}

/// Since when it is ready.
fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let is = |condition: &&PodCondition| condition.type_ == "Ready" && condition.status == "True";
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions
        .into_iter()
        .find(is)
        .map(|ready| ready.last_transition_time.as_ref().map_or(Timestamp::MIN, |time| time.0))
}

/// Has it been ready for that long?
pub(super) fn is_available(pod: &Pod, min_ready_seconds: Option<i32>, turn: &mut Turn) -> bool {
    ready_since(pod).is_some_and(|since| match min_ready_seconds.unwrap_or_default() {
        0 => true,
        seconds => turn.is_past(since, i64::from(seconds)),
    })
}

/// How many, as a status counts: not at all when there are none.
pub(super) fn count(number: usize) -> Option<i32> {
    i32::try_from(number).ok().filter(|number| *number > 0)
}
