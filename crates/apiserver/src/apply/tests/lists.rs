//! Lists and maps under apply: what is merged by key, what is owned as a whole, and in which order it stands.

use expect_test::expect;
use serde_json::{Value, json};

use super::{rules::check, world};

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
    check(
        &world,
        &json!({"env": [{"name": "B", "value": "2"}]}),
        &expect![[r#"
        Apply b (1): .spec.env[name="B"] .spec.env[name="B"].name .spec.env[name="B"].value
    "#]],
    );
}

#[test]
fn fields_of_one_element_can_have_different_owners() {
    let world = world()
        .applies("a", &json!({"spec": {"env": [{"name": "A", "value": "1"}]}}))
        .applies("b", &json!({"spec": {"env": [{"name": "A", "from": {"key": "k"}}]}}))
        .applies("a", &json!({}));
    check(
        &world,
        &json!({"env": [{"name": "A", "from": {"key": "k"}}]}),
        &expect![[r#"
        Apply b (1): .spec.env[name="A"] .spec.env[name="A"].name .spec.env[name="A"].from.key
    "#]],
    );
}

#[test]
fn a_key_that_is_left_out_is_its_default() {
    let mut world =
        world().applies("a", &json!({"spec": {"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]}}));
    world.live.as_mut().unwrap()["spec"]["ports"][0]["protocol"] = json!("TCP"); // the default
    let world = world.applies("a", &json!({"spec": {"ports": [{"port": 80, "name": "http"}]}}));
    check(
        &world,
        &json!({"ports": [{"port": 80, "protocol": "TCP", "name": "http"}]}),
        &expect![[r#"
        Apply a (1): .spec.ports[port=80,protocol="TCP"] .spec.ports[port=80,protocol="TCP"].name .spec.ports[port=80,protocol="TCP"].port
    "#]],
    );
}

#[test]
fn elements_of_sets_belong_to_who_names_them() {
    let world = world()
        .applies("a", &json!({"spec": {"tags": ["x", "shared"]}}))
        .applies("b", &json!({"spec": {"tags": ["shared", "y"]}}))
        .applies("a", &json!({}));
    check(
        &world,
        &json!({"tags": ["shared", "y"]}),
        &expect![[r#"
        Apply b (1): .spec.tags[="shared"] .spec.tags[="y"]
    "#]],
    );
}

#[test]
fn an_empty_list_is_taken_for_no_list() {
    let world = world()
        .applies("a", &json!({"spec": {"tags": ["x"], "image": "i"}}))
        .applies("a", &json!({"spec": {"tags": [], "image": "i"}}));
    check(
        &world,
        &json!({"image": "i"}),
        &expect![[r#"
        Apply a (1): .spec.image
    "#]],
    );
}

#[test]
fn atomic_lists_and_maps_have_one_owner_for_all() {
    let world =
        world().applies("a", &json!({"spec": {"args": ["x", "y"], "selector": {"a": "1", "b": "2"}}}));
    let refusal = world.refused("b", &json!({"spec": {"args": ["x", "y", "z"], "selector": {"c": "3"}}}));
    expect![[r#"
        Apply failed with 2 conflicts: conflicts with "a":
        - .spec.args
        - .spec.selector"#]]
    .assert_eq(&refusal);
    let world = world.applies("a", &json!({"spec": {"args": ["z"], "selector": {"c": "3"}}}));
    check(
        &world,
        &json!({"args": ["z"], "selector": {"c": "3"}}),
        &expect![[r#"
        Apply a (1): .spec.args .spec.selector
    "#]],
    );
}

#[test]
fn keys_of_maps_belong_to_who_names_them() {
    let world = world()
        .applies("a", &json!({"metadata": {"labels": {"a": "1"}}, "spec": {"limits": {"x": {"cpu": "1"}}}}))
        .applies(
            "b",
            &json!({"metadata": {"labels": {"b": "2"}}, "spec": {"limits": {"x": {"memory": "2"}}}}),
        )
        .applies("a", &json!({}));
    assert_eq!(world.live()["metadata"]["labels"], json!({"b": "2"}));
    check(
        &world,
        &json!({"limits": {"x": {"memory": "2"}}}),
        &expect![[r#"
        Apply b (1): .metadata.labels.b .spec.limits.x .spec.limits.x.memory
    "#]],
    );
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
    expect![[r#"Apply failed with 1 conflict: conflict with "a": .spec.config.list"#]]
        .assert_eq(&world.refused("b", &json!({"spec": {"config": {"list": [1, 2, 3]}}})));
    let world = world.applies("a", &json!({}));
    check(
        &world,
        &json!({"config": {"one": {"y": 2}}}),
        &expect![[r#"
        Apply b (1): .spec.config.one .spec.config.one.y
    "#]],
    );
}

#[test]
fn a_scalar_may_become_a_map_where_the_schema_does_not_know() {
    let world = world()
        .applies("a", &json!({"spec": {"config": {"a": 1}}}))
        .applies("a", &json!({"spec": {"config": {"a": {"b": 2}}}}));
    check(
        &world,
        &json!({"config": {"a": {"b": 2}}}),
        &expect![[r#"
        Apply a (1): .spec.config.a .spec.config.a.b
    "#]],
    );
    let world = world.applies("a", &json!({"spec": {"config": {"a": 1}}}));
    check(
        &world,
        &json!({"config": {"a": 1}}),
        &expect![[r#"
        Apply a (2): .spec.config.a
    "#]],
    );
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
fn an_empty_map_is_owned_itself() {
    let world = world().applies("a", &json!({"spec": {"strategy": {}, "image": "x"}}));
    check(
        &world,
        &json!({"strategy": {}, "image": "x"}),
        &expect![[r#"
        Apply a (0): .spec.image .spec.strategy
    "#]],
    );
    let world = world.applies("a", &json!({"spec": {"image": "x"}}));
    check(
        &world,
        &json!({"image": "x"}),
        &expect![[r#"
        Apply a (1): .spec.image
    "#]],
    );
}

#[test]
fn a_map_that_its_owner_empties_is_null_first() {
    let world = world()
        .applies("a", &json!({"spec": {"strategy": {"type": "t"}}}))
        .applies("a", &json!({"spec": {"strategy": {}}}));
    check(
        &world,
        &json!({"strategy": null}),
        &expect![[r#"
        Apply a (1): .spec.strategy
    "#]],
    );
    let world = world.applies("a", &json!({"spec": {"strategy": {}}}));
    check(
        &world,
        &json!({"strategy": {}}),
        &expect![[r#"
        Apply a (2): .spec.strategy
    "#]],
    );
}

#[test]
fn fields_of_a_list_that_became_atomic_are_owned_as_one() {
    let mut world = world().applies("a", &json!({"spec": {"args": ["x"]}}));
    world.live.as_mut().unwrap()["metadata"]["managedFields"][0]["fieldsV1"] =
        json!({"f:spec": {"f:args": {"v:\"x\"": {}}}});
    let world = world.applies("b", &json!({"spec": {"image": "i"}}));
    check(
        &world,
        &json!({"args": ["x"], "image": "i"}),
        &expect![[r#"
        Apply a (0): .spec.args
        Apply b (1): .spec.image
    "#]],
    );
}
