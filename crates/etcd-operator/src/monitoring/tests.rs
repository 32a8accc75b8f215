//! What is written for Prometheus and Grafana can be read by them, and asks for what is there.

use std::collections::BTreeSet;

use promql::{Expr, Options, Selector};

use super::*;
use crate::{backup, metrics::FAMILIES};

/// What members of 3.5.35, 3.6.16 and 3.7.3 all serve on their metrics port, of what is asked for; read from the real programs.
/// Histograms stand with the suffix that is asked for. `up` is Prometheus' own.
const SERVED: &[&str] = &[
    "etcd_debugging_mvcc_keys_total",
    "etcd_debugging_mvcc_slow_watcher_total",
    "etcd_debugging_mvcc_watcher_total",
    "etcd_disk_backend_commit_duration_seconds_bucket",
    "etcd_disk_wal_fsync_duration_seconds_bucket",
    "etcd_mvcc_db_total_size_in_bytes",
    "etcd_mvcc_db_total_size_in_use_in_bytes",
    "etcd_network_client_grpc_received_bytes_total",
    "etcd_network_client_grpc_sent_bytes_total",
    "etcd_network_peer_round_trip_time_seconds_bucket",
    "etcd_server_has_leader",
    "etcd_server_leader_changes_seen_total",
    "etcd_server_proposals_committed_total",
    "etcd_server_proposals_failed_total",
    "etcd_server_proposals_pending",
    "etcd_server_quota_backend_bytes",
    "grpc_server_handled_total",
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "up",
];

/// The metrics that an expression asks for, and the labels of each that it compares.
fn metrics(expression: &Expr, into: &mut BTreeSet<(String, Vec<String>)>) {
    match expression {
        Expr::Number(_) | Expr::Text(_) => {}
        Expr::Selector(of) => drop(into.insert(metric(of))),
        Expr::Range(of) => drop(into.insert(metric(&of.selector))),
        Expr::Subquery(of) => metrics(&of.expr, into),
        Expr::Aggregation(of) => of.parameter.iter().chain([&of.expr]).for_each(|of| metrics(of, into)),
        Expr::Binary(of) => [&of.left, &of.right].into_iter().for_each(|side| metrics(side, into)),
        Expr::Call(call) => call.arguments.iter().for_each(|argument| metrics(argument, into)),
        Expr::Paren(of) | Expr::Signed(_, of) => metrics(of, into),
    }
}

fn metric(selector: &Selector) -> (String, Vec<String>) {
    let labels = selector.matchers.iter().map(|matcher| String::from_utf8(matcher.name.clone()).unwrap());
    (selector.name.clone(), labels.collect())
}

fn asked(expression: &str) -> BTreeSet<(String, Vec<String>)> {
    // Grafana puts a time there before Prometheus sees it.
    let expression = expression.replace("$__rate_interval", "5m");
    let parsed =
        promql::parse(&expression, &Options::default()).unwrap_or_else(|why| panic!("{expression}: {why}"));
    let mut found = BTreeSet::new();
    metrics(&parsed, &mut found);
    assert!(!found.is_empty(), "{expression}: asks for nothing");
    found
}

#[test]
fn every_expression_asks_for_metrics_that_etcd_or_the_operator_serves_and_only_of_chosen_clusters() {
    let ours = |metric: &str| {
        metric == "capstan_build_info"
            || FAMILIES.iter().any(|(name, _)| metric.trim_end_matches("_total") == *name)
    };
    let of_backups =
        |metric: &str| backup::FAMILIES.iter().any(|(name, _)| metric.trim_end_matches("_total") == *name);
    let one = Of::One { namespace: "default", name: "db" };
    for expression in ALERTS.iter().map(|alert| alert.expression).chain(dashboard::expressions()) {
        for (metric, labels) in asked(&one.apply(expression)) {
            let label = match () {
                () if ours(&metric) => "name",
                () if of_backups(&metric) => "cluster",
                () => "etcd_cluster",
            };
            assert!(
                ours(&metric) || of_backups(&metric) || SERVED.contains(&&*metric),
                "{metric}: nobody serves it"
            );
            let chosen = ["namespace", label].iter().all(|label| labels.iter().any(|known| known == label));
            assert!(chosen || metric == "capstan_build_info", "{expression}: {metric} of every cluster");
        }
    }
}

