//! Strategic merge patch, rule by rule, on a schema like that of a pod.

use std::sync::Arc;

use serde_json::{Value, json};

use super::patch;
use crate::schema::{MergeStrategy, Schema};

fn object<const N: usize>(fields: [(&str, Schema); N]) -> Schema {
    let properties = fields.into_iter().map(|(name, field)| (name.to_owned(), Arc::new(field))).collect();
    Schema { properties, ..Schema::any() }
}

fn list(merge: MergeStrategy, items: Schema) -> Schema {
    Schema { merge, items: Some(Arc::new(items)), ..Schema::any() }
}

fn schema() -> Schema {
    let scalar = Schema::any;
    let port = object([("port", scalar())]);
    let container = object([("ports", list(MergeStrategy::Merge("port".into()), port)), ("args", scalar())]);
    object([
        ("containers", list(MergeStrategy::Merge("name".into()), container)),
        ("finalizers", list(MergeStrategy::MergeSet, scalar())),
        ("args", list(MergeStrategy::Replace, scalar())),
        ("strategy", Schema { merge: MergeStrategy::RetainKeys, ..object([("type", scalar())]) }),
    ])
}

#[track_caller]
fn check(document: &Value, body: &Value, expected: &Value) {
    let told = body.to_string();
    assert_eq!(patch(document, body, &schema()).unwrap(), *expected, "{told}");
}

#[track_caller]
fn refused(document: &Value, body: &Value, code: u16, message: &str) {
    let error = patch(document, body, &schema()).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (code, message));
}

#[test]
fn fields_merge_null_removes_and_nulls_for_nothing_are_nothing() {
    check(
        &json!({"a": 1, "b": {"c": 1, "d": 2}, "e": 1}),
        &json!({"a": 2, "b": {"d": null}, "e": null, "f": null, "g": {"h": null, "i": [1]}}),
        &json!({"a": 2, "b": {"c": 1}, "g": {"i": [1]}}),
    );
}

#[test]
fn elements_with_the_same_key_merge_in_the_order_of_the_patch() {
    check(
        &json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}),
        &json!({"containers": [{"name": "c", "image": "3"}, {"name": "a", "image": "2"}]}),
        &json!({"containers": [{"name": "c", "image": "3"}, {"name": "a", "image": "2"}, {"name": "b", "image": "1"}]}),
    );
}

#[test]
fn lists_inside_elements_merge_by_their_own_key() {
    check(
        &json!({"containers": [{"name": "a", "ports": [{"port": 1, "host": 1}, {"port": 2}]}]}),
        &json!({"containers": [{"name": "a", "ports": [{"port": 2, "host": 2}]}]}),
        &json!({"containers": [{"name": "a", "ports": [{"port": 1, "host": 1}, {"port": 2, "host": 2}]}]}),
    );
}

#[test]
fn lists_without_a_strategy_are_replaced() {
    check(&json!({"args": ["a", "b"]}), &json!({"args": ["c"]}), &json!({"args": ["c"]}));
    check(&json!({"unknown": [1]}), &json!({"unknown": [2]}), &json!({"unknown": [2]}));
}

#[test]
fn scalars_unite_and_are_deleted_by_name() {
    check(
        &json!({"finalizers": ["a", "b"]}),
        &json!({"finalizers": ["b", "c"]}),
        &json!({"finalizers": ["a", "b", "c"]}),
    );
    check(
        &json!({"finalizers": ["a", "b"]}),
        &json!({"$deleteFromPrimitiveList/finalizers": ["a", "x"]}),
        &json!({"finalizers": ["b"]}),
    );
    check(
        &json!({"finalizers": ["a", "b"]}),
        &json!({"$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["c", "b"], "finalizers": ["c"]}),
        &json!({"finalizers": ["c", "b"]}),
    );
    check(&json!({}), &json!({"$deleteFromPrimitiveList/finalizers": ["a"]}), &json!({}));
}

#[test]
fn an_element_is_deleted_by_its_key() {
    check(
        &json!({"containers": [{"name": "a"}, {"name": "b"}]}),
        &json!({"containers": [{"name": "a", "$patch": "delete"}, {"name": "missing", "$patch": "delete"}]}),
        &json!({"containers": [{"name": "b"}]}),
    );
}

#[test]
fn replace_takes_the_patch_as_it_is() {
    check(
        &json!({"containers": [{"name": "a"}, {"name": "b"}]}),
        &json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
        &json!({"containers": [{"name": "c"}]}),
    );
    check(
        &json!({"strategy": {"a": 1, "b": 2}}),
        &json!({"strategy": {"$patch": "replace", "c": 3}}),
        &json!({"strategy": {"c": 3}}),
    );
    check(
        &json!({"containers": [{"name": "a", "image": "1", "args": []}]}),
        &json!({"containers": [{"name": "a", "resources": {"$patch": "delete"}}]}),
        &json!({"containers": [{"name": "a", "image": "1", "args": []}]}),
    );
}

#[test]
fn delete_empties_an_object() {
    check(
        &json!({"strategy": {"a": 1}}),
        &json!({"strategy": {"$patch": "delete"}}),
        &json!({"strategy": {}}),
    );
}

#[test]
fn retain_keys_drops_what_it_does_not_name() {
    check(
        &json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}),
        &json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
        &json!({"strategy": {"type": "Recreate"}}),
    );
}

