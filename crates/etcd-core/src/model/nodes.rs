//! The model's nodes: they die, lose contact, and are deleted. Pods on them stay as real ones do.
//!
//! Every number has a node of its own. A Node is called `node-3`, and its label kubernetes.io/hostname says `host-3`: volumes know the label.

use jiff::SignedDuration;

use super::{Model, PodModel};
use crate::{Node, NodeState, Serial};

/// After how long Kubernetes deletes pods of a node that is not ready (`tolerationSeconds`).
const EVICTED: SignedDuration = SignedDuration::from_secs(300);
/// After how long Kubernetes removes pods of a Node that is deleted.
const COLLECTED: SignedDuration = SignedDuration::from_secs(40);

pub(crate) fn node_of(serial: Serial) -> String {
    format!("node-{serial}")
}

pub(crate) fn host_of(serial: Serial) -> String {
    format!("host-{serial}")
}

impl Model {
    /// The plug is pulled.
    pub(crate) fn kill_node(&mut self, serial: u64) {
        self.dead_nodes.insert(node_of(Serial(serial)));
    }

    /// The node is gone for good, and its Node deleted.
    pub(crate) fn lose_node(&mut self, serial: u64) {
        self.gone_nodes.insert(node_of(Serial(serial)));
    }

    /// The kubelet is not heard of any more; pods go on.
    pub(crate) fn silence_kubelet(&mut self, serial: u64) {
        self.silent_nodes.insert(node_of(Serial(serial)));
    }

    /// All nodes are back, but for those that are gone for good.
    pub(crate) fn nodes_return(&mut self) {
        self.dead_nodes.clear();
        self.silent_nodes.clear();
    }

    /// Whether nothing runs on a node.
    pub(crate) fn is_dead(&self, node: &str) -> bool {
        self.dead_nodes.contains(node) || self.gone_nodes.contains(node)
    }

    fn is_silent(&self, node: &str) -> bool {
        self.silent_nodes.contains(node)
    }

    /// Whether Kubernetes knows what a node's pods do.
    pub(crate) fn hears(&self, pod: &PodModel) -> bool {
        pod.node.as_deref().is_none_or(|node| !self.is_dead(node) && !self.is_silent(node))
    }

    /// Whether a pod's process is being ended.
    pub(crate) fn is_ending(&self, pod: &PodModel) -> bool {
        pod.deleting && self.hears(pod)
    }

    /// What is deleted goes, where a kubelet hears of it. On a node that is not heard of, pods are deleted after a while, and stay.
    pub(crate) fn end_pods(&mut self) {
        let now = self.now;
        for serial in self.boxes.keys().copied().collect::<Vec<_>>() {
            let Some(entry) = self.boxes.get(&serial) else { continue };
            let pod = entry.pod.as_ref();
            let heard = pod.is_none_or(|pod| self.hears(pod));
            let gone =
                pod.and_then(|pod| pod.node.as_ref()).is_some_and(|node| self.gone_nodes.contains(node));
            let Some(entry) = self.boxes.get_mut(&serial) else { continue };
            if entry.set_deleting {
                (entry.stateful_set, entry.set_deleting) = (None, false);
            }
            let Some(pod) = &mut entry.pod else { continue };
            let since = match heard {
                true => None,
                false => Some(pod.unheard_since.unwrap_or(now)),
            };
            pod.unheard_since = since;
            let for_so_long = since.map(|since| now.duration_since(since));
            pod.deleting |= for_so_long.is_some_and(|time| time >= EVICTED);
            let collected = gone && for_so_long.is_some_and(|time| time >= COLLECTED);
            if (pod.deleting && heard) || collected {
                entry.pod = None;
            }
        }
    }

    pub(crate) fn node_view(&self, name: &str) -> Node {
        let state = match name {
            _ if self.gone_nodes.contains(name) => NodeState::Gone,
            _ if self.is_dead(name) || self.is_silent(name) => NodeState::NotReady,
            _ => NodeState::Ready,
        };
        Node { name: name.to_owned(), state }
    }

    /// The node that carries this host name, as the operator finds it by the label.
    pub(crate) fn node_with_host(&self, host: &str) -> Node {
        let name = host.replace("host-", "node-");
        if self.gone_nodes.contains(&name) || !host.starts_with("host-") {
            return Node { name: host.to_owned(), state: NodeState::Unknown };
        }
        self.node_view(&name)
    }
}
