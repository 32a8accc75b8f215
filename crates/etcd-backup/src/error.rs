//! What can go wrong between etcd and the store, in words for the person who has to mend it.

use std::io;

use crate::{
    seal::NotAKey,
    sha256::Sha256,
    snapshot::NotASnapshot,
    wal::{chunk::NotAChunk, point::Unreachable, replay::CannotReplay},
};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{location}: {what}. {todo}")]
    Target { location: String, what: String, todo: String },
    #[error("{location}: cannot {action} {object}: {why}. {todo}")]
    Store { location: String, action: &'static str, object: String, why: String, todo: &'static str },
    #[error("etcd's snapshot cannot be used: {0}. Nothing was stored; another attempt takes a new one")]
    Source(NotASnapshot),
    #[error("etcd ended the snapshot: {0}")]
    Etcd(String),
    #[error(
        "{location}: {object} was written with the SHA-256 {written}, and is read with {read}: the store does not keep what it is given. Do not rely on it"
    )]
    Lied { location: String, object: String, written: Sha256, read: Sha256 },
    #[error(
        "{location}: {object} was written, and is not there: the store does not keep what it is given. Do not rely on it"
    )]
    Forgot { location: String, object: String },
    #[error("backup {id}: {why}")]
    Manifest { id: String, why: String },
    #[error(
        "backup {id} is damaged: its object has the SHA-256 {read}, its manifest says {claimed}. Choose another backup"
    )]
    Damaged { id: String, claimed: Sha256, read: Sha256 },
    #[error(
        "backup {id} is damaged: its object has {found} bytes, its manifest says {claimed}. Choose another backup"
    )]
    Size { id: String, claimed: u64, found: u64 },
    #[error("backup {id} is not a whole snapshot: {why}. Choose another backup")]
    NotWhole { id: String, why: NotASnapshot },
    #[error("backup {id} is encrypted with the key {wanted}; {given}. Give the Secret that has it")]
    Key { id: String, wanted: String, given: String },
    #[error("backup {id} cannot be unpacked: {why}. Choose another backup")]
    Unpack { id: String, why: io::Error },
    #[error("cannot write the restored file: {0}. Is the volume large enough?")]
    Write(io::Error),
    #[error(transparent)]
    NotAKey(#[from] NotAKey),
    #[error(
        "{location}: chunk {sequence} of the chain {chain} was written by somebody else: two captures of one etcd run. This one stops"
    )]
    Overtaken { location: String, chain: String, sequence: u64 },
    #[error("chunk {sequence} of the chain {chain}: {why}")]
    Chunk { chain: String, sequence: u64, why: NotAChunk },
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    #[error(transparent)]
    Replay(#[from] CannotReplay),
    #[error("backup {id} is not good: {why}. Choose another backup, and find out what happened to this one")]
    Bad { id: String, why: String },
    #[error("the process was stopped in the middle")]
    Stopped,
}

impl Error {
    /// Whether another attempt may go better with nothing changed by anybody.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Source(_) | Self::Etcd(_) | Self::Stopped | Self::Overtaken { .. } => true,
            Self::Replay(why) => why.is_transient(),
            Self::Store { todo, .. } => *todo == TRY_AGAIN,
            _ => false,
        }
    }
}

const TRY_AGAIN: &str = "It is tried again";

const WRONG_CREDENTIALS: &str = "The credentials are wrong or missing";

/// What stores say to credentials that nobody has or that do not belong together; S3 and Azure say it as if a right were missing.
const UNKNOWN: &[&str] =
    &["InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "AuthenticationFailed"];

const NO_IDENTITY: &str =
    "The service that gives credentials refuses this identity: check what it may be, and whom that trusts";

/// What services that give credentials say to an identity that they do not accept. The client has no kind of error of its own for it.
const REFUSED: &[&str] = &[
    "status code: 401",
    "status code: 403",
    "InvalidIdentityToken",
    "ExpiredToken",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
];

/// What an error of the store means, and what to do about it.
pub(crate) fn of_store(
    location: &str,
    action: &'static str,
    object: &str,
    error: &object_store::Error,
) -> Error {
    use object_store::Error as E;
    let todo = match error {
        E::NotFound { .. } => "Is the bucket right, and does it exist?",
        E::PermissionDenied { .. } if says(error, UNKNOWN) => WRONG_CREDENTIALS,
        E::PermissionDenied { .. } => {
            "The credentials are valid, but may not do this: see docs/etcd-backup.md for the rights that are needed"
        }
        E::Unauthenticated { .. } => WRONG_CREDENTIALS,
        E::Generic { .. } if says(error, REFUSED) => NO_IDENTITY,
        E::AlreadyExists { .. } | E::Precondition { .. } => "Another attempt has written it",
        E::InvalidPath { .. }
        | E::NotSupported { .. }
        | E::NotImplemented { .. }
        | E::UnknownConfigurationKey { .. } => "Check the store's settings",
        _ => TRY_AGAIN,
    };
    Error::Store {
        location: location.to_owned(),
        action,
        object: object.to_owned(),
        why: innermost(error),
        todo,
    }
}

fn says(error: &object_store::Error, codes: &[&str]) -> bool {
    let said = innermost(error);
    codes.iter().any(|code| said.contains(code))
}

/// The last of the causes is the one that says something; the ones before repeat it around their own words.
fn innermost(error: &object_store::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    // Answers of stores are XML over several lines.
    cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: &str) -> String {
        let said = format!("Server returned 403: <Error>\n  <Code>{code}</Code>\n</Error>");
        let denied = object_store::Error::PermissionDenied { path: "db/x".into(), source: said.into() };
        of_store("s3://backups", "write", "db/x", &denied).to_string()
    }

    #[test]
    fn credentials_that_nobody_has_are_told_from_a_right_that_is_missing() {
        for code in ["SignatureDoesNotMatch", "InvalidAccessKeyId"] {
            assert!(told(code).ends_with("The credentials are wrong or missing"), "{}", told(code));
        }
        assert!(told("AccessDenied").contains("The credentials are valid, but may not do this"));
    }
}