#[test]
fn set_element_order_orders_what_it_names_and_leaves_the_rest_in_place() {
    check(
        &json!({"containers": [{"name": "a"}, {"name": "sidecar"}, {"name": "b"}]}),
        &json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "a", "image": "2"}]}),
        &json!({"containers": [{"name": "sidecar"}, {"name": "b"}, {"name": "a", "image": "2"}]}),
    );
    check(
        &json!({"containers": [{"name": "a"}, {"name": "b"}]}),
        &json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}),
        &json!({"containers": [{"name": "b"}, {"name": "a"}]}),
    );
    check(
        &json!({}),
        &json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "b"}, {"name": "a"}]}),
        &json!({"containers": [{"name": "b"}, {"name": "a"}]}),
    );
}

#[test]
fn a_value_of_another_type_is_replaced() {
    check(
        &json!({"strategy": "old"}),
        &json!({"strategy": {"type": "x", "y": null}}),
        &json!({"strategy": {"type": "x"}}),
    );
    check(
        &json!({"containers": {"a": 1}}),
        &json!({"containers": [{"name": "a"}]}),
        &json!({"containers": [{"name": "a"}]}),
    );
}

#[test]
fn patches_that_make_no_sense_are_refused() {
    let document = || json!({"containers": [{"name": "a"}], "strategy": {"type": "x"}, "finalizers": ["a"]});
    refused(
        &document(),
        &json!({"strategy": {"$retainKeys": ["type"], "other": 1}}),
        400,
        "invalid patch format of retainKeys",
    );
    refused(
        &document(),
        &json!({"strategy": {"$retainKeys": "type"}}),
        400,
        "invalid patch format of retainKeys",
    );
    refused(
        &document(),
        &json!({"$setElementOrder": []}),
        400,
        "invalid patch format of setElementOrder list",
    );
    refused(
        &document(),
        &json!({"$deleteFromPrimitiveList": []}),
        400,
        "invalid patch format of primitive list",
    );
    refused(
        &document(),
        &json!({"finalizers": [["a"]]}),
        422,
        "the server rejected our request due to an error in our request",
    );
    refused(
        &document(),
        &json!({"containers": [{"image": "x"}]}),
        500,
        r#"map: {"image":"x"} does not contain declared merge key: name"#,
    );
    refused(&document(), &json!({"strategy": {"$patch": "x"}}), 500, r#"unknown patch type: "x" in map: {}"#);
    refused(
        &document(),
        &json!({"containers": [{"$patch": "merge", "name": "a"}]}),
        500,
        "merging lists cannot yet be specified in the patch",
    );
    refused(
        &document(),
        &json!({"$setElementOrder/finalizers": ["a"], "finalizers": ["b"]}),
        500,
        "The order in patch list:\n[\"b\"]\n doesn't match $setElementOrder list:\n[\"a\"]\n",
    );
    refused(&json!({}), &json!([]), 400, "invalid JSON document");
}

#[test]
fn a_deployment_merges_its_containers_by_name() {
    let kind = crate::builtins().iter().find(|kind| kind.kind == "Deployment").unwrap();
    let deployment = |containers: Value| json!({"spec": {"template": {"spec": {"containers": containers}}}});
    let patched = patch(
        &deployment(json!([{"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "1"}])),
        &deployment(json!([{"name": "a", "image": "2", "args": ["y"]}, {"name": "b", "$patch": "delete"}])),
        &kind.schema,
    );
    assert_eq!(patched.unwrap(), deployment(json!([{"name": "a", "image": "2", "args": ["y"]}])));
}
