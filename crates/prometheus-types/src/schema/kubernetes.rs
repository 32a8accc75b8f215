//! What Kubernetes knows about its own types and k8s-openapi's schemas do not say: how lists merge, what is atomic, and
//! what the API server fills in.
//!
//! Source: the `+listType`, `+mapType`, `+structType` and `+default` markers of `k8s.io/api` 1.37. Types are named without
//! their package; our own `TopologySpreadConstraint`, which embeds the one of Pods, is completed like it.

use serde_json::{Map, Value, json};

/// A quantity is written as a number or as a string.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// Types that a CRD describes in its own way.
pub(super) fn replaced(name: &str) -> Option<Value> {
    let int_or_string =
        json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true});
    match name.strip_prefix("io.k8s.apimachinery.pkg.")? {
        "api.resource.Quantity" => {
            let mut quantity = int_or_string;
            quantity.as_object_mut()?.insert("pattern".into(), json!(QUANTITY));
            Some(quantity)
        }
        "util.intstr.IntOrString" => Some(int_or_string),
        "apis.meta.v1.ObjectMeta" => Some(json!({"type": "object"})),
        "apis.meta.v1.Time" => Some(json!({"type": "string", "format": "date-time"})),
        _ => None,
    }
}

/// Adds to the schema of the type `name` what the tables below say about it.
pub(super) fn complete(name: &str, schema: &mut Value) {
    let kubernetes = name.starts_with("io.k8s.");
    if kubernetes {
        // Kubernetes' own texts are long, and found where its API is documented.
        super::drop_descriptions(schema);
    }
    let name = name.rsplit('.').next().unwrap_or(name);
    let Value::Object(schema) = schema else { return };
    for (_, own) in EMBEDDERS.iter().filter(|row| row.0 == name && !kubernetes) {
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten();
        properties
            .filter(|(field, _)| !own.contains(&field.as_str()))
            .for_each(|(_, value)| super::drop_descriptions(value));
    }
    if kubernetes && ATOMIC_STRUCTS.contains(&name) {
        schema.insert("x-kubernetes-map-type".into(), json!("atomic"));
    }
    for (_, field, keys) in LISTS_BY_KEY.iter().filter(|row| row.0 == name) {
        mark(schema, field, "x-kubernetes-list-type", json!("map"));
        mark(schema, field, "x-kubernetes-list-map-keys", json!(keys));
    }
    for (table, kind) in [(ATOMIC_LISTS, "atomic"), (SETS, "set")] {
        for field in table.iter().filter(|row| row.0 == name).flat_map(|row| row.1) {
            mark(schema, field, "x-kubernetes-list-type", json!(kind));
        }
    }
    for (_, field, default) in DEFAULTS.iter().filter(|row| row.0 == name) {
        mark(schema, field, "default", default.json());
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| name != field);
        }
    }
    if name == "PersistentVolumeClaimStatus" {
        mark(schema, "allocatedResourceStatuses", "x-kubernetes-map-type", json!("granular"));
    }
    if name == "VolumeHealthCondition" {
        mark(schema, "status", "enum", json!(["DataLoss", "Degraded", "Inaccessible"]));
    }
    if schema.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        schema.remove("required");
    }
}

fn mark(schema: &mut Map<String, Value>, field: &str, key: &str, value: Value) {
    if let Some(Value::Object(property)) = schema.get_mut("properties").and_then(|all| all.get_mut(field)) {
        property.insert(key.to_owned(), value);
    }
}

