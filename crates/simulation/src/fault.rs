//! The faults of a campaign, as data: printed when a run fails, and read back to repeat just that run.

use std::{fmt, str::FromStr, time::Duration};

use apiserver::{ApiError, CrashPoint, Fault, When};

use etcd_api::{EtcdError, Refusal};

use crate::{
    etcd::{EtcdFault, Nth},
    world::OPERATOR,
};

/// What goes wrong in a run, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Injected {
    /// Nothing: the run that the others are compared with.
    Nothing,
    /// The operator dies at its `write`th write.
    Crash { point: CrashPoint, write: usize },
    /// It dies at that write, and its successor at its own first one.
    CrashTwice { point: CrashPoint, write: usize },
    /// The operator's `request`th request is refused with this status.
    Refused { code: u16, request: usize },
    /// The `write`th write is done, but the answer is lost.
    Lost { write: usize },
    /// When all is done, the operator restarts on an API server that is stuck at the `revision`th revision of the run, works on
    /// that for a while, and then sees the present.
    Stale { revision: usize },
    /// Something goes wrong at the operator's `nth` call of etcd: of those that write, or of all for [`AtCall::Silent`] and
    /// [`AtCall::Crash`].
    Etcd { what: AtCall, nth: usize },
}

/// What goes wrong at a call of etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtCall {
    /// The operator dies, and the call was not made.
    CrashBefore,
    /// The operator dies, and the call had its effect.
    CrashAfter,
    /// The call has its effect, and the answer is lost.
    Lost,
    /// etcd refuses: the cluster is not well enough.
    Refused,
    /// Nothing happens, and nothing comes back.
    Silent,
    /// The operator dies while it asks.
    Crash,
}

const AT_CALLS: &[(AtCall, &str)] = &[
    (AtCall::CrashBefore, "crash-before"),
    (AtCall::CrashAfter, "crash-after"),
    (AtCall::Lost, "lost"),
    (AtCall::Refused, "refused"),
    (AtCall::Silent, "silent"),
    (AtCall::Crash, "crash"),
];

const POINTS: &[(CrashPoint, &str)] = &[
    (CrashPoint::Before, "before"),
    (CrashPoint::AfterCommit, "after-commit"),
    (CrashPoint::AfterResponse, "after-response"),
];

impl Injected {
    /// The kind of fault, wherever it is placed.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Nothing => "no fault",
            Self::Crash { point: CrashPoint::Before, .. } => "crash before a write",
            Self::Crash { point: CrashPoint::AfterCommit, .. } => "crash after the commit",
            Self::Crash { point: CrashPoint::AfterResponse, .. } => "crash after the answer",
            Self::CrashTwice { .. } => "two crashes",
            Self::Refused { .. } => "refused request",
            Self::Lost { .. } => "lost answer",
            Self::Stale { .. } => "stale read",
            Self::Etcd { what, .. } => match what {
                AtCall::CrashBefore => "etcd: crash before a write",
                AtCall::CrashAfter => "etcd: crash after a write",
                AtCall::Lost => "etcd: lost answer",
                AtCall::Refused => "etcd: refused write",
                AtCall::Silent => "etcd: no answer",
                AtCall::Crash => "etcd: crash during a read",
            },
        }
    }

    /// The rules for the server.
    pub(crate) fn rules(self) -> Vec<(When, Fault)> {
        let write = |nth| When::write().client(OPERATOR).skip(nth);
        match self {
            Self::Nothing | Self::Stale { .. } | Self::Etcd { .. } => Vec::new(),
            Self::Crash { point, write: nth } => vec![(write(nth), Fault::Crash(point))],
            Self::CrashTwice { point, write: nth } => vec![(write(nth).times(2), Fault::Crash(point))],
            Self::Refused { code, request } => {
                vec![(When::any().client(OPERATOR).skip(request), Fault::Refuse(refusal(code)))]
            }
            Self::Lost { write: nth } => vec![(write(nth), Fault::Lost)],
        }
    }

    /// The rules for etcd.
    pub(crate) fn etcd_rules(self) -> Vec<(Nth, EtcdFault)> {
        let Self::Etcd { what, nth } = self else { return Vec::new() };
        vec![match what {
            AtCall::CrashBefore => (Nth::Write(nth), EtcdFault::CrashBefore),
            AtCall::CrashAfter => (Nth::Write(nth), EtcdFault::CrashAfter),
            AtCall::Lost => (Nth::Write(nth), EtcdFault::Lost),
            AtCall::Refused => (Nth::Write(nth), EtcdFault::Refused(Refusal::Unhealthy)),
            AtCall::Silent => (Nth::Call(nth), EtcdFault::Failed(EtcdError::Deadline(PATIENCE))),
            AtCall::Crash => (Nth::Call(nth), EtcdFault::CrashBefore),
        }]
    }
}

