//! Observe: one picture of an ExampleApp and all that belongs to it, from the caches, and the load when it decides something.

use std::sync::Arc;

use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::{CronJob, Job},
    core::v1::{ContainerState, PersistentVolumeClaim, Pod, PodSpec, Secret, Service, ServiceAccount},
};
use kit::{
    Key, Run, Slim, Store,
    readiness::{Readiness, Workload as _, is_ready},
};
use kube::{Resource as _, ResourceExt as _};

use super::{load::Load, names};
use crate::{ExampleApp, ExampleAppStatus};

/// What a corrupt volume makes the application exit with.
const EXIT_CORRUPT: i32 = 65;

/// The caches.
#[derive(Clone)]
pub(crate) struct Caches {
    pub(crate) apps: Store<ExampleApp>,
    pub(crate) deployments: Store<Deployment>,
    pub(crate) claims: Store<PersistentVolumeClaim>,
    pub(crate) services: Store<Service>,
    pub(crate) accounts: Store<ServiceAccount>,
    /// Metadata only: no password is ever in the operator's memory, but for the moment in which it is made.
    pub(crate) secrets: Store<Slim<Secret>>,
    pub(crate) schedules: Store<CronJob>,
    pub(crate) jobs: Store<Job>,
    pub(crate) pods: Store<Pod>,
}

/// The picture. Everything that is decided comes from it, from the time, and from [`Options`](super::Options).
#[derive(Clone)]
pub struct World {
    pub(crate) app: Arc<ExampleApp>,
    pub(crate) deployment: Option<Arc<Deployment>>,
    /// The claim that holds the data, or will.
    pub(crate) claim: Option<Arc<PersistentVolumeClaim>>,
    pub(crate) claim_name: String,
    pub(crate) service: Option<Arc<Service>>,
    pub(crate) account: Option<Arc<ServiceAccount>>,
    pub(crate) has_secret: bool,
    pub(crate) schedule: Option<Arc<CronJob>>,
    pub(crate) jobs: Vec<Arc<Job>>,
    pub(crate) pods: Vec<Arc<Pod>>,
    /// Requests per second of every pod that answered.
    pub(crate) load: Vec<f64>,
    /// The image of pods, unless the spec names another.
    pub(crate) image: Arc<str>,
}

impl Caches {
    pub(crate) async fn world(&self, key: &Key, load: &dyn Load, image: &Arc<str>) -> Option<World> {
        let app = self.apps.get(key)?;
        let named = |name: String| Key::new(key.namespace(), name);
        let deployment = self.deployments.get(key);
        let claim_name = claim_name(&app, deployment.as_deref());
        let mut world = World {
            claim: self.claims.get(&named(claim_name.clone())),
            claim_name,
            deployment,
            service: self.services.get(key),
            account: self.accounts.get(key),
            has_secret: self.secrets.get(&named(names::secret(&app))).is_some(),
            schedule: self.schedules.get(&named(names::schedule(&app))),
            jobs: self.jobs.by("instance", &key.to_string()),
            pods: self.pods.by("instance", &key.to_string()),
            load: Vec::new(),
            image: image.clone(),
            app,
        };
        if world.app.spec.autoscaling.is_some() {
            let ready = world.serving().filter(|pod| is_ready(*pod));
            let addresses = ready.filter_map(|pod| pod.status.as_ref()?.pod_ip.clone());
            world.load = load.of(addresses.collect()).await;
        }
        Some(world)
    }
}

/// What the user names; else what was used before; else what a Deployment that is taken over mounts; else one of our own.
fn claim_name(app: &ExampleApp, deployment: Option<&Deployment>) -> String {
    let latched = || app.status.as_ref()?.claim_name.clone();
    let mounted = || {
        let pod = deployment.filter(|_| app.spec.take_ownership)?.spec.template.spec.as_ref()?;
        let mut claims =
            pod.volumes.iter().flatten().filter_map(|volume| volume.persistent_volume_claim.as_ref());
        claims.next().map(|claim| claim.claim_name.clone())
    };
    let named = app.spec.storage.existing_claim.clone();
    named.or_else(latched).or_else(mounted).unwrap_or_else(|| names::claim(app))
}

impl World {
    pub(crate) fn status(&self) -> ExampleAppStatus {
        self.app.status.clone().unwrap_or_default()
    }

