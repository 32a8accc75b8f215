//! The wiring: what is watched, what a change of it makes due, and what the operator may do.

use std::sync::{Arc, OnceLock};

use etcd_api::{Dial, Network};
use etcd_core::Plan;
use etcd_types::{EtcdBackup, EtcdCluster};
use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    batch::v1::Job,
    core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    policy::v1::PodDisruptionBudget,
};
use kit::{
    Acted, Change, Context, Informer, Key, Manager, Outcome, Reconciler, Result, Row, Select, Store, Trigger,
    access::Access,
};

use crate::{
    act::{self, Did, Surroundings},
    backup::{self, Ask, OverHttp},
    etcd::Connections,
    given::{self, Given},
    glimpse::{ClassGrowth, Glimpse, MemberPod, NodeHealth},
    metrics::Measured,
    names,
    observe::{CLUSTER_INDEX, Caches, HOST_INDEX, NODE_INDEX, World},
    outside, report, restore,
};

/// What the operator is told when it starts.
#[derive(Debug, Clone)]
pub struct Options {
    /// How members are reached.
    pub dial: Arc<dyn Dial>,
    /// The operator's own namespace, which NetworkPolicies let in.
    pub home: String,
    /// The image of Jobs: ours.
    pub image: String,
    /// How running backups are asked how far they are.
    pub ask: Arc<dyn Ask>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dial: Arc::new(Network),
            home: "capstan-system".to_owned(),
            image: "capstan:dev".to_owned(),
            ask: Arc::new(OverHttp),
        }
    }
}

/// Adds the operator to a manager: what it watches, and what a change of it makes due.
pub fn add_to(manager: &mut Manager, options: Options) {
    let ours = || Select::labels(names::OURS);
    let named_secrets = manager.watch(Select::all());
    let caches = Caches {
        clusters: manager.watch(Select::all()),
        stateful_sets: manager.watch_indexed(ours(), by_cluster),
        pods: manager.watch_indexed(ours(), |informer| by_node(by_cluster(informer))),
        claims: manager.watch_indexed(ours(), by_cluster),
        services: manager.watch(ours()),
        accounts: manager.watch(ours()),
        secrets: manager.watch(ours()),
        given: Arc::new(Given::new(named_secrets.clone())),
        certificates: Arc::default(),
        config_maps: manager.watch(ours()),
        budgets: manager.watch(ours()),
        policies: manager.watch(ours()),
        nodes: manager.watch_indexed(Select::all(), by_host),
        volumes: manager.watch(Select::all()),
        classes: manager.watch(Select::all()),
        backups: manager.watch(Select::all()),
        restores: manager.watch(Select::all()),
        jobs: manager.watch_indexed(Select::labels(names::WORK), by_cluster),
        job_pods: manager.watch_indexed(Select::labels(names::WORK), by_cluster),
    };
    let trigger = Trigger::default();
    let reconciler = EtcdClusters {
        caches: caches.clone(),
        connections: Connections::new(options.dial, trigger.clone()),
        measured: Measured::register(&manager.metrics()),
        around: Surroundings {
            home: options.home,
            image: options.image.clone(),
            outside: outside::Done::default(),
        },
    };
    let clusters = &caches.clusters;
    let controller = manager
        .controller(reconciler, clusters)
        .hears(&trigger)
        .labels(&caches.stateful_sets, names::CLUSTER)
        .labels(&caches.pods, names::CLUSTER)
        .labels(&caches.claims, names::CLUSTER)
        .labels(&caches.services, names::CLUSTER)
        .labels(&caches.accounts, names::CLUSTER)
        .labels(&caches.secrets, names::CLUSTER)
        .watches(&named_secrets, given::concerns(clusters))
        .labels(&caches.config_maps, names::CLUSTER)
        .labels(&caches.budgets, names::CLUSTER)
        .labels(&caches.policies, names::CLUSTER)
        .watches(&caches.nodes, on_node(&caches.pods))
        .watches(&caches.volumes, |_| Vec::new())
        .watches(&caches.classes, in_class(&caches.claims))
        .watches(&caches.backups, of_cluster)
        .watches(&caches.restores, restore::of_cluster)
        .labels(&caches.jobs, names::CLUSTER)
        .labels(&caches.job_pods, names::CLUSTER);
    manager.add(controller);
    restore::add_to(manager, clusters, &caches.restores);
    let around = backup::Around {
        clusters: clusters.clone(),
        backups: caches.backups.clone(),
        secrets: named_secrets,
        image: options.image.into(),
        ask: options.ask,
    };
    backup::add_to(manager, &around);
}

fn by_cluster<R: Row>(informer: Informer<R>) -> Informer<R> {
    informer.index_by_label(CLUSTER_INDEX, names::CLUSTER)
}

fn by_node(informer: Informer<Glimpse<MemberPod>>) -> Informer<Glimpse<MemberPod>> {
    informer.index(NODE_INDEX, |pod: &Glimpse<MemberPod>| pod.seen.node.clone().into_iter().collect())
}

fn by_host(informer: Informer<Glimpse<NodeHealth>>) -> Informer<Glimpse<NodeHealth>> {
    informer.index(HOST_INDEX, |node: &Glimpse<NodeHealth>| node.seen.host.clone().into_iter().collect())
}

