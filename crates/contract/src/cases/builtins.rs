//! What single built-in kinds default, normalise and refuse.

use serde_json::{Value, json};

use crate::{
    Outcome, World,
    json::{Json, cases, cause, check, equal},
    samples::{config_map, deployment, pod, secret, service, stateful_set},
};

async fn string_data_of_a_secret_becomes_data(w: World) -> Outcome {
    let mut body = secret("a", json!({"k": "text", "both": "wins"}));
    body.set("data", json!({"both": "bG9zZXM=", "other": "eA=="}));
    let made = w.secrets().create(&body).await?.is(201)?;
    equal!(made.at("data"), {"k": "dGV4dA==", "both": "d2lucw==", "other": "eA=="});
    check!(!made.has("stringData"), "{made}");
    Ok(())
}

async fn string_data_can_be_patched_in(w: World) -> Outcome {
    w.secrets().create(&secret("a", json!({"k": "old"}))).await?.ok()?;
    let now = w.secrets().merge("a", &json!({"stringData": {"k": "new"}})).await?.ok()?;
    equal!(now.at("data"), {"k": "bmV3"});
    Ok(())
}

async fn a_secret_is_opaque_unless_it_says_otherwise(w: World) -> Outcome {
    equal!(w.secrets().create(&secret("a", json!({}))).await?.ok()?.text("type"), "Opaque");
    Ok(())
}

async fn the_type_of_a_secret_is_fixed(w: World) -> Outcome {
    w.secrets().create(&secret("a", json!({}))).await?.ok()?;
    let status =
        w.secrets().merge("a", &json!({"type": "capstan.dev/other"})).await?.refused(422, "Invalid")?;
    check!(!cause(&status, "type").is_null(), "{status}");
    Ok(())
}

async fn a_tls_secret_needs_its_keys(w: World) -> Outcome {
    let mut body = secret("a", json!({"tls.crt": "x"}));
    body.set("type", "kubernetes.io/tls");
    w.secrets().create(&body).await?.refused(422, "Invalid")?;
    body.set("stringData/tls.key", "x");
    w.secrets().create(&body).await?.is(201)?;
    Ok(())
}

