//! A cluster: what its members have agreed on, and by which rules that may change.
//!
//! Raft is taken for granted: what a quorum agreed on is one thing, known to every member that has caught up. So there is one
//! [`Cluster`] per founding, not one per member.

use std::collections::{BTreeMap, BTreeSet};

use etcd_api::{Alarm, AlarmKind, ClusterId, Member, MemberId, Refusal, Role};
use tokio::time::Instant;

use super::settings::{Settings, Version};
use crate::workloads::fnv;

/// Which founding: the same token and URLs give the same cluster ID twice, but not the same cluster.
pub(super) type Founding = u64;

/// The size of a database in which nobody wrote.
const FRESH: Size = Size { file: 20_480, in_use: 16_384 };

/// Bytes of a member's file, and of what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) file: i64,
    pub(super) in_use: i64,
}

#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) id: ClusterId,
    token: String,
    pub(super) members: BTreeMap<MemberId, Member>,
    pub(super) removed: BTreeSet<MemberId>,
    /// Members that have once had a disk.
    pub(super) joined: BTreeSet<MemberId>,
    pub(super) leader: Option<MemberId>,
    /// A quorum has been looking for a leader since then.
    pub(super) electing: Option<Instant>,
    pub(super) term: u64,
    pub(super) index: u64,
    pub(super) revision: i64,
    pub(super) compacted: i64,
    pub(super) version: Option<Version>,
    pub(super) downgrade: Option<Version>,
    /// All members' versions call for another cluster version since then.
    pub(super) version_due: Option<Instant>,
    /// The term whose leader compares versions, and when it was elected.
    pub(super) elected: Option<(u64, Instant)>,
    pub(super) alarms: BTreeSet<Alarm>,
    pub(super) sizes: BTreeMap<MemberId, Size>,
    /// Members whose keys and values are not what was written, and what they are instead.
    pub(super) damaged: BTreeMap<MemberId, u64>,
}

pub(super) fn quorum(voters: usize) -> usize {
    voters / 2 + 1
}

/// An ID as etcd makes them: from URLs and token, and for those that are added from the time.
fn member_id(peer_urls: &[String], token: &str, second: Option<u64>) -> MemberId {
    let mut urls = peer_urls.to_vec();
    urls.sort();
    let second = second.map(|second| second.to_string()).unwrap_or_default();
    MemberId(fnv(&format!("{}{token}{second}", urls.concat())))
}

impl Cluster {
    /// As every founder makes it from its own arguments: with the same ones it is the same.
    pub(super) fn founded_by(settings: &Settings) -> Self {
        let mut urls: BTreeMap<&String, Vec<String>> = BTreeMap::new();
        for (name, url) in &settings.initial_cluster {
            urls.entry(name).or_default().push(url.clone());
        }
        let founder = |(name, peer_urls): (&String, Vec<String>)| {
            let id = member_id(&peer_urls, &settings.token, None);
            let member =
                Member { id, name: name.clone(), peer_urls, client_urls: Vec::new(), role: Role::Voter };
            (id, member)
        };
        let members: BTreeMap<MemberId, Member> = urls.into_iter().map(founder).collect();
        let ids: Vec<String> = members.keys().map(ToString::to_string).collect();
        Self {
            id: ClusterId(fnv(&ids.concat())),
            token: settings.token.clone(),
            index: members.len() as u64,
            members,
            removed: BTreeSet::new(),
            joined: BTreeSet::new(),
            leader: None,
            electing: None,
            term: 1,
            revision: 1,
            compacted: 0,
            version: None,
            downgrade: None,
            version_due: None,
            elected: None,
            alarms: BTreeSet::new(),
            sizes: BTreeMap::new(),
            damaged: BTreeMap::new(),
        }
    }

    pub(super) fn voters(&self) -> impl Iterator<Item = &Member> {
        self.members.values().filter(|member| member.role == Role::Voter)
    }

