//! What the manifests promise.

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
