//! What a member answers: etcd's rules for each call.

use etcd_api::{
    Added, Alarm, AlarmKind, Consistency, EtcdError, HashKv, Member, MemberId, Membership, Refusal, Role,
    Status,
};
use tokio::time::Instant;

use super::{
    cluster::{Cluster, Size, quorum},
    model::{HEALTH_INTERVAL, Log, Model, Process, Trouble},
};
use crate::workloads::fnv;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum No {
    Refused(Refusal),
    /// Nothing comes back unless something changes.
    Later,
    Failed(EtcdError),
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

type Answer<T> = Result<T, No>;

impl Model {
    /// The process that listens at a client URL, if clients reach it.
    pub(super) fn reached(&self, url: &str) -> Answer<&Process> {
        match self.trouble(url) {
            Some(Trouble::Paused | Trouble::CutOff | Trouble::CutFromClients) => return Err(No::Later),
            Some(Trouble::CutFromPeers) | None => {}
        }
        self.processes.get(url).ok_or_else(|| No::Failed(EtcdError::Unreachable("connection refused".into())))
    }

    fn cluster_of(&self, process: &Process) -> Answer<&Cluster> {
        self.clusters.get(&process.founding).ok_or(No::Later)
    }

    fn member_of(&self, process: &Process) -> Answer<Option<&Member>> {
        Ok(self.cluster_of(process)?.members.get(&process.member))
    }

    /// The process, if it is no learner: those answer for themselves only.
    fn voter(&self, url: &str) -> Answer<&Process> {
        let process = self.reached(url)?;
        match self.member_of(process)? {
            Some(member) if member.role == Role::Learner => Err(No::Refused(Refusal::NotForLearners)),
            _ => Ok(process),
        }
    }

    /// The process, if it has a health stream: a learner refuses every stream but that of a snapshot.
    pub(super) fn streaming(&self, url: &str) -> Answer<&Process> {
        let process = self.reached(url)?;
        match self.member_of(process) {
            Ok(Some(member)) if member.role == Role::Learner => Err(No::Refused(Refusal::NotForLearners)),
            _ => Ok(process),
        }
    }

    /// The process, if what it says is what a quorum says.
    fn linearizable(&self, url: &str) -> Answer<&Process> {
        let process = self.voter(url)?;
        match self.leader_of(process) {
            Some(_) if process.log == Log::Current => Ok(process),
            _ => Err(No::Later),
        }
    }

    /// The cluster, to change it as a quorum agrees.
    fn agreed(&mut self, url: &str) -> Answer<&mut Cluster> {
        let founding = self.linearizable(url)?.founding;
        self.touch(founding);
        self.clusters.get_mut(&founding).ok_or(No::Later)
    }

    /// Whether a process has been connected to another for long enough.
    fn connected(&self, process: &Process, to: MemberId, now: Instant) -> bool {
        let other = self.company(process).find(|other| other.member == to);
        to == process.member
            || other.is_some_and(|other| now >= other.since.max(process.since) + HEALTH_INTERVAL)
    }

    fn connected_voters(&self, process: &Process, now: Instant) -> Answer<(usize, usize)> {
        let cluster = self.cluster_of(process)?;
        let connected = cluster.voters().filter(|member| self.connected(process, member.id, now)).count();
        Ok((connected, cluster.voters().count()))
    }

    pub(super) fn status(&self, url: &str) -> Answer<Status> {
        let process = self.reached(url)?;
        let cluster = self.cluster_of(process)?;
        let leader = self.leader_of(process).map(|leader| leader.member);
        let Size { file, in_use } = cluster.size(process.member);
        let new = process.settings.version.is_at_least(3, 6);
        let mut errors: Vec<String> =
            leader.is_none().then(|| Refusal::NoLeader.words().to_owned()).into_iter().collect();
        errors.extend(
            cluster
                .alarms
                .iter()
                .map(|alarm| format!("memberID:{} alarm:{}", alarm.member.0, word(alarm.kind))),
        );
        Ok(Status {
            cluster: cluster.id,
            member: process.member,
            version: process.settings.version.to_string(),
            role: self.member_of(process)?.map_or(Role::Voter, |member| member.role),
            leader,
            raft_term: cluster.term,
            raft_index: if leader.is_some() { cluster.index } else { self.applied(process) },
            raft_applied_index: self.applied(process),
            revision: cluster.revision,
            db_size: file,
            db_size_in_use: in_use,
            db_size_quota: new.then_some(process.settings.quota),
            storage_version: cluster.version.filter(|_| new).map(|version| version.to_string()),
            downgrade_target: cluster.downgrade.filter(|_| new).map(|target| target.to_string()),
            errors,
        })
    }

    fn membership(&self, process: &Process) -> Answer<Membership> {
        let cluster = self.cluster_of(process)?;
        Ok(Membership {
            cluster: cluster.id,
            told_by: process.member,
            raft_term: cluster.term,
            members: cluster.members.values().cloned().collect(),
        })
    }

    pub(super) fn members(&self, url: &str, consistency: Consistency) -> Answer<Membership> {
        let process = match consistency {
            Consistency::Linearizable => self.linearizable(url)?,
            Consistency::Serializable => self.voter(url)?,
        };
        self.membership(process)
    }

    pub(super) fn add_member(
        &mut self,
        url: &str,
        peer_urls: &[String],
        role: Role,
        second: u64,
        now: Instant,
    ) -> Answer<Added> {
        let process = self.voter(url)?;
        if peer_urls.is_empty() || peer_urls.iter().any(|url| !url.contains("://")) {
            return Err(No::Refused(Refusal::BadPeerUrls));
        }
        if process.settings.strict {
            let (connected, voters) = self.connected_voters(process, now)?;
            if role == Role::Voter && !self.cluster_of(process)?.may_grow() {
                return Err(No::Refused(Refusal::NotEnoughStarted));
            }
            if voters > 1 && connected < quorum(voters + 1) {
                return Err(No::Refused(Refusal::Unhealthy));
            }
        }
        let member = self.agreed(url)?.add(peer_urls, role, second)?;
        Ok(Added { member, membership: self.membership(self.reached(url)?)? })
    }

    pub(super) fn remove_member(&mut self, url: &str, member: MemberId, now: Instant) -> Answer<Membership> {
        let process = self.voter(url)?;
        let cluster = self.cluster_of(process)?;
        let is_learner = cluster.members.get(&member).is_some_and(|member| member.role == Role::Learner);
        if process.settings.strict && !is_learner {
            if !cluster.may_shrink(member) {
                return Err(No::Refused(Refusal::NotEnoughStarted));
            }
            let away = member != process.member && !self.company(process).any(|p| p.member == member);
            let (connected, voters) = self.connected_voters(process, now)?;
            if !away && connected.saturating_sub(1) < quorum(voters.saturating_sub(1)) {
                return Err(No::Refused(Refusal::Unhealthy));
            }
        }
        let told = self.reached(url)?.clone();
        self.agreed(url)?.remove(member)?;
        self.membership(&told)
    }

    pub(super) fn update_member(
        &mut self,
        url: &str,
        member: MemberId,
        peer_urls: &[String],
    ) -> Answer<Membership> {
        self.agreed(url)?.update(member, peer_urls)?;
        self.membership(self.reached(url)?)
    }

    pub(super) fn promote_member(&mut self, url: &str, member: MemberId) -> Answer<Membership> {
        let process = self.linearizable(url)?;
        let cluster = self.cluster_of(process)?;
        let role = cluster.members.get(&member).map(|member| member.role).ok_or(Refusal::MemberNotFound)?;
        let learner = self.company(process).find(|other| other.member == member);
        if role == Role::Learner && learner.is_none_or(|learner| learner.log != Log::Current) {
            return Err(No::Refused(Refusal::LearnerNotReady));
        }
        if process.settings.strict && !cluster.may_promote() {
            return Err(No::Refused(Refusal::NotEnoughStarted));
        }
        self.agreed(url)?.promote(member)?;
        self.membership(self.reached(url)?)
    }

    pub(super) fn move_leader(&mut self, url: &str, to: MemberId) -> Answer<()> {
        let process = self.voter(url)?;
        let cluster = self.cluster_of(process)?;
        if cluster.leader != Some(process.member) {
            return Err(No::Refused(Refusal::NotLeader));
        }
        if cluster.members.get(&to).is_none_or(|member| member.role == Role::Learner) {
            return Err(No::Refused(Refusal::BadLeaderTransferee));
        }
        if !self.company(process).any(|other| other.member == to && self.may_lead(other)) {
            return Err(No::Later);
        }
        let cluster = self.agreed(url)?;
        cluster.leader = Some(to);
        cluster.term += 1;
        Ok(())
    }

    pub(super) fn alarms(&self, url: &str) -> Answer<Vec<Alarm>> {
        let process = self.linearizable(url)?;
        Ok(self.cluster_of(process)?.alarms.iter().copied().collect())
    }

    pub(super) fn disarm(&mut self, url: &str, alarm: Alarm) -> Answer<()> {
        self.agreed(url)?.alarms.remove(&alarm);
        Ok(())
    }

    pub(super) fn defragment(&mut self, url: &str) -> Answer<()> {
        let process = self.voter(url)?;
        let (founding, member) = (process.founding, process.member);
        let cluster = self.clusters.get_mut(&founding).ok_or(No::Later)?;
        let Size { in_use, .. } = cluster.size(member);
        cluster.sizes.insert(member, Size { file: in_use, in_use });
        Ok(())
    }

    pub(super) fn hash_kv(&self, url: &str, revision: i64) -> Answer<HashKv> {
        let process = self.voter(url)?;
        let cluster = self.cluster_of(process)?;
        let revision = if revision == 0 { cluster.revision } else { revision };
        if revision > cluster.revision {
            return Err(No::Refused(Refusal::FutureRevision));
        }
        if revision < cluster.compacted {
            return Err(No::Refused(Refusal::Compacted));
        }
        let [.., a, b, c, d] =
            fnv(&format!("{} {revision} {}", process.founding, cluster.data(process.member))).to_be_bytes();
        let hash_revision = process.settings.version.is_at_least(3, 6).then_some(revision);
        Ok(HashKv {
            hash: u32::from_be_bytes([a, b, c, d]),
            compact_revision: cluster.compacted,
            hash_revision,
        })
    }

    pub(super) fn validate_downgrade(&self, url: &str, to: &str) -> Answer<String> {
        let cluster = self.cluster_of(self.linearizable(url)?)?;
        cluster.may_downgrade(to)?;
        Ok(short(cluster))
    }

    pub(super) fn enable_downgrade(&mut self, url: &str, to: &str) -> Answer<String> {
        let cluster = self.agreed(url)?;
        let version = short(cluster);
        cluster.downgrade = Some(cluster.may_downgrade(to)?);
        Ok(version)
    }

    /// Without one, it does nothing, and does not complain: so 3.6 and 3.7.
    pub(super) fn cancel_downgrade(&mut self, url: &str) -> Answer<String> {
        let cluster = self.agreed(url)?;
        cluster.downgrade = None;
        Ok(short(cluster))
    }

    pub(super) fn probe(&self, url: &str, consistency: Consistency) -> Answer<i64> {
        let process = match consistency {
            Consistency::Linearizable => self.linearizable(url)?,
            Consistency::Serializable => self.reached(url)?,
        };
        Ok(self.cluster_of(process)?.revision)
    }

    pub(super) fn compact(&mut self, url: &str, revision: i64) -> Answer<()> {
        let cluster = self.agreed(url)?;
        if cluster.is_corrupt() {
            return Err(No::Refused(Refusal::Corrupt));
        }
        if revision > cluster.revision {
            return Err(No::Refused(Refusal::FutureRevision));
        }
        if revision <= cluster.compacted {
            return Err(No::Refused(Refusal::Compacted));
        }
        cluster.compacted = revision;
        Ok(())
    }

    /// A client's write: the revision that was acknowledged.
    pub(super) fn put(&mut self, url: &str) -> Answer<i64> {
        let cluster = self.agreed(url)?;
        if let Some(alarm) = cluster.alarms.first() {
            return Err(No::Refused(match alarm.kind {
                AlarmKind::NoSpace => Refusal::NoSpace,
                AlarmKind::Corrupt => Refusal::Corrupt,
            }));
        }
        cluster.revision += 1;
        cluster.index += 1;
        Ok(cluster.revision)
    }
}

/// As `Status` writes it.
fn word(kind: AlarmKind) -> &'static str {
    match kind {
        AlarmKind::NoSpace => "NOSPACE",
        AlarmKind::Corrupt => "CORRUPT",
    }
}

/// The cluster's version as etcd tells it: `3.6`.
fn short(cluster: &Cluster) -> String {
    cluster.version.map(|version| format!("{}.{}", version.major, version.minor)).unwrap_or_default()
}