/// Which clusters have pods on a node that comes, goes, or is no longer (or again) well.
fn on_node(
    pods: &Store<Glimpse<MemberPod>>,
) -> impl Fn(&Change<'_, Glimpse<NodeHealth>>) -> Vec<Key> + Send + Sync + 'static {
    let pods = pods.clone();
    move |change| {
        if change.old.map(|node| &node.seen) == change.new.map(|node| &node.seen) {
            return Vec::new();
        }
        let mut keys: Vec<Key> = pods
            .by(NODE_INDEX, change.key.name())
            .iter()
            .filter_map(|pod| Some(Key::new(pod.key().namespace(), pod.label(names::CLUSTER)?)))
            .collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

/// The cluster that a backup is of: an upgrade may wait for it.
fn of_cluster(change: &Change<'_, EtcdBackup>) -> Vec<Key> {
    let both = [change.old, change.new].into_iter().flatten();
    both.map(|backup| Key::new(change.key.namespace(), backup.spec.cluster_name.as_str())).collect()
}

/// Which clusters have claims of a class that lets volumes grow now, or no longer.
fn in_class(
    claims: &Store<PersistentVolumeClaim>,
) -> impl Fn(&Change<'_, Glimpse<ClassGrowth>>) -> Vec<Key> + Send + Sync + 'static {
    let claims = claims.clone();
    move |change| {
        if change.old.map(|class| &class.seen) == change.new.map(|class| &class.seen) {
            return Vec::new();
        }
        let class = |claim: &PersistentVolumeClaim| claim.spec.as_ref()?.storage_class_name.clone();
        let mut keys: Vec<Key> = claims
            .list()
            .iter()
            .filter(|claim| class(claim).as_deref() == Some(change.key.name()))
            .filter_map(|claim| Some(Key::new(claim.key().namespace(), claim.label(names::CLUSTER)?)))
            .collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

struct EtcdClusters {
    caches: Caches,
    connections: Connections,
    measured: Measured,
    around: Surroundings,
}

/// A cluster, and what is known about it unless it is gone.
struct Seen {
    key: Key,
    world: Option<Arc<World>>,
}

/// What is to be done about a cluster, and what became of it.
struct Decided {
    world: Arc<World>,
    plan: Plan,
    did: OnceLock<Did>,
}

impl Reconciler for EtcdClusters {
    const NAME: &'static str = "etcd";
    type Kind = EtcdCluster;
    type Picture = Seen;
    type Plan = Option<Decided>;

    async fn observe(&self, cx: &Context, key: &Key) -> Result<Seen> {
        let world = self.caches.world(cx, key, &self.connections).await?;
        Ok(Seen { key: key.clone(), world: world.map(Arc::new) })
    }

    fn decide(&self, seen: &Seen, now: Timestamp) -> Self::Plan {
        let world = seen.world.clone()?;
        let plan = etcd_core::decide(&world.picture, now);
        Some(Decided { plan, world, did: OnceLock::new() })
    }

    async fn act(&self, cx: &Context, decided: &Self::Plan) -> Result<()> {
        let Some(Decided { world, plan, did }) = decided else { return Ok(()) };
        did.set(act::act(cx, world, plan, &self.around).await?).ok();
        Ok(())
    }

    async fn report(&self, cx: &Context, seen: &Seen, decided: &Self::Plan, acted: Acted) -> Outcome {
        match decided {
            Some(Decided { world, plan, did }) => {
                report::report(cx, &self.measured, world, plan, did.get(), acted).await
            }
            None => {
                self.connections.forget(&seen.key);
                self.measured.forget(&seen.key);
                self.around.outside.forget(&seen.key);
                self.caches.certificates.forget(&seen.key);
                acted.outcome()
            }
        }
    }

    /// Whoever deletes a cluster does not want it to be left alone: it would hang in its end, and nobody would say why.
    fn paused(&self, seen: &Seen) -> bool {
        seen.world.as_ref().is_some_and(|world| {
            let ends = world.picture.cluster.deleting && !world.picture.spec.deletion_policy.protection;
            world.picture.spec.paused && !ends
        })
    }

    fn access() -> Vec<Access> {
        let own = vec![
            Access::confirm::<EtcdCluster>(),
            Access::status::<EtcdCluster>(),
            Access::owner::<EtcdCluster>(),
            Access::finalize::<EtcdCluster>(),
            Access::apply::<ServiceAccount>(),
            Access::apply::<Service>(),
            Access::apply::<ConfigMap>(),
            Access::apply::<Secret>(),
            Access::apply::<PersistentVolumeClaim>(),
            Access::prune::<PersistentVolumeClaim>(),
            Access::apply::<StatefulSet>(),
            Access::prune::<StatefulSet>(),
            Access::prune::<Glimpse<MemberPod>>(),
            Access::status::<Glimpse<MemberPod>>(),
            Access::apply::<PodDisruptionBudget>(),
            Access::prune::<PodDisruptionBudget>(),
            Access::apply::<NetworkPolicy>(),
            Access::prune::<NetworkPolicy>(),
            Access::create::<EtcdBackup>(),
            Access::create::<Job>(),
            Access::prune::<Job>(),
            Access::prune::<EtcdBackup>(),
        ];
        own.into_iter().chain(outside::access()).collect()
    }
}
