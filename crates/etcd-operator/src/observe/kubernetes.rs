//! What Kubernetes knows of a cluster, as a picture. Pure: the objects were got by whoever calls.

use std::{collections::BTreeMap, sync::Arc};

use etcd_core::{
    Claim, ClaimPhase, ClaimState, Cluster, Etcd, Member, Node, NodeState, Picture, Serial, UpgradeBackup,
};
use etcd_types::{EtcdBackup, EtcdCluster, ExistingVolumes};
use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::StatefulSet,
        core::v1::{PersistentVolumeClaim, PersistentVolumeClaimStatus},
    },
    apimachinery::pkg::api::resource::Quantity,
};
use kit::pause;
use kube::{Resource as _, ResourceExt as _};

use super::Live;
use crate::{
    build,
    glimpse::{Glimpse, MemberPod},
    names,
};

/// What pods and volumes are bound to.
pub(super) trait Places {
    /// How the Node of this name is: the one that a pod was given to.
    fn node(&self, name: &str) -> NodeState;
    /// The Node that carries this host name; nothing if none does.
    fn node_with_host(&self, host: &str) -> Option<Node>;
    /// The one host that a volume can be used on, where that is so.
    fn host_of_volume(&self, name: &str) -> Option<String>;
    /// Whether a storage class lets volumes grow.
    fn class_grows(&self, name: &str) -> bool;
}

/// The objects of this cluster's members, of those that carry its name.
pub(super) fn members(
    cluster: &EtcdCluster,
    stateful_sets: Vec<Arc<StatefulSet>>,
    pods: Vec<Arc<Glimpse<MemberPod>>>,
    claims: Vec<Arc<PersistentVolumeClaim>>,
) -> Live {
    let name = names::of(cluster);
    let serial = |object: &str| name.get().serial_of_name(object);
    let uid = cluster.uid();
    let takes_back = cluster.spec.bootstrap.existing_volumes == ExistingVolumes::Adopt;
    let is_mine = |set: &Arc<StatefulSet>| {
        names::is_owned(cluster, &**set) || (takes_back && names::is_ours(cluster, &**set))
    };
    let sets: Vec<_> = stateful_sets.into_iter().filter(is_mine).collect();
    // Pods of a StatefulSet that was taken back still name the cluster that they were made for.
    let is_of_set = |pod: &Glimpse<MemberPod>| {
        let owner = kit::Row::controller(pod).map(|owner| owner.uid.to_owned());
        sets.iter().any(|set| owner.is_some() && set.uid() == owner)
    };
    let pods = pods.into_iter().filter(|pod| pod.seen.cluster_uid == uid || is_of_set(pod));
    let pods: Vec<_> = pods.collect();
    let serial_of_pod = |pod: &Glimpse<MemberPod>| serial(kit::Row::key(pod).name().strip_suffix("-0")?);
    Live {
        stateful_sets: sets.into_iter().filter_map(|set| Some((serial(&set.name_any())?, set))).collect(),
        pods: pods.into_iter().filter_map(|pod| Some((serial_of_pod(&pod)?, pod))).collect(),
        claims: claims.into_iter().filter_map(|claim| Some((serial(&claim.name_any())?, claim))).collect(),
        ..Live::default()
    }
}

/// The picture, but for what etcd says and for certificates.
pub(super) fn picture(places: &impl Places, cluster: &EtcdCluster, live: &Live, now: Timestamp) -> Picture {
    let uid = cluster.uid().unwrap_or_default();
    let mut members: BTreeMap<Serial, Member> = BTreeMap::new();
    let mut earlier = BTreeMap::new();
    for (serial, set) in &live.stateful_sets {
        members.entry(*serial).or_default().stateful_set = Some(etcd_core::StatefulSet {
            uid: set.uid().unwrap_or_default(),
            deleting: set.meta().deletion_timestamp.is_some(),
            template: build::template_of(set),
        });
    }
    for (serial, pod) in &live.pods {
        members.entry(*serial).or_default().pod = Some(self::pod(places, pod));
    }
    for (serial, claim) in &live.claims {
        let seen = self::claim(places, claim, now);
        match claim.annotations().get(names::CLUSTER_UID) {
            Some(other) if *other != uid => drop(earlier.insert(*serial, seen)),
            _ => members.entry(*serial).or_default().claim = Some(seen),
        }
    }
    let mut spec = cluster.spec.clone();
    spec.paused |= pause::is_paused(cluster.meta());
    Picture {
        cluster: Cluster {
            namespace: cluster.namespace().unwrap_or_default(),
            name: cluster.name_any(),
            uid,
            generation: cluster.meta().generation,
            deleting: cluster.meta().deletion_timestamp.is_some(),
        },
        spec,
        status: cluster.status.clone().unwrap_or_default(),
        latch: live.identity.as_ref().and_then(|identity| build::latch(cluster, identity)),
        members,
        earlier,
        etcd: Etcd::default(),
        certificates: etcd_core::Certificates::default(),
        upgrade_hold: cluster.annotations().get(names::HOLD_UPGRADE).cloned(),
        upgrade_backup: live.upgrade_backup.as_ref().map(|backup| upgrade_backup(backup, now)),
        move_leader: cluster.annotations().get(etcd_core::MOVE_LEADER).cloned(),
        recovery: None,
        work: etcd_core::Works::default(),
    }
}

