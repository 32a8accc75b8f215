//! After a known story the metrics say exactly what happened, under the names that dashboards know.

use expect_test::expect;
use kit::lead::Election;

use super::world::*;

#[tokio::test(start_paused = true)]
async fn a_known_story_gives_exactly_these_numbers() {
    let server = server();
    let mut setup = setup(&server, "operator");
    setup.controllers.workers = 4;
    setup.election = Some(Election { identity: "me".into(), ..Election::new("default", "probe") });
    let operator = start_with(
        setup,
        &[
            ("a", &[Do::Apply("one")]),
            ("b", &[Do::Fail, Do::Panic]),
            ("c", &[Do::Terminal]),
            ("d", &[Do::Wait(seconds(30)), Do::Stale]),
        ],
    );
    let user = user(&server);
    for name in ["a", "b", "c", "d"] {
        user.create(name).await;
        pass(seconds(5)).await;
    }
    user.resize("c", 2).await;
    pass(seconds(60)).await;

    let text = operator.metrics.encode();
    let families = [
        "controller_runtime_reconcile",
        "controller_runtime_terminal",
        "controller_runtime_active",
        "controller_runtime_max",
        "workqueue_",
        "leader_",
        "informer_",
        "capstan_events",
    ];
    let lines = text.lines().filter(|line| families.iter().any(|family| line.starts_with(family)));
    let lines = lines.filter(|line| {
        !line.contains("_bucket") && !line.contains("_sum") && !line.contains("resource_version")
    });
    let told: String = lines.map(|line| format!("{line}\n")).collect();
    expect![[r#"
        controller_runtime_reconcile_total{controller="probe",result="error"} 3
        controller_runtime_reconcile_total{controller="probe",result="requeue"} 1
        controller_runtime_reconcile_total{controller="probe",result="requeue_after"} 1
        controller_runtime_reconcile_total{controller="probe",result="success"} 5
        controller_runtime_reconcile_errors_total{controller="probe"} 3
        controller_runtime_terminal_reconcile_errors_total{controller="probe"} 1
        controller_runtime_reconcile_panics_total{controller="probe"} 1
        controller_runtime_reconcile_timeouts_total{controller="probe"} 0
        controller_runtime_reconcile_time_seconds_count{controller="probe"} 10
        controller_runtime_max_concurrent_reconciles{controller="probe"} 4.0
        controller_runtime_active_workers{controller="probe"} 0.0
        workqueue_depth{name="probe",controller="probe",priority="-100"} 0.0
        workqueue_depth{name="probe",controller="probe",priority="0"} 0.0
        workqueue_depth{name="probe",controller="probe",priority="100"} 0.0
        workqueue_adds_total{name="probe",controller="probe"} 10
        workqueue_queue_duration_seconds_count{name="probe",controller="probe"} 10
        workqueue_work_duration_seconds_count{name="probe",controller="probe"} 10
        workqueue_unfinished_work_seconds{name="probe",controller="probe"} 0.0
        workqueue_longest_running_processor_seconds{name="probe",controller="probe"} 0.0
        workqueue_retries_total{name="probe",controller="probe"} 3
        leader_election_master_status{name="probe"} 1.0
        informer_objects{kind="ConfigMap"} 1.0
        informer_objects{kind="Task"} 4.0
        informer_undecodable_objects{kind="ConfigMap"} 0.0
        informer_undecodable_objects{kind="Task"} 0.0
    "#]]
    .assert_eq(&told);
    operator.stop().await.unwrap();
}
