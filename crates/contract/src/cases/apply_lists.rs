//! Server-side apply of lists and maps: by key, as a set, or as one piece.

use serde_json::{Value, json};

use crate::{
    Failure, Outcome, World,
    crd::{Crd, widget},
    json::{Json, applied, cases, check, equal},
    resource::Resource,
    samples::{config_map, deployment, labelled, service, with_finalizers},
};

/// Widgets with a list and a map of every type.
async fn widgets(w: &World) -> Result<Resource, Failure> {
    let strings = json!({"type": "string"});
    let item =
        json!({"type": "object", "required": ["name"], "properties": {"name": strings, "value": strings}});
    let spec = json!({
        "type": "object",
        "properties": {
            "byKey": {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
            "set": {"type": "array", "items": strings, "x-kubernetes-list-type": "set"},
            "atomic": {"type": "array", "items": strings, "x-kubernetes-list-type": "atomic"},
            "plain": {"type": "array", "items": strings},
            "granularMap": {"type": "object", "additionalProperties": strings},
            "atomicMap": {"type": "object", "additionalProperties": strings, "x-kubernetes-map-type": "atomic"},
        },
    });
    Crd::new(w, spec).install(w).await
}

fn contested(status: &Value) -> Vec<&str> {
    status.list("details/causes").iter().map(|c| c.text("field")).collect()
}

async fn items_with_a_key_belong_to_those_who_apply_them(w: World) -> Outcome {
    let widgets = widgets(&w).await?;
    let item = |name: &str| widget(&w, "a", json!({"byKey": [{"name": name, "value": name}]}));
    widgets.apply("m", &item("m")).await?.ok()?;
    let now = widgets.apply("n", &item("n")).await?.ok()?;
    equal!(now.at("spec/byKey"), [{"name": "m", "value": "m"}, {"name": "n", "value": "n"}]);
    equal!(
        applied(&now, "n"),
        {"f:spec": {"f:byKey": {"k:{\"name\":\"n\"}": {".": {}, "f:name": {}, "f:value": {}}}}}
    );
    Ok(())
}

async fn an_item_with_a_key_goes_when_its_owner_leaves_it_out(w: World) -> Outcome {
    let widgets = widgets(&w).await?;
    let items = |names: &[&str]| {
        let items: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        widget(&w, "a", json!({"byKey": items}))
    };
    widgets.apply("m", &items(&["m1", "m2"])).await?.ok()?;
    widgets.apply("n", &items(&["n"])).await?.ok()?;
    let now = widgets.apply("m", &items(&["m2"])).await?.ok()?;
    equal!(now.at("spec/byKey"), [{"name": "m2"}, {"name": "n"}]);
    Ok(())
}

async fn an_item_with_a_key_stays_while_another_owns_a_field_of_it(w: World) -> Outcome {
    let widgets = widgets(&w).await?;
    widgets.apply("m", &widget(&w, "a", json!({"byKey": [{"name": "x"}]}))).await?.ok()?;
    widgets.apply("n", &widget(&w, "a", json!({"byKey": [{"name": "x", "value": "1"}]}))).await?.ok()?;
    let now = widgets.apply("m", &widget(&w, "a", json!({"byKey": []}))).await?.ok()?;
    equal!(now.at("spec/byKey"), [{"name": "x", "value": "1"}]);
    Ok(())
}

async fn a_conflict_inside_an_item_names_its_key(w: World) -> Outcome {
    let widgets = widgets(&w).await?;
    let value = |value: &str| widget(&w, "a", json!({"byKey": [{"name": "x", "value": value}]}));
    widgets.apply("m", &value("1")).await?.ok()?;
    let status = widgets.apply("n", &value("2")).await?.refused(409, "Conflict")?;
    equal!(contested(&status), [r#".spec.byKey[name="x"].value"#]);
    Ok(())
}

async fn the_same_key_twice_is_refused(w: World) -> Outcome {
    let widgets = widgets(&w).await?;
    let twice = widget(&w, "a", json!({"byKey": [{"name": "x"}, {"name": "x"}]}));
    let reply = widgets.apply("m", &twice).await?;
    check!(reply.code >= 400, "{} {}", reply.code, reply.body);
    check!(!widgets.exists("a").await?, "the object was made");
    Ok(())
}

async fn values_of_a_set_belong_to_those_who_apply_them(w: World) -> Outcome {
    let widgets = widgets(&w).await?;
    widgets.apply("m", &widget(&w, "a", json!({"set": ["m", "both"]}))).await?.ok()?;
    let both = widgets.apply("n", &widget(&w, "a", json!({"set": ["both", "n"]}))).await?.ok()?;
    equal!(both.list("spec/set").len(), 3);
    equal!(applied(&both, "n"), {"f:spec": {"f:set": {"v:\"both\"": {}, "v:\"n\"": {}}}});
    let now = widgets.apply("m", &widget(&w, "a", json!({"set": []}))).await?.ok()?;
    equal!(now.at("spec/set"), ["both", "n"]);
    Ok(())
}

async fn an_atomic_list_belongs_to_one_as_a_whole(w: World) -> Outcome {
    let widgets = widgets(&w).await?;
    let made = widgets.apply("m", &widget(&w, "a", json!({"atomic": ["x"]}))).await?.ok()?;
    equal!(applied(&made, "m"), {"f:spec": {"f:atomic": {}}});
    let other = widget(&w, "a", json!({"atomic": ["y"]}));
    let status = widgets.apply("n", &other).await?.refused(409, "Conflict")?;
    equal!(contested(&status), [".spec.atomic"]);
    let now = widgets.force("n", &other).await?.ok()?;
    equal!(now.at("spec/atomic"), ["y"]);
    check!(!applied(&now, "m").has("f:spec/f:atomic"), "{now}");
    Ok(())
}

async fn a_list_that_says_nothing_is_atomic(w: World) -> Outcome {
    let widgets = widgets(&w).await?;
    widgets.apply("m", &widget(&w, "a", json!({"plain": ["x"]}))).await?.ok()?;
    let other = widget(&w, "a", json!({"plain": ["x", "y"]}));
    let status = widgets.apply("n", &other).await?.refused(409, "Conflict")?;
    equal!(contested(&status), [".spec.plain"]);
    Ok(())
}

async fn an_atomic_map_belongs_to_one_as_a_whole(w: World) -> Outcome {
    let widgets = widgets(&w).await?;
    let made = widgets.apply("m", &widget(&w, "a", json!({"atomicMap": {"x": "1"}}))).await?.ok()?;
    equal!(applied(&made, "m"), {"f:spec": {"f:atomicMap": {}}});
    let other = widget(&w, "a", json!({"atomicMap": {"y": "1"}}));
    let status = widgets.apply("n", &other).await?.refused(409, "Conflict")?;
    equal!(contested(&status), [".spec.atomicMap"]);
    equal!(widgets.force("n", &other).await?.ok()?.at("spec/atomicMap"), {"y": "1"});
    Ok(())
}

async fn a_plain_map_is_owned_key_by_key(w: World) -> Outcome {
    let widgets = widgets(&w).await?;
    widgets.apply("m", &widget(&w, "a", json!({"granularMap": {"m": "1"}}))).await?.ok()?;
    let now = widgets.apply("n", &widget(&w, "a", json!({"granularMap": {"n": "1"}}))).await?.ok()?;
    equal!(now.at("spec/granularMap"), {"m": "1", "n": "1"});
    equal!(applied(&now, "n"), {"f:spec": {"f:granularMap": {"f:n": {}}}});
    Ok(())
}

async fn containers_are_merged_by_name(w: World) -> Outcome {
    w.deployments().apply("m", &deployment("a")).await?.ok()?;
    let sidecar = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"containers": [{"name": "side", "image": "example.test/side:1"}]}}},
    });
    let now = w.deployments().apply("n", &sidecar).await?.ok()?;
    let containers = now.list("spec/template/spec/containers");
    equal!(containers.iter().map(|c| c.text("name")).collect::<Vec<_>>(), ["main", "side"]);
    let back = w.deployments().apply("n", &without_containers("a")).await?.ok()?;
    equal!(back.list("spec/template/spec/containers").len(), 1);
    Ok(())
}

