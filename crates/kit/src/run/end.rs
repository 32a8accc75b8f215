//! The process of a Job: why it fails, as an exit code by which its operator decides, and where its last words go.

use std::{
    fmt::Display,
    fs::OpenOptions,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use serde_json::{Value, json};

use crate::{
    bucket::StoreError,
    disk::{DiskError, NoTree},
};

/// The exit codes by which a Job's process says what kind of failure it was: those of sysexits.h.
pub mod exit {
    /// What was asked for cannot be done, now or later.
    pub const USAGE: i32 = 64;
    /// The data is not what was written.
    pub const CORRUPT: i32 = 65;
    /// There is no room. Nobody else frees any while a Job is alone on a volume: trying again only keeps others waiting.
    pub const FULL: i32 = 73;
    /// The volume does not do what it is told.
    pub const DISK: i32 = 74;
    /// Later it may work.
    pub const AGAIN: i32 = 75;
    /// Whoever was asked said no.
    pub const REFUSED: i32 = 77;
    /// Something outside of the data is missing.
    pub const SETUP: i32 = 78;
    /// Those after which trying again is useless, for [`job`](super::super::job).
    pub const HOPELESS: [i32; 4] = [USAGE, CORRUPT, FULL, REFUSED];
}

/// Why the process of a Job fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    code: i32,
    message: String,
}

impl Failure {
    /// What was asked for cannot be done, now or later.
    pub fn usage(why: impl Into<String>) -> Self {
        Self { code: exit::USAGE, message: why.into() }
    }

    /// The data is not what was written. Only a restore helps.
    pub fn corrupt(what: impl Display) -> Self {
        Self { code: exit::CORRUPT, message: format!("corrupt: {what}") }
    }

    /// Something outside of the data is missing: a password, a port.
    pub fn setup(why: impl Into<String>) -> Self {
        Self { code: exit::SETUP, message: why.into() }
    }

    /// One of [`exit`].
    pub fn exit_code(&self) -> i32 {
        self.code
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let code = match error {
            StoreError::Missing(_) | StoreError::Usage(_) => exit::USAGE,
            StoreError::Refused(_) => exit::REFUSED,
            StoreError::Again(_) => exit::AGAIN,
        };
        Self { code, message: error.to_string() }
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Self {
        let code = if error.is_full() { exit::FULL } else { exit::DISK };
        Self { code, message: error.to_string() }
    }
}

impl From<NoTree> for Failure {
    fn from(error: NoTree) -> Self {
        match error {
            NoTree::Damaged(what) => Self::corrupt(what),
            NoTree::Disk(error) => error.into(),
        }
    }
}

/// Ends the process of a Job: what it has to say goes where [`run()`](super::run()) reads it, and to the log. `file` is the container's
/// termination log, if there is one.
pub fn end(file: &Path, ended: Result<Value, Failure>) -> ExitCode {
    let (said, code) = match ended {
        Ok(done) => (done, 0),
        Err(Failure { code, message }) => {
            tracing::error!("exit code {code}: {message}");
            (json!({ "error": message }), u8::try_from(code).unwrap_or(1))
        }
    };
    // Not in a container, the caller reads it here.
    let _ = writeln!(io::stdout(), "{said}");
    if let Ok(mut log) = OpenOptions::new().write(true).truncate(true).open(file)
        && let Err(error) = writeln!(log, "{said}")
    {
        tracing::warn!("{}: {error}", file.display());
    }
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_go_where_they_are_read() {
        let file = std::env::temp_dir().join(format!("capstan-end-{:016x}", fastrand::u64(..)));
        let code = |code| format!("{:?}", ExitCode::from(code));
        assert_eq!(format!("{:?}", end(&file, Ok(json!({"notes": 1})))), code(0));
        assert!(!file.exists(), "a file that is not there is not made");
        std::fs::write(&file, "what another container wrote, a long line").unwrap();
        assert_eq!(format!("{:?}", end(&file, Err(Failure::usage("no such version")))), code(64));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"error\":\"no such version\"}\n");
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn the_exit_code_says_what_kind_of_failure_it_was() {
        let disk = |kind: io::ErrorKind| DiskError { path: "/data".into(), source: kind.into() };
        let cases: [(Failure, i32); 8] = [
            (StoreError::Missing("x".into()).into(), 64),
            (NoTree::Damaged("x".into()).into(), 65),
            (disk(io::ErrorKind::StorageFull).into(), 73),
            (disk(io::ErrorKind::PermissionDenied).into(), 74),
            (NoTree::Disk(disk(io::ErrorKind::QuotaExceeded)).into(), 73),
            (StoreError::Again("x".into()).into(), 75),
            (StoreError::Refused("x".into()).into(), 77),
            (Failure::setup("no port"), 78),
        ];
        for (failure, code) in cases {
            assert_eq!(failure.exit_code(), code, "{failure}");
            assert_eq!(exit::HOPELESS.contains(&code), ![74, 75, 78].contains(&code), "{failure}");
        }
        assert_eq!(Failure::from(NoTree::Damaged("x".into())).to_string(), "corrupt: x");
    }
}
