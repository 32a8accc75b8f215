//! EtcdBackup: one backup, taken by one Job. What is final stays final: nothing is ever taken twice.

mod decide;
mod report;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use etcd_types::{EtcdBackup, EtcdCluster};
use jiff::Timestamp;
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{Pod, Secret, ServiceAccount},
};
use kit::{Acted, Change, Context, Key, Manager, Outcome, Reconciler, Result, Slim, Store, access::Access};
use kube::ResourceExt as _;
use serde_json::Value;

use super::{Around, Caches, Refusal, act, ask, cluster_of, metrics::Measured, names, secrets};
use decide::Plan;

/// Everything that is decided comes from it, and from the time.
#[derive(Debug, Clone)]
pub(super) struct World {
    backup: Arc<EtcdBackup>,
    cluster: Option<Arc<EtcdCluster>>,
    /// Of this name; perhaps of an earlier EtcdBackup that had it.
    jobs: Vec<Arc<Job>>,
    pods: Vec<Arc<Pod>>,
    account: Option<Arc<ServiceAccount>>,
    /// What of the Secrets is missing.
    missing: Vec<Refusal>,
    /// What the running pod says.
    said: Option<Value>,
    image: Arc<str>,
}

struct EtcdBackups {
    backups: Store<EtcdBackup>,
    caches: Caches,
    measured: Measured,
    around: Around,
}

pub(super) fn add_to(manager: &mut Manager, caches: &Caches, around: &Around) {
    let backups = around.backups.clone();
    let reconciler = EtcdBackups {
        backups: backups.clone(),
        caches: caches.clone(),
        measured: Measured::register(&manager.metrics(), "capstan_etcd_backup_"),
        around: around.clone(),
    };
    let controller = manager
        .controller(reconciler, &backups)
        .labels(&caches.jobs, names::BACKUP)
        .labels(&caches.pods, names::BACKUP)
        .watches(&caches.accounts, |_| Vec::new())
        .watches(&caches.clusters, of_cluster(&backups))
        .watches(caches.secrets.all(), naming(&backups));
    manager.add(controller);
}

/// Which backups wait for news of their cluster.
fn of_cluster(
    backups: &Store<EtcdBackup>,
) -> impl Fn(&Change<'_, EtcdCluster>) -> Vec<Key> + Send + Sync + 'static {
    let backups = backups.clone();
    move |change| {
        let near = backups.in_namespace(change.key.namespace());
        let waits =
            near.iter().filter(|it| it.spec.cluster_name == change.key.name() && !decide::is_over(it));
        waits.map(|it| Key::of(&**it)).collect()
    }
}

/// Which backups wait for a Secret.
fn naming(
    backups: &Store<EtcdBackup>,
) -> impl Fn(&Change<'_, Slim<Secret>>) -> Vec<Key> + Send + Sync + 'static {
    let backups = backups.clone();
    move |change| {
        let near = backups.in_namespace(change.key.namespace());
        let waits = near.iter().filter(|it| {
            let waits = !decide::is_over(it) || it.metadata.deletion_timestamp.is_some();
            waits && secrets::names(&it.spec.store, change.key.name())
        });
        waits.map(|it| Key::of(&**it)).collect()
    }
}

impl EtcdBackups {
    async fn look(&self, cx: &Context, key: &Key) -> Result<Option<World>> {
        let Some(backup) = self.backups.get(key) else { return Ok(None) };
        let caches = &self.caches;
        let owner = key.to_string();
        let (jobs, pods) = (caches.jobs.by(names::BACKUP, &owner), caches.pods.by(names::BACKUP, &owner));
        let cluster = cluster_of(&caches.clusters, key, &backup.spec.cluster_name);
        // Only before something begins: what runs has them. A pod that is to remove what is stored may wait for them, and does not say so.
        let begins = jobs.is_empty() && !decide::is_over(&backup);
        let missing = match begins || decide::removes(&backup) {
            true => caches.secrets.missing(cx, key.namespace(), &backup.spec.store).await?,
            false => Vec::new(),
        };
        let account = Key::new(key.namespace(), names::account(&backup.spec.cluster_name));
        let said = match decide::is_over(&backup) {
            true => None,
            false => ask::first(&*self.around.ask, pods.iter().map(|pod| &**pod)).await,
        };
        Ok(Some(World {
            cluster,
            jobs,
            pods,
            account: caches.accounts.get(&account),
            missing,
            said,
            image: self.around.image.clone(),
            backup,
        }))
    }
}

impl Reconciler for EtcdBackups {
    const NAME: &'static str = "etcd-backup";
    type Kind = EtcdBackup;
    /// Nothing of an EtcdBackup that is gone.
    type Picture = (Key, Option<Arc<World>>);
    type Plan = Option<(Arc<World>, Plan)>;

    async fn observe(&self, cx: &Context, key: &Key) -> Result<Self::Picture> {
        Ok((key.clone(), self.look(cx, key).await?.map(Arc::new)))
    }

    fn decide(&self, (_, world): &Self::Picture, now: Timestamp) -> Self::Plan {
        world.as_ref().map(|world| (world.clone(), decide::decide(world, now)))
    }

    async fn act(&self, cx: &Context, plan: &Self::Plan) -> Result<()> {
        let Some((world, plan)) = plan else { return Ok(()) };
        match act::act(cx, &*world.backup, &plan.tasks).await {
            // A namespace that goes lets no Job in: what is stored stays, and the namespace must not wait for us.
            Err(error) if error.is_of_terminating_namespace() && world.is_going() => {
                tracing::warn!(
                    backup = world.backup.name_any(),
                    "its namespace goes: what it has stored stays"
                );
                cx.remove_finalizer(&*world.backup, names::FINALIZER).await.map(drop)
            }
            done => done,
        }
    }

    async fn report(&self, cx: &Context, seen: &Self::Picture, plan: &Self::Plan, acted: Acted) -> Outcome {
        let Some((world, plan)) = plan else {
            self.measured.forget(&seen.0);
            return acted.outcome();
        };
        report::report(cx, &self.measured, world, plan, acted).await
    }

    fn access() -> Vec<Access> {
        vec![
            Access::confirm::<EtcdBackup>(),
            Access::status::<EtcdBackup>(),
            Access::owner::<EtcdBackup>(),
            Access::finalize::<EtcdBackup>(),
            Access::owner::<EtcdCluster>(),
            Access::confirm::<Slim<Secret>>(),
            Access::apply::<ServiceAccount>(),
            Access::confirm::<Job>(),
            Access::create::<Job>(),
            Access::prune::<Job>(),
        ]
    }
}

impl World {
    fn is_going(&self) -> bool {
        self.backup.metadata.deletion_timestamp.is_some()
    }

    fn uid(&self) -> String {
        self.backup.uid().unwrap_or_default()
    }

    fn pods(&self) -> Vec<&Pod> {
        self.pods.iter().map(|pod| &**pod).collect()
    }

    /// The Job that does this, of whichever EtcdBackup of this name.
    fn job(&self, work: names::Work) -> Option<&Arc<Job>> {
        self.jobs
            .iter()
            .find(|job| job.labels().get(names::COMPONENT).is_some_and(|component| component == work.word()))
    }
}
