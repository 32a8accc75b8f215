//! What the objects of a cluster look like, in full.

use etcd_types::EtcdCluster;
use expect_test::{Expect, expect};
use serde::Serialize;
use serde_json::{Value, json};

use super::*;

fn cluster(spec: Value) -> EtcdCluster {
    serde_json::from_value(json!({
        "apiVersion": "etcd.capstan.dev/v1alpha1",
        "kind": "EtcdCluster",
        "metadata": {"name": "db", "namespace": "prod", "uid": "u-1"},
        "spec": spec,
    }))
    .unwrap()
}

fn member() -> Member {
    Member {
        serial: 2,
        version: "3.6.16".into(),
        image: "quay.io/coreos/etcd:v3.6.16".into(),
        arguments: vec!["--name=db-2".into(), "--data-dir=/var/lib/etcd/data".into()],
        settings: "9f3a".into(),
    }
}

/// Everything but what is the same for all.
fn check(object: &impl Serialize, expected: Expect) {
    let mut value = serde_json::to_value(object).unwrap();
    value["metadata"].as_object_mut().unwrap().remove("labels");
    value["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    expected.assert_eq(&serde_saphyr::to_string(&value).unwrap());
}

#[test]
fn the_pod_of_a_member() {
    let set = stateful_set(&cluster(json!({"version": "3.6.16"})), &member());
    check(&set, expect![""]);
}

#[test]
fn what_the_user_says_about_pods_is_in_them() {
    let pod = json!({
        "labels": {"team": "a", "etcd.capstan.dev/cluster": "not mine"},
        "annotations": {"note": "b"},
        "resources": {"requests": {"cpu": "1"}},
        "nodeSelector": {"disk": "ssd"},
        "topologySpreadConstraints": [],
        "env": [{"name": "GOMAXPROCS", "value": "2"}],
        "priorityClassName": "high",
    });
    let storage = json!({"medium": "Memory", "size": "1Gi"});
    let spec = json!({"version": "3.6.16", "tls": {"mode": "Off"}, "storage": storage, "pod": pod});
    let set = stateful_set(&cluster(spec), &member());
    let template = set.spec.unwrap().template;
    let labels = template.metadata.as_ref().unwrap().labels.clone().unwrap();
    assert_eq!((labels["team"].as_str(), labels["etcd.capstan.dev/cluster"].as_str()), ("a", "db"));
    assert_eq!(template.metadata.unwrap().annotations.unwrap()["note"], "b");
    let pod = template.spec.unwrap();
    assert_eq!(pod.topology_spread_constraints, Some(vec![]));
    assert_eq!(pod.priority_class_name.as_deref(), Some("high"));
    assert_eq!(pod.node_selector.unwrap()["disk"], "ssd");
    let volumes = pod.volumes.unwrap();
    assert_eq!(volumes.len(), 1, "no certificates without TLS");
    assert_eq!(volumes[0].empty_dir.as_ref().unwrap().medium.as_deref(), Some("Memory"));
    assert_eq!(pod.containers[0].env.as_ref().unwrap()[0].name, "GOMAXPROCS");
}

#[test]
fn the_services_the_budget_the_identity_and_the_account() {
    let cluster = cluster(json!({"version": "3.6.16"}));
    check(&client_service(&cluster), expect![""]);
    check(&peer_service(&cluster), expect![""]);
    check(&budget(&cluster, 5), expect![""]);
    check(&identity(&cluster, Some("9d3f"), 3), expect![""]);
    check(&account(&cluster), expect![""]);
}

#[test]
fn a_budget_keeps_the_quorum_and_a_single_member_can_be_drained() {
    use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int;
    let cluster = cluster(json!({"version": "3.6.16"}));
    for (voters, available) in [(1, 0), (2, 2), (3, 2), (4, 3), (5, 3), (7, 4)] {
        let budget = budget(&cluster, voters).spec.unwrap();
        assert_eq!(budget.min_available, Some(Int(available)), "{voters} voters");
    }
}

#[test]
fn a_claim_is_nobodys_unless_volumes_go_with_the_cluster_and_keeps_its_size() {
    let kept = cluster(json!({"version": "3.6.16", "storage": {"size": "4Gi"}}));
    let live = claim(&kept, 1, Default::default(), None);
    check(&live, expect![""]);
    assert_eq!(live.metadata.owner_references, None);
    let going = json!({"version": "3.6.16", "storage": {"size": "9Gi"}, "deletionPolicy": {"volumes": "Delete"}});
    let going = claim(&cluster(going), 1, Default::default(), Some(&live));
    assert_eq!(going.spec, live.spec);
    assert_eq!(going.metadata.owner_references.unwrap()[0].name, "db");
}

#[test]
fn the_network_policy_lets_in_members_clients_and_the_operator() {
    let cluster = cluster(json!({"version": "3.6.16", "networkPolicy": {}}));
    let options = cluster.spec.network_policy.clone().unwrap();
    check(&network_policy(&cluster, &options, "capstan-system"), expect![""]);
}
