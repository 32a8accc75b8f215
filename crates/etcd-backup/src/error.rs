//! What can go wrong between etcd and the store, in words for the person who has to mend it.
//!
//! Messages end in the status of objects, so what a server sends is never repeated in them: see `answer.rs`.

use std::io;

use crate::{
    answer::Answer,
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
    #[error("backup {id}: {why}")]
    NotOurs { id: String, why: String },
    #[error("backup {id}: {why}")]
    Taken { id: String, why: String },
    #[error(
        "backup {id}: a restore has found it bad (refuted.json in its directory); choose another backup, or allow this one by its id with --allow-refuted (spec.from.allowRefuted of an EtcdRestore, spec.bootstrap.recovery.allowRefuted of an EtcdCluster)"
    )]
    Refuted { id: String },
    #[error(
        "{location}: the store's list of {asked:?} names objects that are elsewhere; nothing is removed. Check the server and whatever is in between"
    )]
    Misdirected { location: String, asked: String },
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

pub(crate) const TRY_AGAIN: &str = "It is tried again";

pub(crate) const NO_BUCKET: &str = "Is the bucket right, and does it exist?";

pub(crate) const WRONG_CREDENTIALS: &str = "The credentials are wrong or missing";

pub(crate) const NO_RIGHT: &str =
    "The credentials are valid, but may not do this: see docs/etcd-backup.md for the rights that are needed";

pub(crate) const NO_IDENTITY: &str =
    "The service that gives credentials refuses this identity: check what it may be, and whom that trusts";

/// What an error of the store means, and what to do about it.
pub(crate) fn of_store(
    location: &str,
    action: &'static str,
    object: &str,
    error: &object_store::Error,
) -> Error {
    use object_store::Error as E;
    let answer = Answer::of(error);
    let todo = match error {
        E::NotFound { .. } => NO_BUCKET,
        E::PermissionDenied { .. } => answer.denied(),
        E::Unauthenticated { .. } => WRONG_CREDENTIALS,
        E::AlreadyExists { .. } | E::Precondition { .. } => "Another attempt has written it",
        E::InvalidPath { .. }
        | E::NotSupported { .. }
        | E::NotImplemented { .. }
        | E::UnknownConfigurationKey { .. } => "Check the store's settings",
        _ => answer.advice(),
    };
    Error::Store {
        location: location.to_owned(),
        action,
        object: object.to_owned(),
        why: answer.to_string(),
        todo,
    }
}
