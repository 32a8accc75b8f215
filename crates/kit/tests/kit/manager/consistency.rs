//! Read your writes: a reconcile never works on a cache that has not seen what the last one wrote.

use apiserver::{Fault, Verb, WatchFault, When};

use super::world::*;

/// The watch of children, which `fault` befalls.
fn children_watch(fault: WatchFault) -> (When, Fault) {
    (When::verb(Verb::Watch).resource("configmaps").client("operator"), Fault::Watch(fault))
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_waits_until_the_cache_has_seen_the_last_write() {
    let server = server();
    let (when, fault) = children_watch(WatchFault::Delay { event: 0, by: seconds(5) });
    server.faults().add(when, fault);
    let operator = start_with(setup(&server, "operator"), &[("a", &[Do::Apply("one")])]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(1)).await;
    assert!(
        user.children().get_opt("a").await.unwrap().is_some(),
        "the child is there, and nobody has heard of it"
    );
    user.resize("a", 2).await;
    pass(seconds(3)).await;
    assert_eq!(operator.notes.count("a"), 1, "the edit waits");
    pass(seconds(60)).await;
    let second = &operator.notes.passes_of("a")[1];
    assert_eq!((second.at.as_secs(), second.size, &*second.children), (5, Some(2), &["one".to_owned()][..]));
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn others_do_not_wait_for_it_and_no_worker_is_held_up() {
    let server = server();
    let (when, fault) = children_watch(WatchFault::Delay { event: 0, by: seconds(5) });
    server.faults().add(when, fault);
    let mut setup = setup(&server, "operator");
    setup.controllers.workers = 1;
    let operator = start_with(setup, &[("a", &[Do::Apply("one")])]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(1)).await;
    user.resize("a", 2).await;
    pass(seconds(1)).await;
    user.create("b").await;
    pass(seconds(1)).await;
    assert_eq!((operator.notes.count("a"), operator.notes.seconds_of("b")), (1, vec![2]));
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_never_sees_it_is_waited_for_ten_seconds() {
    let server = server();
    let (when, fault) = children_watch(WatchFault::Silence { after: 0 });
    server.faults().add(when, fault);
    let operator = start_with(setup(&server, "operator"), &[("a", &[Do::Apply("one")])]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(1)).await;
    user.resize("a", 2).await;
    pass(seconds(60)).await;
    let second = &operator.notes.passes_of("a")[1];
    assert_eq!((second.at.as_secs(), second.children.len()), (11, 0));
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_deleted_child_is_not_seen_again() {
    let server = server();
    let (when, fault) = children_watch(WatchFault::Delay { event: 1, by: seconds(5) });
    server.faults().add(when, fault);
    let operator = start_with(setup(&server, "operator"), &[("a", &[Do::Apply("one"), Do::Prune])]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(1)).await;
    assert_eq!(writes(&server, "operator"), ["patch configmaps default/a", "delete configmaps default/a"]);
    user.resize("a", 2).await;
    pass(seconds(60)).await;
    let third = &operator.notes.passes_of("a")[2];
    assert_eq!((third.at.as_secs(), &*third.children), (5, &[][..]));
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_write_that_no_cache_covers_is_not_waited_for() {
    let server = server();
    let mut setup = setup(&server, "operator");
    setup.scope = kit::Scope::Only(["default".to_owned()].into());
    let operator = start_with(setup, &[("a", &[Do::ApplyIn("other")])]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(1)).await;
    user.resize("a", 2).await;
    pass(seconds(1)).await;
    assert_eq!(writes(&server, "operator"), ["patch configmaps other/a"]);
    assert_eq!(operator.notes.seconds_of("a"), [0, 1]);
    operator.stop().await.unwrap();
}
