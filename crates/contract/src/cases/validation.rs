//! Structural schemas: what values are refused, and where the refusal points.

use serde_json::{Value, json};

use crate::{
    Failure, Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, cause, check, equal},
    resource::JSON_PATCH,
};

/// Under a schema for `spec.v`: the values that pass, and those that are refused with a cause of this reason
/// at this field.
async fn expect(
    w: &World,
    schema: Value,
    good: &[Value],
    bad: &[(Value, &str, &str)],
) -> Result<(), Failure> {
    let spec = json!({"type": "object", "properties": {"v": schema}});
    let widgets = Crd::new(w, spec).install(w).await?;
    for (n, value) in good.iter().enumerate() {
        widgets.create(&widget(w, &format!("good-{n}"), json!({"v": value}))).await?.is(201)?;
    }
    for (value, field, reason) in bad {
        let status = widgets.create(&widget(w, "bad", json!({"v": value}))).await?.refused(422, "Invalid")?;
        let causes = status.list("details/causes");
        if !causes
            .iter()
            .any(|c| c.text("reason") == *reason && (*field == ANYWHERE || c.text("field") == *field))
        {
            return Err(Failure::new(format!("{value}: expected {reason} at {field}, got {causes:?}")));
        }
    }
    Ok(())
}

const INVALID: &str = "FieldValueInvalid";

/// kube-apiserver does not say where `oneOf` and `not` failed but in the message.
const ANYWHERE: &str = "*";

async fn a_value_of_the_wrong_type_is_refused(w: World) -> Outcome {
    let bad = [
        (json!("1"), "spec.v", "FieldValueTypeInvalid"),
        (json!(1.5), "spec.v", "FieldValueTypeInvalid"),
        (json!(true), "spec.v", "FieldValueTypeInvalid"),
        (json!({}), "spec.v", "FieldValueTypeInvalid"),
    ];
    expect(&w, json!({"type": "integer"}), &[json!(1), json!(-1)], &bad).await
}

async fn null_is_refused_in_a_list(w: World) -> Outcome {
    let schema = json!({"type": "array", "items": {"type": "string"}});
    expect(&w, schema, &[json!([])], &[(json!([null]), "spec.v[0]", "FieldValueTypeInvalid")]).await
}

async fn required_fields_are_required(w: World) -> Outcome {
    let schema = json!({
        "type": "object", "required": ["x", "y"],
        "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
    });
    let good = [json!({"x": "1", "y": ""})];
    let bad = [
        (json!({"x": "1"}), "spec.v.y", "FieldValueRequired"),
        (json!({}), "spec.v.x", "FieldValueRequired"),
    ];
    expect(&w, schema, &good, &bad).await
}

async fn an_enum_names_its_values(w: World) -> Outcome {
    let schema = json!({"type": "string", "enum": ["Small", "Large"]});
    expect(&w, schema, &[json!("Small")], &[(json!("small"), "spec.v", "FieldValueNotSupported")]).await
}

async fn numbers_have_bounds(w: World) -> Outcome {
    let schema =
        json!({"type": "integer", "minimum": 2, "maximum": 10, "exclusiveMaximum": true, "multipleOf": 2});
    let good = [json!(2), json!(8)];
    let bad = [(json!(0), "spec.v", INVALID), (json!(10), "spec.v", INVALID), (json!(3), "spec.v", INVALID)];
    expect(&w, schema, &good, &bad).await
}

async fn texts_have_lengths(w: World) -> Outcome {
    let schema = json!({"type": "string", "minLength": 2, "maxLength": 3});
    let bad = [(json!("a"), "spec.v", INVALID), (json!("abcd"), "spec.v", "FieldValueTooLong")];
    expect(&w, schema, &[json!("äö"), json!("abc")], &bad).await
}

async fn texts_have_patterns(w: World) -> Outcome {
    let schema = json!({"type": "string", "pattern": "^[a-z]+$"});
    expect(&w, schema, &[json!("abc")], &[(json!("a1"), "spec.v", INVALID)]).await
}

