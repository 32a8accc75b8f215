//! What is the case, and what is being done about it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ClusterRestoreStatus;

/// How the cluster is, and what is being done about it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EtcdClusterStatus {
    /// One word for what is going on.
    pub phase: Option<Phase>,
    /// The same as a sentence, and what to do if there is something to do.
    pub message: Option<String>,
    /// The generation of the spec that all this is about.
    pub observed_generation: Option<i64>,
    /// etcd's ID of the cluster, in hexadecimal. Once it is here, no member ever founds a cluster again.
    #[serde(rename = "clusterID")]
    pub cluster_id: Option<String>,
    /// The highest number that a member was given; numbers are never used twice.
    pub latest_serial: Option<i64>,
    /// How many members there are, those that are still joining included.
    pub replicas: Option<i32>,
    /// How many members vote and serve.
    pub ready_members: Option<i32>,
    /// How many members have the version and the settings of the spec.
    pub updated_members: Option<i32>,
    /// The pods' labels, for the scale subresource.
    pub selector: Option<String>,
    /// The member that leads.
    pub leader: Option<String>,
    /// The versions involved.
    pub version: Option<VersionStatus>,
    /// The members, by number.
    pub members: Option<Vec<MemberStatus>>,
    /// What is being carried out. It is written before the first effect, so that a restarted operator goes on with it.
    pub operation: Option<Operation>,
    /// The data of a backup that is being brought in, or was the last.
    pub restore: Option<ClusterRestoreStatus>,
    /// When members were replaced without being asked for, within the last hour.
    pub replacements: Option<Vec<Time>>,
    /// What became of the last wish that another member should lead.
    pub move_leader: Option<MoveLeaderStatus>,
    /// How to connect.
    pub connection: Option<Connection>,
    /// The certificates.
    pub tls: Option<TlsStatus>,
    /// What is (not) the case, and why.
    pub conditions: Option<Vec<Condition>>,
}

/// One word for what is going on.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The first members are starting.
    Bootstrapping,
    /// All members serve, as the spec asks for.
    Healthy,
    /// Members are missing; the others serve.
    Degraded,
    /// Members are being added or removed.
    Scaling,
    /// Members are moving to a newer version.
    Upgrading,
    /// Members are moving to an older version.
    Downgrading,
    /// Members are being restarted with other settings.
    ApplyingConfig,
    /// A member is being restarted or replaced because it does not serve.
    Repairing,
    /// The data of a backup is being brought in.
    Restoring,
    /// Something waits for a decision: the message says which.
    WaitingForUser,
    /// Too few members serve: nothing can be written. No member is added or removed meanwhile.
    QuorumLost,
    /// No member can be reached: nothing is changed meanwhile.
    Unknown,
    /// Members of another cluster answer under this one's names: nothing is changed meanwhile.
    Conflict,
    /// The spec cannot be carried out, and nothing runs yet.
    Invalid,
    /// The user asked to leave it alone.
    Paused,
    /// The object is being deleted.
    Deleting,
}

/// The versions involved.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct VersionStatus {
    /// The lowest version among the members: what the cluster as a whole can do.
    pub current: Option<String>,
    /// The version that they are moving to.
    pub target: Option<String>,
    /// The lowest version of the stored data, as members of 3.6 and later report it.
    pub storage: Option<String>,
}

/// One member.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MemberStatus {
    /// Its name, `<cluster>-<number>`.
    pub name: String,
    /// etcd's ID of it, in hexadecimal; nothing before it was added.
    pub id: Option<String>,
    /// What it is to the others.
    pub role: Role,
    /// Whether it serves.
    pub healthy: bool,
    /// Since when it does, or does not.
    pub since: Time,
    /// Why it does not, and what is done about it.
    pub reason: Option<String>,
    /// The version that it runs.
    pub version: Option<String>,
    /// Whether it has the version and the settings of the spec.
    pub updated: bool,
    /// The size of its database in bytes, free pages included.
    pub db_size: Option<i64>,
    /// How much of that is in use.
    pub db_size_in_use: Option<i64>,
    /// The node that it runs on.
    pub node: Option<String>,
}

/// What a member is to the others.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It votes, and orders what is written.
    Leader,
    /// It votes.
    Follower,
    /// It is catching up, and does not vote yet.
    Learner,
    /// It votes, but does not say whether it leads.
    Voter,
    /// It is no member yet, or no longer.
    None,
}

/// Something that takes several steps.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// What it is.
    pub kind: OperationKind,
    /// What it leads to: a version, a number of members, the fingerprint of settings, a member.
    pub target: String,
    /// What is being done at the moment.
    pub step: String,
    /// The member that it is about at the moment.
    pub member: Option<String>,
    /// When it began.
    pub started_at: Time,
    /// When the present step began.
    pub step_started_at: Time,
    /// How far it is, and what it waits for.
    pub message: Option<String>,
}

/// What can be carried out.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperationKind {
    /// The first members start together.
    Found,
    /// The first member starts with the data of a backup, and the cluster grows from it.
    Recover,
    /// The cluster's data is replaced by that of a backup.
    Restore,
    /// The cluster grows.
    ScaleOut,
    /// The cluster shrinks.
    ScaleIn,
    /// A member that does not serve is restarted.
    Restart,
    /// A member that does not serve is replaced by a new one.
    Replace,
    /// The alarm CORRUPT is disarmed, once all voters have the same data.
    Disarm,
    /// Members move to a newer version.
    Upgrade,
    /// Members move to an older version.
    Downgrade,
    /// Members get other settings.
    Configure,
    /// Another member is to lead, as somebody asked.
    MoveLeader,
    /// Volumes that are no longer used are deleted, as the policy says.
    CleanUp,
}

/// What became of the wish that another member should lead: the annotation `etcd.capstan.dev/move-leader`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MoveLeaderStatus {
    /// The annotation's text. The same text is never acted on twice.
    pub request: String,
    /// Whether the member leads.
    pub done: bool,
    /// That it does, or why it cannot.
    pub message: String,
}

/// How to connect.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// URLs for clients: the Service first, then each member.
    pub endpoints: Vec<String>,
    /// The Secret with `ca.crt`, `tls.crt` and `tls.key` of a client; nothing without TLS.
    pub secret_name: Option<String>,
}

/// The certificates.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct TlsStatus {
    /// When the first certificate of the cluster ends, if nobody renews it.
    pub not_after: Option<Time>,
    /// The Secret that holds it.
    pub secret_name: Option<String>,
}
