//! Two replicas: one works, the other is warm.

use apiserver::Verb;
use kit::{Setup, lead::Election};

use super::world::*;

fn replica(mut setup: Setup) -> Setup {
    setup.election = Some(Election::new("default", "probe"));
    setup
}

#[tokio::test(start_paused = true)]
async fn the_second_is_warm_writes_nothing_and_takes_over_within_the_lease_times() {
    let server = server();
    install_tasks(&server, ["a".to_owned()]);
    let first = start_with(replica(setup(&server, "one")), &[("a", &[Do::Apply("one")])]);
    pass(seconds(5)).await;
    let second = start_with(replica(setup(&server, "two")), &[("a", &[Do::Apply("two")])]);
    pass(seconds(60)).await;
    assert_eq!(writes(&server, "one"), ["patch configmaps default/a"]);
    assert!(server.requests().of("two").writes().is_empty());
    assert_eq!(second.notes.count("a"), 0);
    assert_eq!(second.metric("informer_objects", &["Task"]), 1.0, "its cache is filled");
    assert_eq!(second.metric("leader_election_master_status", &[]), 0.0);
    let lists = || server.requests().of("two").verb(Verb::List).len();
    let (listed, wrote) = (lists(), writes(&server, "one").len());

    // kill -9: the lease is not given back.
    let died = second.notes.start.elapsed();
    first.task.abort();
    pass(seconds(30)).await;
    let took_over = second.notes.passes_of("a")[0].at - died;
    // At the earliest when the lease has run out, at the latest one look (2 s × 2.2) later.
    assert!((13.0..=20.0).contains(&took_over.as_secs_f64()), "{took_over:?}");
    assert_eq!(lists(), listed, "nothing is listed anew");
    assert_eq!(writes(&server, "two"), ["patch configmaps default/a"]);
    assert_eq!(writes(&server, "one").len(), wrote);
    assert_eq!(second.metric("leader_election_master_status", &[]), 1.0);
    second.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_was_given_back_is_taken_at_the_next_look() {
    let server = server();
    install_tasks(&server, ["a".to_owned()]);
    let first = start(replica(setup(&server, "one")));
    pass(seconds(5)).await;
    let second = start(replica(setup(&server, "two")));
    pass(seconds(20)).await;
    let stopped = second.notes.start.elapsed();
    first.stop().await.unwrap();
    pass(seconds(10)).await;
    let took_over = second.notes.passes_of("a")[0].at - stopped;
    assert!(took_over.as_secs_f64() <= 4.5, "{took_over:?}");
    second.stop().await.unwrap();
}
