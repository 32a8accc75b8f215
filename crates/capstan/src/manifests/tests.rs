//! What the manifests promise.

use apiserver::Schema;
use serde_json::json;

use super::*;

fn kinds(objects: &[Value]) -> Vec<String> {
    objects
        .iter()
        .map(|object| format!("{} {}", object["kind"], object["metadata"]["name"]).replace('"', ""))
        .collect()
}

#[tokio::test]
async fn the_installation_is_complete_and_in_order() {
    let all = [home().unwrap(), crds().unwrap(), guard().unwrap(), operator("capstan:dev").unwrap()].concat();
    let expected = [
        "Namespace capstan-system",
        "CustomResourceDefinition etcdclusters.etcd.capstan.dev",
        "CustomResourceDefinition etcdbackups.etcd.capstan.dev",
        "CustomResourceDefinition etcdbackupschedules.etcd.capstan.dev",
        "CustomResourceDefinition etcdrestores.etcd.capstan.dev",
        "CustomResourceDefinition exampleapps.example-app.appdelivery.cncf.io",
        "ValidatingAdmissionPolicy capstan-keep-definitions",
        "ValidatingAdmissionPolicyBinding capstan-keep-definitions",
        "ValidatingAdmissionPolicy capstan-keep-protected-clusters",
        "ValidatingAdmissionPolicyBinding capstan-keep-protected-clusters",
        "ServiceAccount capstan",
        "ClusterRole capstan",
        "ClusterRoleBinding capstan",
        "Role capstan-home",
        "RoleBinding capstan-home",
        "Service capstan-metrics",
        "PodDisruptionBudget capstan",
        "Deployment capstan",
    ];
    assert_eq!(kinds(&all), expected);
}

#[test]
fn all_kinds_of_monitoring_are_there_and_the_slim_form_is_smaller() {
    let [full, slim] = [Descriptions::Full, Descriptions::Slim].map(|form| monitoring_crds(form).unwrap());
    assert_eq!((full.len(), kinds(&full)), (10, kinds(&slim)));
    assert!(yaml(&slim).unwrap().len() < yaml(&full).unwrap().len());
}

#[tokio::test]
async fn no_right_is_a_wildcard_and_secrets_of_others_are_out_of_reach() {
    let objects = operator("capstan:dev").unwrap();
    let role = objects.iter().find(|object| object["kind"] == "ClusterRole").unwrap();
    for rule in role["rules"].as_array().unwrap() {
        let text = rule.to_string();
        assert!(!text.contains("\"*\""), "{text}");
        assert!(
            !text.contains("pods/exec") && !text.contains("\"escalate\"") && !text.contains("\"bind\""),
            "{text}"
        );
    }
}

#[tokio::test]
async fn the_image_is_the_users_choice_everywhere() {
    let text = serde_json::to_string(&operator("example.com/capstan:1").unwrap()).unwrap();
    assert_eq!(text.matches("example.com/capstan:1").count(), 2);
    assert!(!text.contains("capstan:dev"));
}

#[tokio::test]
async fn every_document_is_yaml_that_reads_back() {
    let objects = operator("capstan:dev").unwrap();
    let text = yaml(&objects).unwrap();
    let back: Vec<Value> =
        text.split("---\n").skip(1).map(|part| serde_saphyr::from_str(part).unwrap()).collect();
    assert_eq!(back, objects);
}

/// What an API server says to the deletion of `object`, of which `schema` has the fields that matter. A policy's rule is judged as one of
/// a schema: `oldObject` is what is there. One level down, because a schema may say nothing about the metadata of a whole object.
fn says(guard: &protect::Guard, schema: &Value, object: &Value) -> Option<String> {
    let policy = guard.0.spec.as_ref().unwrap();
    let validation = &policy.validations.as_ref().unwrap()[0];
    let on_self = |expression: &str| expression.replace("oldObject", "self");
    let mut schema = schema.clone();
    schema["x-kubernetes-validations"] = json!([{
        "rule": on_self(&validation.expression),
        "messageExpression": on_self(validation.message_expression.as_ref().unwrap()),
    }]);
    let schema = Schema::parse(&json!({"type": "object", "properties": {"deleted": schema}}))
        .unwrap_or_else(|causes| panic!("{causes:?}"));
    let cause = schema.validate(&json!({ "deleted": object }), None).pop()?;
    Some(cause.message.strip_prefix("Invalid value: \"object\": ").unwrap().to_owned())
}

