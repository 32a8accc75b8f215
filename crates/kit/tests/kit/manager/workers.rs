//! Reconciles are isolated, bounded, and come again as their outcome says.

use super::world::*;

#[tokio::test(start_paused = true)]
async fn a_panic_hits_only_its_own_object_which_is_retried_with_backoff() {
    let server = server();
    let operator = start_with(setup(&server, "operator"), &[("a", &[Do::Panic, Do::Panic])]);
    let user = user(&server);
    user.create("a").await;
    user.create("b").await;
    pass(seconds(30)).await;
    assert_eq!(operator.notes.seconds_of("a"), [0, 1, 3]);
    assert_eq!(operator.notes.seconds_of("b"), [0]);
    assert_eq!(operator.metric("controller_runtime_reconcile_panics_total", &[]), 2.0);
    assert_eq!(operator.metric("controller_runtime_reconcile_total", &["error"]), 2.0);
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_hanging_reconcile_is_given_up_at_its_deadline_and_its_worker_is_free_again() {
    let server = server();
    let mut setup = setup(&server, "operator");
    setup.controllers.workers = 1;
    setup.controllers.reconcile_timeout = seconds(120);
    let operator = start_with(setup, &[("a", &[Do::Hang])]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(10)).await;
    user.create("b").await;
    pass(seconds(100)).await;
    assert_eq!((operator.notes.count("a"), operator.notes.count("b")), (1, 0));
    assert_eq!(operator.metric("controller_runtime_active_workers", &[]), 1.0);
    pass(seconds(100)).await;
    assert_eq!((operator.notes.seconds_of("a"), operator.notes.seconds_of("b")), (vec![0, 121], vec![120]));
    assert_eq!(operator.metric("controller_runtime_reconcile_timeouts_total", &[]), 1.0);
    assert_eq!(operator.metric("controller_runtime_active_workers", &[]), 0.0);
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_is_never_in_two_hands_while_others_run_in_parallel_up_to_the_workers() {
    let server = server();
    let names = ["a", "b", "c", "d", "e"];
    install_tasks(&server, names.map(String::from));
    let mut setup = setup(&server, "operator");
    setup.controllers.workers = 3;
    let work: &[Do] = &[Do::Work(seconds(10)), Do::Work(seconds(10))];
    let operator = start_with(setup, &names.map(|name| (name, work)));
    pass(seconds(5)).await;
    for size in 2..6 {
        user(&server).resize("a", size).await;
    }
    pass(seconds(60)).await;
    assert_eq!(operator.notes.most(), Most { at_once: 3, of_one_object: 1 });
    assert_eq!(
        operator.notes.seconds_of("a"),
        [0, 10],
        "four edits during the work are one more reconcile, after it"
    );
    assert_eq!(operator.notes.last("a").size, Some(5));
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_failed_for_good_is_not_tried_again_until_the_object_changes() {
    let server = server();
    let operator = start_with(setup(&server, "operator"), &[("a", &[Do::Terminal])]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(3600)).await;
    assert_eq!(operator.notes.count("a"), 1);
    assert_eq!(operator.metric("controller_runtime_terminal_reconcile_errors_total", &[]), 1.0);
    user.resize("a", 2).await;
    pass(seconds(1)).await;
    assert_eq!(operator.notes.count("a"), 2);
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_after_its_time_or_earlier_with_a_change() {
    let server = server();
    let wait = Do::Wait(seconds(60));
    let operator = start_with(setup(&server, "operator"), &[("a", &[wait.clone(), wait.clone(), wait])]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(80)).await;
    user.resize("a", 2).await;
    pass(seconds(200)).await;
    // 60 after the first, 80 by the edit, and 60 after that: the wait of the second was void.
    assert_eq!(operator.notes.seconds_of("a"), [0, 60, 80, 140]);
    assert_eq!(operator.metric("controller_runtime_reconcile_total", &["requeue_after"]), 3.0);
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn backoff_doubles_and_is_forgotten_after_a_success() {
    let server = server();
    let script = [Do::Fail, Do::Fail, Do::Fail, Do::Fail, Do::Done, Do::Fail, Do::Done];
    let operator = start_with(setup(&server, "operator"), &[("a", &script)]);
    let user = user(&server);
    user.create("a").await;
    pass(seconds(100)).await;
    user.resize("a", 2).await;
    pass(seconds(100)).await;
    let began: Vec<f64> = operator.notes.passes_of("a").iter().map(|pass| pass.at.as_secs_f64()).collect();
    let gaps: Vec<f64> = began.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (gap, expected) in gaps.iter().zip([1.0, 2.0, 4.0, 8.0, 85.0, 1.0]) {
        assert!((gap - expected).abs() <= expected / 9.0, "{gaps:?}");
    }
    assert_eq!(gaps.len(), 6);
    assert_eq!(operator.metric("workqueue_retries_total", &[]), 5.0);
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_user_edits_overtakes_the_first_list() {
    let server = server();
    let names: Vec<String> = (0..50).map(|number| format!("task-{number:02}")).collect();
    install_tasks(&server, names.clone());
    let mut setup = setup(&server, "operator");
    setup.controllers.workers = 1;
    let work = [Do::Work(Duration::from_millis(100))];
    let script: Vec<(&str, &[Do])> = names.iter().map(|name| (&**name, &work[..])).collect();
    let operator = start_with(setup, &script);
    pass(Duration::from_millis(450)).await;
    user(&server).resize("task-48", 2).await;
    pass(seconds(60)).await;
    let order: Vec<String> = operator.notes.passes().iter().map(|pass| pass.key.name().to_owned()).collect();
    assert_eq!(order.len(), 50);
    assert_eq!(order[5], "task-48", "{order:?}");
    assert_eq!(order[6], "task-05");
    operator.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn to_be_overtaken_is_no_failure_and_comes_again_soon() {
    let server = server();
    let operator = start_with(setup(&server, "operator"), &[("a", &[Do::Stale, Do::NotLeader, Do::Stale])]);
    user(&server).create("a").await;
    pass(seconds(60)).await;
    assert_eq!(operator.notes.count("a"), 4);
    let counted =
        |result: &str| operator.metric("controller_runtime_reconcile_total", &[&*format!("\"{result}\"")]);
    assert_eq!((counted("requeue"), counted("error"), counted("success")), (3.0, 0.0, 1.0));
    operator.stop().await.unwrap();
}

use std::time::Duration;
