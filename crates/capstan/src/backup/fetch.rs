//! A backup as a file.

use std::{
    fs::{self, File, OpenOptions},
    path::PathBuf,
};

use anyhow::{Context as _, Result};
use clap::Args;
use etcd_backup::load;

use super::{Place, chosen, progress::Progress};
use crate::output::say;

#[derive(Debug, Args)]
pub(super) struct Fetch {
    #[command(flatten)]
    place: Place,
    /// The backup.
    id: String,
    /// The file to write. It must not exist yet, and is only there when all of it was checked.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

impl Fetch {
    pub(super) async fn run(self) -> Result<()> {
        let store = self.place.open()?;
        let key = self.place.key()?;
        let manifest = chosen(&store, &self.id).await?;
        anyhow::ensure!(!self.to.exists(), "{} exists: it is not overwritten", self.to.display());
        let unfinished = self.to.with_extension("unfinished");
        let file = create(&unfinished)?;
        let progress = Progress::start("reading", manifest.stored.bytes);
        let done = load::load(&store, &manifest, key.as_ref(), file, |it| progress.at(it.read)).await;
        if let Err(error) = done {
            fs::remove_file(&unfinished).ok();
            return Err(error.into());
        }
        progress.end(manifest.stored.bytes);
        File::open(&unfinished)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&unfinished, &self.to))
            .with_context(|| format!("cannot finish {}", self.to.display()))?;
        say(&format!(
            "{} is {} as etcd {} gave it; `etcdutl snapshot restore` takes it.\n",
            self.to.display(),
            manifest.id,
            manifest.etcd_version
        ))
    }
}

/// For nobody else to read: it holds all that is in etcd.
fn create(file: &std::path::Path) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file)
        .with_context(|| format!("cannot write {}", file.display()))
}
