//! The picture: all that is known about a cluster at one moment, as plain data.
//!
//! Whoever takes it reads Kubernetes first and etcd afterwards. A StatefulSet exists only for a member that was added before, so
//! one that is in the picture and not in its member list has left for certain.

use std::collections::{BTreeMap, BTreeSet};

use etcd_types::{BackupPhase, BackupStore, EtcdClusterSpec, EtcdClusterStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};

use crate::{ClusterId, MemberId, Record, Serial, Template, Version};

/// All that is known about a cluster at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Which EtcdCluster this is about.
    pub cluster: Cluster,
    /// What the user asks for, as it was written.
    pub spec: EtcdClusterSpec,
    /// What was reported last; empty when there is none.
    pub status: EtcdClusterStatus,
    /// The ConfigMap `<name>-identity`, if it is there and of this cluster's UID.
    pub latch: Option<Latch>,
    /// Every number for which Kubernetes has a StatefulSet, a pod or a claim of this UID.
    pub members: BTreeMap<Serial, Member>,
    /// Claims that carry this cluster's name and another UID: an earlier cluster left them behind.
    pub earlier: BTreeMap<Serial, Claim>,
    /// What etcd says.
    pub etcd: Etcd,
    /// The certificates.
    pub certificates: Certificates,
    /// The annotation `etcd.capstan.dev/hold-upgrade`: an upgrade must not begin yet, and why. Whoever makes the backup before an
    /// upgrade sets it.
    pub upgrade_hold: Option<String>,
    /// The EtcdBackup that must be completed before the version changes ([`Names::backup_before`](crate::Names::backup_before)).
    pub upgrade_backup: Option<UpgradeBackup>,
    /// The annotation [`MOVE_LEADER`](crate::MOVE_LEADER): the member that somebody wants to lead.
    pub move_leader: Option<String>,
    /// The data of a backup that is asked for: by `spec.bootstrap.recovery` before there is a cluster, or by an EtcdRestore.
    pub recovery: Option<Recovery>,
    /// What is being done for it, beside the members.
    pub work: Works,
}

/// The data of a backup that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovery {
    /// The EtcdRestore; nothing for `spec.bootstrap.recovery`.
    pub name: Option<String>,
    /// Its UID, or [`BOOTSTRAP`](crate::BOOTSTRAP).
    pub uid: String,
    /// Whether somebody agreed to give up the present data. Where there is none, always.
    pub consented: bool,
    /// Whether somebody agreed to go on without a backup of the present data.
    pub without_safety_backup: bool,
    /// What the data comes from, in words: "the backup nightly-1".
    pub label: String,
    /// What all that was asked for is known by: another one is something else.
    pub fingerprint: String,
    /// Whether it goes on from the backup to a revision or a time.
    pub to_point: bool,
    /// The store that it comes from; what the present data is backed up to first.
    pub store: Option<BackupStore>,
    /// Why it cannot be begun with: there is no such EtcdBackup, say.
    pub problem: Option<String>,
}

impl Recovery {
    /// What the EtcdBackup of the data before is called; nothing where there is none before.
    pub fn safety(&self) -> Option<String> {
        Some(safety_name(self.name.as_ref()?, &self.uid))
    }
}

/// With the beginning of the EtcdRestore's UID: the backup before an earlier one of the same name says nothing about the data of now.
pub(crate) fn safety_name(restore: &str, uid: &str) -> String {
    // Names of EtcdBackups have 56 characters at most.
    let (restore, uid) = (restore.get(..39).unwrap_or(restore), uid.get(..8).unwrap_or(uid));
    format!("{}-before-{uid}", restore.trim_end_matches(['-', '.']))
}

/// What is being done to bring data, beside the members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Works {
    /// Jobs that bring data to the volume of a member.
    pub seeds: BTreeMap<Serial, Work>,
    /// Jobs that write again what came after the backup.
    pub replays: BTreeMap<Serial, Work>,
    /// The backup of the data that a restore replaces.
    pub safety: Option<Work>,
}

/// A Job, or a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// `metadata.uid`, for preconditions.
    pub uid: String,
    /// Whether it has a deletion timestamp.
    pub deleting: bool,
    /// The annotation with [`SeedWish::made_from`](crate::SeedWish::made_from).
    pub made_from: String,
    /// How it stands.
    pub state: WorkState,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

/// How work stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkState {
    /// It goes on: the container that runs, or how far it is; empty before it has started.
    Running(String),
    /// It is done: the name of the backup that it is about.
    Done(String),
    /// It failed, for good: why, in a sentence.
    Failed(String),
    /// It is done, and its result was lost with its pod: it must be done again.
    ResultLost,
}

/// Which EtcdCluster it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID, which is also etcd's `--initial-cluster-token`.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// Whether it has a deletion timestamp.
    pub deleting: bool,
}

