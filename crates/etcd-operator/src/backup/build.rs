//! The objects of backups. Pure: from what is wanted to the object that should be there.

use std::time::Duration;

use etcd_core::Version;
use etcd_types::{BackupStore, Capture, EtcdBackup, EtcdBackupSchedule, EtcdCluster, Retention};
use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        batch::v1::{CronJob, Job, JobSpec},
        core::v1::{
            Container, EmptyDirVolumeSource, EnvVar, EnvVarSource, ObjectFieldSelector, PodSpec,
            ServiceAccount, Volume,
        },
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kit::{
    owned,
    parts::{self, words},
    run, secure,
};
use kube::ResourceExt as _;

use super::{
    ask::PORT,
    names::{self, For, Work},
    place::{Place, place, secret_volume, without_identity},
    size::{self, Needs, needs},
};

/// The exit code after which trying again is useless: somebody has to change something first.
const FINAL: [i32; 1] = [77];
/// The option that names the EtcdCluster whose data a Job takes or removes.
const SOURCE_UID: &str = "--cluster-uid";
/// The user of our image.
const USER: i64 = 65532;
/// How long one attempt to remove what is stored may take.
const REMOVAL: Duration = Duration::from_secs(30 * 60);
/// Where a container leaves its last words.
const RESULT: &str = "/dev/termination-log";
/// The containers of a verification that run the user's image of etcd.
const RESTORE: &str = "restore";
const ETCD: &str = "etcd";
/// A member's database twice: as a snapshot, and restored.
const WORK: &str = "/work";

/// The cluster that is backed up, as a client knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) cluster: String,
    pub(super) uid: String,
    namespace: String,
    /// The client Service first, then each voter: with the alarm CORRUPT no member is ready, and the Service leads to none.
    endpoints: Vec<String>,
    tls: Option<String>,
    /// Of etcd, as the user names it.
    image: Option<String>,
}

impl Source {
    /// Nothing while the cluster does not exist as far as etcd is concerned.
    pub(super) fn of(cluster: &EtcdCluster) -> Option<Self> {
        let status = cluster.status.as_ref()?;
        status.cluster_id.as_ref()?;
        let connection = status.connection.as_ref()?;
        Some(Self {
            cluster: cluster.name_any(),
            uid: cluster.uid()?,
            namespace: cluster.namespace().unwrap_or_default(),
            endpoints: Some(connection.endpoints.clone()).filter(|it| !it.is_empty())?,
            // With authentication on, a snapshot needs role root, which the operator's certificate has.
            tls: connection.secret_name.as_ref().map(|_| crate::tls::operator_secret(cluster)),
            image: cluster.spec.image.clone(),
        })
    }

    /// For one snapshot.
    fn flags(&self) -> Vec<String> {
        self.flags_with(&self.endpoints.join(","))
    }

    /// For what runs for long: the Service alone, so that it is not restarted when members come and go.
    fn lasting_flags(&self) -> Vec<String> {
        self.flags_with(self.endpoints.first().map(String::as_str).unwrap_or_default())
    }

    fn flags_with(&self, endpoints: &str) -> Vec<String> {
        let mut flags = words(["--endpoints", endpoints, "--cluster", &self.cluster]);
        flags.extend(words(["--cluster-namespace", &self.namespace, SOURCE_UID, &self.uid]));
        flags.extend(self.tls.iter().flat_map(|_| words(["--tls", "/tls"])));
        flags
    }
}

/// The UID of the EtcdCluster that a Job backs up, from its arguments.
pub(super) fn source_uid(job: &Job) -> Option<String> {
    let pod = job.spec.as_ref()?.template.spec.as_ref()?;
    let mut arguments = pod.containers.first()?.args.as_ref()?.iter();
    arguments.find(|argument| *argument == SOURCE_UID)?;
    arguments.next().cloned()
}

/// An identity that may do nothing, for all backups of a cluster. It goes with the cluster.
pub(super) fn account(cluster: &EtcdCluster) -> ServiceAccount {
    let name = cluster.name_any();
    let labels = [
        ("app.kubernetes.io/name", names::WORKER),
        ("app.kubernetes.io/instance", &name),
        ("app.kubernetes.io/managed-by", "capstan"),
        (crate::names::CLUSTER, &name),
    ];
    let metadata = ObjectMeta {
        name: Some(names::account(&name)),
        namespace: cluster.namespace(),
        labels: Some(labels.map(|(label, value)| (label.to_owned(), value.to_owned())).into()),
        ..ObjectMeta::default()
    };
    owned(parts::account(metadata), cluster)
}

