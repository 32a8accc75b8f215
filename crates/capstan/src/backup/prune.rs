//! Removing backups: those that a policy does not want any more, or one by its name.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use etcd_backup::{
    catalogue::Whose,
    removal::{self, Mode, Pruned},
    retention::Policy,
};
use kit::Clock;
use serde_json::json;

use super::{Place, ending};
use crate::output::{mention, say};

#[derive(Debug, Args)]
pub(super) struct Prune {
    #[command(flatten)]
    place: Place,
    /// The cluster whose backups are meant, by its UID: `capstan backup show` has it.
    #[arg(long, value_name = "UID")]
    cluster_uid: String,
    /// Only backups of this schedule [default: all of the cluster].
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    #[command(flatten)]
    keep: Keep,
    /// Only say what would go.
    #[arg(long)]
    dry_run: bool,
}

/// What is to be kept. A backup stays when any of these wants it.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "What is kept of older ones")]
pub(super) struct Keep {
    /// The newest so many.
    #[arg(long, value_name = "COUNT")]
    keep_last: Option<u32>,
    /// All that are younger.
    #[arg(long, value_name = "HOURS")]
    keep_hours: Option<u32>,
    /// The newest of each of so many hours that have one.
    #[arg(long, value_name = "COUNT")]
    keep_hourly: Option<u32>,
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
    /// Nothing when nothing is said: then everything is kept.
    pub(super) fn policy(self) -> Option<Policy> {
        let policy = Policy {
            last: self.keep_last,
            hours: self.keep_hours,
            hourly: self.keep_hourly.unwrap_or(0),
            daily: self.keep_daily.unwrap_or(0),
            weekly: self.keep_weekly.unwrap_or(0),
            monthly: self.keep_monthly.unwrap_or(0),
            yearly: self.keep_yearly.unwrap_or(0),
        };
        (policy != Policy::default()).then_some(policy)
    }
}

impl Prune {
    pub(super) async fn run(self) -> Result<()> {
        let Some(policy) = self.keep.policy() else {
            bail!(
                "nothing says what is to be kept: give at least one of --keep-last, --keep-hours, --keep-hourly, --keep-daily, --keep-weekly, --keep-monthly and --keep-yearly"
            );
        };
        let whose = Whose { cluster_uid: &self.cluster_uid, schedule: self.schedule.as_deref() };
        let (mode, word) = match self.dry_run {
            true => (Mode::DryRun, "would be removed"),
            false => (Mode::Delete, "removed"),
        };
        let store = self.place.open()?;
        let Pruned { backups, history } =
            removal::prune(&store, whose, &policy, Clock::system().now(), mode).await?;
        if let Some(why) = history.kept() {
            mention(&why);
        }
        match backups.is_empty() {
            true => say("Everything is wanted.\n"),
            false => say(&backups.iter().map(|id| format!("{id} {word}\n")).collect::<String>()),
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Remove {
    #[command(flatten)]
    place: Place,
    /// The backup. One that is not there, or only the rest of an attempt, is fine; a directory without a manifest or marker of Capstan is refused.
    id: String,
    /// Refuse it when it is of another cluster: `capstan backup show` has the UID.
    #[arg(long, value_name = "UID")]
    cluster_uid: Option<String>,
    /// Write how it ended to this file, as JSON.
    #[arg(long, value_name = "FILE", help_heading = "For programs")]
    result: Option<PathBuf>,
}

impl Remove {
    pub(super) async fn run(self) -> Result<()> {
        let done = self.remove().await;
        let said = done.map(|count| json!({ "id": self.id, "objects": count }));
        let (id, is_done) = (self.id.clone(), said.is_ok());
        ending::told(self.result.as_deref(), said)?;
        if is_done { say(&format!("{id} is no longer there.\n")) } else { Ok(()) }
    }

    async fn remove(&self) -> Result<usize> {
        let store = self.place.open()?;
        Ok(removal::remove_by_id(&store, &self.id, self.cluster_uid.as_deref()).await?)
    }
}
