//! Decoding, compared with the slow and obvious way: parse everything, then remove.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::core::DynamicObject;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}}}],
            "name": "db-0",
            "namespace": "shop",
            "uid": "5f0c4d0e-9d3f-4c52-8a0f-0d3cf4a2b111",
            "resourceVersion": "42",
            "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "deletionTimestamp": "2026-01-02T00:00:00Z",
            "labels": {"pod": "0", "app": "db"},
            "annotations": {"managedFields": "kept", "huge": "x"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Other", "name": "no", "uid": "u0"},
                {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u1", "controller": true},
            ],
        },
        "spec": {"containers": [{"name": "etcd", "env": [{"name": "managedFields", "value": "kept"}]}]},
        "status": {"phase": "Running"},
    })
}

fn removed(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

#[test]
fn managed_fields_are_dropped_and_nothing_else() {
    let json = serde_json::to_vec(&pod()).unwrap();
    let decoded: Pod = without_managed_fields(&json).unwrap();
    assert_eq!(decoded, serde_json::from_value::<Pod>(removed(pod())).unwrap());
    assert_eq!(decoded.metadata.annotations.unwrap()["managedFields"], "kept");
    let dynamic: DynamicObject = without_managed_fields(&json).unwrap();
    assert_eq!(dynamic.metadata.managed_fields, None);
    assert_eq!(dynamic.data["spec"], pod()["spec"]);
}

#[test]
fn an_escaped_key_is_dropped_too() {
    let json = br#"{"metadat\u0061": {"managed\u0046ields": [{"manager": "m"}], "name": "a"}}"#;
    let decoded: Pod = without_managed_fields(json).unwrap();
    assert_eq!(decoded.metadata.managed_fields, None);
    assert_eq!(decoded.metadata.name.as_deref(), Some("a"));
}

#[test]
fn what_is_no_object_is_still_an_error_that_says_where() {
    for json in [
        r#"{"metadata": {"managedFields": [}, "spec": 1}"#,
        r#"{"metadata": {"name": 5}}"#,
        r#"{"metadata": {}} trailing"#,
        r#"{"metadata": {"name": "a""#,
        "[]",
    ] {
        let [ours, theirs] = [without_managed_fields::<Pod>(json.as_bytes()), serde_json::from_str(json)];
        assert_eq!(ours.unwrap_err().to_string(), theirs.unwrap_err().to_string(), "{json}");
    }
}

#[test]
fn a_whole_row_has_no_room_to_spare() {
    let json = br#"{"metadata": {"name": "a", "finalizers": ["x", "y", "z"]}, "spec": {"containers": [{"name": "1"}]}}"#;
    let pod = Pod::decode(json).unwrap();
    let (finalizers, containers) = (pod.metadata.finalizers.unwrap(), pod.spec.unwrap().containers);
    assert_eq!((finalizers.capacity(), containers.capacity()), (3, 1));
}

#[test]
fn a_slim_row_keeps_what_names_selects_and_owns() {
    let row = Slim::<Pod>::decode(&serde_json::to_vec(&pod()).unwrap()).unwrap();
    assert_eq!(row.key().to_string(), "shop/db-0");
    assert_eq!(row.uid(), "5f0c4d0e-9d3f-4c52-8a0f-0d3cf4a2b111");
    assert_eq!((row.resource_version(), row.generation(), row.is_deleting()), (42, 3, true));
    assert_eq!(row.labels().collect::<Vec<_>>(), [("app", "db"), ("pod", "0")]);
    assert_eq!((row.label("app"), row.label("none")), (Some("db"), None));
    assert_eq!(row.controller(), Some(Owner { uid: "u1", kind: "StatefulSet", name: "db" }));
}

#[test]
fn a_slim_row_of_almost_nothing_is_empty_not_an_error() {
    let json =
        br#"{"metadata": {"name": "n1", "uid": "not a uuid", "resourceVersion": "opaque", "labels": null}}"#;
    let row = Slim::<Node>::decode(json).unwrap();
    assert_eq!((row.key(), row.uid(), row.resource_version()), (Key::cluster("n1"), "not a uuid", 0));
    assert_eq!((row.labels().count(), row.controller(), row.is_deleting()), (0, None, false));
    assert!(Slim::<Node>::decode(br#"{"metadata": {}}"#).is_err(), "without a name there is no key");
}

#[test]
fn rows_share_what_is_the_same() {
    let json = serde_json::to_vec(&pod()).unwrap();
    let [a, b] = [(); 2].map(|()| Slim::<Pod>::decode(&json).unwrap());
    assert!(std::ptr::eq(a.meta.key.namespace(), b.meta.key.namespace()));
    assert!(Arc::ptr_eq(&a.meta.labels, &b.meta.labels) && Arc::ptr_eq(&a.meta.owner, &b.meta.owner));
    assert!(size_of::<Slim<Pod>>() <= 128, "{} bytes", size_of::<Slim<Pod>>());
}

/// Any JSON, with the two special names all over the place.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(|number: f64| Value::from(number)),
        "[a-z\"\\\\\u{e9}\u{1F600}\n]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 4, |inner| {
        let name =
            prop_oneof![Just("metadata".to_owned()), Just("managedFields".to_owned()), "[a-c\"\n]{0,2}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..4).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn parsing_without_is_parsing_and_removing(metadata in any_json(), rest in any_json(), pretty: bool) {
        let object = match rest {
            Value::Object(mut fields) => {
                fields.insert("metadata".to_owned(), metadata);
                Value::Object(fields)
            }
            other => other,
        };
        let json = if pretty { serde_json::to_vec_pretty(&object) } else { serde_json::to_vec(&object) }.unwrap();
        let parsed: Value = serde_json::from_slice(&json).unwrap();
        prop_assert_eq!(without_managed_fields::<Value>(&json).unwrap(), removed(parsed));
    }
}
