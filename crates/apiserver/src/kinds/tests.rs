//! Built-in kinds, as sentences: what the server makes of what people write.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Kind, builtins, validate_builtin};
use crate::schema::{ListType, MergeStrategy, Schema};

fn kind(name: &str) -> &'static Arc<Kind> {
    builtins().iter().find(|kind| kind.kind == name).unwrap_or_else(|| panic!("{name} is served"))
}

/// What is stored of `object`.
fn stored(name: &str, mut object: Value) -> Value {
    let schema = &kind(name).schema;
    schema.prune(&mut object);
    schema.default(&mut object);
    object
}

/// Everything that is wrong with an object after defaulting.
fn faults(name: &str, object: Value) -> Vec<String> {
    let object = stored(name, object);
    let mut causes = kind(name).schema.validate(&object, None);
    causes.extend(validate_builtin(kind(name), &object, None));
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

fn at<'a>(schema: &'a Schema, path: &str) -> &'a Schema {
    path.split('.').fold(schema, |schema, key| {
        let next = if key == "[]" { schema.items() } else { schema.field(key) };
        next.unwrap_or_else(|| panic!("{path}: {key} is known"))
    })
}

#[test]
fn every_kind_of_the_table_is_served_once_in_its_scope() {
    let mut names: Vec<String> = builtins().iter().map(|kind| kind.resource()).collect();
    assert_eq!(names.len(), 37);
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 37);
    assert_eq!(kind("Pod").api_version(), "v1");
    assert_eq!(kind("Deployment").api_version(), "apps/v1");
    assert!(kind("Pod").namespaced && !kind("Node").namespaced && !kind("ClusterRole").namespaced);
    assert_eq!(kind("NetworkPolicy").plural, "networkpolicies");
    assert!(kind("StatefulSet").scale.is_some() && kind("DaemonSet").scale.is_none());
}

#[test]
fn lists_merge_as_the_api_says() {
    let keyed = |keys: &[&str]| ListType::Map(keys.iter().map(|key| (*key).to_owned()).collect());
    let merge = |key: &str| MergeStrategy::Merge(key.to_owned());
    for (name, path, list_type, strategy) in [
        ("Pod", "spec.containers", keyed(&["name"]), merge("name")),
        ("Pod", "spec.containers.[].ports", keyed(&["containerPort", "protocol"]), merge("containerPort")),
        ("Pod", "spec.containers.[].volumeMounts", keyed(&["mountPath"]), merge("mountPath")),
        ("Pod", "spec.volumes", keyed(&["name"]), MergeStrategy::MergeRetainKeys("name".into())),
        ("Pod", "spec.tolerations", ListType::Atomic, MergeStrategy::Replace),
        ("Pod", "spec.containers.[].args", ListType::Atomic, MergeStrategy::Replace),
        ("StatefulSet", "spec.template.spec.initContainers.[].env", keyed(&["name"]), merge("name")),
        ("Service", "spec.ports", keyed(&["port", "protocol"]), merge("port")),
        ("ConfigMap", "metadata.finalizers", ListType::Set, MergeStrategy::MergeSet),
        ("ConfigMap", "metadata.ownerReferences", keyed(&["uid"]), merge("uid")),
        ("Deployment", "spec.strategy", ListType::Atomic, MergeStrategy::RetainKeys),
        ("Deployment", "status.conditions", keyed(&["type"]), merge("type")),
    ] {
        let schema = at(&kind(name).schema, path);
        assert_eq!(schema.list_type(), &list_type, "{name} {path}");
        assert_eq!(schema.merge_strategy(), &strategy, "{name} {path}");
    }
    assert!(at(&kind("Deployment").schema, "spec.selector").is_atomic_map());
    assert!(at(&kind("Pod").schema, "spec.nodeSelector").is_atomic_map());
    assert!(!at(&kind("ConfigMap").schema, "data").is_atomic_map());
    assert!(!at(&kind("PersistentVolume").schema, "spec.claimRef").is_atomic_map());
}

