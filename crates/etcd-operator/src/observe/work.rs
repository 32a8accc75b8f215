//! What is being done for a restore beside the members: Jobs, by their pods' last words, and the backup before. Pure.

use std::{collections::BTreeMap, sync::Arc};

use etcd_core::{Serial, Work, WorkState, Works};
use etcd_types::{BackupPhase, EtcdBackup};
use jiff::Timestamp;
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ContainerStatus, Pod},
};
use kit::{
    pods,
    readiness::{Readiness, Workload as _},
    run,
};
use kube::{Resource as _, ResourceExt as _};
use serde_json::Value;

use crate::{
    build, names,
    recovery::{Source, Which},
};

/// The Jobs of a cluster's restores, by the number of the member that they are about.
#[derive(Clone, Default)]
pub(crate) struct Jobs {
    pub(crate) seeds: BTreeMap<Serial, Arc<Job>>,
    pub(crate) replays: BTreeMap<Serial, Arc<Job>>,
    pub(crate) safety: Option<Arc<EtcdBackup>>,
}

impl Jobs {
    /// Those of this very cluster.
    pub(super) fn of(cluster: &etcd_types::EtcdCluster, jobs: Vec<Arc<Job>>) -> Self {
        let name = cluster.name_any();
        let serial = |job: &Job, of: &str| -> Option<Serial> {
            job.name_any().strip_prefix(&format!("{name}-{of}-"))?.parse().ok().map(Serial)
        };
        let mut all = Self::default();
        for job in jobs.into_iter().filter(|job| names::is_owned(cluster, &**job)) {
            if let Some(seed) = serial(&job, "seed") {
                all.seeds.insert(seed, job);
            } else if let Some(seed) = serial(&job, "replay") {
                all.replays.insert(seed, job);
            }
        }
        all
    }

    /// How all of them stand.
    pub(super) fn works(&self, pods: &[Arc<Pod>], source: Option<&Source>) -> Works {
        let named = source.and_then(|source| match &source.which {
            Which::Named(id) | Which::NamedThoughRefuted(id) => Some(id.as_str()),
            Which::NewestOf(_) => None,
        });
        let of = |jobs: &BTreeMap<Serial, Arc<Job>>| {
            jobs.iter().map(|(serial, job)| (*serial, work(job, pods, named))).collect()
        };
        Works {
            seeds: of(&self.seeds),
            replays: of(&self.replays),
            safety: self.safety.as_deref().map(backup),
        }
    }
}

fn work(job: &Job, pods: &[Arc<Pod>], named: Option<&str>) -> Work {
    let name = job.name_any();
    let mut own: Vec<&Pod> =
        pods.iter().map(|pod| &**pod).filter(|pod| pods::is_of_job(pod, &name)).collect();
    own.sort_by_key(|pod| pod.creation_timestamp().map(|at| at.0));
    let state = match job.readiness() {
        Readiness::Ready => match backup_id(&own).or_else(|| named.map(str::to_owned)) {
            Some(id) => WorkState::Done(id),
            // The pods' cache may be behind that of Jobs.
            None if own.iter().any(|pod| pods::may_write(pod)) => WorkState::Running(doing(&own)),
            None => WorkState::ResultLost,
        },
        Readiness::Failed(why) => WorkState::Failed(last_words(&own).unwrap_or(why)),
        Readiness::Waiting(_) => WorkState::Running(doing(&own)),
    };
    let over = |condition: &&k8s_openapi::api::batch::v1::JobCondition| {
        condition.status == "True" && matches!(condition.type_.as_str(), "Complete" | "Failed")
    };
    let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ended = conditions.and_then(|all| all.iter().find(over)?.last_transition_time.as_ref());
    Work {
        uid: job.uid().unwrap_or_default(),
        deleting: job.meta().deletion_timestamp.is_some(),
        made_from: job.annotations().get(names::MADE_FROM).cloned().unwrap_or_default(),
        state,
        ended: ended.map(|time| time.0),
    }
}

