//! The operator of ExampleApp, on the kit: observe, decide, act, report.
//!
//! ```text
//! caches ──observe──> World ──decide──> Plan ──act──> Deployment, claim, Service, Secret, CronJob, Jobs
//!                                        └──report──> status, conditions, events, metrics
//! ```
//!
//! There is no finalizer: everything is owned by the ExampleApp, so Kubernetes removes it, whether the operator runs or not.

mod act;
mod build;
mod decide;
mod metrics;
#[cfg(test)]
mod model;
mod names;
mod observe;
mod report;

use std::sync::Arc;

use jiff::Timestamp;
use kit::{
    Acted, Context, Family, Key, Manager, Outcome, Reconciler, Result, Select, Slim, Store,
    access::Access,
    kinds::{
        CronJob, CustomResourceDefinition, Deployment, Job, PersistentVolumeClaim, Pod, Secret, Service,
        ServiceAccount,
    },
    metrics::PerObject,
};
use kube::CustomResourceExt as _;

pub use decide::Plan;
pub use observe::World;

use crate::ExampleApp;

/// What the operator is told when it starts.
#[derive(Debug, Clone)]
pub struct Options {
    /// The image of the application's pods, unless an ExampleApp names another.
    pub image: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { image: "capstan:dev".to_owned() }
    }
}

/// The definition of the resource.
pub fn crd() -> CustomResourceDefinition {
    ExampleApp::crd()
}

/// Adds the operator to a manager: what it watches, and what a change of it makes due.
pub fn add_to(manager: &mut Manager, options: Options) {
    let apps = manager.watch(Select::all());
    let family = Family::new(&names::KINSHIP)
        // Of these all are watched: one that is not ours must be seen before it is touched.
        .watch_all::<Deployment>(manager)
        .watch_all::<PersistentVolumeClaim>(manager)
        .watch_all::<Service>(manager)
        .watch::<ServiceAccount>(manager)
        // Metadata only: no password is ever in the operator's memory, but for the moment in which it is made.
        .watch::<Slim<Secret>>(manager)
        .watch::<CronJob>(manager)
        .watch::<Job>(manager)
        .watch::<Pod>(manager);
    let measured = PerObject::register(&manager.metrics(), &metrics::GAUGES, &metrics::COUNTERS);
    let image = options.image.into();
    let reconciler = ExampleApps { apps: apps.clone(), family: family.clone(), measured, image };
    let controller = manager.controller(reconciler, &apps).family(&family);
    manager.add(controller);
}

struct ExampleApps {
    apps: Store<ExampleApp>,
    family: Family<ExampleApp>,
    measured: PerObject,
    image: Arc<str>,
}

impl Reconciler for ExampleApps {
    const NAME: &'static str = "example-app";
    type Kind = ExampleApp;
    /// Nothing of an ExampleApp that is gone.
    type Picture = (Key, Option<Arc<World>>);
    type Plan = Option<(Arc<World>, Plan)>;

    async fn observe(&self, _: &Context, key: &Key) -> Result<Self::Picture> {
        Ok((key.clone(), self.look(key).await.map(Arc::new)))
    }

    fn decide(&self, (_, world): &Self::Picture, now: Timestamp) -> Self::Plan {
        world.as_ref().map(|world| (world.clone(), decide::decide(world, now)))
    }

    async fn act(&self, cx: &Context, plan: &Self::Plan) -> Result<()> {
        let Some((world, plan)) = plan else { return Ok(()) };
        act::act(cx, world, plan).await
    }

    async fn report(&self, cx: &Context, seen: &Self::Picture, plan: &Self::Plan, acted: Acted) -> Outcome {
        let Some((world, plan)) = plan else {
            self.measured.forget(&seen.0);
            return acted.outcome();
        };
        report::report(cx, &self.measured, world, plan, acted).await
    }

    fn paused(&self, (_, world): &Self::Picture) -> bool {
        world.as_ref().is_some_and(|world| world.paused().is_some())
    }

    fn access() -> Vec<Access> {
        vec![
            Access::confirm::<ExampleApp>(),
            Access::status::<ExampleApp>(),
            Access::owner::<ExampleApp>(),
            Access::apply::<ServiceAccount>(),
            Access::create::<Slim<Secret>>(),
            Access::apply::<PersistentVolumeClaim>(),
            Access::apply::<Service>(),
            Access::apply::<Deployment>(),
            Access::apply::<CronJob>(),
            Access::prune::<CronJob>(),
            Access::create::<Job>(),
        ]
    }
}
