//! fieldValidation: unknown fields are refused, warned about, or dropped in silence.

use serde_json::json;

use crate::{
    Failure, Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal},
    resource::{JSON_PATCH, Resource},
    samples::{config_map, deployment},
};

fn strict(resource: &Resource) -> Resource {
    resource.with("fieldValidation", "Strict")
}

async fn numbered(w: &World) -> Result<Resource, Failure> {
    let spec = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    Crd::new(w, spec).install(w).await
}

async fn strict_refuses_unknown_fields(w: World) -> Outcome {
    let mut body = config_map("a", json!({}));
    body.set("unknown", 1);
    let status = strict(&w.config_maps()).create(&body).await?.refused(400, "BadRequest")?;
    check!(status.text("message").contains(r#"strict decoding error: unknown field "unknown""#), "{status}");
    check!(!w.config_maps().exists("a").await?, "it was stored");
    Ok(())
}

async fn strict_names_the_path(w: World) -> Outcome {
    let mut body = deployment("a");
    body.set("spec/template/spec/containers/0/unknown", 1);
    body.set("spec/other", 1);
    let status = strict(&w.deployments()).create(&body).await?.refused(400, "BadRequest")?;
    for path in ["spec.template.spec.containers[0].unknown", "spec.other"] {
        check!(status.text("message").contains(&format!("unknown field \"{path}\"")), "{status}");
    }
    Ok(())
}

async fn strict_accepts_what_is_known(w: World) -> Outcome {
    strict(&w.deployments()).create(&deployment("a")).await?.is(201)?;
    let widgets = numbered(&w).await?;
    strict(&widgets).create(&widget(&w, "a", json!({"n": 1}))).await?.is(201)?;
    Ok(())
}

async fn strict_refuses_unknown_fields_of_custom_objects(w: World) -> Outcome {
    let widgets = numbered(&w).await?;
    let body = widget(&w, "a", json!({"n": 1, "unknown": 1}));
    let status = strict(&widgets).create(&body).await?.refused(400, "BadRequest")?;
    check!(status.text("message").contains(r#"unknown field "spec.unknown""#), "{status}");
    Ok(())
}

async fn strict_refuses_unknown_metadata_of_custom_objects(w: World) -> Outcome {
    let widgets = numbered(&w).await?;
    let mut body = widget(&w, "a", json!({"n": 1}));
    body.set("metadata/unknown", "x");
    strict(&widgets).create(&body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn strict_accepts_anything_where_anything_is_preserved(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    strict(&widgets).create(&widget(&w, "a", json!({"any": {"thing": 1}}))).await?.is(201)?;
    Ok(())
}

async fn strict_holds_for_replace_and_patches(w: World) -> Outcome {
    let widgets = numbered(&w).await?;
    let mut object = widgets.create(&widget(&w, "a", json!({"n": 1}))).await?.ok()?;
    object.set("spec/unknown", 1);
    strict(&widgets).replace(&object).await?.refused(400, "BadRequest")?;
    equal!(strict(&widgets).merge("a", &json!({"spec": {"unknown": 1}})).await?.code / 100, 4);
    let patch = json!([{"op": "add", "path": "/spec/unknown", "value": 1}]);
    equal!(strict(&widgets).patch("a", JSON_PATCH, &patch).await?.code / 100, 4);
    Ok(())
}

async fn warn_warns_and_drops(w: World) -> Outcome {
    let mut body = config_map("a", json!({}));
    body.set("unknown", 1);
    let reply = w.config_maps().with("fieldValidation", "Warn").create(&body).await?;
    let warnings = reply.warnings();
    check!(
        warnings.iter().any(|told| told.starts_with("299 ") && told.contains(r#"unknown field \"unknown\""#)),
        "{warnings:?}"
    );
    check!(!reply.is(201)?.has("unknown"), "it was stored");
    Ok(())
}

async fn warn_is_the_default(w: World) -> Outcome {
    let widgets = numbered(&w).await?;
    let reply = widgets.create(&widget(&w, "a", json!({"unknown": 1}))).await?;
    let warnings = reply.warnings();
    check!(warnings.iter().any(|told| told.contains(r#"unknown field \"spec.unknown\""#)), "{warnings:?}");
    reply.is(201)?;
    Ok(())
}

async fn ignore_drops_in_silence(w: World) -> Outcome {
    let mut body = config_map("a", json!({}));
    body.set("unknown", 1);
    let reply = w.config_maps().with("fieldValidation", "Ignore").create(&body).await?;
    equal!(reply.warnings().len(), 0);
    check!(!reply.is(201)?.has("unknown"), "it was stored");
    Ok(())
}

async fn a_clean_write_has_no_warnings(w: World) -> Outcome {
    let reply = w.config_maps().create(&config_map("a", json!({"k": "v"}))).await?;
    equal!(reply.warnings().len(), 0);
    Ok(())
}

async fn an_unknown_level_is_refused(w: World) -> Outcome {
    let odd = w.config_maps().with("fieldValidation", "Pedantic");
    odd.create(&config_map("a", json!({}))).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn an_apply_of_an_unknown_field_is_refused(w: World) -> Outcome {
    let mut body = config_map("a", json!({"k": "v"}));
    body.set("unknown", 1);
    let reply = strict(&w.config_maps()).apply("m", &body).await?;
    check!(reply.code >= 400, "{} {}", reply.code, reply.body);
    check!(!w.config_maps().exists("a").await?, "it was stored");
    Ok(())
}

cases! { "field validation":
    strict_refuses_unknown_fields,
    strict_names_the_path,
    strict_accepts_what_is_known,
    strict_refuses_unknown_fields_of_custom_objects,
    strict_refuses_unknown_metadata_of_custom_objects,
    strict_accepts_anything_where_anything_is_preserved,
    strict_holds_for_replace_and_patches,
    warn_warns_and_drops,
    warn_is_the_default,
    ignore_drops_in_silence,
    a_clean_write_has_no_warnings,
    an_unknown_level_is_refused,
    an_apply_of_an_unknown_field_is_refused,
}
