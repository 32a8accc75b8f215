//! 7. The scope changes while it runs.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kit::{Informer, Scope, Select, Slim, informer::State, metrics::Metrics, scope::resolve};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    only,
    script::{World, object, server},
    set,
};

#[tokio::test(start_paused = true)]
async fn removing_a_namespace_emits_removals_and_ends_its_watch() {
    let mut world = World::new(only(&["a", "b"]));
    world.server.next().await.list("5", &[object("a/x", 1)]);
    world.server.next().await.list("5", &[object("b/x", 2)]);
    let _a = world.server.next().await.watch();
    let b = world.server.next().await.watch();
    world.heard();
    world.scope.send(only(&["a"])).unwrap();
    world.server.silence(Duration::from_secs(1)).await;
    assert_eq!(world.heard(), ["b/x: 2 to -"]);
    assert!(b.is_closed());
    assert_eq!(world.content(), ["a/x@1"]);
    assert_eq!(world.store.health().watches.keys().collect::<Vec<_>>(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn adding_a_namespace_does_not_unsettle_the_others() {
    let mut world = World::new(only(&["a"]));
    world.server.next().await.list("5", &[object("a/x", 1)]);
    let a = world.server.next().await.watch();
    world.store.wait_synced().await;
    world.scope.send(only(&["a", "b"])).unwrap();
    let b = world.server.next().await;
    assert_eq!(b.to_string(), "list /api/v1/namespaces/b/configmaps");
    assert!(world.store.synced() && world.store.synced_in("a") && !world.store.synced_in("b"));
    assert!(!a.is_closed(), "its watch goes on");
    b.list("9", &[object("b/x", 2)]);
    world.server.next().await;
    assert!(world.store.synced_in("b"));
    assert_eq!(world.heard(), ["a/x: - to 1 (initial)", "b/x: - to 2 (initial)"]);
}

#[tokio::test(start_paused = true)]
async fn from_all_to_some_and_back_emits_only_what_comes_and_goes() {
    let (mut world, all) = World::synced(&[object("a/x", 1), object("b/x", 2)], "5").await;
    world.scope.send(only(&["a"])).unwrap();
    let some = world.server.next().await;
    assert_eq!(some.to_string(), "list /api/v1/namespaces/a/configmaps");
    assert!(all.is_closed());
    some.list("6", &[object("a/x", 1)]);
    let some = world.server.next().await.watch();
    assert_eq!(world.heard(), ["b/x: 2 to -"]);
    world.scope.send(Scope::Except(set(&["c", "d"]))).unwrap();
    let except = world.server.next().await;
    assert_eq!(
        except.to_string(),
        "list /api/v1/configmaps where metadata.namespace!=c,metadata.namespace!=d"
    );
    assert!(some.is_closed());
    except.list("7", &[object("a/x", 1), object("b/x", 2)]);
    world.server.next().await.watch();
    assert_eq!(world.heard(), ["b/x: - to 2 (initial)"]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_scope_is_synced_with_nothing() {
    let mut world = World::new(only(&[]));
    world.store.wait_synced().await;
    assert_eq!(world.store.health().state, State::Synced);
    world.server.silence(Duration::from_secs(600)).await;
}

#[tokio::test(start_paused = true)]
async fn kinds_without_namespaces_ignore_the_scope() {
    let mut world = World::<Slim<Node>>::selecting(Select::all(), only(&["a"]));
    let list = world.server.next().await;
    assert_eq!(list.to_string(), "list /api/v1/nodes");
    list.list("5", &[serde_json::json!({"metadata": {"name": "n1", "resourceVersion": "2"}})]);
    world.store.wait_synced().await;
    world.scope.send(only(&["b"])).unwrap();
    let _watch = world.server.next().await.watch();
    world.server.silence(Duration::from_secs(1)).await;
    assert_eq!(world.content(), ["n1@2"]);
}

#[tokio::test(start_paused = true)]
async fn a_scope_by_labels_follows_the_namespaces() {
    let (client, mut server) = server();
    let (_config, from) = watch::channel(Scope::Labelled("team=db".into()));
    let (to, mut scope) = watch::channel(Scope::Labelled("team=db".into()));
    let stop = CancellationToken::new();
    let informer = Informer::<ConfigMap>::new(client.clone(), Select::all(), scope.clone(), Metrics::new());
    let store = informer.store();
    tokio::spawn(informer.run(stop.clone()));
    let resolving = tokio::spawn(resolve(client, from, to, Metrics::new(), stop.clone()));
    let namespaces = server.next().await;
    assert_eq!(namespaces.to_string(), "list /api/v1/namespaces with team=db");
    assert_eq!(store.health().state, State::Starting);
    let namespace = |name: &str, version: u64| serde_json::json!({"metadata": {"name": name, "uid": name, "resourceVersion": version.to_string()}});
    namespaces.list("5", &[namespace("a", 1)]);
    let mut calls = [server.next().await, server.next().await];
    calls.sort_by_key(ToString::to_string);
    let [objects, namespaces] = calls;
    assert_eq!(objects.to_string(), "list /api/v1/namespaces/a/configmaps");
    assert_eq!(namespaces.to_string(), "watch /api/v1/namespaces from 5 with team=db");
    objects.list("5", &[object("a/x", 1)]);
    let _objects = server.next().await.watch();
    let namespaces = namespaces.watch();
    scope.borrow_and_update();
    namespaces.deleted(&namespace("a", 6));
    namespaces.added(&namespace("b", 7));
    scope.wait_for(|scope| *scope == only(&["b"])).await.unwrap();
    assert_eq!(server.next().await.to_string(), "list /api/v1/namespaces/b/configmaps");
    assert!(store.is_empty());
    stop.cancel();
    resolving.await.unwrap();
}
