//! What to draw: a Grafana dashboard for all clusters, from a table of panels.

use serde_json::{Value, json};

use super::Of;

/// Half of what a row of the screen holds.
const HALF: usize = 12;
/// What a row of the screen holds, in Grafana's columns.
const WIDTH: usize = 24;

/// How a panel is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Draw {
    /// One number, or word, per series.
    Now,
    /// Lines over time.
    Lines,
}

/// One panel.
struct Panel {
    title: &'static str,
    /// What good and bad look like.
    help: &'static str,
    draw: Draw,
    /// Grafana's name of the unit.
    unit: &'static str,
    /// Expression and legend.
    queries: &'static [(&'static str, &'static str)],
}

/// A heading and the panels below it.
struct Section {
    title: &'static str,
    panels: &'static [Panel],
}

const fn now(
    title: &'static str,
    help: &'static str,
    unit: &'static str,
    queries: &'static [(&'static str, &'static str)],
) -> Panel {
    Panel { title, help, draw: Draw::Now, unit, queries }
}

const fn lines(
    title: &'static str,
    help: &'static str,
    unit: &'static str,
    queries: &'static [(&'static str, &'static str)],
) -> Panel {
    Panel { title, help, draw: Draw::Lines, unit, queries }
}

const SECTIONS: &[Section] = &[
    Section {
        title: "Is it well?",
        panels: &[
            now(
                "Phase",
                "What the operator says of the cluster.",
                "none",
                &[(
                    "max by (namespace, name, phase) (capstan_etcd_phase{$operator})",
                    "{{namespace}}/{{name}}: {{phase}}",
                )],
            ),
            now(
                "Members that serve",
                "As many as the spec asks for.",
                "none",
                &[
                    (
                        "max by (namespace, name) (capstan_etcd_ready_members{$operator})",
                        "{{namespace}}/{{name}} serving",
                    ),
                    (
                        "max by (namespace, name) (capstan_etcd_size{$operator})",
                        "{{namespace}}/{{name}} wanted",
                    ),
                ],
            ),
            now(
                "Has a leader",
                "1 when every member knows one.",
                "none",
                &[(
                    "min by (namespace, etcd_cluster) (etcd_server_has_leader{$etcd})",
                    "{{namespace}}/{{etcd_cluster}}",
                )],
            ),
            now(
                "Database of its quota",
                "At 100 % nothing can be written.",
                "percentunit",
                &[(
                    "max by (namespace, etcd_cluster) (etcd_mvcc_db_total_size_in_bytes{$etcd} / etcd_server_quota_backend_bytes{$etcd})",
                    "{{namespace}}/{{etcd_cluster}}",
                )],
            ),
            now(
                "First certificate ends in",
                "Renewed long before, as long as the operator runs.",
                "s",
                &[(
                    "min by (namespace, name) (capstan_etcd_certificate_expiry_timestamp_seconds{$operator}) - time()",
                    "{{namespace}}/{{name}}",
                )],
            ),
            now(
                "Under way",
                "Operations that the operator carries out.",
                "none",
                &[(
                    "max by (namespace, name, kind) (capstan_etcd_operation{$operator})",
                    "{{namespace}}/{{name}}: {{kind}}",
                )],
            ),
        ],
    },
    Section {
        title: "What clients feel",
        panels: &[
            lines(
                "Requests",
                "By cluster and method, all members together.",
                "reqps",
                &[(
                    "sum by (namespace, etcd_cluster, grpc_method) (rate(grpc_server_handled_total{grpc_type=\"unary\",$etcd}[$__rate_interval]))",
                    "{{namespace}}/{{etcd_cluster}} {{grpc_method}}",
                )],
            ),
            lines(
                "Requests that failed",
                "Should be nothing.",
                "reqps",
                &[(
                    "sum by (namespace, etcd_cluster, grpc_method, grpc_code) (rate(grpc_server_handled_total{grpc_type=\"unary\",grpc_code!=\"OK\",$etcd}[$__rate_interval]))",
                    "{{namespace}}/{{etcd_cluster}} {{grpc_method}} {{grpc_code}}",
                )],
            ),
            lines(
                "Writes agreed on",
                "Per member: all lines are one when nobody lags.",
                "ops",
                &[(
                    "rate(etcd_server_proposals_committed_total{$etcd}[$__rate_interval])",
                    "{{namespace}}/{{member}}",
                )],
            ),
            lines(
                "Writes waiting and failed",
                "Waiting ones pile up when disks or the network are slow.",
                "short",
                &[
                    ("etcd_server_proposals_pending{$etcd}", "{{namespace}}/{{member}} waiting"),
                    (
                        "increase(etcd_server_proposals_failed_total{$etcd}[$__rate_interval])",
                        "{{namespace}}/{{member}} failed",
                    ),
                ],
            ),
            lines(
                "Changes of the leader",
                "A few a day, upgrades aside.",
                "short",
                &[(
                    "increase(etcd_server_leader_changes_seen_total{$etcd}[$__rate_interval])",
                    "{{namespace}}/{{member}}",
                )],
            ),
            lines(
                "Open watches",
                "Clients that wait for changes.",
                "short",
                &[
                    ("etcd_debugging_mvcc_watcher_total{$etcd}", "{{namespace}}/{{member}}"),
                    ("etcd_debugging_mvcc_slow_watcher_total{$etcd}", "{{namespace}}/{{member}} slow"),
                ],
            ),
        ],
    },
    Section {
        title: "Disk and network",
        panels: &[
            lines(
                "Log written in (p99)",
                "10 ms is good; above 500 ms leaders get lost.",
                "s",
                &[(
                    "histogram_quantile(0.99, sum by (namespace, member, le) (rate(etcd_disk_wal_fsync_duration_seconds_bucket{$etcd}[$__rate_interval])))",
                    "{{namespace}}/{{member}}",
                )],
            ),
            lines(
                "Database written in (p99)",
                "25 ms is good.",
                "s",
                &[(
                    "histogram_quantile(0.99, sum by (namespace, member, le) (rate(etcd_disk_backend_commit_duration_seconds_bucket{$etcd}[$__rate_interval])))",
                    "{{namespace}}/{{member}}",
                )],
            ),
            lines(
                "Round trip between members (p99)",
                "Well below the heartbeat interval, 100 ms unless set.",
                "s",
                &[(
                    "histogram_quantile(0.99, sum by (namespace, member, le) (rate(etcd_network_peer_round_trip_time_seconds_bucket{$etcd}[$__rate_interval])))",
                    "{{namespace}}/{{member}}",
                )],
            ),
            lines(
                "Traffic with clients",
                "Received above, sent below.",
                "Bps",
                &[
                    (
                        "rate(etcd_network_client_grpc_received_bytes_total{$etcd}[$__rate_interval])",
                        "{{namespace}}/{{member}} received",
                    ),
                    (
                        "-rate(etcd_network_client_grpc_sent_bytes_total{$etcd}[$__rate_interval])",
                        "{{namespace}}/{{member}} sent",
                    ),
                ],
            ),
        ],
    },
    Section {
        title: "Space",
        panels: &[
            lines(
                "Database",
                "The file, and how much of it is in use: a defragmentation gives the difference back.",
                "bytes",
                &[
                    ("etcd_mvcc_db_total_size_in_bytes{$etcd}", "{{namespace}}/{{member}}"),
                    ("etcd_mvcc_db_total_size_in_use_in_bytes{$etcd}", "{{namespace}}/{{member}} in use"),
                    (
                        "min by (namespace, etcd_cluster) (etcd_server_quota_backend_bytes{$etcd})",
                        "{{namespace}}/{{etcd_cluster}} quota",
                    ),
                ],
            ),
            lines(
                "Keys",
                "Old revisions aside.",
                "short",
                &[("etcd_debugging_mvcc_keys_total{$etcd}", "{{namespace}}/{{member}}")],
            ),
            lines(
                "Memory",
                "Grows with the database, the keys and the watches.",
                "bytes",
                &[("process_resident_memory_bytes{$etcd}", "{{namespace}}/{{member}}")],
            ),
            lines(
                "CPU",
                "In cores.",
                "short",
                &[("rate(process_cpu_seconds_total{$etcd}[$__rate_interval])", "{{namespace}}/{{member}}")],
            ),
        ],
    },
];

