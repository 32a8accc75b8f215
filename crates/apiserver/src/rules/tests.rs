//! What single kinds obey: fixed fields, grace, the keys of Secrets.

use serde_json::json;

use super::*;
use crate::builtins;

fn kind(plural: &str) -> &'static Kind {
    builtins().iter().find(|kind| kind.plural == plural && kind.group != "events.k8s.io").unwrap()
}

/// The fields that an update is refused for.
fn refused(plural: &str, old: &Value, new: &Value) -> Vec<String> {
    immutable::validate(kind(plural), new, old).into_iter().map(|cause| cause.field).collect()
}

#[test]
fn fields_that_are_fixed_stay_and_others_move() {
    let rows: &[(&str, Value, Value, &[&str])] = &[
        (
            "deployments",
            json!({"spec": {"selector": 1}}),
            json!({"spec": {"selector": 2}}),
            &["spec.selector"],
        ),
        ("deployments", json!({"spec": {"replicas": 1}}), json!({"spec": {"replicas": 2}}), &[]),
        (
            "statefulsets",
            json!({"spec": {"serviceName": "a"}}),
            json!({"spec": {"serviceName": "b"}}),
            &["spec"],
        ),
        (
            "statefulsets",
            json!({"spec": {"volumeClaimTemplates": []}}),
            json!({"spec": {"volumeClaimTemplates": [1]}}),
            &["spec"],
        ),
        (
            "statefulsets",
            json!({"spec": {"template": 1, "replicas": 1}}),
            json!({"spec": {"template": 2, "replicas": 2}}),
            &[],
        ),
        (
            "services",
            json!({"spec": {"clusterIP": "10.96.0.2"}}),
            json!({"spec": {"clusterIP": "10.96.0.3"}}),
            &["spec.clusterIP"],
        ),
        ("services", json!({"spec": {}}), json!({"spec": {"clusterIP": "10.96.0.3"}}), &[]),
        ("jobs", json!({"spec": {"template": 1}}), json!({"spec": {"template": 2}}), &["spec.template"]),
        ("jobs", json!({"spec": {"parallelism": 1}}), json!({"spec": {"parallelism": 2}}), &[]),
        (
            "persistentvolumeclaims",
            json!({"spec": {"storageClassName": "a"}}),
            json!({"spec": {"storageClassName": "b"}}),
            &["spec"],
        ),
        ("persistentvolumeclaims", json!({"spec": {"resources": 1}}), json!({"spec": {"resources": 2}}), &[]),
        ("persistentvolumeclaims", json!({"spec": {}}), json!({"spec": {"volumeName": "v"}}), &[]),
        (
            "persistentvolumeclaims",
            json!({"spec": {"volumeName": "v"}}),
            json!({"spec": {"volumeName": "w"}}),
            &["spec"],
        ),
        ("secrets", json!({"type": "Opaque"}), json!({"type": "kubernetes.io/tls"}), &["type"]),
        ("secrets", json!({"immutable": true, "data": {"a": "eA=="}}), json!({"immutable": true}), &["data"]),
        ("configmaps", json!({"immutable": true}), json!({"data": {"a": "b"}}), &["immutable", "data"]),
        ("configmaps", json!({"data": {"a": "b"}}), json!({"data": {"a": "c"}, "immutable": true}), &[]),
        ("rolebindings", json!({"roleRef": {"name": "a"}}), json!({"roleRef": {"name": "b"}}), &["roleRef"]),
        (
            "pods",
            json!({"spec": {"containers": [{"image": "a"}]}}),
            json!({"spec": {"containers": [{"image": "b"}]}}),
            &[],
        ),
        (
            "pods",
            json!({"spec": {"containers": [{"args": 1}]}}),
            json!({"spec": {"containers": [{"args": 2}]}}),
            &["spec"],
        ),
    ];
    for (plural, old, new, expected) in rows {
        assert_eq!(refused(plural, old, new), *expected, "{plural}: {old} -> {new}");
    }
}

#[test]
fn a_pod_gets_its_grace_only_where_somebody_runs_it() {
    let grace = |pod: Value, asked| graceful(kind("pods"), &pod, asked);
    let running = json!({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 5}, "status": {"phase": "Running"}});
    assert_eq!(grace(running.clone(), None), Some(5));
    assert_eq!(grace(running.clone(), Some(60)), Some(60));
    assert_eq!(grace(running, Some(-1)), Some(1));
    assert_eq!(grace(json!({"spec": {"nodeName": "n"}}), None), Some(30));
    assert_eq!(grace(json!({"spec": {}}), Some(60)), Some(0));
    assert_eq!(grace(json!({"spec": {"nodeName": "n"}, "status": {"phase": "Failed"}}), Some(60)), Some(0));
    assert_eq!(graceful(kind("services"), &json!({}), Some(60)), None);
}

#[test]
fn string_data_wins_over_data_and_is_never_shown() {
    let mut secret = json!({"data": {"a": "eA==", "b": "eQ=="}, "stringData": {"a": "z"}});
    decode(kind("secrets"), &mut secret);
    assert_eq!(secret, json!({"data": {"a": "eg==", "b": "eQ=="}}));
}

#[test]
fn typed_secrets_have_their_keys() {
    let wrong =
        |secret: Value| -> Vec<String> { secrets::validate(&secret).into_iter().map(|c| c.field).collect() };
    assert_eq!(wrong(json!({"type": "kubernetes.io/tls", "data": {"tls.crt": "eA=="}})), ["data[tls.key]"]);
    assert_eq!(wrong(json!({"data": {"a": "%"}})), ["data[a]"]);
    assert!(wrong(json!({"type": "example.com/mine"})).is_empty());
}
