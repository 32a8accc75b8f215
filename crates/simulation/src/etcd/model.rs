//! All etcd processes and clusters, and what happens to them as time passes.
//!
//! A process reaches all others that are not in trouble, or nobody. [`Model::settle`] brings everything up to a point in time: leaders
//! are lost and elected, members catch up and tell their names, clusters agree on a version, removed members go.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use etcd_api::{MemberId, Role};
use tokio::time::Instant;

use super::{
    cluster::{Cluster, Founding, quorum},
    settings::{Settings, Version},
    tls::Credentials,
};

/// From a lost leader to the next one.
const ELECTION: Duration = Duration::from_secs(1);
/// Until a member that was away has what the others have; and a new one, which has nothing.
const CATCH_UP: Duration = Duration::from_secs(1);
const FIRST_CATCH_UP: Duration = Duration::from_secs(3);
/// How often the leader compares the cluster version with the members' versions, from its election on.
const MONITOR: Duration = Duration::from_secs(4);
/// A connection counts for a change of members when it is that old.
pub(super) const HEALTH_INTERVAL: Duration = Duration::from_secs(5);
/// A removed member stays that long.
const FAREWELL: Duration = Duration::from_secs(1);
/// Until a container that ended is started again: the first time, and at most; it doubles.
const RESTART: Duration = Duration::from_secs(10);
const LAST_RESTART: Duration = Duration::from_secs(300);
/// Only the time tells the last words of one restart from those of the next, and that is how the kubelet counts. From then on time
/// stands still in them, so that a world with a crash loop comes to rest.
pub(super) const TIME: &str = "{restarts}";
const COUNTED_RESTARTS: u32 = 6;

/// What is wrong with a member that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It hangs.
    Paused,
    /// Nobody reaches it.
    CutOff,
    /// The other members do not reach it; clients do.
    CutFromPeers,
    /// Clients do not reach it; the other members do.
    CutFromClients,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exit {
    pub(super) code: i32,
    pub(super) message: String,
}

/// A pod's process that ended, and is started again when its time has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) exit: Exit,
    pub(super) again: Instant,
    times: u32,
    /// The kubelet knows that the time has come.
    announced: bool,
}

/// How much of the log a member has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Log {
    /// Not more than this, until there is a leader.
    Behind(u64),
    CatchingUp {
        from: u64,
        until: Instant,
    },
    Current,
}

#[derive(Debug, Clone)]
pub(super) struct Process {
    /// The pod's UID.
    pub(super) pod: String,
    /// Counts the starts of all processes: the next one at the same place is another.
    pub(super) serial: u64,
    pub(super) settings: Settings,
    pub(super) founding: Founding,
    pub(super) member: MemberId,
    /// Others reach it since then.
    pub(super) since: Instant,
    pub(super) log: Log,
    leaves: Option<Instant>,
    /// What its readiness probe said when it was last looked at.
    ready: bool,
}

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) clusters: BTreeMap<Founding, Cluster>,
    /// By the first client URL.
    pub(super) processes: BTreeMap<String, Process>,
    /// The processes of each cluster: there may be hundreds, and each looks only at its own.
    places: BTreeMap<Founding, BTreeSet<String>>,
    /// The client URL of each pod's process, by UID.
    pub(super) pods: BTreeMap<String, String>,
    /// When to look at each cluster; at once for those without a time.
    due: BTreeMap<Founding, Option<Instant>>,
    /// Something happened that others may wait for.
    pub(super) moved: bool,
    /// Some process became ready or unready, ended, or may be started again.
    pub(super) pods_moved: bool,
    pub(super) troubles: BTreeMap<String, Trouble>,
    /// How processes prove who they are, by client URL.
    pub(super) credentials: BTreeMap<String, Credentials>,
    /// Processes that the other members rejected when they started, and so for as long as they run.
    pub(super) rejected: BTreeSet<String>,
    /// How pods' processes ended, by UID.
    pub(super) ended: BTreeMap<String, Ended>,
    /// How far the logs of members were that do not run.
    pub(super) logs: BTreeMap<(Founding, MemberId), u64>,
    /// Versions whose image is broken.
    pub(super) broken: BTreeSet<Version>,
    pub(super) starts: u64,
}

impl Process {
    pub(super) fn url(&self) -> &str {
        self.settings.client_urls.first().map(String::as_str).unwrap_or_default()
    }

    pub(super) fn new(
        pod: String,
        serial: u64,
        settings: Settings,
        (founding, member): (Founding, MemberId),
        log: Log,
        now: Instant,
    ) -> Self {
        Self { pod, serial, settings, founding, member, since: now, log, leaves: None, ready: false }
    }
}

