//! Structural schemas: pruning and defaulting.

use serde_json::{Value, json};

use crate::{
    Failure, Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal},
    samples::config_map,
};

/// What is stored of a `spec` under a schema for it.
async fn stored(w: &World, schema: Value, spec: Value) -> Result<Value, Failure> {
    let widgets = Crd::new(w, schema).install(w).await?;
    let made = widgets.create(&widget(w, "a", spec)).await?.is(201)?;
    let read = widgets.get("a").await?.ok()?;
    if read != made {
        return Err(Failure::new(format!("the answer {made} is not what is read: {read}")));
    }
    Ok(made.at("spec").clone())
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

async fn unknown_fields_are_dropped(w: World) -> Outcome {
    let schema = object(json!({"n": {"type": "integer"}, "deep": object(json!({"n": {"type": "integer"}}))}));
    let spec = stored(&w, schema, json!({"n": 1, "x": 1, "deep": {"n": 1, "x": 1}})).await?;
    equal!(spec, {"n": 1, "deep": {"n": 1}});
    Ok(())
}

async fn unknown_fields_are_dropped_in_lists_and_maps(w: World) -> Outcome {
    let item = object(json!({"n": {"type": "integer"}}));
    let schema = object(json!({
        "list": {"type": "array", "items": item}, "map": {"type": "object", "additionalProperties": item},
    }));
    let spec =
        stored(&w, schema, json!({"list": [{"n": 1, "x": 1}], "map": {"k": {"n": 1, "x": 1}}})).await?;
    equal!(spec, {"list": [{"n": 1}], "map": {"k": {"n": 1}}});
    Ok(())
}

async fn unknown_fields_at_the_root_are_dropped(w: World) -> Outcome {
    let widgets = Crd::new(&w, object(json!({}))).install(&w).await?;
    let mut body = widget(&w, "a", json!({}));
    body.set("extra", 1);
    let made = widgets.create(&body).await?.ok()?;
    check!(!made.has("extra"), "{made}");
    Ok(())
}

async fn unknown_metadata_is_dropped(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    let mut body = widget(&w, "a", json!({}));
    body.set("metadata/unknown", "x");
    body.set("metadata/labels/x", "1");
    let made = widgets.create(&body).await?.ok()?;
    check!(!made.has("metadata/unknown"), "{made}");
    equal!(made.at("metadata/labels"), {"x": "1"});
    Ok(())
}

async fn preserved_unknown_fields_are_kept(w: World) -> Outcome {
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = object(json!({"free": free, "strict": object(json!({}))}));
    let spec = stored(&w, schema, json!({"free": {"x": {"y": [1, "two"]}}, "strict": {"x": 1}})).await?;
    equal!(spec, {"free": {"x": {"y": [1, "two"]}}, "strict": {}});
    Ok(())
}

async fn pruning_goes_on_below_preserved_fields(w: World) -> Outcome {
    let mut free = object(json!({"known": object(json!({"n": {"type": "integer"}}))}));
    free.set("x-kubernetes-preserve-unknown-fields", true);
    let spec = stored(&w, free, json!({"any": {"x": 1}, "known": {"n": 1, "x": 1}})).await?;
    equal!(spec, {"any": {"x": 1}, "known": {"n": 1}});
    Ok(())
}

async fn an_object_without_properties_is_emptied(w: World) -> Outcome {
    let spec = stored(&w, object(json!({"empty": {"type": "object"}})), json!({"empty": {"x": 1}})).await?;
    equal!(spec, {"empty": {}});
    Ok(())
}

async fn embedded_metadata_is_kept_as_metadata(w: World) -> Outcome {
    let embedded = json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    });
    let inner = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"l": "1"}, "unknown": "x"},
        "spec": {"any": 1},
    });
    let spec = stored(&w, object(json!({"template": embedded})), json!({"template": inner})).await?;
    equal!(spec.at("template/metadata"), {"name": "x", "labels": {"l": "1"}});
    equal!(spec.at("template/spec"), {"any": 1});
    Ok(())
}