async fn a_pattern_is_found_anywhere(w: World) -> Outcome {
    let schema = json!({"type": "string", "pattern": "b"});
    expect(&w, schema, &[json!("abc")], &[(json!("ac"), "spec.v", INVALID)]).await
}

async fn known_formats_are_checked(w: World) -> Outcome {
    let schema = json!({"type": "string", "format": "date-time"});
    expect(
        &w,
        schema,
        &[json!("2026-01-02T03:04:05Z")],
        &[(json!("yesterday"), "spec.v", "FieldValueTypeInvalid")],
    )
    .await
}

async fn unknown_formats_are_not(w: World) -> Outcome {
    expect(&w, json!({"type": "string", "format": "colour-of-magic"}), &[json!("octarine")], &[]).await
}

async fn lists_have_lengths(w: World) -> Outcome {
    let schema = json!({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2});
    let bad = [(json!([]), "spec.v", INVALID), (json!([1, 2, 3]), "spec.v", "FieldValueTooMany")];
    expect(&w, schema, &[json!([1])], &bad).await
}

async fn maps_have_sizes(w: World) -> Outcome {
    let number = json!({"type": "integer"});
    let schema =
        json!({"type": "object", "additionalProperties": number, "minProperties": 1, "maxProperties": 2});
    let bad =
        [(json!({}), "spec.v", INVALID), (json!({"a": 1, "b": 2, "c": 3}), "spec.v", "FieldValueTooMany")];
    expect(&w, schema, &[json!({"a": 1})], &bad).await
}

async fn items_are_told_by_index(w: World) -> Outcome {
    let item = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}});
    let schema = json!({"type": "array", "items": item});
    expect(&w, schema, &[json!([{"n": 0}])], &[(json!([{"n": 0}, {"n": -1}]), "spec.v[1].n", INVALID)]).await
}

