//! Observe: one picture of a cluster and all that belongs to it. Kubernetes from the caches first, then etcd from every member.

mod ask;

use std::{collections::BTreeMap, sync::Arc};

use etcd_core::{Claim, ClaimPhase, ClaimState, Cluster, Etcd, Member, Node, NodeState, Picture, Serial};
use etcd_types::{EtcdCluster, TlsMode};
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    policy::v1::PodDisruptionBudget,
};
use kit::{Context, Key, Result, Store, pause};
use kube::{Resource as _, ResourceExt as _};

use crate::{
    build,
    certificates::Certificates,
    etcd::Connections,
    given::Given,
    glimpse::{Glimpse, MemberPod, NodeHealth, VolumePlace},
    names,
};

/// The caches.
#[derive(Clone)]
pub(crate) struct Caches {
    pub(crate) clusters: Store<EtcdCluster>,
    pub(crate) stateful_sets: Store<StatefulSet>,
    pub(crate) pods: Store<Glimpse<MemberPod>>,
    pub(crate) claims: Store<PersistentVolumeClaim>,
    pub(crate) services: Store<Service>,
    pub(crate) accounts: Store<ServiceAccount>,
    /// Those that carry our labels: the ones that we make.
    pub(crate) secrets: Store<Secret>,
    /// Those that users name.
    pub(crate) given: Arc<Given>,
    pub(crate) config_maps: Store<ConfigMap>,
    pub(crate) budgets: Store<PodDisruptionBudget>,
    pub(crate) policies: Store<NetworkPolicy>,
    pub(crate) nodes: Store<Glimpse<NodeHealth>>,
    pub(crate) volumes: Store<Glimpse<VolumePlace>>,
}

/// A cluster, the picture that is decided on, and the objects that it was taken of.
pub(crate) struct World {
    pub(crate) key: Key,
    pub(crate) cluster: Arc<EtcdCluster>,
    pub(crate) picture: Picture,
    pub(crate) certificates: Certificates,
    pub(crate) live: Live,
    /// The members that answered, to be asked for more.
    pub(crate) endpoints: BTreeMap<Serial, Arc<dyn etcd_api::Endpoint>>,
}

/// The objects of a cluster, as the caches have them.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) stateful_sets: BTreeMap<Serial, Arc<StatefulSet>>,
    pub(crate) pods: BTreeMap<Serial, Arc<Glimpse<MemberPod>>>,
    pub(crate) claims: BTreeMap<Serial, Arc<PersistentVolumeClaim>>,
    pub(crate) client_service: Option<Arc<Service>>,
    pub(crate) peer_service: Option<Arc<Service>>,
    pub(crate) account: Option<Arc<ServiceAccount>>,
    pub(crate) identity: Option<Arc<ConfigMap>>,
    pub(crate) budget: Option<Arc<PodDisruptionBudget>>,
    pub(crate) policy: Option<Arc<NetworkPolicy>>,
}

impl Caches {
    /// What is known about the cluster `key`, unless it is gone.
    pub(crate) async fn world(&self, cx: &Context, key: &Key, connections: &Connections) -> Result<Option<World>> {
        let Some(cluster) = self.clusters.get(key) else { return Ok(None) };
        let live = self.live(key, &cluster);
        let certificates = match cluster.spec.tls.mode {
            TlsMode::Secrets => {
                let given = self.given.read(cx, &cluster).await?;
                Certificates::read(&cluster, |name| given.get(name).cloned())
            }
            TlsMode::SelfManaged | TlsMode::CertManager | TlsMode::Off => {
                Certificates::read(&cluster, |name| self.secrets.get(&Key::new(key.namespace(), name)))
            }
        };
        let mut picture = self.picture(cx, &cluster, &live);
        let standing = certificates.standing(cx.now());
        picture.certificates =
            etcd_core::Certificates { first_to_end: standing.ends, problems: standing.problem.into_iter().collect() };
        let tls = certificates.of_operator();
        let mut endpoints = BTreeMap::new();
        if cluster.spec.tls.mode == TlsMode::Off || tls.is_some() {
            let asked = ask::ask(connections, key, &cluster, &picture, tls.as_ref(), cx.now()).await;
            (picture.etcd, endpoints) = (asked.etcd, asked.endpoints);
        }
        Ok(Some(World { key: key.clone(), cluster, picture, certificates, live, endpoints }))
    }