/// The labels that each aggregation keeps.
fn groups(expression: &Expr, into: &mut Vec<Vec<String>>) {
    match expression {
        Expr::Number(_) | Expr::Text(_) | Expr::Selector(_) | Expr::Range(_) => {}
        Expr::Subquery(of) => groups(&of.expr, into),
        Expr::Aggregation(of) => {
            assert!(!of.without);
            into.push(of.labels.clone());
            groups(&of.expr, into);
        }
        Expr::Binary(of) => [&of.left, &of.right].into_iter().for_each(|side| groups(side, into)),
        Expr::Call(call) => call.arguments.iter().for_each(|argument| groups(argument, into)),
        Expr::Paren(of) | Expr::Signed(_, of) => groups(of, into),
    }
}

#[test]
fn clusters_of_one_name_in_two_namespaces_stay_two() {
    for expression in ALERTS.iter().map(|alert| alert.expression).chain(dashboard::expressions()) {
        let mut kept = Vec::new();
        let text = Of::Every.apply(expression).replace("$__rate_interval", "5m");
        groups(&promql::parse(&text, &Options::default()).unwrap(), &mut kept);
        for labels in kept {
            let whose = ["name", "etcd_cluster", "member", "cluster"];
            let both = labels.iter().any(|label| label == "namespace")
                && labels.iter().any(|label| whose.contains(&label.as_str()));
            assert!(both, "{expression}: by {labels:?}");
        }
    }
    for legend in dashboard::legends() {
        assert!(legend.starts_with("{{namespace}}/"), "{legend}");
    }
}

#[test]
fn nothing_is_left_to_fill_in_but_what_grafana_does() {
    let all = rules(Of::Every).to_string();
    assert!(!all.contains("$etcd") && !all.contains("$operator") && !all.contains("__rate_interval"));
    let dashboard = dashboard().to_string();
    assert!(!dashboard.contains("$etcd") && !dashboard.contains("$operator"));
}

#[test]
fn an_alert_says_who_what_and_what_to_do_and_has_a_name_of_its_own() {
    let mut names = BTreeSet::new();
    for Alert { name, summary, advice, .. } in ALERTS {
        assert!(names.insert(name), "{name} twice");
        assert!(summary.contains("$labels.") || *name == "CapstanAbsent", "{name}: of whom?");
        assert!(advice.ends_with('.') && advice.len() > 40, "{name}: {advice}");
    }
}

#[test]
fn the_rule_of_one_cluster_is_about_that_one_only() {
    let one = rules(Of::One { namespace: "shop", name: "db" });
    let rules = one["groups"][0]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), ALERTS.len() - 1, "all but the one about the operator itself");
    assert_eq!(rules[0]["expr"], r#"etcd_server_has_leader{namespace="shop",etcd_cluster="db"} == 0"#);
}

#[test]
fn panels_do_not_overlap_and_stay_on_the_screen() {
    let dashboard = dashboard();
    let mut taken = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let of = |side: &str| panel["gridPos"][side].as_u64().unwrap();
        assert!(of("x") + of("w") <= 24, "{panel}");
        for x in of("x")..of("x") + of("w") {
            for y in of("y")..of("y") + of("h") {
                assert!(taken.insert((x, y)), "{} is drawn over another panel", panel["title"]);
            }
        }
    }
}

#[test]
fn members_are_scraped_on_their_metrics_port_with_the_labels_that_alerts_ask_for() {
    expect_test::expect![[r#"{"podMetricsEndpoints":[{"port":"metrics","relabelings":[{"sourceLabels":["__meta_kubernetes_pod_label_etcd_capstan_dev_cluster"],"targetLabel":"etcd_cluster"},{"sourceLabels":["__meta_kubernetes_pod_label_etcd_capstan_dev_member"],"targetLabel":"member"}]}],"selector":{"matchLabels":{"app.kubernetes.io/instance":"db","app.kubernetes.io/name":"etcd","etcd.capstan.dev/cluster":"db"}}}"#]]
    .assert_eq(&pod_monitor("db").to_string());
}
