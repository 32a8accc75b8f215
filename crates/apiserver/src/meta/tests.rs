//! Names, labels, finalizers and what an update may not touch.

use std::sync::Arc;

use super::*;
use crate::Schema;

fn kind(group: &str, plural: &str) -> Kind {
    Kind {
        group: group.into(),
        version: "v1".into(),
        kind: "K".into(),
        list_kind: "KList".into(),
        plural: plural.into(),
        singular: "k".into(),
        short_names: vec![],
        categories: vec![],
        namespaced: true,
        status: false,
        scale: None,
        selectable: vec![],
        generation: crate::Generation::None,
        custom: false,
        storage: true,
        schema: Arc::new(Schema::any()),
    }
}

#[test]
fn names_follow_the_rules_of_their_kind() {
    let long = "a".repeat(64);
    let rows = [
        ("", "configmaps", "a.b-c", true),
        ("", "configmaps", "A", false),
        ("", "configmaps", "a_b", false),
        ("", "configmaps", "-a", false),
        ("", "configmaps", long.as_str(), true),
        ("", "services", "1a", false),
        ("", "services", "a.b", false),
        ("", "namespaces", "1a", true),
        ("", "namespaces", "a.b", false),
        ("", "namespaces", long.as_str(), false),
        ("rbac.authorization.k8s.io", "roles", "system:A", true),
        ("rbac.authorization.k8s.io", "roles", "a/b", false),
    ];
    for (group, plural, name, fine) in rows {
        let causes = validate_name(&kind(group, plural), name, "metadata.name");
        assert_eq!(causes.is_empty(), fine, "{plural} {name}: {causes:?}");
    }
    assert!(validate_name(&kind("", "pods"), "a-", "metadata.generateName").is_empty());
}

#[test]
fn labels_annotations_finalizers_and_owners_are_checked() {
    let wrong = |metadata: Value| -> Vec<String> {
        validate(&json!({"metadata": metadata}), &kind("", "pods")).into_iter().map(|c| c.field).collect()
    };
    assert!(wrong(json!({"name": "a", "labels": {"a.io/b": "", "c": "D_e.1"}})).is_empty());
    assert_eq!(wrong(json!({"name": "a", "labels": {"a b": "x"}})), ["metadata.labels"]);
    assert_eq!(wrong(json!({"name": "a", "labels": {"a": "x y"}})), ["metadata.labels"]);
    assert_eq!(wrong(json!({"name": "a", "annotations": {"a/b/c": "x"}})), ["metadata.annotations"]);
    assert_eq!(wrong(json!({"name": "a", "finalizers": ["mine"]})), ["metadata.finalizers"]);
    assert!(wrong(json!({"name": "a", "finalizers": ["a.io/mine", "orphan"]})).is_empty());
    assert_eq!(
        wrong(json!({"name": "a", "finalizers": ["foregroundDeletion", "orphan"]})),
        ["metadata.finalizers"]
    );
    assert_eq!(wrong(json!({})), ["metadata.name"]);
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true});
    assert_eq!(wrong(json!({"name": "a", "ownerReferences": [owner, owner]})), ["metadata.ownerReferences"]);
    assert_eq!(
        wrong(json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]})),
        ["metadata.ownerReferences[0].uid"]
    );
}

#[test]
fn an_object_on_its_way_out_takes_no_new_finalizer() {
    let old = json!({"metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.io/x"]}});
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!(["a.io/x", "a.io/y"]);
    let causes = validate_update(&new, &old);
    assert_eq!(
        causes[0].message,
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"a.io/y\"}"
    );
    new["metadata"]["finalizers"] = json!([]);
    assert!(validate_update(&new, &old).is_empty());
}

#[test]
fn an_update_keeps_what_the_server_owns() {
    let old = json!({"metadata": {"name": "a", "namespace": "n", "uid": "1", "creationTimestamp": "t", "generation": 3}});
    let mut new =
        json!({"metadata": {"creationTimestamp": null, "generation": 9, "labels": {}, "selfLink": "x"}});
    carry_over(&mut new, &old);
    assert_eq!(new, old);
}

#[test]
fn generated_names_are_the_prefix_and_five_letters() {
    let mut rng = fastrand::Rng::with_seed(7);
    let name = generated("web-", &mut rng);
    assert_eq!((name.len(), name.starts_with("web-")), (9, true));
    assert_eq!(generated(&"x".repeat(80), &mut rng).len(), 63);
}
