//! What can go wrong, and the exit code that tells the operator which of it did.

use kit::{
    bucket::StoreError,
    disk::{DiskError, NoTree},
};

use super::versions::Refusal;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The data is not what was written. Only a restore helps.
    #[error("corrupt: {0}")]
    Corrupt(String),
    /// What was asked for cannot be done, now or later.
    #[error("{0}")]
    Usage(String),
    /// It is not a version, or not one that may follow.
    #[error(transparent)]
    Version(#[from] Refusal),
    #[error(transparent)]
    Volume(#[from] DiskError),
    #[error(transparent)]
    Tree(#[from] NoTree),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something outside of the data is missing: the password, the port.
    #[error("{0}")]
    Setup(String),
}

impl Failure {
    /// The numbers of sysexits.h.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_)
            | Self::Version(_)
            | Self::Store(StoreError::Usage(_) | StoreError::Missing(_)) => 64,
            Self::Corrupt(_) | Self::Tree(NoTree::Damaged(_)) => 65,
            // Nobody else frees any while a Job is alone on the volume: trying again only keeps the application down.
            Self::Volume(error) | Self::Tree(NoTree::Disk(error)) if error.is_full() => 73,
            Self::Volume(_) | Self::Tree(NoTree::Disk(_)) => 74,
            Self::Store(StoreError::Again(_)) => 75,
            Self::Store(StoreError::Refused(_)) => 77,
            Self::Setup(_) => 78,
        }
    }
}