fn without_containers(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": {"n": "1"}}})
}

async fn environment_variables_are_merged_by_name(w: World) -> Outcome {
    let env = |name: &str| {
        let mut body = deployment("a");
        body.set("spec/template/spec/containers/0/env", json!([{"name": name, "value": "1"}]));
        body
    };
    w.deployments().apply("m", &env("M")).await?.ok()?;
    let now = w.deployments().apply("n", &env("N")).await?.ok()?;
    let vars = now.list("spec/template/spec/containers/0/env");
    equal!(vars.iter().map(|v| v.text("name")).collect::<Vec<_>>(), ["M", "N"]);
    Ok(())
}

async fn ports_are_merged_by_port_and_protocol_with_its_default(w: World) -> Outcome {
    let ports = |ports: Value| service("a", json!({"clusterIP": "None", "ports": ports}));
    w.services().apply("m", &ports(json!([{"name": "dns", "port": 53, "protocol": "UDP"}]))).await?.ok()?;
    let now = w.services().apply("n", &ports(json!([{"name": "dns-tcp", "port": 53}]))).await?.ok()?;
    equal!(now.list("spec/ports").len(), 2);
    let fields = applied(&now, "n").at("f:spec/f:ports");
    check!(fields.has(r#"k:{"port":53,"protocol":"TCP"}"#), "{fields}");
    Ok(())
}

async fn container_arguments_are_atomic(w: World) -> Outcome {
    let args = |args: &[&str]| {
        let mut body = deployment("a");
        body.set("spec/template/spec/containers/0/args", json!(args));
        body
    };
    w.deployments().apply("m", &args(&["--x"])).await?.ok()?;
    let status = w.deployments().apply("n", &args(&["--x", "--y"])).await?.refused(409, "Conflict")?;
    equal!(contested(&status), [r#".spec.template.spec.containers[name="main"].args"#]);
    Ok(())
}

async fn a_selector_of_a_service_is_atomic(w: World) -> Outcome {
    let selector = |selector: Value| service("a", json!({"clusterIP": "None", "selector": selector}));
    w.services().apply("m", &selector(json!({"app": "x"}))).await?.ok()?;
    let other = selector(json!({"tier": "y"}));
    w.services().apply("n", &other).await?.refused(409, "Conflict")?;
    equal!(w.services().force("n", &other).await?.ok()?.at("spec/selector"), {"tier": "y"});
    Ok(())
}

async fn finalizers_are_a_set(w: World) -> Outcome {
    w.config_maps().apply("m", &with_finalizers("a", &["capstan.dev/m"])).await?.ok()?;
    let now = w.config_maps().apply("n", &with_finalizers("a", &["capstan.dev/n"])).await?.ok()?;
    equal!(now.at("metadata/finalizers"), ["capstan.dev/m", "capstan.dev/n"]);
    let now = w.config_maps().apply("m", &config_map("a", json!({"k": "v"}))).await?.ok()?;
    equal!(now.at("metadata/finalizers"), ["capstan.dev/n"]);
    Ok(())
}

async fn owner_references_are_merged_by_uid(w: World) -> Outcome {
    let owned = |uid: &str| {
        let mut body = labelled("a", json!({"x": "1"}));
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uid});
        body.set("metadata/ownerReferences", json!([owner]));
        body
    };
    // As dry run: nothing may collect it.
    let live = w.config_maps().create(&config_map("o", json!({}))).await?.ok()?;
    w.config_maps().apply("m", &owned(live.uid())).await?.ok()?;
    let other = owned("11111111-1111-1111-1111-111111111111");
    let now = w.config_maps().with("dryRun", "All").apply("n", &other).await?.ok()?;
    equal!(now.list("metadata/ownerReferences").len(), 2);
    let key = format!("f:metadata/f:ownerReferences/k:{{\"uid\":\"{}\"}}", live.uid());
    check!(applied(&now, "m").has(&key), "{now}");
    Ok(())
}

async fn conditions_of_a_status_are_merged_by_type(w: World) -> Outcome {
    let text = json!({"type": "string"});
    let condition =
        json!({"type": "object", "required": ["type"], "properties": {"type": text, "status": text}});
    let schema = json!({"type": "object", "properties": {"status": {"type": "object", "properties": {
        "conditions": {
            "type": "array", "items": condition,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        },
    }}}});
    let widgets = Crd::with_schema(&w, schema).status().install(&w).await?;
    let bare =
        json!({"apiVersion": format!("{}/v1", w.group()), "kind": "Widget", "metadata": {"name": "a"}});
    widgets.create(&bare).await?.ok()?;
    for (manager, kind) in [("m", "Ready"), ("n", "Synced")] {
        let mut body = bare.clone();
        body.set("status/conditions", json!([{"type": kind, "status": "True"}]));
        widgets.status().apply(manager, &body).await?.is(200)?;
    }
    let now = widgets.get("a").await?.ok()?;
    let kinds: Vec<&str> = now.list("status/conditions").iter().map(|c| c.text("type")).collect();
    equal!(kinds, ["Ready", "Synced"]);
    Ok(())
}

async fn the_order_of_an_applied_list_is_the_appliers(w: World) -> Outcome {
    let widgets = widgets(&w).await?;
    let items = |names: [&str; 2]| {
        let items = names.map(|name| json!({"name": name}));
        widget(&w, "a", json!({"byKey": items}))
    };
    widgets.apply("m", &items(["x", "y"])).await?.ok()?;
    let now = widgets.apply("m", &items(["y", "x"])).await?.ok()?;
    equal!(now.at("spec/byKey"), [{"name": "y"}, {"name": "x"}]);
    Ok(())
}

cases! { "apply lists":
    items_with_a_key_belong_to_those_who_apply_them,
    an_item_with_a_key_goes_when_its_owner_leaves_it_out,
    an_item_with_a_key_stays_while_another_owns_a_field_of_it,
    a_conflict_inside_an_item_names_its_key,
    the_same_key_twice_is_refused,
    values_of_a_set_belong_to_those_who_apply_them,
    an_atomic_list_belongs_to_one_as_a_whole,
    a_list_that_says_nothing_is_atomic,
    an_atomic_map_belongs_to_one_as_a_whole,
    a_plain_map_is_owned_key_by_key,
    containers_are_merged_by_name,
    environment_variables_are_merged_by_name,
    ports_are_merged_by_port_and_protocol_with_its_default,
    container_arguments_are_atomic,
    a_selector_of_a_service_is_atomic,
    finalizers_are_a_set,
    owner_references_are_merged_by_uid,
    conditions_of_a_status_are_merged_by_type,
    the_order_of_an_applied_list_is_the_appliers,
}
