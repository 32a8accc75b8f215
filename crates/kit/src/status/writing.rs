//! Status on a server: written when there is news, to the right object only.

use apiserver::Server;
use kube::{Api, CustomResource, ResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;

crate::reasons! {
    /// For these tests.
    enum Why {
        /// It answers.
        Answers,
    }
}

#[derive(CustomResource, Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(group = "kit.test", version = "v1", kind = "App", namespaced, status = "AppStatus")]
struct AppSpec {}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AppStatus {
    ready: Option<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition>,
}

async fn with_object() -> (Server, Api<App>, Context) {
    let server = Server::new();
    server.install(serde_json::to_value(<App as kube::CustomResourceExt>::crd()).unwrap()).unwrap();
    server.install(json!({"apiVersion": "kit.test/v1", "kind": "App", "metadata": {"name": "a", "namespace": "default"}, "spec": {}})).unwrap();
    let (cx, _recorder) = Context::for_tests(server.client());
    (server.clone(), Api::namespaced(server.client(), "default"), cx)
}

fn ready(ready: i32) -> AppStatus {
    AppStatus { ready: Some(ready), ..AppStatus::default() }
}

#[tokio::test(start_paused = true)]
async fn status_is_written_once_and_only_to_the_subresource() {
    let (server, api, cx) = with_object().await;
    let main = api.get("a").await.unwrap();
    let before = server.request_count();
    assert!(cx.write_status(&main, &ready(2)).await.unwrap());
    let main = api.get("a").await.unwrap();
    assert_eq!(main.status, Some(ready(2)));
    assert!(!cx.write_status(&main, &ready(2)).await.unwrap());
    assert_eq!(server.requests().since(before).writes().told(), ["patch apps.kit.test/status default/a"]);
    let written = cx.writes.take();
    assert_eq!(written.len(), 1);
    let version = main.metadata.resource_version.clone().unwrap().parse().unwrap();
    assert_eq!(written[0].made, crate::context::Made::Version(version));
    let managers: Vec<_> = main.managed_fields().iter().filter_map(|entry| entry.manager.clone()).collect();
    assert!(managers.contains(&"operator-status".to_owned()), "{managers:?}");
}

#[tokio::test(start_paused = true)]
async fn conditions_that_did_not_flip_are_no_news_however_late_it_is() {
    let (server, api, cx) = with_object().await;
    let mut before = server.request_count();
    for expected in [true, false, false] {
        let main = api.get("a").await.unwrap();
        let mut conditions = Conditions::from_live(&[], main.metadata.generation, cx.now());
        conditions.set(Condition::new("Ready", true, Why::Answers, "it answers"));
        let status = AppStatus { ready: None, conditions: conditions.into_vec() };
        assert_eq!(cx.write_status(&main, &status).await.unwrap(), expected);
        assert_eq!(server.requests().since(before).writes().len(), usize::from(expected));
        before = server.request_count();
        tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_field_that_went_is_removed() {
    let (_server, api, cx) = with_object().await;
    cx.write_status(&api.get("a").await.unwrap(), &ready(2)).await.unwrap();
    assert!(cx.write_status(&api.get("a").await.unwrap(), &AppStatus::default()).await.unwrap());
    assert_eq!(api.get("a").await.unwrap().status.unwrap().ready, None);
}

#[tokio::test(start_paused = true)]
async fn our_own_writes_before_it_are_no_conflict_but_those_of_others_are() {
    let (_server, api, cx) = with_object().await;
    let main = api.get("a").await.unwrap();
    cx.ensure_finalizer(&main, "kit.test/f").await.unwrap();
    assert!(cx.write_status(&main, &ready(1)).await.unwrap());

    let patch = Patch::Merge(json!({"metadata": {"labels": {"edited": "yes"}}}));
    api.patch("a", &PatchParams::default(), &patch).await.unwrap();
    let refused = cx.write_status(&main, &ready(2)).await.unwrap_err();
    assert_eq!(refused.to_string(), "App default/a has changed since the cache saw it");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_needs_no_status_and_its_successor_does_not_get_it() {
    let (server, api, cx) = with_object().await;
    let main = api.get("a").await.unwrap();
    api.delete("a", &Default::default()).await.unwrap();
    assert!(!cx.write_status(&main, &ready(2)).await.unwrap());
    assert_eq!(cx.writes.take(), []);
    server.install(json!({"apiVersion": "kit.test/v1", "kind": "App", "metadata": {"name": "a", "namespace": "default"}, "spec": {}})).unwrap();
    let refused = cx.write_status(&main, &ready(2)).await.unwrap_err();
    assert!(matches!(refused, Error::Stale { .. }), "{refused:?}");
    assert_eq!(api.get("a").await.unwrap().status, None);
}
