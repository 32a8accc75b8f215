//! How lists and objects of built-in kinds merge: what OpenAPI publishes as extensions and k8s-openapi leaves out.
//!
//! Source: the markers and patch tags of `k8s.io/api`; a list that is not here is atomic and is replaced by patches.

use crate::schema::{ListType, MergeStrategy};

/// Objects that are always written and owned as a whole.
const ATOMIC: &[&str] = &[
    "ConfigMapKeySelector",
    "EndpointAddress",
    "EndpointPort",
    "EvictionResponder",
    "FileKeySelector",
    "LabelSelector",
    "LocalObjectReference",
    "NodeSelector",
    "NodeSelectorTerm",
    "ObjectFieldSelector",
    "ObjectReference",
    "OwnerReference",
    "RawExtension",
    "ResourceFieldSelector",
    "RoleRef",
    "ScopeSelector",
    "SecretKeySelector",
    "SecretReference",
    "ServiceBackendPort",
    "Subject",
    "TopologySelectorTerm",
    "TypedLocalObjectReference",
];

/// Maps that are atomic where they stand.
const ATOMIC_FIELDS: &[(&str, &str)] = &[("PodSpec", "nodeSelector"), ("ServiceSpec", "selector")];

/// The one place where an atomic type is not: controllers own parts of it.
pub(super) const GRANULAR: (&str, &str) = ("PersistentVolumeSpec", "claimRef");

