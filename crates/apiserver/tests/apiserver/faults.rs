//! The server broken on purpose: every fault of the catalogue, seen from a client.

use std::time::Duration;

use apiserver::{ApiError, Competitor, CrashPoint, Fault, Plan, Server, Verb, WatchFault, When};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, PostParams, WatchEvent, WatchParams},
};
use serde_json::json;
use tokio::time::{Instant, timeout};

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": "1"}})).unwrap()
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

async fn create(api: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    api.create(&PostParams::default(), &map(name)).await
}

async fn touch(api: &Api<ConfigMap>, name: &str, value: &str) -> ConfigMap {
    let mut object = api.get(name).await.unwrap();
    object.data.get_or_insert_default().insert("k".into(), value.into());
    api.replace(name, &PostParams::default(), &object).await.unwrap()
}

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_meets_the_requests_that_it_names_and_no_others() {
    let server = Server::new();
    let api = maps(server.client_named("operator"));
    let other = maps(server.client_named("other"));
    server.faults().plan(Plan::new([
        (
            When::verb(Verb::Create).client("operator").resource("configmaps").skip(1).times(2),
            Fault::unavailable(),
        ),
        (When::verb(Verb::Get).object("default", "a"), Fault::too_many_requests(7)),
    ]));
    create(&api, "a").await.unwrap();
    create(&other, "b").await.unwrap();
    assert_eq!(code(&create(&api, "c").await.unwrap_err()), 503);
    assert_eq!(code(&create(&api, "c").await.unwrap_err()), 503);
    create(&api, "c").await.unwrap();
    assert_eq!(code(&api.get("a").await.unwrap_err()), 429);
    api.get("a").await.unwrap();
    assert_eq!(server.faults().fired(), [2, 1]);
    let codes: Vec<_> = server.requests().of("operator").iter().map(|r| r.code).collect();
    assert_eq!(codes, [Some(201), Some(503), Some(503), Some(201), Some(429), Some(200)]);
}

