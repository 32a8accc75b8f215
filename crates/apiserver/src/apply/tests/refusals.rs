//! What apply refuses, in kube-apiserver's words.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{object, world};
use crate::{ApiError, apply::ApplyError};

const UNTYPED: &str = "failed to create typed patch object (ns/x; example.org/v1, Kind=Thing): ";

/// An intent that is not of its type.
#[track_caller]
fn check(intent: &Value, expected: &Expect) {
    expected.assert_eq(world().refused("a", intent).strip_prefix(UNTYPED).unwrap());
}

#[test]
fn one_conflict_is_told_in_a_line() {
    let world = world().updates("kubectl", &json!({"spec": {"replicas": 1}}));
    let refusal = world.try_apply("a", &json!({"spec": {"replicas": 2}}), false).unwrap_err();
    let refusal = ApiError::from(refusal);
    expect![[r#"
        {
          "apiVersion": "v1",
          "code": 409,
          "details": {
            "causes": [
              {
                "field": ".spec.replicas",
                "message": "conflict with \"kubectl\" using example.org/v1",
                "reason": "FieldManagerConflict"
              }
            ]
          },
          "kind": "Status",
          "message": "Apply failed with 1 conflict: conflict with \"kubectl\" using example.org/v1: .spec.replicas",
          "metadata": {},
          "reason": "Conflict",
          "status": "Failure"
        }"#]].assert_eq(&serde_json::to_string_pretty(&refusal.to_status()).unwrap());
}

#[test]
fn several_conflicts_are_told_by_manager() {
    let world = world()
        .updates("kubectl", &json!({"spec": {"replicas": 1, "image": "x"}}))
        .applies("b", &json!({"spec": {"tags": ["t"], "env": [{"name": "A", "value": "1"}]}}))
        .applies("c/status", &json!({"metadata": {"labels": {"l": "1"}}}));
    let intent = json!({
        "metadata": {"labels": {"l": "2"}},
        "spec": {"replicas": 2, "image": "y", "tags": ["t"], "env": [{"name": "A", "value": "2"}]},
    });
    expect![[r#"
        Apply failed with 4 conflicts: conflicts with "b":
        - .spec.env[name="A"].value
        conflicts with "c" with subresource "status":
        - .metadata.labels.l
        conflicts with "kubectl" using example.org/v1:
        - .spec.image
        - .spec.replicas"#]]
    .assert_eq(&world.refused("a", &intent));
}

#[test]
fn an_applier_is_not_in_conflict_with_its_own_updates_of_the_same_value() {
    let world = world().updates("a", &json!({"spec": {"replicas": 1}}));
    assert_eq!(
        world.refused("a", &json!({"spec": {"replicas": 2}})),
        "Apply failed with 1 conflict: conflict with \"a\" using example.org/v1: .spec.replicas"
    );
    world.applies("a", &json!({"spec": {"replicas": 1}}));
}

#[test]
fn managed_fields_may_not_be_applied() {
    let refusal = world().refused("a", &json!({"metadata": {"managedFields": [{}]}}));
    assert_eq!(refusal, "metadata.managedFields must be nil");
}

#[test]
fn an_applier_has_a_name() {
    let refusal = world().try_apply("", &json!({}), false).unwrap_err();
    assert_eq!(refusal, ApplyError::NoManager);
    let refusal = ApiError::from(refusal);
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (
            422,
            r#"PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch"#
        )
    );
}

#[test]
fn another_version_or_kind_is_no_patch_for_this_one() {
    let world = world().applies("a", &json!({}));
    let apply = |field: &str, value: &str| {
        let mut intent = object(&json!({}));
        intent[field] = json!(value);
        crate::apply::apply(world.live.as_ref(), &intent, &world.manager("a"), false, &world.schema)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(apply("apiVersion", "v1"), "invalid object type: /v1, Kind=Thing");
    assert_eq!(apply("kind", "Other"), "invalid object type: example.org/v1, Kind=Other");
}

#[test]
fn unknown_fields_are_refused() {
    check(&json!({"spec": {"nope": 1}}), &expect![".spec.nope: field not declared in schema"]);
}

#[test]
fn one_element_may_be_named_once() {
    check(
        &json!({"spec": {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]}}),
        &expect![[r#".spec.ports: duplicate entries for key [port=80,protocol="TCP"]"#]],
    );
    check(
        &json!({"spec": {"tags": ["a", "a"], "env": [{"name": "A"}, {"name": "A"}]}}),
        &expect![[r#"
        errors:
          .spec.env: duplicate entries for key [name="A"]
          .spec.tags: duplicate entries for key [="a"]"#]],
    );
}

#[test]
fn elements_need_their_key() {
    check(
        &json!({"spec": {"env": [{"value": "1"}]}}),
        &expect![[
            r#".spec.env: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)"#
        ]],
    );
    check(
        &json!({"spec": {"env": [null]}}),
        &expect![".spec.env: element 0: associative list with keys may not have a null element"],
    );
    check(
        &json!({"spec": {"env": ["A"]}}),
        &expect![".spec.env: element 0: associative list with keys may not have non-map elements"],
    );
    check(
        &json!({"spec": {"tags": [{"a": 1}]}}),
        &expect![".spec.tags: element 0: associative list without keys has an element that's a map type"],
    );
}

#[test]
fn values_are_of_their_type() {
    check(
        &json!({"spec": {"replicas": "3"}}),
        &expect![".spec.replicas: expected numeric (int or float), got string"],
    );
    check(
        &json!({"spec": {"image": 3}}),
        &expect![".spec.image: expected string, got &value.valueUnstructured{Value:3}"],
    );
    check(&json!({"spec": {"paused": "no"}}), &expect![".spec.paused: expected boolean, got &{no}"]);
    check(&json!({"spec": {"env": {"A": "1"}}}), &expect![".spec.env: expected list, got &{map[A:1]}"]);
    check(&json!({"spec": {"strategy": ["x"]}}), &expect![".spec.strategy: expected map, got &{[x]}"]);
    check(
        &json!({"spec": {"args": [1]}}),
        &expect![".spec.args[0]: expected string, got &value.valueUnstructured{Value:1}"],
    );
    world().applies("a", &json!({"spec": {"replicas": null, "strategy": null, "tags": null}}));
}

#[test]
fn managed_fields_that_cannot_be_read_are_an_error_of_the_server() {
    let mut world = world().applies("a", &json!({"spec": {"replicas": 1}}));
    world.live.as_mut().unwrap()["metadata"]["managedFields"][0]["fieldsType"] = json!("FieldsV2");
    let refusal = ApiError::from(world.try_apply("a", &json!({}), false).unwrap_err());
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (500, "failed to decode managed fields: invalid fieldsType \"FieldsV2\" in managed fields entry 0")
    );
}
