//! Why a member is down, and what helps. A table, read top-down: the first cause that fits is it.
//!
//! The ladder: Kubernetes restarts what crashes; we restart what hangs, and replace what cannot come back. What would be the same
//! in another pod (a wrong image, too little memory) is never replaced: somebody has to correct it.

use jiff::{SignedDuration, Timestamp};

use crate::{
    ClaimPhase, ClaimState, Exit, Node, NodeState, Picture, Pod,
    case::{self, Seen},
    corrupt,
    identity::Identity,
};

/// Why a member is down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    /// What is wrong, as the rest of a sentence about the member.
    pub(crate) what: String,
    pub(crate) remedy: Remedy,
}

/// What helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Kubernetes is at it.
    Wait,
    /// Somebody must correct the spec or the surroundings; then it comes up by itself.
    Correct,
    /// Restart it after `restartAfter`; replace it after `replaceAfter`.
    Restart,
    /// The same, but it gets the time of a long defragmentation before it is restarted.
    RestartLate,
    /// Replace it after `replaceAfter`.
    Replace,
    /// Replace it at once: it cannot come back.
    ReplaceNow,
    /// Restart it at once if its arguments are out of date: it has no data yet. Else Kubernetes tries again; replace it after `replaceAfter`.
    Refresh,
}

struct Row {
    fits: fn(&Facts<'_>) -> Option<String>,
    remedy: Remedy,
}

/// What a cause is found from.
struct Facts<'a> {
    seen: &'a Seen<'a>,
    identity: &'a Identity,
    pod: Option<&'a Pod>,
    /// How it ended the last time, if that has to do with its being down now.
    exit: Option<&'a Exit>,
    started: bool,
    in_memory: bool,
    /// Its process answers, its database does not.
    blocked: bool,
}

const CAUSES: &[Row] = &[
    Row { fits: foreign_claim, remedy: Remedy::ReplaceNow },
    Row { fits: claim_gone, remedy: Remedy::ReplaceNow },
    Row { fits: volume_lost, remedy: Remedy::ReplaceNow },
    Row { fits: empty_disk, remedy: Remedy::ReplaceNow },
    Row { fits: cannot_join, remedy: Remedy::Refresh },
    Row { fits: data_differs, remedy: Remedy::Correct },
    Row { fits: node_down, remedy: Remedy::Replace },
    Row { fits: volume_on_dead_node, remedy: Remedy::Replace },
    Row { fits: volume_on_unknown_host, remedy: Remedy::Replace },
    Row { fits: no_image, remedy: Remedy::Correct },
    Row { fits: no_container, remedy: Remedy::Correct },
    Row { fits: out_of_memory, remedy: Remedy::Correct },
    Row { fits: disk_full, remedy: Remedy::Correct },
    Row { fits: foreign_data, remedy: Remedy::ReplaceNow },
    Row { fits: going, remedy: Remedy::Wait },
    Row { fits: no_pod, remedy: Remedy::Wait },
    Row { fits: unschedulable, remedy: Remedy::Correct },
    Row { fits: crashing, remedy: Remedy::Replace },
    Row { fits: not_running_yet, remedy: Remedy::Wait },
    Row { fits: not_started_yet, remedy: Remedy::Wait },
    Row { fits: database_blocked, remedy: Remedy::RestartLate },
    Row { fits: silent, remedy: Remedy::Restart },
];

/// What etcd says before it exits, when its data directory is empty though the member has started before. Source:
/// server/etcdserver/{bootstrap,cluster_util}.go, server/etcdserver/api/membership, raft/log.go.
const EMPTY_DISK: &[&str] = &[
    "member count is unequal",
    "unmatched member while checking PeerURLs",
    "could not retrieve cluster information",
    "cannot fetch cluster info from peer urls",
    "has already been bootstrapped",
    "is out of range [lastIndex(",
];
/// The same for data of another cluster. Healthy members log the same words as a warning when such a member talks to them, so they count only
/// in the line that says why the process ended.
const FOREIGN_DATA: &[&str] = &["cluster ID mismatch", "cluster-id-mismatch", "mismatch cluster ID"];
const NO_IMAGE: &[&str] =
    &["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"];
const NO_CONTAINER: &[&str] = &["CreateContainerConfigError", "CreateContainerError", "RunContainerError"];

/// The levels of a line in etcd's log after which it ends. Source: go.uber.org/zap.
const FATAL: &[&str] = &["fatal", "panic", "dpanic"];
/// How the Go runtime begins what it says at the end.
const PANICS: &[&str] = &["panic:", "fatal error:", "runtime:"];
/// More than that nobody reads in a status.
const MOST_WORDS: usize = 160;

/// How many restarts are a loop.
const LOOP: u32 = 3;
/// An end so long before a member was seen to be down may be why it is.
const RELATED: SignedDuration = SignedDuration::from_secs(60);

