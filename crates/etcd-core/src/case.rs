//! The case: the picture, put together. Who is a member, who serves, and why somebody does not.

use std::collections::{BTreeMap, BTreeSet};

use etcd_types::{Medium, MemberStatus};
use jiff::Timestamp;

use crate::{
    ClaimState, ClusterId, Endpoint, Listed, Member, MemberId, Names, NodeState, Permit, Picture, Pod,
    Serial, Template, Version,
    cause::{self, Cause},
    corrupt::{self, Comparison},
    data,
    identity::Identity,
    quorum::{self, Hindrance, Voter, Voters},
    validate::Wanted,
    version::Way,
};

/// The picture, put together.
pub(crate) struct Case<'a> {
    pub(crate) picture: &'a Picture,
    pub(crate) wanted: &'a Wanted,
    pub(crate) identity: Identity,
    /// In whole seconds, as what is on record is.
    pub(crate) now: Timestamp,
    /// To the millisecond, for what is waited for and not remembered.
    pub(crate) exactly: Timestamp,
    pub(crate) names: Names<'a>,
    /// Everybody who is listed, or has something in Kubernetes.
    pub(crate) members: BTreeMap<Serial, Seen<'a>>,
    /// Listed members whose URLs are not of this cluster's form.
    pub(crate) strangers: Vec<&'a Listed>,
    /// Members that answer with data that is not theirs.
    pub(crate) strays: Vec<(Serial, Foreign)>,
    pub(crate) voters: Voters,
    pub(crate) leader: Option<Serial>,
    /// The voters by their data; nothing while nothing says that it may differ.
    pub(crate) data: Option<Comparison>,
}

/// One member, from all sides.
#[derive(Debug, Clone)]
pub(crate) struct Seen<'a> {
    pub(crate) serial: Serial,
    pub(crate) objects: &'a Member,
    pub(crate) listed: Option<&'a Listed>,
    /// Its answer, if it belongs to this cluster.
    pub(crate) endpoint: Option<&'a Endpoint>,
    pub(crate) health: Health,
    /// Whether it is a voter that answers linearizable reads, and its pod is not ready because the alarm CORRUPT is raised.
    pub(crate) is_alarmed: bool,
    /// Since when it has been healthy, or not.
    pub(crate) since: Timestamp,
    /// The version that it runs, or was last seen to run.
    pub(crate) ran: Option<Version>,
    /// The version whose data it has: the one it ran, or a later one that it may have been started with (`data.rs`).
    pub(crate) version: Option<Version>,
}

/// Whose data a member has, where it is not its own. It may serve clients with it, and take others' votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// That of another cluster.
    OfCluster(ClusterId),
    /// That of another member of this cluster: a copied volume, say. etcd takes its ID from its log, whatever it is called.
    OfMember(MemberId),
}

impl std::fmt::Display for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OfCluster(id) => write!(f, "has the data of another cluster, {id}"),
            Self::OfMember(id) => write!(f, "has the data of member {id}"),
        }
    }
}

/// How a member is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Health {
    /// A voter that serves, in a pod that is ready.
    Serving,
    /// A learner that answers.
    Learning,
    /// It serves, and its pod is not ready yet.
    Starting(String),
    /// It answers and knows a leader, and does not serve yet: it needs time, and no mending.
    CatchingUp(String),
    /// Its pod is ready, but we do not reach it. Others may: nothing is done about it.
    Unseen(String),
    /// It is down for certain.
    Down(Cause),
}

impl<'a> Case<'a> {
    pub(crate) fn new(
        picture: &'a Picture,
        wanted: &'a Wanted,
        identity: Identity,
        exactly: Timestamp,
    ) -> Self {
        let now = in_seconds(exactly);
        let names = names(picture);
        let listed = picture.etcd.members.as_deref().unwrap_or_default();
        let strangers = listed.iter().filter(|member| serial_of(&names, member).is_none()).collect();
        let members = look(picture, &identity, now);
        let mut case = Self {
            strays: strays(picture, &identity, &members),
            voters: Voters(Vec::new()),
            leader: None,
            data: None,
            picture,
            wanted,
            identity,
            now,
            exactly,
            names,
            members,
            strangers,
        };
        case.voters = case.judge_voters();
        case.leader = case.find_leader();
        case.data = corrupt::of(&case);
        case
    }

