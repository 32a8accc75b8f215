//! Structural schemas, as sentences; the words are kube-apiserver's.

mod laws;

use serde_json::{Value, json};

use super::Schema;
use crate::Cause;

fn told(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

/// A schema with these properties in `spec`.
fn spec(properties: &Value) -> Schema {
    let openapi =
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}});
    Schema::parse(&openapi).unwrap_or_else(|causes| panic!("{:#?}", told(&causes)))
}

/// What is wrong with `value` under a schema.
fn faults(schema: &Value, value: &Value) -> Vec<String> {
    told(&spec(&json!({"f": schema})).validate(&json!({"spec": {"f": value}}), None))
}

#[test]
fn a_valid_value_has_no_faults() {
    for (schema, value) in [
        (json!({"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a"}), json!("abc")),
        (json!({"type": "integer", "minimum": 1, "maximum": 3, "format": "int32"}), json!(3)),
        (json!({"type": "integer"}), json!(1.0)),
        (json!({"type": "number", "multipleOf": 0.1}), json!(0.3)),
        (json!({"type": "number"}), json!(1)),
        (json!({"type": "string", "nullable": true}), json!(null)),
        (json!({"x-kubernetes-int-or-string": true}), json!("25%")),
        (json!({"x-kubernetes-int-or-string": true}), json!(25)),
        (
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
            json!(25),
        ),
        (json!({"type": "string", "enum": ["a", "b"]}), json!("b")),
        (json!({"x-kubernetes-preserve-unknown-fields": true}), json!([1, {"a": null}])),
        (json!({"type": "string", "format": "date-time"}), json!("2026-01-01T00:00:00Z")),
        (
            json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
            json!({"a": "x"}),
        ),
        (json!({"type": "integer", "not": {"minimum": 10}}), json!(9)),
    ] {
        assert_eq!(faults(&schema, &value), Vec::<String>::new(), "{schema} {value}");
    }
}

#[test]
fn faults_are_told_as_kubernetes_tells_them() {
    for (schema, value, wanted) in [
        (
            json!({"type": "integer"}),
            json!("x"),
            r#"spec.f: Invalid value: "string": spec.f in body must be of type integer: "string""#,
        ),
        (
            json!({"type": "integer"}),
            json!(1.5),
            r#"spec.f: Invalid value: "number": spec.f in body must be of type integer: "number""#,
        ),
        (
            json!({"type": "string"}),
            json!(null),
            r#"spec.f: Invalid value: "null": spec.f in body must be of type string: "null""#,
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!({}),
            r#"spec.f: Invalid value: "object": spec.f in body must be of type array: "object""#,
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            r#"spec.f: Invalid value: "boolean": spec.f in body must be of type integer,string: "boolean""#,
        ),
        (
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            "spec.f: Invalid value: 0: spec.f in body should be greater than or equal to 1",
        ),
        (
            json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}),
            json!(1),
            "spec.f: Invalid value: 1: spec.f in body should be greater than 1",
        ),
        (
            json!({"type": "integer", "maximum": 65535}),
            json!(70000),
            "spec.f: Invalid value: 70000: spec.f in body should be less than or equal to 65535",
        ),
        (
            json!({"type": "integer", "maximum": 1000000}),
            json!(1000001),
            "spec.f: Invalid value: 1000001: spec.f in body should be less than or equal to 1e+06",
        ),
        (
            json!({"type": "number", "maximum": 0.5, "exclusiveMaximum": true}),
            json!(0.5),
            "spec.f: Invalid value: 0.5: spec.f in body should be less than 0.5",
        ),
        (
            json!({"type": "integer", "multipleOf": 2}),
            json!(3),
            "spec.f: Invalid value: 3: spec.f in body should be a multiple of 2",
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("abc"),
            "spec.f: Too long: may not be more than 2 bytes",
        ),
        (
            json!({"type": "string", "minLength": 2}),
            json!("a"),
            r#"spec.f: Invalid value: "a": spec.f in body should be at least 2 chars long"#,
        ),
        (
            json!({"type": "string", "pattern": "^a$"}),
            json!("b"),
            r#"spec.f: Invalid value: "b": spec.f in body should match '^a$'"#,
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!("x"),
            r#"spec.f: Unsupported value: "x": supported values: "a", "b""#,
        ),
        (
            json!({"type": "integer", "enum": [1, 2]}),
            json!(3),
            r#"spec.f: Unsupported value: 3: supported values: "1", "2""#,
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("now"),
            r#"spec.f: Invalid value: "now": spec.f in body must be of type date-time: "now""#,
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "maxItems": 1}),
            json!(["a", "b"]),
            "spec.f: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
            json!([]),
            "spec.f: Invalid value: 0: spec.f in body should have at least 1 items",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1}),
            json!({"a": "", "b": ""}),
            "spec.f: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}),
            json!({}),
            "spec.f: Invalid value: 0: spec.f in body should have at least 1 properties",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"a": 1}),
            r#"spec.f.a: Invalid value: "integer": spec.f.a in body must be of type string: "integer""#,
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            json!({}),
            "spec.f.a: Required value",
        ),
        (
            json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}),
            json!([{}]),
            "spec.f[0].a: Required value",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
            json!(["a", "a"]),
            r#"spec.f[1]: Duplicate value: "a""#,
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"], "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}}}}),
            json!([{"n": "a"}, {"n": "a"}]),
            r#"spec.f[1]: Duplicate value: {"n":"a"}"#,
        ),
        (
            json!({"type": "integer", "not": {"minimum": 10}}),
            json!(10),
            r#"<nil>: Invalid value: "": "spec.f" must not validate the schema (not)"#,
        ),
    ] {
        assert_eq!(faults(&schema, &value), [wanted], "{schema}");
    }
}

