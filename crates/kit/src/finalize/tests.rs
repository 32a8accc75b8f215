//! Finalizers on a server, beside those of others.

use apiserver::Server;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

use super::*;

const OURS: &str = "kit.test/cleanup";

async fn with_object() -> (Server, Api<ConfigMap>, Context) {
    let server = Server::new();
    let metadata = json!({"name": "c", "namespace": "default", "finalizers": ["kit.test/theirs"]});
    server.install(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})).unwrap();
    let (cx, _recorder) = Context::for_tests(server.client());
    (server.clone(), Api::namespaced(server.client(), "default"), cx)
}

async fn finalizers(api: &Api<ConfigMap>) -> Vec<String> {
    api.get("c").await.unwrap().metadata.finalizers.unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn it_is_added_and_removed_once_beside_others() {
    let (server, api, cx) = with_object().await;
    let main = api.get("c").await.unwrap();
    assert!(cx.ensure_finalizer(&main, OURS).await.unwrap());
    let main = api.get("c").await.unwrap();
    let before = server.request_count();
    assert!(!cx.ensure_finalizer(&main, OURS).await.unwrap());
    assert_eq!(server.request_count(), before);
    assert_eq!(finalizers(&api).await, ["kit.test/theirs", OURS]);

    assert!(cx.remove_finalizer(&main, OURS).await.unwrap());
    let main = api.get("c").await.unwrap();
    assert!(!cx.remove_finalizer(&main, OURS).await.unwrap());
    assert_eq!(finalizers(&api).await, ["kit.test/theirs"]);
    assert_eq!(cx.writes.take().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_that_somebody_else_added_meanwhile_is_not_lost() {
    let (_server, api, cx) = with_object().await;
    let stale = api.get("c").await.unwrap();
    let patch = Patch::Merge(json!({"metadata": {"finalizers": ["kit.test/theirs", "kit.test/more"]}}));
    api.patch("c", &PatchParams::default(), &patch).await.unwrap();
    let refused = cx.ensure_finalizer(&stale, OURS).await.unwrap_err();
    assert_eq!(refused.to_string(), "ConfigMap default/c has changed since the cache saw it");
    assert_eq!(finalizers(&api).await, ["kit.test/theirs", "kit.test/more"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_being_deleted_gets_none_and_goes_with_the_last_one() {
    let (_server, api, cx) = with_object().await;
    api.delete("c", &Default::default()).await.unwrap();
    let main = api.get("c").await.unwrap();
    assert!(!cx.ensure_finalizer(&main, OURS).await.unwrap());
    assert!(cx.remove_finalizer(&main, "kit.test/theirs").await.unwrap());
    assert!(api.get_opt("c").await.unwrap().is_none());
    assert!(!cx.remove_finalizer(&main, "kit.test/theirs").await.unwrap(), "it is gone already");
}
