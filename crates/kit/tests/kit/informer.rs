//! Informers against a server of which the test plays every answer. The numbers are those of the invariants in
//! reference/rust-operators.md, appendix B.

mod scope;
mod script;

use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kit::{Informer, Key, KindId, Owner, Row, Scope, Select, Slim, informer::State, metrics::Metrics};
use script::{World, broken, object, server};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

fn only(namespaces: &[&str]) -> Scope {
    Scope::Only(set(namespaces))
}

fn set(namespaces: &[&str]) -> BTreeSet<String> {
    namespaces.iter().copied().map(String::from).collect()
}

// 1. The last change that anybody hears of is what the store has. (Under threads: informer_threads.rs)

#[tokio::test(start_paused = true)]
async fn listeners_hear_of_every_change_and_subscribers_of_every_key_once() {
    let (mut world, watch) = World::synced(&[object("a/x", 1)], "5").await;
    assert_eq!(world.dirty(), ["a/x"]);
    watch.added(&object("a/y", 6));
    watch.modified(&object("a/y", 7));
    watch.modified(&object("a/x", 8));
    watch.deleted(&object("a/y", 9));
    world.arrived(&watch, 10).await;
    assert_eq!(world.heard(), ["a/y: - to 6", "a/y: 6 to 7", "a/x: 1 to 8", "a/y: 7 to -"]);
    assert_eq!(world.dirty(), ["a/y", "a/x"]);
    assert_eq!(world.content(), ["a/x@8"]);
}

#[tokio::test(start_paused = true)]
async fn who_comes_late_hears_of_everything_first() {
    let (mut world, watch) = World::synced(&[object("a/x", 1), broken("a/y", 2)], "5").await;
    let (heard, hears) = std::sync::mpsc::channel();
    world.store.on_change(move |change| heard.send((change.key.to_string(), change.initial)).unwrap());
    let mut subscription = world.store.subscribe();
    watch.modified(&object("a/x", 6));
    world.arrived(&watch, 7).await;
    let hears: Vec<_> = hears.try_iter().collect();
    assert_eq!(hears, [("a/x".into(), true), ("a/y".into(), true), ("a/x".into(), false)]);
    assert_eq!(subscription.next().await, Key::new("a", "x"));
    assert_eq!(subscription.next().await, Key::new("a", "y"));
    assert_eq!(subscription.try_next(), None);
}

#[tokio::test(start_paused = true)]
async fn a_listener_finds_the_change_in_the_store() {
    let (mut world, watch) = World::synced(&[], "5").await;
    let store = world.store.clone();
    let (heard, hears) = std::sync::mpsc::channel();
    world.store.on_change(move |change| {
        let found = store.get(change.key).map(|row| row.metadata.resource_version.clone());
        heard.send(found == change.new.map(|row| row.metadata.resource_version.clone())).unwrap();
    });
    watch.added(&object("a/x", 6));
    watch.deleted(&object("a/x", 7));
    world.arrived(&watch, 8).await;
    assert_eq!(hears.try_iter().collect::<Vec<_>>(), [true, true]);
}

// 2. Nobody delays the watch or the others.

