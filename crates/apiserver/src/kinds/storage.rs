//! What Go's types do to an object on its way through the server: empty values that vanish, zeros that appear.
//!
//! Source: `omitempty` and pointers in `k8s.io/api`. An empty list, map or string is not stored, unless the field is a
//! pointer or has no `omitempty`; a zero or false is not stored where the field is no pointer.

use serde_json::{Value, json};

use crate::schema::{Schema, Type};

/// Strings behind pointers: the empty string means something.
const STRING_POINTERS: &[(&str, &str)] = &[
    ("CronJobSpec", "timeZone"),
    ("Endpoint", "hostname"),
    ("Endpoint", "nodeName"),
    ("Endpoint", "zone"),
    ("EndpointPort", "appProtocol"),
    ("EndpointPort", "name"),
    ("GRPCAction", "service"),
    ("HostPathVolumeSource", "type"),
    ("IngressSpec", "ingressClassName"),
    ("JobSpec", "managedBy"),
    ("LeaseSpec", "holderIdentity"),
    ("LeaseSpec", "preferredHolder"),
    ("LeaseSpec", "strategy"),
    ("PersistentVolumeClaimSpec", "storageClassName"),
    ("PersistentVolumeClaimSpec", "volumeAttributesClassName"),
    ("PodDNSConfigOption", "value"),
    ("PodSpec", "hostnameOverride"),
    ("PodSpec", "runtimeClassName"),
    ("SeccompProfile", "localhostProfile"),
    ("ServicePort", "appProtocol"),
    ("ServiceReference", "path"),
    ("ServiceSpec", "loadBalancerClass"),
    ("TypedLocalObjectReference", "apiGroup"),
    ("TypedObjectReference", "apiGroup"),
    ("TypedObjectReference", "namespace"),
    ("WebhookClientConfig", "url"),
];

/// Numbers and booleans that are no pointers: their zero is not stored. `*` is any type.
const ZERO_OMITTED: &[(&str, &str)] = &[
    ("*", "readOnly"),
    ("*", "observedGeneration"),
    ("*", "minReadySeconds"),
    ("Container", "stdin"),
    ("Container", "stdinOnce"),
    ("Container", "tty"),
    ("ContainerPort", "hostPort"),
    ("ContainerStateTerminated", "signal"),
    ("DaemonSetStatus", "numberAvailable"),
    ("DaemonSetStatus", "numberUnavailable"),
    ("DaemonSetStatus", "updatedNumberScheduled"),
    ("DeploymentSpec", "paused"),
    ("DeploymentStatus", "availableReplicas"),
    ("DeploymentStatus", "readyReplicas"),
    ("DeploymentStatus", "replicas"),
    ("DeploymentStatus", "unavailableReplicas"),
    ("DeploymentStatus", "updatedReplicas"),
    ("Event", "count"),
    ("Event", "deprecatedCount"),
    ("HorizontalPodAutoscalerStatus", "currentReplicas"),
    ("JobStatus", "active"),
    ("JobStatus", "failed"),
    ("JobStatus", "succeeded"),
    ("NodeSpec", "unschedulable"),
    ("ObjectMeta", "generation"),
    ("PodSpec", "hostIPC"),
    ("PodSpec", "hostNetwork"),
    ("PodSpec", "hostPID"),
    ("PriorityClass", "globalDefault"),
    ("Probe", "failureThreshold"),
    ("Probe", "initialDelaySeconds"),
    ("Probe", "periodSeconds"),
    ("Probe", "successThreshold"),
    ("Probe", "timeoutSeconds"),
    ("ReplicaSetStatus", "availableReplicas"),
    ("ReplicaSetStatus", "fullyLabeledReplicas"),
    ("ReplicaSetStatus", "readyReplicas"),
    ("ServiceBackendPort", "number"),
    ("ServicePort", "nodePort"),
    ("ServiceSpec", "healthCheckNodePort"),
    ("ServiceSpec", "publishNotReadyAddresses"),
    ("StatefulSetStatus", "currentReplicas"),
    ("StatefulSetStatus", "readyReplicas"),
    ("StatefulSetStatus", "updatedReplicas"),
];

/// Pointers among the wildcards above.
const ZERO_KEPT: &[(&str, &str)] = &[
    ("AzureDiskVolumeSource", "readOnly"),
    ("CSIVolumeSource", "readOnly"),
    ("HorizontalPodAutoscalerCondition", "observedGeneration"),
    ("HorizontalPodAutoscalerStatus", "observedGeneration"),
];

