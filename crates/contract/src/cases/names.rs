//! Names, generated names, labels and annotations: what is well-formed.

use serde_json::{Value, json};

use crate::{
    Outcome, World,
    crd::{Crd, widget},
    json::{Json, cases, cause, check, equal},
    samples::{config_map, labelled, role, service},
};

fn generated(prefix: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": prefix}})
}

async fn a_generated_name_has_the_prefix_and_five_characters(w: World) -> Outcome {
    let made = w.config_maps().create(&generated("job-")).await?.is(201)?;
    let suffix = made.name().strip_prefix("job-").unwrap_or_default();
    equal!(suffix.len(), 5);
    equal!(made.text("metadata/generateName"), "job-");
    check!(suffix.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "{suffix}");
    Ok(())
}

async fn generated_names_differ(w: World) -> Outcome {
    let one = w.config_maps().create(&generated("job-")).await?.ok()?;
    let two = w.config_maps().create(&generated("job-")).await?.ok()?;
    check!(one.name() != two.name(), "{}", one.name());
    Ok(())
}

async fn a_name_wins_over_a_generated_one(w: World) -> Outcome {
    let mut body = generated("job-");
    body.set("metadata/name", "mine");
    equal!(w.config_maps().create(&body).await?.is(201)?.name(), "mine");
    Ok(())
}

async fn a_long_prefix_is_cut(w: World) -> Outcome {
    let made = w.config_maps().create(&generated(&"x".repeat(80))).await?.is(201)?;
    equal!(made.name().len(), 63);
    Ok(())
}

async fn custom_objects_can_have_generated_names(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    let mut body = widget(&w, "", json!({}));
    body.remove("metadata/name");
    body.set("metadata/generateName", "w-");
    let made = widgets.create(&body).await?.is(201)?;
    check!(made.name().starts_with("w-") && made.name().len() == 7, "{}", made.name());
    Ok(())
}

async fn an_object_needs_a_name(w: World) -> Outcome {
    let status = w.config_maps().create(&json!({"metadata": {}})).await?.refused(422, "Invalid")?;
    check!(!cause(&status, "metadata.name").is_null(), "{status}");
    Ok(())
}

async fn a_name_is_a_dns_name(w: World) -> Outcome {
    let too_long = "x".repeat(254);
    for wrong in ["Upper", "under_score", "-start", "end-", "a b", "a..b", "ä", too_long.as_str()] {
        let status = w.config_maps().create(&config_map(wrong, json!({}))).await?.refused(422, "Invalid")?;
        equal!(cause(&status, "metadata.name").text("reason"), "FieldValueInvalid");
    }
    let long = "x".repeat(253);
    for right in ["a.b-c.d", "0", long.as_str()] {
        w.config_maps().create(&config_map(right, json!({}))).await?.is(201)?;
    }
    Ok(())
}

async fn a_custom_name_is_a_dns_name(w: World) -> Outcome {
    let widgets = Crd::open(&w).install(&w).await?;
    widgets.create(&widget(&w, "a.b", json!({}))).await?.is(201)?;
    widgets.create(&widget(&w, "A", json!({}))).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_service_name_is_one_dns_label(w: World) -> Outcome {
    for wrong in ["a.b", "x-", &"x".repeat(64)] {
        w.services().create(&service(wrong, json!({"clusterIP": "None"}))).await?.refused(422, "Invalid")?;
    }
    Ok(())
}

async fn a_namespace_name_is_one_dns_label(w: World) -> Outcome {
    for wrong in ["a.b", &"x".repeat(64)] {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": wrong}});
        w.namespaces().create(&body).await?.refused(422, "Invalid")?;
    }
    Ok(())
}

async fn a_role_name_is_a_path_segment(w: World) -> Outcome {
    let roles = w.resource("rbac.authorization.k8s.io/v1", "roles");
    roles.create(&role("system:Some.Role", json!([]))).await?.is(201)?;
    for wrong in ["a/b", "a%b", "..", "."] {
        roles.create(&role(wrong, json!([]))).await?.refused(422, "Invalid")?;
    }
    Ok(())
}

async fn labels_are_checked(w: World) -> Outcome {
    let long = "x".repeat(64);
    for (key, value) in
        [("a b", "1"), ("-a", "1"), ("a/b/c", "1"), ("a", "b c"), ("a", "-b"), ("a", long.as_str())]
    {
        let status =
            w.config_maps().create(&labelled("a", json!({key: value}))).await?.refused(422, "Invalid")?;
        check!(!cause(&status, "metadata.labels").is_null(), "{status}");
    }
    let fine = json!({"a": "", "a.b/c_D": "x_Y.z-1"});
    w.config_maps().create(&labelled("a", fine)).await?.is(201)?;
    Ok(())
}

async fn annotations_are_checked_in_key_and_size(w: World) -> Outcome {
    let with = |key: &str, value: String| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": {key: value}}});
    w.config_maps().create(&with("a b", "1".to_owned())).await?.refused(422, "Invalid")?;
    w.config_maps().create(&with("a", "x".repeat(256 * 1024 + 1))).await?.refused(422, "Invalid")?;
    w.config_maps().create(&with("a", "any text\n{}".to_owned())).await?.is(201)?;
    Ok(())
}

async fn keys_of_a_config_map_are_checked(w: World) -> Outcome {
    for wrong in ["a b", "a/b", ".", ".."] {
        w.config_maps().create(&config_map("a", json!({wrong: "1"}))).await?.refused(422, "Invalid")?;
    }
    w.config_maps().create(&config_map("a", json!({"a.b_C-1": "1", ".hidden": "1"}))).await?.is(201)?;
    Ok(())
}

cases! { "names":
    a_generated_name_has_the_prefix_and_five_characters,
    generated_names_differ,
    a_name_wins_over_a_generated_one,
    a_long_prefix_is_cut,
    custom_objects_can_have_generated_names,
    an_object_needs_a_name,
    a_name_is_a_dns_name,
    a_custom_name_is_a_dns_name,
    a_service_name_is_one_dns_label,
    a_namespace_name_is_one_dns_label,
    a_role_name_is_a_path_segment,
    labels_are_checked,
    annotations_are_checked_in_key_and_size,
    keys_of_a_config_map_are_checked,
}
