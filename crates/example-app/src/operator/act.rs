//! Act: carries a plan out, task by task.
//!
//! Invariants: nothing disruptive is done, and nothing is created, on an old picture of the ExampleApp; a Job that must be
//! alone on the volume is created only after the server itself has said that no other pod has it.

use std::slice;

use k8s_openapi::api::{
    batch::v1::{CronJob, Job},
    core::v1::{Pod, Secret},
};
use kit::{Context, Error, Key, KindId, Precious, Result, secure};
use kube::{Api, ResourceExt as _, api::ListParams};

use super::{
    decide::{Plan, Task},
    names,
    observe::{World, belongs_to, holds_volume},
};

pub(crate) async fn act(cx: &Context, world: &World, plan: &Plan) -> Result<()> {
    if plan.tasks.iter().any(|task| task.wants_certainty(world) || task.is_disruptive(world)) {
        cx.confirm(&*world.app).await?;
    }
    for task in &plan.tasks {
        match task {
            Task::Account(wanted) => drop(cx.apply(&**wanted, world.account.as_deref()).await?),
            Task::Password(secret) => create_password(cx, secret).await?,
            Task::Claim(wanted) => drop(cx.apply(&**wanted, world.claim.as_deref()).await?),
            Task::Service(wanted) => drop(cx.apply(&**wanted, world.service.as_deref()).await?),
            Task::Deployment(wanted) => drop(cx.apply(&**wanted, world.deployment.as_deref()).await?),
            Task::Schedule(wanted) => drop(cx.apply(&**wanted, world.schedule.as_deref()).await?),
            Task::Unschedule => unschedule(cx, world).await?,
            Task::Run(job) => drop(cx.create(&**job).await?),
            Task::RunAlone(job) => {
                alone(cx, world, job).await?;
                cx.create(&**job).await?;
            }
        }
    }
    Ok(())
}

/// The password exists in this function, and then in the Secret only.
async fn create_password(cx: &Context, secret: &Secret) -> Result<()> {
    let password = secure::password().ok_or_else(|| Error::other("no random numbers for a password"))?;
    let mut secret = secret.clone();
    secret.string_data = Some([("password".to_owned(), password)].into());
    cx.create(&secret).await.map(drop)
}

async fn unschedule(cx: &Context, world: &World) -> Result<()> {
    let Some(schedule) = &world.schedule else { return Ok(()) };
    let uid = world.app.uid().unwrap_or_default();
    cx.prune::<CronJob>(&uid, slice::from_ref(schedule), &[], Precious::Spare).await.map(drop)
}

/// Fails when some pod still has the volume: the cache did not know, and it will soon.
async fn alone(cx: &Context, world: &World, job: &Job) -> Result<()> {
    let labels = format!("{},{}={}", names::OURS, names::INSTANCE, world.app.name_any());
    let pods: Api<Pod> = Api::namespaced(cx.client(), &world.app.namespace().unwrap_or_default());
    let failed = |error| {
        Error::api("list the pods of", KindId::of::<crate::ExampleApp>(), Key::of(&*world.app), error)
    };
    let pods = pods.list(&ListParams::default().labels(&labels)).await.map_err(failed)?;
    match pods.iter().find(|pod| holds_volume(pod) && !belongs_to(pod, &job.name_any())) {
        Some(pod) => Err(Error::Stale { kind: Box::new(KindId::of::<Pod>()), key: Key::of(pod) }),
        None => Ok(()),
    }
}
