//! How it stops: gracefully, promptly, or at once.

use apiserver::{Fault, When};
use k8s_openapi::api::coordination::v1::Lease;
use kit::{ManagerError, Setup, lead::Election};

use super::world::*;

fn elected(mut setup: Setup) -> Setup {
    setup.election = Some(Election::new("default", "probe"));
    setup
}

#[tokio::test(start_paused = true)]
async fn running_reconciles_end_no_others_begin_then_events_are_sent_and_the_lease_is_given_back() {
    let server = server();
    let mut setup = elected(setup(&server, "operator"));
    setup.controllers.workers = 1;
    install_tasks(&server, ["a", "b"].map(String::from));
    let operator = start_with(setup, &[("a", &[Do::WorkAndApply(seconds(10), "one")])]);
    pass(seconds(2)).await;
    operator.stop.cancel();
    pass(seconds(7)).await;
    assert!(!operator.task.is_finished());
    let (notes, asked) = (operator.notes.clone(), server.request_count());
    operator.task.await.unwrap().unwrap();
    assert_eq!((notes.start.elapsed().as_secs(), notes.count("b")), (10, 0));

    let told = server.requests().of("operator").since(asked).writes().told();
    let told: Vec<&str> = told
        .iter()
        .map(|told| told.rsplit_once(' ').unwrap().0)
        .skip_while(|told| told.contains("leases"))
        .collect();
    assert_eq!(
        told,
        ["patch configmaps", "create events.events.k8s.io", "update leases.coordination.k8s.io"]
    );
    let lease: Lease = kube::Api::namespaced(server.client(), "default").get("probe").await.unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity.unwrap_or_default(), "");

    let asked = server.request_count();
    pass(seconds(600)).await;
    assert_eq!(server.request_count(), asked, "it is over");
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_does_not_end_is_cut_off_after_the_graceful_shutdown_timeout() {
    let server = server();
    let mut setup = elected(setup(&server, "operator"));
    setup.graceful_shutdown_timeout = seconds(7);
    let operator = start_with(setup, &[("a", &[Do::WorkAndApply(seconds(60), "one")])]);
    user(&server).create("a").await;
    pass(seconds(1)).await;
    let notes = operator.notes.clone();
    operator.stop().await.unwrap();
    assert_eq!(notes.start.elapsed().as_secs(), 8);
    pass(seconds(120)).await;
    assert!(writes(&server, "operator").is_empty(), "it was cut off before it wrote");
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_caches_are_awaited_is_prompt() {
    let server = bare_server();
    let operator = start(setup(&server, "operator"));
    pass(seconds(30)).await;
    let before = tokio::time::Instant::now();
    operator.stop().await.unwrap();
    assert_eq!(before.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_leadership_is_awaited_is_prompt_and_leaves_the_lease_alone() {
    let server = server();
    let leader = start(elected(setup(&server, "one")));
    pass(seconds(5)).await;
    let standby = start(elected(setup(&server, "two")));
    pass(seconds(30)).await;
    let before = tokio::time::Instant::now();
    standby.stop().await.unwrap();
    assert_eq!(before.elapsed().as_secs(), 0);
    assert!(server.requests().of("two").writes().is_empty());
    leader.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_an_object_waits_for_its_own_write_is_prompt() {
    let server = server();
    let watch = When::verb(apiserver::Verb::Watch).resource("configmaps").client("operator");
    server.faults().add(watch, Fault::Watch(apiserver::WatchFault::Silence { after: 0 }));
    let operator = start_with(setup(&server, "operator"), &[("a", &[Do::Apply("one")])]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(1)).await;
    user.resize("a", 2).await;
    pass(seconds(1)).await;
    let before = tokio::time::Instant::now();
    operator.stop().await.unwrap();
    assert_eq!(before.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_run_stops_everything_even_a_reconcile_at_work() {
    let server = server();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    pass(seconds(1)).await;
    let before = tasks();
    let operator =
        start_with(elected(setup(&server, "operator")), &[("a", &[Do::WorkAndApply(seconds(10), "one")])]);
    user(&server).create("a").await;
    pass(seconds(5)).await;
    assert_eq!(operator.notes.count("a"), 1);
    operator.task.abort();
    operator.task.await.unwrap_err();
    let asked = server.request_count();
    pass(seconds(600)).await;
    assert_eq!(server.request_count(), asked);
    assert!(writes(&server, "operator").is_empty());
    assert_eq!(tasks(), before, "no task of it is left");
}

#[tokio::test(start_paused = true)]
async fn lost_leadership_ends_the_run_with_an_error_and_nothing_is_written_after_it() {
    let server = server();
    let busy: Vec<Do> = (0..100).map(|n| Do::WorkAndApply(seconds(1), ["one", "two"][n % 2])).collect();
    let operator = start_with(elected(setup(&server, "operator")), &[("a", &busy)]);
    user(&server).create("a").await;
    pass(seconds(20)).await;
    assert!(writes(&server, "operator").len() > 10, "it is at work");
    server.faults().add(When::any().resource("leases").always(), Fault::Hang);
    let last_renewal = server.requests().of("operator").resource("leases").last().unwrap().at;
    let ended = operator.task.await.unwrap();
    assert!(matches!(ended, Err(ManagerError::Lost(_))), "{ended:?}");
    assert!(ended.unwrap_err().to_string().contains("not renewed within 10s"));
    let wrote = server.requests().of("operator").writes();
    let last_write = wrote.iter().filter(|request| request.resource != "leases").last().unwrap().at;
    let after = last_write.duration_since(last_renewal).as_secs();
    assert!((5..10).contains(&after), "it wrote until {after} s after its last renewal");
    let asked = server.request_count();
    pass(seconds(600)).await;
    assert_eq!(server.request_count(), asked);
}

#[tokio::test(start_paused = true)]
async fn a_background_task_runs_on_every_replica_until_the_stop() {
    let server = server();
    let leader = start(elected(setup(&server, "one")));
    pass(seconds(5)).await;
    let (mut manager, notes) = manager(elected(setup(&server, "two")), false);
    let (began, ended) =
        (tokio_util::sync::CancellationToken::new(), tokio_util::sync::CancellationToken::new());
    let (begin, end) = (began.clone(), ended.clone());
    manager.background("poller", |stop| async move {
        begin.cancel();
        stop.cancelled().await;
        end.cancel();
    });
    let standby = run(manager, notes, &[]);
    began.cancelled().await;
    pass(seconds(60)).await;
    assert!(!ended.is_cancelled());
    standby.stop().await.unwrap();
    assert!(ended.is_cancelled());
    leader.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_may_not_be_written_is_no_lost_leadership() {
    let server = server();
    let forbidden = apiserver::ApiError::forbidden("coordination.k8s.io", "leases", "probe", "no");
    server.faults().add(When::any().resource("leases").times(3), Fault::Refuse(forbidden));
    let operator = start(elected(setup(&server, "operator")));
    user(&server).create("a").await;
    pass(seconds(60)).await;
    assert_eq!(operator.notes.count("a"), 1, "it leads as soon as it may");
    assert_eq!(server.faults().fired(), [3]);
    operator.stop().await.unwrap();
}
