use apiserver::Server;
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::Context;

async fn with_object() -> (Server, Api<StatefulSet>, StatefulSet) {
    let server = Server::new();
    server
        .install(json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "default"},
            "spec": {"serviceName": "db", "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}}}}))
        .unwrap();
    let api = Api::<StatefulSet>::namespaced(server.client(), "default");
    let main = api.get("db").await.unwrap();
    (server, api, main)
}

fn status(ready: i32) -> StatefulSetStatus {
    StatefulSetStatus { replicas: 3, ready_replicas: Some(ready), ..StatefulSetStatus::default() }
}

#[tokio::test(start_paused = true)]
async fn status_is_written_once_and_only_to_the_subresource() {
    let (server, api, main) = with_object().await;
    let (cx, _recorder) = Context::for_tests(server.client());
    let before = server.request_count();
    assert!(cx.write_status(&main, &status(2)).await.unwrap());
    let main = api.get("db").await.unwrap();
    assert_eq!(main.status, Some(status(2)));
    assert!(!cx.write_status(&main, &status(2)).await.unwrap());
    assert_eq!(server.requests().since(before).writes().told(), ["patch statefulsets.apps/status default/db"]);
    let written = cx.writes.take();
    assert_eq!(written.len(), 1);
    assert_eq!(written[0].resource_version.to_string(), main.resource_version().unwrap());
    let managers: Vec<_> = main.managed_fields().iter().filter_map(|entry| entry.manager.clone()).collect();
    assert!(managers.contains(&"operator-status".to_owned()), "{managers:?}");
}

#[tokio::test(start_paused = true)]
async fn a_field_that_went_is_removed() {
    let (server, api, main) = with_object().await;
    let (cx, _recorder) = Context::for_tests(server.client());
    cx.write_status(&main, &status(2)).await.unwrap();
    let main = api.get("db").await.unwrap();
    let none = StatefulSetStatus { replicas: 3, ..StatefulSetStatus::default() };
    assert!(cx.write_status(&main, &none).await.unwrap());
    assert_eq!(api.get("db").await.unwrap().status, Some(none));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_needs_no_status_and_its_successor_does_not_get_it() {
    let (server, api, mut main) = with_object().await;
    let (cx, _recorder) = Context::for_tests(server.client());
    main.metadata.uid = Some("of an earlier one".into());
    let refused = cx.write_status(&main, &status(2)).await.unwrap_err();
    assert_eq!(refused.to_string(), "cannot write the status of StatefulSet default/db");
    assert_eq!(refused.code(), Some(409));
    api.delete("db", &Default::default()).await.unwrap();
    assert!(!cx.write_status(&main, &status(2)).await.unwrap());
    assert_eq!(cx.writes.take(), []);
}
