//! The plan: what to do, as data. The operator carries it out, `capstan etcd plan` prints it, tests check it.
//!
//! Invariants: at most one step; a step of an operation only when the status on the server has that operation on record; no
//! membership step without a member list of the latched cluster.

use std::{fmt, time::Duration};

use etcd_types::{BackupStore, EtcdClusterStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::{
    ClusterId, Latch, MemberId, Permit, Serial, Template, Version,
    conditions::{Condition, Why},
    validate::Wanted,
};

/// What to do, as data. It is carried out in the order of its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Whether the EtcdCluster must carry our finalizer. When it is being deleted and this is false, it is let go.
    pub hold: bool,
    /// What must be there: cheap, and the same every time. Nothing when nothing may be touched (paused, being deleted, not
    /// valid before it exists).
    pub objects: Option<Objects>,
    /// The one step, after the objects are as they should be.
    pub step: Option<Step>,
    /// The whole status but for `conditions`.
    pub status: EtcdClusterStatus,
    /// What goes into `status.conditions`.
    pub conditions: Vec<Condition>,
    /// What people are told once.
    pub events: Vec<Event>,
    /// Fields that cannot be carried out.
    pub refusals: Vec<Refusal>,
    /// When to look again, if nothing changes before, and what for.
    pub wake: Option<(Duration, String)>,
}

/// What must be there. In this order: the latch before everything else, claims before the StatefulSets that use them.
#[derive(Debug, Clone, PartialEq)]
pub struct Objects {
    /// The content of the ConfigMap `<name>-identity`. It never loses a cluster ID.
    pub latch: Latch,
    /// What was made of the spec: Services, Secrets, NetworkPolicy, monitoring and account are built from it.
    pub wanted: Wanted,
    /// Claims that must exist or carry annotations. A claim that is not here is left alone.
    pub claims: Vec<ClaimWish>,
    /// StatefulSets that must exist. One that is not here is left alone: only a step deletes one.
    pub members: Vec<MemberWish>,
    /// `minAvailable` of the PodDisruptionBudget on voters; nothing means no such object: one member alone has no quorum to
    /// protect, and must not keep a node from being drained.
    pub min_available: Option<u32>,
    /// The Job that brings the data of a backup to a volume. One that is there already is left as it is.
    pub seed: Option<SeedWish>,
    /// The Job that writes again what came after the backup.
    pub replay: Option<ReplayWish>,
    /// Whether the Service for clients leads to nobody.
    pub closed: bool,
}

/// A Job that brings the data of a backup to the volume of a member that has never started.
#[derive(Debug, Clone, PartialEq)]
pub struct SeedWish {
    /// Whose volume.
    pub serial: Serial,
    /// What the member will be made from: its etcd restores, and its placement is the Job's.
    pub template: Template,
    /// What revisions are raised by, in place.
    pub bump: Option<i64>,
    /// What it is made from, by a fingerprint.
    pub made_from: String,
}

/// A Job that writes again what came after the backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayWish {
    /// The member that it writes to.
    pub serial: Serial,
    /// What revisions were raised by.
    pub bump: Option<i64>,
    /// The backup's name in the store.
    pub backup: String,
}

/// What a Job is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// It brings data to a volume.
    Seed,
    /// It writes again what came after the backup.
    Replay,
}

/// A StatefulSet that must exist.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberWish {
    /// Whose.
    pub serial: Serial,
    /// What its pod is made from.
    pub template: Template,
    /// Whether it votes.
    pub voter: bool,
    /// Whether it answers clients: then a pod that waited for that may be called ready.
    pub serves: bool,
}

/// A claim that must exist, or must say what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimWish {
    /// Whose.
    pub serial: Serial,
    /// Whether to make it. A member that has started never gets a second one: it would be empty.
    pub create: bool,
    /// Since when the member has left; nothing for a member.
    pub detached: Option<Timestamp>,
    /// The cluster whose data it holds, once that is known.
    pub cluster_id: Option<ClusterId>,
    /// The version that its member was last seen at.
    pub version: Option<Version>,
    /// The version that may be started on it from now on: on record before any pod of it can be.
    pub started: Option<Version>,
    /// How large a volume it is to ask for from now on; nothing when that stays as it is.
    pub resize: Option<Quantity>,
    /// The restore whose data is brought to it; nothing from the moment on that a member may start on it.
    pub seed: Option<String>,
}

impl ClaimWish {
    /// A claim that must say that it is a member's, and no more.
    pub fn of(serial: Serial) -> Self {
        Self {
            serial,
            create: false,
            detached: None,
            cluster_id: None,
            version: None,
            started: None,
            resize: None,
            seed: None,
        }
    }
}