fn containers(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let status = pod.status.iter();
    status.flat_map(|it| {
        it.init_container_statuses.iter().flatten().chain(it.container_statuses.iter().flatten())
    })
}

/// The container of the newest pod that runs; or what it waits for, if that is more than its next moment.
fn doing(own: &[&Pod]) -> String {
    let Some(pod) = own.last() else { return String::new() };
    let runs = |it: &&ContainerStatus| it.state.as_ref().is_some_and(|state| state.running.is_some());
    if let Some(container) = containers(pod).find(runs) {
        return container.name.clone();
    }
    let job = pod.owner_references().first().map(|owner| owner.name.clone()).unwrap_or_default();
    let waits = containers(pod).find_map(|it| it.state.as_ref()?.waiting.as_ref());
    let passing = ["PodInitializing", "ContainerCreating"];
    let waits = waits.filter(|it| !passing.contains(&it.reason.as_deref().unwrap_or_default()));
    match waits {
        Some(waits) => {
            let said =
                [waits.reason.as_deref(), waits.message.as_deref()].into_iter().flatten().collect::<Vec<_>>();
            format!("the Job waits: {}", said.join(": "))
        }
        None => run::waits(&job, own.iter().copied())
            .filter(|why| why.contains("nodes are available") || why.contains("Unschedulable"))
            .map_or_else(String::new, |why| format!("the Job waits: {why}")),
    }
}

/// What a container said at its end.
fn words(container: &ContainerStatus) -> Option<(i32, Timestamp, String)> {
    let end = pods::last_end(container)?;
    let at = end.finished_at.as_ref().map_or(Timestamp::MIN, |time| time.0);
    Some((end.exit_code, at, end.message.clone().unwrap_or_default()))
}

/// The backup that the data is of, as the last container says it.
fn backup_id(own: &[&Pod]) -> Option<String> {
    let settled = own
        .iter()
        .rev()
        .flat_map(|pod| containers(pod))
        .filter(|it| [build::SETTLE, build::REPLAY].contains(&it.name.as_str()));
    let said = settled.filter_map(words).find(|(code, _, _)| *code == 0)?.2;
    let said: Value = serde_json::from_str(said.trim()).ok()?;
    let id = said.pointer("/manifest/id").or_else(|| said.pointer("/id"))?;
    id.as_str().map(str::to_owned)
}

/// The sentence that the last container that failed left, or the last line of its log.
pub(crate) fn last_words(own: &[&Pod]) -> Option<String> {
    let failed =
        own.iter().flat_map(|pod| containers(pod)).filter_map(|it| Some((it.name.as_str(), words(it)?)));
    let (name, (code, _, said)) =
        failed.filter(|(_, (code, _, _))| *code != 0).max_by_key(|(_, (_, at, _))| *at)?;
    let error = serde_json::from_str::<Value>(said.trim()).ok();
    if let Some(error) = error.as_ref().and_then(|said| said.get("error")?.as_str()) {
        return Some(error.to_owned());
    }
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let last = last.map_or_else(|| format!("exit code {code}"), |line| line.chars().take(400).collect());
    let room = if last.contains("no space left") {
        ". The volume must hold the database twice while it is restored: set a larger spec.storage.size"
    } else {
        ""
    };
    Some(format!("{name} failed: {last}{room}"))
}

