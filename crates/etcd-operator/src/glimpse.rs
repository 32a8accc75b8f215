//! What is kept of objects that are only looked at: of a pod a few hundred bytes instead of fifty thousand.

use etcd_core::{Exit, Waiting};
use jiff::Timestamp;
use k8s_openapi::{
    api::{
        core::v1::{ContainerStatus, Node, PersistentVolume, Pod},
        storage::v1::StorageClass,
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use kit::{Key, KindId, Owner, Row, pods};
use kube::Resource;
use serde::Serialize;

use crate::names;

/// What is kept of an object of the kind [`Look::Of`].
pub(crate) trait Look: Sized + Send + Sync + 'static {
    type Of: Row + Resource<DynamicType = ()>;

    fn at(object: &Self::Of) -> Self;
}

/// A row with what a [`Look`] saw.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Glimpse<L> {
    key: Key,
    uid: String,
    resource_version: u64,
    cluster: Option<String>,
    owner: Option<[String; 3]>,
    pub(crate) seen: L,
}

impl<L: Look> Glimpse<L>
where
    L::Of: Serialize,
{
    /// Of an object that is there already.
    pub(crate) fn of(object: &L::Of) -> Result<Self, serde_json::Error> {
        Self::decode(&serde_json::to_vec(object)?)
    }
}

impl<L: Look> Row for Glimpse<L> {
    fn kind() -> KindId {
        <L::Of as Row>::kind()
    }

    fn decode(json: &[u8]) -> Result<Self, serde_json::Error> {
        let object = L::Of::decode(json)?;
        let owner =
            Row::controller(&object).map(|owner| [owner.uid, owner.kind, owner.name].map(str::to_owned));
        Ok(Self {
            key: Key::of(&object),
            uid: object.uid().to_owned(),
            resource_version: object.resource_version(),
            cluster: object.label(names::CLUSTER).map(str::to_owned),
            owner,
            seen: L::at(&object),
        })
    }

    fn key(&self) -> Key {
        self.key.clone()
    }

    fn uid(&self) -> &str {
        &self.uid
    }

    fn resource_version(&self) -> u64 {
        self.resource_version
    }

    fn generation(&self) -> i64 {
        0
    }

    fn label(&self, name: &str) -> Option<&str> {
        self.cluster.as_deref().filter(|_| name == names::CLUSTER)
    }

    fn controller(&self) -> Option<Owner<'_>> {
        let [uid, kind, name] = self.owner.as_ref()?;
        Some(Owner { uid, kind, name })
    }
}

/// A pod of a member.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MemberPod {
    pub(crate) cluster_uid: Option<String>,
    pub(crate) deleting: bool,
    pub(crate) ready: bool,
    pub(crate) running: bool,
    pub(crate) started: bool,
    pub(crate) created: Option<Timestamp>,
    pub(crate) waiting: Option<Waiting>,
    pub(crate) unschedulable: Option<String>,
    pub(crate) restarts: u32,
    pub(crate) last_exit: Option<Exit>,
    pub(crate) node: Option<String>,
    pub(crate) template: Option<String>,
    pub(crate) start: Option<String>,
    /// Whether it waits for us to say that it serves.
    pub(crate) gated: bool,
}

impl Look for MemberPod {
    type Of = Pod;

    fn at(pod: &Pod) -> Self {
        let status = pod.status.clone().unwrap_or_default();
        let condition = |kind: &str| status.conditions.iter().flatten().find(|it| it.type_ == kind).cloned();
        let container = status.container_statuses.iter().flatten().find(|it| it.name == "etcd");
        let state = container.and_then(|container| container.state.as_ref());
        let waiting = state.and_then(|state| state.waiting.as_ref());
        let annotation = |name: &str| pod.meta().annotations.as_ref()?.get(name).cloned();
        let unscheduled = condition("PodScheduled").filter(|it| it.status == "False");
        Self {
            cluster_uid: annotation(names::CLUSTER_UID),
            deleting: pod.meta().deletion_timestamp.is_some(),
            ready: condition("Ready").is_some_and(|it| it.status == "True"),
            running: state.is_some_and(|state| state.running.is_some()),
            started: container.and_then(|container| container.started).unwrap_or(true),
            created: pod.meta().creation_timestamp.as_ref().map(|Time(at)| *at),
            waiting: waiting.map(|waiting| Waiting {
                reason: waiting.reason.clone().unwrap_or_default(),
                message: waiting.message.clone().unwrap_or_default(),
            }),
            unschedulable: unscheduled.map(|it| it.message.or(it.reason).unwrap_or_default()),
            restarts: container.map_or(0, |it| u32::try_from(it.restart_count).unwrap_or_default()),
            last_exit: container.and_then(last_exit),
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
            template: annotation(names::TEMPLATE),
            start: annotation(names::START),
            gated: is_gated(pod) && condition(names::SERVES).is_none_or(|it| it.status != "True"),
        }
    }
}

