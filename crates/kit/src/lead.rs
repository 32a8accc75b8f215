//! One leader among the replicas, by a Lease, with client-go's rules; and a fence that keeps everybody else from writing.
//!
//! ```text
//! lease.rs    the rules: a pure function from what was seen to the next step
//! elector.rs  carries the steps out, every two seconds
//! fence.rs    until when this replica may write; asked before every write
//! ```
//!
//! Why two replicas never both write, on clocks that may be hours apart but run at the same speed:
//! - A leader's fence is open until `renew_deadline` (10 s) after the *start* of its last successful renewal.
//! - That renewal changed the lease at the server after its start, and a standby saw the change later still.
//! - A standby takes over `lease_duration` (15 s) after it saw the last change, at the earliest, and only if the lease is
//!   still the one that it saw (resourceVersion).
//!
//! So at least `lease_duration - renew_deadline` (5 s) lie between the last write of one and the first of the next.

mod elector;
mod fence;
mod lease;
#[cfg(test)]
mod tests;

use std::{fmt, fs, time::Duration};

use jiff::Timestamp;
use serde::Serialize;

pub use self::{
    elector::{Elector, Ended, Loss},
    fence::{Fence, NotLeader},
};

/// How much longer than `retry_period` a standby may wait, at most, so that replicas do not move in step. client-go's factor.
const JITTER: f64 = 1.2;

/// Which lease, who we are, and the times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Election {
    /// The lease's namespace.
    pub namespace: String,
    /// The lease's name.
    pub name: String,
    /// Who we are. Must be different in every process, also after a restart.
    pub identity: String,
    /// How long others wait before they take over, after the last sign of life that they saw. Whole seconds.
    pub lease_duration: Duration,
    /// How long a leader goes on without a successful renewal.
    pub renew_deadline: Duration,
    /// How often the lease is renewed, or looked at.
    pub retry_period: Duration,
    /// Give the lease back when stopping, so that another replica takes over at once.
    pub release_on_stop: bool,
}

impl Election {
    /// The lease `namespace/name`, with client-go's times and an identity for this process.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            release_on_stop: true,
        }
    }

    /// Whether these times can keep two leaders apart.
    pub fn validate(&self) -> Result<(), BadElection> {
        let longest_retry = self.retry_period.mul_f64(JITTER);
        if self.namespace.is_empty() || self.name.is_empty() || self.identity.is_empty() {
            Err(BadElection::Unnamed)
        } else if self.retry_period.is_zero() {
            Err(BadElection::NoRetryPeriod)
        } else if self.lease_duration.subsec_nanos() != 0
            || i32::try_from(self.lease_duration.as_secs()).is_err()
        {
            Err(BadElection::NotWholeSeconds(self.lease_duration))
        } else if self.lease_duration <= self.renew_deadline {
            Err(BadElection::NoGap {
                lease_duration: self.lease_duration,
                renew_deadline: self.renew_deadline,
            })
        } else if self.renew_deadline <= longest_retry {
            Err(BadElection::NoRetry { renew_deadline: self.renew_deadline, longest_retry })
        } else {
            Ok(())
        }
    }
}

/// Why an [`Election`] cannot be held.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadElection {
    /// Something has no name.
    #[error("the election needs a lease namespace, a lease name and an identity")]
    Unnamed,
    /// The lease would be asked for without a pause.
    #[error("retry period must be longer than zero")]
    NoRetryPeriod,
    /// The lease says its duration in seconds.
    #[error("lease duration {0:?} must be whole seconds, as the Lease object has them")]
    NotWholeSeconds(Duration),
    /// Another replica would take over while the old leader still writes.
    #[error(
        "lease duration {lease_duration:?} must be longer than renew deadline {renew_deadline:?}: \
         otherwise two replicas could lead at once"
    )]
    NoGap {
        /// As configured.
        lease_duration: Duration,
        /// As configured.
        renew_deadline: Duration,
    },
    /// One failed renewal would end the leadership.
    #[error(
        "renew deadline {renew_deadline:?} must be longer than {longest_retry:?} (retry period × {JITTER}): \
         otherwise one failed renewal ends the leadership"
    )]
    NoRetry {
        /// As configured.
        renew_deadline: Duration,
        /// What is derived from the retry period.
        longest_retry: Duration,
    },
}

/// How the election stands, as this replica sees it: for people and for the manager. Writes are decided by the [`Fence`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leadership {
    /// Who we are.
    pub identity: String,
    /// Whether we lead.
    pub leading: bool,
    /// Who holds the lease, if anybody does.
    pub holder: Option<String>,
    /// Since when, by the holder's clock.
    pub since: Option<Timestamp>,
    /// How often the lease has changed hands.
    pub transitions: u64,
    /// What went wrong the last time we looked.
    pub problem: Option<String>,
}

impl fmt::Display for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.holder {
            Some(_) if self.leading => write!(f, "{} leads", self.identity),
            Some(holder) => write!(f, "{} stands by, {holder} leads", self.identity),
            None => write!(f, "{} stands by, nobody leads", self.identity),
        }
    }
}

/// Whether `error` means that a write was refused because this replica does not lead.
pub fn is_not_leader(error: &kube::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<NotLeader>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// `hostname_uuid`, as client-go's users write it: in a pod the hostname is the pod's name, which people can look up; the rest
/// tells a restarted container from its predecessor.
fn identity() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "localhost" } else { host.trim() };
    let random = format!("{:032x}", fastrand::u128(..));
    let part = |from: usize, to: usize| random.get(from..to).unwrap_or_default();
    format!("{host}_{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}