    fn judge_voters(&self) -> Voters {
        let ours = self.voters().map(|seen| Voter {
            id: seen.id(),
            serves: seen.health == Health::Serving,
            // Whose pod is ready has just answered a linearizable read, to its kubelet.
            votes: matches!(seen.health, Health::Serving | Health::Starting(_) | Health::Unseen(_)),
            alarmed: seen.is_alarmed,
            runs: seen.may_run(),
            down: matches!(seen.health, Health::Down(_) | Health::CatchingUp(_)),
            since: seen.endpoint.and_then(|endpoint| endpoint.since),
            ready_since: seen.since,
            crashed: seen.objects.pod.as_ref().is_some_and(|pod| pod.restarts > 0),
        });
        let strangers = self.strangers.iter().filter(|member| !member.learner);
        let others = strangers.map(|member| Voter {
            id: member.id,
            serves: false,
            votes: false,
            alarmed: false,
            runs: true,
            down: false,
            since: None,
            ready_since: self.now,
            crashed: false,
        });
        Voters(ours.chain(others).collect())
    }

    /// The member that those who serve agree on.
    fn find_leader(&self) -> Option<Serial> {
        let named = self.members.values().filter(|seen| seen.answers());
        let (_, leader) = named
            .filter_map(|seen| {
                seen.endpoint.and_then(|endpoint| Some((endpoint.raft_term, endpoint.leader?)))
            })
            .max()?;
        self.members
            .values()
            .find(|seen| seen.listed.is_some_and(|listed| listed.id == leader))
            .map(|seen| seen.serial)
    }

    /// Whether there is a live member list to act on.
    pub(crate) fn has_list(&self) -> bool {
        self.picture.etcd.members.is_some()
    }

    pub(crate) fn voters(&self) -> impl Iterator<Item = &Seen<'a>> {
        self.members.values().filter(|seen| seen.listed.is_some_and(|listed| !listed.learner))
    }

    pub(crate) fn learner(&self) -> Option<&Seen<'a>> {
        self.members.values().find(|seen| seen.listed.is_some_and(|listed| listed.learner))
    }

    /// May it go down now, and come back from its pod's template?
    pub(crate) fn may_go_down(&self, seen: &Seen<'_>) -> Result<Permit, Hindrance> {
        let permit = quorum::may_go_down(seen.id(), &self.voters, self.exactly)?;
        self.may_lose_pod(seen).map(|()| permit)
    }

    /// The right to make somebody anew who is down, because the user corrects what it is made from: at once, unless it may be the vote
    /// without which the others could not serve. Then it gets the time in which it may come back by itself.
    pub(crate) fn may_be_corrected(&self, seen: &Seen<'_>) -> Option<Permit> {
        let permit = quorum::down_already(&seen.health).filter(|_| !self.may_serve_unheard(seen))?;
        self.may_lose_pod(seen).ok()?;
        let needed = self.has_list()
            && matches!(
                quorum::may_go_down(seen.id(), &self.voters, self.exactly),
                Err(Hindrance::StillVotes { .. })
            );
        (!needed || seen.time(self.now) >= self.wanted.remediation.restart_after).then_some(permit)
    }

    /// Whether it may serve others though its pod is not ready and it is not reached: Kubernetes does not hear of its node, or the alarm
    /// CORRUPT makes every pod unready. A pod on a node that is not ready would not be restarted anyway.
    fn may_serve_unheard(&self, seen: &Seen<'_>) -> bool {
        let pod = seen.objects.pod.as_ref().filter(|pod| pod.running && seen.endpoint.is_none());
        let away = |pod: &Pod| pod.node.as_ref().is_some_and(|node| node.state != NodeState::Ready);
        pod.is_some_and(|pod| away(pod) || corrupt::is_raised(&self.picture.etcd))
    }

    /// Whose data is in memory comes back without it: enough others must have it.
    fn may_lose_pod(&self, seen: &Seen<'_>) -> Result<(), Hindrance> {
        let had_data = self.identity.cluster_id.is_some() && (seen.has_started() || !self.has_list());
        if seen.is_in_memory() && had_data { quorum::may_forget(seen.id(), &self.voters) } else { Ok(()) }
    }

    /// Who serves and can take a request about members: the leader if there is one.
    pub(crate) fn someone_to_ask(&self, not: Option<Serial>) -> Option<Serial> {
        let serving = || self.voters().filter(|seen| seen.answers()).map(|seen| seen.serial);
        let leader = self.leader.filter(|leader| serving().any(|serial| serial == *leader));
        leader.into_iter().chain(serving()).find(|serial| Some(*serial) != not)
    }

    pub(crate) fn name(&self, serial: Serial) -> String {
        self.names.member(serial)
    }

    /// What somebody is told, with names instead of IDs.
    pub(crate) fn explain(&self, what: &impl std::fmt::Display) -> String {
        let mut text = what.to_string();
        for seen in self.members.values() {
            if let Some(listed) = seen.listed {
                text = text.replace(&format!("member {}", listed.id), &self.name(seen.serial));
            }
        }
        text
    }

    /// The lowest version among members: what the cluster as a whole can do.
    pub(crate) fn lowest_version(&self) -> Option<Version> {
        let settled = |seen: &&Seen<'_>| seen.is_member(self) && (seen.has_started() || !self.has_list());
        self.members.values().filter(settled).filter_map(|seen| seen.version).min()
    }

    /// The version that somebody who joins gets: it must be able to read what the others write.
    pub(crate) fn joining_version(&self) -> Option<Version> {
        let asked = self.wanted.version;
        // Founders that never met have nothing that another patch could not read; another minor waits until the cluster exists.
        let founding = self.identity.cluster_id.is_none();
        let fresh = asked.filter(|(_, way)| founding && *way == Way::Roll).map(|(version, _)| version);
        fresh.or_else(|| self.lowest_version()).or_else(|| asked.map(|(version, _)| version))
    }
}