/// How long somebody waited who got no answer.
const PATIENCE: Duration = Duration::from_secs(1);

fn refusal(code: u16) -> ApiError {
    match code {
        409 => ApiError::new(409, "Conflict", "injected: somebody was faster"),
        429 => ApiError::too_many_requests(1),
        503 => ApiError::new(503, "ServiceUnavailable", "injected: the server is starting"),
        _ => ApiError::internal("injected"),
    }
}

impl fmt::Display for Injected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name =
            |point: &CrashPoint| POINTS.iter().find(|(known, _)| known == point).map_or("", |(_, name)| name);
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Crash { point, write } => write!(f, "crash {} {write}", name(point)),
            Self::CrashTwice { point, write } => write!(f, "crash-twice {} {write}", name(point)),
            Self::Refused { code, request } => write!(f, "refused {code} {request}"),
            Self::Lost { write } => write!(f, "lost {write}"),
            Self::Stale { revision } => write!(f, "stale {revision}"),
            Self::Etcd { what, nth } => {
                let name = AT_CALLS.iter().find(|(known, _)| known == what).map_or("", |(_, name)| name);
                write!(f, "etcd {name} {nth}")
            }
        }
    }
}

/// What `CAPSTAN_FAULT` may say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuchFault(String);

impl fmt::Display for NoSuchFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no such fault: \"{}\"; for example \"crash after-commit 17\" or \"stale 3\"", self.0)
    }
}

impl FromStr for Injected {
    type Err = NoSuchFault;

    fn from_str(text: &str) -> Result<Self, NoSuchFault> {
        let number = |word: &str| word.parse().ok();
        let point = |word: &str| POINTS.iter().find(|(_, name)| *name == word).map(|(point, _)| *point);
        let words: Vec<&str> = text.split_whitespace().collect();
        let parsed = match words.as_slice() {
            ["nothing"] => Some(Self::Nothing),
            ["crash", at, nth] => {
                point(at).zip(number(nth)).map(|(point, write)| Self::Crash { point, write })
            }
            ["crash-twice", at, nth] => {
                point(at).zip(number(nth)).map(|(point, write)| Self::CrashTwice { point, write })
            }
            ["refused", code, nth] => {
                code.parse().ok().zip(number(nth)).map(|(code, request)| Self::Refused { code, request })
            }
            ["lost", nth] => number(nth).map(|write| Self::Lost { write }),
            ["stale", nth] => number(nth).map(|revision| Self::Stale { revision }),
            ["etcd", at, nth] => {
                let what = AT_CALLS.iter().find(|(_, name)| name == at).map(|(what, _)| *what);
                what.zip(number(nth)).map(|(what, nth)| Self::Etcd { what, nth })
            }
            _ => None,
        };
        parsed.ok_or_else(|| NoSuchFault(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_read_back() {
        for fault in [
            Injected::Nothing,
            Injected::Crash { point: CrashPoint::AfterCommit, write: 17 },
            Injected::CrashTwice { point: CrashPoint::Before, write: 0 },
            Injected::Refused { code: 503, request: 4 },
            Injected::Lost { write: 2 },
            Injected::Stale { revision: 9 },
            Injected::Etcd { what: AtCall::CrashAfter, nth: 3 },
            Injected::Etcd { what: AtCall::Crash, nth: 4 },
        ] {
            assert_eq!(fault.to_string().parse(), Ok(fault));
        }
        assert!("crash sideways 1".parse::<Injected>().is_err());
    }
}
