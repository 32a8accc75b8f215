//! What prune takes, what it spares, and what waits.

use apiserver::Server;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::*;

fn owned_by(kind: &str, name: &str, uid: &str, controller: bool) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default", "ownerReferences": [
        {"apiVersion": "kit.test/v1", "kind": "Owner", "name": "o", "uid": uid, "controller": controller}]}})
}

async fn rows<K>(server: &Server) -> Vec<Arc<K>>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let list = Api::<K>::namespaced(server.client(), "default").list(&Default::default()).await.unwrap();
    list.items.into_iter().map(Arc::new).collect()
}

fn names<K: kube::Resource>(rows: &[Arc<K>]) -> Vec<String> {
    rows.iter().map(|row| row.name_any()).collect()
}

/// A server whose garbage collector is down: the owners here do not exist.
fn server() -> Server {
    Server::builder().without_controllers().build()
}

#[tokio::test(start_paused = true)]
async fn only_what_the_owner_controls_and_no_longer_wants_goes() {
    let server = server();
    for (name, uid, controller) in
        [("keep", "ours", true), ("drop", "ours", true), ("foreign", "theirs", true), ("used", "ours", false)]
    {
        server.install(owned_by("ConfigMap", name, uid, controller)).unwrap();
    }
    let (cx, _recorder) = Context::for_tests(server.client());
    let children = rows::<ConfigMap>(&server).await;
    let pruned = cx.prune("ours", &children, &[Key::new("default", "keep")], Precious::Spare).await.unwrap();
    assert_eq!(pruned, Pruned { deleted: vec![Key::new("default", "drop")], ..Pruned::default() });
    assert_eq!(names(&rows::<ConfigMap>(&server).await), ["foreign", "keep", "used"]);

    let again = cx.prune("ours", &children, &[Key::new("default", "keep")], Precious::Spare).await.unwrap();
    assert_eq!(again.deleted, [Key::new("default", "drop")], "what is gone is gone");
    let nobody = cx.prune("", &children, &[], Precious::Delete).await.unwrap();
    assert_eq!(nobody, Pruned::default(), "an owner without a UID owns nothing");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_changed_since_or_is_another_one_waits() {
    let server = server();
    for name in ["changed", "recreated"] {
        server.install(owned_by("ConfigMap", name, "ours", true)).unwrap();
    }
    let seen = rows::<ConfigMap>(&server).await;
    let api = Api::<ConfigMap>::namespaced(server.client(), "default");
    let patch = kube::api::Patch::Merge(json!({"data": {"a": "b"}}));
    api.patch("changed", &Default::default(), &patch).await.unwrap();
    api.delete("recreated", &Default::default()).await.unwrap();
    server.install(owned_by("ConfigMap", "recreated", "ours", true)).unwrap();

    let (cx, _recorder) = Context::for_tests(server.client());
    let pruned = cx.prune("ours", &seen, &[], Precious::Spare).await.unwrap();
    let later = vec![Key::new("default", "changed"), Key::new("default", "recreated")];
    assert_eq!(pruned, Pruned { later, ..Pruned::default() });
    assert_eq!(rows::<ConfigMap>(&server).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn data_is_spared_unless_the_call_says_otherwise() {
    let server = server();
    let mut claim = owned_by("PersistentVolumeClaim", "data", "ours", true);
    claim["spec"] = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    server.install(claim).unwrap();
    let (cx, _recorder) = Context::for_tests(server.client());
    let children = rows::<PersistentVolumeClaim>(&server).await;
    let before = server.request_count();
    let pruned = cx.prune("ours", &children, &[], Precious::Spare).await.unwrap();
    assert_eq!(pruned, Pruned { spared: vec![Key::new("default", "data")], ..Pruned::default() });
    assert_eq!(server.request_count(), before);
    let pruned = cx.prune("ours", &children, &[], Precious::Delete).await.unwrap();
    assert_eq!(pruned.deleted, [Key::new("default", "data")]);
}
