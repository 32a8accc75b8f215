//! `capstan backup`: etcd's backups, on any machine that reaches the store; Kubernetes is not asked.
//!
//! ```text
//! take    etcd ──> store     what the operator's Jobs run, and what a person can run against any etcd
//! ls, show, verify           the catalogue
//! fetch   store ──> file     for `etcdutl snapshot restore`
//! prune                      what a policy does not want any more
//! ```

mod fetch;
mod list;
mod place;
mod progress;
mod prune;
mod take;
mod verify;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use etcd_backup::{Manifest, Store};

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
    /// Read a backup from end to end, and check all of its hashes.
    Verify(verify::Verify),
    /// Take a snapshot of an etcd cluster into a store.
    Take(Box<take::Take>),
    /// Write a backup to a file for `etcdutl snapshot restore`, checked.
    Fetch(fetch::Fetch),
    /// Remove backups that a policy does not want any more. The newest always stays.
    Prune(prune::Prune),
}

pub(crate) async fn run(Backup { what }: Backup) -> Result<()> {
    match what {
        What::Ls(ls) => ls.run().await,
        What::Show(show) => show.run().await,
        What::Verify(verify) => verify.run().await,
        What::Take(take) => take.run().await,
        What::Fetch(fetch) => fetch.run().await,
        What::Prune(prune) => prune.run().await,
    }
}

/// The manifest of a backup that must be there.
async fn chosen(store: &Store, id: &str) -> Result<Manifest> {
    let Some(manifest) = store.manifest(id).await? else {
        bail!("there is no backup {id} at {}; `capstan backup ls {0}` lists what there is", store.location());
    };
    Ok(manifest)
}

/// A file that people name.
fn read(file: &std::path::Path) -> Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}