async fn an_embedded_object_needs_kind_and_version(w: World) -> Outcome {
    let embedded = json!({
        "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
    });
    let widgets = Crd::new(&w, object(json!({"template": embedded}))).install(&w).await?;
    let body = widget(&w, "a", json!({"template": {"metadata": {"name": "x"}}}));
    widgets.create(&body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn defaults_are_filled_in(w: World) -> Outcome {
    let schema = object(json!({
        "number": {"type": "integer", "default": 5}, "text": {"type": "string", "default": "x"},
        "list": {"type": "array", "items": {"type": "string"}, "default": ["y"]},
        "given": {"type": "integer", "default": 5}, "none": {"type": "integer"},
    }));
    let spec = stored(&w, schema, json!({"given": 1})).await?;
    equal!(spec, {"number": 5, "text": "x", "list": ["y"], "given": 1});
    Ok(())
}

async fn defaults_are_filled_in_below_defaults(w: World) -> Outcome {
    let mut deep = object(json!({"n": {"type": "integer", "default": 5}}));
    deep.set("default", json!({}));
    equal!(stored(&w, object(json!({"deep": deep})), json!({})).await?, {"deep": {"n": 5}});
    Ok(())
}

async fn defaults_need_their_parent(w: World) -> Outcome {
    let deep = object(json!({"n": {"type": "integer", "default": 5}}));
    equal!(stored(&w, object(json!({"deep": deep})), json!({})).await?, {});
    Ok(())
}

async fn defaults_are_filled_in_in_lists_and_maps(w: World) -> Outcome {
    let item = object(json!({"n": {"type": "integer", "default": 5}}));
    let schema = object(json!({
        "list": {"type": "array", "items": item}, "map": {"type": "object", "additionalProperties": item},
    }));
    let spec = stored(&w, schema, json!({"list": [{}, {"n": 1}], "map": {"k": {}}})).await?;
    equal!(spec, {"list": [{"n": 5}, {"n": 1}], "map": {"k": {"n": 5}}});
    Ok(())
}

async fn null_takes_the_default_unless_it_is_allowed(w: World) -> Outcome {
    let schema = object(json!({
        "plain": {"type": "integer", "default": 5},
        "nullable": {"type": "integer", "default": 5, "nullable": true},
    }));
    let spec = stored(&w, schema, json!({"plain": null, "nullable": null})).await?;
    equal!(spec, {"plain": 5, "nullable": null});
    Ok(())
}

async fn null_is_kept_where_it_is_allowed(w: World) -> Outcome {
    let schema = object(json!({"n": {"type": "integer", "nullable": true}}));
    equal!(stored(&w, schema, json!({"n": null})).await?, {"n": null});
    Ok(())
}

async fn a_default_satisfies_required(w: World) -> Outcome {
    let mut schema = object(json!({"n": {"type": "integer", "default": 5}}));
    schema.set("required", json!(["n"]));
    equal!(stored(&w, schema, json!({})).await?, {"n": 5});
    Ok(())
}

async fn a_new_default_shows_in_stored_objects(w: World) -> Outcome {
    let crd = Crd::new(&w, object(json!({"n": {"type": "integer"}})));
    let widgets = crd.install(&w).await?;
    let made = widgets.create(&widget(&w, "a", json!({}))).await?.ok()?;
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/n/default";
    let patch = json!([{"op": "add", "path": path, "value": 5}]);
    w.crds().patch(crd.name(), crate::resource::JSON_PATCH, &patch).await?.ok()?;
    let read = widgets.until("a", "defaulted", |object| object.at("spec/n") == 5).await?;
    equal!(read.version(), made.version());
    Ok(())
}

async fn a_narrower_schema_hides_what_it_does_not_know(w: World) -> Outcome {
    let crd = Crd::new(&w, object(json!({"n": {"type": "integer"}, "m": {"type": "integer"}})));
    let widgets = crd.install(&w).await?;
    widgets.create(&widget(&w, "a", json!({"n": 1, "m": 1}))).await?.ok()?;
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/m";
    let patch = json!([{"op": "remove", "path": path}]);
    w.crds().patch(crd.name(), crate::resource::JSON_PATCH, &patch).await?.ok()?;
    let read = widgets.until("a", "pruned", |object| !object.has("spec/m")).await?;
    equal!(read.at("spec"), {"n": 1});
    Ok(())
}

async fn int_or_string_takes_both(w: World) -> Outcome {
    let port =
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]});
    let schema = object(json!({"one": port, "two": port, "three": {"x-kubernetes-int-or-string": true}}));
    let spec = stored(&w, schema, json!({"one": 80, "two": "http", "three": "25%"})).await?;
    equal!(spec, {"one": 80, "two": "http", "three": "25%"});
    Ok(())
}

async fn numbers_keep_their_kind(w: World) -> Outcome {
    let schema = object(json!({
        "int": {"type": "integer", "format": "int64"}, "float": {"type": "number"}, "whole": {"type": "number"},
    }));
    let spec =
        stored(&w, schema, json!({"int": 9_007_199_254_740_993_i64, "float": 1.5, "whole": 2})).await?;
    equal!(spec, {"int": 9_007_199_254_740_993_i64, "float": 1.5, "whole": 2});
    Ok(())
}

async fn unknown_fields_of_built_in_kinds_are_dropped(w: World) -> Outcome {
    let mut body = config_map("a", json!({"k": "v"}));
    body.set("unknown", 1);
    body.set("metadata/unknown", 1);
    let made = w.config_maps().create(&body).await?.is(201)?;
    check!(!made.has("unknown") && !made.has("metadata/unknown"), "{made}");
    Ok(())
}

cases! { "schema":
    unknown_fields_are_dropped,
    unknown_fields_are_dropped_in_lists_and_maps,
    unknown_fields_at_the_root_are_dropped,
    unknown_metadata_is_dropped,
    preserved_unknown_fields_are_kept,
    pruning_goes_on_below_preserved_fields,
    an_object_without_properties_is_emptied,
    embedded_metadata_is_kept_as_metadata,
    an_embedded_object_needs_kind_and_version,
    defaults_are_filled_in,
    defaults_are_filled_in_below_defaults,
    defaults_need_their_parent,
    defaults_are_filled_in_in_lists_and_maps,
    null_takes_the_default_unless_it_is_allowed,
    null_is_kept_where_it_is_allowed,
    a_default_satisfies_required,
    a_new_default_shows_in_stored_objects,
    a_narrower_schema_hides_what_it_does_not_know,
    int_or_string_takes_both,
    numbers_keep_their_kind,
    unknown_fields_of_built_in_kinds_are_dropped,
}