/// Lists without `omitempty`: an empty one stays.
const EMPTY_LISTS_KEPT: &[(&str, &str)] = &[
    ("ClusterRole", "rules"),
    ("EndpointSlice", "endpoints"),
    ("EndpointSlice", "ports"),
    ("HorizontalPodAutoscalerStatus", "currentMetrics"),
    ("ProjectedVolumeSource", "sources"),
    ("Role", "rules"),
];

/// Scalars without `omitempty` that nobody has to write: the zero appears.
const ZERO_FILLED: &[(&str, &str)] = &[
    ("ContainerStatus", "image"),
    ("ContainerStatus", "imageID"),
    ("ContainerStatus", "ready"),
    ("ContainerStatus", "restartCount"),
    ("ControllerRevision", "revision"),
    ("DaemonSetStatus", "currentNumberScheduled"),
    ("DaemonSetStatus", "desiredNumberScheduled"),
    ("DaemonSetStatus", "numberMisscheduled"),
    ("DaemonSetStatus", "numberReady"),
    ("Event", "reportingComponent"),
    ("HorizontalPodAutoscalerStatus", "desiredReplicas"),
    ("NodeSystemInfo", "architecture"),
    ("NodeSystemInfo", "bootID"),
    ("NodeSystemInfo", "containerRuntimeVersion"),
    ("NodeSystemInfo", "kernelVersion"),
    ("NodeSystemInfo", "kubeProxyVersion"),
    ("NodeSystemInfo", "kubeletVersion"),
    ("NodeSystemInfo", "machineID"),
    ("NodeSystemInfo", "operatingSystem"),
    ("NodeSystemInfo", "osImage"),
    ("NodeSystemInfo", "systemUUID"),
    ("PodDisruptionBudgetStatus", "currentHealthy"),
    ("PodDisruptionBudgetStatus", "desiredHealthy"),
    ("PodDisruptionBudgetStatus", "disruptionsAllowed"),
    ("PodDisruptionBudgetStatus", "expectedPods"),
    ("PriorityClass", "value"),
    ("ReplicaSetStatus", "replicas"),
    ("StatefulSetSpec", "serviceName"),
    ("StatefulSetStatus", "availableReplicas"),
    ("StatefulSetStatus", "replicas"),
];

/// Required in OpenAPI, but nothing in the server asks for them. `*` is any field.
const NOT_REQUIRED: &[(&str, &str)] = &[
    ("Condition", "*"),
    ("ConfigMapEnvSource", "name"),
    ("ConfigMapKeySelector", "name"),
    ("ConfigMapProjection", "name"),
    ("CustomResourceDefinitionCondition", "*"),
    ("Event", "involvedObject"),
    ("EventSeries", "*"),
    ("LocalObjectReference", "name"),
    ("NodeCondition", "*"),
    ("PodCondition", "*"),
    ("PolicyRule", "verbs"),
    ("SecretEnvSource", "name"),
    ("SecretKeySelector", "name"),
    ("SecretProjection", "name"),
];

pub(super) fn is_required(type_name: &str, field: &str) -> bool {
    field != "metadata"
        && !ZERO_FILLED.contains(&(type_name, field))
        && !NOT_REQUIRED.iter().any(|(t, f)| *t == type_name && (*f == "*" || *f == field))
}

/// Whether an empty value of this field is not stored.
pub(super) fn omits_empty(type_name: &str, field: &str, required: bool, schema: &Schema) -> bool {
    let is = (type_name, field);
    match schema.kind {
        Some(Type::String) => !required && !STRING_POINTERS.contains(&is) && !ZERO_FILLED.contains(&is),
        Some(Type::Array) => !required && !EMPTY_LISTS_KEPT.contains(&is),
        Some(Type::Object) => schema.additional.is_some() && !required,
        Some(Type::Integer | Type::Number | Type::Boolean) => {
            ZERO_OMITTED.iter().any(|(t, f)| (*t == "*" || *t == type_name) && *f == field)
                && !ZERO_KEPT.contains(&is)
        }
        None => false,
    }
}

pub(super) fn zero(type_name: &str, field: &str, schema: &Schema) -> Option<Value> {
    ZERO_FILLED.contains(&(type_name, field)).then(|| match schema.kind {
        Some(Type::Integer | Type::Number) => json!(0),
        Some(Type::Boolean) => json!(false),
        _ => json!(""),
    })
}
