//! Act: carries a plan out, task by task, and nothing of it on an old picture of the ExampleApp.

use kit::{Context, Result};

use super::{decide::Plan, observe::World};

pub(crate) async fn act(cx: &Context, world: &World, plan: &Plan) -> Result<()> {
    cx.bring_about(&*world.app, &plan.tasks, &world.live).await
}