    pub(super) fn by_peer_urls(&self, peer_urls: &[String]) -> Option<&Member> {
        let same = |member: &&Member| peer_urls.iter().any(|url| member.peer_urls.contains(url));
        self.members.values().find(same)
    }

    pub(super) fn size(&self, member: MemberId) -> Size {
        self.sizes.get(&member).copied().unwrap_or(FRESH)
    }

    /// What a member's keys and values are: 0 is what was written.
    pub(super) fn data(&self, member: MemberId) -> u64 {
        self.damaged.get(&member).copied().unwrap_or_default()
    }

    pub(super) fn is_corrupt(&self) -> bool {
        self.alarms.iter().any(|alarm| alarm.kind == AlarmKind::Corrupt)
    }

    /// Would enough voters have started if there was one more?
    pub(super) fn may_grow(&self) -> bool {
        let started = self.voters().filter(|member| member.has_started()).count();
        let members = self.voters().count() + 1;
        (started == 1 && members == 2) || started >= quorum(members)
    }

    /// Would enough voters have started without this one?
    pub(super) fn may_shrink(&self, without: MemberId) -> bool {
        let rest = || self.voters().filter(|member| member.id != without);
        rest().filter(|member| member.has_started()).count() >= quorum(rest().count())
    }

    /// Would enough voters have started with this learner among them?
    pub(super) fn may_promote(&self) -> bool {
        let started = self.voters().filter(|member| member.has_started()).count() + 1;
        started >= quorum(self.voters().count() + 1)
    }

    pub(super) fn add(&mut self, peer_urls: &[String], role: Role, second: u64) -> Result<Member, Refusal> {
        let id = member_id(peer_urls, &self.token, Some(second));
        if self.members.contains_key(&id) {
            return Err(Refusal::MemberExists);
        }
        if self.by_peer_urls(peer_urls).is_some() {
            return Err(Refusal::PeerUrlExists);
        }
        if role == Role::Learner && self.members.values().any(|member| member.role == Role::Learner) {
            return Err(Refusal::TooManyLearners);
        }
        let (peer_urls, client_urls) = (peer_urls.to_vec(), Vec::new());
        let member = Member { id, name: String::new(), peer_urls, client_urls, role };
        self.members.insert(id, member.clone());
        self.index += 1;
        Ok(member)
    }

    pub(super) fn remove(&mut self, member: MemberId) -> Result<(), Refusal> {
        self.members.remove(&member).ok_or(Refusal::MemberNotFound)?;
        self.removed.insert(member);
        self.sizes.remove(&member);
        self.damaged.remove(&member);
        self.index += 1;
        Ok(())
    }

    pub(super) fn update(&mut self, member: MemberId, peer_urls: &[String]) -> Result<(), Refusal> {
        if self.by_peer_urls(peer_urls).is_some_and(|other| other.id != member) {
            return Err(Refusal::PeerUrlExists);
        }
        self.members.get_mut(&member).ok_or(Refusal::MemberNotFound)?.peer_urls = peer_urls.to_vec();
        self.index += 1;
        Ok(())
    }

    pub(super) fn promote(&mut self, member: MemberId) -> Result<(), Refusal> {
        let member = self.members.get_mut(&member).ok_or(Refusal::MemberNotFound)?;
        if member.role == Role::Voter {
            return Err(Refusal::MemberNotLearner);
        }
        member.role = Role::Voter;
        self.index += 1;
        Ok(())
    }

    /// Could the cluster go down to this version? The one before, and no other.
    pub(super) fn may_downgrade(&self, to: &str) -> Result<Version, Refusal> {
        let to: Version = to.parse().map_err(|()| Refusal::BadDowngradeFormat)?;
        let version = self.version.ok_or(Refusal::NoClusterVersion)?;
        if to.of_cluster() != version.before() {
            return Err(Refusal::BadDowngradeTarget);
        }
        match self.downgrade {
            Some(_) => Err(Refusal::DowngradeInProgress),
            None => Ok(to.of_cluster()),
        }
    }
}