#[tokio::test(start_paused = true)]
async fn a_request_can_be_named_by_its_place() {
    let server = Server::new();
    let api = maps(server.client());
    create(&api, "a").await.unwrap();
    let next = server.request_count();
    server.faults().add(When::index(next + 1), Fault::internal_error());
    api.get("a").await.unwrap();
    assert_eq!(code(&api.get("a").await.unwrap_err()), 500);
    api.get("a").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_refused_write_is_not_done_and_a_lost_one_is() {
    let server = Server::new();
    let api = maps(server.client());
    for fault in [Fault::Reset, Fault::Refuse(ApiError::forbidden("", "configmaps", "a", "quota"))] {
        server.faults().add(When::write(), fault);
        create(&api, "a").await.unwrap_err();
        assert_eq!(code(&api.get("a").await.unwrap_err()), 404);
    }
    for (name, fault) in [("b", Fault::Lost), ("c", Fault::Torn)] {
        server.faults().add(When::write(), fault);
        create(&api, name).await.unwrap_err();
        api.get(name).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn requests_hang_and_dawdle_in_virtual_time() {
    let server = Server::new();
    let api = maps(server.client());
    let limit = Duration::from_secs(60);
    server.faults().add(When::write(), Fault::Hang);
    assert!(timeout(limit, create(&api, "a")).await.is_err());
    server.faults().add(When::write(), Fault::HangAfter);
    assert!(timeout(limit, create(&api, "b")).await.is_err());
    let names = |list: kube::core::ObjectList<ConfigMap>| -> Vec<String> {
        list.items.iter().map(ResourceExt::name_any).collect()
    };
    assert_eq!(names(api.list(&ListParams::default()).await.unwrap()), ["b"]);
    for fault in [Fault::DelayBefore(limit / 2), Fault::DelayAfter(limit / 2)] {
        server.faults().add(When::read(), fault);
        let start = Instant::now();
        api.list(&ListParams::default()).await.unwrap();
        assert_eq!(start.elapsed(), limit / 2);
    }
}

#[tokio::test(start_paused = true)]
async fn somebody_else_is_faster() {
    let server = Server::new();
    let api = maps(server.client());
    let object = create(&api, "a").await.unwrap();
    let replace = async || api.replace("a", &PostParams::default(), &object).await.map_err(|e| code(&e));
    server.faults().add(When::write(), Fault::Compete(Competitor::Touch));
    assert_eq!(replace().await.unwrap_err(), 409);
    assert!(api.get("a").await.unwrap().annotations().contains_key("competitor"));
    server.faults().add(When::write(), Fault::Compete(Competitor::Recreate));
    assert_eq!(replace().await.unwrap_err(), 409);
    assert_ne!(api.get("a").await.unwrap().uid(), object.uid());
    server.faults().add(When::write(), Fault::Compete(Competitor::Delete));
    assert_eq!(replace().await.unwrap_err(), 404);
}

#[tokio::test(start_paused = true)]
async fn reads_can_look_at_any_earlier_revision() {
    let server = Server::new();
    let api = maps(server.client());
    let before = server.revision();
    create(&api, "a").await.unwrap();
    touch(&api, "a", "2").await;
    server.faults().add(When::verb(Verb::Get), Fault::Stale(before + 1));
    assert_eq!(api.get("a").await.unwrap().data.unwrap()["k"], "1");
    server.faults().add(When::verb(Verb::List), Fault::Stale(before));
    let list = api.list(&ListParams::default()).await.unwrap();
    assert_eq!((list.items.len(), list.metadata.resource_version), (0, Some(before.to_string())));
    assert_eq!(api.get("a").await.unwrap().data.unwrap()["k"], "2");
}

#[tokio::test(start_paused = true)]
async fn a_frozen_client_lives_in_the_past_until_it_thaws() {
    let server = Server::new();
    let api = maps(server.client());
    let frozen = maps(server.client_named("operator"));
    create(&api, "a").await.unwrap();
    server.faults().freeze("operator", server.revision());
    let mut stream = frozen.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    assert!(matches!(stream.try_next().await.unwrap(), Some(WatchEvent::Added(_))));
    touch(&api, "a", "2").await;
    let listed = async || frozen.list(&ListParams::default()).await.unwrap().items.remove(0).data.unwrap();
    assert_eq!(listed().await["k"], "1");
    assert_eq!(
        frozen.get("a").await.unwrap().data.unwrap()["k"],
        "2",
        "a get without a version is a quorum read"
    );
    assert!(timeout(Duration::from_secs(30), stream.try_next()).await.is_err());
    server.faults().thaw("operator");
    assert!(matches!(stream.try_next().await.unwrap(), Some(WatchEvent::Modified(_))));
    assert_eq!(listed().await["k"], "2");
}

/// What a watch with a fault shows of three objects being created and the first changed twice.
async fn seen(fault: WatchFault) -> Vec<String> {
    let server = Server::new();
    let api = maps(server.client());
    let start = server.revision().to_string();
    for name in ["a", "b", "c"] {
        create(&api, name).await.unwrap();
    }
    touch(&api, "a", "2").await;
    touch(&api, "a", "3").await;
    server.faults().add(When::verb(Verb::Watch), Fault::Watch(fault));
    let mut stream = api.watch(&WatchParams::default().timeout(20), &start).await.unwrap().boxed();
    let mut seen = Vec::new();
    let begin = Instant::now();
    loop {
        let told = match timeout(Duration::from_secs(100), stream.next()).await {
            Err(_) => "silence".to_owned(),
            Ok(None) => "end".to_owned(),
            Ok(Some(Err(_))) => "broken".to_owned(),
            Ok(Some(Ok(WatchEvent::Bookmark(_)))) => continue,
            Ok(Some(Ok(WatchEvent::Error(error)))) => format!("error {}", error.code),
            Ok(Some(Ok(WatchEvent::Added(object)))) => format!("+{}", object.name_any()),
            Ok(Some(Ok(WatchEvent::Modified(object)))) => {
                format!("~{}{}", object.name_any(), object.data.unwrap()["k"])
            }
            Ok(Some(Ok(WatchEvent::Deleted(object)))) => format!("-{}", object.name_any()),
        };
        let at = begin.elapsed().as_secs();
        let last = matches!(told.as_str(), "silence" | "end" | "broken");
        seen.push(if at > 0 && !last { format!("{told}@{at}s") } else { told });
        if last {
            return seen;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn events_are_delayed_lost_merged_repeated_and_cut() {
    let rows: [(WatchFault, &[&str]); 8] = [
        (
            WatchFault::Delay { event: 1, by: Duration::from_secs(5) },
            &["+a", "+b@5s", "+c@5s", "~a2@5s", "~a3@5s", "end"],
        ),
        (WatchFault::Lose { event: 3 }, &["+a", "+b", "+c", "~a3", "end"]),
        (WatchFault::Coalesce { event: 0 }, &["+b", "+c", "+a", "~a3", "end"]),
        (WatchFault::Repeat { event: 2 }, &["+a", "+b", "+c", "+c", "~a2", "~a3", "end"]),
        (WatchFault::Cut { after: 2 }, &["+a", "+b", "end"]),
        (WatchFault::Break { after: 2 }, &["+a", "+b", "broken"]),
        (WatchFault::Gone { after: 1 }, &["+a", "error 410", "end"]),
        (WatchFault::Silence { after: 4 }, &["+a", "+b", "+c", "~a2", "silence"]),
    ];
    for (fault, expected) in rows {
        assert_eq!(seen(fault.clone()).await, expected, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_can_be_refused_as_gone() {
    let server = Server::new();
    let api = maps(server.client());
    server.faults().add(When::verb(Verb::Watch), Fault::gone());
    let Err(error) = api.watch(&WatchParams::default(), "1").await else { panic!("the watch was accepted") };
    assert_eq!(code(&error), 410);
}

#[tokio::test(start_paused = true)]
async fn a_crash_stops_the_client_before_after_commit_and_after_the_response() {
    let rows = [
        (CrashPoint::Before, false, false),
        (CrashPoint::AfterCommit, true, false),
        (CrashPoint::AfterResponse, true, true),
    ];
    for (point, done, answered) in rows {
        let server = Server::new();
        let api = maps(server.client_named("operator"));
        let observer = maps(server.client());
        server.faults().add(When::write().client("operator"), Fault::Crash(point));
        let crashes = server.faults().crashes();
        let answer = timeout(Duration::from_secs(1), create(&api, "a")).await;
        assert_eq!(answer.is_ok(), answered, "{point:?}");
        assert_eq!(crashes.tripped().await.told(), "create configmaps default/");
        assert_eq!(observer.get_opt("a").await.unwrap().is_some(), done, "{point:?}");
        // The dead say nothing more; a new process under the same name lives.
        assert!(timeout(Duration::from_secs(1), create(&api, "b")).await.is_err());
        let reborn = maps(server.client_named("operator"));
        create(&reborn, "b").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn two_runs_of_the_same_story_end_in_the_same_dump() {
    let run = async |seed| {
        let server = Server::builder().seed(seed).build();
        let api = maps(server.client());
        let owner = create(&api, "owner").await.unwrap();
        let mut owned = map("owned");
        owned.metadata.owner_references = Some(vec![
            serde_json::from_value(
                json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid()}),
            )
            .unwrap(),
        ]);
        let once = owner.uid().unwrap().split('-').next().map(|first| format!("named-once-{first}"));
        owned.metadata.annotations = Some([("id".to_owned(), once.unwrap())].into());
        tokio::time::advance(Duration::from_secs(seed)).await;
        api.create(&PostParams::default(), &owned).await.unwrap();
        (server.dump(), server)
    };
    let (one, _) = run(1).await;
    let (two, server) = run(2).await;
    assert_eq!(one.difference(&two), Vec::<String>::new());
    touch(&maps(server.client()), "owned", "2").await;
    assert_eq!(
        one.difference(&server.dump()),
        ["configmaps default/owned: .data.k: \"1\" here, \"2\" there"]
    );
}