#[tokio::test(start_paused = true)]
async fn a_stuck_subscriber_delays_nobody_and_costs_one_key_per_object() {
    let (mut world, watch) = World::synced(&[], "5").await;
    let mut stuck = world.store.subscribe();
    for version in 6..10_006 {
        watch.modified(&object(&format!("a/{}", version % 10), version));
    }
    world.arrived(&watch, 10_006).await;
    assert_eq!(world.heard().len(), 10_000);
    assert_eq!(std::iter::from_fn(|| stuck.try_next()).count(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_takes_nothing_from_the_others() {
    let (mut world, watch) = World::synced(&[], "5").await;
    world.store.on_change(|_| panic!("a bug in somebody's mapping"));
    let mut subscription = world.store.subscribe();
    watch.added(&object("a/x", 6));
    watch.added(&object("a/y", 7));
    world.arrived(&watch, 8).await;
    assert_eq!(world.heard(), ["a/x: - to 6", "a/y: - to 7"]);
    assert_eq!(subscription.next().await, Key::new("a", "x"));
}

// 3. A relist emits exactly the difference; what was deleted while nobody watched, too.

#[tokio::test(start_paused = true)]
async fn a_relist_emits_exactly_the_difference() {
    let items = [object("a/same", 1), object("a/changed", 2), object("b/deleted", 3)];
    let (mut world, watch) = World::synced(&items, "5").await;
    watch.event("ERROR", &serde_json::json!({"kind": "Status", "code": 410, "reason": "Expired"}));
    let items = [object("a/same", 1), object("a/changed", 7), object("a/added", 8)];
    world.server.next().await.list("9", &items);
    let again = world.server.next().await;
    assert_eq!(again.to_string(), "watch /api/v1/configmaps from 9");
    assert_eq!(world.heard(), ["a/changed: 2 to 7", "a/added: - to 8", "b/deleted: 3 to -"]);
    assert_eq!(world.content(), ["a/added@8", "a/changed@7", "a/same@1"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_deleted_and_created_anew_is_a_change() {
    let (mut world, watch) = World::synced(&[object("a/x", 1)], "5").await;
    watch.event("ERROR", &serde_json::json!({"kind": "Status", "code": 410}));
    let mut anew = object("a/x", 8);
    anew["metadata"]["uid"] = "another".into();
    world.server.next().await.list("9", &[anew]);
    world.server.next().await;
    assert_eq!(world.heard(), ["a/x: 1 to 8"]);
}

// 4. Synced after the first complete list of every namespace; versions go forward only, bookmarks too.

#[tokio::test(start_paused = true)]
async fn synced_only_after_every_namespace_was_listed() {
    let mut world = World::new(only(&["a", "b"]));
    assert_eq!(world.store.health().state, State::Starting);
    let (a, b) = (world.server.next().await, world.server.next().await);
    assert_eq!(a.to_string(), "list /api/v1/namespaces/a/configmaps");
    assert_eq!(b.to_string(), "list /api/v1/namespaces/b/configmaps");
    a.list("5", &[object("a/x", 1)]);
    let _a = world.server.next().await.watch();
    assert!(!world.store.synced() && world.store.synced_in("a") && !world.store.synced_in("b"));
    b.page("6", "more", &[object("b/x", 2)]);
    let b = world.server.next().await;
    assert_eq!(world.store.health().state, State::Syncing);
    assert!(!world.store.synced(), "half a list is no list");
    b.list("6", &[object("b/y", 3)]);
    world.store.wait_synced().await;
    assert!(world.store.synced());
    assert_eq!((world.store.resource_version("a"), world.store.resource_version("b")), (5, 6));
    assert_eq!(world.heard(), ["a/x: - to 1 (initial)", "b/x: - to 2 (initial)", "b/y: - to 3 (initial)"]);
}

#[tokio::test(start_paused = true)]
async fn versions_never_go_back_and_bookmarks_advance_them() {
    let (mut world, watch) = World::synced(&[object("a/x", 1)], "5").await;
    let at = |world: &World| world.store.resource_version("a");
    assert_eq!(at(&world), 5);
    world.arrived(&watch, 20).await;
    assert_eq!(at(&world), 20);
    watch.bookmark("8");
    watch.modified(&object("a/x", 7));
    watch.added(&object("a/deleted-long-ago", 6));
    watch.modified(&object("a/x", 21));
    world.store.reached("a", 21).await;
    watch.deleted(&object("a/x", 19));
    world.arrived(&watch, 22).await;
    assert_eq!(world.heard(), ["a/x: 1 to 21"], "what is older than what is known is a repetition");
    assert_eq!(at(&world), 22);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_version_sees_it_in_the_store() {
    let (world, watch) = World::synced(&[], "5").await;
    let store = world.store.clone();
    let waiting = tokio::spawn(async move {
        store.reached("a", 7).await;
        store.get(&Key::new("a", "mine")).is_some()
    });
    watch.added(&object("a/other", 6));
    watch.added(&object("a/mine", 7));
    assert!(waiting.await.unwrap());
    world.store.reached("a", 3).await;
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_where_no_version_will_come() {
    let mut world = World::new(only(&["a"]));
    world.server.next().await.list("opaque", &[]);
    world.store.wait_synced().await;
    world.store.reached("outside", 7).await;
    world.store.reached("a", 7).await;
    let watch = world.server.next().await;
    assert_eq!(watch.to_string(), "watch /api/v1/namespaces/a/configmaps from opaque");
}

// 5. 410 is listed anew at once; a lost connection is resumed after a while; one broken object is only itself.

#[tokio::test(start_paused = true)]
async fn history_that_is_gone_as_an_http_status_is_listed_anew_at_once() {
    let (mut world, watch) = World::synced(&[], "5").await;
    tokio::time::advance(Duration::from_secs(280)).await;
    drop(watch);
    world.server.at_once().await.status(410, "Expired", "too old resource version: 5 (900)");
    let list = world.server.at_once().await;
    assert_eq!(list.to_string(), "list /api/v1/configmaps");
}

#[tokio::test(start_paused = true)]
async fn history_that_is_gone_as_an_event_is_listed_anew_at_once() {
    let (mut world, watch) = World::synced(&[], "5").await;
    watch.event("ERROR", &serde_json::json!({"kind": "Status", "code": 410, "reason": "Expired"}));
    let list = world.server.at_once().await;
    assert_eq!(list.to_string(), "list /api/v1/configmaps");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_forgets_everything_is_not_asked_in_a_hot_loop() {
    let mut world = World::new(Scope::All);
    let begun = Instant::now();
    for version in 1..=20 {
        world.server.next().await.list(&version.to_string(), &[]);
        let watch = world.server.next().await.watch();
        watch.bookmark(&version.to_string());
        watch.event("ERROR", &serde_json::json!({"kind": "Status", "code": 410}));
    }
    assert!(begun.elapsed() > Duration::from_secs(120), "20 lists in {:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_resumed_from_the_last_version_ever_more_slowly() {
    let (mut world, watch) = World::synced(&[object("a/x", 1)], "5").await;
    watch.modified(&object("a/x", 6));
    world.arrived(&watch, 8).await;
    watch.breaks();
    let mut waits = Vec::new();
    for _ in 0..12 {
        let (call, wait) = world.server.later().await;
        assert_eq!(call.to_string(), "watch /api/v1/configmaps from 8");
        call.refuse();
        waits.push(wait);
    }
    assert!(waits[0] <= Duration::from_millis(100), "{waits:?}");
    assert!(waits[11] >= Duration::from_secs(15) && waits[11] <= Duration::from_secs(30), "{waits:?}");
    assert_eq!(world.heard(), ["a/x: 1 to 6"]);
    let health = world.store.health();
    assert_eq!(health.state, State::Synced);
    assert!(health.last_error.unwrap().starts_with("cannot watch configmaps in the whole cluster: "));
    let _watch = world.server.later().await.0.watch();
    world.server.silence(Duration::from_secs(60)).await;
    assert_eq!(world.store.health().last_error, None);
}

#[tokio::test(start_paused = true)]
async fn a_line_that_was_cut_in_the_middle_is_read_again() {
    let (mut world, watch) = World::synced(&[], "5").await;
    watch.added(&object("a/x", 6));
    watch.raw(r#"{"type":"ADDED","object":{"metadata":{"na"#);
    watch.breaks();
    let watch = world.server.next().await;
    assert_eq!(watch.to_string(), "watch /api/v1/configmaps from 6");
    let watch = watch.watch();
    let line = serde_json::json!({"type": "ADDED", "object": object("a/y", 7)}).to_string();
    let (first, second) = line.split_at(20);
    watch.raw(first);
    watch.raw(second);
    watch.raw("\n");
    world.arrived(&watch, 8).await;
    assert_eq!(world.heard(), ["a/x: - to 6", "a/y: - to 7"]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_given_up() {
    let (mut world, watch) = World::synced(&[], "5").await;
    let (call, wait) = world.server.later().await;
    assert_eq!(call.to_string(), "watch /api/v1/configmaps from 5");
    assert!((280..=301).contains(&wait.as_secs()), "{wait:?}");
    assert!(watch.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_in_good_order_goes_on_at_once() {
    let (mut world, watch) = World::synced(&[], "5").await;
    world.arrived(&watch, 9).await;
    tokio::time::advance(Duration::from_secs(250)).await;
    drop(watch);
    let call = world.server.at_once().await;
    assert_eq!(call.to_string(), "watch /api/v1/configmaps from 9");
    drop(call.watch());
    world.server.later().await;
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_left_alone_for_as_long_as_it_asks() {
    let mut world = World::new(Scope::All);
    world.server.next().await.retry_after(429, 17);
    let (call, wait) = world.server.later().await;
    assert!((17..19).contains(&wait.as_secs()), "{wait:?}");
    call.retry_after(503, 40);
    let (_, wait) = world.server.later().await;
    assert!((40..42).contains(&wait.as_secs()), "{wait:?}");
}

#[tokio::test(start_paused = true)]
async fn one_undecodable_object_is_marked_and_the_watch_goes_on() {
    let (mut world, watch) = World::synced(&[object("a/x", 1), broken("a/y", 2)], "5").await;
    let (x, y) = (Key::new("a", "x"), Key::new("a", "y"));
    assert_eq!(world.content(), ["a/x@1"]);
    let why = world.store.undecodable(&y).unwrap();
    assert_eq!((why.meta.uid(), why.meta.resource_version()), ("y", 2));
    assert_eq!(why.error, "data: a string, expected a map");
    watch.modified(&broken("a/x", 6));
    watch.modified(&object("a/y", 7));
    watch.added(&object("a/z", 8));
    world.arrived(&watch, 9).await;
    assert_eq!(world.heard(), ["a/x: 1 to broken 6", "a/y: - to 7", "a/z: - to 8"]);
    assert!(world.store.get(&x).is_none() && world.store.undecodable(&x).is_some());
    assert!(world.store.get(&y).is_some() && world.store.undecodable(&y).is_none());
    assert_eq!((world.store.len(), world.store.keys().len()), (3, 3));
    assert!(world.metrics.encode().contains(r#"informer_undecodable_objects{kind="ConfigMap"} 1"#));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_no_json_leads_to_a_list() {
    let (mut world, watch) = World::synced(&[], "5").await;
    watch.raw("<html>proxy error</html>\n");
    assert_eq!(world.server.next().await.to_string(), "list /api/v1/configmaps");
}

/// A row with a bug: its key is a panic for one object.
struct Buggy(Slim<ConfigMap>);

impl Row for Buggy {
    fn kind() -> KindId {
        KindId::of::<ConfigMap>()
    }

    fn decode(json: &[u8]) -> Result<Self, serde_json::Error> {
        let row = Slim::decode(json)?;
        assert_ne!(Row::key(&row).name(), "undecodable", "a bug");
        Ok(Self(row))
    }

    fn key(&self) -> Key {
        assert_ne!(self.0.resource_version(), 66, "a bug");
        Row::key(&self.0)
    }

    fn uid(&self) -> &str {
        self.0.uid()
    }

    fn resource_version(&self) -> u64 {
        self.0.resource_version()
    }

    fn generation(&self) -> i64 {
        self.0.generation()
    }

    fn label(&self, name: &str) -> Option<&str> {
        self.0.label(name)
    }

    fn controller(&self) -> Option<Owner<'_>> {
        self.0.controller()
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_that_panics_ends_no_watch() {
    let mut world = World::<Buggy>::selecting(Select::all(), Scope::All);
    world.server.next().await.list("5", &[object("a/undecodable", 1), object("a/x", 2)]);
    let watch = world.server.next().await.watch();
    assert_eq!(world.store.undecodable(&Key::new("a", "undecodable")).unwrap().error, "decoding panicked");
    watch.modified(&object("a/x", 66));
    let (list, _) = world.server.later().await;
    assert_eq!(list.to_string(), "list /api/v1/configmaps");
    assert!(world.store.health().last_error.unwrap().contains("a bug in this operator"));
    list.list("70", &[object("a/x", 69)]);
    world.server.next().await;
    assert_eq!(world.content(), ["a/x@69"]);
}

// 6. A page that fails leaves what is there; a list needs no more memory than a page.

#[tokio::test(start_paused = true)]
async fn a_failed_page_midway_removes_nothing() {
    let items: Vec<_> = (0..4).map(|i| object(&format!("a/{i}"), i + 1)).collect();
    let (mut world, watch) = World::synced(&items, "5").await;
    watch.event("ERROR", &serde_json::json!({"kind": "Status", "code": 410}));
    world.server.next().await.page("9", "token", &[object("a/0", 8)]);
    let second = world.server.next().await;
    assert_eq!(second.to_string(), "list /api/v1/configmaps after token");
    second.status(500, "InternalError", "etcdserver: request timed out");
    let first = world.server.next().await;
    assert_eq!(first.to_string(), "list /api/v1/configmaps");
    assert_eq!(world.content(), ["a/0@8", "a/1@2", "a/2@3", "a/3@4"]);
    assert_eq!(world.store.resource_version("a"), 5, "what is not complete does not count");
    assert!(world.store.synced());
    first.list("10", &[object("a/0", 8), object("a/1", 2)]);
    world.server.next().await;
    assert_eq!(world.heard(), ["a/0: 1 to 8", "a/2: 3 to -", "a/3: 4 to -"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_taken_page_by_page() {
    let mut world = World::new(Scope::All);
    let first = world.server.next().await;
    assert_eq!(first.query("limit").as_deref(), Some("500"));
    assert_eq!(first.query("resourceVersion"), None, "the newest, never an old one");
    first.page("5", "t1", &[object("a/x", 1)]);
    let second = world.server.next().await;
    assert_eq!(second.query("limit").as_deref(), Some("500"));
    assert_eq!(world.content(), ["a/x@1"], "the first page is in the store before the second is asked for");
    second.list("5", &[object("a/y", 2)]);
    world.store.wait_synced().await;
    assert_eq!(world.content(), ["a/x@1", "a/y@2"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_pages_expire_is_asked_for_in_one_page() {
    let mut world = World::new(Scope::All);
    world.server.next().await.page("5", "t1", &[object("a/x", 1)]);
    world.server.next().await.status(410, "Expired", "The provided continue parameter is too old");
    let whole = world.server.at_once().await;
    assert_eq!((whole.query("limit"), whole.query("continue")), (None, None));
    whole.list("8", &[object("a/y", 7)]);
    world.store.wait_synced().await;
    assert_eq!(world.content(), ["a/y@7"]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_may_say_null() {
    let mut world = World::new(Scope::All);
    let call = world.server.next().await;
    call.watch().raw(r#"{"metadata":{"resourceVersion":"3"},"items":null}"#);
    world.store.wait_synced().await;
    assert!(world.store.is_empty());
}

// A server that answers with an older state than it had before.

#[tokio::test(start_paused = true)]
async fn a_list_older_than_what_is_known_is_refused() {
    let (mut world, watch) = World::synced(&[object("a/x", 1)], "5").await;
    watch.deleted(&object("a/x", 50));
    world.arrived(&watch, 100).await;
    world.heard();
    watch.event("ERROR", &serde_json::json!({"kind": "Status", "code": 410}));
    world.server.next().await.list("5", &[object("a/x", 1)]);
    let (again, _) = world.server.later().await;
    assert_eq!(world.heard(), [""; 0], "the deleted object does not come back");
    assert_eq!(world.store.resource_version("a"), 100);
    assert!(
        world.store.health().last_error.unwrap().contains("at resourceVersion 5, but 100 was seen before")
    );
    again.list("120", &[object("a/y", 110)]);
    world.server.next().await;
    assert_eq!(world.heard(), ["a/y: - to 110"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_insists_on_the_past_was_restored_and_is_believed_after_a_minute() {
    let (mut world, watch) = World::synced(&[object("a/new", 50)], "100").await;
    let begun = Instant::now();
    watch.event("ERROR", &serde_json::json!({"kind": "Status", "code": 504, "message": "Too large resource version: 100, current: 7"}));
    loop {
        let call = world.server.next().await;
        if call.to_string().starts_with("watch") {
            assert_eq!(call.to_string(), "watch /api/v1/configmaps from 7");
            break;
        }
        call.list("7", &[object("a/old", 3)]);
    }
    assert!((60..120).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    assert_eq!(world.heard(), ["a/old: - to 3", "a/new: 50 to -"]);
    assert_eq!(world.content(), ["a/old@3"]);
}

// The kind is not there, or may not be read.

#[tokio::test(start_paused = true)]
async fn a_missing_kind_is_waited_for() {
    let mut world = World::new(Scope::All);
    for _ in 0..10 {
        world.server.next().await.status(404, "NotFound", "the server could not find the requested resource");
    }
    let (call, wait) = world.server.later().await;
    assert!(wait <= Duration::from_secs(30), "{wait:?}");
    let health = world.store.health();
    assert_eq!(health.state, State::MissingKind);
    assert!(health.last_error.unwrap().contains("install the CustomResourceDefinition"));
    assert!(!world.store.synced());
    call.list("5", &[object("a/x", 1)]);
    world.store.wait_synced().await;
    assert_eq!((world.store.health().state, world.store.health().last_error), (State::Synced, None));
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_goes_missing_for_a_while_keeps_its_rows() {
    let (mut world, watch) = World::synced(&[object("a/x", 1)], "5").await;
    watch.breaks();
    world.server.next().await.status(404, "NotFound", "");
    let list = world.server.next().await;
    assert_eq!(list.to_string(), "list /api/v1/configmaps");
    list.status(404, "NotFound", "");
    let list = world.server.next().await;
    assert_eq!(world.store.health().state, State::MissingKind);
    assert_eq!(world.content(), ["a/x@1"], "a server that is just starting knows no custom kinds either");
    list.list("9", &[]);
    world.server.next().await;
    assert_eq!(world.heard(), ["a/x: 1 to -"]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_named() {
    let mut world = World::new(only(&["a"]));
    world.server.next().await.status(403, "Forbidden", "no");
    let (call, _) = world.server.later().await;
    let health = world.store.health();
    assert_eq!(health.state, State::Forbidden);
    assert_eq!(
        health.last_error.unwrap(),
        "may not list configmaps in namespace a: grant this operator list and watch on configmaps of API group \"\" (no)"
    );
    call.list("5", &[]);
    world.store.wait_synced().await;
    assert_eq!(world.store.health().state, State::Synced);
}

// What is asked for, and what can be found.

#[tokio::test(start_paused = true)]
async fn slim_rows_ask_for_metadata_only() {
    let mut world = World::<Slim<ConfigMap>>::selecting(Select::labels("app=db"), Scope::All);
    let list = world.server.next().await;
    assert_eq!(list.to_string(), "list /api/v1/configmaps with app=db");
    assert_eq!(list.header("accept"), "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    list.list("5", &[]);
    let watch = world.server.next().await;
    assert_eq!(watch.to_string(), "watch /api/v1/configmaps from 5 with app=db");
    assert_eq!(watch.header("accept"), "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    assert_eq!(watch.header("accept-encoding"), "identity");
    assert_eq!(watch.query("allowWatchBookmarks").as_deref(), Some("true"));
}

#[tokio::test(start_paused = true)]
async fn selectors_of_the_kind_and_of_the_scope_are_joined() {
    let mut world = World::<ConfigMap>::selecting(
        Select::fields("metadata.name!=big"),
        Scope::Except(set(&["kube-system"])),
    );
    assert_eq!(
        world.server.next().await.to_string(),
        "list /api/v1/configmaps where metadata.name!=big,metadata.namespace!=kube-system"
    );
}

#[tokio::test(start_paused = true)]
async fn objects_are_found_by_namespace_and_by_index() {
    let (client, mut server) = server();
    let (_scope, scope) = watch::channel(Scope::All);
    let informer = Informer::<ConfigMap>::new(client, Select::all(), scope, Metrics::new())
        .index("version", |row| row.data.iter().flatten().map(|(_, value)| value.clone()).collect());
    let store = informer.store();
    tokio::spawn(informer.run(CancellationToken::new()));
    server.next().await.list("5", &[object("b/x", 1), object("a/y", 1), object("a/x", 2), object("aa/x", 3)]);
    let watch = server.next().await.watch();
    let keys = |rows: Vec<std::sync::Arc<ConfigMap>>| -> Vec<String> {
        rows.iter().map(|row| Key::of(&**row).to_string()).collect()
    };
    assert_eq!(keys(store.in_namespace("a")), ["a/x", "a/y"]);
    assert_eq!(keys(store.by("version", "1")), ["a/y", "b/x"]);
    watch.modified(&object("b/x", 6));
    watch.deleted(&object("a/y", 7));
    store.reached("a", 7).await;
    assert_eq!(keys(store.by("version", "1")), [""; 0]);
    assert_eq!(keys(store.by("version", "6")), ["b/x"]);
}

#[tokio::test(start_paused = true)]
async fn it_stops_when_it_is_told_and_leaves_nothing_behind() {
    let (world, watch) = World::synced(&[object("a/x", 1)], "5").await;
    world.stop.cancel();
    world.task.await.unwrap();
    assert!(watch.is_closed());
    assert_eq!(world.store.len(), 1, "who still reads, still can");
}

#[tokio::test(start_paused = true)]
async fn at_rest_there_is_one_watch_and_nothing_else() {
    let (mut world, mut watch) = World::synced(&[object("a/x", 1)], "5").await;
    let begun = Instant::now();
    let mut watches = 0;
    while begun.elapsed() < Duration::from_secs(600) {
        tokio::time::advance(Duration::from_secs(280)).await;
        drop(watch);
        let call = world.server.at_once().await;
        assert_eq!(call.to_string(), "watch /api/v1/configmaps from 5");
        watch = call.watch();
        watches += 1;
    }
    assert_eq!(watches, 3);
    assert_eq!(world.heard(), [""; 0]);
}
