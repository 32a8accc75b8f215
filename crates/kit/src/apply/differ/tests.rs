//! What is a difference between an intent and a live object, and what is none.

use serde_json::json;

use super::*;

fn check(desired: &Value, live: &Value, want: &[&str]) {
    let found: Vec<String> = differences(desired, live).iter().map(ToString::to_string).collect();
    assert_eq!(found, want, "desired {desired}\nlive {live}");
}

#[test]
fn what_others_added_is_no_difference() {
    check(
        &json!({"spec": {"replicas": 3, "template": {"metadata": {"labels": {"a": "b"}}}}}),
        &json!({"spec": {"replicas": 3, "revisionHistoryLimit": 10, "template": {"metadata": {"labels": {"a": "b", "c": "d"}}}},
                "status": {"replicas": 2}}),
        &[],
    );
}

#[test]
fn a_changed_and_a_missing_field_are_named_with_their_values() {
    check(
        &json!({"spec": {"paused": true, "replicas": 3}}),
        &json!({"spec": {"replicas": 2}}),
        &["spec.paused: true", "spec.replicas: 2 -> 3"],
    );
}

#[test]
fn containers_are_matched_by_name_and_a_sidecar_is_left_alone() {
    check(
        &json!({"containers": [{"name": "etcd", "image": "etcd:3.6"}, {"name": "new", "image": "x"}]}),
        &json!({"containers": [{"name": "istio", "image": "proxy"}, {"name": "etcd", "image": "etcd:3.5", "tty": false}]}),
        &[
            r#"containers[name=etcd].image: "etcd:3.5" -> "etcd:3.6""#,
            r#"containers[name=new]: {"image":"x","name":"new"}"#,
        ],
    );
}

#[test]
fn ports_are_matched_by_number_and_protocol_which_defaults_to_tcp() {
    check(
        &json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53}]}),
        &json!({"ports": [{"port": 53, "protocol": "TCP", "targetPort": 53}, {"port": 53, "protocol": "UDP", "targetPort": 53}]}),
        &[],
    );
    check(
        &json!({"ports": [{"containerPort": 80, "name": "http"}]}),
        &json!({"ports": [{"containerPort": 80, "protocol": "UDP", "name": "http"}]}),
        &[r#"ports[containerPort=80,protocol=TCP]: {"containerPort":80,"name":"http"}"#],
    );
}

#[test]
fn a_list_within_an_atomic_list_is_atomic_whatever_its_name() {
    check(
        &json!({"ingress": [{"ports": [{"port": 2379}]}]}),
        &json!({"ingress": [{"ports": [{"port": 2379, "protocol": "TCP"}, {"port": 22}]}]}),
        &[r#"ingress[0].ports: [{"port":2379,"protocol":"TCP"},{"port":22}] -> [{"port":2379}]"#],
    );
    check(
        &json!({"ingress": [{"ports": [{"port": 2379}]}]}),
        &json!({"ingress": [{"ports": [{"port": 2379, "protocol": "TCP"}]}]}),
        &[],
    );
}

#[test]
fn a_label_that_somebody_added_to_a_selector_is_a_difference() {
    check(
        &json!({"selector": {"app": "db"}, "labels": {"app": "db"}}),
        &json!({"selector": {"app": "db", "role": "leader"}, "labels": {"app": "db", "role": "leader"}}),
        &[r#"selector.role: "leader" -> null"#],
    );
    check(
        &json!({"selector": {"matchLabels": {"app": "db"}}}),
        &json!({"selector": {"matchLabels": {"app": "db"}, "matchExpressions": [{"key": "x"}]}}),
        &[r#"selector.matchExpressions: [{"key":"x"}] -> null"#],
    );
}

#[test]
fn an_atomic_list_is_compared_as_a_whole() {
    check(
        &json!({"args": ["--a", "--b"]}),
        &json!({"args": ["--a", "--b", "--c"]}),
        &[r#"args: ["--a","--b","--c"] -> ["--a","--b"]"#],
    );
    check(&json!({"args": ["--a"]}), &json!({"args": ["--b"]}), &[r#"args[0]: "--b" -> "--a""#]);
    check(
        &json!({"tolerations": [{"key": "a"}]}),
        &json!({"tolerations": [{"key": "a", "operator": "Equal"}]}),
        &[],
    );
}

#[test]
fn finalizers_are_a_set() {
    check(&json!({"finalizers": ["a"]}), &json!({"finalizers": ["b", "a"]}), &[]);
    check(&json!({"finalizers": ["a", "c"]}), &json!({"finalizers": ["b", "a"]}), &[r#"finalizers[1]: "c""#]);
}

#[test]
fn quantities_are_compared_by_value_where_quantities_are() {
    check(
        &json!({"resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"memory": "2Gi"}}}),
        &json!({"resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}}),
        &[r#"resources.limits.memory: "1Gi" -> "2Gi""#],
    );
    check(&json!({"env": "1000m"}), &json!({"env": "1"}), &[r#"env: "1" -> "1000m""#]);
}

#[test]
fn asking_for_nothing_is_met_by_nothing() {
    check(
        &json!({"a": null, "labels": {}, "list": [], "deep": {"er": {"x": null}}, "readOnly": false, "subPath": "", "hostPort": 0}),
        &json!({}),
        &[],
    );
    check(&json!({"labels": {}}), &json!({"labels": null}), &[]);
}

#[test]
fn an_empty_object_that_means_something_is_missed() {
    check(
        &json!({"volumes": [{"name": "d", "emptyDir": {}}]}),
        &json!({"volumes": [{"name": "d"}]}),
        &["volumes[name=d].emptyDir: {}"],
    );
    check(&json!({"podSelector": {}}), &json!({"podSelector": {"matchLabels": {}}}), &[]);
    check(&json!({"from": [{"podSelector": {}}]}), &json!({"from": [{}]}), &["from[0].podSelector: {}"]);
}

#[test]
fn false_is_not_the_same_as_absent_where_absent_means_true() {
    check(
        &json!({"automountServiceAccountToken": false}),
        &json!({}),
        &["automountServiceAccountToken: false"],
    );
    check(&json!({"storageClassName": ""}), &json!({}), &[r#"storageClassName: """#]);
}

#[test]
fn a_list_that_was_emptied_differs() {
    check(&json!({"args": []}), &json!({"args": ["a"]}), &[r#"args: ["a"] -> []"#]);
    check(&json!({"a": {"b": 1}}), &json!({"a": "text"}), &[r#"a: "text" -> {"b":1}"#]);
}

proptest::proptest! {
    #[test]
    fn an_object_never_differs_from_itself_nor_from_more_of_itself(value in any_object(), extra in any_object()) {
        proptest::prop_assert_eq!(differences(&value, &value), vec![]);
        let mut more = value.clone();
        if let (Value::Object(more), Value::Object(extra)) = (&mut more, extra) {
            for (name, value) in extra {
                more.entry(name).or_insert(value);
            }
        }
        proptest::prop_assert_eq!(differences(&value, &more), vec![]);
    }
}

fn any_object() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let names = prop::sample::select(vec![
        "name",
        "ports",
        "containers",
        "limits",
        "args",
        "selector",
        "x",
        "finalizers",
        "readOnly",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..3i64).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
        Just(Value::from("1Gi")),
    ];
    let value = leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    value.prop_filter("an object", Value::is_object)
}
