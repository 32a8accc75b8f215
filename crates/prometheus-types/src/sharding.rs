//! How targets are divided among the shards of a Prometheus, and what becomes of a shard that is no longer
//! wanted.

use serde_json::{Value, json};

use crate::object::object;
use crate::text::{Duration, text};

text! {
    /// By what targets are divided: a hash of their address, or the zone they are in.
    pub struct ShardingMode {
        "enum": ["Address", "Topology"]
    }

    /// What becomes of a shard that is no longer wanted.
    pub struct WhenScaled {
        "enum": ["Retain", "Delete"]
    }
}

object! {
    /// How targets are divided among the shards.
    #[schemars(extend("x-kubernetes-validations" = [
        {"rule": "!has(self.topology) || (has(self.mode) && self.mode == 'Topology')", "message": "topology can only be defined when mode is set to 'Topology'"},
    ]))]
    pub struct ShardingStrategy {
        optional {
            /// By what targets are divided, `Address` unless given.
            pub mode: Option<ShardingMode>,
            /// Details of dividing by zone.
            pub topology: Option<TopologySharding>,
        }
    }
}

object! {
    /// Details of dividing by zone.
    pub struct TopologySharding {
        optional {
            /// External label that carries the zone of the shard, `zone` unless given; none when empty.
            pub external_label_name: Option<String>,
            /// The zones. Shards are assigned to them in turn.
            #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
            pub values: Vec<String>,
        }
    }
}

object! {
    /// What becomes of shards that are no longer wanted.
    pub struct ShardRetentionPolicy {
        optional {
            /// Whether they are kept or deleted, `Delete` unless given.
            pub when_scaled: Option<WhenScaled>,
            /// How long they are kept.
            pub retain: Option<RetainConfig>,
        }
    }
}

object! {
    /// How long shards are kept that are no longer wanted.
    pub struct RetainConfig {
        required {
            /// Time after which they are deleted.
            pub retention_period: Duration,
        }
    }
}

/// The rule of Prometheus and PrometheusAgent that no zone goes without a shard.
pub(crate) fn enough_shards() -> Value {
    json!({
        "rule": "!has(self.shardingStrategy) || !has(self.shardingStrategy.mode) \
            || self.shardingStrategy.mode != 'Topology' || !has(self.shardingStrategy.topology) \
            || !has(self.shardingStrategy.topology.values) || self.shardingStrategy.topology.values.size() == 0 \
            || (has(self.shards) ? self.shards : 1) >= self.shardingStrategy.topology.values.size()",
        "message": "shards must be greater than or equal to the number of topology values when sharding strategy mode \
            is Topology",
    })
}