impl Model {
    pub(super) fn trouble(&self, url: &str) -> Option<Trouble> {
        self.troubles.get(url).copied()
    }

    /// Whether the other members reach it.
    pub(super) fn reaches_peers(&self, process: &Process) -> bool {
        matches!(self.trouble(process.url()), None | Some(Trouble::CutFromClients))
            && !self.rejected.contains(process.url())
    }

    /// The processes of a cluster.
    fn processes_of(&self, founding: Founding) -> impl Iterator<Item = &Process> {
        let places = self.places.get(&founding).into_iter().flatten();
        places.filter_map(|url| self.processes.get(url))
    }

    /// The processes of its cluster that a process reaches: itself, and nobody else while it is cut off.
    pub(super) fn company<'a>(&'a self, of: &Process) -> impl Iterator<Item = &'a Process> + use<'a> {
        let (alone, serial) = (!self.reaches_peers(of), of.serial);
        self.processes_of(of.founding)
            .filter(move |other| other.serial == serial || (!alone && self.reaches_peers(other)))
    }

    /// Something changed about a cluster: it is looked at again.
    pub(super) fn touch(&mut self, founding: Founding) {
        self.due.insert(founding, None);
        self.moved = true;
    }

    /// Something changed about the member at `url`.
    pub(super) fn touch_at(&mut self, url: &str) {
        if let Some(founding) = self.processes.get(url).map(|process| process.founding) {
            self.touch(founding);
        }
    }

    /// A process that runs from now on.
    pub(super) fn begin(&mut self, process: Process) {
        let (url, founding) = (process.url().to_owned(), process.founding);
        self.pods.insert(process.pod.clone(), url.clone());
        self.places.entry(founding).or_default().insert(url.clone());
        self.processes.insert(url, process);
        self.touch(founding);
    }

    /// Whether a process reaches a quorum of its cluster's voters.
    pub(super) fn has_quorum(&self, process: &Process) -> bool {
        let Some(cluster) = self.clusters.get(&process.founding) else { return false };
        if self.trouble(process.url()) == Some(Trouble::Paused) {
            return false;
        }
        let voters: BTreeSet<MemberId> = cluster.voters().map(|member| member.id).collect();
        let here: BTreeSet<MemberId> = self.company(process).map(|process| process.member).collect();
        !voters.is_empty() && voters.intersection(&here).count() >= quorum(voters.len())
    }

    /// The leader, as a process sees it.
    pub(super) fn leader_of(&self, process: &Process) -> Option<&Process> {
        let leader = self.clusters.get(&process.founding)?.leader?;
        self.company(process).find(|other| other.member == leader).filter(|_| self.has_quorum(process))
    }

    /// Whether it answers for the cluster: `/readyz`.
    pub(super) fn is_ready(&self, process: &Process) -> bool {
        let role =
            self.clusters.get(&process.founding).and_then(|c| c.members.get(&process.member)).map(|m| m.role);
        role == Some(Role::Voter)
            && self.leader_of(process).is_some()
            && process.log == Log::Current
            && self.trouble(process.url()) != Some(Trouble::Paused)
            && !self.clusters.get(&process.founding).is_some_and(Cluster::is_corrupt)
    }

    /// How much of the log a process has applied.
    pub(super) fn applied(&self, process: &Process) -> u64 {
        match process.log {
            Log::Behind(index) | Log::CatchingUp { from: index, .. } => index,
            Log::Current => self.clusters.get(&process.founding).map_or(0, |cluster| cluster.index),
        }
    }

    /// Ends a process; what it had on disk stays. A leader that is asked to end hands over, one that is killed does not.
    pub(super) fn end(&mut self, url: &str, hands_over: bool) {
        let Some(process) = self.processes.get(url).cloned() else { return };
        let applied = self.applied(&process);
        self.logs.insert((process.founding, process.member), applied);
        let heir = self
            .company(&process)
            .find(|other| other.member != process.member && self.may_lead(other))
            .map(|other| other.member);
        let leads = self.clusters.get(&process.founding).is_some_and(|c| c.leader == Some(process.member));
        self.processes.remove(url);
        self.pods.remove(&process.pod);
        if let Some(places) = self.places.get_mut(&process.founding) {
            places.remove(url);
        }
        self.touch(process.founding);
        self.pods_moved = true;
        if self.trouble(url) == Some(Trouble::Paused) {
            self.troubles.remove(url);
        }
        if let Some(cluster) = self.clusters.get_mut(&process.founding).filter(|_| leads && hands_over) {
            cluster.leader = heir;
            cluster.term += u64::from(heir.is_some());
        }
    }

    /// A pod's process has ended, and its kubelet will start it again: how it ended, as the kubelet sees it.
    pub(super) fn exited(&mut self, pod: &str, mut exit: Exit, now: Instant) -> Exit {
        let times = self.ended.get(pod).map_or(0, |before| before.times + 1);
        let again = now + (RESTART * 2_u32.pow(times.min(5))).min(LAST_RESTART);
        exit.message = exit.message.replace(TIME, &times.min(COUNTED_RESTARTS).to_string());
        self.ended.insert(pod.to_owned(), Ended { exit: exit.clone(), again, times, announced: false });
        self.pods_moved = true;
        exit
    }

    pub(super) fn may_lead(&self, process: &Process) -> bool {
        self.votes(process)
            && process.log == Log::Current
            && self.trouble(process.url()) != Some(Trouble::Paused)
    }

    /// Brings everything up to `now`.
    pub(super) fn settle(&mut self, now: Instant) {
        for ended in self.ended.values_mut().filter(|ended| !ended.announced && ended.again <= now) {
            ended.announced = true;
            self.pods_moved = true;
        }
        let is_due = |due: &Option<Instant>| due.is_none_or(|due| due <= now);
        while let Some(founding) = self.due.iter().find(|(_, due)| is_due(due)).map(|(founding, _)| *founding)
        {
            self.due.remove(&founding);
            let mut wakes = Wakes { now, next: None };
            self.say_farewell(founding, &mut wakes);
            self.elect(founding, &mut wakes);
            self.catch_up(founding, &mut wakes);
            self.publish(founding);
            self.agree_on_version(founding, &mut wakes);
            self.look_at_readiness(founding);
            // Unless a step above has asked for another look at once.
            if let Some(next) = wakes.next {
                self.due.entry(founding).or_insert(Some(next));
            }
        }
    }

    /// When to settle again.
    pub(super) fn wake(&self) -> Option<Instant> {
        let again = self.ended.values().filter(|ended| !ended.announced).map(|ended| ended.again);
        again.chain(self.due.values().copied().flatten()).min()
    }

    fn look_at_readiness(&mut self, founding: Founding) {
        let ready: Vec<(String, bool)> = self
            .processes_of(founding)
            .map(|process| (process.url().to_owned(), self.is_ready(process)))
            .collect();
        for (url, ready) in ready {
            if let Some(process) = self.processes.get_mut(&url).filter(|process| process.ready != ready) {
                process.ready = ready;
                self.pods_moved = true;
            }
        }
    }

    /// A member that hears that it was removed ends, with success.
    fn say_farewell(&mut self, founding: Founding, wakes: &mut Wakes) {
        let hears = |process: &&Process| {
            let removed = |cluster: &Cluster| cluster.removed.contains(&process.member);
            self.clusters.get(&founding).is_some_and(removed) && self.company(process).count() > 1
        };
        let removed: Vec<String> =
            self.processes_of(founding).filter(hears).map(|process| process.url().to_owned()).collect();
        for url in removed {
            let Some(process) = self.processes.get_mut(&url) else { continue };
            let leaves = *process.leaves.get_or_insert(wakes.now + FAREWELL);
            if wakes.is_past(leaves) {
                let exit = Exit { code: 0, message: String::new() };
                let pod = process.pod.clone();
                self.end(&url, true);
                self.exited(&pod, exit, wakes.now);
            }
        }
    }

    fn elect(&mut self, founding: Founding, wakes: &mut Wakes) {
        let leads = self.clusters.get(&founding).and_then(|cluster| cluster.leader);
        let leading = self.processes_of(founding).find(|process| Some(process.member) == leads);
        let still = leading.is_some_and(|process| self.votes(process) && self.has_quorum(process));
        let able = |process: &&Process| self.votes(process) && self.has_quorum(process);
        let best = |process: &&Process| (self.applied(process), std::cmp::Reverse(process.serial));
        let candidate = self.processes_of(founding).filter(able).max_by_key(best);
        let candidate = candidate.map(|process| (process.member, process.url().to_owned()));
        let Some(cluster) = self.clusters.get_mut(&founding) else { return };
        if still {
            cluster.electing = None;
            return;
        }
        self.moved |= cluster.leader.take().is_some();
        let Some((candidate, url)) = candidate else {
            cluster.electing = None;
            return;
        };
        let since = *cluster.electing.get_or_insert(wakes.now);
        if wakes.is_past(since + ELECTION) {
            cluster.leader = Some(candidate);
            cluster.electing = None;
            cluster.term += 1;
            cluster.index += 1;
            if let Some(process) = self.processes.get_mut(&url) {
                process.log = Log::Current;
            }
            self.moved = true;
        }
    }

    fn votes(&self, process: &Process) -> bool {
        let cluster = self.clusters.get(&process.founding);
        cluster.is_some_and(|cluster| cluster.voters().any(|member| member.id == process.member))
    }

    fn catch_up(&mut self, founding: Founding, wakes: &mut Wakes) {
        let led: Vec<String> = self
            .processes_of(founding)
            .filter(|process| self.leader_of(process).is_some())
            .map(|process| process.url().to_owned())
            .collect();
        for url in led {
            let Some(process) = self.processes.get_mut(&url) else { continue };
            let log = match process.log {
                Log::Behind(0) => Log::CatchingUp { from: 0, until: wakes.now + FIRST_CATCH_UP },
                Log::Behind(from) => Log::CatchingUp { from, until: wakes.now + CATCH_UP },
                Log::CatchingUp { until, .. } if wakes.is_past(until) => Log::Current,
                other => other,
            };
            if let Log::CatchingUp { until, .. } = log {
                wakes.is_past(until);
            }
            self.moved |= process.log != log;
            process.log = log;
        }
    }

    /// Members tell the others their names and client URLs, and from then on have started.
    fn publish(&mut self, founding: Founding) {
        let told: Vec<(MemberId, String, Vec<String>)> = self
            .processes_of(founding)
            .filter(|process| self.leader_of(process).is_some())
            .map(|process| {
                (process.member, process.settings.name.clone(), process.settings.client_urls.clone())
            })
            .collect();
        let Some(cluster) = self.clusters.get_mut(&founding) else { return };
        for (id, name, client_urls) in told {
            if let Some(member) = cluster.members.get_mut(&id).filter(|m| m.client_urls != client_urls) {
                (member.name, member.client_urls) = (name, client_urls);
                cluster.index += 1;
                self.moved = true;
            }
        }
    }

    /// The lowest version of all members, once all of them answer; down only when that was asked for.
    fn agree_on_version(&mut self, founding: Founding, wakes: &mut Wakes) {
        let wanted = self.wanted_version(founding);
        let Some(cluster) = self.clusters.get_mut(&founding) else { return };
        let elected = match cluster.elected {
            Some((term, at)) if term == cluster.term => at,
            _ => wakes.now,
        };
        cluster.elected = cluster.leader.map(|_| (cluster.term, elected));
        let Some((wanted, done)) = wanted.filter(|(wanted, done)| cluster.version != Some(*wanted) || *done)
        else {
            cluster.version_due = None;
            return;
        };
        let since = *cluster.version_due.get_or_insert(wakes.now);
        if cluster.version.is_none() || wakes.is_past(next_comparison(elected, since)) {
            cluster.version = Some(wanted);
            cluster.version_due = None;
            self.moved = true;
            if done {
                cluster.downgrade = None;
            }
        }
    }

    /// The version that the cluster should have, and whether that ends a downgrade.
    fn wanted_version(&self, founding: Founding) -> Option<(Version, bool)> {
        let cluster = self.clusters.get(&founding)?;
        let leader = self.processes_of(founding).find(|process| Some(process.member) == cluster.leader)?;
        let here: BTreeMap<MemberId, Version> =
            self.company(leader).map(|process| (process.member, process.settings.version)).collect();
        let versions: Option<Vec<Version>> = cluster.members.keys().map(|id| here.get(id).copied()).collect();
        let lowest = versions?.into_iter().min()?.of_cluster();
        let highest = cluster.members.keys().filter_map(|id| here.get(id)).max()?.of_cluster();
        match (cluster.downgrade, cluster.version) {
            (Some(target), _) => Some((target, highest == target && cluster.version == Some(target))),
            (None, Some(version)) if lowest <= version => None,
            (None, _) => Some((lowest, false)),
        }
    }
}

/// The first time at or after `since` at which a leader compares versions: when it is elected, and every [`MONITOR`] from then on.
fn next_comparison(elected: Instant, since: Instant) -> Instant {
    let passed = since.saturating_duration_since(elected).as_millis();
    let periods = passed.div_ceil(MONITOR.as_millis());
    elected + MONITOR * u32::try_from(periods).unwrap_or(u32::MAX)
}

/// When to look again.
struct Wakes {
    now: Instant,
    next: Option<Instant>,
}

impl Wakes {
    fn is_past(&mut self, due: Instant) -> bool {
        if due <= self.now {
            return true;
        }
        self.next = Some(self.next.map_or(due, |next| next.min(due)));
        false
    }
}
