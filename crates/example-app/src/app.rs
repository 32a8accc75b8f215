//! The application itself: notes by key, on a volume, over HTTP. This is what an ExampleApp's pods run.
//!
//! ```text
//! serve    http ─> notes ─> tree                    what the Deployment runs
//! migrate            tree ─> tree                   what an upgrade runs first
//! backup             tree ─> archive ─> bucket      what the CronJob runs
//! restore  bucket ─> archive ─> tree                what a recovery runs
//! ```
//!
//! `versions` is the table of releases; the operator decides by the same table. The last three say how they ended in one line
//! of JSON, where Kubernetes shows it: the pod's termination message.

mod archive;
pub(crate) mod format;
mod http;
mod notes;
mod password;
mod serve;
#[cfg(test)]
mod tests;
mod tree;
pub mod versions;
mod work;

use std::{path::PathBuf, process::ExitCode};

use kit::{
    Clock,
    bucket::{Target, key_at},
    disk::Disk,
    run::{Failure, end},
};
use serde_json::{Value, json};

pub use format::Format;
pub use serve::Serve;

/// A command of the application.
#[derive(clap::Args)]
pub struct Command {
    /// The volume.
    #[arg(long, global = true, default_value = "/data")]
    data: PathBuf,
    /// Gets one line of JSON about the end, if it is there.
    #[arg(long, global = true, default_value = "/dev/termination-log")]
    result_file: PathBuf,
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Serve notes over HTTP
    Serve(Serve),
    /// Bring the data into the format of another version; nothing else may run on it
    Migrate {
        /// The version that will run next.
        #[arg(long)]
        to: String,
        /// To the version before, after an upgrade that failed: into its older format, if need be.
        #[arg(long)]
        undo: bool,
    },
    /// Write all notes into one object of a bucket
    Backup {
        #[command(flatten)]
        target: Target,
        /// The object.
        #[arg(long, required_unless_present = "prefix", conflicts_with = "prefix")]
        key: Option<String>,
        /// The object is named by the time, below this.
        #[arg(long)]
        prefix: Option<String>,
    },
    /// Put the notes of a backup in place of what is there; nothing else may run on it
    Restore {
        #[command(flatten)]
        target: Target,
        /// The object, or `latest`.
        #[arg(long)]
        key: String,
        /// Where to look for the latest.
        #[arg(long, default_value = "")]
        prefix: String,
    },
}

/// Carries out a command. The exit code is one of [`exit`](kit::run::exit): the operator decides by it whether trying again is of use.
pub async fn run(command: Command) -> ExitCode {
    let file = command.result_file.clone();
    end(&file, run_to_end(command, Clock::system()).await)
}

/// What a command did to the data: the operator reads it from the pod's termination message.
async fn run_to_end(Command { data, what, .. }: Command, clock: Clock) -> Result<Value, Failure> {
    // The commands read and write files in between awaits: nothing else waits for this process' threads.
    let disk = Disk::default();
    match what {
        What::Serve(serve) => {
            let stop = kit::until_signalled()
                .map_err(|error| Failure::setup(format!("cannot wait for signals: {error}")))?;
            let bound = serve.bind(&data, clock).await?;
            bound.run(async move { stop.cancelled().await }).await;
            Ok(json!({"stopped": true}))
        }
        What::Migrate { to, undo } => work::migrate(&data, versions::find(&to)?, undo, &disk),
        What::Backup { target, key, prefix } => {
            let key = key.unwrap_or_else(|| key_at(&prefix.unwrap_or_default(), clock.now(), work::SUFFIX));
            work::backup(&data, &target.open()?, &key).await
        }
        What::Restore { target, key, prefix } => {
            work::restore(&data, &target.open()?, &key, &prefix, &disk).await
        }
    }
}
