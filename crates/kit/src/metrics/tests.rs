//! What is served is what the table says, under the labels that dashboards use.

use std::{collections::BTreeSet, time::Duration};

use expect_test::{Expect, expect};
use prometheus_client::metrics::counter::Counter;

use super::{Format, Kind, MAX_SERIES, Metrics, ReconcileResult, reference, table};
use crate::Key;

/// Calls every method once.
fn everything() -> Metrics {
    let metrics = Metrics::new();
    let ms = Duration::from_millis;
    metrics.build_info("capstan", "0.1.0", "abc");
    metrics.max_concurrent_reconciles("etcd", 4);
    metrics.reconciled("etcd", ReconcileResult::Success, ms(7));
    metrics.reconciled("etcd", ReconcileResult::Terminal, ms(7));
    metrics.reconcile_panicked("etcd");
    metrics.reconcile_timed_out("etcd");
    metrics.active_workers("etcd", 2);
    metrics.active_workers("etcd", -1);
    metrics.queue_adds("etcd", 1);
    metrics.queue_depth("etcd", -100, 3);
    metrics.queue_waited("etcd", ms(1));
    metrics.queue_worked("etcd", ms(1));
    metrics.queue_retried("etcd");
    metrics.queue_unfinished("etcd", ms(1500));
    metrics.queue_longest_running("etcd", ms(500));
    metrics.request("GET", "10.0.0.1:443", "200");
    metrics.request_took("GET", "10.0.0.1:443", ms(3));
    metrics.request_retried("PATCH", "10.0.0.1:443", "429");
    metrics.leader("capstan", true);
    metrics.leader_slow_path("capstan");
    metrics.informer_objects("Pod", 10);
    metrics.informer_resource_version("Pod", 4711);
    metrics.informer_relisted("Pod");
    metrics.informer_undecodable("Pod", 1);
    metrics.informer_watch_failed("Pod");
    metrics.paused("etcd", &Key::new("default", "db"), true);
    metrics.event_dropped("full");
    metrics.webhook("/validate", 200, ms(2));
    metrics.webhook_in_flight("/validate", 1);
    metrics.webhook_panicked("/validate");
    metrics
}

fn samples(metrics: &Metrics, prefix: &str) -> String {
    let text = metrics.encode();
    text.lines().filter(|line| line.starts_with(prefix)).map(|line| format!("{line}\n")).collect()
}

fn check(metrics: &Metrics, prefix: &str, expected: &Expect) {
    expected.assert_eq(&samples(metrics, prefix));
}

#[test]
fn every_row_of_the_table_is_served_with_its_type_and_labels_and_nothing_else_is() {
    let metrics = everything();
    let family = "capstan_events_dropped_total";
    for n in 0..=MAX_SERIES {
        metrics.event_dropped(&n.to_string());
    }
    let text = metrics.encode();
    assert!(text.contains(&format!("capstan_metrics_series_dropped_total{{metric=\"{family}\"}}")));
    let mut types = BTreeSet::new();
    for row in table() {
        types.insert(format!("# TYPE {} {}", row.name, row.kind));
        let suffix = if matches!(row.kind, Kind::Histogram(_)) { "_count" } else { "" };
        let sample = format!("{}{suffix}{}", row.name, if row.labels.is_empty() { " " } else { "{" });
        let line = text.lines().find(|l| l.starts_with(&sample)).unwrap_or_else(|| panic!("no {sample}"));
        for label in row.labels {
            assert!(line.contains(&format!("{label}=\"")), "{line} has no label {label}");
        }
    }
    let served: BTreeSet<_> = text.lines().filter(|l| l.starts_with("# TYPE")).map(str::to_owned).collect();
    assert_eq!(served, types);
}

