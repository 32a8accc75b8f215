//! Identity: which cluster this is, and how each member comes into it.
//!
//! Invariants: a cluster ID that was latched anywhere (ConfigMap, status, a claim) is never forgotten while any of them remembers;
//! [`Start::Found`] is given out only while none does, and while no claim says that there was a cluster or a restore. While places remember
//! different IDs, and no quorum of live members settles which one is right, nothing is written.

use std::collections::{BTreeMap, BTreeSet};

use etcd_types::{EtcdClusterStatus, RestorePhase};

use crate::{
    Claim, ClaimState, ClusterId, Latch, Names, Picture, Record, Serial, Stage, Start,
    case::{self, Case, Seen},
    record::BOOTSTRAP,
    restore,
};

/// What is known about who this is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Identity {
    /// The cluster's ID, as something outside etcd remembers it.
    pub(crate) cluster_id: Option<ClusterId>,
    /// Each place that remembers an ID, where they differ: somebody changed something by hand. Empty where they agree.
    pub(crate) contradictions: Vec<(String, ClusterId)>,
    /// Why nothing may be founded, though no ID is known: the record of a cluster or of a restore is lost.
    pub(crate) lost: Option<String>,
    /// The highest number ever given.
    pub(crate) latest: u64,
    /// Who founds it, or founded it.
    pub(crate) founders: Vec<Serial>,
    /// The restore that is under way, or was the last.
    pub(crate) record: Option<Record>,
    /// All that are over.
    pub(crate) restored: BTreeSet<String>,
}

/// What the ConfigMap says; if it is lost, what the status kept of it.
pub fn remembered(latch: Option<Latch>, status: &EtcdClusterStatus) -> Latch {
    let mut latch = latch.unwrap_or_else(|| {
        let record = status.restore.as_ref().and_then(|restore| restore.record.as_deref());
        let restore: Option<Record> = record.and_then(|record| serde_json::from_str(record).ok());
        let is_founder = |record: &&Record| record.has_started() || !record.is_in_place();
        let founders = restore.as_ref().filter(is_founder).map(|record| record.seed);
        Latch {
            cluster_id: status.cluster_id.as_deref().and_then(|id| id.parse().ok()),
            latest_serial: status.latest_serial.and_then(|latest| u64::try_from(latest).ok()).unwrap_or(0),
            founders: founders.into_iter().collect(),
            restore,
            restored: BTreeSet::new(),
        }
    });
    // The ConfigMap is written before the status: one that goes on with a restore that the status calls over is an older one, put back.
    let Some(known) = status.restore.as_ref().filter(|known| known.phase.is_over()) else { return latch };
    let uid = known.uid.as_deref().unwrap_or(BOOTSTRAP);
    if let Some(record) = latch.restore.as_mut().filter(|record| !record.is_over() && record.uid == uid) {
        record.stage = match known.phase {
            RestorePhase::Completed => Stage::Completed,
            _ => Stage::Failed { why: known.message.clone() },
        };
    }
    latch.restored.insert(uid.to_owned());
    latch
}