fn backup(backup: &EtcdBackup) -> Work {
    let status = backup.status.clone().unwrap_or_default();
    let message = status.message.unwrap_or_default();
    Work {
        uid: backup.uid().unwrap_or_default(),
        deleting: backup.meta().deletion_timestamp.is_some(),
        made_from: String::new(),
        state: match status.phase {
            Some(BackupPhase::Completed) => WorkState::Done(backup.name_any()),
            Some(BackupPhase::Failed) => WorkState::Failed(message),
            Some(BackupPhase::Pending | BackupPhase::Running) | None => WorkState::Running(message),
        },
        ended: status.completed_at.map(|time| time.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, init: Value, last: Value) -> Arc<Pod> {
        let container = |name: &str, state: &Value| json!({"name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state});
        let init: Vec<Value> =
            init.as_object().unwrap().iter().map(|(name, state)| container(name, state)).collect();
        let phase = if last.get("terminated").is_some() { "Succeeded" } else { "Running" };
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": name, "creationTimestamp": "2026-11-16T12:00:00Z",
                    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "db-seed-1", "uid": "j"}]},
                "status": {"phase": phase, "initContainerStatuses": init, "containerStatuses": [container("settle", &last)]},
            }))
            .unwrap(),
        )
    }

    fn job(conditions: Value) -> Job {
        serde_json::from_value(json!({"metadata": {"name": "db-seed-1", "uid": "j"},
            "spec": {"template": {"spec": {"containers": []}}}, "status": {"conditions": conditions}}))
        .unwrap()
    }

    fn ended(code: i32, message: &str) -> Value {
        json!({"terminated": {"exitCode": code, "finishedAt": "2026-11-16T12:01:00Z", "message": message}})
    }

    #[test]
    fn a_job_that_is_done_says_which_backup_it_was() {
        let done = job(json!([{"type": "Complete", "status": "True"}]));
        let pods = [pod("a", json!({}), ended(0, r#"{"manifest": {"id": "nightly-7"}}"#))];
        assert_eq!(work(&done, &pods, None).state, WorkState::Done("nightly-7".into()));
        assert_eq!(work(&done, &[], Some("nightly-7")).state, WorkState::Done("nightly-7".into()));
    }

    /// Which backup the data is of must be known before anything is written on top of it.
    #[test]
    fn a_job_whose_pod_is_gone_before_it_was_read_has_lost_its_result() {
        let done = job(json!([{"type": "Complete", "status": "True"}]));
        assert_eq!(work(&done, &[], None).state, WorkState::ResultLost);
        let silent = [pod("a", json!({}), ended(0, ""))];
        assert_eq!(work(&done, &silent, None).state, WorkState::ResultLost);
        let behind = [pod("a", json!({}), json!({"running": {}}))];
        assert!(matches!(work(&done, &behind, None).state, WorkState::Running(_)));
    }

    #[test]
    fn a_job_that_failed_says_why_whichever_container_it_was() {
        let failed = job(json!([{"type": "Failed", "status": "True", "message": "backoff limit"}]));
        let fetch = [pod(
            "a",
            json!({"fetch": ended(77, r#"{"error": "the credentials are wrong"}"#)}),
            json!({"waiting": {}}),
        )];
        assert_eq!(work(&failed, &fetch, None).state, WorkState::Failed("the credentials are wrong".into()));
        let restore = [pod(
            "a",
            json!({"fetch": ended(0, ""), "restore": ended(1, "write: no space left on device\n")}),
            json!({"waiting": {}}),
        )];
        let WorkState::Failed(why) = work(&failed, &restore, None).state else { panic!("it failed") };
        assert!(
            why.contains("restore failed: write: no space left on device. The volume must hold"),
            "{why}"
        );
        assert_eq!(work(&failed, &[], None).state, WorkState::Failed("backoff limit".into()));
    }

    #[test]
    fn a_job_that_runs_says_what_it_does_or_waits_for() {
        let running = job(json!([]));
        let fetching =
            [pod("a", json!({"fetch": {"running": {}}}), json!({"waiting": {"reason": "PodInitializing"}}))];
        assert_eq!(work(&running, &fetching, None).state, WorkState::Running("fetch".into()));
        let waiting = json!({"fetch": {"waiting": {"reason": "CreateContainerConfigError", "message": "secret \"s3\" not found"}}});
        let WorkState::Running(waits) =
            work(&running, &[pod("a", waiting, json!({"waiting": {}}))], None).state
        else {
            panic!("it runs")
        };
        assert_eq!(waits, "the Job waits: CreateContainerConfigError: secret \"s3\" not found");
    }
}
