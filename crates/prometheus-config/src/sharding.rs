//! How targets are divided among shards: steps that run after all others. `$(SHARD)` and its like are replaced by each
//! pod's config reloader, so that one configuration serves all pods.

use prometheus_types::sharding::TopologySharding;
use rendering::{Map, Tree};

use crate::context::Context;
use crate::relabel::keep;
use crate::values::labels;

const HASH: &str = "__tmp_hash";
const DISABLED: &str = "__tmp_disable_sharding";
const TOPOLOGY: &str = "__tmp_topology";

impl Context<'_> {
    /// The zones, where targets are divided by zone.
    pub(crate) fn topology(&self) -> Option<&TopologySharding> {
        let strategy = self.common.sharding_strategy.as_ref().filter(|_| self.options.topology_sharding)?;
        let topology = strategy.topology.as_ref()?;
        strategy.mode.as_deref().is_some_and(|mode| mode == "Topology").then_some(topology)
    }

    /// The same, where there is at least one zone.
    fn zones(&self) -> Option<usize> {
        self.topology().map(|topology| topology.values.len()).filter(|zones| *zones > 0)
    }

    /// Whether targets must carry the labels of their node, for want of a zone of their own.
    pub(crate) fn needs_node_metadata(&self) -> bool {
        self.zones().is_some() && !self.options.pod_topology_labels
    }

    /// Appends the steps that leave a shard only its own targets, which are told apart by `label`.
    pub(crate) fn shard(&self, relabelings: &mut Vec<Tree>, label: &'static str) {
        let shards = self.shards();
        if self.options.shard_retention_policy {
            relabelings.push(capture("__tmp_current_shard", "$(SHARD)").into());
            relabelings.push(keep(["__tmp_current_shard".into()], in_range(shards)).into());
        }
        let (modulus, own) = match self.zones() {
            Some(zones) => {
                relabelings.extend(self.keep_zone().map(Tree::from));
                let zones = i32::try_from(zones).unwrap_or(i32::MAX);
                ((shards / zones).max(1), "$(INZONE_SHARD);|.+;.+")
            }
            None => (shards, "$(SHARD);|.+;.+"),
        };
        relabelings.push(fallback([label.into(), HASH.into()], HASH, "(.+);").into());
        let hash = Map::new().with("source_labels", labels([HASH.into()])).with("target_label", HASH);
        relabelings.push(hash.with("modulus", modulus).with("action", "hashmod").into());
        relabelings.push(keep([HASH.into(), DISABLED.into()], own).into());
    }

    /// Appends the steps unless the list divides its targets already.
    pub(crate) fn shard_if_missing(&self, relabelings: &mut Vec<Tree>) {
        let hashes = |step: &Tree| step.get("action").and_then(Tree::as_str) == Some("hashmod");
        if !relabelings.iter().any(hashes) {
            self.shard(relabelings, "__address__");
        }
    }

    /// The zone of a target: from its EndpointSlice, else from its pod or its node.
    fn keep_zone(&self) -> [Map; 3] {
        let (zone, present) = if self.options.pod_topology_labels {
            (
                "__meta_kubernetes_pod_label_topology_kubernetes_io_zone",
                "__meta_kubernetes_pod_labelpresent_topology_kubernetes_io_zone",
            )
        } else {
            (
                "__meta_kubernetes_node_label_topology_kubernetes_io_zone",
                "__meta_kubernetes_node_labelpresent_topology_kubernetes_io_zone",
            )
        };
        [
            fallback(
                ["__meta_kubernetes_endpointslice_endpoint_zone".into(), TOPOLOGY.into()],
                TOPOLOGY,
                "(.+);",
            ),
            fallback([zone.into(), present.into(), TOPOLOGY.into()], TOPOLOGY, "(.+);true;"),
            keep([TOPOLOGY.into(), DISABLED.into()], "$(TOPOLOGY_ZONE);|.+;.+"),
        ]
    }
}

fn capture(target: &'static str, variable: &'static str) -> Map {
    Map::new().with("target_label", target).with("replacement", variable).with("action", "replace")
}

/// Sets a label from the first source, where the expression finds the label itself still empty.
fn fallback<const N: usize>(sources: [rendering::Text; N], target: &'static str, regex: &'static str) -> Map {
    Map::new()
        .with("source_labels", labels(sources))
        .with("target_label", target)
        .with("regex", regex)
        .with("replacement", "$1")
        .with("action", "replace")
}

/// The numbers of all shards that are wanted, `0|1|2`: a shard that is kept for its data scrapes nothing.
fn in_range(shards: i32) -> String {
    (0..shards).map(|shard| shard.to_string()).collect::<Vec<_>>().join("|")
}
