//! Who owns what after create, update and patch.

use expect_test::expect;
use serde_json::{Value, json};

use super::{World, world};

/// As a client that sends back what it read, changed.
fn edits(world: World, manager: &str, edit: impl FnOnce(&mut Value)) -> World {
    let mut new = world.live().clone();
    edit(&mut new);
    super::super::track(world.live.as_ref(), &mut new, &world.manager(manager), &world.schema);
    world.tick(new)
}

#[test]
fn the_creator_owns_everything_but_the_servers_fields() {
    let world = world().updates(
        "a",
        &json!({
            "metadata": {"labels": {"app": "db"}, "uid": "1", "resourceVersion": "7", "generateName": "x-"},
            "spec": {"replicas": 1, "ports": [{"port": 80}], "tags": ["t"], "args": ["x"]},
            "status": {"phase": "x"},
        }),
    );
    expect![[r#"
        Update a (0):
          .spec
          .metadata.generateName
          .metadata.labels
          .metadata.labels.app
          .spec.args
          .spec.ports
          .spec.replicas
          .spec.tags
          .spec.ports[port=80,protocol="TCP"]
          .spec.ports[port=80,protocol="TCP"].port
          .spec.tags[="t"]
    "#]]
    .assert_eq(&world.owners().replace(" .", "\n  ."));
}

#[test]
fn an_update_takes_what_it_changes_from_everybody() {
    let world = world()
        .applies("a", &json!({"spec": {"replicas": 1, "image": "x"}}))
        .updates("b", &json!({"spec": {"replicas": 2, "image": "x"}}));
    expect![[r#"
        Apply a (0): .spec.image
        Update b (1): .spec.replicas
    "#]]
    .assert_eq(&world.owners());
}

#[test]
fn an_update_that_changes_nothing_leaves_everything_as_it_was() {
    let world = world().applies("a", &json!({"spec": {"replicas": 1}}));
    let before = world.live().clone();
    let world = world.updates("b", &json!({"spec": {"replicas": 1}}));
    assert_eq!(*world.live(), before);
}

#[test]
fn a_removed_field_has_no_owner() {
    let world = world()
        .applies("a", &json!({"spec": {"replicas": 1, "env": [{"name": "A"}]}}))
        .updates("b", &json!({"spec": {"replicas": 1}}));
    expect![[r#"
        Apply a (0): .spec.replicas
    "#]]
    .assert_eq(&world.owners());
}

#[test]
fn updates_of_one_manager_are_one_entry_with_the_last_time() {
    let world = world()
        .updates("a", &json!({"spec": {"replicas": 1}}))
        .updates("a", &json!({"spec": {"replicas": 1, "image": "x"}}));
    expect![[r#"
        Update a (1): .spec .spec.image .spec.replicas
    "#]]
    .assert_eq(&world.owners());
}

#[test]
fn the_status_has_an_entry_of_its_own() {
    let world = world()
        .updates("a", &json!({"spec": {"replicas": 1}}))
        .updates("a/status", &json!({"spec": {"replicas": 1}, "status": {"phase": "x"}}));
    expect![[r#"
        Update a (0): .spec .spec.replicas
        Update a/status (1): .status .status.phase
    "#]]
    .assert_eq(&world.owners());
}

#[test]
fn a_writer_without_a_name_is_unknown() {
    let world = world().updates("", &json!({"spec": {"replicas": 1}}));
    expect![[r#"
        Update unknown (0): .spec .spec.replicas
    "#]]
    .assert_eq(&world.owners());
}

#[test]
fn managed_fields_are_reset_by_an_empty_list_or_one_empty_entry() {
    for reset in [json!([]), json!([{}])] {
        let world = world().applies("a", &json!({"spec": {"replicas": 1}}));
        let world = edits(world, "b", |object| object["metadata"]["managedFields"] = reset);
        assert_eq!(world.owners(), "");
        let world = edits(world, "b", |object| object["spec"]["replicas"] = json!(2));
        assert_eq!(world.owners(), "", "nothing is tracked until the next apply");
    }
}

#[test]
fn managed_fields_that_cannot_be_read_are_those_of_before() {
    let world = world().applies("a", &json!({"spec": {"replicas": 1}}));
    let before = world.owners();
    let world = edits(world, "b", |object| object["metadata"]["managedFields"][0]["operation"] = json!("?"));
    assert_eq!(world.owners(), before);
}

#[test]
fn a_client_may_write_managed_fields_but_not_through_a_subresource() {
    let rename = |object: &mut Value| object["metadata"]["managedFields"][0]["manager"] = json!("c");
    let world = edits(world().applies("a", &json!({"spec": {"replicas": 1}})), "b", rename);
    expect![[r#"
        Apply c (0): .spec.replicas
    "#]]
    .assert_eq(&world.owners());
    let world = edits(world.applies("a", &json!({"spec": {"image": "x"}})), "b/status", rename);
    expect![[r#"
        Apply c (0): .spec.replicas
        Apply a (2): .spec.image
    "#]]
    .assert_eq(&world.owners());
}

#[test]
fn elements_that_share_a_key_are_owned_together() {
    let env = |values: &[&str]| json!({"spec": {"env": values.iter().map(|v| json!({"name": "A", "value": v})).collect::<Vec<_>>()}});
    let world = world().updates("a", &env(&["1", "2"]));
    expect![[r#"
        Update a (0): .spec .spec.env .spec.env[name="A"]
    "#]]
    .assert_eq(&world.owners());
    let world = world.updates("b", &env(&["1", "3"]));
    expect![[r#"
        Update a (0): .spec .spec.env
        Update b (1): .spec.env[name="A"]
    "#]]
    .assert_eq(&world.owners());
    let world = world.updates("c", &env(&["1"]));
    expect![[r#"
        Update a (0): .spec .spec.env
        Update c (2): .spec.env[name="A"] .spec.env[name="A"].name .spec.env[name="A"].value
    "#]]
    .assert_eq(&world.owners());
    let world = world.updates("d", &env(&["1", "1"]));
    expect![[r#"
        Update a (0): .spec .spec.env
        Update d (3): .spec.env[name="A"]
    "#]]
    .assert_eq(&world.owners());
}

#[test]
fn entries_are_sorted_by_operation_then_time_then_name() {
    let mut world = world().updates("z", &json!({"spec": {"replicas": 1}}));
    world.seconds = 0;
    let mut world = world.updates("m", &json!({"spec": {"replicas": 1, "image": "x"}}));
    world.seconds = 5;
    let world = world
        .updates("b", &json!({"spec": {"replicas": 1, "image": "x", "paused": true}}))
        .applies("q", &json!({"spec": {"tags": ["t"]}}));
    expect![[r#"
        Apply q (6): .spec.tags[="t"]
        Update m (0): .spec.image
        Update z (0): .spec .spec.replicas
        Update b (5): .spec.paused
    "#]]
    .assert_eq(&world.owners());
}

#[test]
fn the_eleventh_update_folds_the_oldest_two() {
    let mut world = world();
    let mut labels = serde_json::Map::new();
    for n in 0..11 {
        labels.insert(format!("l{n:02}"), json!("x"));
        world = world.updates(&format!("m{n:02}"), &json!({"metadata": {"labels": labels}}));
    }
    expect![[r#"
        Update ancient-changes (1): .metadata.labels .metadata.labels.l00 .metadata.labels.l01
        Update m02 (2): .metadata.labels.l02
        Update m03 (3): .metadata.labels.l03
        Update m04 (4): .metadata.labels.l04
        Update m05 (5): .metadata.labels.l05
        Update m06 (6): .metadata.labels.l06
        Update m07 (7): .metadata.labels.l07
        Update m08 (8): .metadata.labels.l08
        Update m09 (9): .metadata.labels.l09
        Update m10 (10): .metadata.labels.l10
    "#]]
    .assert_eq(&world.owners());
    labels.insert("l11".into(), json!("x"));
    let world = world.updates("m11", &json!({"metadata": {"labels": labels}}));
    expect!["Update ancient-changes (2): .metadata.labels .metadata.labels.l00 .metadata.labels.l01 .metadata.labels.l02"].assert_eq(world.owners().lines().next().unwrap());
    assert_eq!(world.owners().lines().count(), 10);
}

/// As `kubectl create deployment` leaves it on a real cluster.
#[test]
fn a_created_deployment_has_its_dots_where_kubernetes_has_them() {
    let kind = crate::builtins().iter().find(|kind| kind.kind == "Deployment").unwrap();
    let container = json!({"name": "nginx", "image": "nginx"});
    let mut created = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "labels": {"app": "x"}},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container]}},
        },
    });
    kind.schema.default(&mut created);
    super::super::track(None, &mut created, &world().manager("kubectl-create"), &kind.schema);
    let nothing = json!({});
    assert_eq!(
        created["metadata"]["managedFields"][0]["fieldsV1"],
        json!({
            "f:metadata": {"f:labels": {".": nothing, "f:app": nothing}},
            "f:spec": {
                "f:progressDeadlineSeconds": nothing, "f:replicas": nothing, "f:revisionHistoryLimit": nothing, "f:selector": nothing,
                "f:strategy": {
                    "f:rollingUpdate": {".": nothing, "f:maxSurge": nothing, "f:maxUnavailable": nothing}, "f:type": nothing,
                },
                "f:template": {
                    "f:metadata": {"f:labels": {".": nothing, "f:app": nothing}},
                    "f:spec": {
                        "f:containers": {"k:{\"name\":\"nginx\"}": {
                            ".": nothing, "f:image": nothing, "f:imagePullPolicy": nothing, "f:name": nothing, "f:resources": nothing,
                            "f:terminationMessagePath": nothing, "f:terminationMessagePolicy": nothing,
                        }},
                        "f:dnsPolicy": nothing, "f:restartPolicy": nothing, "f:schedulerName": nothing, "f:securityContext": nothing,
                        "f:terminationGracePeriodSeconds": nothing,
                    },
                },
            },
        })
    );
}
