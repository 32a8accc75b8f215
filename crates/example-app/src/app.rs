//! The application itself: notes by key, on a volume, over HTTP. This is what an ExampleApp's pods run.
//!
//! ```text
//! serve    http ─> notes ─> cache, tree ─> disk     what the Deployment runs
//! migrate            tree ─> tree                   what an upgrade runs first
//! backup             tree ─> archive ─> s3          what the CronJob runs
//! restore  s3 ─> archive ─> tree                    what a recovery runs
//! ```
//!
//! `versions` is the table of releases; the operator decides by the same table. The last three say how they ended in one line
//! of JSON, where Kubernetes shows it: the pod's termination message.

mod archive;
mod backup;
mod cache;
mod disk;
mod failure;
pub(crate) mod format;
mod http;
mod metrics;
mod migrate;
mod notes;
mod password;
mod restore;
mod s3;
mod serve;
#[cfg(test)]
mod tests;
mod tree;
pub mod versions;

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use kit::Clock;
use serde::Serialize;

pub use failure::Failure;
pub use format::Format;
pub use s3::Target;
pub use serve::Serve;

/// The application's commands.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Serve notes over HTTP
    Serve {
        #[command(flatten)]
        serve: Serve,
        #[command(flatten)]
        result: ResultFile,
    },
    /// Bring the data into the format of another version; nothing else may run on it
    Migrate {
        #[arg(long)]
        data: PathBuf,
        /// The version that will run next.
        #[arg(long)]
        to: String,
        /// To the version before, after an upgrade that failed: into its older format, if need be.
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        result: ResultFile,
    },
    /// Write all notes into one object of a bucket
    Backup {
        #[arg(long)]
        data: PathBuf,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        name: BackupName,
        #[command(flatten)]
        result: ResultFile,
    },
    /// Put the notes of a backup in place of what is there; nothing else may run on it
    Restore {
        #[arg(long)]
        data: PathBuf,
        #[command(flatten)]
        target: Target,
        /// The object, or `latest`.
        #[arg(long)]
        key: String,
        /// Where to look for the latest.
        #[arg(long, default_value = "")]
        prefix: String,
        #[command(flatten)]
        result: ResultFile,
    },
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub struct BackupName {
    /// The object.
    #[arg(long)]
    key: Option<String>,
    /// The object is named by the time, below this.
    #[arg(long)]
    prefix: Option<String>,
}

#[derive(clap::Args)]
pub struct ResultFile {
    /// Gets one line of JSON about the end, if it is there.
    #[arg(long, default_value = "/dev/termination-log")]
    result_file: PathBuf,
}

/// A switch of the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Feature {
    /// Search.
    #[value(name = "exampleFeature1")]
    ExampleFeature1,
    /// Export.
    #[value(name = "exampleFeature2")]
    ExampleFeature2,
}

impl Feature {
    pub fn name(self) -> &'static str {
        match self {
            Self::ExampleFeature1 => "exampleFeature1",
            Self::ExampleFeature2 => "exampleFeature2",
        }
    }
}

/// What a command did to the data. The operator reads this from the pod's termination message.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Done {
    #[serde(flatten)]
    object: Option<Object>,
    notes: usize,
    format: Format,
}

/// The object that it wrote or read.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Object {
    key: String,
    bytes: u64,
    sha256: String,
}

impl Object {
    fn new(key: &str, archive: archive::Summary) -> Self {
        Self { key: key.to_owned(), bytes: archive.bytes, sha256: archive.sha256 }
    }
}

/// Carries out a command. The exit code is one of sysexits.h: see [`Failure::exit_code`].
pub async fn run(command: Command) -> ExitCode {
    let (file, ended) = run_to_end(command, Clock::system()).await;
    let (line, code) = match &ended {
        Ok(None) => return ExitCode::SUCCESS,
        Ok(Some(done)) => (format::json_line(done), 0),
        Err(failure) => {
            let code = failure.exit_code();
            tracing::error!("exit code {code}: {failure}");
            (format::json_line(&serde_json::json!({ "error": failure.to_string() })), code)
        }
    };
    // Not in a container, the caller reads it here; in one, this is the log.
    let _ = std::io::stdout().write_all(&line);
    write_result(&file, &line);
    ExitCode::from(code)
}

async fn run_to_end(command: Command, clock: Clock) -> (PathBuf, Result<Option<Done>, Failure>) {
    // The commands read and write files in between awaits: nothing else waits for this process' threads.
    let disk = disk::Disk::default();
    match command {
        Command::Serve { serve, result } => {
            (result.result_file, serve_until_signalled(serve, clock).await.map(|()| None))
        }
        Command::Migrate { data, to, undo, result } => {
            let carry_out = if undo { migrate::migrate_back } else { migrate::migrate };
            let done = versions::find(&to).map_err(Failure::from).and_then(|to| carry_out(&data, to, &disk));
            (result.result_file, done.map(Some))
        }
        Command::Backup { data, target, name, result } => {
            let key = match (name.key, name.prefix) {
                (Some(key), _) => key,
                (None, prefix) => s3::key_at(&prefix.unwrap_or_default(), clock.now()),
            };
            let done = async { backup::backup(&data, &target.open()?, &key).await };
            (result.result_file, done.await.map(Some))
        }
        Command::Restore { data, target, key, prefix, result } => {
            let key = (key != "latest").then_some(key);
            let done =
                async { restore::restore(&data, &target.open()?, key.as_deref(), &prefix, &disk).await };
            (result.result_file, done.await.map(Some))
        }
    }
}

async fn serve_until_signalled(serve: Serve, clock: Clock) -> Result<(), Failure> {
    let stop = kit::until_signalled()
        .map_err(|error| Failure::Setup(format!("cannot wait for signals: {error}")))?;
    let bound = serve.bind(clock).await?;
    bound.run(async move { stop.cancelled().await }).await
}

fn write_result(file: &Path, line: &[u8]) {
    let written =
        OpenOptions::new().write(true).truncate(true).open(file).and_then(|mut file| file.write_all(line));
    if let Err(error) = written.or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    }) {
        tracing::warn!("{}: {error}", file.display());
    }
}