async fn data_of_a_secret_is_base64(w: World) -> Outcome {
    let body = json!({"metadata": {"name": "a"}, "data": {"k": "not base64!"}});
    w.secrets().create(&body).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn an_immutable_config_map_keeps_its_data(w: World) -> Outcome {
    let mut body = config_map("a", json!({"k": "v"}));
    body.set("immutable", true);
    w.config_maps().create(&body).await?.is(201)?;
    w.config_maps().merge("a", &json!({"data": {"k": "w"}})).await?.refused(422, "Invalid")?;
    w.config_maps().merge("a", &json!({"data": {"l": "w"}})).await?.refused(422, "Invalid")?;
    w.config_maps().merge("a", &json!({"immutable": false})).await?.refused(422, "Invalid")?;
    w.config_maps().merge("a", &json!({"immutable": null})).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn an_immutable_config_map_can_be_labelled_and_deleted(w: World) -> Outcome {
    let mut body = config_map("a", json!({"k": "v"}));
    body.set("immutable", true);
    w.config_maps().create(&body).await?.is(201)?;
    w.config_maps().merge("a", &json!({"metadata": {"labels": {"x": "1"}}})).await?.is(200)?;
    w.config_maps().delete("a").await?.is(200)?;
    Ok(())
}

async fn an_immutable_secret_keeps_its_data(w: World) -> Outcome {
    w.secrets().create(&secret("a", json!({"k": "v"}))).await?.ok()?;
    w.secrets().merge("a", &json!({"immutable": true})).await?.is(200)?;
    w.secrets().merge("a", &json!({"stringData": {"k": "w"}})).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_key_of_a_config_map_is_text_or_binary_not_both(w: World) -> Outcome {
    let mut body = config_map("a", json!({"k": "v"}));
    body.set("binaryData", json!({"k": "eA=="}));
    w.config_maps().create(&body).await?.refused(422, "Invalid")?;
    Ok(())
}

fn port(port: u16) -> Value {
    json!({"ports": [{"port": port}]})
}

async fn a_service_gets_an_address_and_defaults(w: World) -> Outcome {
    let made = w.services().create(&service("a", port(80))).await?.is(201)?;
    let spec = made.at("spec");
    check!(!spec.text("clusterIP").is_empty() && spec.text("clusterIP") != "None", "{spec}");
    equal!(spec.at("clusterIPs"), [spec.text("clusterIP")]);
    equal!(spec.text("type"), "ClusterIP");
    equal!(spec.text("sessionAffinity"), "None");
    equal!(spec.at("ports"), [{"port": 80, "protocol": "TCP", "targetPort": 80}]);
    equal!(spec.text("internalTrafficPolicy"), "Cluster");
    Ok(())
}

async fn the_address_of_a_service_is_fixed(w: World) -> Outcome {
    w.services().create(&service("a", port(80))).await?.ok()?;
    let status =
        w.services().merge("a", &json!({"spec": {"clusterIP": "None"}})).await?.refused(422, "Invalid")?;
    check!(!status.list("details/causes").is_empty(), "{status}");
    Ok(())
}

async fn a_replace_without_an_address_keeps_it(w: World) -> Outcome {
    let made = w.services().create(&service("a", port(80))).await?.ok()?;
    let now = w.services().replace(&service("a", port(81))).await?.is(200)?;
    equal!(now.at("spec/clusterIP"), made.at("spec/clusterIP"));
    equal!(now.at("spec/ports/0/port"), 81);
    Ok(())
}

async fn a_headless_service_has_no_address(w: World) -> Outcome {
    let made = w.services().create(&service("a", json!({"clusterIP": "None"}))).await?.is(201)?;
    equal!(made.at("spec/clusterIP"), "None");
    equal!(made.at("spec/clusterIPs"), ["None"]);
    Ok(())
}

async fn several_ports_need_names(w: World) -> Outcome {
    let unnamed = json!({"clusterIP": "None", "ports": [{"port": 1}, {"port": 2}]});
    w.services().create(&service("a", unnamed)).await?.refused(422, "Invalid")?;
    let twice = json!({"clusterIP": "None", "ports": [{"name": "x", "port": 1}, {"name": "x", "port": 2}]});
    w.services().create(&service("a", twice)).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_service_with_an_address_needs_ports(w: World) -> Outcome {
    w.services().create(&service("a", json!({}))).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_deployment_has_defaults(w: World) -> Outcome {
    let mut body = deployment("a");
    body.remove("spec/replicas");
    let spec = w.deployments().with("dryRun", "All").create(&body).await?.is(201)?.at("spec").clone();
    equal!(spec.at("replicas"), 1);
    equal!(spec.at("revisionHistoryLimit"), 10);
    equal!(spec.at("progressDeadlineSeconds"), 600);
    equal!(
        spec.at("strategy"),
        {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    );
    Ok(())
}

async fn a_pod_template_has_defaults(w: World) -> Outcome {
    let mut body = deployment("a");
    body.set("spec/template/spec/containers/0/ports", json!([{"containerPort": 80}]));
    body.set("spec/template/spec/containers/0/readinessProbe", json!({"httpGet": {"port": 80}}));
    body.set("spec/template/spec/volumes", json!([{"name": "c", "configMap": {"name": "c"}}]));
    let made = w.deployments().create(&body).await?.is(201)?;
    let pod = made.at("spec/template/spec");
    equal!(pod.text("restartPolicy"), "Always");
    equal!(pod.text("dnsPolicy"), "ClusterFirst");
    equal!(pod.text("schedulerName"), "default-scheduler");
    equal!(pod.at("terminationGracePeriodSeconds"), 30);
    equal!(pod.at("securityContext"), {});
    equal!(pod.at("volumes/0/configMap/defaultMode"), 420);
    let container = pod.at("containers/0");
    equal!(container.text("imagePullPolicy"), "IfNotPresent");
    equal!(container.text("terminationMessagePath"), "/dev/termination-log");
    equal!(container.text("terminationMessagePolicy"), "File");
    equal!(container.at("resources"), {});
    equal!(container.at("ports/0/protocol"), "TCP");
    equal!(
        container.at("readinessProbe"),
        {
            "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
            "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
        }
    );
    Ok(())
}

async fn an_image_without_a_tag_is_always_pulled(w: World) -> Outcome {
    for (name, image) in [("a", "example.test/x"), ("b", "example.test/x:latest")] {
        let mut body = deployment(name);
        body.set("spec/template/spec/containers/0/image", image);
        let made = w.deployments().create(&body).await?.ok()?;
        equal!(made.text("spec/template/spec/containers/0/imagePullPolicy"), "Always");
    }
    Ok(())
}

async fn the_selector_of_a_deployment_is_fixed(w: World) -> Outcome {
    w.deployments().create(&deployment("a")).await?.ok()?;
    let patch = json!({"spec": {
        "selector": {"matchLabels": {"app": "b"}}, "template": {"metadata": {"labels": {"app": "b"}}},
    }});
    let status = w.deployments().merge("a", &patch).await?.refused(422, "Invalid")?;
    check!(!cause(&status, "spec.selector").is_null(), "{status}");
    Ok(())
}

async fn the_selector_of_a_deployment_finds_its_pods(w: World) -> Outcome {
    let mut body = deployment("a");
    body.set("spec/template/metadata/labels/app", "other");
    let status = w.deployments().create(&body).await?.refused(422, "Invalid")?;
    check!(!cause(&status, "spec.template.metadata.labels").is_null(), "{status}");
    Ok(())
}

async fn a_pod_template_needs_containers_with_names(w: World) -> Outcome {
    let mut none = deployment("a");
    none.set("spec/template/spec/containers", json!([]));
    let status = w.deployments().create(&none).await?.refused(422, "Invalid")?;
    equal!(cause(&status, "spec.template.spec.containers").text("reason"), "FieldValueRequired");
    let mut unnamed = deployment("a");
    unnamed.set("spec/template/spec/containers/0/name", "");
    let status = w.deployments().create(&unnamed).await?.refused(422, "Invalid")?;
    equal!(cause(&status, "spec.template.spec.containers[0].name").text("reason"), "FieldValueRequired");
    let mut twice = deployment("a");
    let container = json!({"name": "main", "image": "x:1"});
    twice.set("spec/template/spec/containers", json!([container, container]));
    let status = w.deployments().create(&twice).await?.refused(422, "Invalid")?;
    equal!(cause(&status, "spec.template.spec.containers[1].name").text("reason"), "FieldValueDuplicate");
    Ok(())
}

async fn a_stateful_set_has_defaults(w: World) -> Outcome {
    let claim = json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let mut body = stateful_set("a");
    body.set("spec/volumeClaimTemplates", json!([claim]));
    let spec = w.stateful_sets().create(&body).await?.is(201)?.at("spec").clone();
    equal!(spec.text("podManagementPolicy"), "OrderedReady");
    equal!(spec.text("updateStrategy/type"), "RollingUpdate");
    equal!(spec.at("updateStrategy/rollingUpdate/partition"), 0);
    equal!(spec.at("revisionHistoryLimit"), 10);
    equal!(
        spec.at("persistentVolumeClaimRetentionPolicy"),
        {"whenDeleted": "Retain", "whenScaled": "Retain"}
    );
    equal!(spec.text("volumeClaimTemplates/0/spec/volumeMode"), "Filesystem");
    equal!(spec.text("volumeClaimTemplates/0/kind"), "PersistentVolumeClaim");
    Ok(())
}

async fn most_of_a_stateful_set_is_fixed(w: World) -> Outcome {
    w.stateful_sets().create(&stateful_set("a")).await?.ok()?;
    for patch in [
        json!({"spec": {"serviceName": "other"}}),
        json!({"spec": {"podManagementPolicy": "Parallel"}}),
        json!({"spec": {"volumeClaimTemplates": [{
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }]}}),
    ] {
        w.stateful_sets().merge("a", &patch).await?.refused(422, "Invalid")?;
    }
    Ok(())
}

async fn some_of_a_stateful_set_can_change(w: World) -> Outcome {
    w.stateful_sets().create(&stateful_set("a")).await?.ok()?;
    for patch in [
        json!({"spec": {"replicas": 1}}),
        json!({"spec": {"minReadySeconds": 1}}),
        json!({"spec": {"template": {"metadata": {"annotations": {"x": "1"}}}}}),
        json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}),
        json!({"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}}),
    ] {
        w.stateful_sets().merge("a", &patch).await?.is(200)?;
    }
    Ok(())
}

async fn quantities_are_written_one_way(w: World) -> Outcome {
    let mut body = deployment("a");
    body.set(
        "spec/template/spec/containers/0/resources",
        json!({"requests": {"cpu": "0.5", "memory": "1024Mi"}, "limits": {"cpu": "1000m", "memory": "1500M"}}),
    );
    let made = w.deployments().create(&body).await?.is(201)?;
    equal!(
        made.at("spec/template/spec/containers/0/resources"),
        {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1500M"}}
    );
    Ok(())
}

async fn quantities_written_another_way_change_nothing(w: World) -> Outcome {
    let with = |cpu: &str| {
        let mut body = stateful_set("a");
        body.set("spec/template/spec/containers/0/resources", json!({"requests": {"cpu": cpu}}));
        body
    };
    let made = w.stateful_sets().apply("m", &with("500m")).await?.ok()?;
    equal!(w.stateful_sets().apply("m", &with("0.5")).await?.ok()?.generation(), made.generation());
    Ok(())
}

async fn a_request_above_the_limit_is_refused(w: World) -> Outcome {
    let mut body = deployment("a");
    let resources = json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}});
    body.set("spec/template/spec/containers/0/resources", resources);
    w.deployments().create(&body).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn limits_of_a_pod_are_its_requests(w: World) -> Outcome {
    let pods = w.pods().await?;
    let mut body = pod("a");
    body.set("spec/containers/0/resources", json!({"limits": {"cpu": "1", "memory": "1Gi"}}));
    let made = pods.create(&body).await?.is(201)?;
    equal!(made.at("spec/containers/0/resources/requests"), {"cpu": "1", "memory": "1Gi"});
    equal!(made.text("status/phase"), "Pending");
    Ok(())
}

async fn most_of_a_pod_is_fixed(w: World) -> Outcome {
    let pods = w.pods().await?;
    let made = pods.create(&pod("a")).await?.ok()?;
    let mut other = made.clone();
    other.set("spec/containers/0/image", "example.test/main:2");
    let now = pods.replace(&other).await?.is(200)?;
    let mut other = now.clone();
    other.set("spec/containers/0/command", json!(["other"]));
    pods.replace(&other).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_lease_is_checked(w: World) -> Outcome {
    let leases = w.resource("coordination.k8s.io/v1", "leases");
    let lease = |name: &str, spec: Value| json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec});
    let time = "2026-01-02T03:04:05.678901Z";
    let good =
        json!({"holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": time, "leaseTransitions": 0});
    let made = leases.create(&lease("a", good)).await?.is(201)?;
    equal!(made.text("spec/renewTime"), time);
    leases.create(&lease("b", json!({"leaseDurationSeconds": 0}))).await?.refused(422, "Invalid")?;
    leases.create(&lease("b", json!({"leaseTransitions": -1}))).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_disruption_budget_has_one_bound(w: World) -> Outcome {
    let budgets = w.resource("policy/v1", "poddisruptionbudgets");
    let budget = |spec: Value| json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}, "spec": spec});
    let selector = json!({"matchLabels": {"app": "a"}});
    let both = json!({"minAvailable": 1, "maxUnavailable": 1, "selector": selector});
    budgets.create(&budget(both)).await?.refused(422, "Invalid")?;
    budgets.create(&budget(json!({"maxUnavailable": "50%", "selector": selector}))).await?.is(201)?;
    Ok(())
}

async fn an_event_lives_with_what_it_is_about(w: World) -> Outcome {
    let events = w.resource("v1", "events");
    let event = |namespace: &str| {
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"},
            "involvedObject": {"kind": "ConfigMap", "name": "a", "namespace": namespace},
            "reason": "Tested", "message": "a test", "type": "Normal",
        })
    };
    events.create(&event("elsewhere")).await?.refused(422, "Invalid")?;
    events.create(&event(w.namespace())).await?.is(201)?;
    let about = events.with("fieldSelector", "involvedObject.name=a,reason=Tested");
    equal!(about.list().await?.ok()?.list("items").len(), 1);
    Ok(())
}

