//! What people see of clusters in Prometheus and Grafana: what to scrape, when to wake somebody, what to draw.
//!
//! Alerts and panels are tables. The files below deploy/monitoring are written from them for all clusters at once; the
//! objects that `spec.monitoring` asks for, for one.
//!
//! Labels: etcd's own metrics carry `namespace`, `etcd_cluster` and `member` because [`pod_monitor`] says so; the operator's carry
//! `namespace` and `name`, and those of backups `namespace`, `name` and `cluster`. An expression says `$etcd`, `$operator` and `$backup`
//! where the choice of clusters goes.

mod alerts;
mod dashboard;
#[cfg(test)]
mod tests;

pub use alerts::{ALERTS, Alert, Severity};
pub use dashboard::dashboard;

use serde_json::{Value, json};

use crate::names;

/// Which clusters it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of<'a> {
    /// All of them.
    Every,
    /// This one.
    One {
        /// Its namespace.
        namespace: &'a str,
        /// Its name.
        name: &'a str,
    },
    /// Those chosen on the dashboard.
    Chosen,
}

impl Of<'_> {
    /// The expression, about these clusters.
    fn apply(self, expression: &str) -> String {
        let (etcd, operator, backup) = match self {
            Self::Every => {
                ("etcd_cluster!=\"\"".to_owned(), "name!=\"\"".to_owned(), "cluster!=\"\"".to_owned())
            }
            Self::One { namespace, name } => (
                format!("namespace=\"{namespace}\",etcd_cluster=\"{name}\""),
                format!("namespace=\"{namespace}\",name=\"{name}\""),
                format!("namespace=\"{namespace}\",cluster=\"{name}\""),
            ),
            Self::Chosen => (
                "namespace=~\"$namespace\",etcd_cluster=~\"$cluster\"".to_owned(),
                "namespace=~\"$namespace\",name=~\"$cluster\"".to_owned(),
                "namespace=~\"$namespace\",cluster=~\"$cluster\"".to_owned(),
            ),
        };
        expression.replace("$etcd", &etcd).replace("$operator", &operator).replace("$backup", &backup)
    }
}

/// The `spec` of a PrometheusRule, which is also a rule file of Prometheus itself.
pub fn rules(of: Of<'_>) -> Value {
    // What is about no cluster is said once, for all.
    let chosen = ALERTS.iter().filter(|alert| of == Of::Every || alert.expression.contains('$'));
    let rules: Vec<Value> = chosen.map(|alert| alert.rule(of)).collect();
    json!({ "groups": [{ "name": "capstan-etcd", "rules": rules }] })
}

/// A PrometheusRule for all clusters.
pub fn prometheus_rule() -> Value {
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": "capstan-etcd",
            "labels": { "app.kubernetes.io/name": "capstan", "app.kubernetes.io/part-of": "capstan" },
        },
        "spec": rules(Of::Every),
    })
}

/// The `spec` of a PodMonitor for one cluster: every member, with the labels that alerts and panels ask for.
pub fn pod_monitor(cluster: &str) -> Value {
    let label = |source: &str, target: &str| {
        let source = format!("__meta_kubernetes_pod_label_{}", source.replace(['.', '/', '-'], "_"));
        json!({ "sourceLabels": [source], "targetLabel": target })
    };
    json!({
        "selector": { "matchLabels": names::selector(cluster) },
        "podMetricsEndpoints": [{
            "port": "metrics",
            "relabelings": [label(names::CLUSTER, "etcd_cluster"), label(names::MEMBER, "member")],
        }],
    })
}
