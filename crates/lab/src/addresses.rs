//! Every name and address of a lab, derived from its slot: the reason why two labs never clash, and why a lab can be
//! cleaned up from its number alone.
//!
//! | what | slot 2, node 1 |
//! |---|---|
//! | link of the host to the lab's switch | `capstan2` |
//! | nodes | 10.79.2.0/24: the host, and with it the API server, at .1, node 1 at .11 |
//! | pods | 10.162.0.0/16: node 1 has 10.162.1.0/24 |
//! | etcd, controller-manager, scheduler | 127.79.2.1: all of 127/8 is loopback |
//! | cgroups | `capstan2/control`, `capstan2/node1/{system,kubepods}` |
//! | name and `kubernetes.io/hostname` label of a node | `node1` and `node1.lab.internal` |
//! | network namespaces, the claim of the slot | /run/capstan-lab/slot2 |

use std::{net::Ipv4Addr, path::PathBuf};

/// How many labs fit on one machine.
pub const SLOTS: u8 = 16;
/// How many nodes fit into a lab.
pub const MAX_NODES: u8 = 20;

/// Ends the `kubernetes.io/hostname` label of every node. Kubernetes does not promise that the label is the Node's name, and with many
/// cloud providers it is not; so it is not here either.
pub(crate) const DOMAIN: &str = ".lab.internal";

/// Facts about the machine that every lab on it shares: claims of slots, and the sysctls from before the first lab.
pub(crate) const MACHINE: &str = "/run/capstan-lab";

/// The Services of every lab: never seen outside of its nodes, so all labs can have the same.
pub(crate) const SERVICES: &str = "10.96.0.0/16";
pub(crate) const KUBERNETES_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
pub(crate) const DNS_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 10);

pub(crate) const API_PORT: u16 = 6443;
pub(crate) const ETCD_PORT: u16 = 12379;
pub(crate) const ETCD_PEER_PORT: u16 = 12380;
pub(crate) const CONTROLLERS_PORT: u16 = 12381;
pub(crate) const SCHEDULER_PORT: u16 = 12382;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    pub slot: u8,
}

impl Addresses {
    /// The host's end of the cable to the switch.
    pub(crate) fn link(self) -> String {
        format!("capstan{}", self.slot)
    }

    /// The network namespace that is the switch.
    pub(crate) fn switch(self) -> PathBuf {
        self.directory().join("switch.net")
    }