pub(crate) fn of(seen: &Seen<'_>, picture: &Picture, identity: &Identity) -> Cause {
    let in_memory = seen.is_in_memory() || picture.spec.storage.medium == etcd_types::Medium::Memory;
    let pod = seen.objects.pod.as_ref();
    let exit = pod.and_then(|pod| pod.last_exit.as_ref().filter(|exit| matters(exit, pod, seen.since)));
    let blocked = picture.etcd.blocked.contains(&seen.serial);
    let facts = Facts { seen, identity, pod, exit, started: seen.has_started(), in_memory, blocked };
    if let Some(Ok(endpoint)) = picture.etcd.endpoints.get(&seen.serial)
        && let Some(foreign) = case::foreign(endpoint, seen.listed, identity)
    {
        return Cause { what: foreign.to_string(), remedy: Remedy::ReplaceNow };
    }
    let found =
        CAUSES.iter().find_map(|row| (row.fits)(&facts).map(|what| Cause { what, remedy: row.remedy }));
    found.unwrap_or_else(|| Cause { what: "does not serve".into(), remedy: Remedy::Wait })
}

/// A process that ended weeks ago and has served since did not end for what is wrong today.
fn matters(exit: &Exit, pod: &Pod, down_since: Timestamp) -> bool {
    !pod.running || exit.at.is_none_or(|at| at + RELATED >= down_since)
}

fn foreign_claim(facts: &Facts<'_>) -> Option<String> {
    facts.exit?;
    let claim = facts.seen.objects.claim.as_ref().and_then(|claim| claim.cluster_id);
    let other = claim.filter(|id| !facts.identity.accepts(*id))?;
    Some(format!("has the data of another cluster, {other}"))
}

fn foreign_data(facts: &Facts<'_>) -> Option<String> {
    let line = fatal(&facts.exit?.message)?;
    let foreign = FOREIGN_DATA.iter().any(|words| line.contains(words));
    foreign.then(|| "has the data of another cluster".to_owned())
}

fn claim_gone(facts: &Facts<'_>) -> Option<String> {
    let voter =
        facts.seen.listed.is_some_and(|listed| !listed.learner) && facts.seen.objects.stateful_set.is_some();
    if facts.in_memory || !(facts.started || voter) {
        return None;
    }
    match &facts.seen.objects.claim {
        None => Some("has lost its claim".into()),
        Some(claim) if !claim.ours => Some("has a claim that somebody else made".into()),
        Some(claim) if matches!(claim.state, ClaimState::Detached { .. }) => {
            Some("has a claim that was given up".into())
        }
        Some(claim) if claim.deleting => Some("is losing its claim".into()),
        Some(_) => None,
    }
}

fn volume_lost(facts: &Facts<'_>) -> Option<String> {
    let lost = facts.seen.objects.claim.as_ref()?.phase == ClaimPhase::Lost;
    lost.then(|| "has lost its volume".to_owned())
}

fn empty_disk(facts: &Facts<'_>) -> Option<String> {
    let exit = facts.exit.filter(|_| facts.started)?;
    says(exit, EMPTY_DISK).then(|| "has an empty disk".to_owned())
}

/// It never started: the list that it was given may no longer be that of the cluster, or it does not reach the others yet.
fn cannot_join(facts: &Facts<'_>) -> Option<String> {
    let exit = facts.exit.filter(|_| !facts.started && facts.seen.listed.is_some())?;
    says(exit, EMPTY_DISK).then(|| format!("cannot join the others: {}", last_words(&exit.message)))
}

/// Either of the two may be wrong: `corrupt.rs` finds out which one, and replaces it.
fn data_differs(facts: &Facts<'_>) -> Option<String> {
    let refuses = facts.exit.is_some() && corrupt::refuses_to_start(facts.pod);
    refuses.then(|| "does not start, because its data differs from that of a member that runs".to_owned())
}

fn node_down(facts: &Facts<'_>) -> Option<String> {
    let node = facts.pod?.node.as_ref().filter(|node| node.state != NodeState::Ready)?;
    let how = if node.state == NodeState::Gone { "deleted" } else { "not ready" };
    Some(format!("was on the node {}, which is {how}", node.name))
}

/// The node that its volume is bound to. While a pod of the member is on a node that is ready, the volume is within reach.
fn volume_node<'a>(seen: &Seen<'a>) -> Option<&'a Node> {
    let pod_node = seen.objects.pod.as_ref().and_then(|pod| pod.node.as_ref());
    let within_reach = pod_node.is_some_and(|node| node.state == NodeState::Ready);
    seen.objects.claim.as_ref()?.node.as_ref().filter(|_| !within_reach)
}

fn volume_on_dead_node(facts: &Facts<'_>) -> Option<String> {
    let node = volume_node(facts.seen).filter(|node| node.state.is_dead())?;
    Some(format!("has its volume on the node {}, which is not ready", node.name))
}

/// The Node may come back under the same host name: nothing proves that the volume is lost, so it gets the time that a dead node gets.
fn volume_on_unknown_host(facts: &Facts<'_>) -> Option<String> {
    let node = volume_node(facts.seen).filter(|node| node.state == NodeState::Unknown)?;
    Some(format!(
        "has its volume on the host {}, and no Node carries that label kubernetes.io/hostname",
        node.name
    ))
}

