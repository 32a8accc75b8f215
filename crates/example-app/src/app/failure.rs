//! What can go wrong, and the exit code that tells the operator which of it did.

use std::{io, path::Path};

use super::versions::Refusal;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The data is not what was written. Only a restore helps.
    #[error("corrupt: {0}")]
    Corrupt(String),
    /// What was asked for cannot be done, now or later.
    #[error("{0}")]
    Usage(String),
    /// The volume does not do what it is told: no permission, no space, an error of the device.
    #[error("{path}: {source}")]
    Volume { path: String, source: io::Error },
    /// The store does not answer, or answers nonsense. Later it may.
    #[error("{0}")]
    Again(String),
    /// The store answers, and says no.
    #[error("{0}")]
    Refused(String),
    /// Something outside of the data is missing: the password, the port.
    #[error("{0}")]
    Setup(String),
}

impl Failure {
    /// The numbers of sysexits.h.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 64,
            Self::Corrupt(_) => 65,
            Self::Volume { .. } => 74,
            Self::Again(_) => 75,
            Self::Refused(_) => 77,
            Self::Setup(_) => 78,
        }
    }

    pub(super) fn volume(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Volume { path: path.display().to_string(), source }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Usage(refusal.to_string())
    }
}
