//! Informers against the API server of the tests, while everything that can go wrong does. Whatever happened on the way, the store
//! ends with what the server has, and so does everyone who listened.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use apiserver::{Fault, ObjectId, Server, Verb, WatchFault, When};
use fastrand::Rng;
use k8s_openapi::api::core::v1::ConfigMap;
use kit::{Informer, Row, Scope, Select, Slim, Store, informer::State, metrics::Metrics};
use serde_json::json;
use tokio::{sync::watch, time::sleep};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

type Rows = BTreeMap<String, u64>;

/// A server, an informer on it, and somebody who listens.
struct World {
    server: Server,
    store: Store<Slim<ConfigMap>>,
    scope: watch::Sender<Scope>,
    heard: Arc<Mutex<Rows>>,
    changes: Arc<Mutex<usize>>,
    _task: AbortOnDropHandle<()>,
}

impl World {
    fn new(server: Server, scope: Scope) -> Self {
        let (scope, receiver) = watch::channel(scope);
        let informer =
            Informer::new(server.client_named("informer"), Select::all(), receiver, Metrics::new());
        let store: Store<Slim<ConfigMap>> = informer.store();
        let (heard, changes) = (Arc::new(Mutex::new(Rows::new())), Arc::new(Mutex::new(0)));
        let (rows, count) = (heard.clone(), changes.clone());
        store.on_change(move |change| {
            let (mut rows, key) = (rows.lock().unwrap(), change.key.to_string());
            *count.lock().unwrap() += 1;
            assert_eq!(rows.get(&key).copied(), change.old.map(|row| row.resource_version()), "{key}: a gap");
            match change.new {
                Some(row) => rows.insert(key, row.resource_version()),
                None => rows.remove(&key),
            };
        });
        let task = AbortOnDropHandle::new(tokio::spawn(informer.run(CancellationToken::new())));
        Self { server, store, scope, heard, changes, _task: task }
    }

    fn cached(&self) -> Rows {
        self.store.list().iter().map(|row| (Row::key(&**row).to_string(), row.resource_version())).collect()
    }

    fn served(&self, namespaces: &[&str]) -> Rows {
        let (_, objects) = self.server.store().list(&apiserver::Scope::all("", "configmaps"));
        let row = |object: &Arc<apiserver::Object>| {
            let meta = kit::Meta::decode(object.value().to_string().as_bytes()).unwrap();
            (meta.key().clone(), meta.resource_version())
        };
        let covered = |key: &kit::Key| namespaces.contains(&key.namespace());
        objects
            .iter()
            .map(row)
            .filter(|(key, _)| covered(key))
            .map(|(key, at)| (key.to_string(), at))
            .collect()
    }

    /// Waits until the cache has what the server has, and checks that whoever listened knows it too.
    async fn converges(&self, namespaces: &[&str], story: &str) {
        for _ in 0..2_000 {
            if self.cached() == self.served(namespaces) {
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(self.cached(), self.served(namespaces), "{story}: the store");
        assert_eq!(*self.heard.lock().unwrap(), self.cached(), "{story}: the listener");
        assert_eq!(self.store.health().state, State::Synced, "{story}: {}", self.store.health());
    }

    fn requests(&self, verb: Verb) -> usize {
        self.server.requests().of("informer").verb(verb).told().len()
    }
}

fn put(server: &Server, namespace: &str, name: &str, value: u64) {
    server
        .install(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": namespace, "name": name},
            "data": {"value": value.to_string()},
        }))
        .unwrap();
}

fn delete(server: &Server, namespace: &str, name: &str) {
    server.remove(&ObjectId::new("", "configmaps", namespace, name));
}

fn any_fault(rng: &mut Rng, revision: u64) -> (Verb, Fault) {
    let event = rng.usize(0..6);
    let stale = Fault::Stale(rng.u64(1..=revision));
    let watch = |fault| (Verb::Watch, Fault::Watch(fault));
    match rng.u8(0..16) {
        0 => (Verb::List, Fault::internal_error()),
        1 => (Verb::List, Fault::Torn),
        2 => (Verb::List, stale),
        3 => (Verb::List, Fault::Hang),
        4 => (Verb::List, Fault::too_many_requests(rng.u32(0..20))),
        5 => (Verb::Watch, Fault::gone()),
        6 => (Verb::Watch, Fault::unavailable()),
        7 => (Verb::Watch, Fault::Reset),
        8 => (Verb::Watch, Fault::Hang),
        9 => (Verb::Watch, stale),
        10 => watch(WatchFault::Delay { event, by: Duration::from_secs(rng.u64(1..30)) }),
        11 => watch(WatchFault::Repeat { event }),
        12 => watch(WatchFault::Cut { after: event }),
        13 => watch(WatchFault::Break { after: event }),
        14 => watch(WatchFault::Gone { after: event }),
        _ => watch(WatchFault::Silence { after: event }),
    }
}

