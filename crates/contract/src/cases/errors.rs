//! Refusals: the Status object, its reasons, details and causes.

use serde_json::json;

use crate::{
    Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, check, equal},
    samples::{config_map, deployment},
};

async fn a_refusal_is_a_status(w: World) -> Outcome {
    let reply = w.config_maps().get("a").await?;
    let told = reply.headers.get("content-type").and_then(|v| v.to_str().ok()).unwrap_or_default();
    check!(told.starts_with("application/json"), "content-type {told}");
    let status = reply.is(404)?;
    equal!(
        status,
        {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404, "reason": "NotFound",
            "message": "configmaps \"a\" not found", "details": {"name": "a", "kind": "configmaps"},
        }
    );
    Ok(())
}

async fn a_refusal_names_the_group(w: World) -> Outcome {
    let status = w.deployments().get("a").await?.refused(404, "NotFound")?;
    equal!(status.at("details"), {"name": "a", "group": "apps", "kind": "deployments"});
    equal!(status.text("message"), r#"deployments.apps "a" not found"#);
    Ok(())
}

async fn a_refusal_about_a_custom_object_names_its_group(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    let status = widgets.get("a").await?.refused(404, "NotFound")?;
    equal!(status.at("details"), {"name": "a", "group": w.group(), "kind": "widgets"});
    widgets.create(&widget(&w, "a", json!({}))).await?.ok()?;
    let status = widgets.create(&widget(&w, "a", json!({}))).await?.refused(409, "AlreadyExists")?;
    equal!(status.at("details"), {"name": "a", "group": w.group(), "kind": "widgets"});
    Ok(())
}

async fn an_invalid_object_is_told_field_by_field(w: World) -> Outcome {
    let mut body = deployment("a");
    body.set("spec/replicas", -1);
    body.set("spec/template/spec/containers/0/image", "");
    let status = w.deployments().create(&body).await?.refused(422, "Invalid")?;
    equal!(status.at("details/kind"), "Deployment");
    equal!(status.at("details/group"), "apps");
    equal!(status.at("details/name"), "a");
    let mut causes: Vec<String> = status
        .list("details/causes")
        .iter()
        .map(|c| format!("{} {}", c.text("reason"), c.text("field")))
        .collect();
    causes.sort_unstable();
    equal!(
        causes,
        ["FieldValueInvalid spec.replicas", "FieldValueRequired spec.template.spec.containers[0].image"]
    );
    Ok(())
}

async fn an_invalid_object_is_told_in_one_message(w: World) -> Outcome {
    let mut body = config_map("Bad_Name", json!({}));
    body.set("metadata/labels", json!({"a b": "1"}));
    let status = w.config_maps().create(&body).await?.refused(422, "Invalid")?;
    let message = status.text("message");
    check!(message.starts_with(r#"ConfigMap "Bad_Name" is invalid: ["#), "{message}");
    check!(message.contains("metadata.name: Invalid value: \"Bad_Name\""), "{message}");
    check!(message.contains("metadata.labels: Invalid value: \"a b\""), "{message}");
    Ok(())
}

async fn a_cause_says_value_and_rule(w: World) -> Outcome {
    let spec = json!({"type": "object", "properties": {"size": {"type": "string", "enum": ["S", "L"]}}});
    let widgets = Crd::new(&w, spec).install(&w).await?;
    let status = widgets.create(&widget(&w, "a", json!({"size": "M"}))).await?.refused(422, "Invalid")?;
    equal!(
        status.at("details/causes"),
        [{
            "reason": "FieldValueNotSupported", "field": "spec.size",
            "message": "Unsupported value: \"M\": supported values: \"S\", \"L\"",
        }]
    );
    Ok(())
}

async fn a_required_field_is_told_as_such(w: World) -> Outcome {
    let spec = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let widgets = Crd::new(&w, spec).install(&w).await?;
    let status = widgets.create(&widget(&w, "a", json!({}))).await?.refused(422, "Invalid")?;
    equal!(
        status.at("details/causes"),
        [{"reason": "FieldValueRequired", "field": "spec.n", "message": "Required value"}]
    );
    Ok(())
}

async fn a_conflict_of_versions_is_told(w: World) -> Outcome {
    let old = w.deployments().create(&deployment("a")).await?.ok()?;
    w.deployments().merge("a", &json!({"metadata": {"labels": {"x": "1"}}})).await?.ok()?;
    let status = w.deployments().replace(&old).await?.refused(409, "Conflict")?;
    let told = "Operation cannot be fulfilled on deployments.apps \"a\": the object has been modified; \
        please apply your changes to the latest version and try again";
    equal!(status.text("message"), told);
    equal!(status.at("details"), {"name": "a", "group": "apps", "kind": "deployments"});
    Ok(())
}

async fn a_conflict_of_managers_is_told(w: World) -> Outcome {
    w.config_maps().apply("m", &config_map("a", json!({"k": "1"}))).await?.ok()?;
    let status =
        w.config_maps().apply("n", &config_map("a", json!({"k": "2"}))).await?.refused(409, "Conflict")?;
    equal!(status.text("message"), r#"Apply failed with 1 conflict: conflict with "m": .data.k"#);
    equal!(
        status.at("details/causes"),
        [{"reason": "FieldManagerConflict", "field": ".data.k", "message": r#"conflict with "m""#}]
    );
    Ok(())
}

async fn a_success_of_delete_is_a_status_too(w: World) -> Outcome {
    let made = w.config_maps().create(&config_map("a", json!({}))).await?.ok()?;
    equal!(
        w.config_maps().delete("a").await?.is(200)?,
        {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": {"name": "a", "kind": "configmaps", "uid": made.uid()},
        }
    );
    Ok(())
}

cases! { "errors":
    a_refusal_is_a_status,
    a_refusal_names_the_group,
    a_refusal_about_a_custom_object_names_its_group,
    an_invalid_object_is_told_field_by_field,
    an_invalid_object_is_told_in_one_message,
    a_cause_says_value_and_rule,
    a_required_field_is_told_as_such,
    a_conflict_of_versions_is_told,
    a_conflict_of_managers_is_told,
    a_success_of_delete_is_a_status_too,
}
