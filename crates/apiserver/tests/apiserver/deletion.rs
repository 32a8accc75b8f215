//! Deletion with time in it: pods on their nodes, graceful and less so.

use apiserver::{Fault, ObjectId, Server, When};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};

async fn pod(server: &Server, node: Option<&str>) -> Api<Pod> {
    let pods: Api<Pod> = Api::namespaced(server.client(), "default");
    let mut pod: Value =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(node);
    }
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    pods
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_nobody_runs_goes_at_once() {
    let server = Server::new();
    let pods = pod(&server, None).await;
    pods.delete("p", &DeleteParams::default()).await.unwrap();
    assert!(pods.get_opt("p").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_pod_on_a_node_waits_for_its_kubelet() {
    let server = Server::new();
    let pods = pod(&server, Some("n")).await;
    let marked = pods.delete("p", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert_eq!(marked.metadata.deletion_grace_period_seconds, Some(30));
    assert_eq!(marked.metadata.deletion_timestamp.unwrap().0.to_string(), "2026-01-01T00:00:30Z");
    // A longer wait is not given, a shorter one is.
    let revision = server.revision();
    pods.delete("p", &DeleteParams::default().grace_period(60)).await.unwrap();
    assert_eq!(server.revision(), revision);
    let sooner = pods.delete("p", &DeleteParams::default().grace_period(10)).await.unwrap().left().unwrap();
    assert_eq!(sooner.metadata.deletion_timestamp.unwrap().0.to_string(), "2026-01-01T00:00:10Z");
    // The kubelet is done.
    pods.delete("p", &DeleteParams::default().grace_period(0)).await.unwrap();
    assert!(pods.get_opt("p").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn what_needs_a_kubelet_is_refused_by_name() {
    let server = Server::new();
    let client = server.client();
    pod(&server, Some("n")).await;
    let ask = async |path: &str| {
        let request =
            http::Request::get(format!("/api/v1/namespaces/default/pods/p/{path}")).body(Vec::new());
        match client.request_text(request.unwrap()).await {
            Err(kube::Error::Api(status)) => (status.code, status.message),
            other => panic!("{other:?}"),
        }
    };
    for (path, code, told) in [
        ("log", 405, "pods/log is not served by this test server: there is no kubelet"),
        ("exec", 405, "pods/exec is not served by this test server: there is no kubelet"),
        ("nothing", 404, "the server could not find the requested resource"),
    ] {
        assert_eq!(ask(path).await, (code, told.to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_compaction_that_overtakes_the_collector_does_not_stop_it() {
    let server = Server::new();
    let maps: Api<ConfigMap> = Api::namespaced(server.client(), "default");
    let create = async |name: &str, owners: Value| {
        let map = json!({"metadata": {"name": name, "ownerReferences": owners}});
        maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap()
    };
    let owner = create("owner", json!([])).await;
    create("owned", json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid()}]))
        .await;
    // Past the API, so that the collector has no turn between the two.
    assert!(server.remove(&ObjectId::new("", "configmaps", "default", "owner")));
    server.compact();
    while maps.get_opt("owned").await.unwrap().is_some() {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert!(server.now().as_second() < 1_767_225_600 + 60, "not collected within a minute");
    }
}

#[tokio::test(start_paused = true)]
async fn faults_befall_clients_and_not_the_servers_own_controllers() {
    let server = Server::new();
    let maps: Api<ConfigMap> = Api::namespaced(server.client_named("operator"), "default");
    let owned: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "owned", "ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}]}}))
    .unwrap();
    maps.create(&PostParams::default(), &owned).await.unwrap();
    server.faults().add(When::write().always(), Fault::unavailable());
    while maps.get_opt("owned").await.unwrap().is_some() {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert!(server.now().as_second() < 1_767_225_600 + 60, "not collected within a minute");
    }
    assert_eq!(server.requests().writes().told(), ["create configmaps default/"]);
}
