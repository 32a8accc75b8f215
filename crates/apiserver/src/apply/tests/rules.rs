//! What apply does to an object, one rule a test.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{World, world};

#[track_caller]
pub(super) fn check(world: &World, spec: &Value, owners: &Expect) {
    assert_eq!(world.spec(), *spec);
    owners.assert_eq(&world.owners());
}

#[test]
fn an_applier_owns_what_it_names() {
    let world = world().applies(
        "a",
        &json!({
            "metadata": {"labels": {"app": "db"}, "finalizers": ["f/1"]},
            "spec": {
                "replicas": 3, "selector": {"app": "db"}, "args": ["x"], "tags": ["t"], "ports": [{"port": 80}],
                "limits": {"big": {"cpu": "1"}}, "config": {"deep": {"er": 1}, "list": [{"a": 1}]}, "strategy": {},
            },
        }),
    );
    expect![[r#"
        Apply a (0):
          .metadata.finalizers[="f/1"]
          .metadata.labels.app
          .spec.args
          .spec.replicas
          .spec.selector
          .spec.strategy
          .spec.config.deep
          .spec.config.list
          .spec.config.deep.er
          .spec.limits.big
          .spec.limits.big.cpu
          .spec.ports[port=80,protocol="TCP"]
          .spec.ports[port=80,protocol="TCP"].port
          .spec.tags[="t"]
    "#]]
    .assert_eq(&world.owners().replace(" .", "\n  ."));
}

#[test]
fn the_entry_is_written_as_kubernetes_writes_it() {
    let world = world()
        .applies("a", &json!({"metadata": {"labels": {"app": "db"}}, "spec": {"ports": [{"port": 80}]}}));
    expect![[r#"
        [
          {
            "apiVersion": "example.org/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
              "f:metadata": {
                "f:labels": {
                  "f:app": {}
                }
              },
              "f:spec": {
                "f:ports": {
                  "k:{\"port\":80,\"protocol\":\"TCP\"}": {
                    ".": {},
                    "f:port": {}
                  }
                }
              }
            },
            "manager": "a",
            "operation": "Apply",
            "time": "1970-01-01T00:00:00Z"
          }
        ]"#]]
    .assert_eq(&serde_json::to_string_pretty(&world.live()["metadata"]["managedFields"]).unwrap());
}

#[test]
fn two_appliers_share_an_object() {
    let world = world()
        .applies("a", &json!({"spec": {"replicas": 3}}))
        .applies("b", &json!({"spec": {"image": "db:1"}}));
    check(
        &world,
        &json!({"replicas": 3, "image": "db:1"}),
        &expect![[r#"
        Apply a (0): .spec.replicas
        Apply b (1): .spec.image
    "#]],
    );
}

#[test]
fn the_same_value_is_owned_together_and_stays_until_the_last_owner_goes() {
    let both = || {
        world()
            .applies("a", &json!({"spec": {"replicas": 3}}))
            .applies("b", &json!({"spec": {"replicas": 3}}))
    };
    check(
        &both(),
        &json!({"replicas": 3}),
        &expect![[r#"
        Apply a (0): .spec.replicas
        Apply b (no time): .spec.replicas
    "#]],
    );
    let one = both().applies("a", &json!({}));
    check(
        &one,
        &json!({"replicas": 3}),
        &expect![[r#"
        Apply b (no time): .spec.replicas
    "#]],
    );
    let none = one.applies("b", &json!({}));
    check(&none, &Value::Null, &expect![[r#""#]]);
}

#[test]
fn applying_again_changes_nothing_at_all() {
    let intent =
        json!({"metadata": {"labels": {"a": "1"}}, "spec": {"ports": [{"port": 80}], "tags": ["x"]}});
    let once = world().applies("a", &intent);
    let before = once.live().clone();
    let again = once.applies("a", &intent);
    assert_eq!(*again.live(), before);
}

#[test]
fn a_field_that_is_no_longer_named_goes() {
    let world = world()
        .applies("a", &json!({"spec": {"replicas": 3, "image": "db:1"}}))
        .applies("a", &json!({"spec": {"image": "db:1"}}));
    check(
        &world,
        &json!({"image": "db:1"}),
        &expect![[r#"
        Apply a (1): .spec.image
    "#]],
    );
}

#[test]
fn a_field_that_somebody_else_owns_too_stays() {
    let world = world()
        .applies("a", &json!({"spec": {"replicas": 3}}))
        .applies("b", &json!({"spec": {"replicas": 3, "paused": true}}))
        .applies("a", &json!({}));
    check(
        &world,
        &json!({"replicas": 3, "paused": true}),
        &expect![[r#"
        Apply b (1): .spec.paused .spec.replicas
    "#]],
    );
}

#[test]
fn what_nobody_owns_stays_beside_what_goes_as_long_as_something_is_owned() {
    let mut world = world().applies("a", &json!({"spec": {"replicas": 3, "image": "x"}}));
    world.live.as_mut().unwrap()["spec"]["paused"] = json!(false); // a default
    let world = world.applies("a", &json!({"spec": {"image": "x"}}));
    check(
        &world,
        &json!({"image": "x", "paused": false}),
        &expect![[r#"
        Apply a (1): .spec.image
    "#]],
    );
}

#[test]
fn what_nobody_owns_goes_with_the_last_owned_field_beside_it() {
    let mut world = world().applies("a", &json!({"spec": {"replicas": 3}}));
    world.live.as_mut().unwrap()["spec"]["paused"] = json!(false); // a default
    let world = world.applies("a", &json!({}));
    check(&world, &Value::Null, &expect![[r#""#]]);
}

#[test]
fn force_takes_the_field_from_its_owner() {
    let world = world()
        .applies("a", &json!({"spec": {"replicas": 3, "image": "x"}}))
        .forces("b", &json!({"spec": {"replicas": 5}}));
    check(
        &world,
        &json!({"replicas": 5, "image": "x"}),
        &expect![[r#"
        Apply a (0): .spec.image
        Apply b (1): .spec.replicas
    "#]],
    );
}

#[test]
fn an_owner_who_lost_everything_has_no_entry() {
    let world = world()
        .applies("a", &json!({"spec": {"replicas": 3}}))
        .forces("b", &json!({"spec": {"replicas": 5}}));
    check(
        &world,
        &json!({"replicas": 5}),
        &expect![[r#"
        Apply b (1): .spec.replicas
    "#]],
    );
}

#[test]
fn one_and_one_point_zero_are_the_same() {
    let world =
        world().applies("a", &json!({"spec": {"size": 1}})).applies("b", &json!({"spec": {"size": 1.0}}));
    check(
        &world,
        &json!({"size": 1}),
        &expect![[r#"
        Apply a (0): .spec.size
        Apply b (no time): .spec.size
    "#]],
    );
}

#[test]
fn what_the_endpoint_does_not_store_is_not_owned() {
    let world = world()
        .applies("a", &json!({"spec": {"replicas": 1}, "status": {"phase": "x"}}))
        .applies("a/status", &json!({"spec": {"replicas": 2}, "status": {"phase": "y"}}));
    expect![[r#"
        Apply a (0): .spec.replicas
        Apply a/status (1): .status.phase
    "#]]
    .assert_eq(&world.owners());
}

#[test]
fn an_object_without_managers_belongs_to_before_first_apply() {
    let mut world = world();
    world.live =
        Some(super::object(&json!({"metadata": {"uid": "1"}, "spec": {"replicas": 3, "image": "x"}})));
    expect![[r#"Apply failed with 1 conflict: conflict with "before-first-apply" using example.org/v1: .spec.replicas"#]].assert_eq(&world.refused("a", &json!({"spec": {"replicas": 5}})));
    let world = world.applies("a", &json!({"spec": {"replicas": 3}}));
    check(
        &world,
        &json!({"replicas": 3, "image": "x"}),
        &expect![[r#"
        Apply a (no time): .spec.replicas
        Update before-first-apply (0): .spec .spec.image .spec.replicas
    "#]],
    );
}

#[test]
fn times_change_with_the_object_and_not_with_ownership_alone() {
    let mut world = world().applies("a", &json!({"spec": {"replicas": 3, "image": "x"}}));
    world.seconds = 100;
    let world =
        world.applies("b", &json!({"spec": {"image": "x"}})).applies("a", &json!({"spec": {"replicas": 3}}));
    check(
        &world,
        &json!({"replicas": 3, "image": "x"}),
        &expect![[r#"
        Apply a (0): .spec.replicas
        Apply b (no time): .spec.image
    "#]],
    );
    let world = world.applies("a", &json!({"spec": {"replicas": 4}}));
    check(
        &world,
        &json!({"replicas": 4, "image": "x"}),
        &expect![[r#"
        Apply b (no time): .spec.image
        Apply a (102): .spec.replicas
    "#]],
    );
}
