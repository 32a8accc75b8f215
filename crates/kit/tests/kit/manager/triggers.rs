//! What makes an object due.

use std::collections::BTreeSet;

use apiserver::{Fault, Verb, WatchFault, When};
use kube::{
    ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

use super::world::*;

#[tokio::test(start_paused = true)]
async fn a_child_that_is_deleted_over_a_watch_gap_makes_its_owner_due() {
    let server = server();
    let watch = || When::verb(Verb::Watch).resource("configmaps").client("operator");
    server.faults().add(watch(), Fault::Watch(WatchFault::Break { after: 1 }));
    server.faults().add(watch().skip(1).times(4), Fault::unavailable());
    let operator = start_with(setup(&server, "operator"), &[("a", &[Do::Apply("one")])]);
    let user = user(&server);
    user.create("a").await;
    pass(std::time::Duration::from_millis(10)).await;
    assert_eq!(operator.notes.last("a").children, ["one"]);
    let before = operator.notes.count("a");
    user.children().delete("a", &DeleteParams::default()).await.unwrap();
    user.create("unrelated").await;
    server.compact();
    assert_eq!(server.faults().fired()[0], 1);
    pass(seconds(60)).await;
    assert_eq!(server.faults().fired(), [1, 4], "there was a gap");
    assert_eq!(operator.notes.count("a"), before + 1);
    assert!(operator.notes.last("a").children.is_empty());
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_child_that_changes_hands_concerns_both_owners() {
    let server = server();
    let operator = start_with(setup(&server, "operator"), &[("a", &[Do::Apply("one")])]);
    let user = user(&server);
    user.create("a").await;
    user.create("b").await;
    pass(seconds(1)).await;
    let before = (operator.notes.count("a"), operator.notes.count("b"));
    let uid = kube::ResourceExt::uid(&user.tasks("default").get("b").await.unwrap()).unwrap();
    let mut owner = user.children().get("a").await.unwrap().owner_references()[0].clone();
    (owner.name, owner.uid) = ("b".into(), uid);
    let patch = Patch::Merge(json!({"metadata": {"ownerReferences": [owner]}}));
    user.children().patch("a", &PatchParams::default(), &patch).await.unwrap();
    pass(seconds(1)).await;
    assert_eq!((operator.notes.count("a"), operator.notes.count("b")), (before.0 + 1, before.1 + 1));
    assert!(operator.notes.last("a").children.is_empty());
    assert_eq!(operator.notes.last("b").children, ["one"]);
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_is_looked_at_once_more() {
    let server = server();
    let operator = start_with(setup(&server, "operator"), &[("a", &[Do::Wait(seconds(60))])]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(1)).await;
    user.delete("a").await;
    pass(seconds(600)).await;
    let seen: Vec<_> = operator.notes.passes_of("a").iter().map(|pass| pass.size).collect();
    assert_eq!(seen, [Some(1), None]);
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn resync_looks_at_every_object_once_in_its_period_and_spreads_them() {
    let server = server();
    let names: Vec<String> = (0..50).map(|number| format!("task-{number:02}")).collect();
    install_tasks(&server, names.clone());
    let mut setup = setup(&server, "operator");
    setup.controllers.resync = seconds(600);
    let operator = start(setup);
    for round in 1..=3 {
        pass(seconds(if round == 1 { 601 } else { 600 })).await;
        let counts: Vec<usize> = names.iter().map(|name| operator.notes.count(name)).collect();
        assert_eq!(counts, vec![round + 1; 50], "the first list, and one in each period");
    }
    let moments: BTreeSet<_> = operator.notes.passes().iter().skip(50).map(|pass| pass.at).collect();
    assert!(moments.len() > 75, "150 reconciles at {} moments", moments.len());
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_paused_object_is_watched_and_reported_but_not_touched() {
    let server = server();
    let (manager, notes) = manager(setup(&server, "operator"), true);
    let operator = run(manager, notes, &[("a", &[Do::Apply("one"), Do::Apply("two")])]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(1)).await;
    operator.notes.script("a", &[Do::Apply("three"), Do::Apply("four"), Do::Apply("five")]);
    user.patch(
        "default",
        "a",
        json!({"metadata": {"annotations": {kit::pause::PAUSED: "true"}}, "spec": {"size": 7}}),
    )
    .await;
    pass(seconds(1)).await;
    let status = user.tasks("default").get("a").await.unwrap().status.unwrap();
    assert_eq!(status, TaskStatus { size: Some(7), paused: Some(true) });
    assert_eq!(user.children().get("a").await.unwrap().data.unwrap()["text"], "two", "act is skipped");
    let paused = ["probe", "default", "\"a\""];
    assert_eq!(operator.metric("capstan_paused", &paused), 1.0);

    operator.notes.script("a", &[Do::Apply("six")]);
    user.patch("default", "a", json!({"metadata": {"annotations": {kit::pause::PAUSED: null}}})).await;
    pass(seconds(1)).await;
    let status = user.tasks("default").get("a").await.unwrap().status.unwrap();
    assert_eq!(status.paused, Some(false));
    assert_eq!(user.children().get("a").await.unwrap().data.unwrap()["text"], "six");
    assert_eq!(operator.metric("capstan_paused", &paused), 0.0);
    operator.stop().await.unwrap();
}