/// The EtcdBackup before a change of the version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradeBackup {
    /// Its name.
    pub name: String,
    /// `metadata.uid`, for preconditions.
    pub uid: String,
    /// Of which EtcdCluster it is.
    pub cluster: String,
    /// When it was made.
    pub created: Timestamp,
    /// Whether it has a deletion timestamp.
    pub deleting: bool,
    /// How it stands.
    pub phase: Option<BackupPhase>,
    /// The same as a sentence.
    pub message: Option<String>,
}

/// What must be remembered when the status is lost: the content of the ConfigMap `<name>-identity`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latch {
    /// The cluster's ID, as soon as a live member list said it.
    pub cluster_id: Option<ClusterId>,
    /// The highest number that was given to a member; 0 before the first.
    pub latest_serial: u64,
    /// Who founds the cluster, or founded it.
    pub founders: Vec<Serial>,
    /// The restore that is under way, or was the last.
    pub restore: Option<Record>,
    /// The UIDs of all that are over: none is ever done twice.
    pub restored: BTreeSet<String>,
}

/// What Kubernetes has for one member.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Member {
    /// Its StatefulSet.
    pub stateful_set: Option<StatefulSet>,
    /// Its pod.
    pub pod: Option<Pod>,
    /// Its claim. Always `None` with `Medium::Memory`.
    pub claim: Option<Claim>,
}

/// A member's StatefulSet.
#[derive(Debug, Clone, PartialEq)]
pub struct StatefulSet {
    /// `metadata.uid`, for preconditions.
    pub uid: String,
    /// Whether it has a deletion timestamp.
    pub deleting: bool,
    /// The annotation with the template that it was built from; nothing if it cannot be read.
    pub template: Option<Template>,
}

/// A member's pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Pod {
    /// `metadata.uid`, for preconditions.
    pub uid: String,
    /// Whether it has a deletion timestamp.
    pub deleting: bool,
    /// The `Ready` condition: `/readyz` of etcd, asked by the kubelet.
    pub ready: bool,
    /// Whether its container runs now.
    pub running: bool,
    /// Whether its process has answered once since it began to run: the kubelet's startup probe. A long log or a large database takes
    /// minutes.
    pub started: bool,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// Why its container waits: `ImagePullBackOff`, `CrashLoopBackOff`, `CreateContainerConfigError` …, with the message.
    pub waiting: Option<Waiting>,
    /// Why no node takes it: the message of `PodScheduled=False`.
    pub unschedulable: Option<String>,
    /// How often its container was restarted.
    pub restarts: u32,
    /// How its container ended the last time, if it ever did.
    pub last_exit: Option<Exit>,
    /// The node that it was given to.
    pub node: Option<Node>,
    /// The annotation with [`Template::fingerprint`] that it was made with.
    pub template: Option<String>,
    /// The annotation with [`Start::fingerprint`](crate::Start::fingerprint) that it was made with.
    pub start: Option<String>,
}

/// Why a container waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Kubernetes' word for it.
    pub reason: String,
    /// Its sentence.
    pub message: String,
}

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code.
    pub code: i32,
    /// Kubernetes' word: `OOMKilled`, `Error` …
    pub reason: String,
    /// The end of its log (`terminationMessagePolicy: FallbackToLogsOnError`).
    pub message: String,
    /// When. Kubernetes tells of it for as long as there is the pod.
    pub at: Option<Timestamp>,
}

/// A node that a pod or a volume is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: NodeState,
}

/// How a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeState {
    /// Its kubelet says it is well.
    Ready,
    /// Its kubelet does not, or nobody hears from it.
    NotReady,
    /// There is no Node of this name any more: the one that a pod was given to is deleted.
    Gone,
    /// No Node carries this host name. It may be deleted, about to register again, or labelled otherwise.
    Unknown,
}

impl NodeState {
    /// Whether pods on it are known not to be stopped by its kubelet.
    pub(crate) fn is_dead(self) -> bool {
        matches!(self, Self::NotReady | Self::Gone)
    }
}

impl std::fmt::Display for NodeState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ready => "Ready",
            Self::NotReady => "NotReady",
            Self::Gone => "deleted",
            Self::Unknown => "unknown: no Node carries this host name",
        })
    }
}

/// A member's claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// `metadata.uid`, for preconditions.
    pub uid: String,
    /// Whether it has a deletion timestamp.
    pub deleting: bool,
    /// `status.phase`.
    pub phase: ClaimPhase,
    /// Whether it carries this operator's labels and annotations. One that does not was made by somebody else.
    pub ours: bool,
    /// The annotation that says what it is.
    pub state: ClaimState,
    /// The annotation with the cluster ID whose data it holds.
    pub cluster_id: Option<ClusterId>,
    /// The annotation with the last version that its member was seen at.
    pub version: Option<Version>,
    /// The annotation with the version that may have been started on it, seen or not.
    pub started: Option<Version>,
    /// The annotation that says whether its member spoke TLS: etcd keeps the peers' URLs with its data.
    pub tls: Option<bool>,
    /// The one node that its volume can be used on, where that is so (local volumes): the Node that carries the volume's host name, else that
    /// host name, with [`NodeState::Unknown`].
    pub node: Option<Node>,
    /// `spec.storageClassName`.
    pub class: Option<String>,
    /// How large a volume it asks for.
    pub asked: Option<Quantity>,
    /// How large its volume is.
    pub capacity: Option<Quantity>,
    /// Whether its class lets volumes grow.
    pub can_grow: bool,
    /// What Kubernetes says about its growth, if it is under way.
    pub resizing: Option<String>,
}