/// Whether a member is down because of its node, or of the node of its volume.
pub(crate) fn lacks_node(seen: &Seen<'_>) -> bool {
    let pod_node = seen.objects.pod.as_ref().and_then(|pod| pod.node.as_ref());
    let away = |node: &Node| node.state != NodeState::Ready;
    pod_node.is_some_and(away) || volume_node(seen).is_some_and(away)
}

fn no_image(facts: &Facts<'_>) -> Option<String> {
    waits(facts, NO_IMAGE, "cannot get its image (spec.version, spec.image, spec.pod.imagePullSecrets)")
}

/// Whether there is no image to make its container from: nothing of it has ever run in this pod.
pub(crate) fn lacks_image(pod: &Pod) -> bool {
    let waiting = pod.waiting.as_ref().is_some_and(|waiting| NO_IMAGE.contains(&waiting.reason.as_str()));
    waiting && !pod.running && pod.restarts == 0 && pod.last_exit.is_none()
}

fn no_container(facts: &Facts<'_>) -> Option<String> {
    waits(facts, NO_CONTAINER, "cannot make its container")
}

fn waits(facts: &Facts<'_>, reasons: &[&str], what: &str) -> Option<String> {
    let waiting = facts.pod?.waiting.as_ref()?;
    let because = [waiting.reason.as_str(), waiting.message.as_str()].join(" ");
    reasons.contains(&waiting.reason.as_str()).then(|| format!("{what}: {}", because.trim_end()))
}

fn out_of_memory(facts: &Facts<'_>) -> Option<String> {
    let exit = facts.exit?;
    (exit.reason == "OOMKilled").then(|| "needs more memory than spec.pod.resources allows".to_owned())
}

fn disk_full(facts: &Facts<'_>) -> Option<String> {
    let exit = facts.exit?;
    says(exit, &["no space left on device"])
        .then(|| "has no room left on its volume: set a larger spec.storage.size".to_owned())
}

fn going(facts: &Facts<'_>) -> Option<String> {
    facts.pod?.deleting.then(|| "is being stopped".to_owned())
}

fn no_pod(facts: &Facts<'_>) -> Option<String> {
    facts.pod.is_none().then(|| "has no pod yet".to_owned())
}

fn unschedulable(facts: &Facts<'_>) -> Option<String> {
    let why = facts.pod?.unschedulable.as_ref()?;
    Some(format!("finds no node: {why}"))
}

fn crashing(facts: &Facts<'_>) -> Option<String> {
    let pod = facts.pod?;
    let exit = facts.exit.filter(|_| pod.restarts >= LOOP)?;
    Some(format!("keeps crashing (exit code {}): {}", exit.code, last_words(&exit.message)))
}

/// The same, as short as a status wants it.
fn last_words(log: &str) -> String {
    reason(log).chars().take(MOST_WORDS).collect()
}

/// What of the end of a log says why it is the end: the fatal line, else the last one.
fn reason(log: &str) -> String {
    let last = || log.lines().map(str::trim).rfind(|line| !line.is_empty());
    let line = fatal(log).or_else(last).unwrap_or_default();
    match (field(line, "msg"), field(line, "error")) {
        (Some(message), Some(error)) => format!("{message}: {error}"),
        (Some(message), None) => message,
        (None, _) => line.to_owned(),
    }
}

/// The line after which the process ended by itself. etcd logs a line of JSON, and a panic ends with the stacks of all goroutines: so the last
/// line that is fatal, else where the panic begins. A process that was killed has none.
fn fatal(log: &str) -> Option<&str> {
    let lines = || log.lines().map(str::trim);
    let is_fatal = |line: &&str| field(line, "level").is_some_and(|level| FATAL.contains(&level.as_str()));
    let panics = |line: &&str| PANICS.iter().any(|words| line.starts_with(words));
    lines().rfind(is_fatal).or_else(|| lines().find(panics))
}

/// A field of a line of JSON.
fn field(line: &str, name: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(line.get(name)?.as_str()?.to_owned())
}

fn not_running_yet(facts: &Facts<'_>) -> Option<String> {
    (!facts.pod?.running).then(|| "is starting".to_owned())
}

/// The kubelet gives it half an hour, and ends it then.
fn not_started_yet(facts: &Facts<'_>) -> Option<String> {
    (!facts.pod?.started).then(|| "runs, and reads its data".to_owned())
}

/// What is said of a member whose database is blocked.
pub const DATABASE_BLOCKED: &str =
    "runs, but its database does not respond, for example because it is being defragmented";

/// etcd locks the database while it defragments it. A restart would throw the work away, and the next attempt would take as long.
fn database_blocked(facts: &Facts<'_>) -> Option<String> {
    facts.blocked.then(|| DATABASE_BLOCKED.to_owned())
}

fn silent(_: &Facts<'_>) -> Option<String> {
    Some("runs and does not serve".to_owned())
}

fn says(exit: &Exit, what: &[&str]) -> bool {
    what.iter().any(|words| exit.message.contains(words))
}

#[cfg(test)]
mod tests;
