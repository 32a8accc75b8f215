//! How an etcd process starts: from what is on its disk, else as a founder, else by joining; or not at all.

use etcd_api::{ClusterId, MemberId};
use serde_json::json;
use tokio::time::Instant;

use super::{
    cluster::{Cluster, Founding},
    model::{Exit, Log, Model, Process, TIME},
    settings::{InitialState, Settings, Version},
};

/// Where a member keeps on its volume who it is.
pub(super) const IDENTITY: &str = "etcd/identity";

/// Who a member is, as its disk has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) founding: Founding,
    pub(super) cluster: ClusterId,
    pub(super) member: MemberId,
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.founding, self.cluster, self.member)
    }
}

impl std::str::FromStr for Identity {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let words: Vec<&str> = text.split(' ').collect();
        let [founding, cluster, member] = words.as_slice() else { return Err(()) };
        Ok(Self {
            founding: founding.parse().map_err(drop)?,
            cluster: cluster.parse().map_err(drop)?,
            member: member.parse().map_err(drop)?,
        })
    }
}

/// etcd's last words when it cannot start, as its log has them.
fn fatal(error: &str) -> Exit {
    let message = json!({"level": "fatal", "ts": TIME, "msg": "discovery failed", "error": error});
    Exit { code: 1, message: message.to_string() }
}

/// The same when it finds that what it knows cannot be.
fn panic(message: &str) -> Exit {
    Exit { code: 2, message: json!({"level": "panic", "ts": TIME, "msg": message}).to_string() }
}

impl Model {
    /// Starts a process on a disk with this identity, if it has one. What comes back is for the disk.
    pub(super) fn start(
        &mut self,
        pod: &str,
        settings: Settings,
        disk: Option<&str>,
        now: Instant,
    ) -> Result<Identity, Exit> {
        if self.broken.contains(&settings.version) {
            return Err(fatal(&format!("etcd {} is broken", settings.version)));
        }
        if let Some(flag) = settings.unknown_flag() {
            return Err(Exit { code: 2, message: format!("flag provided but not defined: -{flag}") });
        }
        let url = settings.client_urls.first().cloned().unwrap_or_default();
        // Only one process can listen there: the one before is dead, whether somebody told us or not.
        self.end(&url, false);
        let identity = match (disk, settings.initial_state) {
            (Some(disk), _) => self.compared(self.resume(disk)?, &settings)?,
            (None, InitialState::New) => self.found(&settings)?,
            (None, InitialState::Existing) => self.join(&settings)?,
        };
        let cluster =
            self.clusters.get_mut(&identity.founding).ok_or_else(|| fatal("wal: file not found"))?;
        fits(cluster, settings.version, disk.is_some())?;
        cluster.joined.insert(identity.member);
        // A new member gets its data from the leader, as it is.
        if let Some(data) = cluster.leader.map(|leader| cluster.data(leader)).filter(|_| disk.is_none()) {
            cluster.damaged.insert(identity.member, data);
        }
        let place = (identity.founding, identity.member);
        let founds = disk.is_none() && settings.initial_state == InitialState::New;
        // Founders begin with the same log.
        let log = match founds {
            true => Log::Behind(cluster.members.len() as u64),
            false => Log::Behind(self.logs.get(&place).copied().unwrap_or_default()),
        };
        self.starts += 1;
        self.begin(Process::new(pod.to_owned(), self.starts, settings, place, log, now));
        Ok(identity)
    }

    fn resume(&self, disk: &str) -> Result<Identity, Exit> {
        let identity: Identity = disk.parse().map_err(|()| fatal("walpb: crc mismatch"))?;
        let known =
            self.clusters.get(&identity.founding).is_some_and(|cluster| cluster.id == identity.cluster);
        known.then_some(identity).ok_or_else(|| fatal("walpb: crc mismatch"))
    }

    /// A member that differs from one that runs does not start, whichever of the two is wrong.
    fn compared(&self, identity: Identity, settings: &Settings) -> Result<Identity, Exit> {
        let Some(cluster) = self.clusters.get(&identity.founding) else { return Ok(identity) };
        let other = |process: &&Process| {
            process.founding == identity.founding
                && process.member != identity.member
                && self.reaches_peers(process)
                && cluster.data(process.member) != cluster.data(identity.member)
        };
        match settings.checks_data && self.processes.values().any(|process| other(&process)) {
            true => Err(fatal(&format!("{} found data inconsistency with peers", identity.member))),
            false => Ok(identity),
        }
    }