#[test]
fn reconciles_are_counted_as_controller_runtime_does() {
    check(
        &everything(),
        "controller_runtime_reconcile_total",
        &expect![[r#"
            controller_runtime_reconcile_total{controller="etcd",result="error"} 1
            controller_runtime_reconcile_total{controller="etcd",result="requeue"} 0
            controller_runtime_reconcile_total{controller="etcd",result="requeue_after"} 0
            controller_runtime_reconcile_total{controller="etcd",result="success"} 1
        "#]],
    );
    check(
        &everything(),
        "controller_runtime_reconcile_errors_total",
        &expect![[r#"
        controller_runtime_reconcile_errors_total{controller="etcd"} 1
    "#]],
    );
    check(
        &everything(),
        "controller_runtime_terminal_reconcile_errors_total",
        &expect![[r#"
        controller_runtime_terminal_reconcile_errors_total{controller="etcd"} 1
    "#]],
    );
    check(
        &everything(),
        "controller_runtime_active_workers",
        &expect![[r#"
        controller_runtime_active_workers{controller="etcd"} 1.0
    "#]],
    );
}

#[test]
fn a_controller_that_has_just_started_shows_its_counters_at_zero() {
    let metrics = Metrics::new();
    metrics.max_concurrent_reconciles("etcd", 4);
    check(
        &metrics,
        "controller_runtime",
        &expect![[r#"
            controller_runtime_reconcile_total{controller="etcd",result="error"} 0
            controller_runtime_reconcile_total{controller="etcd",result="requeue"} 0
            controller_runtime_reconcile_total{controller="etcd",result="requeue_after"} 0
            controller_runtime_reconcile_total{controller="etcd",result="success"} 0
            controller_runtime_reconcile_errors_total{controller="etcd"} 0
            controller_runtime_terminal_reconcile_errors_total{controller="etcd"} 0
            controller_runtime_reconcile_panics_total{controller="etcd"} 0
            controller_runtime_reconcile_timeouts_total{controller="etcd"} 0
            controller_runtime_max_concurrent_reconciles{controller="etcd"} 4.0
            controller_runtime_active_workers{controller="etcd"} 0.0
        "#]],
    );
}

#[test]
fn queues_and_requests_have_the_labels_of_the_dashboards() {
    check(
        &everything(),
        "workqueue_depth",
        &expect![[r#"
        workqueue_depth{name="etcd",controller="etcd",priority="-100"} 3.0
    "#]],
    );
    check(
        &everything(),
        "workqueue_unfinished",
        &expect![[r#"
        workqueue_unfinished_work_seconds{name="etcd",controller="etcd"} 1.5
    "#]],
    );
    check(
        &everything(),
        "rest_client_requests_total",
        &expect![[r#"
        rest_client_requests_total{code="200",host="10.0.0.1:443",method="GET"} 1
    "#]],
    );
    check(
        &everything(),
        "rest_client_request_retries_total",
        &expect![[r#"
        rest_client_request_retries_total{code="429",host="10.0.0.1:443",verb="PATCH"} 1
    "#]],
    );
}

#[test]
fn the_series_of_an_object_goes_with_the_object() {
    let metrics = everything();
    check(
        &metrics,
        "capstan_paused",
        &expect![[r#"
        capstan_paused{controller="etcd",namespace="default",name="db"} 1.0
    "#]],
    );
    metrics.paused("etcd", &Key::new("default", "db"), false);
    check(&metrics, "capstan_paused", &expect![[""]]);
}

#[test]
fn a_family_that_grows_without_end_is_cut_off_and_says_so() {
    let metrics = Metrics::new();
    for n in 0..MAX_SERIES + 5 {
        metrics.event_dropped(&n.to_string());
    }
    metrics.event_dropped("0");
    assert_eq!(samples(&metrics, "capstan_events_dropped_total").lines().count(), MAX_SERIES);
    check(
        &metrics,
        "capstan_events_dropped_total{reason=\"0\"}",
        &expect![[r#"
        capstan_events_dropped_total{reason="0"} 2
    "#]],
    );
    check(
        &metrics,
        "capstan_metrics_series_dropped_total",
        &expect![[r#"
        capstan_metrics_series_dropped_total{metric="capstan_events_dropped_total"} 5
    "#]],
    );
}

#[test]
fn label_values_are_escaped() {
    let metrics = Metrics::new();
    metrics.event_dropped("a\"b\\c\nd");
    check(
        &metrics,
        "capstan_events",
        &expect![[r#"
        capstan_events_dropped_total{reason="a\"b\\c\nd"} 1
    "#]],
    );
}

#[test]
fn the_application_adds_metrics_of_its_own() {
    let metrics = Metrics::new();
    let backups = Counter::<u64>::default();
    metrics.with_registry(|registry| registry.register("etcd_backups", "Backups taken", backups.clone()));
    backups.inc();
    check(
        &metrics,
        "etcd_backups",
        &expect![[r#"
        etcd_backups_total 1
    "#]],
    );
    assert!(metrics.encode_as(Format::OpenMetrics).ends_with("# EOF\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_shows_its_memory() {
    let text = samples(&Metrics::new(), "process_resident_memory_bytes");
    let bytes: f64 = text.split_whitespace().last().and_then(|n| n.parse().ok()).unwrap();
    assert!(bytes > 100_000.0, "{text}");
}

#[test]
fn the_reference_has_a_line_for_every_family() {
    let markdown = reference();
    assert_eq!(markdown.lines().count(), table().count() + 2);
    assert!(
        markdown.contains("| `workqueue_depth` | gauge | `name`, `controller`, `priority` |"),
        "{markdown}"
    );
}