#[test]
fn junctors_tell_what_failed_and_the_faults_inside() {
    let one_of = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    assert_eq!(
        faults(&one_of, &json!({})),
        [
            r#"<nil>: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found none valid"#,
            "spec.f.a: Required value",
        ]
    );
    assert_eq!(
        faults(&one_of, &json!({"a": "", "b": ""})),
        [
            r#"<nil>: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found 2 valid alternatives"#
        ]
    );
    assert_eq!(
        faults(&json!({"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 1}]}), &json!(3)),
        [
            r#"<nil>: Invalid value: "": "spec.f" must validate at least one schema (anyOf)"#,
            "spec.f: Invalid value: 3: spec.f in body should be greater than or equal to 5",
        ]
    );
    assert_eq!(
        faults(&json!({"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 2}]}), &json!(3)),
        [
            "spec.f: Invalid value: 3: spec.f in body should be less than or equal to 2",
            r#"<nil>: Invalid value: "": "spec.f" must validate all the schemas (allOf)"#,
        ]
    );
}

#[test]
fn a_fault_carries_its_machine_readable_reason() {
    let reason = |schema: Value, value: Value| {
        spec(&json!({"f": schema}))
            .validate(&json!({"spec": {"f": value}}), None)
            .first()
            .map(|cause| cause.reason)
    };
    assert_eq!(reason(json!({"type": "string"}), json!(1)), Some("FieldValueTypeInvalid"));
    assert_eq!(reason(json!({"type": "string", "maxLength": 0}), json!("a")), Some("FieldValueTooLong"));
    assert_eq!(reason(json!({"type": "string", "enum": ["a"]}), json!("b")), Some("FieldValueNotSupported"));
    assert_eq!(reason(json!({"type": "string", "pattern": "a"}), json!("b")), Some("FieldValueInvalid"));
    assert_eq!(
        reason(
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            json!({})
        ),
        Some("FieldValueRequired")
    );
}

#[test]
fn an_update_tolerates_what_it_does_not_touch() {
    let schema = spec(&json!({
        "old": {"type": "string", "pattern": "^a"},
        "other": {"type": "integer", "minimum": 0},
        "keyed": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
            "items": {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}, "v": {"type": "integer", "maximum": 1}}},
        },
        "atomic": {"type": "array", "items": {"type": "integer", "maximum": 1}},
    }));
    let check =
        |new: Value, old: Value| told(&schema.validate(&json!({"spec": new}), Some(&json!({"spec": old}))));

    let none: [&str; 0] = [];
    assert_eq!(check(json!({"old": "b", "other": 2}), json!({"old": "b", "other": 1})), none);
    assert_eq!(
        check(json!({"old": "c"}), json!({"old": "b"})),
        [r#"spec.old: Invalid value: "c": spec.old in body should match '^a'"#]
    );
    assert_eq!(
        check(json!({"keyed": [{"n": "y"}, {"n": "x", "v": 9}]}), json!({"keyed": [{"n": "x", "v": 9}]})),
        none,
        "the element is found by its key, wherever it went"
    );
    assert_eq!(check(json!({"atomic": [9], "other": 1}), json!({"atomic": [9]})), none);
    assert_eq!(
        check(json!({"atomic": [9, 0]}), json!({"atomic": [9]})),
        ["spec.atomic[0]: Invalid value: 9: spec.atomic[0] in body should be less than or equal to 1"],
        "elements of an atomic list have no counterpart"
    );
}

#[test]
fn unknown_fields_are_pruned_and_named() {
    let schema = Schema::parse(&json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "known": {"type": "string"},
                    "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"closed": {"type": "object"}}},
                    "empty": {"type": "object"},
                    "template": {
                        "type": "object", "x-kubernetes-embedded-resource": true,
                        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    },
                },
            },
        },
    }))
    .unwrap();
    let mut object = json!({
        "apiVersion": "x/v1", "kind": "X",
        "metadata": {"name": "n", "labels": {"any": "thing"}, "colour": "red"},
        "spec": {
            "known": "x", "unknown": 1,
            "map": {"k": {"a": "", "b": ""}},
            "list": [{"a": ""}, {"b": ""}],
            "open": {"more": {"deep": 1}, "closed": {"x": 1}},
            "empty": {"x": 1},
            "template": {"apiVersion": "v1", "kind": "Y", "metadata": {"name": "y", "bad": 1}, "spec": {"a": "", "b": ""}, "other": 1},
        },
        "status": {},
    });
    assert_eq!(
        schema.prune(&mut object),
        [
            "metadata.colour",
            "spec.empty.x",
            "spec.list[1].b",
            "spec.map.k.b",
            "spec.open.closed.x",
            "spec.template.metadata.bad",
            "spec.template.other",
            "spec.template.spec.b",
            "spec.unknown",
            "status",
        ]
    );
    assert_eq!(
        object,
        json!({
            "apiVersion": "x/v1", "kind": "X", "metadata": {"name": "n", "labels": {"any": "thing"}},
            "spec": {
                "known": "x", "map": {"k": {"a": ""}}, "list": [{"a": ""}, {}], "open": {"more": {"deep": 1}, "closed": {}}, "empty": {},
                "template": {"apiVersion": "v1", "kind": "Y", "metadata": {"name": "y"}, "spec": {"a": ""}},
            },
        })
    );
}