/// One random story: objects come, change and go, history is forgotten, requests and streams fail, the scope changes.
async fn story(seed: u64) -> usize {
    let mut rng = Rng::with_seed(seed);
    fastrand::seed(seed);
    let world = World::new(Server::new(), Scope::All);
    let namespaces = ["default", "kube-public"];
    for round in 0..40 {
        for _ in 0..rng.usize(0..6) {
            let (namespace, name) = (*rng.choice(&namespaces).unwrap(), rng.u8(0..8).to_string());
            if rng.u8(0..3) == 0 {
                delete(&world.server, namespace, &name);
            } else {
                put(&world.server, namespace, &name, rng.u64(..));
            }
        }
        if rng.u8(0..3) == 0 {
            let (verb, fault) = any_fault(&mut rng, world.server.revision());
            world.server.faults().add(When::verb(verb).client("informer").times(rng.usize(1..4)), fault);
        }
        match rng.u8(0..20) {
            0 => world.server.compact(),
            1 => drop(world.scope.send(Scope::Only([namespaces[round % 2].to_owned()].into()))),
            2 => drop(world.scope.send(Scope::All)),
            _ => {}
        }
        sleep(Duration::from_millis(rng.u64(0..20_000))).await;
    }
    let faults = world.server.faults().fired().iter().sum();
    world.server.faults().clear();
    world.scope.send(Scope::All).unwrap();
    world.converges(&namespaces, &format!("seed {seed}")).await;
    put(&world.server, "default", "the-end", 1);
    world.store.reached("default", world.server.revision()).await;
    world.converges(&namespaces, &format!("seed {seed}, after the end")).await;
    faults
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_the_store_and_who_listens_end_with_what_the_server_has() {
    let mut faults = 0;
    for seed in 0..100 {
        faults += story(seed).await;
    }
    assert!(faults > 1_000, "only {faults} faults in all stories");
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_while_nobody_watches_is_heard_of() {
    let world = World::new(Server::new(), Scope::All);
    put(&world.server, "default", "stays", 1);
    put(&world.server, "default", "goes", 1);
    let broken = When::verb(Verb::Watch).client("informer");
    world.server.faults().add(broken.clone(), Fault::Watch(WatchFault::Break { after: 0 }));
    world.server.faults().add(broken.skip(1).times(3), Fault::Reset);
    world.store.wait_synced().await;
    delete(&world.server, "default", "goes");
    put(&world.server, "default", "later", 1);
    world.server.compact();
    world.converges(&["default"], "a gap").await;
    assert!(world.requests(Verb::List) >= 2, "the history of the gap was gone");
}

#[tokio::test(start_paused = true)]
async fn an_event_that_the_server_lost_is_made_up_for_by_the_next_list() {
    let world = World::new(Server::new(), Scope::All);
    put(&world.server, "default", "goes", 1);
    let watches = When::verb(Verb::Watch).client("informer");
    world.server.faults().add(watches.clone(), Fault::Watch(WatchFault::Lose { event: 0 }));
    world.server.faults().add(watches.skip(1), Fault::Watch(WatchFault::Gone { after: 0 }));
    world.store.wait_synced().await;
    sleep(Duration::from_secs(1)).await;
    delete(&world.server, "default", "goes");
    put(&world.server, "default", "comes", 1);
    world.converges(&["default"], "a lost event").await;
}

#[tokio::test(start_paused = true)]
async fn pages_that_fail_or_expire_lose_nothing() {
    let server = Server::new();
    for index in 0..1_200 {
        put(&server, "default", &format!("object-{index:04}"), index);
    }
    let lists = When::verb(Verb::List).client("informer");
    server.faults().add(lists.clone().skip(1), Fault::internal_error());
    server.faults().add(lists.clone().skip(4), Fault::gone());
    let world = World::new(server, Scope::All);
    world.store.wait_synced().await;
    world.converges(&["default"], "first list").await;
    // two pages, the second of which failed; three, the last of which expired; all at once
    assert_eq!(world.requests(Verb::List), 2 + 3 + 1);
    assert_eq!(*world.changes.lock().unwrap(), 1_200, "each object is heard of once");
}

#[tokio::test(start_paused = true)]
async fn at_rest_nothing_is_asked_but_to_watch_on() {
    let server = Server::new();
    for index in 0..600 {
        put(&server, "default", &index.to_string(), index);
    }
    let world = World::new(server, Scope::All);
    world.store.wait_synced().await;
    let (lists, changes) = (world.requests(Verb::List), *world.changes.lock().unwrap());
    sleep(Duration::from_secs(600)).await;
    assert_eq!(world.requests(Verb::List), lists);
    assert!(world.requests(Verb::Watch) <= 4, "{}", world.requests(Verb::Watch));
    assert_eq!(*world.changes.lock().unwrap(), changes);
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_noticed_and_what_was_missed_is_made_up_for() {
    let world = World::new(Server::new(), Scope::Except(["kube-public".to_owned()].into()));
    let watches = When::verb(Verb::Watch).client("informer");
    world.server.faults().add(watches, Fault::Watch(WatchFault::Silence { after: 0 }));
    world.store.wait_synced().await;
    sleep(Duration::from_secs(1)).await;
    put(&world.server, "default", "missed", 1);
    put(&world.server, "kube-public", "outside", 1);
    sleep(Duration::from_secs(200)).await;
    assert!(world.store.is_empty());
    world.converges(&["default"], "silence").await;
    assert_eq!(world.requests(Verb::List), 1, "watching on was enough");
}