impl<'a> Seen<'a> {
    fn new(
        serial: Serial,
        picture: &'a Picture,
        names: &Names<'_>,
        listed: Option<&'a Listed>,
        identity: &Identity,
        now: Timestamp,
    ) -> Self {
        static NOTHING: Member = Member { stateful_set: None, pod: None, claim: None };
        let objects = picture.members.get(&serial).unwrap_or(&NOTHING);
        let answer = picture.etcd.endpoints.get(&serial);
        let answers = answer.and_then(|answer| answer.as_ref().ok());
        let endpoint = answers.filter(|it| foreign(it, listed, identity).is_none());
        let known = status_of(picture, &names.member(serial));
        let ran = endpoint
            .and_then(|endpoint| endpoint.version)
            .or_else(|| known?.version.as_deref()?.parse().ok())
            .or_else(|| objects.claim.as_ref()?.version)
            .or_else(|| version_that_runs(objects));
        let mut seen = Self {
            serial,
            objects,
            listed,
            endpoint,
            health: Health::Starting(String::new()),
            is_alarmed: false,
            since: known.filter(|known| !known.healthy).map_or(now, |known| known.since.0),
            ran,
            version: ran,
        };
        seen.health = health(&seen, picture, identity);
        seen.is_alarmed = matches!(seen.health, Health::Starting(_)) && corrupt::is_raised(&picture.etcd);
        let was = known.filter(|known| known.healthy == seen.is_healthy());
        seen.since = was.map_or(now, |known| known.since.0);
        seen
    }

    pub(crate) fn id(&self) -> MemberId {
        self.listed.map_or(MemberId(0), |listed| listed.id)
    }

    pub(crate) fn is_healthy(&self) -> bool {
        matches!(self.health, Health::Serving | Health::Learning)
    }

    /// Whether it is a voter that answers linearizable reads, ready or not.
    pub(crate) fn answers(&self) -> bool {
        self.health == Health::Serving || self.is_alarmed
    }

    pub(crate) fn has_started(&self) -> bool {
        self.listed.is_some_and(Listed::has_started)
    }

    /// Whether it belongs to the cluster: by the live list, or, while there is none, by what Kubernetes has.
    pub(crate) fn is_member(&self, case: &Case<'_>) -> bool {
        if case.has_list() {
            return self.listed.is_some();
        }
        let claim = self.objects.claim.as_ref().filter(|claim| claim.ours);
        let in_use = claim.is_some_and(|claim| claim.state == ClaimState::Member);
        in_use || (claim.is_none() && self.objects.stateful_set.is_some())
    }

    /// What its StatefulSet was built from.
    pub(crate) fn recorded(&self) -> Option<&'a Template> {
        self.objects.stateful_set.as_ref()?.template.as_ref()
    }

    /// The fingerprint of what runs: that of its pod, or that which its next pod will have; one that is being stopped does not count.
    pub(crate) fn running(&self) -> Option<String> {
        match self.objects.pod.as_ref().filter(|pod| !pod.deleting) {
            Some(pod) => pod.template.clone(),
            None => self.recorded().map(Template::fingerprint),
        }
    }

    /// Whether its data is gone with its pod.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.recorded().is_some_and(|made| made.medium == Medium::Memory)
    }

    /// Whether its process may run, and vote, though nobody hears it.
    fn may_run(&self) -> bool {
        let ready = |pod: &Pod| pod.node.as_ref().is_none_or(|node| node.state == NodeState::Ready);
        self.objects.pod.as_ref().is_some_and(|pod| pod.running && ready(pod))
    }

    /// For how long it has been as it is.
    pub(crate) fn time(&self, now: Timestamp) -> std::time::Duration {
        now.duration_since(self.since).try_into().unwrap_or_default()
    }
}