#[test]
fn defaults_fill_what_is_missing_but_never_make_a_parent() {
    let schema = spec(&json!({
        "a": {"type": "string", "default": "x"},
        "parent": {"type": "object", "properties": {"child": {"type": "integer", "default": 1}}},
        "made": {"type": "object", "default": {}, "properties": {"child": {"type": "integer", "default": 1}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"v": {"type": "boolean", "default": true}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"v": {"type": "boolean", "default": true}}}},
    }));
    let check = |given: Value, wanted: Value| {
        let mut object = json!({"spec": given});
        schema.default(&mut object);
        assert_eq!(object, json!({"spec": wanted}));
    };
    check(json!({}), json!({"a": "x", "made": {"child": 1}}));
    check(
        json!({"a": "y", "parent": {}, "made": {"child": 2}, "list": [{}, {"v": false}], "map": {"k": {}}}),
        json!({"a": "y", "parent": {"child": 1}, "made": {"child": 2}, "list": [{"v": true}, {"v": false}], "map": {"k": {"v": true}}}),
    );
    let mut absent = json!({});
    schema.default(&mut absent);
    assert_eq!(absent, json!({}), "the spec is absent, so nothing is defaulted in it");
}

#[test]
fn nulls_are_pruned_before_defaulting_unless_they_are_allowed() {
    let schema = spec(&json!({
        "foo": {"type": "string", "nullable": false, "default": "default"},
        "bar": {"type": "string", "nullable": true},
        "baz": {"type": "string"},
    }));
    let mut object = json!({"spec": {"foo": null, "bar": null, "baz": null}});
    schema.default(&mut object);
    assert_eq!(object, json!({"spec": {"foo": "default", "bar": null}}));
}

