//! Why a member is down, and what helps. A table, read top-down: the first cause that fits is it.
//!
//! The ladder: Kubernetes restarts what crashes; we restart what hangs, and replace what cannot come back. What would be the same
//! in another pod (a wrong image, too little memory) is never replaced: somebody has to correct it.

use jiff::{SignedDuration, Timestamp};

use crate::{
    ClaimPhase, ClaimState, Exit, NodeState, Picture, Pod,
    case::{self, Seen},
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
}

const CAUSES: &[Row] = &[
    Row { fits: foreign_data, remedy: Remedy::ReplaceNow },
    Row { fits: claim_gone, remedy: Remedy::ReplaceNow },
    Row { fits: volume_lost, remedy: Remedy::ReplaceNow },
    Row { fits: volume_on_gone_node, remedy: Remedy::ReplaceNow },
    Row { fits: empty_disk, remedy: Remedy::ReplaceNow },
    Row { fits: cannot_join, remedy: Remedy::Refresh },
    Row { fits: node_down, remedy: Remedy::Replace },
    Row { fits: volume_on_dead_node, remedy: Remedy::Replace },
    Row { fits: no_image, remedy: Remedy::Correct },
    Row { fits: no_container, remedy: Remedy::Correct },
    Row { fits: out_of_memory, remedy: Remedy::Correct },
    Row { fits: disk_full, remedy: Remedy::Correct },
    Row { fits: going, remedy: Remedy::Wait },
    Row { fits: no_pod, remedy: Remedy::Wait },
    Row { fits: unschedulable, remedy: Remedy::Correct },
    Row { fits: crashing, remedy: Remedy::Replace },
    Row { fits: not_running_yet, remedy: Remedy::Wait },
    Row { fits: not_started_yet, remedy: Remedy::Wait },
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
/// The same for data of another cluster.
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
    let facts = Facts { seen, identity, pod, exit, started: seen.has_started(), in_memory };
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

fn foreign_data(facts: &Facts<'_>) -> Option<String> {
    let exit = facts.exit?;
    let claim = facts.seen.objects.claim.as_ref().and_then(|claim| claim.cluster_id);
    let other = claim.filter(|id| !facts.identity.accepts(*id));
    if let Some(other) = other {
        return Some(format!("has the data of another cluster, {other}"));
    }
    says(exit, FOREIGN_DATA).then(|| "has the data of another cluster".to_owned())
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

fn volume_on_gone_node(facts: &Facts<'_>) -> Option<String> {
    let node =
        facts.seen.objects.claim.as_ref()?.node.as_ref().filter(|node| node.state == NodeState::Gone)?;
    Some(format!("had its volume on the node {}, which is gone", node.name))
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

fn node_down(facts: &Facts<'_>) -> Option<String> {
    let node = facts.pod?.node.as_ref().filter(|node| node.state != NodeState::Ready)?;
    Some(format!("was on the node {}, which is not ready", node.name))
}

fn volume_on_dead_node(facts: &Facts<'_>) -> Option<String> {
    let node =
        facts.seen.objects.claim.as_ref()?.node.as_ref().filter(|node| node.state == NodeState::NotReady)?;
    Some(format!("has its volume on the node {}, which is not ready", node.name))
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

/// What of the end of a log says why it is the end. etcd logs a line of JSON, and a panic ends with the stacks of all goroutines: so
/// the last line that is fatal, else where the panic begins, else the last one.
fn last_words(log: &str) -> String {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let says = |line: &str, name: &str| -> Option<String> {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(line.get(name)?.as_str()?.to_owned())
    };
    let is_fatal = |line: &&str| says(line, "level").is_some_and(|level| FATAL.contains(&level.as_str()));
    let panics = |line: &&str| PANICS.iter().any(|words| line.starts_with(words));
    let line = lines().rfind(is_fatal).or_else(|| lines().find(panics)).or_else(|| lines().next_back());
    let line = line.unwrap_or_default();
    let words = match (says(line, "msg"), says(line, "error")) {
        (Some(message), Some(error)) => format!("{message}: {error}"),
        (Some(message), None) => message,
        (None, _) => line.to_owned(),
    };
    words.chars().take(MOST_WORDS).collect()
}

fn not_running_yet(facts: &Facts<'_>) -> Option<String> {
    (!facts.pod?.running).then(|| "is starting".to_owned())
}

/// The kubelet gives it half an hour, and ends it then.
fn not_started_yet(facts: &Facts<'_>) -> Option<String> {
    (!facts.pod?.started).then(|| "runs, and reads its data".to_owned())
}

fn silent(_: &Facts<'_>) -> Option<String> {
    Some("runs and does not serve".to_owned())
}

fn says(exit: &Exit, what: &[&str]) -> bool {
    what.iter().any(|words| exit.message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::last_words;

    #[test]
    fn what_ended_a_process_is_told_and_not_where_its_stack_ended() {
        let cases = [
            ("a\nb\n\n", "b"),
            ("", ""),
            (
                "{\"level\":\"info\",\"msg\":\"starting\"}\n{\"level\":\"fatal\",\"caller\":\"etcdmain/etcd.go:204\",\"msg\":\"discovery failed\",\"error\":\"member count is unequal\",\"stacktrace\":\"go…\"}",
                "discovery failed: member count is unequal",
            ),
            (
                "{\"level\":\"panic\",\"msg\":\"tocommit(9) is out of range [lastIndex(0)]\"}\npanic: tocommit(9) is out of range\n\ngoroutine 1 [running]:\nmain.main()\n\t/go/main.go:9 +0x1d",
                "tocommit(9) is out of range [lastIndex(0)]",
            ),
            (
                "panic: runtime error: index out of range\n\ngoroutine 7 [running]:\nmain.f(0x1)\n\t/a.go:3",
                "panic: runtime error: index out of range",
            ),
            (
                "etcd: error verifying flags, unknown flag: --x. See 'etcd --help'.",
                "etcd: error verifying flags, unknown flag: --x. See 'etcd --help'.",
            ),
        ];
        for (log, expected) in cases {
            assert_eq!(last_words(log), expected);
        }
        assert_eq!(last_words(&"x".repeat(500)).len(), 160);
    }
}
