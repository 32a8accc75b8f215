//! How Prometheus sees the operator itself, where the Prometheus operator runs. It stands beside the alerts: half of them ask for
//! the operator's metrics, and one says that they are missing.

use serde_json::{Value, json};

use super::{NAMESPACE, deployment};
use crate::operator::NAME;

/// Both replicas, wherever this object is: Prometheus looks for monitors where its owner says.
pub(super) fn pod_monitor() -> Value {
    let labels: Value = deployment::labels().collect();
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": { "name": NAME, "labels": labels },
        "spec": {
            "namespaceSelector": { "matchNames": [NAMESPACE] },
            "selector": { "matchLabels": deployment::selector() },
            "podMetricsEndpoints": [{
                "port": deployment::METRICS,
                // `namespace` is that of the cluster that a series is about, not of the operator.
                "honorLabels": true,
            }],
        },
    })
}
