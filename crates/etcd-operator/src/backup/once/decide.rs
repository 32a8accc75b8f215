//! What is next for an EtcdBackup. Pure.
//!
//! ```text
//! Pending ──spec, cluster, Secrets──> Running: Job take ──> (Job verify) ──> Completed
//!                                        └──────────────────┴──────────────> Failed
//! deleted, with Delete: Job take is stopped ──> Job remove ──> the finalizer goes
//! ```

use std::{sync::Arc, time::Duration};

use etcd_core::text;
use etcd_types::{BackupDeletionPolicy, BackupPhase, EtcdBackup, EtcdBackupStatus};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{api::batch::v1::Job, apimachinery::pkg::apis::meta::v1::Time};
use kit::{Run, owned, pods};
use kube::ResourceExt as _;

use super::World;
use crate::backup::{
    Refusal,
    act::Task,
    build::{self, Source},
    ended,
    names::{self, For, Work},
    reasons::Why,
};

/// How often a running pod is asked how far it is.
const LOOK: Duration = Duration::from_secs(2);
/// When a removal that failed is tried again.
const RETRY: SignedDuration = SignedDuration::from_mins(5);
/// When to look at what no event may tell.
const SOON: Duration = Duration::from_secs(1);

/// What to do, and what to say.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) tasks: Vec<Task>,
    /// Without conditions.
    pub(super) status: EtcdBackupStatus,
    /// Whether the spec can be carried out.
    pub(super) refused: Vec<Refusal>,
    /// Why it stands as it does.
    pub(super) why: Why,
    pub(super) wake: Option<(Duration, &'static str)>,
}

/// Whether nothing will change any more.
pub(super) fn is_over(backup: &EtcdBackup) -> bool {
    let phase = backup.status.as_ref().and_then(|status| status.phase);
    matches!(phase, Some(BackupPhase::Completed | BackupPhase::Failed))
}

/// Whether what is stored goes with the object, which is being deleted.
pub(super) fn removes(backup: &EtcdBackup) -> bool {
    backup.metadata.deletion_timestamp.is_some()
        && backup.spec.deletion_policy == BackupDeletionPolicy::Delete
        && backup.finalizers().iter().any(|name| name == names::FINALIZER)
}

pub(super) fn decide(world: &World, now: Timestamp) -> Plan {
    let case = Case { world, now };
    if world.is_going() {
        return case.going();
    }
    let mut plan = case.alive();
    let holds = world.backup.finalizers().iter().any(|name| name == names::FINALIZER);
    match (world.backup.spec.deletion_policy, holds) {
        (BackupDeletionPolicy::Delete, false) => plan.tasks.insert(0, Task::Hold),
        (BackupDeletionPolicy::Retain, true) => plan.tasks.insert(0, Task::LetGo),
        _ => {}
    }
    plan
}

fn failed_at(job: &Job) -> Option<Timestamp> {
    let mut conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let failed = conditions.find(|it| it.type_ == "Failed" && it.status == "True")?;
    failed.last_transition_time.as_ref().map(|at| at.0)
}

struct Case<'a> {
    world: &'a World,
    now: Timestamp,
}