    fn live(&self, key: &Key, cluster: &EtcdCluster) -> Live {
        let name = names::of(cluster);
        let name = name.get();
        let named = |name: String| Key::new(key.namespace(), name);
        let index = key.to_string();
        let serial = |object: &str| name.serial_of_name(object);
        let sets = self.stateful_sets.by(CLUSTER_INDEX, &index);
        let sets = sets.into_iter().filter(|set| names::is_owned(cluster, &**set));
        let uid = cluster.uid();
        let pods = self.pods.by(CLUSTER_INDEX, &index);
        let pods = pods.into_iter().filter(|pod| pod.seen.cluster_uid == uid);
        Live {
            stateful_sets: sets.filter_map(|set| Some((serial(&set.name_any())?, set))).collect(),
            pods: pods
                .filter_map(|pod| {
                    let serial = serial(kit::Row::key(&*pod).name().strip_suffix("-0")?)?;
                    Some((serial, pod))
                })
                .collect(),
            claims: {
                let claims = self.claims.by(CLUSTER_INDEX, &index);
                claims.into_iter().filter_map(|claim| Some((serial(&claim.name_any())?, claim))).collect()
            },
            client_service: self.services.get(&named(name.client_service())),
            peer_service: self.services.get(&named(name.peer_service())),
            account: self.accounts.get(key),
            identity: self.config_maps.get(&named(name.latch())),
            budget: self.budgets.get(key),
            policy: self.policies.get(key),
        }
    }

    /// What Kubernetes knows.
    fn picture(&self, cx: &Context, cluster: &EtcdCluster, live: &Live) -> Picture {
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
            members.entry(*serial).or_default().pod = Some(self.pod(pod));
        }
        for (serial, claim) in &live.claims {
            let seen = self.claim(cx, claim);
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
            blocked: Vec::new(),
        }
    }

    fn pod(&self, pod: &Glimpse<MemberPod>) -> etcd_core::Pod {
        let seen = pod.seen.clone();
        etcd_core::Pod {
            uid: kit::Row::uid(pod).to_owned(),
            deleting: seen.deleting,
            ready: seen.ready,
            running: seen.running,
            created: seen.created,
            waiting: seen.waiting,
            unschedulable: seen.unschedulable,
            restarts: seen.restarts,
            last_exit: seen.last_exit,
            node: seen.node.map(|name| self.node(name)),
            template: seen.template,
            start: seen.start,
        }
    }

    fn claim(&self, cx: &Context, claim: &PersistentVolumeClaim) -> Claim {
        let said = |name: &str| claim.annotations().get(name).map(String::as_str);
        let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
        let volume = claim.spec.as_ref().and_then(|spec| spec.volume_name.clone());
        let place = volume.and_then(|volume| self.volumes.get(&Key::cluster(volume))?.seen.node.clone());
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
                Some(since) => ClaimState::Detached { since: since.parse().unwrap_or_else(|_| cx.now()) },
                None => ClaimState::Member,
            },
            cluster_id: said(names::CLUSTER_ID).and_then(|id| id.parse().ok()),
            version: said(names::VERSION).and_then(|version| version.parse().ok()),
            node: place.map(|name| self.node(name)),
        }
    }

    fn node(&self, name: String) -> Node {
        let state = match self.nodes.get(&Key::cluster(name.as_str())) {
            None => NodeState::Gone,
            Some(node) if node.seen.ready => NodeState::Ready,
            Some(_) => NodeState::NotReady,
        };
        Node { name, state }
    }
}

/// By `<namespace>/<name>` of the cluster whose label an object carries.
pub(crate) const CLUSTER_INDEX: &str = "cluster";
/// By the node that a pod was given to.
pub(crate) const NODE_INDEX: &str = "node";
