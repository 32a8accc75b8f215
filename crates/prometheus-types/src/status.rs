//! What the operator reports: conditions of workloads, and which workload accepted a configuration resource.

use crate::object::object;
use crate::text::{Timestamp, text};

text! {
    /// The plural name of a workload's kind.
    pub struct BoundResource {
        "enum": ["prometheuses", "prometheusagents", "thanosrulers", "alertmanagers"]
    }

    /// The group of all kinds here.
    pub struct MonitoringGroup {
        "enum": ["monitoring.coreos.com"]
    }

    /// The one type of condition of a binding.
    pub struct AcceptedType {
        "enum": ["Accepted"]
    }
}

object! {
    /// One aspect of a workload's state.
    pub struct Condition {
        required {
            /// What is judged: `Available` or `Reconciled`.
            #[schemars(length(min = 1))]
            pub r#type: String,
            /// `True`, `False`, `Unknown` or `Degraded`.
            #[schemars(length(min = 1))]
            pub status: String,
            /// When the status last changed.
            pub last_transition_time: Timestamp,
        }
        optional {
            /// The cause of the last change as one word.
            pub reason: String,
            /// The cause of the last change for people.
            pub message: String,
            /// The `metadata.generation` that the condition speaks about.
            pub observed_generation: i64,
        }
    }
}

object! {
    /// Which workloads use a configuration resource.
    pub struct ConfigResourceStatus {
        optional {
            /// One entry for each workload that selects the resource.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["group", "resource", "name", "namespace"]))]
            pub bindings: Vec<WorkloadBinding>,
        }
    }
}

object! {
    /// What one workload made of the resource.
    pub struct WorkloadBinding {
        required {
            /// Group of the workload.
            pub group: MonitoringGroup,
            /// Kind of the workload, in the plural.
            pub resource: BoundResource,
            /// Name of the workload.
            #[schemars(length(min = 1))]
            pub name: String,
            /// Namespace of the workload.
            #[schemars(length(min = 1))]
            pub namespace: String,
        }
        optional {
            /// Whether the workload accepted the resource.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["type"]))]
            pub conditions: Vec<ConfigResourceCondition>,
        }
    }
}

object! {
    /// Whether a workload accepted a resource.
    pub struct ConfigResourceCondition {
        required {
            /// Always `Accepted`.
            #[schemars(length(min = 1))]
            pub r#type: AcceptedType,
            /// `True`, `False` or `Unknown`.
            #[schemars(length(min = 1))]
            pub status: String,
            /// When the status last changed.
            pub last_transition_time: Timestamp,
        }
        optional {
            /// The cause of the last change as one word.
            pub reason: String,
            /// The cause of the last change for people.
            pub message: String,
            /// The `metadata.generation` of the resource that the condition speaks about.
            pub observed_generation: i64,
        }
    }
}

object! {
    /// The pods of one shard.
    pub struct ShardStatus {
        required {
            /// Number of the shard.
            #[serde(rename = "shardID")]
            pub shard_id: String,
            /// Pods of the shard.
            pub replicas: i32,
            /// Pods of the shard with the wanted specification.
            pub updated_replicas: i32,
            /// Pods of the shard that are ready.
            pub available_replicas: i32,
            /// Pods of the shard that are not ready.
            pub unavailable_replicas: i32,
        }
    }
}

object! {
    /// What was last seen of a Prometheus or PrometheusAgent.
    pub struct PrometheusStatus {
        optional {
            /// Whether the operator leaves the workload alone.
            pub paused: bool,
            /// Pods over all shards.
            pub replicas: i32,
            /// Pods with the wanted specification.
            pub updated_replicas: i32,
            /// Pods that are ready.
            pub available_replicas: i32,
            /// Pods that are not ready.
            pub unavailable_replicas: i32,
            /// The workload's state in detail.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["type"]))]
            pub conditions: Vec<Condition>,
            /// The same, shard by shard.
            #[schemars(extend("x-kubernetes-list-type" = "map"))]
            #[schemars(extend("x-kubernetes-list-map-keys" = ["shardID"]))]
            pub shard_statuses: Vec<ShardStatus>,
            /// Number of shards that were asked for last.
            pub shards: i32,
            /// Label selector of the pods, for the scale subresource.
            pub selector: String,
        }
    }
}