/// The one step of a plan. Each names exactly what it was decided about, for preconditions.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, for a moment")]
pub enum Step {
    /// `MemberAdd` as a learner. Done when the list has the peer URL.
    AddLearner {
        /// The number that it gets.
        serial: Serial,
        /// Its peer URL.
        peer_url: String,
    },
    /// `MemberPromote`, asked of the leader. "Not in sync" is no error: it is tried again.
    Promote {
        /// Whom.
        serial: Serial,
        /// Its ID.
        id: MemberId,
        /// Who leads.
        leader: Serial,
    },
    /// `MemberRemove`. "Not found" means done.
    RemoveMember {
        /// Whom; nothing if its URL is not of this cluster's form.
        serial: Option<Serial>,
        /// Its ID.
        id: MemberId,
        /// A voter to ask: one that stays, the leader if possible.
        ask: Serial,
        /// Why it has to go.
        why: String,
    },
    /// `MoveLeader`, asked of the leader.
    MoveLeader {
        /// Who leads now.
        from: Serial,
        /// Who is to lead.
        to: Serial,
        /// Its ID.
        to_id: MemberId,
    },
    /// `Alarm` with DEACTIVATE, for CORRUPT. One that is not raised means done.
    Disarm {
        /// The members that alarms name. One of them may have been removed, or be 0.
        members: Vec<MemberId>,
        /// A voter to ask.
        ask: Serial,
    },
    /// Delete the pod of this UID; its StatefulSet makes it again, from its present template.
    RestartPod {
        /// Whose.
        serial: Serial,
        /// `metadata.uid`, the precondition.
        pod_uid: String,
        /// Why it may go down.
        permit: Permit,
        /// Why it should.
        why: String,
    },
    /// Delete the StatefulSet of somebody who is no member (any more). Its claim stays, detached.
    DeleteStatefulSet {
        /// Whose.
        serial: Serial,
        /// `metadata.uid`, the precondition.
        uid: String,
        /// Why.
        why: String,
    },
    /// Delete a claim, with its data. Only with consent: `deletionPolicy.volumes: Delete`.
    DeleteClaim {
        /// Whose.
        serial: Serial,
        /// `metadata.uid`, the precondition.
        uid: String,
        /// Why.
        why: String,
    },
    /// Make the EtcdBackup before a change of the version. One that is there already means done.
    TakeBackup {
        /// Its name.
        name: String,
        /// Where it is kept.
        store: BackupStore,
    },
    /// Delete an EtcdBackup that an earlier change of the version has left behind; what it stored stays.
    DeleteBackup {
        /// Its name.
        name: String,
        /// `metadata.uid`, the precondition.
        uid: String,
        /// Why.
        why: String,
    },
    /// Delete a Job that is over or no longer wanted.
    DeleteJob {
        /// Whose volume it is about.
        serial: Serial,
        /// What it is for.
        task: Task,
        /// `metadata.uid`, the precondition.
        uid: String,
        /// Why.
        why: String,
    },
    /// etcd's `Downgrade`. "In progress" to the same target means done.
    Downgrade {
        /// What of it.
        action: DowngradeAction,
        /// The minor to go to, as etcd writes it: `3.5`.
        target: String,
        /// The leader, which is asked.
        leader: Serial,
    },
}

/// What of etcd's Downgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DowngradeAction {
    /// Check, and then allow members of the lower minor.
    Enable,
    /// Take that back.
    Cancel,
}

/// A field that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Which.
    pub field: &'static str,
    /// Why not, what to set instead, and what stays.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

/// What people are told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whether somebody should look.
    pub warning: bool,
    /// The word.
    pub reason: Why,
    /// The sentence.
    pub message: String,
}

impl Step {
    /// Whether it changes who the members are.
    pub fn changes_membership(&self) -> bool {
        matches!(self, Self::AddLearner { .. } | Self::Promote { .. } | Self::RemoveMember { .. })
    }
}

/// A sentence each.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddLearner { serial, .. } => write!(f, "add member {serial} as a learner"),
            Self::Promote { serial, .. } => write!(f, "promote member {serial}"),
            Self::RemoveMember { serial: Some(serial), why, .. } => {
                write!(f, "remove member {serial}: {why}")
            }
            Self::RemoveMember { serial: None, id, why, .. } => {
                write!(f, "remove the member with ID {id}: {why}")
            }
            Self::MoveLeader { from, to, .. } => {
                write!(f, "move the leader from member {from} to member {to}")
            }
            Self::Disarm { .. } => f.write_str("disarm the alarm CORRUPT"),
            Self::RestartPod { serial, why, .. } => write!(f, "restart the pod of member {serial}: {why}"),
            Self::DeleteStatefulSet { serial, why, .. } => {
                write!(f, "delete the StatefulSet of member {serial}: {why}")
            }
            Self::DeleteClaim { serial, why, .. } => write!(f, "delete the claim of member {serial}: {why}"),
            Self::TakeBackup { name, .. } => write!(f, "take the backup {name}"),
            Self::DeleteBackup { name, why, .. } => write!(f, "delete the EtcdBackup {name}: {why}"),
            Self::DeleteJob { serial, task: Task::Seed, why, .. } => {
                write!(f, "delete the Job that brings data to member {serial}: {why}")
            }
            Self::DeleteJob { serial, task: Task::Replay, why, .. } => {
                write!(f, "delete the Job that replays to member {serial}: {why}")
            }
            Self::Downgrade { action: DowngradeAction::Enable, target, .. } => {
                write!(f, "enable the downgrade to {target}")
            }
            Self::Downgrade { action: DowngradeAction::Cancel, target, .. } => {
                write!(f, "cancel the downgrade to {target}")
            }
        }
    }
}

impl fmt::Display for MemberWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { serial, template, voter, serves: _ } = self;
        let role = if *voter { "" } else { ", learner" };
        write!(f, "member {serial}: {} {}{role}", template.version, template.start)
    }
}

/// What would be done, a line each.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for refusal in &self.refusals {
            writeln!(f, "refuse {refusal}")?;
        }
        if let Some(operation) = &self.status.operation {
            let of = operation.message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
            writeln!(f, "{:?} {}, {}{of}", operation.kind, operation.target, operation.step)?;
        }
        for wish in self.objects.iter().flat_map(|objects| &objects.members) {
            writeln!(f, "{wish}")?;
        }
        if let Some(step) = &self.step {
            writeln!(f, "{step}")?;
        }
        match &self.wake {
            Some((after, what)) => writeln!(f, "look again in {} s: {what}", after.as_secs_f32()),
            None => Ok(()),
        }
    }
}
