//! Reading and writing through kube's client: objects, lists, watches.

use apiserver::{Server, Verb};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{ConfigMap, Namespace, Pod, Secret},
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, PostParams, Preconditions, WatchEvent, WatchParams},
    core::{ApiResource, DynamicObject, ObjectMeta},
};
use serde_json::json;

fn map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
        data: Some([("k".to_owned(), value.to_owned())].into()),
        ..ConfigMap::default()
    }
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("no answer of the server: {other}"),
    }
}

fn post() -> PostParams {
    PostParams::default()
}

#[tokio::test(start_paused = true)]
async fn an_object_is_created_read_changed_and_deleted() {
    let server = Server::new();
    let api = maps(server.client());
    let created = api.create(&post(), &map("a", "1")).await.unwrap();
    assert_eq!(created.metadata.namespace.as_deref(), Some("default"));
    assert!(created.uid().is_some() && created.resource_version().is_some());
    assert_eq!(created.creation_timestamp().unwrap().0.to_string(), "2026-01-01T00:00:00Z");

    let mut read = api.get("a").await.unwrap();
    assert_eq!(read, created);
    read.data = Some([("k".to_owned(), "2".to_owned())].into());
    let changed = api.replace("a", &post(), &read).await.unwrap();
    assert_ne!(changed.resource_version(), created.resource_version());
    assert_eq!(code(&api.replace("a", &post(), &read).await.unwrap_err()), 409);

    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(code(&api.get("a").await.unwrap_err()), 404);
    assert_eq!(code(&api.delete("a", &DeleteParams::default()).await.unwrap_err()), 404);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changes_nothing_makes_no_revision() {
    let server = Server::new();
    let api = maps(server.client());
    let created = api.create(&post(), &map("a", "1")).await.unwrap();
    let revision = server.revision();
    tokio::time::advance(std::time::Duration::from_secs(5)).await;
    let again = api.replace("a", &post(), &created).await.unwrap();
    assert_eq!((again.resource_version(), server.revision()), (created.resource_version(), revision));
}

#[tokio::test(start_paused = true)]
async fn creation_checks_names_namespaces_and_versions() {
    let server = Server::new();
    let api = maps(server.client());
    let create = async |object: &ConfigMap| code(&api.create(&post(), object).await.unwrap_err());
    assert_eq!(create(&map("Not_a_name", "1")).await, 422);
    let mut elsewhere = map("a", "1");
    elsewhere.metadata.namespace = Some("other".into());
    assert_eq!(create(&elsewhere).await, 400);
    let mut versioned = map("a", "1");
    versioned.metadata.resource_version = Some("5".into());
    assert_eq!(create(&versioned).await, 500);
    let missing: Api<ConfigMap> = Api::namespaced(server.client(), "missing");
    assert_eq!(code(&missing.create(&post(), &map("a", "1")).await.unwrap_err()), 404);
    api.create(&post(), &map("a", "1")).await.unwrap();
    assert_eq!(create(&map("a", "1")).await, 409);
}

#[tokio::test(start_paused = true)]
async fn names_are_generated_and_the_same_seed_gives_the_same() {
    let name = async || {
        let server = Server::builder().seed(7).build();
        let mut object = map("", "1");
        object.metadata.name = None;
        object.metadata.generate_name = Some("web-".into());
        let created = maps(server.client()).create(&post(), &object).await.unwrap();
        (created.name_any(), created.uid())
    };
    let (first, second) = (name().await, name().await);
    assert_eq!(first, second);
    assert!(first.0.starts_with("web-") && first.0.len() == 9);
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_moment_whatever_happens_meanwhile() {
    let server = Server::new();
    let api = maps(server.client());
    for number in 0..5 {
        api.create(&post(), &map(&format!("m{number}"), "1")).await.unwrap();
    }
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(3));
    api.delete("m3", &DeleteParams::default()).await.unwrap();
    api.create(&post(), &map("m9", "1")).await.unwrap();
    let token = first.metadata.continue_.clone().unwrap();
    let rest = api.list(&ListParams::default().limit(9).continue_token(&token)).await.unwrap();
    assert_eq!(rest.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["m2", "m3", "m4"]);
    assert_eq!(rest.metadata.resource_version, first.metadata.resource_version);

    server.compact();
    let expired = api.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap_err();
    assert_eq!(code(&expired), 410);
}

#[tokio::test(start_paused = true)]
async fn an_expired_page_comes_with_a_token_to_go_on() {
    let server = Server::new();
    let client = server.client();
    let api = maps(client.clone());
    for number in 0..3 {
        api.create(&post(), &map(&format!("m{number}"), "1")).await.unwrap();
    }
    let first = api.list(&ListParams::default().limit(1)).await.unwrap();
    api.create(&post(), &map("m3", "1")).await.unwrap();
    server.compact();
    let path = format!(
        "/api/v1/namespaces/default/configmaps?limit=9&continue={}",
        first.metadata.continue_.unwrap()
    );
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let kube::Error::Api(status) = client.request::<serde_json::Value>(request).await.unwrap_err() else {
        panic!()
    };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    let token = status.metadata.as_ref().and_then(|metadata| metadata.continue_.clone()).unwrap();
    let rest = api.list(&ListParams::default().continue_token(&token)).await.unwrap();
    assert_eq!(rest.items.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_what_happened_since_a_revision() {
    let server = Server::new();
    let api = maps(server.client());
    let start = server.revision().to_string();
    api.create(&post(), &map("a", "1")).await.unwrap();
    let mut stream = api.watch(&WatchParams::default(), &start).await.unwrap().boxed();
    let Some(WatchEvent::Added(added)) = stream.try_next().await.unwrap() else { panic!() };
    assert_eq!(added.name_any(), "a");
    let mut changed = added.clone();
    changed.data = None;
    api.replace("a", &post(), &changed).await.unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(matches!(stream.try_next().await.unwrap(), Some(WatchEvent::Modified(_))));
    let Some(WatchEvent::Deleted(deleted)) = stream.try_next().await.unwrap() else { panic!() };
    assert_eq!(deleted.resource_version(), Some(server.revision().to_string()));
}

#[tokio::test(start_paused = true)]
async fn a_watch_gets_bookmarks_and_ends_at_its_timeout() {
    let server = Server::new();
    let api = maps(server.client());
    let start = server.revision().to_string();
    let stream = api.watch(&WatchParams::default().timeout(150), &start).await.unwrap();
    let kinds: Vec<bool> =
        stream.map_ok(|event| matches!(event, WatchEvent::Bookmark(_))).try_collect().await.unwrap();
    assert_eq!(kinds, [true, true, true]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_a_forgotten_revision_is_told_so_in_the_stream() {
    let server = Server::new();
    let api = maps(server.client());
    let start = server.revision().to_string();
    api.create(&post(), &map("a", "1")).await.unwrap();
    server.compact();
    let mut stream = api.watch(&WatchParams::default(), &start).await.unwrap().boxed();
    let Some(WatchEvent::Error(error)) = stream.try_next().await.unwrap() else { panic!() };
    assert_eq!((error.code, error.reason.as_str()), (410, "Expired"));
    assert!(stream.try_next().await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_ends_with_its_bookmark() {
    let server = Server::new();
    let api = maps(server.client());
    for name in ["a", "b"] {
        api.create(&post(), &map(name, "1")).await.unwrap();
    }
    let mut stream = api.watch(&WatchParams::default().initial_events(), "0").await.unwrap().boxed();
    let mut seen = Vec::new();
    loop {
        match stream.try_next().await.unwrap().unwrap() {
            WatchEvent::Added(object) => seen.push(object.name_any()),
            WatchEvent::Bookmark(bookmark) => {
                assert_eq!(bookmark.metadata.annotations["k8s.io/initial-events-end"], "true");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn what_leaves_a_selector_is_deleted_for_its_watch() {
    let server = Server::new();
    let api = maps(server.client());
    let start = server.revision().to_string();
    let params = WatchParams::default().labels("on=yes");
    let mut object = map("a", "1");
    let created = api.create(&post(), &object).await.unwrap();
    object.metadata.resource_version = created.resource_version();
    object.labels_mut().insert("on".into(), "yes".into());
    let on = api.replace("a", &post(), &object).await.unwrap();
    object.metadata.resource_version = on.resource_version();
    object.labels_mut().insert("on".into(), "no".into());
    let off = api.replace("a", &post(), &object).await.unwrap();
    let mut stream = api.watch(&params, &start).await.unwrap().boxed();
    assert!(matches!(stream.try_next().await.unwrap(), Some(WatchEvent::Added(_))));
    let Some(WatchEvent::Deleted(gone)) = stream.try_next().await.unwrap() else { panic!() };
    assert_eq!((gone.labels()["on"].as_str(), gone.resource_version()), ("yes", off.resource_version()));
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let server = Server::new();
    let api = maps(server.client());
    let mut object = map("a", "1");
    object.finalizers_mut().push("example.com/hold".into());
    api.create(&post(), &object).await.unwrap();
    let marked = api.delete("a", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert!(marked.metadata.deletion_timestamp.is_some());
    assert_eq!(marked.metadata.deletion_grace_period_seconds, Some(0));
    let mut more = marked.clone();
    more.finalizers_mut().push("example.com/more".into());
    assert_eq!(code(&api.replace("a", &post(), &more).await.unwrap_err()), 422);
    let mut free = marked;
    free.metadata.finalizers = None;
    api.replace("a", &post(), &free).await.unwrap();
    assert_eq!(code(&api.get("a").await.unwrap_err()), 404);
}

#[tokio::test(start_paused = true)]
async fn deletion_keeps_to_its_preconditions() {
    let server = Server::new();
    let api = maps(server.client());
    let created = api.create(&post(), &map("a", "1")).await.unwrap();
    let params = |uid: Option<String>, resource_version: Option<String>| DeleteParams {
        preconditions: Some(Preconditions { uid, resource_version }),
        ..DeleteParams::default()
    };
    assert_eq!(code(&api.delete("a", &params(Some("x".into()), None)).await.unwrap_err()), 409);
    assert_eq!(code(&api.delete("a", &params(None, Some("1".into()))).await.unwrap_err()), 409);
    api.delete("a", &params(created.uid(), created.resource_version())).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_is_answered_and_forgotten() {
    let server = Server::new();
    let api = maps(server.client());
    let dry = PostParams { dry_run: true, field_manager: None };
    let revision = server.revision();
    assert!(api.create(&dry, &map("a", "1")).await.unwrap().uid().is_some());
    assert_eq!((server.revision(), server.requests().writes().len()), (revision, 0));
    assert_eq!(code(&api.get("a").await.unwrap_err()), 404);
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_can_be_asked_for() {
    let server = Server::new();
    let api = maps(server.client());
    api.create(&post(), &map("a", "1")).await.unwrap();
    assert_eq!(api.get_metadata("a").await.unwrap().name_any(), "a");
    assert_eq!(api.list_metadata(&ListParams::default()).await.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_kinds_that_operators_meet_first_are_served() {
    let server = Server::new();
    let client = server.client();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
    namespaces.create(&post(), &namespace).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "n");
    let secret: Secret =
        serde_json::from_value(json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}})).unwrap();
    let secret = secrets.create(&post(), &secret).await.unwrap();
    assert_eq!(secret.data.unwrap()["a"].0, b"b");
    assert!(secret.string_data.is_none());
    let leases: Api<Lease> = Api::namespaced(client.clone(), "n");
    let lease: Lease = serde_json::from_value(json!({"metadata": {"name": "l"}})).unwrap();
    leases.create(&post(), &lease).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client.clone(), "n");
    let pod: Pod = serde_json::from_value(
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
    )
    .unwrap();
    let pod = pods.create(&post(), &pod).await.unwrap();
    assert_eq!(pod.status.unwrap().phase.as_deref(), Some("Pending"));
    let phases = pods.list(&ListParams::default().fields("status.phase=Pending")).await.unwrap();
    assert_eq!(phases.items.len(), 1);
    assert_eq!(server.requests().verb(Verb::Create).len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_update_is_lost_among_many_writers() {
    let server = Server::new();
    let api = maps(server.client());
    api.create(&post(), &map("a", "0")).await.unwrap();
    let count = async |api: Api<ConfigMap>| {
        for _ in 0..25 {
            loop {
                let mut object = api.get("a").await.unwrap();
                let data = object.data.as_mut().unwrap();
                let next = data["k"].parse::<u32>().unwrap() + 1;
                data.insert("k".into(), next.to_string());
                match api.replace("a", &post(), &object).await {
                    Ok(_) => break,
                    Err(error) => assert_eq!(code(&error), 409),
                }
            }
        }
    };
    let writers: Vec<_> = (0..8).map(|_| tokio::spawn(count(api.clone()))).collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(api.get("a").await.unwrap().data.unwrap()["k"], "200");
}

/// A definition of `Widget` in `example.com/v1` that takes anything.
fn widgets() -> serde_json::Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

#[tokio::test(start_paused = true)]
async fn an_installed_definition_is_served_at_once_and_found_by_discovery() {
    let server = Server::new();
    server.install(widgets()).unwrap();
    let client = server.client();
    let discovery = kube::discovery::Discovery::new(client.clone()).run().await.unwrap();
    let kind = kube::core::GroupVersionKind::gvk("example.com", "v1", "Widget");
    let (resource, _) = discovery.resolve_gvk(&kind).unwrap();
    let api: Api<DynamicObject> = Api::namespaced_with(client, "default", &resource);
    let widget =
        DynamicObject::new("w", &resource).data(json!({"spec": {"size": 3}, "status": {"no": "way"}}));
    let created = api.create(&post(), &widget).await.unwrap();
    assert_eq!((created.metadata.generation, created.data.get("status")), (Some(1), None));
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_its_kind() {
    let server = Server::new();
    server.install(widgets()).unwrap();
    let client = server.client();
    let resource = ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("example.com", "v1", "Widget"));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    api.create(&post(), &DynamicObject::new("w", &resource)).await.unwrap();
    let stream = api.watch(&WatchParams::default(), "0").await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    definitions.delete("widgets.example.com", &DeleteParams::default()).await.unwrap();
    let events: Vec<WatchEvent<DynamicObject>> = stream.try_collect().await.unwrap();
    assert!(matches!(events.as_slice(), [WatchEvent::Added(_), WatchEvent::Deleted(_)]), "{events:?}");
    assert_eq!(code(&api.list(&ListParams::default()).await.unwrap_err()), 404);
}
