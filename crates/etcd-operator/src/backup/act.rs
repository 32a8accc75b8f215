//! Act: carries tasks out.
//!
//! Invariants: nothing is made for the first time, and nothing is deleted, on an old picture of the owner; an object that is not ours is
//! never touched.

use std::sync::Arc;

use etcd_types::EtcdCluster;
use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::{CronJob, Job},
    core::v1::ServiceAccount,
};
use kit::{Context, Error, Key, KindId, Result};
use kube::{Api, Resource, ResourceExt as _};
use serde::Serialize;

use super::names;
use crate::{act::Kind, names::CLUSTER};

/// What there is to do.
#[derive(Debug, Clone)]
pub(super) enum Task {
    Hold,
    LetGo,
    Account(Box<ServiceAccount>, Option<Arc<ServiceAccount>>),
    Run(Box<Job>),
    Stop(Arc<Job>),
    Schedule(Box<CronJob>, Option<Arc<CronJob>>),
    /// The cluster is gone.
    Unschedule(Arc<CronJob>),
    Capture(Box<Deployment>, Option<Arc<Deployment>>),
    NoCapture(Arc<Deployment>),
}

impl Task {
    /// Whether an old picture of the owner would do harm.
    fn wants_certainty(&self) -> bool {
        match self {
            Self::LetGo | Self::Run(_) | Self::Stop(_) | Self::Unschedule(_) | Self::NoCapture(_) => true,
            Self::Account(_, live) => live.is_none(),
            Self::Schedule(_, live) => live.is_none(),
            Self::Capture(_, live) => live.is_none(),
            Self::Hold => false,
        }
    }
}

pub(super) async fn act<O>(cx: &Context, owner: &O, tasks: &[Task]) -> Result<()>
where
    O: Resource<DynamicType = ()> + Clone + Serialize + Send + Sync,
    O::Scope: 'static,
{
    if tasks.iter().any(Task::wants_certainty) {
        cx.confirm(owner).await?;
    }
    for task in tasks {
        match task {
            Task::Hold => drop(cx.ensure_finalizer(owner, names::FINALIZER).await?),
            Task::LetGo => drop(cx.remove_finalizer(owner, names::FINALIZER).await?),
            Task::Account(wanted, live) => ensure(cx, &**wanted, live.as_deref()).await?,
            Task::Run(job) => create(cx, job).await?,
            Task::Stop(job) => drop(cx.delete(&**job).await?),
            Task::Schedule(wanted, live) => ensure(cx, &**wanted, live.as_deref()).await?,
            Task::Unschedule(live) => {
                confirm_gone(cx, live).await?;
                cx.delete(&**live).await?;
            }
            Task::Capture(wanted, live) => ensure(cx, &**wanted, live.as_deref()).await?,
            Task::NoCapture(live) => drop(cx.delete(&**live).await?),
        }
    }
    Ok(())
}

/// Jobs that run go with their CronJob: not on the word of a cache that may be old.
async fn confirm_gone(cx: &Context, cron: &CronJob) -> Result<()> {
    let name = cron.labels().get(CLUSTER).cloned().unwrap_or_default();
    let key = Key::new(cron.namespace().unwrap_or_default(), name);
    let kind = KindId::of::<EtcdCluster>();
    let api: Api<EtcdCluster> = Api::namespaced(cx.client(), key.namespace());
    let found = api.get_opt(key.name()).await;
    let found = found.map_err(|error| Error::api("get", kind.clone(), key.clone(), error))?;
    match found.filter(|cluster| cluster.metadata.deletion_timestamp.is_none()) {
        Some(_) => Err(Error::Stale { kind: Box::new(kind), key }),
        None => Ok(()),
    }
}

/// A Job is never changed: one that is there already is either ours, and newer than the cache, or somebody else's.
async fn create(cx: &Context, job: &Job) -> Result<()> {
    if let Some(error) = taken(cx, job).await? {
        return Err(error);
    }
    if cx.create(job).await? { Ok(()) } else { Err(stale(job)) }
}

async fn ensure<K: Kind>(cx: &Context, wanted: &K, live: Option<&K>) -> Result<()> {
    if live.is_none()
        && let Some(error) = taken(cx, wanted).await?
    {
        return Err(error);
    }
    cx.apply(wanted, live).await.map(drop)
}

/// Why the name is not free, if it is not.
async fn taken<K: Kind>(cx: &Context, wanted: &K) -> Result<Option<Error>> {
    let (kind, key) = (KindId::of::<K>(), Key::of(wanted));
    let api: Api<K> = Api::namespaced(cx.client(), key.namespace());
    let found = api.get_opt(key.name()).await;
    let found = found.map_err(|error| Error::api("get", kind.clone(), key.clone(), error))?;
    Ok(found.map(|found| {
        let label = |object: &K, label: &str| object.labels().get(label).cloned();
        let same = |name: &str| label(&found, name) == label(wanted, name);
        if same("app.kubernetes.io/name") && same("app.kubernetes.io/instance") {
            return stale(wanted);
        }
        let remedy = format!("Delete that {kind}, or choose another name");
        let owner = "somebody else (it lacks our labels)".to_owned();
        Error::Foreign { kind: Box::new(kind), key, owner, remedy }
    }))
}

fn stale<K: Kind>(object: &K) -> Error {
    Error::Stale { kind: Box::new(KindId::of::<K>()), key: Key::of(object) }
}