/// What the API server fills in for a field that is absent.
enum FilledIn {
    Text(&'static str),
    No,
}
use FilledIn::{No, Text};

impl FilledIn {
    fn json(&self) -> Value {
        match self {
            Text(text) => json!(text),
            No => json!(false),
        }
    }
}

/// Types of ours that embed one of Kubernetes, and the fields that are not from there.
const EMBEDDERS: &[(&str, &[&str])] = &[("TopologySpreadConstraint", &["additionalLabelSelectors"])];

/// Objects that change hands as a whole in server-side apply.
const ATOMIC_STRUCTS: &[&str] = &[
    "ConfigMapEnvSource",
    "ConfigMapKeySelector",
    "ConfigMapProjection",
    "ConfigMapVolumeSource",
    "FileKeySelector",
    "LabelSelector",
    "LocalObjectReference",
    "NodeSelector",
    "NodeSelectorTerm",
    "ObjectFieldSelector",
    "ResourceFieldSelector",
    "SecretEnvSource",
    "SecretKeySelector",
    "SecretProjection",
    "TypedLocalObjectReference",
];

/// Lists whose elements are told apart by the values of these keys.
const LISTS_BY_KEY: &[(&str, &str, &[&str])] = &[
    ("Container", "env", &["name"]),
    ("Container", "ports", &["containerPort", "protocol"]),
    ("Container", "volumeDevices", &["devicePath"]),
    ("Container", "volumeMounts", &["mountPath"]),
    ("PersistentVolumeClaimStatus", "conditions", &["type"]),
    ("VolumeHealthStatus", "healthConditions", &["status", "reason"]),
    ("ResourceRequirements", "claims", &["name"]),
];

/// Lists that change hands as a whole.
const ATOMIC_LISTS: &[(&str, &[&str])] = &[
    ("Capabilities", &["add", "drop"]),
    ("CephFSVolumeSource", &["monitors"]),
    ("ConfigMapProjection", &["items"]),
    ("ConfigMapVolumeSource", &["items"]),
    ("Container", &["args", "command", "envFrom", "resizePolicy", "restartPolicyRules"]),
    ("DownwardAPIProjection", &["items"]),
    ("DownwardAPIVolumeSource", &["items"]),
    ("ExecAction", &["command"]),
    ("FCVolumeSource", &["targetWWNs", "wwids"]),
    ("HTTPGetAction", &["httpHeaders"]),
    ("ISCSIVolumeSource", &["portals"]),
    ("LabelSelector", &["matchExpressions"]),
    ("LabelSelectorRequirement", &["values"]),
    ("NodeAffinity", &["preferredDuringSchedulingIgnoredDuringExecution"]),
    ("NodeSelector", &["nodeSelectorTerms"]),
    ("NodeSelectorRequirement", &["values"]),
    ("NodeSelectorTerm", &["matchExpressions", "matchFields"]),
    ("PersistentVolumeClaimSpec", &["accessModes"]),
    ("PersistentVolumeClaimStatus", &["accessModes"]),
    ("PodAffinity", SCHEDULING),
    ("PodAffinityTerm", &["matchLabelKeys", "mismatchLabelKeys", "namespaces"]),
    ("PodAntiAffinity", SCHEDULING),
    ("PodSecurityContext", &["supplementalGroups", "sysctls"]),
    ("ProjectedVolumeSource", &["sources"]),
    ("RBDVolumeSource", &["monitors"]),
    ("SecretProjection", &["items"]),
    ("SecretVolumeSource", &["items"]),
    ("TopologySpreadConstraint", &["matchLabelKeys"]),
];
const SCHEDULING: &[&str] =
    &["preferredDuringSchedulingIgnoredDuringExecution", "requiredDuringSchedulingIgnoredDuringExecution"];

/// Lists without duplicates.
const SETS: &[(&str, &[&str])] =
    &[("ContainerRestartRuleOnExitCodes", &["values"]), ("VolumeMount", &["bindMountOptions"])];

/// What the API server fills in. A field with a default is not required, whatever its own type says.
const DEFAULTS: &[(&str, &str, FilledIn)] = &[
    ("AzureDiskVolumeSource", "fsType", Text("ext4")),
    ("AzureDiskVolumeSource", "readOnly", No),
    ("ConfigMapEnvSource", "name", Text("")),
    ("ConfigMapKeySelector", "name", Text("")),
    ("ConfigMapProjection", "name", Text("")),
    ("ConfigMapVolumeSource", "name", Text("")),
    ("ContainerPort", "protocol", Text("TCP")),
    ("FileKeySelector", "optional", No),
    ("GRPCAction", "service", Text("")),
    ("ISCSIVolumeSource", "iscsiInterface", Text("default")),
    ("LocalObjectReference", "name", Text("")),
    ("RBDVolumeSource", "keyring", Text("/etc/ceph/keyring")),
    ("RBDVolumeSource", "pool", Text("rbd")),
    ("RBDVolumeSource", "user", Text("admin")),
    ("ScaleIOVolumeSource", "fsType", Text("xfs")),
    ("ScaleIOVolumeSource", "storageMode", Text("ThinProvisioned")),
    ("SecretEnvSource", "name", Text("")),
    ("SecretKeySelector", "name", Text("")),
    ("SecretProjection", "name", Text("")),
];