impl Identity {
    /// What the latch, the status and the claims remember.
    pub(crate) fn of(picture: &Picture) -> Self {
        let names = case::names(picture);
        let memory = remembered(picture.latch.clone(), &picture.status);
        let from_latch = picture.latch.as_ref().and_then(|latch| latch.cluster_id);
        let from_latch = from_latch.map(|id| (format!("the ConfigMap {}", names.latch()), id));
        let from_status = picture.status.cluster_id.as_deref().and_then(|id| id.parse().ok());
        let from_status = from_status.map(|id| ("status.clusterID".to_owned(), id));
        let from_claims = own_claims(picture)
            .filter(|(_, claim)| claim.state == ClaimState::Member)
            .filter_map(|(serial, claim)| Some((claim_name(&names, serial), claim.cluster_id?)));
        // What a restore has given up may be remembered somewhere for a moment longer; so may what it did not come to.
        let given_up = memory.restore.as_ref().and_then(Record::given_up);
        let returns_to = memory.restore.as_ref().and_then(Record::returns_to);
        let places: Vec<(String, ClusterId)> = from_latch
            .into_iter()
            .chain(from_status)
            .chain(from_claims)
            .filter(|(_, id)| Some(*id) != given_up && returns_to.is_none_or(|before| before == *id))
            .collect();
        let all: BTreeSet<ClusterId> = places.iter().map(|(_, id)| *id).collect();
        let reported =
            picture.status.latest_serial.and_then(|latest| u64::try_from(latest).ok()).unwrap_or(0);
        let listed = picture.etcd.members.iter().flatten().flat_map(|member| &member.peer_urls);
        let listed = listed.filter_map(|url| names.serial_of(url));
        let known = picture.members.keys().chain(picture.earlier.keys()).copied();
        let seen = known.chain(listed).map(|serial| serial.0).max().unwrap_or(0);
        let mut identity = Self {
            cluster_id: places.first().map(|(_, id)| *id),
            contradictions: if all.len() > 1 { places } else { Vec::new() },
            lost: None,
            latest: memory.latest_serial.max(reported).max(seen),
            founders: memory.founders,
            record: memory.restore,
            restored: memory.restored,
        };
        identity.lost = identity.find_lost(picture, &names);
        identity
    }

    /// What says that there was a cluster, or a restore, where no ID and no restore is on record.
    fn find_lost(&self, picture: &Picture, names: &Names<'_>) -> Option<String> {
        let under_way = self.record.as_ref().is_some_and(|record| !record.is_over());
        if self.cluster_id.is_some() || under_way {
            return None;
        }
        // What a new cluster begins with is fetched once more; nothing else is known to be on a volume.
        let begins = picture.recovery.as_ref().is_some_and(|request| request.uid == BOOTSTRAP);
        let mut traces: Vec<String> = own_claims(picture)
            .filter_map(|(serial, claim)| {
                let what = match (claim.cluster_id, claim.state) {
                    (Some(id), _) => format!("has data of the cluster {id}"),
                    (None, ClaimState::Seed) if !begins => "has restored data".to_owned(),
                    (None, _) => return None,
                };
                Some(format!("{} {what}", claim_name(names, serial)))
            })
            .collect();
        let restore = picture.status.restore.as_ref().filter(|known| !known.phase.is_over() && !begins);
        traces.extend(restore.map(|_| "status.restore says that a restore is under way".to_owned()));
        let latch = names.latch();
        (!traces.is_empty()).then(|| {
            format!(
                "the ConfigMap {latch} does not say which cluster this is, but {}: nothing is started or founded. Put the ConfigMap back from a backup; or, to begin with an empty cluster, delete this EtcdCluster and its claims",
                traces.join(", ")
            )
        })
    }

    /// Whether nothing may be written, because it is not certain which cluster this is.
    pub(crate) fn is_held(&self) -> bool {
        self.lost.is_some() || !self.contradictions.is_empty()
    }

    /// Whether an answer from this cluster is an answer from ours. Before the ID is known, any is.
    pub(crate) fn accepts(&self, id: ClusterId) -> bool {
        self.cluster_id.is_none_or(|ours| ours == id)
    }

    /// What the ConfigMap is to say.
    pub(crate) fn latch(&self) -> Latch {
        Latch {
            cluster_id: self.cluster_id,
            latest_serial: self.latest,
            founders: self.founders.clone(),
            restore: self.record.clone(),
            restored: self.restored.clone(),
        }
    }
}

/// Claims of this very cluster, in whatever state.
fn own_claims(picture: &Picture) -> impl Iterator<Item = (Serial, &Claim)> {
    let claims =
        picture.members.iter().filter_map(|(serial, member)| Some((*serial, member.claim.as_ref()?)));
    claims.filter(|(_, claim)| claim.ours)
}

fn claim_name(names: &Names<'_>, serial: Serial) -> String {
    format!("the claim {}", names.member(serial))
}

