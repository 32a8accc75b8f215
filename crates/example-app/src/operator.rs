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
mod load;
mod metrics;
#[cfg(test)]
mod model;
mod names;
mod observe;
mod reasons;
mod report;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        batch::v1::{CronJob, Job},
        core::v1::{PersistentVolumeClaim, Secret, Service, ServiceAccount},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kit::{
    Acted, Change, Context, Informer, Key, Manager, Outcome, Reconciler, Result, Row, Select, Slim, Store,
    access::Access, pause,
};
use kube::{CustomResourceExt as _, Resource as _};

pub use decide::Plan;
pub use load::{Load, Scrape};
pub use observe::World;
pub use reasons::Why;

use crate::ExampleApp;
use metrics::Measured;
use observe::Caches;

/// What the operator is told when it starts.
#[derive(Clone)]
pub struct Options {
    /// The image of the application's pods, unless an ExampleApp names another.
    pub image: String,
    /// Where the load of pods comes from.
    pub load: Arc<dyn Load>,
}

impl Default for Options {
    fn default() -> Self {
        Self { image: "capstan:dev".to_owned(), load: Arc::new(Scrape) }
    }
}

/// The definition of the resource.
pub fn crd() -> CustomResourceDefinition {
    ExampleApp::crd()
}

/// Adds the operator to a manager: what it watches, and what a change of it makes due.
pub fn add_to(manager: &mut Manager, options: Options) {
    let ours = || Select::labels(names::OURS);
    let caches = Caches {
        apps: manager.watch(Select::all()),
        // Of these all are watched: one that is not ours must be seen before it is touched.
        deployments: manager.watch(Select::all()),
        claims: manager.watch(Select::all()),
        services: manager.watch(Select::all()),
        accounts: manager.watch(ours()),
        secrets: manager.watch(ours()),
        schedules: manager.watch(ours()),
        jobs: manager.watch_indexed(ours(), by_instance),
        pods: manager.watch_indexed(ours(), by_instance),
    };
    let Caches { apps, deployments, claims, services, accounts, secrets, schedules, jobs, pods } =
        caches.clone();
    let measured = Measured::register(&manager.metrics());
    let reconciler = ExampleApps { caches, measured, load: options.load, image: options.image.into() };
    let controller = manager
        .controller(reconciler, &apps)
        .watches(&deployments, concerns(&apps))
        .watches(&claims, concerns(&apps))
        .watches(&services, concerns(&apps))
        .watches(&accounts, concerns(&apps))
        .watches(&secrets, concerns(&apps))
        .watches(&schedules, concerns(&apps))
        .watches(&jobs, concerns(&apps))
        .watches(&pods, concerns(&apps));
    manager.add(controller);
}

/// Finds objects by the ExampleApp whose label they carry: Jobs of a CronJob, for example, have another owner.
fn by_instance<R: Row>(informer: Informer<R>) -> Informer<R> {
    informer.index("instance", |row: &R| {
        let key = row.key();
        row.label(names::INSTANCE)
            .map(|instance| format!("{}/{instance}", key.namespace()))
            .into_iter()
            .collect()
    })
}

/// Which ExampleApp a change concerns: the one whose label the object carries, or whose name it has.
fn concerns<R: Row>(apps: &Store<ExampleApp>) -> impl Fn(&Change<'_, R>) -> Vec<Key> + Send + Sync + 'static {
    let apps = apps.clone();
    move |change| {
        let namespace = change.key.namespace();
        let rows = [change.old, change.new].into_iter().flatten();
        let labelled = rows.filter_map(|row| row.label(names::INSTANCE));
        let claim = change.key.name().strip_suffix("-data");
        let names = labelled.chain([change.key.name()]).chain(claim);
        let mut keys: Vec<Key> = names.map(|name| Key::new(namespace, name)).collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| apps.get(key).is_some());
        keys
    }
}

struct ExampleApps {
    caches: Caches,
    measured: Measured,
    load: Arc<dyn Load>,
    image: Arc<str>,
}

/// An ExampleApp, and its world unless it is gone.
struct Picture {
    key: Key,
    world: Option<World>,
}

impl Reconciler for ExampleApps {
    const NAME: &'static str = "example-app";
    type Kind = ExampleApp;
    type Picture = Picture;
    type Plan = Option<(World, Plan)>;

    async fn observe(&self, _: &Context, key: &Key) -> Result<Picture> {
        Ok(Picture { key: key.clone(), world: self.caches.world(key, &*self.load, &self.image).await })
    }

    fn decide(&self, picture: &Picture, now: Timestamp) -> Self::Plan {
        picture.world.as_ref().map(|world| (world.clone(), decide::decide(world, now)))
    }

    async fn act(&self, cx: &Context, plan: &Self::Plan) -> Result<()> {
        match plan {
            Some((world, plan)) => act::act(cx, world, plan).await,
            None => Ok(()),
        }
    }

    async fn report(&self, cx: &Context, picture: &Picture, plan: &Self::Plan, acted: Acted) -> Outcome {
        match plan {
            Some((world, plan)) => report::report(cx, &self.measured, world, plan, acted).await,
            None => {
                self.measured.forget(&picture.key);
                acted.outcome()
            }
        }
    }

    fn paused(&self, picture: &Picture) -> bool {
        let app = picture.world.as_ref().map(|world| &world.app);
        app.is_some_and(|app| app.spec.paused || pause::is_paused(app.meta()))
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
