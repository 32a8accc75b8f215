//! The objects of an ExampleApp. Pure: from the picture to the object that should be there.

use std::time::Duration;

use kit::{
    COMPONENT, adopt, claims,
    kinds::{
        Container, CronJob, Deployment, Job, JobSpec, LabelSelector, ObjectMeta, PersistentVolumeClaim,
        PodSpec, Secret, Service, ServiceAccount,
    },
    owned,
    parts::{self, words},
    run::{self, exit},
    secure,
};
use kube::ResourceExt as _;

use super::{decide::Wanted, names, observe::World};
use crate::{ExampleApp, Features, Operation, OperationKind, Step};

/// Where the application listens.
pub(crate) const PORT: u16 = 8080;
/// The user of our image.
const USER: i64 = 65532;
/// A Job that cannot even start must not keep the application down for ever.
const DEADLINE: Duration = Duration::from_secs(30 * 60);

/// Metadata of an object of the application itself.
fn meta(app: &ExampleApp, name: String) -> ObjectMeta {
    names::KINSHIP.meta(app, name, names::APP)
}

/// An identity without a token: the application never talks to Kubernetes.
pub(crate) fn account(app: &ExampleApp) -> ServiceAccount {
    owned(parts::account(meta(app, app.name_any())), app)
}

/// The Secret, still without its password: that is no part of a plan, because plans are printed.
pub(crate) fn secret(app: &ExampleApp) -> Secret {
    owned(Secret { metadata: meta(app, names::secret(app)), ..Secret::default() }, app)
}

/// Nothing when the data is on a claim that somebody else made. With `Retain` nobody owns it, so it survives the ExampleApp; with
/// `Delete` Kubernetes removes it. `of` is the version of the data, as far as it is known.
pub(crate) fn claim(world: &World, wanted: &Wanted, of: Option<String>) -> Option<PersistentVolumeClaim> {
    let app = &*world.app;
    if world.claim_name != names::claim(app) || app.spec.storage.existing_claim.is_some() {
        return None;
    }
    let mut metadata = meta(app, names::claim(app));
    metadata.annotations = of.map(|version| [(names::DATA_VERSION.to_owned(), version)].into());
    let modes = claims::access_modes(world.claim());
    let claim = parts::claim(metadata, modes, wanted.class.clone(), wanted.size.clone());
    Some(app.spec.deletion_policy.owned(claim, app))
}

pub(crate) fn service(world: &World) -> Service {
    let (app, ports) = (&*world.app, vec![parts::service_port("http", 80, PORT)]);
    let metadata = meta(app, app.name_any());
    owned(parts::service(metadata, app.spec.service.kind, selector(world).match_labels, ports), app)
}

/// Where it is reached.
pub(crate) fn url(world: &World) -> Option<String> {
    world.live.get(&world.app.name_any()).map(|service| format!("http://{}/", parts::host(service)))
}

/// The pods that serve. Kubernetes restarts and reschedules them, with or without this operator.
///
/// A Deployment that is taken over keeps its selector, its strategy and its container. A volume that is bound to one node is handed
/// over by `Recreate`: a new pod on another node would wait for it for ever while an old one has it, and a rolling update waits for
/// the new pod. Where pods on several nodes can share it, pods roll.
pub(crate) fn deployment(world: &World, wanted: &Wanted, version: &str, replicas: i32) -> Deployment {
    let app = &*world.app;
    let strategy = if claims::is_shared(world.claim()) { "RollingUpdate" } else { "Recreate" };
    let labels = names::KINSHIP.labels(&app.name_any(), names::APP);
    let template = parts::template(labels, serving(world, wanted, version));
    let metadata = meta(app, app.name_any());
    let desired = parts::deployment(metadata, replicas, strategy, own_selector(world), template);
    owned(adopt::keep(desired, world.deployment()), app)
}

/// Which pods are the application's.
pub(crate) fn selector(world: &World) -> LabelSelector {
    adopt::selector(world.deployment(), own_selector(world))
}

fn own_selector(world: &World) -> LabelSelector {
    let mut labels = names::KINSHIP.labels(&world.app.name_any(), names::APP);
    labels.remove("app.kubernetes.io/managed-by");
    parts::matching(labels)
}

fn serving(world: &World, wanted: &Wanted, version: &str) -> PodSpec {
    let mut container = container(world, names::APP, arguments(world, wanted, version));
    container.resources = wanted.resources.clone();
    container.ports = Some(vec![parts::container_port("http", PORT)]);
    container.readiness_probe = Some(parts::http_probe("/readyz", PORT, 2, 2, 3));
    container.liveness_probe = Some(parts::http_probe("/healthz", PORT, 5, 2, 6));
    container.volume_mounts.get_or_insert_default().push(parts::mount_read_only("auth", "/auth"));
    let mut pod = pod(world, container);
    pod.volumes.get_or_insert_default().push(parts::secret_volume("auth", names::secret(&world.app)));
    pod
}

