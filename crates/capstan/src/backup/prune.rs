//! Removing what a policy does not want.

use anyhow::Result;
use clap::Args;
use etcd_backup::{Store, catalogue, retention::Policy};
use jiff::Timestamp;
use kit::Clock;

use super::Place;
use crate::output::say;

#[derive(Debug, Args)]
pub(super) struct Prune {
    #[command(flatten)]
    place: Place,
    /// The cluster whose backups are meant, by its UID: `capstan backup show` has it.
    #[arg(long, value_name = "UID")]
    cluster_uid: String,
    #[command(flatten)]
    keep: Keep,
    /// Only say what would go.
    #[arg(long)]
    dry_run: bool,
}

/// What is to be kept. A backup stays when any of these wants it.
#[derive(Debug, Clone, Copy, Args)]
#[group(required = true, multiple = true)]
pub(super) struct Keep {
    /// The newest so many.
    #[arg(long, value_name = "COUNT")]
    keep_last: Option<u32>,
    /// All that are younger.
    #[arg(long, value_name = "HOURS")]
    keep_hours: Option<u32>,
    /// The newest of each of so many days that have one.
    #[arg(long, value_name = "COUNT")]
    keep_daily: Option<u32>,
    #[arg(long, value_name = "COUNT")]
    keep_weekly: Option<u32>,
    #[arg(long, value_name = "COUNT")]
    keep_monthly: Option<u32>,
    #[arg(long, value_name = "COUNT")]
    keep_yearly: Option<u32>,
}

impl Keep {
    fn policy(self) -> Policy {
        Policy {
            last: self.keep_last,
            hours: self.keep_hours,
            daily: self.keep_daily.unwrap_or(0),
            weekly: self.keep_weekly.unwrap_or(0),
            monthly: self.keep_monthly.unwrap_or(0),
            yearly: self.keep_yearly.unwrap_or(0),
        }
    }
}

impl Prune {
    pub(super) async fn run(self) -> Result<()> {
        let gone = prune(
            &self.place.open()?,
            &self.cluster_uid,
            &self.keep.policy(),
            Clock::system().now(),
            self.dry_run,
        )
        .await?;
        let word = if self.dry_run { "would be removed" } else { "removed" };
        match gone.is_empty() {
            true => say("Everything is wanted.\n"),
            false => say(&gone.iter().map(|id| format!("{id} {word}\n")).collect::<String>()),
        }
    }
}

async fn prune(
    store: &Store,
    cluster: &str,
    policy: &Policy,
    now: Timestamp,
    dry_run: bool,
) -> Result<Vec<String>> {
    let entries = catalogue::list(store).await?;
    let mut gone = Vec::new();
    for found in catalogue::superfluous(&entries, cluster, policy, now) {
        if !dry_run {
            store.remove(found).await?;
        }
        gone.push(found.id.clone());
    }
    Ok(gone)
}
