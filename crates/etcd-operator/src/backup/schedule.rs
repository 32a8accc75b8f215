//! EtcdBackupSchedule: a CronJob that takes backups and removes old ones, and a Deployment that captures what is written in between. Both
//! go on without the operator, which makes them, starts verifications, and reports.

mod decide;
mod history;
mod report;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use etcd_types::{EtcdBackupSchedule, EtcdCluster};
use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::{CronJob, Job},
    core::v1::{Pod, Secret, ServiceAccount},
};
use kit::{
    Acted, Change, Context, Key, Manager, Outcome, Reconciler, Result, Select, Slim, Store, access::Access,
};
use kube::ResourceExt as _;
use serde_json::Value;

use super::{
    Around, Caches, Refusal, act, ask, build, cluster_of,
    metrics::Measured,
    names::{self, Work},
    ours, secrets,
};
use decide::Plan;

/// Everything that is decided comes from it, and from the time.
#[derive(Debug, Clone)]
pub(super) struct World {
    schedule: Arc<EtcdBackupSchedule>,
    cluster: Option<Arc<EtcdCluster>>,
    cron: Option<Arc<CronJob>>,
    capture: Option<Arc<Deployment>>,
    jobs: Vec<Arc<Job>>,
    pods: Vec<Arc<Pod>>,
    account: Option<Arc<ServiceAccount>>,
    /// What of the Secrets is missing.
    missing: Vec<Refusal>,
    /// What the capturing pod says.
    said: Option<Value>,
    image: Arc<str>,
}

struct Schedules {
    schedules: Store<EtcdBackupSchedule>,
    caches: Caches,
    crons: Store<CronJob>,
    captures: Store<Deployment>,
    measured: Measured,
    around: Around,
}

pub(super) fn add_to(manager: &mut Manager, caches: &Caches, around: &Around) {
    let schedules = manager.watch(Select::all());
    let (crons, captures) = (manager.watch(ours()), manager.watch(ours()));
    let reconciler = Schedules {
        schedules: schedules.clone(),
        caches: caches.clone(),
        crons: crons.clone(),
        captures: captures.clone(),
        measured: Measured::register(&manager.metrics(), "capstan_etcd_schedule_"),
        around: around.clone(),
    };
    let controller = manager
        .controller(reconciler, &schedules)
        .labels(&caches.jobs, names::SCHEDULE)
        .labels(&caches.pods, names::SCHEDULE)
        .labels(&crons, names::SCHEDULE)
        .labels(&captures, names::SCHEDULE)
        .watches(&caches.accounts, of_account(&schedules))
        .watches(&caches.clusters, of_cluster(&schedules))
        .watches(caches.secrets.all(), naming(&schedules));
    manager.add(controller);
}

fn near<R>(
    schedules: &Store<EtcdBackupSchedule>,
    change: &Change<'_, R>,
    concerned: impl Fn(&EtcdBackupSchedule) -> bool,
) -> Vec<Key> {
    let near = schedules.in_namespace(change.key.namespace());
    near.iter().filter(|it| concerned(it)).map(|it| Key::of(&**it)).collect()
}

/// Whose account has gone, or changed.
fn of_account(
    schedules: &Store<EtcdBackupSchedule>,
) -> impl Fn(&Change<'_, ServiceAccount>) -> Vec<Key> + Send + Sync + 'static {
    let schedules = schedules.clone();
    move |change| near(&schedules, change, |it| names::account(&it.spec.cluster_name) == change.key.name())
}

/// Whose cluster has changed in what a Job must know of it.
fn of_cluster(
    schedules: &Store<EtcdBackupSchedule>,
) -> impl Fn(&Change<'_, EtcdCluster>) -> Vec<Key> + Send + Sync + 'static {
    let schedules = schedules.clone();
    move |change| {
        let source = |cluster: Option<&Arc<EtcdCluster>>| {
            let cluster = cluster.filter(|it| it.metadata.deletion_timestamp.is_none())?;
            let status = cluster.status.as_ref();
            let id = status.and_then(|status| status.cluster_id.clone());
            let is_restored = status.and_then(|status| Some(status.restore.as_ref()?.phase.is_over()));
            Some((cluster.uid(), build::Source::of(cluster), id, is_restored))
        };
        if source(change.old) == source(change.new) {
            return Vec::new();
        }
        near(&schedules, change, |it| it.spec.cluster_name == change.key.name())
    }
}

/// Who names a Secret.
fn naming(
    schedules: &Store<EtcdBackupSchedule>,
) -> impl Fn(&Change<'_, Slim<Secret>>) -> Vec<Key> + Send + Sync + 'static {
    let schedules = schedules.clone();
    move |change| near(&schedules, change, |it| secrets::names(&it.spec.store, change.key.name()))
}

impl Schedules {
    async fn look(&self, cx: &Context, key: &Key) -> Result<Option<World>> {
        let Some(schedule) = self.schedules.get(key) else { return Ok(None) };
        let caches = &self.caches;
        let owner = key.to_string();
        let uid = schedule.uid().unwrap_or_default();
        let mut jobs = caches.jobs.by(names::SCHEDULE, &owner);
        // What an earlier schedule of this name has left is none of our business.
        jobs.retain(|job| job.labels().get(names::UID).is_some_and(|it| *it == uid));
        let pods = caches.pods.by(names::SCHEDULE, &owner);
        let capturing = pods.iter().filter(|pod| names::is_for(&***pod, &uid, Work::Capture));
        let said = ask::first(&*self.around.ask, capturing.map(|pod| &**pod)).await;
        let account = Key::new(key.namespace(), names::account(&schedule.spec.cluster_name));
        let capture = Key::new(key.namespace(), build::capture_name(&schedule));
        Ok(Some(World {
            cluster: cluster_of(&caches.clusters, key, &schedule.spec.cluster_name),
            cron: self.crons.get(key),
            capture: self.captures.get(&capture),
            account: caches.accounts.get(&account),
            missing: caches.secrets.missing(cx, key.namespace(), &schedule.spec.store).await?,
            image: self.around.image.clone(),
            schedule,
            jobs,
            pods,
            said,
        }))
    }
}

impl Reconciler for Schedules {
    const NAME: &'static str = "etcd-backup-schedule";
    type Kind = EtcdBackupSchedule;
    /// Nothing of a schedule that is gone.
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
        act::act(cx, &*world.schedule, &plan.tasks).await
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
            Access::confirm::<EtcdBackupSchedule>(),
            Access::status::<EtcdBackupSchedule>(),
            Access::owner::<EtcdBackupSchedule>(),
            Access::owner::<EtcdCluster>(),
            Access::confirm::<Slim<Secret>>(),
            Access::apply::<ServiceAccount>(),
            Access::confirm::<EtcdCluster>(),
            Access::apply::<CronJob>(),
            Access::prune::<CronJob>(),
            Access::confirm::<Job>(),
            Access::create::<Job>(),
            Access::apply::<Deployment>(),
            Access::prune::<Deployment>(),
        ]
    }
}

impl World {
    fn uid(&self) -> String {
        self.schedule.uid().unwrap_or_default()
    }

    fn pods(&self) -> Vec<&Pod> {
        self.pods.iter().map(|pod| &**pod).collect()
    }

    fn jobs(&self, work: Work) -> impl Iterator<Item = &Job> {
        let uid = self.uid();
        self.jobs.iter().map(|job| &**job).filter(move |job| names::is_for(*job, &uid, work))
    }
}