/// The Job of an EtcdBackup.
pub(super) fn take(backup: &EtcdBackup, source: &Source, image: &str, deadline: Duration) -> Job {
    let who = For::of(backup, names::BACKUP, &backup.spec.cluster_name);
    let place = place(&backup.spec.store);
    let mut arguments = take_arguments(&place, source, &who.id());
    if backup.spec.verify_by_restore {
        arguments.push("--hash".to_owned());
    }
    let pod = worker(&place, Some(source), image, Work::Take, arguments);
    let spec = job(&who, Work::Take, pod, deadline);
    // One that is gone before anybody saw how it ended is run again, and finds its backup.
    owned(run::once(who.meta(who.name.clone(), Work::Take), spec), backup)
}

/// The Job that removes what an EtcdBackup has stored. Nobody owns it: Kubernetes may remove what is owned by something that is being
/// deleted before it has done its work.
pub(super) fn remove(backup: &EtcdBackup, source: Option<&str>, image: &str, account: String) -> Job {
    let who = For::of(backup, names::BACKUP, &backup.spec.cluster_name);
    let place = place(&backup.spec.store);
    let mut arguments = words(["rm"]);
    arguments.extend(place.arguments.clone());
    arguments.extend(words([&who.id(), "--result", RESULT]));
    arguments.extend(source.into_iter().flat_map(|uid| words([SOURCE_UID, uid])));
    let mut pod = worker(&place, None, image, Work::Remove, arguments);
    pod.service_account_name = Some(place.account.unwrap_or(account));
    let spec = JobSpec { ttl_seconds_after_finished: Some(3600), ..job(&who, Work::Remove, pod, REMOVAL) };
    let name = format!("{}-delete", who.name);
    Job { metadata: who.meta(name, Work::Remove), spec: Some(spec), status: None }
}

/// What a verification is about.
pub(super) struct Stored<'a> {
    pub(super) id: &'a str,
    /// The version that gave it.
    pub(super) etcd_version: Version,
    /// The size of the database, if it is known.
    pub(super) bytes: Option<i64>,
}

/// The Job that restores a backup into an etcd that is thrown away, and compares.
pub(super) fn verify(
    who: &For<'_>,
    name: String,
    store: &BackupStore,
    source: &Source,
    stored: &Stored<'_>,
    image: &str,
    deadline: Duration,
) -> Job {
    let place = place(store);
    let file = format!("{WORK}/snapshot.db");
    let capstan = |name: &str, verb: &str, more: Vec<String>| {
        let mut arguments = vec![verb.to_owned()];
        arguments.extend(place.arguments.clone());
        arguments.push(stored.id.to_owned());
        arguments.extend(more);
        Container {
            command: Some(words(["capstan", "backup"])),
            args: Some(arguments),
            termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
            ..container(name, image, &place, None)
        }
    };
    let Needs { room, ours, etcd: of_database } = needs(stored.bytes);
    let of_etcd = etcd_core::validate::image(source.image.as_deref(), stored.etcd_version);
    let (client, peer) = ("https://127.0.0.1:2379", "http://127.0.0.1:2380");
    // Users and roles come with the backup: etcd answers only whom it knows, and a certificate of root is that.
    let tls = format!("{WORK}/tls");
    let etcd = |name: &str, command: Vec<String>| Container {
        command: Some(command),
        resources: Some(of_database.clone()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        // An image of the user's: nothing of the store is for it.
        ..secure::container(name, of_etcd.clone())
    };
    let initial = format!("verify={peer}");
    let data = format!("{WORK}/data");
    let mut restore =
        words(["etcdutl", "snapshot", "restore", &file, "--name", "verify", "--data-dir", &data]);
    restore.extend(words(["--initial-cluster", &initial, "--initial-advertise-peer-urls", peer]));
    let mut serve = words(["etcd", "--name", "verify", "--data-dir", &data, "--log-level", "warn"]);
    serve.extend(words(["--listen-client-urls", client, "--advertise-client-urls", client]));
    serve.extend(words(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]));
    serve.extend(words(["--initial-cluster", &initial, "--client-cert-auth"]));
    serve.extend(words(["--cert-file", &format!("{tls}/tls.crt"), "--key-file", &format!("{tls}/tls.key")]));
    serve.extend(words(["--trusted-ca-file", &format!("{tls}/ca.crt")]));
    let mut sidecar = etcd(ETCD, serve);
    sidecar.restart_policy = Some("Always".to_owned());
    let mut compare = capstan(
        Work::Verify.word(),
        "verify",
        words(["--restored", client, "--tls", &tls, "--record", "--result", RESULT]),
    );
    compare.resources = Some(ours);
    let mut volumes = place.volumes.clone();
    let empty = Some(EmptyDirVolumeSource { size_limit: Some(room), ..EmptyDirVolumeSource::default() });
    volumes.push(Volume { name: "work".to_owned(), empty_dir: empty, ..Volume::default() });
    // It may have been refuted before: an attempt is repeated when its pod is lost.
    let options = ["--allow-refuted", "--to", &file, "--root-certificate", &tls, "--result", RESULT];
    let fetch = capstan("fetch", "fetch", words(options));
    let inits = [fetch, etcd(RESTORE, restore), sidecar].map(with_work);
    let account = place.account.clone().unwrap_or_else(|| names::account(&source.cluster));
    let mut pod = secure::pod(account, USER, with_work(compare), volumes);
    pod.init_containers = Some(inits.into());
    pod.enable_service_links = Some(false);
    let mut spec = JobSpec { backoff_limit: Some(1), ..job(who, Work::Verify, pod, deadline) };
    without_identity(&mut spec.template, &[RESTORE, ETCD]);
    run::once(who.meta(name, Work::Verify), spec)
}