/// `status.phase` of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimPhase {
    /// No volume yet: there can be no data.
    Pending,
    /// It has its volume.
    Bound,
    /// Its volume is gone.
    Lost,
}

/// What a claim is to the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimState {
    /// A member's data.
    Member,
    /// The data of a backup is brought to it; nobody has started on it yet.
    Seed,
    /// A member that left had its data here.
    Detached {
        /// Since when.
        since: Timestamp,
    },
}

/// What etcd says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Etcd {
    /// Every member that was dialled, and its answer. One whose pod does not run need not be dialled.
    pub endpoints: BTreeMap<Serial, Result<Endpoint, Unreachable>>,
    /// The member list of a linearizable read, answered by a voter of the latched cluster; nothing when there was none.
    pub members: Option<Vec<Listed>>,
    /// Alarms that are raised; nothing when nobody could say.
    pub alarms: Option<Vec<Alarm>>,
    /// Members whose process answers a request that needs no database, and not one that reads it: something holds the database, such as a
    /// defragmentation.
    pub blocked: BTreeSet<Serial>,
    /// The hash of each voter's data, or why it is not known; empty unless data may differ
    /// ([`data_may_differ`](crate::data_may_differ)).
    pub hashes: BTreeMap<MemberId, Result<DataHash, Unreachable>>,
}

/// Why a member did not answer, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(pub String);

/// A member's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// The cluster that it belongs to.
    pub cluster_id: ClusterId,
    /// Who it is.
    pub member_id: MemberId,
    /// The version that it runs; nothing if it is no version.
    pub version: Option<Version>,
    /// Who leads, as it knows; nothing if it knows of none.
    pub leader: Option<MemberId>,
    /// Whether it says of itself that it is a learner.
    pub learner: bool,
    /// Whether a linearizable read through it succeeded; always false for learners, which do not serve them.
    pub serves: bool,
    /// The term.
    pub raft_term: u64,
    /// The last entry of its log.
    pub raft_index: u64,
    /// The last entry that it applied.
    pub raft_applied_index: u64,
    /// The last revision that it knows.
    pub revision: i64,
    /// The size of its database, free pages included.
    pub db_size: i64,
    /// How much of that is in use.
    pub db_size_in_use: i64,
    /// How large its database may become; nothing if it does not say (3.5).
    pub db_quota: Option<i64>,
    /// The version of its stored data; nothing if it does not say (3.5).
    pub storage_version: Option<String>,
    /// The version that a downgrade was enabled to, such as `3.5.0`; nothing if none is, or it does not say.
    pub downgrade: Option<String>,
    /// What it complains of.
    pub errors: Vec<String>,
    /// Since when it has answered without a break, as far as the operator has watched; nothing if it came upon it running.
    pub since: Option<Timestamp>,
}

/// A member in the live list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its ID.
    pub id: MemberId,
    /// Its name; empty until it has started, but for founders.
    pub name: String,
    /// Its peer URLs: known from the beginning.
    pub peer_urls: Vec<String>,
    /// Its client URLs: empty until it has started.
    pub client_urls: Vec<String>,
    /// Whether it is a learner.
    pub learner: bool,
}

impl Listed {
    /// Whether it has ever started. A founder has its name from the founding list, but nobody has client URLs before they say so.
    pub fn has_started(&self) -> bool {
        !self.client_urls.is_empty()
    }
}

/// An alarm that is raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alarm {
    /// Who raised it.
    pub member: MemberId,
    /// Which one.
    pub kind: AlarmKind,
}

/// Which alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AlarmKind {
    /// The database has reached its quota: nothing can be written.
    NoSpace,
    /// The member's data differs from the others'.
    Corrupt,
}

/// The hash of a member's keys and values: etcd's `HashKV`. Members with the same data have the same one at the same revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataHash {
    /// The last revision that is in it.
    pub revision: i64,
    /// The revision that was compacted last.
    pub compact_revision: i64,
    /// The hash.
    pub hash: u32,
}

/// The certificates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Certificates {
    /// The certificate that ends first, and the Secret it is in; nothing without TLS, or before there are any.
    pub first_to_end: Option<(Timestamp, String)>,
    /// What is wrong with them, a sentence each: "Secret db-own has no tls.crt". While there is something, nobody is started.
    pub problems: Vec<String>,
    /// What was provided and is not used, a sentence each: a certificate of a CA that members do not trust. Members go on with what they
    /// have, so it keeps nothing else from being done.
    pub held: Vec<String>,
}
