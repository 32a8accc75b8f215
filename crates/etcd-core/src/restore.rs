//! Restoring: the data of a backup is brought to a new volume, one member starts on it, and the cluster grows from there.
//!
//! In place, everything that can fail is done while the members that were still serve; then they are stopped, and started again if
//! the seed does not serve. The stage on record (`record.rs`) says what is done; [`turn`] says when it is the next one's turn.
//!
//! Invariants: members are stopped only for a restore that is on record and consented to; no volume is deleted; the seed never
//! founds (`Start::Started`), so an empty volume under it is an error and never an empty cluster.

mod turn;
mod wishes;

use std::time::Duration;

use etcd_types::OperationKind;

use crate::{
    Node, NodeState, Step, Task, Version, Why, Work, WorkState,
    case::{Case, Health, Seen},
    record::{BOOTSTRAP, Record, Stage},
    rule::{Deed, LOOK, Verdict},
    text::seconds,
};

pub(crate) use turn::turn;
pub(crate) use wishes::{claims, is_closed, may_start_members, replay_wish, seed};

use turn::{begin, serves_at_all};
use wishes::made_from;

/// After how long a Job that failed is tried again, where nobody else tries again.
const AGAIN: Duration = Duration::from_secs(60);
/// How the words of a Job begin whose pod cannot start yet.
const WAITS: &str = "the Job waits";

/// What the steps are called: in status.operation, status.restore and EtcdRestore.
const FETCHING: &str = "Fetching";
const RESTORING: &str = "Restoring";
pub(crate) const BACKING_UP: &str = "BackingUp";
const STOPPING: &str = "Stopping";
const STARTING: &str = "Starting";
const REPLAYING: &str = "Replaying";
pub(crate) const GROWING: &str = "Growing";
const RETURNING: &str = "Returning";
const WAITING_FOR_NODE: &str = "WaitingForNode";

/// Whether etcd of version `etcd` can begin with data of version `data`.
///
/// # Errors
/// Why not, as a sentence.
pub fn readable(data: Version, etcd: Version) -> Result<(), String> {
    if etcd < data && (etcd.minor < data.minor || etcd.patch < data.patch) {
        return Err(format!(
            "it was taken from etcd {data}, and etcd {etcd} is older: it cannot read it. Set spec.version to {data} or a later one"
        ));
    }
    if etcd.minor.0 != data.minor.0 || etcd.minor.1 > data.minor.1 + 1 {
        return Err(format!(
            "it was taken from etcd {data}, and etcd {etcd} is more than one minor later. Set spec.version to {}.{} or {}.{} first",
            data.minor.0,
            data.minor.1,
            data.minor.0,
            data.minor.1 + 1
        ));
    }
    Ok(())
}

/// The record of what is under way.
pub(crate) fn active<'a>(case: &'a Case<'_>) -> Option<&'a Record> {
    case.identity.record.as_ref().filter(|record| !record.is_over())
}

/// Whether the stage on record leaves no room for other rules.
pub(crate) fn is_exclusive(case: &Case<'_>) -> bool {
    active(case).is_some_and(|record| {
        matches!(record.stage, Stage::Stopping | Stage::Replaying | Stage::Returning { .. })
    })
}

/// What an operation that belongs to the restore is called, while the cluster grows from its seed.
pub(crate) fn growing(case: &Case<'_>) -> Option<(OperationKind, String)> {
    let record = active(case).filter(|record| record.stage == Stage::Growing)?;
    Some((kind(record), record.label.clone()))
}

fn kind(record: &Record) -> OperationKind {
    if record.is_in_place() { OperationKind::Restore } else { OperationKind::Recover }
}

/// What is being done, or waited for.
pub(crate) fn go(case: &Case<'_>) -> Verdict {
    // While the cluster grows, another restore may take the place of this one: nobody else could help if its seed is lost.
    let under_way = active(case).filter(|record| record.stage != Stage::Growing);
    let Some(record) = under_way else { return announce(case) };
    let deed = |doing| Deed::new(kind(record), &record.label, doing).about(record.seed);
    match &record.stage {
        Stage::Preparing => prepare(case, record),
        Stage::Stopping => stop(case, record, deed(STOPPING)),
        Stage::Starting => Verdict::Do(
            deed(STARTING).saying(seed_state(case, record)).look_again(LOOK, "whether the seed serves"),
        ),
        Stage::Replaying => replay(case, record, deed(REPLAYING)),
        Stage::Returning { why } => give_back(case, record, deed(RETURNING), why),
        Stage::Growing | Stage::Completed | Stage::Failed { .. } => Verdict::Pass,
    }
}