    /// The version that has been seen to serve the data; nothing before the first pod was ready.
    pub(crate) fn current_version(&self) -> Option<String> {
        let status = self.app.status.as_ref();
        let latched = status.and_then(|status| status.current_version.clone());
        // For an ExampleApp that finds the claim of another; once it has a memory of its own, the claim follows that.
        let is_new = status.is_none_or(|status| status.data_version.is_none());
        let claim = self.claim.as_ref().filter(|_| is_new);
        let on_claim = || claim?.annotations().get(names::DATA_VERSION).cloned();
        latched.or_else(on_claim).or_else(|| self.adopted_version())
    }

    /// The version that a Deployment which is not ours runs.
    fn adopted_version(&self) -> Option<String> {
        version_of(self.deployment.as_ref().filter(|live| !names::is_ours(&self.app, &***live))?)
    }

    /// The version that the data belongs to: that which served it, or else that which was first started on it.
    pub(crate) fn data_version(&self) -> Option<String> {
        self.current_version().or_else(|| self.app.status.as_ref()?.data_version.clone())
    }

    /// What a pod of the Job `name` waits for, if it is more than its next moment.
    pub(crate) fn job_waits(&self, name: &str) -> Option<String> {
        let passing = |why: &str| why.starts_with("ContainersNotReady") || why.starts_with("PodCompleted");
        self.pods.iter().filter(|pod| belongs_to(pod, name)).find_map(|pod| match pod.readiness() {
            Readiness::Waiting(why) => (!passing(&why)).then_some(why),
            Readiness::Ready | Readiness::Failed(_) => None,
        })
    }

    /// Pods of the application itself.
    pub(crate) fn serving(&self) -> impl Iterator<Item = &Pod> {
        let app = |pod: &&Pod| pod.labels().get(names::COMPONENT).is_some_and(|part| part == names::APP);
        self.pods.iter().map(|pod| &**pod).filter(app)
    }

    /// How the Job of this name stands, if there is one.
    pub(crate) fn run(&self, name: &str) -> Option<Run> {
        let job = self.jobs.iter().find(|job| job.name_any() == name)?;
        Some(kit::run(job, &self.pods))
    }

    /// Whether nothing uses the volume, but for pods of the Job `except`.
    pub(crate) fn is_stopped(&self, except: &str) -> bool {
        let Some(deployment) = &self.deployment else { return false };
        let status = deployment.status.clone().unwrap_or_default();
        let seen = status.observed_generation >= deployment.meta().generation;
        let gone = deployment.spec.replicas == Some(0) && status.replicas.unwrap_or_default() == 0;
        seen && gone && !self.pods.iter().any(|pod| holds_volume(pod) && !belongs_to(pod, except))
    }

    /// What the application said when it found its data to be corrupt. A pod that is ready again has found it whole.
    pub(crate) fn corrupt(&self) -> Option<String> {
        self.serving().filter(|pod| !is_ready(*pod)).find_map(|pod| {
            let (code, said) = last_exit(pod)?;
            (code == EXIT_CORRUPT).then(|| said.unwrap_or_else(|| "it said no more".to_owned()))
        })
    }
}

/// Whether a pod may still read or write. One that is being deleted may, until it is gone.
pub(crate) fn holds_volume(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    !matches!(phase, Some("Succeeded" | "Failed"))
}

pub(crate) fn belongs_to(pod: &Pod, job: &str) -> bool {
    pod.owner_references().iter().any(|owner| owner.kind == "Job" && owner.name == job)
}

/// The exit code of a pod's container, the last one that is known, and what it said.
pub(crate) fn last_exit(pod: &Pod) -> Option<(i32, Option<String>)> {
    let container = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    let ended = |state: &Option<ContainerState>| state.as_ref().and_then(|state| state.terminated.clone());
    let end = ended(&container.state).or_else(|| ended(&container.last_state))?;
    Some((end.exit_code, end.message))
}

/// How often Kubernetes has restarted a pod's container.
pub(crate) fn restarts(pod: &Pod) -> i32 {
    let container = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first());
    container.map_or(0, |container| container.restart_count)
}

/// The version that a Deployment's pods are told to be.
pub(crate) fn version_of(deployment: &Deployment) -> Option<String> {
    argument(deployment.spec.template.spec.as_ref()?, "--app-version")
}

pub(crate) fn version_of_pod(pod: &Pod) -> Option<String> {
    argument(pod.spec.as_ref()?, "--app-version")
}

/// What follows `name` in the command line of a pod's container.
pub(crate) fn argument(pod: &PodSpec, name: &str) -> Option<String> {
    let container = pod.containers.first()?;
    let mut arguments = container.command.iter().flatten().chain(container.args.iter().flatten());
    arguments.find(|argument| *argument == name)?;
    arguments.next().cloned()
}