/// The dashboard, as Grafana imports it.
pub fn dashboard() -> Value {
    let mut panels = Vec::new();
    let mut top = 0;
    for section in SECTIONS {
        panels.push(heading(section, panels.len(), top));
        top += 1;
        let mut left = 0;
        for panel in section.panels {
            let (width, height) = size(panel.draw);
            if left + width > WIDTH {
                (left, top) = (0, top + height);
            }
            panels.push(drawn(panel, panels.len(), (left, top), (width, height)));
            left += width;
        }
        top += section.panels.last().map_or(0, |panel| size(panel.draw).1);
    }
    json!({
        "uid": "capstan-etcd",
        "title": "etcd, run by Capstan",
        "tags": ["capstan", "etcd"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": { "from": "now-1h", "to": "now" },
        "templating": { "list": [source(), variable("namespace", "Namespace", ""), variable("cluster", "Cluster", "namespace=~\"$namespace\"")] },
        "panels": panels,
    })
}

fn size(draw: Draw) -> (usize, usize) {
    match draw {
        Draw::Now => (WIDTH / 6, 5),
        Draw::Lines => (HALF, 8),
    }
}

fn heading(section: &Section, id: usize, top: usize) -> Value {
    json!({
        "id": id + 1,
        "type": "row",
        "title": section.title,
        "collapsed": false,
        "gridPos": { "x": 0, "y": top, "w": WIDTH, "h": 1 },
        "panels": [],
    })
}

fn drawn(panel: &Panel, id: usize, (left, top): (usize, usize), (width, height): (usize, usize)) -> Value {
    let targets: Vec<Value> = panel
        .queries
        .iter()
        .zip('A'..)
        .map(|((expression, legend), name)| {
            json!({
                "refId": name.to_string(),
                "datasource": { "type": "prometheus", "uid": "$source" },
                "expr": Of::Chosen.apply(expression),
                "legendFormat": legend,
                "instant": panel.draw == Draw::Now,
                "range": panel.draw == Draw::Lines,
            })
        })
        .collect();
    let (kind, options) = match panel.draw {
        Draw::Now => {
            ("stat", json!({ "textMode": "value_and_name", "reduceOptions": { "calcs": ["lastNotNull"] } }))
        }
        Draw::Lines => (
            "timeseries",
            json!({ "legend": { "displayMode": "list", "placement": "bottom" }, "tooltip": { "mode": "multi", "sort": "desc" } }),
        ),
    };
    json!({
        "id": id + 1,
        "type": kind,
        "title": panel.title,
        "description": panel.help,
        "datasource": { "type": "prometheus", "uid": "$source" },
        "gridPos": { "x": left, "y": top, "w": width, "h": height },
        "fieldConfig": { "defaults": { "unit": panel.unit }, "overrides": [] },
        "options": options,
        "targets": targets,
    })
}

fn source() -> Value {
    json!({ "name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus", "current": {} })
}

/// A choice on top of the dashboard, filled from etcd's own metrics: it works without the operator.
fn variable(name: &str, label: &str, among: &str) -> Value {
    let wanted = if name == "cluster" { "etcd_cluster" } else { name };
    let query = format!("label_values(etcd_server_has_leader{{{among}}}, {wanted})");
    json!({
        "name": name,
        "label": label,
        "type": "query",
        "datasource": { "type": "prometheus", "uid": "$source" },
        "query": { "query": query, "refId": name },
        "refresh": 2,
        "multi": true,
        "includeAll": true,
        "current": {},
        "sort": 1,
    })
}

#[cfg(test)]
fn queries() -> impl Iterator<Item = (&'static str, &'static str)> {
    SECTIONS.iter().flat_map(|section| section.panels).flat_map(|panel| panel.queries).copied()
}

#[cfg(test)]
pub(super) fn expressions() -> impl Iterator<Item = &'static str> {
    queries().map(|(expression, _)| expression)
}

#[cfg(test)]
pub(super) fn legends() -> impl Iterator<Item = &'static str> {
    queries().map(|(_, legend)| legend)
}