fn with_work(mut container: Container) -> Container {
    container.volume_mounts.get_or_insert_default().push(parts::mount("work", WORK));
    container
}

/// When and how a schedule's Jobs run.
pub(super) struct Timing {
    pub(super) jitter: Option<Duration>,
    pub(super) starting_deadline: Duration,
    pub(super) deadline: Duration,
}

/// The CronJob of a schedule: it goes on when nobody looks after it.
pub(super) fn cron_job(
    schedule: &EtcdBackupSchedule,
    source: &Source,
    image: &str,
    timing: &Timing,
    suspend: bool,
) -> CronJob {
    let who = For::of(schedule, names::SCHEDULE, &schedule.spec.cluster_name);
    let spec = scheduled(schedule, source, image, timing, timing.jitter);
    let mut cron =
        run::cron_job(who.meta(who.name.clone(), Work::Take), schedule.spec.schedule.clone(), spec);
    cron.spec.time_zone = Some(schedule.spec.time_zone.clone());
    cron.spec.concurrency_policy = Some(format!("{:?}", schedule.spec.concurrency_policy));
    cron.spec.starting_deadline_seconds = i64::try_from(timing.starting_deadline.as_secs()).ok();
    cron.spec.suspend = Some(suspend);
    owned(cron, schedule)
}

/// The first Job of a schedule, which does not wait for its time.
pub(super) fn first(schedule: &EtcdBackupSchedule, source: &Source, image: &str, timing: &Timing) -> Job {
    let who = For::of(schedule, names::SCHEDULE, &schedule.spec.cluster_name);
    let name = format!("{}-first-{}", who.name, names::short(&who.uid));
    let spec = scheduled(schedule, source, image, timing, None);
    owned(run::once(who.meta(name, Work::Take), spec), schedule)
}

/// A Job out of turn: what is captured can only go on after it.
pub(super) fn after_gap(
    schedule: &EtcdBackupSchedule,
    source: &Source,
    image: &str,
    timing: &Timing,
    now: Timestamp,
) -> Job {
    let mut job = first(schedule, source, image, timing);
    job.metadata.name = Some(format!("{}{}", out_of_turn(schedule), now.as_second() / 60));
    job
}

/// How the names of Jobs out of turn begin.
pub(super) fn out_of_turn(schedule: &EtcdBackupSchedule) -> String {
    format!("{}-gap-", schedule.name_any())
}

fn scheduled(
    schedule: &EtcdBackupSchedule,
    source: &Source,
    image: &str,
    timing: &Timing,
    jitter: Option<Duration>,
) -> JobSpec {
    let who = For::of(schedule, names::SCHEDULE, &schedule.spec.cluster_name);
    let place = place(&schedule.spec.store);
    // The Job's name tells the time; the UID tells schedules of one name apart.
    let id = format!("$(JOB_NAME)-{}", names::short(&who.uid));
    let mut arguments = take_arguments(&place, source, &id);
    arguments.extend(words(["--schedule", &who.name]));
    arguments.extend(keep(&schedule.spec.retention));
    arguments
        .extend(jitter.into_iter().flat_map(|jitter| words(["--jitter", &jitter.as_secs().to_string()])));
    if schedule.spec.verify_by_restore {
        arguments.push("--hash".to_owned());
    }
    let mut pod = worker(&place, Some(source), image, Work::Take, arguments);
    for container in &mut pod.containers {
        container.env = Some(vec![job_name()]);
    }
    job(&who, Work::Take, pod, timing.deadline)
}