fn is_gated(pod: &Pod) -> bool {
    let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    gates.into_iter().any(|gate| gate.condition_type == names::SERVES)
}

fn last_exit(container: &ContainerStatus) -> Option<Exit> {
    let end = pods::last_end(container)?.clone();
    Some(Exit {
        code: end.exit_code,
        reason: end.reason.unwrap_or_default(),
        message: end.message.unwrap_or_default(),
        at: end.finished_at.map(|Time(at)| at),
    })
}

/// The label of a Node by which local volumes name it. It need not be the Node's name: kubelets take it from the host.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// A node: does its kubelet say that it is well, and what is it called by volumes?
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeHealth {
    pub(crate) ready: bool,
    pub(crate) host: Option<String>,
}

impl Look for NodeHealth {
    type Of = Node;

    fn at(node: &Node) -> Self {
        let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
        Self {
            ready: conditions.into_iter().any(|it| it.type_ == "Ready" && it.status == "True"),
            host: node.metadata.labels.as_ref().and_then(|labels| labels.get(HOSTNAME).cloned()),
        }
    }
}

/// A storage class: do its volumes grow?
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClassGrowth {
    pub(crate) grows: bool,
}

impl Look for ClassGrowth {
    type Of = StorageClass;

    fn at(class: &StorageClass) -> Self {
        Self { grows: class.allow_volume_expansion == Some(true) }
    }
}

/// A volume: is it bound to one host?
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VolumePlace {
    /// The value of the label kubernetes.io/hostname that a Node must carry.
    pub(crate) host: Option<String>,
}

impl Look for VolumePlace {
    type Of = PersistentVolume;

    /// One term with one host name: a local volume. Anything wider can be used elsewhere.
    fn at(volume: &PersistentVolume) -> Self {
        let required = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()?.required.as_ref());
        let terms = required.map(|required| required.node_selector_terms.as_slice()).unwrap_or_default();
        let [term] = terms else { return Self { host: None } };
        let hosts =
            term.match_expressions.iter().flatten().find(|it| it.key == HOSTNAME && it.operator == "In");
        let host = hosts.and_then(|hosts| match hosts.values.as_deref() {
            Some([one]) => Some(one.clone()),
            _ => None,
        });
        Self { host }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decode<L: Look>(object: serde_json::Value) -> Glimpse<L> {
        Glimpse::decode(object.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn of_a_pod_what_decisions_need_is_kept() {
        let pod: Glimpse<MemberPod> = decode(json!({
            "metadata": {"name": "db-1-0", "namespace": "prod", "uid": "p", "resourceVersion": "7",
                "labels": {"etcd.capstan.dev/cluster": "db"},
                "annotations": {"etcd.capstan.dev/template": "9f", "etcd.capstan.dev/cluster-uid": "u"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db-1", "uid": "s", "controller": true}]},
            "spec": {"nodeName": "n1", "containers": []},
            "status": {"conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [{
                "name": "etcd", "image": "", "imageID": "", "ready": false, "restartCount": 3,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "member count is unequal"}}}]}
        }));
        assert_eq!((pod.key(), pod.uid(), pod.resource_version()), (Key::new("prod", "db-1-0"), "p", 7));
        assert_eq!((pod.label(names::CLUSTER), pod.controller().unwrap().uid), (Some("db"), "s"));
        let MemberPod { ready, running, waiting, restarts, last_exit, node, template, cluster_uid, .. } =
            pod.seen;
        assert_eq!((ready, running, restarts), (false, false, 3));
        assert_eq!(waiting.unwrap().reason, "CrashLoopBackOff");
        assert_eq!(last_exit.unwrap().message, "member count is unequal");
        assert_eq!(
            (node.as_deref(), template.as_deref(), cluster_uid.as_deref()),
            (Some("n1"), Some("9f"), Some("u"))
        );
    }

    #[test]
    fn a_node_is_known_by_its_host_name_label_too() {
        let node = |labels: serde_json::Value| {
            decode::<NodeHealth>(json!({"metadata": {"name": "worker-3.example.com", "labels": labels},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]}}))
            .seen
        };
        let labelled = node(json!({"kubernetes.io/hostname": "worker-3"}));
        assert_eq!(labelled, NodeHealth { ready: true, host: Some("worker-3".into()) });
        assert_eq!(node(json!({})).host, None);
    }

    #[test]
    fn a_volume_is_bound_to_a_node_only_if_it_names_one_host() {
        let volume = |terms: serde_json::Value| {
            decode::<VolumePlace>(json!({"metadata": {"name": "v"},
                "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}))
            .seen
            .host
        };
        let host = |hosts: &[&str]| json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": hosts}]});
        assert_eq!(volume(json!([host(&["n1"])])).as_deref(), Some("n1"));
        assert_eq!(volume(json!([host(&["n1", "n2"])])), None);
        assert_eq!(volume(json!([host(&["n1"]), host(&["n2"])])), None);
    }
}
