//! Act: carries a plan out, task by task.
//!
//! Invariants: nothing disruptive is done, and nothing is created, on an old picture of the ExampleApp; a Job that must be
//! alone on the volume is created only after the server itself has said that no other pod has it.

use kit::{
    Context, Result,
    kinds::{CronJob, Pod},
    pods,
};
use kube::ResourceExt as _;

use super::{
    decide::{Plan, Task},
    names,
    observe::World,
};

pub(crate) async fn act(cx: &Context, world: &World, plan: &Plan) -> Result<()> {
    if plan.tasks.iter().any(|task| task.wants_certainty(world)) {
        cx.confirm(&*world.app).await?;
    }
    for task in &plan.tasks {
        match task {
            Task::Apply(wish) => wish.apply(cx, &world.live).await?,
            Task::Password(secret) => drop(cx.create_with_password(secret).await?),
            Task::Unschedule => {
                let name = names::schedule(&world.app);
                if let Some(ours) =
                    world.live.get::<CronJob>(&name).filter(|_| world.live.is_ours::<CronJob>(&name))
                {
                    cx.delete(ours).await?;
                }
            }
            Task::Run(job) => drop(cx.create(&**job).await?),
            Task::RunAlone(job) => {
                let namespace = world.app.namespace().unwrap_or_default();
                let others = |pod: &Pod| pods::may_write(pod) && !pods::is_of_job(pod, &job.name_any());
                cx.confirm_none(&namespace, &world.live.selector(), others).await?;
                cx.create(&**job).await?;
            }
        }
    }
    Ok(())
}