#[test]
fn a_schema_that_is_not_structural_is_refused_with_kubernetes_words() {
    for (openapi, wanted) in [
        (json!({}), vec!["type: Required value: must not be empty at the root"]),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            vec![r#"type: Invalid value: "array": must be object at the root"#],
        ),
        (
            json!({"type": "object", "properties": {"spec": {}}}),
            vec!["properties[spec].type: Required value: must not be empty for specified object fields"],
        ),
        (
            json!({"type": "object", "properties": {"l": {"type": "array", "items": {}}}}),
            vec!["properties[l].items.type: Required value: must not be empty for specified array items"],
        ),
        (
            json!({"type": "object", "properties": {"l": {"type": "array"}}}),
            vec!["properties[l].items: Required value: must be specified"],
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            vec!["additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "anyOf": [{"type": "string", "description": "x"}]}}}),
            vec![
                "properties[a].anyOf[0].description: Forbidden: must be empty to be structural",
                "properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
            ],
        ),
        (
            json!({"type": "object", "anyOf": [{"properties": {"a": {"minimum": 1}}}]}),
            vec!["properties[a]: Required value: because it is defined in anyOf[0].properties[a]"],
        ),
        (
            json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
            vec![
                "properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
            ],
        ),
        (
            json!({"type": "object", "properties": {"kind": {"type": "integer"}}}),
            vec![r#"properties[kind].type: Invalid value: "integer": must be string"#],
        ),
        (
            json!({"type": "object", "properties": {"l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n", "x"], "items": {"type": "object", "properties": {"n": {"type": "string"}}}}}}),
            vec![
                "properties[l].items.properties[n].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
                r#"properties[l].x-kubernetes-list-map-keys: Invalid value: ["n","x"]: entries must all be names of item properties"#,
            ],
        ),
        (
            json!({"type": "object", "properties": {"l": {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}}}),
            vec![
                "properties[l].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            ],
        ),
        (
            json!({"type": "object", "properties": {"l": {"type": "array", "x-kubernetes-list-type": "bag", "items": {"type": "string"}}}}),
            vec![
                r#"properties[l].x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map""#,
            ],
        ),
        (json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}), vec![]),
        (
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}}}),
            vec![
                "properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ],
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}}}}),
            vec![
                "properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ],
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-embedded-resource": true}}}),
            vec![
                "properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            ],
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "default": 1}}}),
            vec![
                r#"properties[a].default: Invalid value: "integer": properties[a].default in body must be of type string: "integer""#,
            ],
        ),
    ] {
        let causes = told(&Schema::parse(&openapi).expect_err(&format!("{openapi} is refused")));
        match wanted.as_slice() {
            [] => assert!(causes[0].contains("must be a valid regular expression"), "{causes:?}"),
            wanted => assert_eq!(causes, wanted, "{openapi}"),
        }
    }
}

#[test]
fn an_object_inside_an_object_says_what_it_is() {
    let schema = spec(&json!({"t": {
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    }}));
    assert_eq!(
        told(&schema.validate(&json!({"spec": {"t": {"kind": "", "metadata": {}}}}), None)),
        [
            "spec.t.apiVersion: Required value: must not be empty",
            "spec.t.kind: Required value: must not be empty"
        ]
    );
    assert_eq!(schema.validate(&json!({"spec": {"t": {"apiVersion": "v1", "kind": "Pod"}}}), None), []);
}

#[test]
fn the_name_in_metadata_may_be_narrowed() {
    let schema = Schema::parse(&json!({
        "type": "object",
        "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}},
    }))
    .unwrap();
    let faults = schema.validate(&json!({"metadata": {"name": "long", "labels": {"a": "b"}}}), None);
    assert_eq!(told(&faults), ["metadata.name: Too long: may not be more than 3 bytes"]);
}

#[test]
fn the_way_through_a_schema_follows_the_object() {
    let schema = spec(&json!({
        "list": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
        "open": {"x-kubernetes-preserve-unknown-fields": true},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
    }));
    let at = |name: &str| schema.field("spec").unwrap().field(name).unwrap();
    assert_eq!(at("list").list_type(), &super::ListType::Set);
    assert!(at("list").items().is_some());
    assert!(at("atomic").is_atomic_map());
    assert!(!at("open").is_atomic_map(), "what is open is owned field by field");
    assert!(at("open").field("anything").unwrap().items().is_some());
    assert!(!at("map").is_atomic_map());
    assert!(schema.field("spec").unwrap().field("none").is_none());
    assert!(matches!(
        schema.field("metadata").unwrap().field("ownerReferences").unwrap().list_type(),
        super::ListType::Map(keys) if keys == &["uid"]
    ));
}
