//! Events on a server: told once, counted up, limited, never in the way.

use apiserver::{Fault, Server, When};
use k8s_openapi::api::{
    core::v1::{ConfigMap, Namespace},
    events::v1 as api,
};
use kube::{Api, ResourceExt as _};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

use super::*;

crate::reasons! {
    /// For these tests.
    enum Why {
        /// It grew.
        Grown,
        /// It broke.
        Broken,
    }
}

fn object(name: &str) -> ConfigMap {
    let json =
        serde_json::json!({"metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")}});
    serde_json::from_value(json).unwrap()
}

async fn shown(server: &Server) -> Vec<String> {
    let list = Api::<api::Event>::all(server.client()).list(&Default::default()).await.unwrap();
    let mut shown: Vec<String> = list
        .items
        .iter()
        .map(|event| {
            let about = event.regarding.clone().and_then(|object| object.name).unwrap_or_default();
            let count = event.series.as_ref().map_or(1, |series| series.count);
            let word = |part: &Option<String>| part.clone().unwrap_or_default();
            let (kind, reason, note) = (word(&event.type_), word(&event.reason), word(&event.note));
            format!("{} {about} {kind} {reason} x{count}: {note}", event.namespace().unwrap_or_default())
        })
        .collect();
    shown.sort();
    shown
}

/// Runs the recorder over what `tell` tells, until it has flushed.
async fn record(server: &Server, tell: impl AsyncFnOnce(&Context)) -> Context {
    let (cx, recorder) = Context::for_tests(server.client());
    let stop = CancellationToken::new();
    let running = tokio::spawn(recorder.run(stop.clone()));
    tell(&cx).await;
    stop.cancel();
    running.await.unwrap();
    cx
}

/// Long enough for the recorder to catch up, in paused time.
async fn a_moment() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

fn dropped(cx: &Context, why: &str) -> bool {
    cx.metrics.encode().lines().any(|line| line.contains("dropped") && line.contains(&format!("\"{why}\"")))
}

#[tokio::test(start_paused = true)]
async fn what_was_told_is_on_the_server_when_the_recorder_has_stopped() {
    let server = Server::new();
    record(&server, async |cx| {
        cx.event(&object("a"), Event::normal(Why::Grown, "Scale", "from 1 to 3"));
        cx.event(&object("b"), Event::warning(Why::Broken, "Probe", "no answer").related(&object("a")));
    })
    .await;
    assert_eq!(
        shown(&server).await,
        ["default a Normal Grown x1: from 1 to 3", "default b Warning Broken x1: no answer"]
    );
    let list = Api::<api::Event>::all(server.client()).list(&Default::default()).await.unwrap();
    let event = list.items.iter().find(|event| event.reason.as_deref() == Some("Broken")).unwrap();
    let regarding = event.regarding.clone().unwrap();
    assert_eq!((regarding.uid.as_deref(), regarding.kind.as_deref()), (Some("uid-b"), Some("ConfigMap")));
    assert_eq!(event.related.clone().unwrap().name.as_deref(), Some("a"));
    assert_eq!(event.reporting_controller.as_deref(), Some("kit.test/operator"));
    assert_eq!(event.reporting_instance.as_deref(), Some("operator-0"));
    assert_eq!(event.action.as_deref(), Some("Probe"));
}

