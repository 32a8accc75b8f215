//! What etcd tells, with the wire's zero values made absence.

use std::fmt;

/// A member's ID: for ever, never given twice. Printed as etcd prints it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u64);

/// A cluster's ID. Printed as etcd prints it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub u64);

macro_rules! hexadecimal {
    ($id:ident) => {
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:x}", self.0)
            }
        }

        impl fmt::Debug for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:x}", self.0)
            }
        }

        impl std::str::FromStr for $id {
            type Err = std::num::ParseIntError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                u64::from_str_radix(text, 16).map(Self)
            }
        }
    };
}
hexadecimal!(MemberId);
hexadecimal!(ClusterId);

/// How fresh an answer has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// As of now, which takes a quorum.
    Linearizable,
    /// What this member knows; it answers alone.
    Serializable,
}

/// What a member is in its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Voter,
    /// Gets everything, and does not vote.
    Learner,
}

/// What one endpoint says of itself. It answers without a quorum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    pub cluster: ClusterId,
    pub member: MemberId,
    /// `3.6.16`.
    pub version: String,
    pub role: Role,
    /// As this member sees it.
    pub leader: Option<MemberId>,
    pub raft_term: u64,
    pub raft_index: u64,
    pub raft_applied_index: u64,
    pub revision: i64,
    /// Bytes of the file, free pages included.
    pub db_size: i64,
    pub db_size_in_use: i64,
    /// From 3.6 on.
    pub db_size_quota: Option<i64>,
    /// `3.6.0`; from 3.6 on.
    pub storage_version: Option<String>,
    /// The version that the cluster is being downgraded to; from 3.6 on.
    pub downgrade_target: Option<String>,
    /// What etcd complains about: alarms, no leader.
    pub errors: Vec<String>,
}

/// A member, as the cluster knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub id: MemberId,
    /// Empty until it has started for the first time.
    pub name: String,
    pub peer_urls: Vec<String>,
    /// Empty until it has started for the first time.
    pub client_urls: Vec<String>,
    pub role: Role,
}

impl Member {
    /// Whether it ever joined.
    pub fn has_started(&self) -> bool {
        !self.name.is_empty()
    }
}

/// All members of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    pub cluster: ClusterId,
    /// Whose answer it is.
    pub told_by: MemberId,
    pub raft_term: u64,
    pub members: Vec<Member>,
}

/// What came of adding a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    pub member: Member,
    /// With it.
    pub membership: Membership,
}

/// An alarm, raised by or for a member, which restricts the whole cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Alarm {
    pub member: MemberId,
    pub kind: AlarmKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlarmKind {
    /// Only reads and deletes are served.
    NoSpace,
    /// Members disagree about the data.
    Corrupt,
}

/// The hash of what a member holds at a revision. Members agree when hash and compact revision do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashKv {
    pub hash: u32,
    pub compact_revision: i64,
    /// The revision that was hashed; from 3.6 on.
    pub hash_revision: Option<i64>,
}

/// What is asked of etcd's downgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downgrade<'a> {
    /// Could the cluster go to this version, `3.5`?
    Validate(&'a str),
    /// Go: the storage is rewritten, and then members may be replaced by that version.
    Enable(&'a str),
    Cancel,
}

/// What gRPC's health service says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Serving,
    /// It lives, and says that it does not serve: during a defragmentation, for one.
    NotServing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_and_printed_as_etcd_does() {
        let id: MemberId = "8e9e05c52164694d".parse().unwrap();
        assert_eq!(id, MemberId(10_276_657_743_932_975_437));
        assert_eq!(
            (id.to_string(), format!("{id:?}")),
            ("8e9e05c52164694d".into(), "8e9e05c52164694d".into())
        );
        assert!("9d3g".parse::<ClusterId>().is_err());
    }
}