/// Lists of type map: their keys, and what strategic merge patch goes by (the first key where nothing is said).
const KEYED: &[(&str, &str, &[&str])] = &[
    ("Container", "env", &["name"]),
    ("Container", "ports", &["containerPort", "protocol"]),
    ("Container", "volumeDevices", &["devicePath"]),
    ("Container", "volumeMounts", &["mountPath"]),
    ("ContainerStatus", "allocatedResourcesStatus", &["name"]),
    ("ContainerStatus", "volumeMounts", &["mountPath"]),
    ("CustomResourceDefinitionStatus", "conditions", &["type"]),
    ("DaemonSetStatus", "conditions", &["type"]),
    ("DeploymentStatus", "conditions", &["type"]),
    ("EphemeralContainer", "env", &["name"]),
    ("EphemeralContainer", "ports", &["containerPort", "protocol"]),
    ("EphemeralContainer", "volumeDevices", &["devicePath"]),
    ("EphemeralContainer", "volumeMounts", &["mountPath"]),
    ("HorizontalPodAutoscalerStatus", "conditions", &["type"]),
    ("JobSchedulingConfiguration", "resourceClaims", &["name"]),
    ("MutatingWebhook", "matchConditions", &["name"]),
    ("MutatingWebhookConfiguration", "webhooks", &["name"]),
    ("NamespaceStatus", "conditions", &["type"]),
    ("NodeStatus", "addresses", &["type"]),
    ("NodeStatus", "conditions", &["type"]),
    ("ObjectMeta", "ownerReferences", &["uid"]),
    ("PersistentVolumeClaimStatus", "conditions", &["type"]),
    ("PodDisruptionBudgetStatus", "conditions", &["type"]),
    ("PodSpec", "containers", &["name"]),
    ("PodSpec", "ephemeralContainers", &["name"]),
    ("PodSpec", "evictionResponders", &["name"]),
    ("PodSpec", "hostAliases", &["ip"]),
    ("PodSpec", "imagePullSecrets", &["name"]),
    ("PodSpec", "initContainers", &["name"]),
    ("PodSpec", "resourceClaims", &["name"]),
    ("PodSpec", "schedulingGates", &["name"]),
    ("PodSpec", "topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    ("PodSpec", "volumes", &["name"]),
    ("PodStatus", "conditions", &["type"]),
    ("PodStatus", "podIPs", &["ip"]),
    ("PodStatus", "resourceClaimStatuses", &["name"]),
    ("PodStatus", "volumeHealth", &["name"]),
    ("PodVolumeHealth", "healthConditions", &["status", "reason"]),
    ("ReplicaSetStatus", "conditions", &["type"]),
    ("ResourceRequirements", "claims", &["name"]),
    ("ResourceStatus", "resources", &["resourceID"]),
    ("ServiceAccount", "secrets", &["name"]),
    ("ServiceSpec", "ports", &["port", "protocol"]),
    ("ServiceStatus", "conditions", &["type"]),
    ("StatefulSetStatus", "conditions", &["type"]),
    ("ValidatingWebhook", "matchConditions", &["name"]),
    ("ValidatingWebhookConfiguration", "webhooks", &["name"]),
    ("VolumeHealthStatus", "healthConditions", &["status", "reason"]),
];

const SETS: &[(&str, &str)] = &[
    ("ContainerRestartRuleOnExitCodes", "values"),
    ("Endpoint", "addresses"),
    ("NodePodPreemptionPolicy", "disableResizePreemption"),
    ("NodeSpec", "podCIDRs"),
    ("ObjectMeta", "finalizers"),
    ("PodFailurePolicyOnExitCodesRequirement", "values"),
    ("UncountedTerminatedPods", "failed"),
    ("UncountedTerminatedPods", "succeeded"),
    ("VolumeMount", "bindMountOptions"),
];

/// Where strategic merge patch does something else than the list type suggests.
const PATCHED: &[(&str, &str, Patch)] = &[
    ("ContainerRestartRuleOnExitCodes", "values", Patch::Replace),
    ("DeploymentSpec", "strategy", Patch::RetainKeys),
    ("Endpoint", "addresses", Patch::Replace),
    ("JobStatus", "conditions", Patch::Merge("type")),
    ("PodFailurePolicyOnExitCodesRequirement", "values", Patch::Replace),
    ("PodSpec", "resourceClaims", Patch::MergeRetainKeys("name")),
    ("PodSpec", "volumes", Patch::MergeRetainKeys("name")),
    ("PodStatus", "hostIPs", Patch::Merge("ip")),
    ("PodStatus", "resourceClaimStatuses", Patch::MergeRetainKeys("name")),
    ("PodStatus", "volumeHealth", Patch::Replace),
    ("ResourceRequirements", "claims", Patch::Replace),
    ("ResourceStatus", "resources", Patch::Replace),
    ("ServiceAccount", "imagePullSecrets", Patch::Merge("name")),
    ("UncountedTerminatedPods", "failed", Patch::Replace),
    ("UncountedTerminatedPods", "succeeded", Patch::Replace),
    ("VolumeMount", "bindMountOptions", Patch::Replace),
];

enum Patch {
    Replace,
    Merge(&'static str),
    RetainKeys,
    MergeRetainKeys(&'static str),
}

pub(super) fn is_atomic(type_name: &str) -> bool {
    ATOMIC.contains(&type_name)
}

pub(super) fn is_atomic_field(type_name: &str, field: &str) -> bool {
    ATOMIC_FIELDS.contains(&(type_name, field))
}

pub(super) fn list_type(type_name: &str, field: &str) -> ListType {
    match keys(type_name, field) {
        Some(keys) => ListType::Map(keys.iter().map(|key| (*key).to_owned()).collect()),
        None if SETS.contains(&(type_name, field)) => ListType::Set,
        None => ListType::Atomic,
    }
}

pub(super) fn merge_strategy(type_name: &str, field: &str) -> MergeStrategy {
    let exception = PATCHED.iter().find(|(t, f, _)| (*t, *f) == (type_name, field));
    match (exception, keys(type_name, field)) {
        (Some((_, _, Patch::Replace)), _) => MergeStrategy::Replace,
        (Some((_, _, Patch::Merge(key))), _) => MergeStrategy::Merge((*key).to_owned()),
        (Some((_, _, Patch::RetainKeys)), _) => MergeStrategy::RetainKeys,
        (Some((_, _, Patch::MergeRetainKeys(key))), _) => MergeStrategy::MergeRetainKeys((*key).to_owned()),
        (None, Some([key, ..])) => MergeStrategy::Merge((*key).to_owned()),
        (None, _) if SETS.contains(&(type_name, field)) => MergeStrategy::MergeSet,
        (None, _) => MergeStrategy::Replace,
    }
}

fn keys(type_name: &str, field: &str) -> Option<&'static [&'static str]> {
    KEYED.iter().find(|(t, f, _)| (*t, *f) == (type_name, field)).map(|(_, _, keys)| *keys)
}