#[tokio::test(start_paused = true)]
async fn the_same_again_counts_up_and_another_note_is_another_event() {
    let server = Server::new();
    record(&server, async |cx| {
        for note in ["member 1", "member 1", "member 2", "member 1"] {
            cx.event(&object("a"), Event::warning(Why::Broken, "Probe", note));
        }
    })
    .await;
    assert_eq!(
        shown(&server).await,
        ["default a Warning Broken x1: member 2", "default a Warning Broken x3: member 1"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_series_ends_after_six_quiet_minutes() {
    let server = Server::new();
    record(&server, async |cx| {
        for _ in 0..2 {
            cx.event(&object("a"), Event::warning(Why::Broken, "Probe", "x"));
            tokio::time::sleep(Duration::from_secs(5 * 60)).await;
        }
        tokio::time::sleep(Duration::from_secs(5 * 60)).await;
        cx.event(&object("a"), Event::warning(Why::Broken, "Probe", "x"));
    })
    .await;
    assert_eq!(shown(&server).await, ["default a Warning Broken x1: x", "default a Warning Broken x2: x"]);
}

#[tokio::test(start_paused = true)]
async fn one_object_cannot_flood_the_server_but_others_are_heard() {
    let server = Server::new();
    let cx = record(&server, async |cx| {
        for n in 0..100 {
            cx.event(&object("noisy"), Event::warning(Why::Broken, "Probe", format!("number {n}")));
        }
        cx.event(&object("quiet"), Event::normal(Why::Grown, "Scale", "heard"));
    })
    .await;
    let shown = shown(&server).await;
    assert_eq!(shown.len(), 26, "25 of the noisy one");
    assert!(shown.iter().any(|event| event.contains("quiet")));
    assert!(dropped(&cx, "object-limit"));
}

#[tokio::test(start_paused = true)]
async fn what_could_only_be_counted_is_told_at_the_end_of_the_series() {
    let server = Server::new();
    let (cx, recorder) = Context::for_tests(server.client());
    let stop = CancellationToken::new();
    let running = tokio::spawn(recorder.run(stop.clone()));
    for _ in 0..100 {
        cx.event(&object("a"), Event::warning(Why::Broken, "Probe", "again"));
    }
    a_moment().await;
    assert_eq!(shown(&server).await, ["default a Warning Broken x25: again"]);
    tokio::time::sleep(Duration::from_secs(7 * 60)).await;
    assert_eq!(shown(&server).await, ["default a Warning Broken x100: again"]);
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_event_that_the_server_has_lost_is_made_anew() {
    let server = Server::new();
    record(&server, async |cx| {
        cx.event(&object("a"), Event::warning(Why::Broken, "Probe", "x"));
        a_moment().await;
        let events = Api::<api::Event>::namespaced(server.client(), "default");
        events.delete_collection(&Default::default(), &Default::default()).await.unwrap();
        cx.event(&object("a"), Event::warning(Why::Broken, "Probe", "x"));
    })
    .await;
    assert_eq!(shown(&server).await, ["default a Warning Broken x1: x"]);
}

#[tokio::test(start_paused = true)]
async fn events_about_cluster_objects_are_in_default_and_long_notes_are_cut() {
    let server = Server::new();
    record(&server, async |cx| {
        let namespace: Namespace = Api::<Namespace>::all(server.client()).get("kube-system").await.unwrap();
        cx.event(&namespace, Event::normal(Why::Grown, "Scale", "ä".repeat(2000)));
    })
    .await;
    let list =
        Api::<api::Event>::namespaced(server.client(), "default").list(&Default::default()).await.unwrap();
    let note = list.items[0].note.clone().unwrap();
    assert!(note.len() <= 1024 && note.len() > 1020 && note.ends_with("ä…"), "{}", note.len());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_delays_neither_the_teller_nor_the_stop() {
    let server = Server::new();
    server.faults().add(When::any().always(), Fault::Hang);
    let (cx, recorder) = Context::for_tests(server.client());
    let stop = CancellationToken::new();
    let running = tokio::spawn(recorder.run(stop.clone()));
    let start = tokio::time::Instant::now();
    for n in 0..2000 {
        cx.event(&object("a"), Event::warning(Why::Broken, "Probe", format!("{n}")));
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert!(dropped(&cx, "queue-full"));
    stop.cancel();
    running.await.unwrap();
    assert!(start.elapsed() <= Duration::from_secs(4), "{:?}", start.elapsed());
    cx.event(&object("a"), Event::warning(Why::Broken, "Probe", "too late"));
    assert!(dropped(&cx, "stopped"));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_counted_and_nothing_else_happens() {
    let server = Server::new();
    let (cx, recorder) = Context::for_tests(server.client_as("nobody"));
    let stop = CancellationToken::new();
    cx.event(&object("a"), Event::warning(Why::Broken, "Probe", "x"));
    stop.cancel();
    recorder.run(stop).await;
    assert!(dropped(&cx, "api-error"));
}