#[test]
fn a_stateful_set_gets_its_defaults() {
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "etcd:v3.6.0"}]}});
    let set = stored(
        "StatefulSet",
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "x"},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}}, "template": template,
                "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}}],
            },
        }),
    );
    assert_eq!(
        set,
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "x"},
            "spec": {
                "replicas": 1,
                "revisionHistoryLimit": 10,
                "podManagementPolicy": "OrderedReady",
                "serviceName": "",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
                "selector": {"matchLabels": {"a": "b"}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {
                        "containers": [{
                            "name": "c", "image": "etcd:v3.6.0", "imagePullPolicy": "IfNotPresent", "resources": {},
                            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                        }],
                        "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
                        "securityContext": {}, "terminationGracePeriodSeconds": 30,
                    },
                },
                "volumeClaimTemplates": [{
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"},
                    "status": {"phase": "Pending"},
                }],
            },
            "status": {"replicas": 0, "availableReplicas": 0},
        })
    );
}

#[test]
fn defaults_depend_on_other_fields_where_kubernetes_says_so() {
    let pointer = |name: &str, object: Value, pointer: &str| stored(name, object).pointer(pointer).cloned();
    let pod = |container: Value| json!({"spec": {"containers": [container]}});
    for (image, policy) in [
        ("etcd", "Always"),
        ("etcd:latest", "Always"),
        ("registry:5000/etcd", "Always"),
        ("registry:5000/etcd:v1", "IfNotPresent"),
        ("etcd@sha256:0123", "IfNotPresent"),
    ] {
        let found = pointer("Pod", pod(json!({"image": image})), "/spec/containers/0/imagePullPolicy");
        assert_eq!(found, Some(json!(policy)), "{image}");
    }
    for (name, object, path, wanted) in [
        (
            "Pod",
            pod(json!({"ports": [{"containerPort": 1}]})),
            "/spec/containers/0/ports/0/protocol",
            json!("TCP"),
        ),
        (
            "Pod",
            pod(json!({"resources": {"limits": {"cpu": "2000m"}}})),
            "/spec/containers/0/resources",
            json!({"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}),
        ),
        (
            "Pod",
            pod(json!({"readinessProbe": {"httpGet": {"port": 1}}})),
            "/spec/containers/0/readinessProbe",
            json!({"httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}, "failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}),
        ),
        (
            "Pod",
            json!({"spec": {"containers": [], "volumes": [{"name": "a"}, {"name": "b", "secret": {"secretName": "s"}}]}}),
            "/spec/volumes",
            json!([{"name": "a", "emptyDir": {}}, {"name": "b", "secret": {"secretName": "s", "defaultMode": 420}}]),
        ),
        (
            "Pod",
            json!({"spec": {"containers": [], "serviceAccountName": "x"}}),
            "/spec/serviceAccount",
            json!("x"),
        ),
        ("Pod", json!({"spec": {"containers": []}}), "/spec/enableServiceLinks", json!(true)),
        (
            "Service",
            json!({"spec": {"ports": [{"port": 80}]}}),
            "/spec",
            json!({"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}),
        ),
        (
            "Service",
            json!({"spec": {"type": "NodePort", "ports": [{"port": 80, "targetPort": "http"}]}}),
            "/spec/externalTrafficPolicy",
            json!("Cluster"),
        ),
        (
            "Deployment",
            json!({"spec": {}}),
            "/spec/strategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}),
        ),
        (
            "Deployment",
            json!({"spec": {"strategy": {"type": "Recreate"}}}),
            "/spec/strategy",
            json!({"type": "Recreate"}),
        ),
        (
            "Job",
            json!({"metadata": {}, "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}),
            "/metadata/labels",
            json!({"a": "b"}),
        ),
        ("Job", json!({"spec": {}}), "/spec/completions", json!(1)),
        (
            "NetworkPolicy",
            json!({"spec": {"podSelector": {}, "egress": [{}]}}),
            "/spec/policyTypes",
            json!(["Ingress", "Egress"]),
        ),
        ("Secret", json!({}), "/type", json!("Opaque")),
        (
            "RoleBinding",
            json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]}),
            "/subjects/0/apiGroup",
            json!("rbac.authorization.k8s.io"),
        ),
        (
            "CustomResourceDefinition",
            json!({"spec": {"names": {"kind": "Foo", "plural": "foos"}}}),
            "/spec/names",
            json!({"kind": "Foo", "plural": "foos", "singular": "foo", "listKind": "FooList"}),
        ),
    ] {
        assert_eq!(pointer(name, object, path), Some(wanted), "{name} {path}");
    }
    assert_eq!(pointer("Job", json!({"spec": {"parallelism": 3}}), "/spec/completions"), None);
    assert_eq!(stored("Lease", json!({"spec": {}})), json!({"spec": {}}), "a lease has no defaults");
}

#[test]
fn empty_values_are_stored_as_go_stores_them() {
    for (name, given, wanted) in [
        (
            "ConfigMap",
            json!({"data": {}, "metadata": {"labels": {}, "creationTimestamp": null}}),
            json!({"metadata": {}}),
        ),
        ("ConfigMap", json!({"data": {"a": ""}}), json!({"data": {"a": ""}})),
        ("ConfigMap", json!({"data": {"a": null}}), json!({"data": {"a": ""}})),
        (
            "Lease",
            json!({"spec": {"holderIdentity": "", "leaseTransitions": 0}}),
            json!({"spec": {"holderIdentity": "", "leaseTransitions": 0}}),
        ),
        ("Role", json!({"rules": []}), json!({"rules": []})),
        (
            "ServiceAccount",
            json!({"secrets": [], "automountServiceAccountToken": false}),
            json!({"automountServiceAccountToken": false}),
        ),
        (
            "EndpointSlice",
            json!({"addressType": "IPv4", "endpoints": [], "ports": [{"name": ""}]}),
            json!({"addressType": "IPv4", "endpoints": [], "ports": [{"name": ""}]}),
        ),
    ] {
        assert_eq!(stored(name, given), wanted, "{name}");
    }
    let pod = stored(
        "Pod",
        json!({"spec": {"nodeSelector": {}, "hostNetwork": false, "containers": [{"name": "c", "env": [{"name": "E", "value": ""}], "args": [], "tty": false}], "volumes": [{"name": "v", "emptyDir": {}}]}}),
    );
    assert_eq!(pod["spec"].get("nodeSelector"), None);
    assert_eq!(pod["spec"].get("hostNetwork"), None);
    assert_eq!(pod["spec"]["containers"][0]["env"], json!([{"name": "E"}]));
    assert_eq!(pod["spec"]["containers"][0].get("tty"), None);
    assert_eq!(pod["spec"]["volumes"][0]["emptyDir"], json!({}));
}

#[test]
fn defaulting_a_built_in_object_twice_changes_nothing_more() {
    for name in ["StatefulSet", "Deployment", "Job", "CronJob", "DaemonSet"] {
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "resources": {"limits": {"memory": "2048Ki"}}}]}});
        let job = json!({"template": template});
        let spec = if name == "CronJob" {
            json!({"schedule": "* * * * *", "jobTemplate": {"spec": job}})
        } else {
            job
        };
        let once = stored(name, json!({"metadata": {"name": "x"}, "spec": spec}));
        assert_eq!(stored(name, once.clone()), once, "{name}");
    }
}