    /// The first founder makes the cluster, the others find it made. Who has founded already, as others know, may not do it again.
    fn found(&mut self, settings: &Settings) -> Result<Identity, Exit> {
        let own = Cluster::founded_by(settings);
        let Some(member) = own.by_peer_urls(&settings.peer_urls).map(|member| member.id) else {
            return Err(fatal(
                "--initial-cluster does not contain the URLs of --initial-advertise-peer-urls",
            ));
        };
        let same = self.clusters.iter().filter(|(_, cluster)| cluster.id == own.id);
        let mut newest_first: Vec<(Founding, &Cluster)> = same.map(|(founding, c)| (*founding, c)).collect();
        newest_first.reverse();
        for (founding, cluster) in &newest_first {
            let answers = self.processes.values().any(|p| p.founding == *founding && self.reaches_peers(p));
            let published = cluster.members.get(&member).is_some_and(|member| !member.client_urls.is_empty());
            if answers && published {
                return Err(fatal(&format!("member {member} has already been bootstrapped")));
            }
            if !cluster.joined.contains(&member) || answers {
                return Ok(Identity { founding: *founding, cluster: own.id, member });
            }
        }
        let founding = self.clusters.keys().last().map_or(1, |last| last + 1);
        let identity = Identity { founding, cluster: own.id, member };
        self.clusters.insert(founding, own);
        Ok(identity)
    }

    /// Asks the others who is a member; that must be exactly who the arguments say.
    fn join(&mut self, settings: &Settings) -> Result<Identity, Exit> {
        let peers = |process: &&Process| {
            let urls = &process.settings.peer_urls;
            let named = settings.initial_cluster.iter().any(|(_, url)| urls.contains(url));
            named && self.reaches_peers(process) && *urls != settings.peer_urls
        };
        let Some(peer) = self.processes.values().find(peers) else {
            return Err(fatal(
                "cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs",
            ));
        };
        let founding = peer.founding;
        let Some(cluster) = self.clusters.get(&founding) else { return Err(fatal("wal: file not found")) };
        let names: std::collections::BTreeSet<&String> =
            settings.initial_cluster.iter().map(|(name, _)| name).collect();
        if names.len() != cluster.members.len() {
            return Err(fatal("error validating peerURLs: member count is unequal"));
        }
        let listed = |url: &String| settings.initial_cluster.iter().any(|(_, listed)| listed == url);
        if let Some(other) = cluster.members.values().find(|member| !member.peer_urls.iter().any(listed)) {
            return Err(fatal(&format!(
                "error validating peerURLs: PeerURLs: no match found for existing member ({}, [{}]), last resolver error (<nil>)",
                other.id,
                other.peer_urls.join(" "),
            )));
        }
        let Some(member) = cluster.by_peer_urls(&settings.peer_urls).map(|member| member.id) else {
            return Err(fatal("error validating peerURLs: PeerURLs: no match found"));
        };
        if cluster.joined.contains(&member) {
            return Err(panic(&format!(
                "tocommit({}) is out of range [lastIndex(0)]. Was the raft log corrupted, truncated, or lost?",
                cluster.index
            )));
        }
        Ok(Identity { founding, cluster: cluster.id, member })
    }
}

/// Versions that can work together: not older than what the cluster agreed on, and at most one minor ahead.
fn fits(cluster: &Cluster, version: Version, restarts: bool) -> Result<(), Exit> {
    let Some(agreed) = cluster.version else { return Ok(()) };
    if version.of_cluster() < agreed && restarts {
        // 3.5 knows no storage versions, and finds out later.
        return Err(match version.is_at_least(3, 6) {
            true => fatal(&format!("version \"{agreed}\" is not supported")),
            false => fatal("invalid downgrade; server version is lower than determined cluster version"),
        });
    }
    if version.of_cluster() < agreed || version.before() > agreed {
        return Err(fatal("incompatible with current running cluster"));
    }
    Ok(())
}
