//! `capstan backup`: etcd's backups, on any machine that reaches the store; Kubernetes is not asked.
//!
//! ```text
//! take    etcd ──> store     what the operator's Jobs run, and what a person can run against any etcd
//! ls, show, verify           the catalogue
//! fetch   store ──> file     for `etcdutl snapshot restore`
//! prune, rm                  what a policy, or a person, does not want any more
//! capture etcd ──> store     everything that happens between backups
//! replay  store ──> etcd     from a restored backup on to a point in time
//! ```

mod capture;
mod ending;
mod fetch;
mod list;
mod place;
mod progress;
mod prune;
mod replay;
mod root;
mod serve;
mod settle;
mod take;
mod verify;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use etcd_api::Tls;
use etcd_backup::{Error, Manifest, Store};

pub(crate) use place::Place;

#[derive(Debug, Args)]
pub(crate) struct Backup {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List the backups below a place, newest first.
    Ls(list::Ls),
    /// Show one backup's manifest.
    Show(list::Show),
    /// Read a backup from end to end, and check all of its hashes; or restore it into an etcd of its own, and compare.
    Verify(Box<verify::Verify>),
    /// Take a snapshot of an etcd cluster into a store.
    Take(Box<take::Take>),
    /// Write a backup to a file for `etcdutl snapshot restore`, checked.
    Fetch(Box<fetch::Fetch>),
    /// Make what `etcdutl snapshot restore` wrote a member's data directory, at once or not at all.
    #[command(hide = true)]
    Settle(settle::Settle),
    /// Remove backups that a policy does not want any more. The newest always stays.
    Prune(prune::Prune),
    /// Capture what happens between backups, so that every point in time can be restored. Runs until it is stopped.
    Capture(Box<capture::Capture>),
    /// Write captured revisions to an etcd that was restored from a backup, up to a revision or a time.
    Replay(Box<replay::Replay>),
    /// Remove one backup.
    Rm(prune::Remove),
}

/// Runs it, and tells how it ended with the exit code, too: see [`ending`].
pub(crate) async fn run(Backup { what }: Backup) -> ExitCode {
    ending::code(match what {
        What::Ls(ls) => ls.run().await,
        What::Show(show) => show.run().await,
        What::Verify(verify) => verify.run().await,
        What::Take(take) => take.run().await,
        What::Fetch(fetch) => fetch.run().await,
        What::Settle(settle) => settle.run(),
        What::Prune(prune) => prune.run().await,
        What::Capture(capture) => capture.run().await,
        What::Replay(replay) => replay.run().await,
        What::Rm(remove) => remove.run().await,
    })
}

/// The manifest of a backup that must be there.
async fn chosen(store: &Store, id: &str) -> Result<Manifest> {
    let location = store.location();
    let none = || Error::Manifest {
        id: id.to_owned(),
        why: format!("it is not at {location}; `capstan backup ls {location}` lists what there is"),
    };
    Ok(store.manifest(id).await?.ok_or_else(none)?)
}

/// A file that people name.
fn read(file: &std::path::Path) -> Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// The etcd client's certificate, from a directory as a Secret is mounted.
fn certificates(directory: Option<&std::path::Path>) -> Result<Option<Tls>> {
    let Some(directory) = directory else { return Ok(None) };
    let file = |name: &str| read(&directory.join(name)).context("the etcd client's certificate");
    Ok(Some(Tls::new(file("ca.crt")?, file("tls.crt")?, file("tls.key")?)))
}