impl Case<'_> {
    fn backup(&self) -> &EtcdBackup {
        &self.world.backup
    }

    /// What is written down; and where the operator ended between making the Job and writing it down, the cluster that the Job names.
    fn before(&self) -> EtcdBackupStatus {
        let mut status = self.backup().status.clone().unwrap_or_default();
        let job =
            self.world.job(Work::Take).filter(|job| names::is_for(&***job, &self.world.uid(), Work::Take));
        status.cluster_uid = status.cluster_uid.or_else(|| job.and_then(|job| build::source_uid(job)));
        status
    }

    fn plan(&self, phase: BackupPhase, why: Why, message: impl Into<String>) -> Plan {
        let backup = self.backup();
        let who = For::of(backup, names::BACKUP, &backup.spec.cluster_name);
        let location = format!("{}/{}", backup.spec.store.url.trim_end_matches('/'), who.id());
        let mut status = EtcdBackupStatus {
            phase: Some(phase),
            message: Some(message.into()),
            observed_generation: backup.metadata.generation,
            id: Some(who.id()),
            location: Some(location),
            ..self.before()
        };
        if phase != BackupPhase::Running {
            status.progress = None;
        }
        Plan { tasks: Vec::new(), status, refused: Vec::new(), why, wake: None }
    }

    fn failed(&self, message: impl Into<String>) -> Plan {
        self.plan(BackupPhase::Failed, Why::BackupFailed, message)
    }

    fn alive(&self) -> Plan {
        if is_over(self.backup()) {
            // What was said stays said.
            let before = self.before();
            let why = match before.phase {
                Some(BackupPhase::Completed) => Why::Stored,
                _ => Why::BackupFailed,
            };
            let status =
                EtcdBackupStatus { observed_generation: self.backup().metadata.generation, ..before };
            return Plan { tasks: Vec::new(), status, refused: Vec::new(), why, wake: None };
        }
        let (uid, job) = (self.world.uid(), self.world.job(Work::Take));
        match job {
            None => self.begin(),
            Some(job)
                if !names::is_for(&**job, &uid, Work::Take) || job.metadata.deletion_timestamp.is_some() =>
            {
                let message = format!("the Job {} of an earlier attempt is still there", job.name_any());
                Plan {
                    wake: Some((SOON, "the end of an earlier Job")),
                    ..self.pending(Why::Running, message)
                }
            }
            Some(job) => self.taken(job),
        }
    }

    fn pending(&self, why: Why, message: impl Into<String>) -> Plan {
        // One that has run keeps saying so.
        let phase = match self.before().phase {
            Some(BackupPhase::Running) => BackupPhase::Running,
            _ => BackupPhase::Pending,
        };
        self.plan(phase, why, message)
    }

    fn begin(&self) -> Plan {
        let (world, spec) = (self.world, &self.backup().spec);
        let Some(deadline) = text::duration(&spec.deadline) else {
            let refusal =
                Refusal::new("spec.deadline", format!("{:?} is no time such as 30m", spec.deadline));
            return self.refused(vec![refusal]);
        };
        let Some(cluster) = &world.cluster else {
            let why = format!("there is no EtcdCluster {} in this namespace", spec.cluster_name);
            let refusal = Refusal::new("spec.clusterName", why);
            return Plan { why: Why::NoCluster, ..self.refused(vec![refusal]) };
        };
        if !world.missing.is_empty() {
            return self.refused(world.missing.clone());
        }
        if let Some(latched) = self.before().cluster_uid.filter(|uid| Some(uid) != cluster.uid().as_ref()) {
            let now = cluster.uid().unwrap_or_default();
            return self.failed(format!(
                "the EtcdCluster {} that it began with (UID {latched}) is gone; one with the UID {now} has its name. Create another EtcdBackup",
                spec.cluster_name
            ));
        }
        let Some(source) = Source::of(cluster) else {
            let message = format!("the EtcdCluster {} does not serve yet", spec.cluster_name);
            return self.pending(Why::NoCluster, message);
        };
        let mut plan = self.plan(BackupPhase::Running, Why::Running, "its Job begins");
        let job = build::take(self.backup(), &source, &world.image, deadline);
        if spec.store.service_account_name.is_none() {
            let account = build::account(cluster);
            plan.tasks.push(Task::Account(Box::new(account), world.account.clone()));
        }
        plan.tasks.push(Task::Run(Box::new(job)));
        plan.status.cluster_uid = Some(source.uid);
        plan.status.started_at.get_or_insert(Time(self.now));
        plan.wake = Some((LOOK, "a look at how far it is"));
        plan
    }

    fn refused(&self, refused: Vec<Refusal>) -> Plan {
        let message = refused.iter().map(ToString::to_string).collect::<Vec<_>>().join(". ");
        Plan { refused, ..self.pending(Why::Refused, message) }
    }

    /// Its Job is there.
    fn taken(&self, job: &Arc<Job>) -> Plan {
        let pods = self.world.pods();
        match kit::run(job, &pods) {
            Run::Running(_) => self.running(job),
            Run::Failed { message, .. } => self.failed(ended::sentence(&message)),
            Run::Succeeded(words) => match words.as_deref().and_then(ended::Taken::read) {
                Some(taken) => {
                    let mut plan =
                        self.plan(BackupPhase::Completed, Why::Stored, "stored, read back and found whole");
                    let warning = taken.warning();
                    taken.into_status(&mut plan.status);
                    let done = kit::run::completed(job).unwrap_or(self.now);
                    plan.status.completed_at = Some(Time(done));
                    if self.backup().spec.verify_by_restore {
                        plan = self.verified(plan);
                    }
                    if let (Some(warning), Some(message)) = (warning, &mut plan.status.message) {
                        message.push_str(&format!("; {warning}"));
                    }
                    plan
                }
                // The pods' cache may be behind that of Jobs.
                None if pods
                    .iter()
                    .any(|pod| pods::is_of_job(pod, &job.name_any()) && pods::may_write(pod)) =>
                {
                    Plan { wake: Some((SOON, "the last words of its pod")), ..self.running(job) }
                }
                // Its words were lost. Taken again, it finds itself in the store, and says them again.
                None => {
                    let mut plan = self.plan(
                        BackupPhase::Running,
                        Why::Running,
                        "its Job is done, but what it said is lost: it is asked again",
                    );
                    plan.tasks.push(Task::Stop(job.clone()));
                    plan.wake = Some((SOON, "the end of its Job"));
                    plan
                }
            },
        }
    }

    fn running(&self, job: &Job) -> Plan {
        let progress = ended::progress(self.world.said.as_ref());
        let waits = kit::run::waits(&job.name_any(), self.world.pods());
        let message = match (&progress, waits) {
            (Some(progress), _) if progress.total > 0 => {
                let percent = progress.bytes.saturating_mul(100) / progress.total;
                format!("{percent} % of about {} bytes are stored", progress.total)
            }
            (_, Some(waits)) => format!("its pod waits: {waits}"),
            _ => "its Job runs".to_owned(),
        };
        let mut plan = self.plan(BackupPhase::Running, Why::Running, message);
        plan.status.started_at.get_or_insert(Time(self.now));
        plan.status.progress = progress.or(plan.status.progress);
        plan.wake = Some((LOOK, "a look at how far it is"));
        plan
    }

    /// It is stored; now it is restored, and compared.
    fn verified(&self, stored: Plan) -> Plan {
        let (uid, name) = (self.world.uid(), format!("{}-verify", self.backup().name_any()));
        let job = self.world.job(Work::Verify).filter(|job| names::is_for(&***job, &uid, Work::Verify));
        let waits = |message: &str| {
            let mut plan = stored.clone();
            plan.status.phase = Some(BackupPhase::Running);
            plan.status.message = Some(message.to_owned());
            Plan { why: Why::Running, ..plan }
        };
        let Some(job) = job else {
            let source = self.world.cluster.as_deref().and_then(Source::of);
            let deadline = text::duration(&self.backup().spec.deadline);
            let version = stored.status.etcd_version.as_deref().and_then(|version| version.parse().ok());
            let (Some(source), Some(deadline), Some(etcd_version)) = (source, deadline, version) else {
                return waits(
                    "it is stored, and is to be restored and compared when its cluster is there again",
                );
            };
            let who = For::of(self.backup(), names::BACKUP, &self.backup().spec.cluster_name);
            let id = stored.status.id.as_deref().unwrap_or_default();
            let is = build::Stored { id, etcd_version, bytes: stored.status.bytes };
            let store = &self.backup().spec.store;
            let job = build::verify(&who, name, store, &source, &is, &self.world.image, deadline);
            let mut plan = waits("it is stored, and is being restored and compared");
            plan.tasks.push(Task::Run(Box::new(owned(job, self.backup()))));
            return plan;
        };
        let pods = self.world.pods();
        let (words, is_good) = match kit::run(job, &pods) {
            Run::Running(_) => return waits("it is stored, and is being restored and compared"),
            Run::Succeeded(words) => (words, true),
            Run::Failed { code, message } => (Some(ended::of_several(job, &pods, code, message)), false),
        };
        let verified = ended::verified(words.as_deref(), is_good, self.now);
        let said = verified.message.clone().unwrap_or_default();
        let mut plan = stored;
        if verified.good {
            plan.status.message = Some("stored, read back, restored and compared".to_owned());
        } else {
            plan.status.phase = Some(BackupPhase::Failed);
            plan.why = Why::NotVerified;
            plan.status.message = Some(format!("it is stored, but restoring it went wrong: {said}"));
        }
        plan.status.verified = Some(verified);
        plan
    }

    /// It is being deleted.
    fn going(&self) -> Plan {
        let (world, before) = (self.world, self.before());
        let mut plan = Plan {
            tasks: Vec::new(),
            status: before.clone(),
            refused: Vec::new(),
            why: Why::Removed,
            wake: None,
        };
        if !self.backup().finalizers().iter().any(|name| name == names::FINALIZER) {
            return plan;
        }
        let nothing_stored = before.started_at.is_none() && world.job(Work::Take).is_none();
        if self.backup().spec.deletion_policy == BackupDeletionPolicy::Retain || nothing_stored {
            plan.tasks.push(Task::LetGo);
            return plan;
        }
        // What is still being stored would come back.
        if let Some(job) = world.job(Work::Take).filter(|job| job.metadata.deletion_timestamp.is_none())
            && matches!(kit::run(job, &world.pods()), Run::Running(_))
        {
            plan.tasks.push(Task::Stop(job.clone()));
            plan.wake = Some((SOON, "the end of its Job"));
            return plan;
        }
        let name = self.backup().name_any();
        if world.pods().iter().any(|pod| pods::is_of_job(pod, &name) && pods::may_write(pod)) {
            plan.wake = Some((SOON, "the end of its pod"));
            return plan;
        }
        let Some(job) = world.job(Work::Remove) else {
            let account = world.cluster.as_ref().filter(|_| world.account.is_some());
            let account = account.map_or_else(|| "default".to_owned(), |it| names::account(&it.name_any()));
            // Also without its Secrets: whether the namespace is being deleted, and takes no Job, is only known then.
            plan.tasks.push(Task::Run(Box::new(build::remove(
                self.backup(),
                before.cluster_uid.as_deref(),
                &world.image,
                account,
            ))));
            match world.missing.is_empty() {
                true => plan.status.message = Some("what it has stored is being removed".to_owned()),
                false => Self::not_removed(&mut plan, &self.all_missing(), ""),
            }
            return plan;
        };
        if !names::is_for(&**job, &world.uid(), Work::Remove) {
            plan.tasks.push(Task::Stop(job.clone()));
            return plan;
        }
        match kit::run(job, &world.pods()) {
            // Kubernetes mounts a Secret as soon as it is there.
            Run::Running(_) if !world.missing.is_empty() => {
                Self::not_removed(&mut plan, &self.all_missing(), "");
            }
            Run::Running(_) => {
                let waits = kit::run::waits(&job.name_any(), world.pods());
                let waits = waits.map(|waits| format!("; the pod of the Job waits: {waits}"));
                let waits = waits.unwrap_or_default();
                plan.status.message = Some(format!("what it has stored is being removed{waits}"));
            }
            Run::Succeeded(_) => plan.tasks.push(Task::LetGo),
            Run::Failed { message, .. } => {
                let ago = failed_at(job).map_or(RETRY, |at| self.now.duration_since(at));
                match Duration::try_from(RETRY - ago) {
                    Ok(rest) if !rest.is_zero() => plan.wake = Some((rest, "another attempt to remove it")),
                    _ => plan.tasks.push(Task::Stop(job.clone())),
                }
                Self::not_removed(
                    &mut plan,
                    &ended::sentence(&message),
                    "It is tried again every 5 minutes. ",
                );
            }
        }
        plan
    }

    fn all_missing(&self) -> String {
        self.world.missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(". ")
    }

    /// Says why what is stored is still there, and the way out.
    fn not_removed(plan: &mut Plan, why: &str, then: &str) {
        plan.why = Why::NotRemoved;
        plan.status.message = Some(format!(
            "the stored backup cannot be removed: {}. {then}To delete only the EtcdBackup, set spec.deletionPolicy to Retain",
            why.trim_end_matches('.'),
        ));
    }
}