/// The cluster's ID, as everything outside etcd that remembers one says it; nothing while they differ.
pub fn known_id(picture: &Picture) -> Option<ClusterId> {
    let identity = Identity::of(picture);
    identity.cluster_id.filter(|_| identity.contradictions.is_empty())
}

/// The ID that all live members answer with, if a quorum of them gave a member list.
fn live_id(picture: &Picture) -> Option<ClusterId> {
    picture.etcd.members.as_ref()?;
    let answers = picture.etcd.endpoints.values().filter_map(|answer| answer.as_ref().ok());
    let ids: BTreeSet<ClusterId> = answers.map(|endpoint| endpoint.cluster_id).collect();
    ids.first().copied().filter(|_| ids.len() == 1)
}

/// Where places remember different IDs, a quorum of live members that all answer with one of these settles which one is right.
pub(crate) fn settle(identity: &mut Identity, picture: &Picture) {
    let Some(id) = live_id(picture) else { return };
    if !identity.contradictions.iter().any(|(_, known)| *known == id) {
        return;
    }
    let latched = picture.latch.as_ref().and_then(|latch| latch.cluster_id);
    // A ConfigMap with another ID is not of this cluster's present: neither is the restore that it tells of.
    if latched.is_some_and(|latched| latched != id) {
        identity.restored.extend(identity.record.take().map(|record| record.uid));
    }
    identity.cluster_id = Some(id);
    identity.contradictions.clear();
}

/// Takes the ID that the live members agree on, while none is latched: a member list was read, and all who answer say the same.
pub(crate) fn discover(identity: &mut Identity, picture: &Picture) {
    let Some(members) = &picture.etcd.members else { return };
    // What was to be written after the backup is not on record any more: it is fetched once more, and clients do not see this one.
    let unfinished = picture.recovery.as_ref().is_some_and(|it| it.uid == BOOTSTRAP && it.to_point);
    if identity.lost.is_some() || (unfinished && identity.record.is_none()) {
        return;
    }
    let given_up = identity.record.as_ref().and_then(Record::given_up);
    if let Some(id) = live_id(picture).filter(|id| Some(*id) != given_up) {
        let names = case::names(picture);
        let urls = members.iter().flat_map(|member| &member.peer_urls);
        // Who they really are: a list that was given up may have met after all.
        let mut founders: Vec<Serial> = urls.filter_map(|url| names.serial_of(url)).collect();
        founders.sort();
        // A seed whose record was lost is not the one that is on record now: it is stopped.
        let restores = identity.record.as_ref().filter(|record| !record.is_over());
        if restores.is_some_and(|record| !founders.contains(&record.seed)) {
            return;
        }
        identity.founders = founders;
        identity.cluster_id = Some(id);
    }
}

/// How a member comes in.
pub(crate) fn start(case: &Case<'_>, seen: &Seen<'_>) -> Start {
    // A seed has its data: without it, it must not begin with nothing.
    if case.identity.cluster_id.is_none() && restore::recovers(case.picture, case.identity.record.as_ref()) {
        return Start::Started;
    }
    if case.identity.cluster_id.is_none() {
        return founding(&case.names, &case.identity.founders);
    }
    // Without a list nobody can be told who the others are; who has data does not need it.
    if seen.has_started() || !case.has_list() {
        return Start::Started;
    }
    let known = case.members.values().filter(|other| other.listed.is_some()).map(|other| other.serial);
    let mut members = urls(&case.names, known);
    let strangers = case.strangers.iter().flat_map(|stranger| &stranger.peer_urls);
    members.extend(strangers.enumerate().map(|(at, url)| (format!("other-{at}"), url.clone())));
    Start::Join { members }
}

/// The founders' one static list.
pub(crate) fn founding(names: &Names<'_>, founders: &[Serial]) -> Start {
    Start::Found { members: urls(names, founders.iter().copied()) }
}

fn urls(names: &Names<'_>, serials: impl Iterator<Item = Serial>) -> BTreeMap<String, String> {
    serials.map(|serial| (names.member(serial), names.peer_url(serial))).collect()
}
