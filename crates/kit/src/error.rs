//! What can go wrong between a reconcile and the API server.

use crate::{Key, KindId};

/// A failed step of a reconcile.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A call to the API server failed.
    #[error("cannot {verb} {kind} {key}")]
    Api {
        /// What was tried, for example `apply`.
        verb: &'static str,
        /// The kind of the object.
        kind: Box<KindId>,
        /// Its name.
        key: Key,
        /// Why it failed.
        #[source]
        source: Box<kube::Error>,
    },
    /// This replica is not (or no longer) the leader: nothing was written.
    #[error("not the leader: {kind} {key} was left alone")]
    NotLeader {
        /// The kind of the object.
        kind: Box<KindId>,
        /// Its name.
        key: Key,
    },
    /// Somebody else controls the object: it was left alone.
    #[error("{kind} {key} is controlled by {owner}, so it was left alone. {remedy}")]
    Foreign {
        /// The kind of the object.
        kind: Box<KindId>,
        /// Its name.
        key: Key,
        /// Who controls it, for example `Deployment web (uid 7d1c…)`.
        owner: String,
        /// What to do about it.
        remedy: String,
    },
    /// The cache is behind the server; nothing was done. It is tried again when the cache has caught up.
    #[error("{kind} {key} has changed since the cache saw it")]
    Stale {
        /// The kind of the object.
        kind: Box<KindId>,
        /// Its name.
        key: Key,
    },
    /// The object cannot be handled as it is; only the user can mend it.
    #[error("{0}")]
    Invalid(String),
    /// A failure of the operator's own application.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

/// A result with kit's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Wraps what kube returned, naming what was tried on which object.
    pub fn api(verb: &'static str, kind: KindId, key: Key, source: kube::Error) -> Self {
        let kind = Box::new(kind);
        if crate::lead::is_not_leader(&source) {
            return Self::NotLeader { kind, key };
        }
        Self::Api { verb, kind, key, source: Box::new(source) }
    }

    /// The HTTP status of the server's answer, if it was the server that refused: 409 for a conflict, 403 for missing rights.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Api { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether something could not be made because its namespace is being deleted: there is nothing left to do.
    pub fn is_of_terminating_namespace(&self) -> bool {
        let Self::Api { source, .. } = self else { return false };
        let kube::Error::Api(status) = source.as_ref() else { return false };
        let mut causes = status.details.iter().flat_map(|details| &details.causes);
        causes.any(|cause| cause.reason == "NamespaceTerminating")
    }

    /// Wraps an error of the application.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Other(error.into())
    }
}
