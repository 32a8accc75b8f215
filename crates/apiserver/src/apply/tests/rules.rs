//! What apply does to an object, one rule a test.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{World, world};

#[track_caller]
fn check(world: &World, spec: &Value, owners: &Expect) {
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
        Apply a (0): .metadata.finalizers[="f/1"] .metadata.labels.app .spec.args .spec.replicas .spec.selector .spec.strategy .spec.config.deep .spec.config.list .spec.config.deep.er .spec.limits.big .spec.limits.big.cpu .spec.ports[port=80,protocol="TCP"] .spec.ports[port=80,protocol="TCP"].port .spec.tags[="t"]
    "#]].assert_eq(&world.owners());
}

#[test]
fn the_entry_is_written_as_kubernetes_writes_it() {
    let world = world().applies("a", &json!({"metadata": {"labels": {"app": "db"}}, "spec": {"ports": [{"port": 80}]}}));
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
        ]"#]].assert_eq(&serde_json::to_string_pretty(&world.live()["metadata"]["managedFields"]).unwrap());
}

#[test]
fn two_appliers_share_an_object() {
    let world =
        world().applies("a", &json!({"spec": {"replicas": 3}})).applies("b", &json!({"spec": {"image": "db:1"}}));
    check(&world, &json!({"replicas": 3, "image": "db:1"}), &expect![[r#"
        Apply a (0): .spec.replicas
        Apply b (1): .spec.image
    "#]]);
}

#[test]
fn the_same_value_is_owned_together_and_stays_until_the_last_owner_goes() {
    let both =
        || world().applies("a", &json!({"spec": {"replicas": 3}})).applies("b", &json!({"spec": {"replicas": 3}}));
    check(&both(), &json!({"replicas": 3}), &expect![[r#"
        Apply a (0): .spec.replicas
        Apply b (no time): .spec.replicas
    "#]]);
    let one = both().applies("a", &json!({}));
    check(&one, &json!({"replicas": 3}), &expect![[r#"
        Apply b (no time): .spec.replicas
    "#]]);
    let none = one.applies("b", &json!({}));
    check(&none, &Value::Null, &expect![[r#""#]]);
}

#[test]
fn applying_again_changes_nothing_at_all() {
    let intent = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"ports": [{"port": 80}], "tags": ["x"]}});
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
    check(&world, &json!({"image": "db:1"}), &expect![[r#"
        Apply a (1): .spec.image
    "#]]);
}

#[test]
fn a_field_that_somebody_else_owns_too_stays() {
    let world = world()
        .applies("a", &json!({"spec": {"replicas": 3}}))
        .applies("b", &json!({"spec": {"replicas": 3, "paused": true}}))
        .applies("a", &json!({}));
    check(&world, &json!({"replicas": 3, "paused": true}), &expect![[r#"
        Apply b (1): .spec.paused .spec.replicas
    "#]]);
}

#[test]
fn what_nobody_owns_stays_beside_what_goes_as_long_as_something_is_owned() {
    let mut world = world().applies("a", &json!({"spec": {"replicas": 3, "image": "x"}}));
    world.live.as_mut().unwrap()["spec"]["paused"] = json!(false); // a default
    let world = world.applies("a", &json!({"spec": {"image": "x"}}));
    check(&world, &json!({"image": "x", "paused": false}), &expect![[r#"
        Apply a (1): .spec.image
    "#]]);
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
    check(&world, &json!({"replicas": 5, "image": "x"}), &expect![[r#"
        Apply a (0): .spec.image
        Apply b (1): .spec.replicas
    "#]]);
}

#[test]
fn an_owner_who_lost_everything_has_no_entry() {
    let world = world().applies("a", &json!({"spec": {"replicas": 3}})).forces("b", &json!({"spec": {"replicas": 5}}));
    check(&world, &json!({"replicas": 5}), &expect![[r#"
        Apply b (1): .spec.replicas
    "#]]);
}

#[test]
fn elements_of_keyed_lists_belong_to_who_names_them() {
    let world = world()
        .applies("a", &json!({"spec": {"env": [{"name": "A", "value": "1"}]}}))
        .applies("b", &json!({"spec": {"env": [{"name": "B", "value": "2"}]}}));
    check(
        &world,
        &json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}),
        &expect![[r#"
            Apply a (0): .spec.env[name="A"] .spec.env[name="A"].name .spec.env[name="A"].value
            Apply b (1): .spec.env[name="B"] .spec.env[name="B"].name .spec.env[name="B"].value
        "#]],
    );
    let world = world.applies("a", &json!({}));
    check(&world, &json!({"env": [{"name": "B", "value": "2"}]}), &expect![[r#"
        Apply b (1): .spec.env[name="B"] .spec.env[name="B"].name .spec.env[name="B"].value
    "#]]);
}

#[test]
fn fields_of_one_element_can_have_different_owners() {
    let world = world()
        .applies("a", &json!({"spec": {"env": [{"name": "A", "value": "1"}]}}))
        .applies("b", &json!({"spec": {"env": [{"name": "A", "from": {"key": "k"}}]}}))
        .applies("a", &json!({}));
    check(&world, &json!({"env": [{"name": "A", "from": {"key": "k"}}]}), &expect![[r#"
        Apply b (1): .spec.env[name="A"] .spec.env[name="A"].name .spec.env[name="A"].from.key
    "#]]);
}

#[test]
fn a_key_that_is_left_out_is_its_default() {
    let mut world = world().applies("a", &json!({"spec": {"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]}}));
    world.live.as_mut().unwrap()["spec"]["ports"][0]["protocol"] = json!("TCP"); // the default
    let world = world.applies("a", &json!({"spec": {"ports": [{"port": 80, "name": "http"}]}}));
    check(&world, &json!({"ports": [{"port": 80, "protocol": "TCP", "name": "http"}]}), &expect![[r#"
        Apply a (1): .spec.ports[port=80,protocol="TCP"] .spec.ports[port=80,protocol="TCP"].name .spec.ports[port=80,protocol="TCP"].port
    "#]]);
}

#[test]
fn elements_of_sets_belong_to_who_names_them() {
    let world = world()
        .applies("a", &json!({"spec": {"tags": ["x", "shared"]}}))
        .applies("b", &json!({"spec": {"tags": ["shared", "y"]}}))
        .applies("a", &json!({}));
    check(&world, &json!({"tags": ["shared", "y"]}), &expect![[r#"
        Apply b (1): .spec.tags[="shared"] .spec.tags[="y"]
    "#]]);
}

#[test]
fn an_empty_list_is_taken_for_no_list() {
    let world = world()
        .applies("a", &json!({"spec": {"tags": ["x"], "image": "i"}}))
        .applies("a", &json!({"spec": {"tags": [], "image": "i"}}));
    check(&world, &json!({"image": "i"}), &expect![[r#"
        Apply a (1): .spec.image
    "#]]);
}

#[test]
fn atomic_lists_and_maps_have_one_owner_for_all() {
    let world = world().applies("a", &json!({"spec": {"args": ["x", "y"], "selector": {"a": "1", "b": "2"}}}));
    let refusal = world.refused("b", &json!({"spec": {"args": ["x", "y", "z"], "selector": {"c": "3"}}}));
    expect![[r#"
        Apply failed with 2 conflicts: conflicts with "a":
        - .spec.args
        - .spec.selector"#]].assert_eq(&refusal);
    let world = world.applies("a", &json!({"spec": {"args": ["z"], "selector": {"c": "3"}}}));
    check(&world, &json!({"args": ["z"], "selector": {"c": "3"}}), &expect![[r#"
        Apply a (1): .spec.args .spec.selector
    "#]]);
}

#[test]
fn keys_of_maps_belong_to_who_names_them() {
    let world = world()
        .applies("a", &json!({"metadata": {"labels": {"a": "1"}}, "spec": {"limits": {"x": {"cpu": "1"}}}}))
        .applies("b", &json!({"metadata": {"labels": {"b": "2"}}, "spec": {"limits": {"x": {"memory": "2"}}}}))
        .applies("a", &json!({}));
    assert_eq!(world.live()["metadata"]["labels"], json!({"b": "2"}));
    check(&world, &json!({"limits": {"x": {"memory": "2"}}}), &expect![[r#"
        Apply b (1): .metadata.labels.b .spec.limits.x .spec.limits.x.memory
    "#]]);
}

#[test]
fn what_the_schema_does_not_know_is_merged_by_key_and_its_lists_are_atomic() {
    let world = world()
        .applies("a", &json!({"spec": {"config": {"one": {"x": 1}, "list": [1, 2]}}}))
        .applies("b", &json!({"spec": {"config": {"one": {"y": 2}}}}));
    check(
        &world,
        &json!({"config": {"one": {"x": 1, "y": 2}, "list": [1, 2]}}),
        &expect![[r#"
            Apply a (0): .spec.config.list .spec.config.one .spec.config.one.x
            Apply b (1): .spec.config.one .spec.config.one.y
        "#]],
    );
    expect![[r#"Apply failed with 1 conflict: conflict with "a": .spec.config.list"#]].assert_eq(&world.refused("b", &json!({"spec": {"config": {"list": [1, 2, 3]}}})));
    let world = world.applies("a", &json!({}));
    check(&world, &json!({"config": {"one": {"y": 2}}}), &expect![[r#"
        Apply b (1): .spec.config.one .spec.config.one.y
    "#]]);
}

#[test]
fn a_scalar_may_become_a_map_where_the_schema_does_not_know() {
    let world = world()
        .applies("a", &json!({"spec": {"config": {"a": 1}}}))
        .applies("a", &json!({"spec": {"config": {"a": {"b": 2}}}}));
    check(&world, &json!({"config": {"a": {"b": 2}}}), &expect![[r#"
        Apply a (1): .spec.config.a .spec.config.a.b
    "#]]);
    let world = world.applies("a", &json!({"spec": {"config": {"a": 1}}}));
    check(&world, &json!({"config": {"a": 1}}), &expect![[r#"
        Apply a (2): .spec.config.a
    "#]]);
}

#[test]
fn merged_lists_keep_the_order_of_both() {
    let tags = |live: &Value, intent: &Value| {
        world()
            .applies("a", &json!({"spec": {"tags": live}}))
            .applies("b", &json!({"spec": {"tags": intent}}))
            .spec()["tags"]
            .clone()
    };
    let cases = [
        (json!(["a", "b"]), json!(["c"]), json!(["a", "b", "c"])),
        (json!(["a", "b"]), json!(["b", "a"]), json!(["b", "a"])),
        (json!(["a", "x", "b"]), json!(["a", "b"]), json!(["a", "x", "b"])),
        (json!(["a", "x", "b"]), json!(["a", "n", "b"]), json!(["a", "x", "n", "b"])),
        (json!(["a", "x", "b"]), json!(["b", "a"]), json!(["x", "b", "a"])),
        (json!(["a", "b", "c"]), json!(["n", "b"]), json!(["a", "n", "b", "c"])),
        (json!(["x", "a"]), json!(["a", "n"]), json!(["x", "a", "n"])),
        (json!(["b", "a", "x"]), json!(["a", "b", "n"]), json!(["a", "x", "b", "n"])),
    ];
    for (live, intent, expected) in cases {
        assert_eq!(tags(&live, &intent), expected, "{live} {intent}");
    }
}

#[test]
fn one_and_one_point_zero_are_the_same() {
    let world = world().applies("a", &json!({"spec": {"size": 1}})).applies("b", &json!({"spec": {"size": 1.0}}));
    check(&world, &json!({"size": 1}), &expect![[r#""#]]);
}

#[test]
fn an_empty_map_is_owned_itself() {
    let world = world().applies("a", &json!({"spec": {"strategy": {}}}));
    check(&world, &json!({"strategy": {}}), &expect![[r#"
        Apply a (0): .spec.strategy
    "#]]);
    let world = world.applies("a", &json!({"spec": {}}));
    check(&world, &json!({}), &expect![[r#""#]]);
}

#[test]
fn what_the_endpoint_does_not_store_is_not_owned() {
    let world = world()
        .applies("a", &json!({"spec": {"replicas": 1}, "status": {"phase": "x"}}))
        .applies("a/status", &json!({"spec": {"replicas": 2}, "status": {"phase": "y"}}));
    expect![[r#"
        Apply a (0): .spec.replicas
        Apply a/status (1): .status.phase
    "#]].assert_eq(&world.owners());
}

#[test]
fn an_object_without_managers_belongs_to_before_first_apply() {
    let mut world = world();
    world.live = Some(super::object(&json!({"metadata": {"uid": "1"}, "spec": {"replicas": 3, "image": "x"}})));
    expect![[r#"Apply failed with 1 conflict: conflict with "before-first-apply" using example.org/v1: .spec.replicas"#]].assert_eq(&world.refused("a", &json!({"spec": {"replicas": 5}})));
    let world = world.applies("a", &json!({"spec": {"replicas": 3}}));
    check(&world, &json!({"replicas": 3, "image": "x"}), &expect![[r#"
        Apply a (no time): .spec.replicas
        Update before-first-apply (0): .spec .spec.image .spec.replicas
    "#]]);
}

#[test]
fn times_change_with_the_object_and_not_with_ownership_alone() {
    let mut world = world().applies("a", &json!({"spec": {"replicas": 3, "image": "x"}}));
    world.seconds = 100;
    let world = world.applies("b", &json!({"spec": {"image": "x"}})).applies("a", &json!({"spec": {"replicas": 3}}));
    check(&world, &json!({"replicas": 3, "image": "x"}), &expect![[r#"
        Apply a (0): .spec.replicas
        Apply b (no time): .spec.image
    "#]]);
    let world = world.applies("a", &json!({"spec": {"replicas": 4}}));
    check(&world, &json!({"replicas": 4, "image": "x"}), &expect![[r#"
        Apply b (no time): .spec.image
        Apply a (102): .spec.replicas
    "#]]);
}

#[test]
fn fields_of_a_list_that_became_atomic_are_owned_as_one() {
    let mut world = world().applies("a", &json!({"spec": {"args": ["x"]}}));
    world.live.as_mut().unwrap()["metadata"]["managedFields"][0]["fieldsV1"] =
        json!({"f:spec": {"f:args": {"v:\"x\"": {}}}});
    let world = world.applies("b", &json!({"spec": {"image": "i"}}));
    check(&world, &json!({"args": ["x"], "image": "i"}), &expect![[r#"
        Apply a (0): .spec.args
        Apply b (1): .spec.image
    "#]]);
}
