//! Strategic merge patch: lists merged by key, and the directives.

use serde_json::{Value, json};

use crate::{
    Failure, Outcome, World,
    json::{Json, cases, check, equal},
    resource::STRATEGIC_PATCH,
    samples::{config_map, deployment, service, with_finalizers},
};

/// A Deployment with two containers, patched in its pod template.
async fn patched(w: &World, pod: Value) -> Result<Value, Failure> {
    let mut body = deployment("a");
    body.set(
        "spec/template/spec/containers",
        json!([
            {"name": "main", "image": "example.test/main:1", "args": ["--x"], "env": [{"name": "A", "value": "1"}]},
            {"name": "side", "image": "example.test/side:1"},
        ]),
    );
    body.set("spec/template/spec/volumes", json!([{"name": "data", "emptyDir": {}}]));
    body.set("spec/template/spec/nodeSelector", json!({"x": "1"}));
    body.set("spec/template/spec/tolerations", json!([{"key": "a", "operator": "Exists"}]));
    w.deployments().create(&body).await?.ok()?;
    let patch = json!({"spec": {"template": {"spec": pod}}});
    let now = w.deployments().patch("a", STRATEGIC_PATCH, &patch).await?.is(200)?;
    Ok(now.at("spec/template/spec").clone())
}

fn container_names(pod: &Value) -> Vec<&str> {
    pod.list("containers").iter().map(|c| c.text("name")).collect()
}

fn container<'a>(pod: &'a Value, name: &str) -> &'a Value {
    pod.list("containers").iter().find(|c| c.text("name") == name).unwrap_or(&Value::Null)
}

async fn items_are_merged_by_their_key(w: World) -> Outcome {
    let pod = patched(&w, json!({"containers": [{"name": "side", "image": "example.test/side:2"}]})).await?;
    equal!(container_names(&pod).len(), 2);
    equal!(container(&pod, "side").text("image"), "example.test/side:2");
    equal!(container(&pod, "main").text("image"), "example.test/main:1");
    Ok(())
}

async fn an_item_with_a_new_key_is_added(w: World) -> Outcome {
    let pod =
        patched(&w, json!({"containers": [{"name": "third", "image": "example.test/third:1"}]})).await?;
    let mut names = container_names(&pod);
    names.sort_unstable();
    equal!(names, ["main", "side", "third"]);
    Ok(())
}

async fn patch_delete_removes_an_item(w: World) -> Outcome {
    let pod = patched(&w, json!({"containers": [{"name": "side", "$patch": "delete"}]})).await?;
    equal!(container_names(&pod), ["main"]);
    Ok(())
}

async fn patch_replace_replaces_a_list(w: World) -> Outcome {
    let only = json!([{"$patch": "replace"}, {"name": "only", "image": "example.test/only:1"}]);
    let pod = patched(&w, json!({"containers": only})).await?;
    equal!(container_names(&pod), ["only"]);
    Ok(())
}

async fn patch_replace_replaces_a_map(w: World) -> Outcome {
    let pod = patched(&w, json!({"nodeSelector": {"$patch": "replace", "y": "2"}})).await?;
    equal!(pod.at("nodeSelector"), {"y": "2"});
    Ok(())
}

async fn patch_delete_empties_a_map(w: World) -> Outcome {
    let pod = patched(&w, json!({"nodeSelector": {"$patch": "delete"}})).await?;
    check!(pod.at("nodeSelector").as_object().is_none_or(serde_json::Map::is_empty), "{pod}");
    Ok(())
}

async fn null_removes_a_key_of_a_map(w: World) -> Outcome {
    let pod = patched(&w, json!({"nodeSelector": {"x": null, "y": "2"}})).await?;
    equal!(pod.at("nodeSelector"), {"y": "2"});
    Ok(())
}

async fn nested_lists_are_merged_by_their_key(w: World) -> Outcome {
    let env = json!([{"name": "A", "value": "2"}, {"name": "B", "value": "1"}]);
    let pod = patched(&w, json!({"containers": [{"name": "main", "env": env}]})).await?;
    let mut vars: Vec<String> = container(&pod, "main")
        .list("env")
        .iter()
        .map(|v| format!("{}={}", v.text("name"), v.text("value")))
        .collect();
    vars.sort_unstable();
    equal!(vars, ["A=2", "B=1"]);
    Ok(())
}

