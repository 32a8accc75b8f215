//! What is asked of an endpoint, as data: recorded, counted, and broken by faults.

use std::fmt;

use etcd_api::{Alarm, Consistency, MemberId, Role};

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    Status,
    Members(Consistency),
    AddMember { peer_urls: Vec<String>, role: Role },
    RemoveMember(MemberId),
    UpdateMember { member: MemberId, peer_urls: Vec<String> },
    PromoteMember(MemberId),
    MoveLeader(MemberId),
    Alarms,
    Disarm(Alarm),
    Defragment,
    HashKv(i64),
    ValidateDowngrade(String),
    EnableDowngrade(String),
    CancelDowngrade,
    Probe(Consistency),
    Compact(i64),
    AuthStatus,
}

impl Call {
    /// Whether it changes anything.
    pub fn is_write(&self) -> bool {
        match self {
            Self::Status
            | Self::Members(_)
            | Self::Alarms
            | Self::HashKv(_)
            | Self::ValidateDowngrade(_)
            | Self::Probe(_)
            | Self::AuthStatus => false,
            Self::AddMember { .. }
            | Self::RemoveMember(_)
            | Self::UpdateMember { .. }
            | Self::PromoteMember(_)
            | Self::MoveLeader(_)
            | Self::Disarm(_)
            | Self::Defragment
            | Self::EnableDowngrade(_)
            | Self::CancelDowngrade
            | Self::Compact(_) => true,
        }
    }
}

/// A call that was made, to whom, in the order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    pub url: String,
    pub call: Call,
    /// The API server's revision at that time: what of Kubernetes could be known.
    pub revision: u64,
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.call, self.url)
    }
}