async fn a_claim_is_fixed(w: World) -> Outcome {
    let claims = w.resource("v1", "persistentvolumeclaims");
    let body = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    let made = claims.create(&body).await?.is(201)?;
    equal!(made.text("spec/volumeMode"), "Filesystem");
    claims.merge("a", &json!({"spec": {"accessModes": ["ReadOnlyMany"]}})).await?.refused(422, "Invalid")?;
    claims.merge("a", &json!({"spec": {"storageClassName": "other"}})).await?.refused(422, "Invalid")?;
    Ok(())
}

cases! { "built-in kinds":
    string_data_of_a_secret_becomes_data,
    string_data_can_be_patched_in,
    a_secret_is_opaque_unless_it_says_otherwise,
    the_type_of_a_secret_is_fixed,
    a_tls_secret_needs_its_keys,
    data_of_a_secret_is_base64,
    an_immutable_config_map_keeps_its_data,
    an_immutable_config_map_can_be_labelled_and_deleted,
    an_immutable_secret_keeps_its_data,
    a_key_of_a_config_map_is_text_or_binary_not_both,
    a_service_gets_an_address_and_defaults,
    the_address_of_a_service_is_fixed,
    a_replace_without_an_address_keeps_it,
    a_headless_service_has_no_address,
    several_ports_need_names,
    a_service_with_an_address_needs_ports,
    a_deployment_has_defaults,
    a_pod_template_has_defaults,
    an_image_without_a_tag_is_always_pulled,
    the_selector_of_a_deployment_is_fixed,
    the_selector_of_a_deployment_finds_its_pods,
    a_pod_template_needs_containers_with_names,
    a_stateful_set_has_defaults,
    most_of_a_stateful_set_is_fixed,
    some_of_a_stateful_set_can_change,
    quantities_are_written_one_way,
    quantities_written_another_way_change_nothing,
    a_request_above_the_limit_is_refused,
    limits_of_a_pod_are_its_requests,
    most_of_a_pod_is_fixed,
    a_lease_is_checked,
    a_disruption_budget_has_one_bound,
    an_event_lives_with_what_it_is_about,
    a_claim_is_fixed,
}
