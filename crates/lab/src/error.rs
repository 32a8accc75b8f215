//! What can go wrong in the lab, in words that say what to do.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("no `{program}` on PATH: {remedy}")]
    NoProgram { program: String, remedy: &'static str },
    #[error("`{command}` {how}. The end of what it said:\n{output}")]
    Command { command: String, how: String, output: String },
    #[error(
        "no {component} {version} here: there are {known}; add one with crates/lab/go/pin and a row in versions.rs"
    )]
    UnknownVersion { component: String, version: String, known: String },
    #[error("{0}")]
    Image(String),
    #[error(
        "none of CAPSTAN_CACHE, XDG_CACHE_HOME and HOME is set: set CAPSTAN_CACHE to a directory for binaries and images"
    )]
    NoCache,
    /// A sentence that says what is missing or in the way, and what to do.
    #[error("{0}")]
    Refused(String),
    #[error("{what}: not within {seconds} s; look at {}", look.display())]
    Timeout { what: String, seconds: u64, look: PathBuf },
    #[error(
        "lab {name} did not come up: {source}\n(`cargo xtask lab down --name {name}` removes what there is of it)"
    )]
    NotUp { name: String, source: Box<Error> },
}

/// Says which file, and what was to be done with it: an [`io::Error`] alone knows neither.
pub(crate) trait At<T> {
    fn at(self, action: &'static str, path: impl AsRef<Path>) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, action: &'static str, path: impl AsRef<Path>) -> Result<T> {
        self.map_err(|source| Error::File { action, path: path.as_ref().into(), source })
    }
}

/// The last lines of a program's output: where compilers and daemons say what is wrong.
pub(crate) fn last_lines(output: &str, count: usize) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}

/// The last part of a path, for people and for the names of files beside it.
pub(crate) fn last_component(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl Error {
    pub(crate) fn start(program: impl fmt::Display, remedy: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NoProgram { program: program.to_string(), remedy },
            _ => Self::File { action: "start", path: program.to_string().into(), source },
        }
    }
}