fn arguments(world: &World, wanted: &Wanted, version: &str) -> Vec<String> {
    let cache = format!("{}Ki", wanted.cache >> 10);
    let always = ["serve", "--app-version", version, "--password-file", "/auth/password", "--cache", &cache];
    let Features { example_feature1, example_feature2 } = world.app.spec.features;
    let all = [("exampleFeature1", example_feature1), ("exampleFeature2", example_feature2)];
    let on = all.into_iter().filter(|(_, on)| *on).flat_map(|(feature, _)| words(["--feature", feature]));
    words(always).into_iter().chain(on).collect()
}

/// The Job of the present step, if it has one.
pub(crate) fn job(world: &World, operation: &Operation) -> Option<Job> {
    let app = &*world.app;
    let restore = |key: &str, prefix: &str| words(["restore", "--key", key, "--prefix", prefix]);
    let arguments = match operation.step {
        Step::BackUp => words(["backup", "--key", &names::backup_key(app, operation)]),
        Step::Restore => {
            let wish = app.spec.restore.as_ref().filter(|_| operation.kind == OperationKind::Restore);
            let from = wish.and_then(|wish| wish.from.as_ref());
            let prefix = from.map_or_else(|| names::prefix(app), |from| format!("{from}/"));
            restore(wish.map_or("latest", |wish| &wish.backup), &prefix)
        }
        Step::Migrate => words(["migrate", "--to", &operation.to]),
        // Into the older format, which holds all that the old version knew.
        Step::UndoData if operation.kind == OperationKind::Upgrade => {
            words(["migrate", "--to", operation.from.as_ref()?, "--undo"])
        }
        // From the backup that was made first, if there was anything worth keeping.
        Step::UndoData | Step::UndoRestore => restore(operation.safety.as_ref()?, &names::prefix(app)),
        Step::Stop | Step::Start | Step::UndoStop | Step::UndoStart => return None,
    };
    let component = arguments.first().cloned().unwrap_or_default();
    let metadata = names::KINSHIP.meta(app, names::job(app, operation, operation.step), &component);
    Some(owned(run::once(metadata, work(world, &component, arguments)), app))
}

/// Backups at their time, with or without this operator; nothing when none are wanted. While an operation works on the data they are
/// suspended.
pub(crate) fn schedule(world: &World, wanted: &Wanted, suspend: bool) -> Option<CronJob> {
    let app = &*world.app;
    let job = work(world, names::BACKUP, words(["backup", "--prefix", &names::prefix(app)]));
    let metadata = names::KINSHIP.meta(app, names::schedule(app), names::BACKUP);
    let mut schedule = run::cron_job(metadata, wanted.schedule.clone()?, job);
    schedule.spec.suspend = Some(suspend);
    Some(owned(schedule, app))
}

/// A Job that runs the application's command; those that need the store are told where it is.
fn work(world: &World, component: &str, mut arguments: Vec<String>) -> JobSpec {
    let store = world.app.spec.backup.clone().unwrap_or_default();
    let is_stored = component != "migrate";
    arguments.extend(store.arguments().into_iter().filter(|_| is_stored));
    let mut container = container(world, component, arguments);
    container.env = store.environment().filter(|_| is_stored);
    let labels = names::KINSHIP.labels(&world.app.name_any(), component);
    run::job(parts::template(labels, pod(world, container)), &exit::HOPELESS, DEADLINE)
}

/// A container that runs `capstan example-app <arguments>` on the data, with as few rights as possible.
fn container(world: &World, name: &str, arguments: Vec<String>) -> Container {
    let image = world.app.spec.image.clone().unwrap_or_else(|| world.image.to_string());
    Container {
        command: Some(words(["capstan", "example-app"])),
        args: Some(arguments),
        volume_mounts: Some(vec![parts::mount("data", "/data")]),
        ..secure::container(name, image)
    }
}

/// A volume that is bound to one node serves several pods if they are on that node.
fn pod(world: &World, container: Container) -> PodSpec {
    let volumes = vec![parts::claim_volume("data", &world.claim_name)];
    let mut labels = names::KINSHIP.labels(&world.app.name_any(), names::APP);
    labels.remove(COMPONENT);
    PodSpec {
        affinity: (!claims::is_shared(world.claim())).then(|| parts::together(labels)),
        ..secure::pod(world.app.name_any(), USER, container, volumes)
    }
}