/// The node that the seed's volume is bound to, if nothing can be started there.
fn missing_node<'a>(case: &'a Case<'_>, record: &Record) -> Option<&'a Node> {
    let claim = case.members.get(&record.seed)?.objects.claim.as_ref()?;
    claim.node.as_ref().filter(|node| node.state != NodeState::Ready)
}

/// It is about to be put on record.
fn announce(case: &Case<'_>) -> Verdict {
    match begin(case) {
        Some(record) if !record.is_over() => {
            let deed = Deed::new(kind(&record), &record.label, FETCHING).about(record.seed);
            Verdict::Do(deed.saying(format!("the data of {} is brought to a new volume", record.label)))
        }
        _ => Verdict::Pass,
    }
}

fn prepare(case: &Case<'_>, record: &Record) -> Verdict {
    let deed = |doing| Deed::new(kind(record), &record.label, doing).about(record.seed);
    let request = case.picture.recovery.as_ref().filter(|request| request.uid == record.uid);
    let Some(request) = request else {
        let why = "spec.bootstrap.recovery was taken out before the data was there: put it back, or delete this EtcdCluster";
        return Verdict::Do(deed(FETCHING).saying(why).stuck(Why::WaitingForUser));
    };
    if let Some(problem) = &request.problem {
        let deed = deed(FETCHING).saying(problem.clone()).stuck(Why::WaitingForUser);
        return Verdict::Do(deed.look_again(AGAIN, "whether the backup is there"));
    }
    if let Some(node) = missing_node(case, record) {
        let (name, after) = (case.name(record.seed), seconds(case.wanted.remediation.replace_after));
        let wait = format!(
            "the volume of {name} is on the node {}, which is {}; after {after} (spec.remediation.replaceAfter) the data is fetched to another volume",
            node.name, node.state
        );
        return Verdict::Do(deed(WAITING_FOR_NODE).saying(wait).look_again(LOOK, "whether the node is back"));
    }
    let Some(work) = case.picture.work.seeds.get(&record.seed) else {
        return Verdict::Do(deed(FETCHING).saying(format!("the Job that fetches {} is made", record.label)));
    };
    let wanted = made_from(case, record);
    if work.made_from != wanted && !record.is_in_place() && !matches!(work.state, WorkState::Done(_)) {
        return delete_job(record, Task::Seed, work, deed(FETCHING), "something else is asked for now");
    }
    match &work.state {
        WorkState::Running(doing) if doing == "fetch" => {
            Verdict::Do(deed(FETCHING).saying(format!("{} is fetched and checked", record.label)))
        }
        WorkState::Running(doing) if doing.starts_with(WAITS) => {
            Verdict::Do(deed(FETCHING).saying(doing.clone()))
        }
        WorkState::Running(doing) if doing.is_empty() => {
            Verdict::Do(deed(FETCHING).saying(format!("the Job that fetches {} starts", record.label)))
        }
        WorkState::Running(_) => {
            let to = case.name(record.seed);
            Verdict::Do(deed(RESTORING).saying(format!("{} is written to the volume of {to}", record.label)))
        }
        WorkState::Failed(why) => retry(case, record, Task::Seed, work, deed(FETCHING), why),
        WorkState::ResultLost => {
            let deed = deed(FETCHING).saying("the Job is done, but its result is lost; it is run again");
            delete_job(record, Task::Seed, work, deed, "its result is lost")
        }
        WorkState::Done(_) if record.is_in_place() => {
            let deed = deed(BACKING_UP).saying(backing_up(case));
            let wanted = !request.without_safety_backup;
            let first = wanted && case.picture.work.safety.is_none() && serves_at_all(case);
            match (request.safety(), &request.store) {
                (Some(name), _) if let Some(why) = safety_failed(case).filter(|_| wanted) => {
                    let why = format!(
                        "EtcdBackup {name} of the present data failed: {why}; delete it to try again, or set spec.withoutSafetyBackup of the EtcdRestore to true to go on without it. Nothing is touched until then"
                    );
                    Verdict::Do(deed.saying(why).stuck(Why::WaitingForUser))
                }
                (Some(name), Some(store)) if first => {
                    Verdict::Do(deed.step(Step::TakeBackup { name, store: store.clone() }))
                }
                _ => Verdict::Do(deed),
            }
        }
        WorkState::Done(_) => {
            Verdict::Do(deed(STARTING).saying("the data is there; its first member starts"))
        }
    }
}