fn job_name() -> EnvVar {
    let field = ObjectFieldSelector {
        field_path: "metadata.labels['batch.kubernetes.io/job-name']".to_owned(),
        api_version: Some("v1".to_owned()),
    };
    let source = EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() };
    EnvVar { name: "JOB_NAME".to_owned(), value_from: Some(source), ..EnvVar::default() }
}

fn keep(retention: &Retention) -> Vec<String> {
    let hours = retention.keep_within.as_deref().and_then(|text| text.strip_suffix('h')?.parse::<i32>().ok());
    let flags = [
        ("--keep-last", retention.keep_last),
        ("--keep-hours", hours),
        ("--keep-hourly", retention.hourly),
        ("--keep-daily", retention.daily),
        ("--keep-weekly", retention.weekly),
        ("--keep-monthly", retention.monthly),
        ("--keep-yearly", retention.yearly),
    ];
    let given = flags.into_iter().filter_map(|(flag, count)| Some((flag, count?)));
    given.flat_map(|(flag, count)| words([flag, &count.to_string()])).collect()
}

/// What keeps everything that is written between backups. One pod: two would do no harm, but no good either.
pub(super) fn capture(
    schedule: &EtcdBackupSchedule,
    capture: &Capture,
    source: &Source,
    image: &str,
) -> Deployment {
    let who = For::of(schedule, names::SCHEDULE, &schedule.spec.cluster_name);
    let place = place(&schedule.spec.store);
    let mut arguments = words(["capture"]);
    arguments.extend(place.arguments.clone());
    arguments.extend(source.lasting_flags());
    arguments.extend(words(["--flush-every", &capture.flush_every]));
    arguments.extend(words(["--flush-bytes", &capture.flush_bytes.to_string()]));
    arguments.extend(words(["--progress", &format!("0.0.0.0:{PORT}"), "--result", RESULT]));
    let mut pod = worker(&place, Some(source), image, Work::Capture, arguments);
    pod.restart_policy = None;
    for container in &mut pod.containers {
        container.liveness_probe = Some(parts::http_probe("/healthz", PORT, 10, 5, 6));
    }
    let mut labels = who.labels(Work::Capture);
    labels.remove("app.kubernetes.io/managed-by");
    let metadata = who.meta(capture_name(schedule), Work::Capture);
    let template = parts::template(who.labels(Work::Capture), pod);
    owned(parts::deployment(metadata, 1, "Recreate", parts::matching(labels), template), schedule)
}

pub(super) fn capture_name(schedule: &EtcdBackupSchedule) -> String {
    format!("{}-capture", schedule.name_any())
}

fn take_arguments(place: &Place, source: &Source, id: &str) -> Vec<String> {
    let mut arguments = words(["take"]);
    arguments.extend(place.arguments.clone());
    arguments.extend(words(["--id", id]));
    arguments.extend(source.flags());
    arguments.extend(words(["--progress", &format!("0.0.0.0:{PORT}"), "--result", RESULT]));
    arguments
}

/// A pod that runs `capstan backup <arguments>`, with as few rights as possible.
fn worker(
    place: &Place,
    source: Option<&Source>,
    image: &str,
    work: Work,
    arguments: Vec<String>,
) -> PodSpec {
    let tls = source.and_then(|source| source.tls.as_deref());
    let container = Container {
        command: Some(words(["capstan", "backup"])),
        args: Some(arguments),
        ports: Some(vec![parts::container_port("progress", PORT)]),
        ..container(work.word(), image, place, tls)
    };
    let mut volumes = place.volumes.clone();
    volumes.extend(tls.map(|secret| secret_volume("tls", secret)));
    let account = source.map(|source| names::account(&source.cluster));
    let account = place.account.clone().or(account).unwrap_or_else(|| "default".to_owned());
    let mut pod = secure::pod(account, USER, container, volumes);
    pod.enable_service_links = Some(false);
    pod
}

fn container(name: &str, image: &str, place: &Place, tls: Option<&str>) -> Container {
    let mut mounts = place.mounts.clone();
    mounts.extend(tls.map(|_| parts::mount_read_only("tls", "/tls")));
    Container {
        volume_mounts: Some(mounts),
        resources: Some(size::usual()),
        ..secure::container(name, image.to_owned())
    }
}

fn job(who: &For<'_>, work: Work, pod: PodSpec, deadline: Duration) -> JobSpec {
    run::job(parts::template(who.labels(work), pod), &FINAL, deadline)
}
