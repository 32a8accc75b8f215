//! Reading a backup from end to end.

use anyhow::Result;
use clap::Args;
use etcd_backup::load;

use super::{Place, chosen, progress::Progress};
use crate::output::say;

#[derive(Debug, Args)]
pub(super) struct Verify {
    #[command(flatten)]
    place: Place,
    /// The backup.
    id: String,
}

impl Verify {
    pub(super) async fn run(self) -> Result<()> {
        let store = self.place.open()?;
        let manifest = chosen(&store, &self.id).await?;
        let progress = Progress::start("reading", manifest.stored.bytes);
        let seen =
            load::verify(&store, &manifest, self.place.key()?.as_ref(), |it| progress.at(it.read)).await?;
        progress.end(manifest.stored.bytes);
        say(&format!("{} is whole: the database's SHA-256 is {}, as etcd said.\n", manifest.id, seen.sha256))
    }
}