/// Why there is no backup of the present data, where one is wanted.
fn safety_failed<'a>(case: &'a Case<'_>) -> Option<&'a str> {
    match &case.picture.work.safety.as_ref()?.state {
        WorkState::Failed(why) if serves_at_all(case) => Some(why),
        WorkState::Failed(_) | WorkState::Running(_) | WorkState::ResultLost | WorkState::Done(_) => None,
    }
}

fn backing_up(case: &Case<'_>) -> String {
    match &case.picture.work.safety {
        None => "the data that the cluster has now is backed up first".to_owned(),
        Some(Work { state: WorkState::Running(doing), .. }) => {
            format!("the data that the cluster has now is backed up first: {doing}")
        }
        Some(Work { state: WorkState::Failed(why), .. }) => format!("the backup before failed: {why}"),
        Some(Work { state: WorkState::ResultLost, .. }) => {
            "the result of the backup before is lost".to_owned()
        }
        Some(Work { state: WorkState::Done(name), .. }) => {
            format!("the data that the cluster had is stored as {name}; the members are stopped now")
        }
    }
}

/// A Job that failed: it stays for people to look at, and is made again after a while.
fn retry(case: &Case<'_>, record: &Record, task: Task, work: &Work, deed: Deed, why: &str) -> Verdict {
    let deed = deed.saying(why).stuck(Why::RestoreFailed);
    if record.is_in_place() {
        return Verdict::Do(deed);
    }
    let past = work.ended.map_or(Duration::MAX, |ended| {
        Duration::try_from(case.now.duration_since(ended)).unwrap_or_default()
    });
    match AGAIN.checked_sub(past).filter(|left| !left.is_zero()) {
        Some(left) => Verdict::Do(deed.look_again(left, "it is tried again then")),
        None => delete_job(record, task, work, deed, "it failed, and is tried again"),
    }
}

fn delete_job(record: &Record, task: Task, work: &Work, deed: Deed, why: &str) -> Verdict {
    if work.deleting {
        return Verdict::Do(deed);
    }
    let (serial, uid, why) = (record.seed, work.uid.clone(), why.to_owned());
    Verdict::Do(deed.step(Step::DeleteJob { serial, task, uid, why }))
}

/// Everybody but the seed.
fn others<'a, 'p>(case: &'a Case<'p>, record: &'a Record) -> impl Iterator<Item = &'a Seen<'p>> {
    case.members.values().filter(|seen| seen.serial != record.seed)
}

fn stop(case: &Case<'_>, record: &Record, deed: Deed) -> Verdict {
    let left: Vec<&Seen<'_>> = others(case, record).filter(|seen| runs(case, seen)).collect();
    let stranded: Vec<&Seen<'_>> = others(case, record).filter(|seen| is_stranded(case, seen)).collect();
    let mut message =
        format!("stopping the members with the old data ({} remaining); their volumes are kept", left.len());
    for seen in left {
        if let Some(pod) = place_of_pod(case, seen) {
            message = format!("{message}; waiting for {pod}");
        }
    }
    for pod in stranded.into_iter().filter_map(|seen| place_of_pod(case, seen)) {
        message = format!("{message}; not waiting for {pod}");
    }
    let next = others(case, record).find_map(|seen| {
        Some((seen.serial, seen.objects.stateful_set.as_ref().filter(|set| !set.deleting)?))
    });
    let deed = deed.saying(message).look_again(LOOK, "whether the members are stopped");
    match next {
        Some((serial, set)) => {
            let (uid, why) = (set.uid.clone(), format!("{} replaces its data", record.label));
            Verdict::Do(deed.step(Step::DeleteStatefulSet { serial, uid, why }))
        }
        None => Verdict::Do(deed),
    }
}

/// A member's pod and its node, in words: "pod db-2-0 on node node-3, which is NotReady".
fn place_of_pod(case: &Case<'_>, seen: &Seen<'_>) -> Option<String> {
    let node = seen.objects.pod.as_ref()?.node.as_ref()?;
    let pod = format!("pod {}-0 on node {}", case.name(seen.serial), node.name);
    if node.state == NodeState::Ready {
        return Some(pod);
    }
    let answers = if answers(case, seen) {
        ", but its etcd still answers: shut the node down, or delete the Node object"
    } else {
        ""
    };
    Some(format!("{pod}, which is {}{answers}", node.state))
}

