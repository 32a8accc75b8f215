//! Act: carries a plan out, task by task.
//!
//! Invariant: nothing disruptive is done, and nothing is made or removed, on an old picture of the ExampleApp.

use kit::{Context, Result, Task, kinds::CronJob};
use kube::ResourceExt as _;

use super::{
    decide::{Plan, is_disruptive},
    observe::World,
};

pub(crate) async fn act(cx: &Context, world: &World, plan: &Plan) -> Result<()> {
    if plan.tasks.iter().any(|task| wants_certainty(task, world)) {
        cx.confirm(&*world.app).await?;
    }
    cx.carry_out(&plan.tasks, &world.live).await
}

/// Whether it makes what is not there, or removes or switches what is: not on an old picture.
fn wants_certainty(task: &Task, world: &World) -> bool {
    let switches = task.applies::<CronJob>().is_some_and(|wanted| {
        let live = world.live.get::<CronJob>(&wanted.name_any());
        live.is_none_or(|live| live.spec.suspend != wanted.spec.suspend)
    });
    task.makes_or_removes(&world.live) || switches || is_disruptive(task, world)
}
