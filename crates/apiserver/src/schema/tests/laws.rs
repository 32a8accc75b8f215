//! Laws that hold for any schema and any object.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Schema;

/// Any structural schema of a few levels; defaults are of the right type.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "default": "d"})),
        Just(json!({"type": "string", "nullable": true})),
        Just(json!({"type": "integer", "default": 3})),
        Just(json!({"type": "boolean"})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let fields = prop::collection::btree_map("[a-c]", inner.clone(), 0..3);
        prop_oneof![
            (fields, any::<bool>(), any::<bool>()).prop_map(|(fields, open, made)| {
                let mut schema = json!({"type": "object", "properties": fields});
                if open {
                    schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
                }
                if made {
                    schema["default"] = json!({});
                }
                schema
            }),
            inner.clone().prop_map(|values| json!({"type": "object", "additionalProperties": values})),
            inner.prop_map(|items| json!({"type": "array", "items": items})),
        ]
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9i64..9).prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A schema whose spec is any schema, and an object for it.
fn worlds() -> impl Strategy<Value = (Schema, Value)> {
    (schemas(), values()).prop_filter_map("a schema that the server takes", |(schema, value)| {
        let schema = Schema::parse(&json!({"type": "object", "properties": {"spec": schema}})).ok()?;
        Some((schema, json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": value})))
    })
}

proptest! {
    #[test]
    fn pruning_twice_is_pruning_once((schema, mut object) in worlds()) {
        schema.prune(&mut object);
        let once = object.clone();
        prop_assert_eq!(schema.prune(&mut object), Vec::<String>::new());
        prop_assert_eq!(object, once);
    }

    #[test]
    fn defaulting_twice_is_defaulting_once((schema, mut object) in worlds()) {
        schema.default(&mut object);
        let once = object.clone();
        schema.default(&mut object);
        prop_assert_eq!(object, once);
    }

    #[test]
    fn a_valid_object_stays_valid_after_defaulting((schema, mut object) in worlds()) {
        prop_assume!(schema.validate(&object, None).is_empty());
        schema.default(&mut object);
        prop_assert_eq!(schema.validate(&object, None), Vec::new());
    }

    #[test]
    fn defaults_survive_pruning((schema, mut object) in worlds()) {
        schema.prune(&mut object);
        schema.default(&mut object);
        let defaulted = object.clone();
        schema.prune(&mut object);
        prop_assert_eq!(object, defaulted);
    }

    #[test]
    fn an_update_that_changes_nothing_is_never_refused((schema, object) in worlds()) {
        prop_assert_eq!(schema.validate(&object, Some(&object)), Vec::new());
    }
}
