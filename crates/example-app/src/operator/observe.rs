//! Observe: one picture of an ExampleApp and all that belongs to it, from the caches, and the load when it decides something.

use std::sync::Arc;

use kit::{
    Key, Live, adopt,
    kinds::{Deployment, PersistentVolumeClaim, Pod},
    pause, pods,
    readiness::{Workload as _, is_ready, is_stopped},
    run::exit,
    scrape_all,
};
use kube::ResourceExt as _;

use super::{ExampleApps, build, names};
use crate::{ExampleApp, ExampleAppStatus};

/// The application's own figure, a moving average.
const LOAD: &str = "notes_requests_per_second";

/// The picture. Everything that is decided comes from it, and from the time.
#[derive(Clone)]
pub struct World {
    pub(crate) app: Arc<ExampleApp>,
    /// Its objects.
    pub(crate) live: Live,
    /// The claim that holds the data, or will.
    pub(crate) claim_name: String,
    /// Requests per second of every pod that answered.
    pub(crate) load: Vec<f64>,
    /// The image of pods, unless the spec names another.
    pub(crate) image: Arc<str>,
}

impl ExampleApps {
    pub(super) async fn look(&self, key: &Key) -> Option<World> {
        let (app, live) = (self.apps.get(key)?, self.family.of(key));
        let claim_name = claim_name(&app, live.get(key.name()));
        let claim = self.family.get::<PersistentVolumeClaim>(&Key::new(key.namespace(), &*claim_name));
        let mut world = World { app, live, claim_name, load: Vec::new(), image: self.image.clone() };
        claim.into_iter().for_each(|claim| world.live.put_shared(claim));
        if world.app.spec.autoscaling.is_some() {
            world.load = scrape_all(world.serving(), build::PORT, LOAD).await;
        }
        Some(world)
    }
}

/// What the user names; else what was used before; else what a Deployment that is taken over mounts; else one of our own.
fn claim_name(app: &ExampleApp, deployment: Option<&Deployment>) -> String {
    let latched = || app.status.as_ref()?.claim_name.clone();
    let taken_over = deployment.filter(|_| app.spec.take_ownership);
    let mounted = || taken_over.and_then(adopt::claim).map(str::to_owned);
    let named = app.spec.storage.existing_claim.clone();
    named.or_else(latched).or_else(mounted).unwrap_or_else(|| names::claim(app))
}

impl World {
    pub(crate) fn status(&self) -> ExampleAppStatus {
        self.app.status.clone().unwrap_or_default()
    }

    /// Why the user wants it to be left alone, if so.
    pub(crate) fn paused(&self) -> Option<String> {
        pause::why(&*self.app, self.app.spec.paused)
    }

    pub(crate) fn deployment(&self) -> Option<&Deployment> {
        self.live.get(&self.app.name_any())
    }

    pub(crate) fn claim(&self) -> Option<&PersistentVolumeClaim> {
        self.live.get(&self.claim_name)
    }

    /// The version that the claim names: once somebody wrote to it, there is one.
    pub(crate) fn on_claim(&self) -> Option<&String> {
        self.claim()?.annotations().get(names::DATA_VERSION)
    }

    /// The version that has been seen to serve the data; nothing before the first pod was ready.
    pub(crate) fn current_version(&self) -> Option<String> {
        let status = self.status();
        // For an ExampleApp that finds the claim of another; once it has a memory of its own, the claim follows that.
        let on_claim = || self.on_claim().filter(|_| status.data_version.is_none()).cloned();
        // That of a Deployment which is not ours.
        let is_own = self.live.is_ours::<Deployment>(&self.app.name_any());
        let theirs = || self.deployment().filter(|_| !is_own).and_then(version_of);
        status.current_version.or_else(on_claim).or_else(theirs)
    }

    /// The version that the data belongs to: that which served it, or else that which was first started on it.
    pub(crate) fn data_version(&self) -> Option<String> {
        self.current_version().or_else(|| self.app.status.as_ref()?.data_version.clone())
    }

    /// Pods of the application itself.
    pub(crate) fn serving(&self) -> impl Iterator<Item = &Pod> {
        self.live.part(names::APP)
    }

    /// Whether nothing uses the volume, but for pods of the Job `except`.
    pub(crate) fn is_stopped(&self, except: &str) -> bool {
        let is_used = self.live.all().any(|pod| pods::is_in_the_way_of(pod, except));
        self.deployment().is_some_and(is_stopped) && !is_used
    }

    /// What the application said when it found its data to be corrupt. A pod that is ready again has found it whole.
    pub(crate) fn corrupt(&self) -> Option<String> {
        let mut ends = self.serving().filter(|pod| !is_ready(*pod)).filter_map(pods::last_exit);
        let end = ends.find(|end| end.exit_code == exit::CORRUPT)?;
        Some(end.message.clone().unwrap_or_else(|| "it said no more".to_owned()))
    }

    /// Whether `version` serves, with all of its pods; else what it waits for.
    pub(crate) fn started(&self, version: &str) -> Result<(), String> {
        let told = self.deployment().filter(|_| self.is_told(version));
        let told = told.ok_or_else(|| format!("its Deployment is not at {version} yet"))?;
        told.readiness().into_result()
    }

    /// Whether the Deployment is to run `version`.
    pub(crate) fn is_told(&self, version: &str) -> bool {
        self.deployment().is_some_and(|deployment| {
            let stopped = deployment.spec.replicas == Some(0) && self.app.spec.replicas != 0;
            !stopped && version_of(deployment).as_deref() == Some(version)
        })
    }

    /// Whether `version` is seen to serve; where no pod is wanted, nobody can tell.
    pub(crate) fn serves(&self, version: &str) -> bool {
        let ready = self.deployment().and_then(|it| it.status.as_ref()?.ready_replicas);
        self.started(version).is_ok() && ready > Some(0)
    }
}

/// The version that a Deployment's pods are told to be.
pub(crate) fn version_of(deployment: &Deployment) -> Option<String> {
    pods::argument(deployment.spec.template.spec.as_ref()?, "--app-version").map(str::to_owned)
}