fn upgrade_backup(backup: &EtcdBackup, now: Timestamp) -> UpgradeBackup {
    let status = backup.status.as_ref();
    UpgradeBackup {
        name: backup.name_any(),
        uid: backup.uid().unwrap_or_default(),
        cluster: backup.spec.cluster_name.clone(),
        created: backup.creation_timestamp().map_or(now, |created| created.0),
        deleting: backup.meta().deletion_timestamp.is_some(),
        phase: status.and_then(|status| status.phase),
        message: status.and_then(|status| status.message.clone()),
    }
}

fn pod(places: &impl Places, pod: &Glimpse<MemberPod>) -> etcd_core::Pod {
    let seen = pod.seen.clone();
    etcd_core::Pod {
        uid: kit::Row::uid(pod).to_owned(),
        deleting: seen.deleting,
        ready: seen.ready,
        running: seen.running,
        started: seen.started,
        created: seen.created,
        waiting: seen.waiting,
        unschedulable: seen.unschedulable,
        restarts: seen.restarts,
        last_exit: seen.last_exit,
        node: seen.node.map(|name| node(places, name)),
        template: seen.template,
        start: seen.start,
    }
}

fn claim(places: &impl Places, claim: &PersistentVolumeClaim, now: Timestamp) -> Claim {
    let said = |name: &str| claim.annotations().get(name).map(String::as_str);
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    let spec = claim.spec.as_ref();
    let volume = spec.and_then(|spec| spec.volume_name.clone());
    let host = volume.and_then(|volume| places.host_of_volume(&volume));
    Claim {
        uid: claim.uid().unwrap_or_default(),
        deleting: claim.meta().deletion_timestamp.is_some(),
        phase: match phase {
            Some("Bound") => ClaimPhase::Bound,
            Some("Lost") => ClaimPhase::Lost,
            _ => ClaimPhase::Pending,
        },
        ours: said(names::CLUSTER_UID).is_some(),
        state: match said(names::DETACHED) {
            // A time that cannot be read is now: the volume is kept a while longer.
            Some(since) => ClaimState::Detached { since: since.parse().unwrap_or(now) },
            None if said(names::SEED).is_some() => ClaimState::Seed,
            None => ClaimState::Member,
        },
        cluster_id: said(names::CLUSTER_ID).and_then(|id| id.parse().ok()),
        version: said(names::VERSION).and_then(|version| version.parse().ok()),
        class: spec.and_then(|spec| spec.storage_class_name.clone()),
        asked: spec.and_then(|spec| storage(spec.resources.as_ref()?.requests.as_ref())),
        capacity: claim.status.as_ref().and_then(|status| storage(status.capacity.as_ref())),
        can_grow: spec
            .and_then(|spec| spec.storage_class_name.as_deref())
            .is_some_and(|it| places.class_grows(it)),
        resizing: claim.status.as_ref().and_then(resizing),
        tls: said(names::TLS).and_then(|said| said.parse().ok()),
        started: said(names::STARTED).and_then(|version| version.parse().ok()),
        // A host that no Node carries proves nothing: its Node may register again.
        node: host.map(|host| {
            places.node_with_host(&host).unwrap_or(Node { name: host, state: NodeState::Unknown })
        }),
    }
}

fn storage(of: Option<&BTreeMap<String, Quantity>>) -> Option<Quantity> {
    of?.get("storage").cloned()
}

/// What Kubernetes says about a volume that is to grow: `Resizing`, `FileSystemResizePending`, `ControllerResizeError` …
fn resizing(status: &PersistentVolumeClaimStatus) -> Option<String> {
    let about = |type_: &str| type_.contains("Resiz");
    let it = status.conditions.iter().flatten().rfind(|it| it.status == "True" && about(&it.type_))?;
    Some(match it.message.as_deref().filter(|message| !message.is_empty()) {
        Some(message) => format!("{}: {message}", it.type_),
        None => it.type_.clone(),
    })
}

fn node(places: &impl Places, name: String) -> Node {
    let state = places.node(&name);
    Node { name, state }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// One Node, whose name is not its host name.
    struct OneNode(NodeState);

    impl Places for OneNode {
        fn node(&self, name: &str) -> NodeState {
            if name == "worker-3.example.com" { self.0 } else { NodeState::Gone }
        }

        fn node_with_host(&self, host: &str) -> Option<Node> {
            (host == "worker-3").then(|| Node { name: "worker-3.example.com".into(), state: self.0 })
        }

        fn host_of_volume(&self, name: &str) -> Option<String> {
            name.strip_prefix("volume-on-").map(str::to_owned)
        }

        fn class_grows(&self, _: &str) -> bool {
            false
        }
    }

    fn node_of_claim(volume: &str, state: NodeState) -> Option<Node> {
        let bound: PersistentVolumeClaim = serde_json::from_value(json!({
            "metadata": {"name": "db-1"}, "spec": {"volumeName": volume}, "status": {"phase": "Bound"},
        }))
        .unwrap();
        claim(&OneNode(state), &bound, Timestamp::UNIX_EPOCH).node
    }

    #[test]
    fn a_volume_is_matched_to_its_node_by_the_host_name_label() {
        for state in [NodeState::Ready, NodeState::NotReady] {
            let found = node_of_claim("volume-on-worker-3", state);
            assert_eq!(found, Some(Node { name: "worker-3.example.com".into(), state }));
        }
        assert_eq!(node_of_claim("anywhere", NodeState::Ready), None);
    }

    #[test]
    fn a_host_that_no_node_carries_is_unknown_and_not_gone() {
        for host in ["worker-4", "worker-3.example.com"] {
            let found = node_of_claim(&format!("volume-on-{host}"), NodeState::Ready);
            assert_eq!(found, Some(Node { name: host.into(), state: NodeState::Unknown }));
        }
    }
}
