//! Observe: one picture of a cluster and all that belongs to it. Kubernetes from the caches first, then etcd from every member.

mod ask;
mod kubernetes;
mod look;
mod reported;
mod work;

use std::{collections::BTreeMap, sync::Arc};

use etcd_core::{Node, NodeState, Picture, Serial};
use etcd_types::{EtcdBackup, EtcdCluster, EtcdRestore, TlsMode};
use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    batch::v1::Job,
    core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    policy::v1::PodDisruptionBudget,
};
use kit::{Context, Key, Result, Row as _, Store};

use crate::{
    certificates::{self, Certificates, Sources, Trust},
    etcd::Connections,
    given::Given,
    glimpse::{ClassGrowth, Glimpse, MemberPod, NodeHealth, VolumePlace},
    names,
    recovery::{self, Asked, Source},
};
use kubernetes::Places;
use work::Jobs;

pub use look::{Looked, look};
pub(crate) use work::last_words;

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
    /// What was read of them.
    pub(crate) certificates: Arc<certificates::Read>,
    pub(crate) config_maps: Store<ConfigMap>,
    pub(crate) budgets: Store<PodDisruptionBudget>,
    pub(crate) policies: Store<NetworkPolicy>,
    pub(crate) nodes: Store<Glimpse<NodeHealth>>,
    pub(crate) volumes: Store<Glimpse<VolumePlace>>,
    pub(crate) classes: Store<Glimpse<ClassGrowth>>,
    pub(crate) backups: Store<EtcdBackup>,
    pub(crate) restores: Store<EtcdRestore>,
    /// Jobs of restores, and their pods.
    pub(crate) jobs: Store<Job>,
    pub(crate) job_pods: Store<Pod>,
}

/// A cluster, the picture that is decided on, and the objects that it was taken of.
pub(crate) struct World {
    pub(crate) key: Key,
    pub(crate) cluster: Arc<EtcdCluster>,
    pub(crate) picture: Picture,
    pub(crate) certificates: Arc<Certificates>,
    pub(crate) live: Live,
    /// Where the data of a backup comes from, if some is asked for.
    pub(crate) source: Option<Source>,
    /// The members that answered, to be asked for more.
    pub(crate) endpoints: BTreeMap<Serial, Arc<dyn etcd_api::Endpoint>>,
}

/// The objects of a cluster.
#[derive(Clone, Default)]
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
    pub(crate) upgrade_backup: Option<Arc<EtcdBackup>>,
    pub(crate) jobs: Jobs,
}

impl Caches {
    /// What is known about the cluster `key`, unless it is gone.
    pub(crate) async fn world(
        &self,
        cx: &Context,
        key: &Key,
        connections: &Connections,
    ) -> Result<Option<World>> {
        let Some(cluster) = self.clusters.get(key) else { return Ok(None) };
        let mut live = self.live(key, &cluster);
        let asked = self.recovery(key, &cluster, &live);
        let safety = asked.as_ref().and_then(|asked| asked.recovery.safety());
        live.jobs.safety = safety.and_then(|name| self.backups.get(&Key::new(key.namespace(), name)));
        let given = self.given.read(cx, &cluster).await?;
        let trust = Trust::of(&live);
        let certificates = self.certificates(key, &cluster, &given, &trust, cx.now());
        let mut picture = kubernetes::picture(self, &cluster, &live, cx.now());
        let job_pods = self.job_pods.by(CLUSTER_INDEX, &key.to_string());
        let (recovery, source) = asked.map_or((None, None), |asked| (Some(asked.recovery), asked.source));
        picture.recovery = recovery;
        picture.work = live.jobs.works(&job_pods, source.as_ref());
        let standing = certificates.standing(&trust, cx.now());
        picture.certificates = etcd_core::Certificates {
            first_to_end: standing.ends,
            problems: standing.problem.into_iter().collect(),
            held: standing.held,
        };
        let tls = certificates.of_operator();
        let mut endpoints = BTreeMap::new();
        if cluster.spec.tls.mode == TlsMode::Off || tls.is_some() {
            let asked = ask::ask(connections, key, &cluster, &picture, tls.as_ref(), cx.now()).await;
            (picture.etcd, endpoints) = (asked.etcd, asked.endpoints);
        }
        Ok(Some(World { key: key.clone(), cluster, picture, certificates, live, source, endpoints }))
    }

    fn certificates(
        &self,
        key: &Key,
        cluster: &EtcdCluster,
        given: &BTreeMap<String, Arc<Secret>>,
        trust: &Trust,
        now: Timestamp,
    ) -> Arc<Certificates> {
        let sources = Sources {
            own: &|name| self.secrets.get(&Key::new(key.namespace(), name)),
            given,
            is_taken: &|name| self.given.has(&Key::new(key.namespace(), name)),
        };
        self.certificates.get(cluster, &sources, trust, now)
    }

    /// The data of a backup that is asked for, if some is.
    fn recovery(&self, key: &Key, cluster: &EtcdCluster, live: &Live) -> Option<Asked> {
        let backup = |name: &str| self.backups.get(&Key::new(key.namespace(), name));
        let restores = self.restores.in_namespace(key.namespace());
        recovery::asked(cluster, live.identity.as_deref(), &restores, backup)
    }

    fn live(&self, key: &Key, cluster: &EtcdCluster) -> Live {
        let name = names::of(cluster);
        let name = name.get();
        let named = |name: String| Key::new(key.namespace(), name);
        let index = key.to_string();
        Live {
            client_service: self.services.get(&named(name.client_service())),
            peer_service: self.services.get(&named(name.peer_service())),
            account: self.accounts.get(key),
            identity: self.config_maps.get(&named(name.latch())),
            budget: self.budgets.get(key),
            policy: self.policies.get(key),
            jobs: Jobs::of(cluster, self.jobs.by(CLUSTER_INDEX, &index)),
            upgrade_backup: names::upgrade_backup(cluster).and_then(|name| self.backups.get(&named(name))),
            ..kubernetes::members(
                cluster,
                self.stateful_sets.by(CLUSTER_INDEX, &index),
                self.pods.by(CLUSTER_INDEX, &index),
                self.claims.by(CLUSTER_INDEX, &index),
            )
        }
    }
}

impl Places for Caches {
    fn node(&self, name: &str) -> NodeState {
        match self.nodes.get(&Key::cluster(name)) {
            None => NodeState::Gone,
            Some(node) if node.seen.ready => NodeState::Ready,
            Some(_) => NodeState::NotReady,
        }
    }

    fn node_with_host(&self, host: &str) -> Option<Node> {
        let nodes = self.nodes.by(HOST_INDEX, host);
        // Where several carry the name, the volume is within reach if one of them is.
        let node = nodes.iter().find(|node| node.seen.ready).or(nodes.first())?;
        let state = if node.seen.ready { NodeState::Ready } else { NodeState::NotReady };
        Some(Node { name: node.key().name().to_owned(), state })
    }

    fn host_of_volume(&self, name: &str) -> Option<String> {
        self.volumes.get(&Key::cluster(name))?.seen.host.clone()
    }

    fn class_grows(&self, name: &str) -> bool {
        self.classes.get(&Key::cluster(name)).is_some_and(|class| class.seen.grows)
    }
}

/// By `<namespace>/<name>` of the cluster whose label an object carries.
pub(crate) const CLUSTER_INDEX: &str = "cluster";
/// By the node that a pod was given to.
pub(crate) const NODE_INDEX: &str = "node";
/// By the host name that a Node carries as a label.
pub(crate) const HOST_INDEX: &str = "host";
