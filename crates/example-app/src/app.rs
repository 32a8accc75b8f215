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

pub(crate) mod format;
mod http;
mod notes;
mod serve;
#[cfg(test)]
mod tests;
pub mod versions;
mod work;

use std::{path::PathBuf, process::ExitCode};

use kit::{
    Clock,
    bucket::{Load, Save},
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
    Backup(Save),
    /// Put the notes of a backup in place of what is there; nothing else may run on it
    Restore(Load),
}

/// Carries out a command. The exit code is one of [`exit`](kit::run::exit): the operator decides by it whether trying again is of use.
pub async fn run(command: Command) -> ExitCode {
    let file = command.result_file.clone();
    end(&file, run_to_end(command, Clock::system()).await)
}

/// What a command did to the data: the operator reads it from the pod's termination message.
async fn run_to_end(Command { data, what, .. }: Command, clock: Clock) -> Result<Value, Failure> {
    // The commands read and write files in between awaits: nothing else waits for this process' threads.
    match what {
        What::Serve(serve) => {
            let stop = kit::until_signalled()
                .map_err(|error| Failure::setup(format!("cannot wait for signals: {error}")))?;
            serve::run(serve.bind(&data, clock).await?, stop.cancelled_owned()).await;
            Ok(json!({"stopped": true}))
        }
        What::Migrate { to, undo } => work::migrate(&data, versions::find(&to)?, undo, &Disk::default()),
        What::Backup(to) => work::backup(&data, &to, clock.now()).await,
        What::Restore(from) => work::restore(&data, &from, &Disk::default()).await,
    }
}