async fn lists_without_a_key_are_replaced(w: World) -> Outcome {
    let pod = patched(
        &w,
        json!({
            "containers": [{"name": "main", "args": ["--y"]}],
            "tolerations": [{"key": "b", "operator": "Exists"}],
        }),
    )
    .await?;
    equal!(container(&pod, "main").at("args"), ["--y"]);
    equal!(pod.list("tolerations").iter().map(|t| t.text("key")).collect::<Vec<_>>(), ["b"]);
    Ok(())
}

async fn the_order_of_items_can_be_set(w: World) -> Outcome {
    let order = json!([{"name": "side"}, {"name": "main"}]);
    let pod = patched(&w, json!({"$setElementOrder/containers": order})).await?;
    equal!(container_names(&pod), ["side", "main"]);
    Ok(())
}

async fn retain_keys_drops_the_other_keys(w: World) -> Outcome {
    w.deployments().create(&deployment("a")).await?.ok()?;
    let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    let now = w.deployments().patch("a", STRATEGIC_PATCH, &patch).await?.is(200)?;
    equal!(now.at("spec/strategy"), {"type": "Recreate"});
    Ok(())
}

async fn values_can_be_deleted_from_a_list_of_scalars(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &["capstan.dev/x", "capstan.dev/y"])).await?.ok()?;
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["capstan.dev/x"]}});
    let now = w.config_maps().patch("a", STRATEGIC_PATCH, &patch).await?.is(200)?;
    equal!(now.at("metadata/finalizers"), ["capstan.dev/y"]);
    Ok(())
}

async fn finalizers_are_merged_as_a_set(w: World) -> Outcome {
    w.config_maps().create(&with_finalizers("a", &["capstan.dev/x"])).await?.ok()?;
    let patch = json!({"metadata": {"finalizers": ["capstan.dev/y", "capstan.dev/x"]}});
    let now = w.config_maps().patch("a", STRATEGIC_PATCH, &patch).await?.is(200)?;
    let mut finalizers: Vec<&str> =
        now.list("metadata/finalizers").iter().filter_map(Value::as_str).collect();
    finalizers.sort_unstable();
    equal!(finalizers, ["capstan.dev/x", "capstan.dev/y"]);
    Ok(())
}

async fn ports_of_a_service_are_merged_by_port(w: World) -> Outcome {
    let spec = json!({"clusterIP": "None", "ports": [{"name": "x", "port": 1}, {"name": "y", "port": 2}]});
    w.services().create(&service("a", spec)).await?.ok()?;
    let patch = json!({"spec": {"ports": [{"port": 2, "name": "z"}]}});
    let now = w.services().patch("a", STRATEGIC_PATCH, &patch).await?.is(200)?;
    let names: Vec<&str> = now.list("spec/ports").iter().map(|p| p.text("name")).collect();
    equal!(names.len(), 2);
    check!(names.contains(&"x") && names.contains(&"z"), "{names:?}");
    Ok(())
}

async fn plain_maps_are_merged(w: World) -> Outcome {
    w.config_maps().create(&config_map("a", json!({"k": "v", "l": "v"}))).await?.ok()?;
    let patch = json!({"data": {"k": null, "m": "v"}});
    let now = w.config_maps().patch("a", STRATEGIC_PATCH, &patch).await?.is(200)?;
    equal!(now.at("data"), {"l": "v", "m": "v"});
    Ok(())
}

async fn volumes_are_merged_by_name(w: World) -> Outcome {
    let pod = patched(&w, json!({"volumes": [{"name": "more", "emptyDir": {}}]})).await?;
    let mut names: Vec<&str> = pod.list("volumes").iter().map(|v| v.text("name")).collect();
    names.sort_unstable();
    equal!(names, ["data", "more"]);
    Ok(())
}

cases! { "strategic merge":
    items_are_merged_by_their_key,
    an_item_with_a_new_key_is_added,
    patch_delete_removes_an_item,
    patch_replace_replaces_a_list,
    patch_replace_replaces_a_map,
    patch_delete_empties_a_map,
    null_removes_a_key_of_a_map,
    nested_lists_are_merged_by_their_key,
    lists_without_a_key_are_replaced,
    the_order_of_items_can_be_set,
    retain_keys_drops_the_other_keys,
    values_can_be_deleted_from_a_list_of_scalars,
    finalizers_are_merged_as_a_set,
    ports_of_a_service_are_merged_by_port,
    plain_maps_are_merged,
    volumes_are_merged_by_name,
}