#[test]
fn unknown_fields_of_built_in_kinds_are_named() {
    let mut deployment =
        json!({"spec": {"replica": 1, "template": {"spec": {"containers": [{"name": "c", "imag": "x"}]}}}});
    let dropped = kind("Deployment").schema.prune(&mut deployment);
    assert_eq!(dropped, ["spec.replica", "spec.template.spec.containers[0].imag"]);
}

#[test]
fn a_correct_object_of_each_kind_has_no_faults() {
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}], "volumes": [{"name": "data"}]}});
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let never = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    for (name, object) in [
        ("ConfigMap", json!({"data": {"a.b": "c"}})),
        ("Pod", json!({"spec": template["spec"]})),
        ("Deployment", json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}})),
        (
            "DaemonSet",
            json!({"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}, "template": template}}),
        ),
        (
            "StatefulSet",
            json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]}}, "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}]}}),
        ),
        ("PersistentVolumeClaim", json!({"spec": claim})),
        (
            "Service",
            json!({"spec": {"clusterIP": "None", "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2, "targetPort": "http"}]}}),
        ),
        ("Job", json!({"spec": {"template": never}})),
        (
            "CronJob",
            json!({"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": never}}}}),
        ),
        (
            "Lease",
            json!({"spec": {"holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}}),
        ),
        (
            "PodDisruptionBudget",
            json!({"spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}}}),
        ),
        (
            "Role",
            json!({"metadata": {"namespace": "n"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
        ("ClusterRole", json!({"rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]})),
        (
            "RoleBinding",
            json!({"metadata": {"namespace": "n"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}]}),
        ),
        (
            "Ingress",
            json!({"spec": {"rules": [{"host": "*.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}}),
        ),
        ("NetworkPolicy", json!({"spec": {"podSelector": {}}})),
        ("Node", json!({"status": {"capacity": {"cpu": "4"}}})),
        ("Namespace", json!({})),
        ("Event", json!({"involvedObject": {"kind": "Pod", "name": "p"}, "reason": "R", "count": 1})),
        (
            "EndpointSlice",
            json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}]}),
        ),
        ("StorageClass", json!({"provisioner": "x"})),
        (
            "HorizontalPodAutoscaler",
            json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "StatefulSet", "name": "s"}}}),
        ),
        ("PriorityClass", json!({"value": 5})),
    ] {
        assert_eq!(faults(name, object), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn wrong_objects_are_refused_with_kubernetes_words() {
    let labelled = |labels: Value| json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let pod = |spec: Value| json!({"spec": spec});
    for (name, object, wanted) in [
        (
            "Pod",
            pod(json!({"containers": [{"name": "a", "image": "i"}, {"name": "a", "image": "i"}]})),
            r#"spec.containers[1].name: Duplicate value: "a""#,
        ),
        ("Pod", pod(json!({"containers": []})), "spec.containers: Required value"),
        ("Pod", pod(json!({"containers": [{"image": "i"}]})), "spec.containers[0].name: Required value"),
        ("Pod", pod(json!({"containers": [{"name": "c"}]})), "spec.containers[0].image: Required value"),
        (
            "Pod",
            pod(
                json!({"containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/"}]}]}),
            ),
            r#"spec.containers[0].volumeMounts[0].name: Not found: "v""#,
        ),
        (
            "Pod",
            pod(json!({"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 0}]}]})),
            "spec.containers[0].ports[0].containerPort: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (
            "Pod",
            pod(
                json!({"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}]}),
            ),
            r#"spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1"#,
        ),
        (
            "Pod",
            pod(json!({"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Sometimes"})),
            r#"spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never""#,
        ),
        (
            "StatefulSet",
            json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": labelled(json!({"a": "c"}))}}),
            r#"spec.template.metadata.labels: Invalid value: {"a":"c"}: `selector` does not match template `labels`"#,
        ),
        ("Deployment", json!({"spec": {"template": labelled(json!({}))}}), "spec.selector: Required value"),
        (
            "Deployment",
            json!({"spec": {"replicas": -1, "selector": {"matchLabels": {"a": "b"}}, "template": labelled(json!({"a": "b"}))}}),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "Deployment",
            json!({"spec": {"replicas": "x", "selector": {"matchLabels": {"a": "b"}}, "template": labelled(json!({"a": "b"}))}}),
            r#"spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string""#,
        ),
        ("Service", json!({"spec": {}}), "spec.ports: Required value"),
        (
            "Service",
            json!({"spec": {"ports": [{"port": 1}, {"port": 2, "name": "b"}]}}),
            "spec.ports[0].name: Required value",
        ),
        (
            "Service",
            json!({"spec": {"ports": [{"port": 70000, "targetPort": 1}]}}),
            "spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        (
            "PersistentVolumeClaim",
            json!({"spec": {"accessModes": ["ReadWriteOnce"]}}),
            "spec.resources[storage]: Required value",
        ),
        (
            "ConfigMap",
            json!({"data": {"a/b": ""}}),
            "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        ),
        (
            "ConfigMap",
            json!({"data": {"a": "x".repeat(1024 * 1024 + 1)}}),
            ": Too long: may not be more than 1048576 bytes",
        ),
        (
            "Lease",
            json!({"spec": {"leaseDurationSeconds": 0}}),
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            "Role",
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"]}]}),
            "rules[0].verbs: Required value: verbs must contain at least one value",
        ),
        (
            "PodDisruptionBudget",
            json!({"spec": {"minAvailable": 1, "maxUnavailable": 1}}),
            r#"spec: Invalid value: {"maxUnavailable":1,"minAvailable":1}: minAvailable and maxUnavailable cannot be both set"#,
        ),
        (
            "CronJob",
            json!({"spec": {"schedule": "often", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}),
            r#"spec.schedule: Invalid value: "often": expected exactly 5 fields, found 1: [often]"#,
        ),
    ] {
        let found = faults(name, object);
        assert!(found.iter().any(|fault| fault == wanted), "{name}: wanted {wanted}, found {found:#?}");
        assert_eq!(found.len(), 1, "{name}: nothing is told twice: {found:#?}");
    }
}

#[test]
fn a_quantity_that_is_none_is_refused() {
    let found = faults(
        "PersistentVolumeClaim",
        json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "much"}}}}),
    );
    assert!(
        found[0]
            .starts_with(r#"spec.resources.requests.storage: Invalid value: "much": quantities must match"#),
        "{found:?}"
    );
}

fn definition(change: impl FnOnce(&mut Value)) -> Value {
    let mut definition = json!({
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Foo", "plural": "foos"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}}}],
        },
    });
    change(&mut definition);
    definition
}

#[test]
fn a_definition_is_checked_before_it_is_served() {
    let check = |change: fn(&mut Value), wanted: &str| {
        let found = faults("CustomResourceDefinition", definition(change));
        if wanted.is_empty() {
            assert_eq!(found, Vec::<String>::new());
        } else {
            assert!(found.iter().any(|fault| fault.starts_with(wanted)), "wanted {wanted}, found {found:#?}");
        }
    };
    check(|_| {}, "");
    check(
        |d| d["metadata"]["name"] = json!("other"),
        r#"metadata.name: Invalid value: "other": must be spec.names.plural+"."+spec.group"#,
    );
    check(|d| d["spec"]["versions"][0]["storage"] = json!(false), "spec.versions: Invalid value");
    check(
        |d| d["spec"]["versions"][0]["schema"] = json!(null),
        "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
    );
    check(|d| d["spec"]["scope"] = json!("Somewhere"), "spec.scope: Unsupported value");
    check(
        |d| d["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({}),
        "spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields",
    );
    check(
        |d| {
            let mut second = d["spec"]["versions"][0].clone();
            second["name"] = json!("v2");
            second["storage"] = json!(false);
            second["schema"]["openAPIV3Schema"]["type"] = json!("string");
            d["spec"]["versions"].as_array_mut().unwrap().push(second);
        },
        "spec.versions[1].schema.openAPIV3Schema.type: Invalid value: \"string\": must be object at the root",
    );
    check(
        |d| {
            d["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] =
                json!([{"rule": "self.nope"}]);
        },
        "spec.validation.openAPIV3Schema.x-kubernetes-validations[0].rule: Invalid value",
    );
    check(
        |d| d["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.none"}]),
        "spec.versions[0].selectableFields[0].jsonPath: Invalid value",
    );
    check(|d| d["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.a"}]), "");
    check(|d| d["status"] = json!({"storedVersions": ["v0"]}), "status.storedVersions[0]: Invalid value");
}

#[test]
fn a_schema_that_was_accepted_once_stays_accepted() {
    let bad = definition(|d| {
        d["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
            json!({"type": "object", "properties": {"a": {}}});
    });
    assert_eq!(validate_builtin(kind("CustomResourceDefinition"), &bad, None).len(), 1);
    assert_eq!(validate_builtin(kind("CustomResourceDefinition"), &bad, Some(&bad)), []);
}