fn give_back(case: &Case<'_>, record: &Record, deed: Deed, why: &str) -> Verdict {
    let seed = case.members.get(&record.seed);
    let waits = seed.filter(|seen| runs(case, seen)).and_then(|seen| place_of_pod(case, seen));
    let waits = waits.map_or_else(String::new, |pod| format!("; waiting for {pod}"));
    let deed = deed.saying(format!("{why}; the members that were are started again{waits}"));
    let deed = deed.look_again(LOOK, "whether the members are back");
    let set = seed.and_then(|seen| seen.objects.stateful_set.as_ref());
    match set.filter(|set| !set.deleting) {
        Some(set) => {
            let (serial, uid, why) = (record.seed, set.uid.clone(), "the restore is given up".to_owned());
            Verdict::Do(deed.step(Step::DeleteStatefulSet { serial, uid, why }))
        }
        None => Verdict::Do(deed),
    }
}

fn replay(case: &Case<'_>, record: &Record, deed: Deed) -> Verdict {
    let deed = deed.look_again(LOOK, "whether everything is written");
    match case.picture.work.replays.get(&record.seed) {
        None => Verdict::Do(
            deed.saying("what was captured after the backup is written again; clients are let in then"),
        ),
        Some(work) => match &work.state {
            WorkState::Running(_) => Verdict::Do(
                deed.saying("what was captured after the backup is written again; clients are let in then"),
            ),
            WorkState::Failed(why) => retry(case, record, Task::Replay, work, deed, why),
            WorkState::Done(_) | WorkState::ResultLost => {
                Verdict::Do(deed.saying("everything is written; clients are let in"))
            }
        },
    }
}

/// Whether a member runs, or may be started again: its StatefulSet makes pods, or it has a pod that is not stranded.
///
/// A stranded pod may come to life with its node. It harms nothing: its kubelet ends it, no Service leads to a pod in deletion while another
/// one is ready, and its cluster has another ID, so that members of the two never talk to each other.
pub(crate) fn runs(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    let made = seen.objects.stateful_set.as_ref().is_some_and(|set| !set.deleting);
    made || (seen.objects.pod.is_some() && !is_stranded(case, seen))
}

/// Whether its pod is in deletion on a node that is dead, and nothing answers there. Kubernetes keeps such a pod until the node is back, or
/// its Node is deleted.
fn is_stranded(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    let Some(pod) = &seen.objects.pod else { return false };
    let on_dead_node = pod.node.as_ref().is_some_and(|node| node.state.is_dead());
    let gone = pod.node.as_ref().is_some_and(|node| node.state == NodeState::Gone);
    on_dead_node && (pod.deleting || gone) && !answers(case, seen)
}

/// Whether its etcd answers, whatever cluster it answers for.
fn answers(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    matches!(case.picture.etcd.endpoints.get(&seen.serial), Some(Ok(_)))
}

fn seed_state(case: &Case<'_>, record: &Record) -> String {
    let name = case.name(record.seed);
    match case.members.get(&record.seed).map(|seen| &seen.health) {
        None => format!("{name} is being made"),
        Some(Health::Serving | Health::Learning) => format!("{name} serves"),
        Some(Health::Starting(why) | Health::CatchingUp(why) | Health::Unseen(why)) => {
            format!("{name}: {why}")
        }
        Some(Health::Down(cause)) => format!("{name} {}", cause.what),
    }
}

/// Jobs whose work is done.
pub(crate) fn tidy(case: &Case<'_>) -> Verdict {
    let busy = active(case).filter(|record| record.stage != Stage::Growing).map(|record| record.seed);
    let work = &case.picture.work;
    let seeds = work.seeds.iter().map(|(serial, work)| (Task::Seed, *serial, work));
    let replays = work.replays.iter().map(|(serial, work)| (Task::Replay, *serial, work));
    let mut over = seeds.chain(replays).filter(|(_, serial, work)| Some(*serial) != busy && !work.deleting);
    let Some((task, serial, work)) = over.next() else { return Verdict::Pass };
    let deed = Deed::new(OperationKind::CleanUp, case.name(serial), "DeletingJob").about(serial);
    let why = "its restore is over".to_owned();
    Verdict::Do(deed.step(Step::DeleteJob { serial, task, uid: work.uid.clone(), why }))
}

/// Whether the cluster is to begin with the data of a backup.
pub(crate) fn recovers(picture: &crate::Picture, record: Option<&Record>) -> bool {
    let asked = picture.recovery.as_ref().is_some_and(|request| request.uid == BOOTSTRAP);
    asked || record.is_some_and(|record| !record.is_over())
}