    pub(crate) fn host_ip(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 79, self.slot, 1)
    }

    pub(crate) fn nodes(self) -> Subnet {
        Subnet { address: Ipv4Addr::new(10, 79, self.slot, 0), bits: 24 }
    }

    pub(crate) fn pods(self) -> Subnet {
        Subnet { address: Ipv4Addr::new(10, 160 + self.slot, 0, 0), bits: 16 }
    }

    /// Where the parts of the control plane listen that only the control plane talks to.
    pub(crate) fn loopback(self) -> Ipv4Addr {
        Ipv4Addr::new(127, 79, self.slot, 1)
    }

    pub fn api(self) -> String {
        format!("https://{}:{API_PORT}", self.host_ip())
    }

    /// The control plane's etcd, without TLS, for those on this machine.
    pub fn etcd(self) -> String {
        format!("http://{}:{ETCD_PORT}", self.loopback())
    }

    pub(crate) fn cgroup(self) -> String {
        format!("capstan{}", self.slot)
    }

    pub(crate) fn control_cgroup(self) -> String {
        format!("{}/control", self.cgroup())
    }

    /// The claim of this slot and its network namespaces.
    pub(crate) fn directory(self) -> PathBuf {
        PathBuf::from(MACHINE).join(format!("slot{}", self.slot))
    }

    pub(crate) fn node(self, number: u8) -> Node {
        Node {
            number,
            name: format!("node{number}"),
            ip: Ipv4Addr::new(10, 79, self.slot, 10 + number),
            pods: Subnet { address: Ipv4Addr::new(10, 160 + self.slot, number, 0), bits: 24 },
            netns: self.directory().join(format!("node{number}.net")),
            cgroup: format!("{}/node{number}", self.cgroup()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) number: u8,
    pub(crate) name: String,
    pub(crate) ip: Ipv4Addr,
    pub(crate) pods: Subnet,
    pub(crate) netns: PathBuf,
    pub(crate) cgroup: String,
}

impl Node {
    /// The value of its label `kubernetes.io/hostname`.
    pub(crate) fn hostname(&self) -> String {
        hostname(&self.name)
    }

    /// Where its daemons run; its pods are beside it, in `kubepods`.
    pub(crate) fn system_cgroup(&self) -> String {
        format!("{}/system", self.cgroup)
    }
}

/// Returns the `kubernetes.io/hostname` label of the node with this name.
pub(crate) fn hostname(node: &str) -> String {
    format!("{node}{DOMAIN}")
}

/// Returns the name of the node with this `kubernetes.io/hostname` label. `None` if the label is not of a lab's node.
pub(crate) fn node_with_hostname(label: &str) -> Option<&str> {
    label.strip_suffix(DOMAIN)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subnet {
    pub(crate) address: Ipv4Addr,
    pub(crate) bits: u8,
}

impl Subnet {
    /// `10.79.0.0/24`, or an address alone; `default` and what is not IPv4 is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
        Some(Self {
            address: address.parse().ok()?,
            bits: bits.parse().ok().filter(|bits| (1..=32).contains(bits))?,
        })
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        let shift = 32 - u32::from(self.bits.min(other.bits));
        self.address.to_bits() >> shift == other.address.to_bits() >> shift
    }
}

impl std::fmt::Display for Subnet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_slots_share_a_name_or_an_address() {
        let mut seen = BTreeSet::new();
        for addresses in (0..SLOTS).map(|slot| Addresses { slot }) {
            let own = [
                addresses.link(),
                addresses.nodes().to_string(),
                addresses.pods().to_string(),
                addresses.etcd(),
            ];
            let nodes = (1..=MAX_NODES).map(|n| addresses.node(n)).flat_map(|node| {
                [node.cgroup, node.netns.display().to_string(), node.ip.to_string(), node.pods.to_string()]
            });
            for name in own.into_iter().chain(nodes) {
                assert!(seen.insert(name.clone()), "{name} of slot {} is taken", addresses.slot);
            }
        }
    }

    #[test]
    fn hostname_label_differs_from_node_name() {
        let node = Addresses { slot: 2 }.node(3);
        assert_eq!((node.name.as_str(), node.hostname().as_str()), ("node3", "node3.lab.internal"));
        assert_eq!(node_with_hostname(&node.hostname()), Some("node3"));
        assert_eq!(node_with_hostname("node3"), None);
    }

    #[test]
    fn nodes_and_pods_of_no_two_labs_overlap() {
        let subnets: Vec<Subnet> =
            (0..SLOTS).map(|slot| Addresses { slot }).flat_map(|a| [a.nodes(), a.pods()]).collect();
        let services = Subnet::parse(SERVICES).unwrap();
        for (i, a) in subnets.iter().enumerate() {
            assert!(!a.overlaps(services), "{a}");
            assert!(!subnets[i + 1..].iter().any(|b| a.overlaps(*b)), "{a}");
        }
    }

    #[test]
    fn subnets_overlap_when_one_holds_the_other() {
        let subnet = |text| Subnet::parse(text).unwrap();
        assert!(subnet("10.79.0.0/24").overlaps(subnet("10.0.0.0/8")));
        assert!(subnet("10.79.0.0/24").overlaps(subnet("10.79.0.7")));
        assert!(!subnet("10.79.0.0/24").overlaps(subnet("10.79.1.0/24")));
        assert_eq!(Subnet::parse("default"), None);
        assert_eq!(Subnet::parse("fe80::/64"), None);
    }
}
