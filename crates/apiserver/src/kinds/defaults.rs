//! The defaults of built-in kinds: constants as a table, the rest as one small function per type.
//!
//! Source: the `SetDefaults_*` functions of kube-apiserver, as the API reference documents them. Values are JSON, as
//! they appear in the object.

use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

type Fill = fn(&mut Fields);

/// Type, field, value. Structs that Go stores by value appear as `{}`.
const CONSTANT: &[(&str, &str, &str)] = &[
    ("ClientIPConfig", "timeoutSeconds", "10800"),
    ("ConfigMapVolumeSource", "defaultMode", "420"),
    ("Container", "resources", "{}"),
    ("Container", "terminationMessagePath", r#""/dev/termination-log""#),
    ("Container", "terminationMessagePolicy", r#""File""#),
    ("ContainerPort", "protocol", r#""TCP""#),
    ("ContainerStatus", "lastState", "{}"),
    ("ContainerStatus", "state", "{}"),
    ("CronJob", "status", "{}"),
    ("CronJobSpec", "concurrencyPolicy", r#""Allow""#),
    ("CronJobSpec", "failedJobsHistoryLimit", "1"),
    ("CronJobSpec", "successfulJobsHistoryLimit", "3"),
    ("CronJobSpec", "suspend", "false"),
    ("CustomResourceDefinitionSpec", "conversion", r#"{"strategy":"None"}"#),
    ("DaemonSet", "status", "{}"),
    ("DaemonSetSpec", "revisionHistoryLimit", "10"),
    ("DaemonSetSpec", "updateStrategy", "{}"),
    ("DaemonSetUpdateStrategy", "type", r#""RollingUpdate""#),
    ("Deployment", "status", "{}"),
    ("DeploymentSpec", "progressDeadlineSeconds", "600"),
    ("DeploymentSpec", "replicas", "1"),
    ("DeploymentSpec", "revisionHistoryLimit", "10"),
    ("DeploymentSpec", "strategy", "{}"),
    ("DeploymentStrategy", "type", r#""RollingUpdate""#),
    ("DownwardAPIVolumeSource", "defaultMode", "420"),
    ("EphemeralContainer", "resources", "{}"),
    ("EphemeralContainer", "terminationMessagePath", r#""/dev/termination-log""#),
    ("EphemeralContainer", "terminationMessagePolicy", r#""File""#),
    ("GRPCAction", "service", r#""""#),
    ("HTTPGetAction", "path", r#""/""#),
    ("HTTPGetAction", "scheme", r#""HTTP""#),
    ("HorizontalPodAutoscalerSpec", "minReplicas", "1"),
    ("HostPathVolumeSource", "type", r#""""#),
    ("Ingress", "status", "{}"),
    ("IngressStatus", "loadBalancer", "{}"),
    ("Job", "status", "{}"),
    ("JobSpec", "backoffLimit", "6"),
    ("JobSpec", "completionMode", r#""NonIndexed""#),
    ("JobSpec", "manualSelector", "false"),
    ("JobSpec", "podReplacementPolicy", r#""TerminatingOrFailed""#),
    ("JobSpec", "suspend", "false"),
    ("MutatingWebhook", "failurePolicy", r#""Fail""#),
    ("MutatingWebhook", "matchPolicy", r#""Equivalent""#),
    ("MutatingWebhook", "namespaceSelector", "{}"),
    ("MutatingWebhook", "objectSelector", "{}"),
    ("MutatingWebhook", "reinvocationPolicy", r#""Never""#),
    ("MutatingWebhook", "timeoutSeconds", "10"),
    ("Namespace", "spec", "{}"),
    ("Namespace", "status", "{}"),
    ("NamespaceStatus", "phase", r#""Active""#),
    ("NetworkPolicyPort", "protocol", r#""TCP""#),
    ("NetworkPolicySpec", "podSelector", "{}"),
    ("Node", "spec", "{}"),
    ("Node", "status", "{}"),
    ("NodeStatus", "daemonEndpoints", r#"{"kubeletEndpoint":{"Port":0}}"#),
    ("NodeStatus", "nodeInfo", "{}"),
    ("ObjectFieldSelector", "apiVersion", r#""v1""#),
    ("PersistentVolume", "status", "{}"),
    ("PersistentVolumeClaim", "spec", "{}"),
    ("PersistentVolumeClaim", "status", "{}"),
    ("PersistentVolumeClaimSpec", "resources", "{}"),
    ("PersistentVolumeClaimSpec", "volumeMode", r#""Filesystem""#),
    ("PersistentVolumeClaimStatus", "phase", r#""Pending""#),
    ("PersistentVolumeSpec", "persistentVolumeReclaimPolicy", r#""Retain""#),
    ("PersistentVolumeSpec", "volumeMode", r#""Filesystem""#),
    ("PersistentVolumeStatus", "phase", r#""Pending""#),
    ("Pod", "status", "{}"),
    ("PodDisruptionBudget", "status", "{}"),
    ("PodSpec", "dnsPolicy", r#""ClusterFirst""#),
    ("PodSpec", "restartPolicy", r#""Always""#),
    ("PodSpec", "schedulerName", r#""default-scheduler""#),
    ("PodSpec", "securityContext", "{}"),
    ("PodSpec", "terminationGracePeriodSeconds", "30"),
    ("PodStatus", "phase", r#""Pending""#),
    ("PriorityClass", "preemptionPolicy", r#""PreemptLowerPriority""#),
    ("Probe", "failureThreshold", "3"),
    ("Probe", "periodSeconds", "10"),
    ("Probe", "successThreshold", "1"),
    ("Probe", "timeoutSeconds", "1"),
    ("ProjectedVolumeSource", "defaultMode", "420"),
    ("ReplicaSet", "status", "{}"),
    ("ReplicaSetSpec", "replicas", "1"),
    ("ResourceFieldSelector", "divisor", r#""0""#),
    ("ResourceQuota", "status", "{}"),
    ("RoleRef", "apiGroup", r#""rbac.authorization.k8s.io""#),
    ("RuleWithOperations", "scope", r#""*""#),
    ("Secret", "type", r#""Opaque""#),
    ("SecretVolumeSource", "defaultMode", "420"),
    ("Service", "spec", "{}"),
    ("Service", "status", "{}"),
    ("ServiceAccountTokenProjection", "expirationSeconds", "3600"),
    ("ServicePort", "protocol", r#""TCP""#),
    ("ServiceSpec", "sessionAffinity", r#""None""#),
    ("ServiceSpec", "type", r#""ClusterIP""#),
    ("ServiceStatus", "loadBalancer", "{}"),
    ("StatefulSet", "status", "{}"),
    ("StatefulSetSpec", "persistentVolumeClaimRetentionPolicy", "{}"),
    ("StatefulSetSpec", "podManagementPolicy", r#""OrderedReady""#),
    ("StatefulSetSpec", "replicas", "1"),
    ("StatefulSetSpec", "revisionHistoryLimit", "10"),
    ("StatefulSetSpec", "updateStrategy", "{}"),
    ("StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted", r#""Retain""#),
    ("StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled", r#""Retain""#),
    ("StatefulSetUpdateStrategy", "type", r#""RollingUpdate""#),
    ("StorageClass", "reclaimPolicy", r#""Delete""#),
    ("StorageClass", "volumeBindingMode", r#""Immediate""#),
    ("ValidatingWebhook", "failurePolicy", r#""Fail""#),
    ("ValidatingWebhook", "matchPolicy", r#""Equivalent""#),
    ("ValidatingWebhook", "namespaceSelector", "{}"),
    ("ValidatingWebhook", "objectSelector", "{}"),
    ("ValidatingWebhook", "timeoutSeconds", "10"),
];

/// Defaults that depend on other fields, by the type they belong to.
const COMPUTED: &[(&str, Fill)] = &[
    ("Container", container),
    ("CustomResourceDefinitionNames", crd_names),
    ("DaemonSetUpdateStrategy", daemon_set_strategy),
    ("DeploymentStrategy", deployment_strategy),
    ("EphemeralContainer", container),
    ("Job", job),
    ("JobSpec", job_spec),
    ("NetworkPolicySpec", policy_types),
    ("Pod", pod),
    ("PodSpec", pod_spec),
    ("ResourceRequirements", requests_from_limits),
    ("ServicePort", service_port),
    ("ServiceReference", service_reference),
    ("ServiceSpec", service_spec),
    ("StatefulSetSpec", claim_templates),
    ("StatefulSetUpdateStrategy", stateful_set_strategy),
    ("Subject", subject),
    ("Volume", volume),
];

pub(super) fn constant(type_name: &str, field: &str) -> Option<Value> {
    let (_, _, value) = CONSTANT.iter().find(|(t, f, _)| (*t, *f) == (type_name, field))?;
    serde_json::from_str(value).ok()
}

pub(super) fn computed(type_name: &str) -> Option<Fill> {
    COMPUTED.iter().find(|(t, _)| *t == type_name).map(|(_, fill)| *fill)
}

fn set(fields: &mut Fields, name: &str, value: impl FnOnce() -> Value) {
    fields.entry(name).or_insert_with(value);
}

fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// `latest`, or no tag at all, is pulled always.
fn container(fields: &mut Fields) {
    let image = text(fields, "image");
    let name = image.rsplit('/').next().unwrap_or_default();
    let latest = !name.contains('@') && name.rsplit_once(':').is_none_or(|(_, tag)| tag == "latest");
    let policy = if latest { "Always" } else { "IfNotPresent" };
    set(fields, "imagePullPolicy", || json!(policy));
}

fn crd_names(fields: &mut Fields) {
    let kind = text(fields, "kind").to_owned();
    if !kind.is_empty() {
        set(fields, "singular", || json!(kind.to_lowercase()));
        set(fields, "listKind", || json!(format!("{kind}List")));
    }
}

fn daemon_set_strategy(fields: &mut Fields) {
    rolling_update(fields, json!({"maxUnavailable": 1, "maxSurge": 0}));
}

fn deployment_strategy(fields: &mut Fields) {
    rolling_update(fields, json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
}

fn stateful_set_strategy(fields: &mut Fields) {
    rolling_update(fields, json!({"partition": 0}));
}

fn rolling_update(fields: &mut Fields, defaults: Value) {
    if text(fields, "type") != "RollingUpdate" {
        return;
    }
    let rolling = fields.entry("rollingUpdate").or_insert_with(|| json!({}));
    if let (Some(rolling), Value::Object(defaults)) = (rolling.as_object_mut(), defaults) {
        for (name, value) in defaults {
            set(rolling, &name, || value);
        }
    }
}

/// A job's labels default to those of its pods.
fn job(fields: &mut Fields) {
    let labels = fields.get("spec").and_then(|s| s.pointer("/template/metadata/labels")).cloned();
    if let (Some(labels), Some(metadata)) =
        (labels, fields.get_mut("metadata").and_then(Value::as_object_mut))
    {
        set(metadata, "labels", || labels);
    }
}

/// Neither completions nor parallelism: one of each. Only completions: one at a time.
fn job_spec(fields: &mut Fields) {
    if !fields.contains_key("completions") && !fields.contains_key("parallelism") {
        set(fields, "completions", || json!(1));
    }
    set(fields, "parallelism", || json!(1));
}

fn policy_types(fields: &mut Fields) {
    let egress = fields.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
    set(fields, "policyTypes", || if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
}

/// Service links are on for pods, and left open in templates.
fn pod(fields: &mut Fields) {
    if let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) {
        set(spec, "enableServiceLinks", || json!(true));
    }
}

/// The old name of the service account's field follows the new one; host networking takes the container ports.
fn pod_spec(fields: &mut Fields) {
    match (text(fields, "serviceAccountName").to_owned(), text(fields, "serviceAccount").to_owned()) {
        (name, _) if !name.is_empty() => {
            fields.insert("serviceAccount".into(), json!(name));
        }
        (_, old) if !old.is_empty() => {
            fields.insert("serviceAccountName".into(), json!(old));
        }
        _ => {}
    }
    if fields.get("hostNetwork") == Some(&Value::Bool(true)) {
        for list in ["containers", "initContainers"] {
            let containers = fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            let ports = containers.filter_map(|c| c.get_mut("ports")?.as_array_mut()).flatten();
            for port in ports.filter_map(Value::as_object_mut) {
                if let Some(number) = port.get("containerPort").cloned() {
                    set(port, "hostPort", || number);
                }
            }
        }
    }
}

/// A limit without a request requests as much.
fn requests_from_limits(fields: &mut Fields) {
    let Some(limits) = fields.get("limits").and_then(Value::as_object).filter(|l| !l.is_empty()).cloned()
    else {
        return;
    };
    let requests = fields.entry("requests").or_insert_with(|| json!({}));
    if let Some(requests) = requests.as_object_mut() {
        for (name, limit) in limits {
            set(requests, &name, || limit);
        }
    }
}

fn service_port(fields: &mut Fields) {
    if matches!(fields.get("targetPort"), None | Some(Value::String(_)))
        && text(fields, "targetPort").is_empty()
        && let Some(port) = fields.get("port").cloned()
    {
        fields.insert("targetPort".into(), port);
    }
}

fn service_reference(fields: &mut Fields) {
    set(fields, "port", || json!(443));
}

/// One family, as on a cluster that knows only IPv4. The cluster IP itself is the server's to allocate.
fn service_spec(fields: &mut Fields) {
    let kind = text(fields, "type").to_owned();
    if kind == "ExternalName" {
        return;
    }
    set(fields, "internalTrafficPolicy", || json!("Cluster"));
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        set(fields, "externalTrafficPolicy", || json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        set(fields, "allocateLoadBalancerNodePorts", || json!(true));
    }
    if text(fields, "sessionAffinity") == "ClientIP" {
        set(fields, "sessionAffinityConfig", || json!({"clientIP": {"timeoutSeconds": 10800}}));
    }
    set(fields, "ipFamilyPolicy", || json!("SingleStack"));
    set(fields, "ipFamilies", || json!(["IPv4"]));
    if !text(fields, "clusterIP").is_empty() {
        let ip = text(fields, "clusterIP").to_owned();
        set(fields, "clusterIPs", || json!([ip]));
    }
}

/// A claim inside a StatefulSet is written out as a whole object.
fn claim_templates(fields: &mut Fields) {
    let claims = fields.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut).into_iter().flatten();
    for claim in claims.filter_map(Value::as_object_mut) {
        set(claim, "apiVersion", || json!("v1"));
        set(claim, "kind", || json!("PersistentVolumeClaim"));
    }
}

fn subject(fields: &mut Fields) {
    match text(fields, "kind") {
        "User" | "Group" => set(fields, "apiGroup", || json!("rbac.authorization.k8s.io")),
        _ => {}
    }
}

/// A volume without a source is an empty directory.
fn volume(fields: &mut Fields) {
    if fields.keys().all(|name| name == "name") {
        set(fields, "emptyDir", || json!({}));
    }
}
