//! How a call fails: etcd refused, or nobody answered.

use std::{error::Error, io, time::Duration};

use crate::Refusal;

pub type Result<T, E = EtcdError> = std::result::Result<T, E>;

/// A call that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EtcdError {
    /// etcd said no.
    #[error("{0}")]
    Refused(Refusal),
    /// No connection: nothing was sent.
    #[error("cannot connect: {0}")]
    Unreachable(String),
    /// Whom we reached does not trust us, or we do not trust it.
    #[error("the TLS handshake failed: {0}")]
    Tls(String),
    /// The connection broke: nobody knows whether the call had its effect.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// No answer in time: nobody knows whether the call had its effect.
    #[error("no answer within {0:?}")]
    Deadline(Duration),
    /// The URL, or a certificate of ours, cannot be used.
    #[error("cannot dial {url}: {why}")]
    Invalid { url: String, why: String },
    /// An answer that no version of etcd that we know gives.
    #[error("unexpected answer {code}: {message}")]
    Unexpected { code: String, message: String },
}

impl EtcdError {
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Refused(refusal) => Some(*refusal),
            _ => None,
        }
    }

    /// Whether the call may have had its effect all the same, or may still have it.
    pub fn leaves_doubt(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.leaves_doubt(),
            Self::Broken(_) | Self::Deadline(_) | Self::Unexpected { .. } => true,
            Self::Unreachable(_) | Self::Tls(_) | Self::Invalid { .. } => false,
        }
    }

    /// What an answer with an error means; `deadline` is what the call had.
    pub(crate) fn answered(status: &tonic::Status, deadline: Duration) -> Self {
        if let Some(refusal) = Refusal::said(status.message()) {
            return Self::Refused(refusal);
        }
        if let Some(source) = status.source() {
            // tonic keeps the deadline that we tell the server, too, and may be first to see it pass.
            if chain(source).any(<dyn Error>::is::<tonic::TimeoutExpired>) {
                return Self::Deadline(deadline);
            }
            return Self::local(source);
        }
        match status.code() {
            tonic::Code::DeadlineExceeded => Self::Deadline(deadline),
            // gRPC servers and proxies that go away say so without a word of etcd.
            tonic::Code::Unavailable => Self::Broken(status.message().to_owned()),
            code => Self::Unexpected { code: format!("{code:?}"), message: status.message().to_owned() },
        }
    }

    /// What an error of our own side of the connection means.
    pub(crate) fn local(error: &(dyn Error + 'static)) -> Self {
        let chain: Vec<&(dyn Error + 'static)> = chain(error).collect();
        let why = chain.last().map(ToString::to_string).unwrap_or_default();
        // rustls adds where to read about it.
        let why = why.split(": https://").next().unwrap_or_default().to_owned();
        if chain.iter().any(|error| error.is::<rustls::Error>()) {
            return Self::Tls(why);
        }
        match chain.iter().any(|error| error.is::<tonic::ConnectError>()) {
            true => Self::Unreachable(why),
            false => Self::Broken(why),
        }
    }
}

/// An error and its causes. What an [`io::Error`] carries counts as its cause, which `source` leaves out.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error: &&'a (dyn Error + 'static)| {
        match error.downcast_ref::<io::Error>() {
            Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
            None => error.source(),
        }
    })
}

#[cfg(test)]
mod tests {
    use tonic::{Code, Status};

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(2);

    #[test]
    fn a_refusal_is_known_under_every_code_that_it_travels_under() {
        for code in [Code::Unavailable, Code::FailedPrecondition] {
            let status = Status::new(code, "etcdserver: rpc not supported for learner");
            assert_eq!(EtcdError::answered(&status, DEADLINE), EtcdError::Refused(Refusal::NotForLearners));
        }
    }

    #[test]
    fn what_may_have_happened_is_told_from_what_did_not() {
        let doubtful = |status: Status| EtcdError::answered(&status, DEADLINE).leaves_doubt();
        assert!(doubtful(Status::unavailable("etcdserver: request timed out")));
        assert!(doubtful(Status::deadline_exceeded("context deadline exceeded")));
        assert!(doubtful(Status::unavailable("transport is closing")));
        assert!(!doubtful(Status::unavailable("etcdserver: unhealthy cluster")));
        assert!(!EtcdError::Unreachable("connection refused".into()).leaves_doubt());
    }

    #[test]
    fn what_we_do_not_know_is_told_word_by_word() {
        let error = EtcdError::answered(&Status::new(Code::Internal, "etcdserver: new in 3.9"), DEADLINE);
        assert_eq!(error.to_string(), "unexpected answer Internal: etcdserver: new in 3.9");
    }
}
