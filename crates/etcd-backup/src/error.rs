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

const NO_BUCKET: &str = "Is the bucket right, and does it exist?";

const WRONG_CREDENTIALS: &str = "The credentials are wrong or missing";

const NO_RIGHT: &str =
    "The credentials are valid, but may not do this: see docs/etcd-backup.md for the rights that are needed";

const NO_IDENTITY: &str =
    "The service that gives credentials refuses this identity: check what it may be, and whom that trusts";

/// What stores say to credentials that nobody has or that do not belong together; S3 and Azure say it as if a right were missing.
const UNKNOWN: &[&str] = &[
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "InvalidToken",
    "ExpiredToken",
    "AuthenticationFailed",
    "InvalidAuthenticationInfo",
    // Azurite says so under the code that Azure has for a firewall that lets nobody in.
    "Server failed to authenticate the request",
];

/// What services that give credentials say, with the status 400, to an identity that they do not accept.
const REFUSED: &[&str] = &["InvalidIdentityToken", "invalid_client", "invalid_grant", "unauthorized_client"];

/// Requests to the store itself whose refusals the client gives no kind, as it does with those of services that give credentials.
const WITHOUT_KIND: &[&str] = &["list request", "multipart request"];

/// What an error of the store means, and what to do about it.
pub(crate) fn of_store(
    location: &str,
    action: &'static str,
    object: &str,
    error: &object_store::Error,
) -> Error {
    use object_store::Error as E;
    let todo = match error {
        E::NotFound { .. } => NO_BUCKET,
        E::PermissionDenied { .. } => denied(error),
        E::Unauthenticated { .. } => WRONG_CREDENTIALS,
        E::AlreadyExists { .. } | E::Precondition { .. } => "Another attempt has written it",
        E::InvalidPath { .. }
        | E::NotSupported { .. }
        | E::NotImplemented { .. }
        | E::UnknownConfigurationKey { .. } => "Check the store's settings",
        _ => without_kind(error),
    };
    Error::Store {
        location: location.to_owned(),
        action,
        object: object.to_owned(),
        why: innermost(error),
        todo,
    }
}

fn denied(error: &object_store::Error) -> &'static str {
    if says(error, UNKNOWN) { WRONG_CREDENTIALS } else { NO_RIGHT }
}

/// By the status that the last of the causes names, and by who was asked.
fn without_kind(error: &object_store::Error) -> &'static str {
    let whole = error.to_string();
    let of_the_store = WITHOUT_KIND.iter().any(|request| whole.contains(request));
    let said = innermost(error);
    let status = said.split_once("status code: ").map(|(_, rest)| rest.get(..3).unwrap_or_default());
    match (status, of_the_store) {
        (Some("404"), true) => NO_BUCKET,
        (Some("401"), true) => WRONG_CREDENTIALS,
        (Some("403"), true) => denied(error),
        (Some("401" | "403"), false) => NO_IDENTITY,
        (Some("400"), _) if says(error, UNKNOWN) => WRONG_CREDENTIALS,
        (Some("400"), _) if says(error, REFUSED) => NO_IDENTITY,
        _ => TRY_AGAIN,
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
        for code in ["SignatureDoesNotMatch", "InvalidAccessKeyId", "AuthenticationFailed"] {
            assert!(told(code).ends_with("The credentials are wrong or missing"), "{}", told(code));
        }
        for code in ["AccessDenied", "AuthorizationPermissionMismatch", "AuthorizationFailure"] {
            assert!(told(code).contains("The credentials are valid, but may not do this"), "{}", told(code));
        }
    }

    /// The client gives no kind to a list that is refused, nor to an identity that is; both were once tried again for ever.
    #[test]
    fn what_the_client_gives_no_kind_is_told_by_who_was_asked_and_what_was_answered() {
        for (request, status, todo) in [
            ("list request", "404 Not Found: NoSuchBucket", NO_BUCKET),
            ("list request", "401 Unauthorized: AuthenticationRequired", WRONG_CREDENTIALS),
            ("list request", "403 Forbidden: InvalidAccessKeyId", WRONG_CREDENTIALS),
            ("list request", "403 Forbidden: AccessDenied", NO_RIGHT),
            ("list request", "503 Service Unavailable", TRY_AGAIN),
            ("token request", "401 Unauthorized: AADSTS700211", NO_IDENTITY),
            ("token request", "403 Forbidden: AccessDenied", NO_IDENTITY),
            ("token request", "400 Bad Request: InvalidIdentityToken", NO_IDENTITY),
            ("token request", "404 Not Found", TRY_AGAIN),
            ("put request", "400 Bad Request: InvalidPart", TRY_AGAIN),
        ] {
            let said = format!("Error performing {request}: Server returned non-2xx status code: {status}");
            let error = object_store::Error::Generic { store: "S3", source: said.into() };
            assert_eq!(without_kind(&error), todo, "{request} {status}");
        }
    }
}
