//! What etcd refuses, in its own words: the one table.
//!
//! Only the words count: some of them travel under another gRPC code in 3.5 than in 3.6 and 3.7.

use std::fmt;

macro_rules! refusals {
    ($($(#[$doc:meta])* $refusal:ident = $words:literal,)*) => {
        /// etcd understood, and said no.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Refusal {
            $($(#[$doc])* $refusal,)*
        }

        impl Refusal {
            /// Each one.
            pub const ALL: &'static [Self] = &[$(Self::$refusal,)*];

            /// What etcd says.
            pub const fn words(self) -> &'static str {
                match self {
                    $(Self::$refusal => $words,)*
                }
            }
        }
    };
}

// Source: etcd's api/v3rpc/rpctypes of 3.5.35, 3.6.16 and 3.7.3.
refusals! {
    /// Some member was not connected for the last five seconds, so that a change of members is not safe.
    Unhealthy = "etcdserver: unhealthy cluster",
    /// One at a time, unless `--max-learners` says otherwise.
    TooManyLearners = "etcdserver: too many learner members in cluster",
    LearnerNotReady = "etcdserver: can only promote a learner member which is in sync with leader",
    MemberNotLearner = "etcdserver: can only promote a learner member",
    MemberNotFound = "etcdserver: member not found",
    /// The same peer URLs were added in the same second, from which the ID is made; later it is [`Refusal::PeerUrlExists`].
    MemberExists = "etcdserver: member ID already exist",
    PeerUrlExists = "etcdserver: Peer URLs already exists",
    BadPeerUrls = "etcdserver: given member URLs are invalid",
    /// Strict reconfiguration: the cluster would be without a quorum of started members.
    NotEnoughStarted = "etcdserver: re-configuration failed due to not enough started members",
    NotForLearners = "etcdserver: rpc not supported for learner",
    ClusterIdMismatch = "etcdserver: cluster ID mismatch",
    NotLeader = "etcdserver: not leader",
    NoLeader = "etcdserver: no leader",
    LeaderChanged = "etcdserver: leader changed",
    BadLeaderTransferee = "etcdserver: bad leader transferee",
    Timeout = "etcdserver: request timed out",
    TimeoutLeaderFailed = "etcdserver: request timed out, possibly due to previous leader failure",
    TimeoutConnectionLost = "etcdserver: request timed out, possibly due to connection lost",
    TimeoutNotApplied = "etcdserver: request timed out, waiting for the applied index took too long",
    Stopped = "etcdserver: server stopped",
    TooManyRequests = "etcdserver: too many requests",
    RequestTooLarge = "etcdserver: request is too large",
    NoSpace = "etcdserver: mvcc: database space exceeded",
    Compacted = "etcdserver: mvcc: required revision has been compacted",
    FutureRevision = "etcdserver: mvcc: required revision is a future revision",
    Corrupt = "etcdserver: corrupt cluster",
    NotCapable = "etcdserver: not capable",
    PermissionDenied = "etcdserver: permission denied",
    AuthFailed = "etcdserver: authentication failed, invalid user ID or password",
    InvalidAuthToken = "etcdserver: invalid auth token",
    /// Authentication is on, and the call came without a user.
    UserEmpty = "etcdserver: user name is empty",
    BadDowngradeFormat = "etcdserver: wrong downgrade target version format",
    BadDowngradeTarget = "etcdserver: invalid downgrade target version",
    NoClusterVersion = "etcdserver: cluster version not found during downgrade",
    DowngradeInProgress = "etcdserver: cluster has a downgrade job in progress",
    /// Up to 3.5; later versions call off nothing without a word.
    NoDowngrade = "etcdserver: no inflight downgrade job",
}

impl Refusal {
    pub(crate) fn said(words: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|refusal| refusal.words() == words)
    }

    /// What was asked may happen all the same, or may have happened.
    pub fn leaves_doubt(self) -> bool {
        matches!(
            self,
            Self::Timeout
                | Self::TimeoutLeaderFailed
                | Self::TimeoutConnectionLost
                | Self::TimeoutNotApplied
                | Self::LeaderChanged
                | Self::Stopped
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_known_by_its_words() {
        for refusal in Refusal::ALL {
            assert_eq!(Refusal::said(refusal.words()), Some(*refusal));
        }
        assert_eq!(Refusal::said("etcdserver: something new"), None);
    }
}