#[test]
fn a_protected_cluster_is_not_deleted_and_the_answer_says_how_it_could_be() {
    let schema = json!({"type": "object", "properties": {
        "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
        "spec": {"type": "object", "properties": {
            "deletionPolicy": {"type": "object", "properties": {"protection": {"type": "boolean"}}},
        }},
    }});
    let cluster = |spec: Value| json!({"metadata": {"name": "db", "namespace": "shop"}, "spec": spec});
    let answer = |spec: Value| says(&protect::clusters(), &schema, &cluster(spec));
    let refused = answer(json!({"deletionPolicy": {"protection": true}})).unwrap();
    expect_test::expect![[r#"EtcdCluster shop/db is protected, and nothing was deleted: spec.deletionPolicy.protection is true; to let it go: kubectl -n shop patch etcd db --type=merge -p '{"spec": {"deletionPolicy": {"protection": false}}}'"#]].assert_eq(&refused);
    let free = [json!({}), json!({"deletionPolicy": {}}), json!({"deletionPolicy": {"protection": false}})];
    for spec in free {
        assert_eq!(answer(spec.clone()), None, "{spec}");
    }
}

#[test]
fn guards_are_about_deletions_of_what_is_served_and_in_force() {
    let served = |group: &str, resource: &str| {
        let ours =
            definitions().iter().any(|crd| crd.spec.group == group && crd.spec.names.plural == resource);
        ours || (group, resource) == ("apiextensions.k8s.io", "customresourcedefinitions")
    };
    for pair in guard().unwrap().chunks(2) {
        let [policy, binding] = pair else { panic!("{pair:?}") };
        let rule = &policy["spec"]["matchConstraints"]["resourceRules"][0];
        assert_eq!(rule["operations"], json!(["DELETE"]));
        let of = |field: &str| rule[field][0].as_str().unwrap();
        assert!(served(of("apiGroups"), of("resources")), "{rule}");
        assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
        assert_eq!(binding["spec"]["validationActions"], json!(["Deny"]));
    }
}

#[test]
fn the_monitor_of_the_operator_finds_its_pods_and_leaves_their_labels_alone() {
    let monitor = monitor::pod_monitor();
    let crds = monitoring_crds(Descriptions::Slim).unwrap();
    let definition = crds.iter().find(|crd| crd["spec"]["names"]["kind"] == "PodMonitor").unwrap();
    let schema = Schema::parse(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]).unwrap();
    let mut known = monitor.clone();
    assert_eq!(schema.prune(&mut known), Vec::<String>::new(), "a field that there is not");
    assert!(schema.validate(&monitor, None).is_empty());

    let deployment = serde_json::to_value(deployment::deployment("capstan:dev")).unwrap();
    let pod = &deployment["spec"]["template"];
    let wanted = monitor["spec"]["selector"]["matchLabels"].as_object().unwrap();
    assert!(wanted.iter().all(|(label, value)| pod["metadata"]["labels"][label] == *value), "{wanted:?}");
    assert_eq!(
        monitor["spec"]["namespaceSelector"]["matchNames"],
        json!([deployment["metadata"]["namespace"]])
    );
    let endpoint = &monitor["spec"]["podMetricsEndpoints"][0];
    let ports = pod["spec"]["containers"][0]["ports"].as_array().unwrap();
    assert!(ports.iter().any(|port| port["name"] == endpoint["port"]), "{ports:?}");
    assert_eq!(endpoint["honorLabels"], true);
}