/// The API keeps whole seconds: a plan that remembers more would differ from itself when it is read again.
pub(crate) fn in_seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// Everybody who is listed, or has something in Kubernetes.
pub(crate) fn look<'a>(
    picture: &'a Picture,
    identity: &Identity,
    now: Timestamp,
) -> BTreeMap<Serial, Seen<'a>> {
    let names = names(picture);
    let listed = picture.etcd.members.as_deref().unwrap_or_default();
    let by_serial: BTreeMap<Serial, &Listed> =
        listed.iter().filter_map(|member| Some((serial_of(&names, member)?, member))).collect();
    let all: BTreeSet<Serial> = by_serial.keys().chain(picture.members.keys()).copied().collect();
    let seen = |serial: Serial| {
        (serial, Seen::new(serial, picture, &names, by_serial.get(&serial).copied(), identity, now))
    };
    let mut members: BTreeMap<_, _> = all.into_iter().map(seen).collect();
    data::judge(&mut members, picture.etcd.members.is_some());
    members
}

/// The names of a picture's cluster. Whether members speak TLS is what they were made with, if there are any.
pub(crate) fn names(picture: &Picture) -> Names<'_> {
    let made = picture.members.values().find_map(|member| member.stateful_set.as_ref()?.template.as_ref());
    let tls = made.map_or(picture.spec.tls.mode, |template| template.tls.mode);
    Names { namespace: &picture.cluster.namespace, cluster: &picture.cluster.name, tls }
}

pub(crate) fn status_of<'a>(picture: &'a Picture, name: &str) -> Option<&'a MemberStatus> {
    picture.status.members.iter().flatten().find(|member| member.name == name)
}

/// Of somebody whom we have never reached: what its container was started with.
fn version_that_runs(objects: &Member) -> Option<Version> {
    let pod = objects.pod.as_ref().filter(|pod| pod.running)?;
    let template = objects.stateful_set.as_ref()?.template.as_ref()?;
    (pod.template == Some(template.fingerprint())).then_some(template.version)
}

fn serial_of(names: &Names<'_>, member: &Listed) -> Option<Serial> {
    member.peer_urls.iter().find_map(|url| names.serial_of(url))
}

fn strays(
    picture: &Picture,
    identity: &Identity,
    members: &BTreeMap<Serial, Seen<'_>>,
) -> Vec<(Serial, Foreign)> {
    let answers = picture.etcd.endpoints.iter();
    let stray = |(serial, answer): (&Serial, &Result<Endpoint, crate::Unreachable>)| {
        let listed = members.get(serial).and_then(|seen| seen.listed);
        Some((*serial, foreign(answer.as_ref().ok()?, listed, identity)?))
    };
    answers.filter_map(stray).collect()
}

/// Whose data it has that answers so, where it should be the one that is listed.
pub(crate) fn foreign(endpoint: &Endpoint, listed: Option<&Listed>, identity: &Identity) -> Option<Foreign> {
    if !identity.accepts(endpoint.cluster_id) {
        return Some(Foreign::OfCluster(endpoint.cluster_id));
    }
    let other = listed.is_some_and(|listed| listed.id != endpoint.member_id);
    other.then_some(Foreign::OfMember(endpoint.member_id))
}

fn health(seen: &Seen<'_>, picture: &Picture, identity: &Identity) -> Health {
    let pod = seen.objects.pod.as_ref();
    let stays = pod.is_some_and(|pod| !pod.deleting);
    let ready = pod.is_some_and(|pod| pod.ready) && stays;
    if let Some(endpoint) = seen.endpoint {
        let learner = seen.listed.map_or(endpoint.learner, |listed| listed.learner);
        return match (learner, endpoint.serves, ready) {
            (true, _, _) if stays => Health::Learning,
            (false, true, true) => Health::Serving,
            (false, true, false) if stays && corrupt::is_raised(&picture.etcd) => {
                Health::Starting("its pod is not ready, because the alarm CORRUPT is raised".into())
            }
            (false, true, false) if stays => Health::Starting("its pod is not ready yet".into()),
            // It may be cut off from us, and serve others.
            (false, false, true) => Health::Unseen("it does not answer linearizable reads".into()),
            (false, false, false) if stays && endpoint.leader.is_some() => {
                Health::CatchingUp("it catches up".into())
            }
            _ => Health::Down(cause::of(seen, picture, identity)),
        };
    }
    if ready {
        let why = match picture.etcd.endpoints.get(&seen.serial) {
            Some(Err(unreachable)) => unreachable.to_string(),
            Some(Ok(endpoint)) => match foreign(endpoint, seen.listed, identity) {
                Some(foreign) => format!("it {foreign}"),
                None => "it was not asked yet".to_owned(),
            },
            None => "it was not asked yet".to_owned(),
        };
        return Health::Unseen(why);
    }
    Health::Down(cause::of(seen, picture, identity))
}
