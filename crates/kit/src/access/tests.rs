//! The generated roles on a server that enforces them.

use std::sync::Arc;

use apiserver::Server;
use k8s_openapi::api::{apps::v1::StatefulSet, core::v1::ConfigMap};
use kube::Api;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{Context, Event, Precious, own};

crate::reasons! {
    /// For this test.
    enum Why {
        /// It is so.
        Because,
    }
}

fn declared() -> Vec<Access> {
    let mut declared = of_events();
    declared.extend([
        Access::watch::<ConfigMap>(),
        Access::apply::<ConfigMap>(),
        Access::prune::<ConfigMap>(),
        Access::finalize::<ConfigMap>(),
        Access::status::<StatefulSet>(),
        Access::owner::<StatefulSet>(),
    ]);
    declared
}

/// Every verb of the kit, as an operator would use it.
async fn do_everything(server: &Server, client: kube::Client) {
    let (cx, recorder) = Context::for_tests(client);
    let main = Api::<StatefulSet>::namespaced(server.client(), "default").get("db").await.unwrap();
    let mut child: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": "c", "namespace": "default"}})).unwrap();
    own(&mut child, &main).unwrap();
    let child = cx.apply(&child, None).await.unwrap().unwrap();
    cx.ensure_finalizer(&child, "kit.test/f").await.unwrap();
    let child = Api::<ConfigMap>::namespaced(cx.client(), "default").get("c").await.unwrap();
    cx.remove_finalizer(&child, "kit.test/f").await.unwrap();
    cx.write_status(&main, &json!({"replicas": 1})).await.unwrap();
    let api = Api::<ConfigMap>::all(cx.client());
    let listed = api.list(&Default::default()).await.unwrap();
    drop(api.watch(&Default::default(), &listed.metadata.resource_version.unwrap()).await.unwrap());
    let rows: Vec<_> = listed.items.into_iter().map(Arc::new).collect();
    let pruned = cx.prune(main.metadata.uid.as_deref().unwrap(), &rows, &[], Precious::Spare).await.unwrap();
    assert_eq!(pruned.deleted.len(), 1);
    for _ in 0..2 {
        cx.event(&main, Event::normal(Why::Because, "Do", "done"));
    }
    let stop = CancellationToken::new();
    stop.cancel();
    recorder.run(stop).await;
}

#[tokio::test(start_paused = true)]
async fn the_generated_roles_are_enough_and_none_is_too_many() {
    let server = Server::new();
    server
        .install(json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "default"},
            "spec": {"serviceName": "db", "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}}}}))
        .unwrap();
    let install = Install {
        name: "operator".into(),
        namespace: "capstan".into(),
        service_account: "operator".into(),
        watched: Watched::All,
    };
    server.install_yaml(&manifests(&declared(), &install).to_yaml().unwrap()).unwrap();
    let user = "system:serviceaccount:capstan:operator";
    do_everything(&server, server.client_as(user)).await;

    let recorded = server.requests().of(user);
    assert!(recorded.iter().all(|request| request.code != Some(403)), "{:?}", recorded.told());
    let requests: Vec<Request> = recorded.iter().filter_map(as_request).collect();
    let report = check(&requests, &declared(), "capstan");
    assert_eq!(report, Report::default());

    let without_delete: Vec<Access> =
        declared().into_iter().filter(|a| *a != Access::prune::<ConfigMap>()).collect();
    let report = check(&requests, &without_delete, "capstan");
    assert_eq!(report.missing.len(), 1);
    assert_eq!(report.missing[0].verb, Verb::Delete);
}

/// From the server's record to what RBAC looks at, by way of the URL.
fn as_request(recorded: &apiserver::Recorded) -> Option<Request> {
    let method = match recorded.verb?.as_str() {
        "get" | "list" | "watch" => "GET",
        "create" => "POST",
        "update" => "PUT",
        "patch" => "PATCH",
        _ => "DELETE",
    };
    let group = match recorded.group.as_str() {
        "" => "/api/v1".to_owned(),
        group => format!("/apis/{group}/v1"),
    };
    let namespace = match recorded.namespace.as_str() {
        "" => String::new(),
        namespace => format!("/namespaces/{namespace}"),
    };
    let parts = [recorded.resource.as_str(), &recorded.name, &recorded.subresource];
    let path = parts
        .iter()
        .filter(|part| !part.is_empty())
        .fold(String::new(), |path, part| format!("{path}/{part}"));
    Request::parse(method, &format!("{group}{namespace}{path}?{}", recorded.query))
}
