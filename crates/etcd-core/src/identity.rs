//! Identity: which cluster this is, and how each member comes into it.
//!
//! Invariants: a cluster ID that was latched anywhere (ConfigMap, status, a claim) is never forgotten while any of them remembers;
//! [`Start::Found`] is given out only while none does.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    ClaimState, ClusterId, Latch, Names, Picture, Record, Serial, Start,
    case::{self, Case, Seen},
    restore,
};

/// What is known about who this is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Identity {
    /// The cluster's ID, as something outside etcd remembers it.
    pub(crate) cluster_id: Option<ClusterId>,
    /// Different IDs that are remembered: somebody changed something by hand.
    pub(crate) contradictions: Vec<ClusterId>,
    /// The highest number ever given.
    pub(crate) latest: u64,
    /// Who founds it, or founded it.
    pub(crate) founders: Vec<Serial>,
    /// The restore that is under way, or was the last.
    pub(crate) record: Option<Record>,
    /// All that are over.
    pub(crate) restored: BTreeSet<String>,
}

impl Identity {
    /// What the latch, the status and the claims remember.
    pub(crate) fn of(picture: &Picture) -> Self {
        let from_latch = picture.latch.as_ref().and_then(|latch| latch.cluster_id);
        let from_status = picture.status.cluster_id.as_deref().and_then(|id| id.parse().ok());
        let claims = picture.members.values().filter_map(|member| member.claim.as_ref());
        let from_claims = claims
            .filter(|claim| claim.ours && claim.state == ClaimState::Member)
            .filter_map(|claim| claim.cluster_id);
        let record = picture.latch.as_ref().and_then(|latch| latch.restore.clone());
        // What a restore has given up may be remembered somewhere for a moment longer; so may what it did not come to.
        let given_up = record.as_ref().and_then(Record::given_up);
        let returns_to = record.as_ref().and_then(Record::returns_to);
        let remembered: Vec<ClusterId> = from_latch
            .into_iter()
            .chain(from_status)
            .chain(from_claims)
            .filter(|id| Some(*id) != given_up && returns_to.is_none_or(|before| before == *id))
            .collect();
        let all: BTreeSet<ClusterId> = remembered.iter().copied().collect();
        let given = picture.latch.as_ref().map_or(0, |latch| latch.latest_serial);
        let reported =
            picture.status.latest_serial.and_then(|latest| u64::try_from(latest).ok()).unwrap_or(0);
        let seen =
            picture.members.keys().chain(picture.earlier.keys()).map(|serial| serial.0).max().unwrap_or(0);
        Self {
            cluster_id: remembered.first().copied(),
            contradictions: if all.len() > 1 { all.into_iter().collect() } else { Vec::new() },
            latest: given.max(reported).max(seen),
            founders: picture.latch.as_ref().map(|latch| latch.founders.clone()).unwrap_or_default(),
            record,
            restored: picture.latch.as_ref().map(|latch| latch.restored.clone()).unwrap_or_default(),
        }
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

/// The cluster's ID, as something outside etcd remembers it.
pub fn known_id(picture: &Picture) -> Option<ClusterId> {
    Identity::of(picture).cluster_id
}

/// Takes the ID that the live members agree on, while none is latched: a member list was read, and all who answer say the same.
pub(crate) fn discover(identity: &mut Identity, picture: &Picture) {
    let Some(members) = &picture.etcd.members else { return };
    let answers = picture.etcd.endpoints.values().filter_map(|answer| answer.as_ref().ok());
    let ids: BTreeSet<ClusterId> = answers.map(|endpoint| endpoint.cluster_id).collect();
    let given_up = identity.record.as_ref().and_then(Record::given_up);
    if let (Some(id), 1) = (ids.first().filter(|id| Some(**id) != given_up), ids.len()) {
        let names = case::names(picture);
        let urls = members.iter().flat_map(|member| &member.peer_urls);
        // Who they really are: a list that was given up may have met after all.
        identity.founders = urls.filter_map(|url| names.serial_of(url)).collect();
        identity.founders.sort();
        identity.cluster_id = Some(*id);
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
