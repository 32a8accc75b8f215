//! From a restored backup on to a point in time.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use clap::Args;
use etcd_api::Client;
use etcd_backup::{
    Error,
    wal::{
        Point,
        point::{self, Plan},
        replay,
    },
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    Place, certificates, chosen,
    ending::{self, Ending, HOPELESS},
    progress::Progress,
};
use crate::output::say;

const DEADLINE: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub(super) struct Replay {
    #[command(flatten)]
    place: Place,
    /// The backup that the etcd was restored from.
    id: String,
    #[command(flatten)]
    point: Wanted,
    /// A client's URL of the restored etcd. Nobody else may write to it meanwhile.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "URL",
        required_unless_present = "dry_run",
        help_heading = "etcd"
    )]
    endpoints: Vec<String>,
    /// A directory with ca.crt, tls.crt and tls.key, as a Secret is mounted.
    #[arg(long, value_name = "DIR", help_heading = "etcd")]
    tls: Option<PathBuf>,
    /// By how much the restore has raised etcd's revision (`etcdutl snapshot restore --bump-revision`).
    #[arg(
        long,
        alias = "bump-revision",
        default_value_t = 0,
        value_name = "REVISIONS",
        help_heading = "etcd"
    )]
    bumped: i64,
    /// Only read and check everything that is needed.
    #[arg(long)]
    dry_run: bool,
    /// Write how it ended to this file, as JSON.
    #[arg(long, value_name = "FILE", help_heading = "For programs")]
    result: Option<PathBuf>,
}

/// The point.
#[derive(Debug, Clone, Copy, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Wanted {
    /// As it was after this revision.
    #[arg(long, value_name = "REVISION")]
    revision: Option<i64>,
    /// As it was at this time, such as 2026-11-16T08:15:00Z; nothing that was written later is in it.
    #[arg(long, value_name = "TIME")]
    time: Option<Timestamp>,
    /// As far as anything was captured.
    #[arg(long)]
    newest: bool,
}

impl Wanted {
    fn point(self) -> Point {
        match (self.revision, self.time) {
            (Some(revision), _) => Point::Revision(revision),
            (None, Some(time)) => Point::Time(time),
            (None, None) => Point::End,
        }
    }
}

impl Replay {
    pub(super) async fn run(self) -> Result<()> {
        let done = self.replay().await;
        ending::told(self.result.as_deref(), done)
    }

    async fn replay(&self) -> Result<Value> {
        let store = self.place.open()?;
        let key = self.place.key()?;
        let manifest = chosen(&store, &self.id).await?;
        let plan =
            point::plan(&store, &manifest, self.point.point(), key.as_ref()).await.map_err(unreachable)?;
        if self.dry_run {
            let (revision, time) = (plan.target.revision, plan.target.time);
            say(&format!("Revision {revision}, of {time}, can be reached from {}.\n", self.id))?;
            return Ok(said(&plan));
        }
        let client = self.dial().await?;
        let from = manifest.revision.at_least;
        let length = |revision: i64| u64::try_from(revision - from).unwrap_or_default();
        let progress =
            Progress::counting("replaying", length(plan.target.revision), |count| count.to_string());
        let done =
            replay::replay(&store, &plan, &client, self.bumped, key.as_ref(), |at| progress.at(length(at)))
                .await?;
        progress.end(length(done.revision));
        say(&format!(
            "etcd is as it was at revision {}, {}: {} revisions were written, and its own revision is {}.\n",
            done.revision, plan.target.time, done.applied, done.etcd_revision
        ))?;
        let mut result = said(&plan);
        if let Some(result) = result.as_object_mut() {
            result.extend([
                ("etcdRevision".to_owned(), json!(done.etcd_revision)),
                ("applied".to_owned(), json!(done.applied)),
                ("beganAt".to_owned(), json!(done.began_at)),
            ]);
        }
        Ok(result)
    }

    /// The first that answers.
    async fn dial(&self) -> Result<Client> {
        let tls = certificates(self.tls.as_deref())?;
        let mut said = Vec::new();
        for url in &self.endpoints {
            match Client::connect(url, tls.as_ref(), DEADLINE).await {
                Ok(client) => return Ok(client),
                Err(error) => said.push(format!("{url}: {error}")),
            }
        }
        Err(Error::Etcd(format!("no endpoint answers: {}", said.join("; "))).into())
    }
}

fn said(plan: &Plan) -> Value {
    json!({ "id": plan.manifest.id, "revision": plan.target.revision, "time": plan.target.time })
}

/// Tells programs how far one can go.
fn unreachable(error: Error) -> anyhow::Error {
    let Error::Unreachable(why) = &error else { return error.into() };
    let reachable = why.reached().map(|mark| ("reachable".to_owned(), json!(mark)));
    let more = Map::from_iter(reachable);
    Ending { code: HOPELESS, error: why.to_string(), more }.into()
}