async fn values_of_maps_are_told_by_key(w: World) -> Outcome {
    let schema = json!({"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}});
    expect(&w, schema, &[json!({"a": 0})], &[(json!({"a": -1}), "spec.v.a", INVALID)]).await
}

async fn a_set_has_no_duplicates(w: World) -> Outcome {
    let schema = json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"});
    expect(&w, schema, &[json!(["a", "b"])], &[(json!(["a", "b", "a"]), "spec.v[2]", "FieldValueDuplicate")])
        .await
}

async fn a_keyed_list_has_no_duplicate_keys(w: World) -> Outcome {
    let text = json!({"type": "string"});
    let item = json!({"type": "object", "required": ["name"], "properties": {"name": text, "value": text}});
    let schema = json!({
        "type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
    });
    let good = [json!([{"name": "a"}, {"name": "b"}])];
    let bad = [(json!([{"name": "a"}, {"name": "a", "value": "x"}]), "spec.v[1]", "FieldValueDuplicate")];
    expect(&w, schema, &good, &bad).await
}

async fn int_or_string_takes_nothing_else(w: World) -> Outcome {
    let schema = json!({"x-kubernetes-int-or-string": true});
    let bad =
        [(json!(true), "spec.v", "FieldValueTypeInvalid"), (json!(1.5), "spec.v", "FieldValueTypeInvalid")];
    expect(&w, schema, &[json!(1), json!("x")], &bad).await
}

async fn any_of_needs_one(w: World) -> Outcome {
    let schema = json!({"type": "integer", "anyOf": [{"maximum": 1}, {"minimum": 9}]});
    expect(&w, schema, &[json!(1), json!(9)], &[(json!(5), "spec.v", INVALID)]).await
}

async fn one_of_needs_exactly_one(w: World) -> Outcome {
    let text = json!({"type": "string"});
    let schema = json!({
        "type": "object", "properties": {"x": text, "y": text},
        "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
    });
    let bad = [(json!({"x": "1", "y": "1"}), ANYWHERE, INVALID)];
    expect(&w, schema, &[json!({"x": "1"})], &bad).await
}

async fn all_of_and_not_are_checked(w: World) -> Outcome {
    let schema = json!({"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 9}], "not": {"enum": [5]}});
    let bad = [(json!(0), "spec.v", INVALID), (json!(5), ANYWHERE, INVALID)];
    expect(&w, schema, &[json!(1), json!(9)], &bad).await
}

async fn a_refusal_names_every_wrong_field(w: World) -> Outcome {
    let spec = json!({"type": "object", "required": ["must"], "properties": {
        "must": {"type": "string"}, "n": {"type": "integer", "minimum": 0}, "kind": {"type": "string", "enum": ["x"]},
    }});
    let widgets = Crd::new(&w, spec).install(&w).await?;
    let body = widget(&w, "a", json!({"n": -1, "kind": "y"}));
    let status = widgets.create(&body).await?.refused(422, "Invalid")?;
    for field in ["spec.must", "spec.n", "spec.kind"] {
        check!(!cause(&status, field).is_null(), "{field} in {status}");
        check!(status.text("message").contains(field), "{status}");
    }
    equal!(status.text("details/kind"), "Widget");
    equal!(status.text("details/group"), w.group());
    equal!(status.text("details/name"), "a");
    Ok(())
}

async fn what_was_wrong_before_and_is_unchanged_is_tolerated(w: World) -> Outcome {
    let text = json!({"type": "string"});
    let crd = Crd::new(&w, json!({"type": "object", "properties": {"old": text, "n": {"type": "integer"}}}));
    let widgets = crd.install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"old": "lowercase", "n": 1}))).await?.ok()?;
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/old/pattern";
    let patch = json!([{"op": "add", "path": path, "value": "^[A-Z]+$"}]);
    w.crds().patch(crd.name(), JSON_PATCH, &patch).await?.ok()?;
    let probe = widget(&w, "probe", json!({"old": "lowercase"}));
    let tried = async || Ok((widgets.with("dryRun", "All").create(&probe).await?.code == 422).then_some(()));
    w.eventually("the tighter schema is in force", tried).await?;
    equal!(widgets.merge("a", &json!({"spec": {"n": 2}})).await?.is(200)?.at("spec/n"), 2);
    widgets.merge("a", &json!({"spec": {"old": "other"}})).await?.refused(422, "Invalid")?;
    widgets.merge("a", &json!({"spec": {"old": "UPPER"}})).await?.is(200)?;
    Ok(())
}

async fn names_can_be_narrowed_by_the_schema(w: World) -> Outcome {
    let schema = json!({"type": "object", "properties": {
        "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}},
        "spec": {"type": "object"},
    }});
    let widgets = Crd::with_schema(&w, schema).install(&w).await?;
    widgets.create(&widget(&w, "abc", json!({}))).await?.is(201)?;
    widgets.create(&widget(&w, "abcd", json!({}))).await?.refused(422, "Invalid")?;
    Ok(())
}

cases! { "validation":
    a_value_of_the_wrong_type_is_refused,
    null_is_refused_in_a_list,
    required_fields_are_required,
    an_enum_names_its_values,
    numbers_have_bounds,
    texts_have_lengths,
    texts_have_patterns,
    a_pattern_is_found_anywhere,
    known_formats_are_checked,
    unknown_formats_are_not,
    lists_have_lengths,
    maps_have_sizes,
    items_are_told_by_index,
    values_of_maps_are_told_by_key,
    a_set_has_no_duplicates,
    a_keyed_list_has_no_duplicate_keys,
    int_or_string_takes_nothing_else,
    any_of_needs_one,
    one_of_needs_exactly_one,
    all_of_and_not_are_checked,
    a_refusal_names_every_wrong_field,
    what_was_wrong_before_and_is_unchanged_is_tolerated,
    names_can_be_narrowed_by_the_schema,
}
