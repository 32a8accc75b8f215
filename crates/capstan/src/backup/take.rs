//! Taking a backup: from the best member of a cluster, straight into the store. Then, where a policy is given, what it no longer wants
//! goes. It is what the operator's Jobs run: an attempt that is repeated under its name finds what the one before has stored.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Result;
use clap::Args;
use etcd_backup::{
    Error, Manifest, Sha256, Store,
    catalogue::Whose,
    manifest::Cluster,
    ranking::Load,
    removal::{self, Mode, Pruned},
    save::{self, About},
    source::Source,
};
use futures::{Stream, StreamExt as _, stream};
use kit::{Clock, until_signalled};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Place, certificates, ending,
    progress::{Meter, Progress},
    prune::Keep,
    serve,
};
use crate::output::{self, Output, mention, say, structured};

#[derive(Debug, Args)]
pub(super) struct Take {
    #[command(flatten)]
    place: Place,
    /// The backup's name [default: when it is taken, such as 20261116-081500]. A backup of this name that is there already is left as it is.
    #[arg(long, value_name = "NAME")]
    id: Option<String>,
    /// Clients' URLs of the cluster; one is enough.
    #[arg(long, required = true, value_delimiter = ',', value_name = "URL", help_heading = "etcd")]
    endpoints: Vec<String>,
    /// A directory with ca.crt, tls.crt and tls.key, as a Secret is mounted.
    #[arg(long, value_name = "DIR", help_heading = "etcd")]
    tls: Option<PathBuf>,
    /// What the cluster is called, for the manifest.
    #[arg(long, default_value = "etcd", value_name = "NAME", help_heading = "etcd")]
    cluster: String,
    #[arg(long, default_value = "", value_name = "NAME", help_heading = "etcd")]
    cluster_namespace: String,
    /// What tells the cluster from others of its name [default: etcd's own ID].
    #[arg(long, value_name = "UID", help_heading = "etcd")]
    cluster_uid: Option<String>,
    /// The schedule that it belongs to. What is to be kept is said of its backups only.
    #[arg(long, value_name = "NAME", help_heading = "What is kept of older ones")]
    schedule: Option<String>,
    #[command(flatten)]
    keep: Keep,
    /// Have etcd hash all that it holds, for `verify --by-restore` to compare with. The member that gives the snapshot reads its whole
    /// database for it, and applies no writes meanwhile: about a second for each gigabyte. It is a follower, unless there is only one member.
    #[arg(long, help_heading = "etcd")]
    hash: bool,
    /// Wait for up to so many seconds first. How long follows from the backup's name: so not all of a minute's backups begin at once.
    #[arg(long, value_name = "SECONDS", help_heading = "For programs")]
    jitter: Option<u64>,
    /// Tell how far it is at this address, over HTTP under /progress.
    #[arg(long, value_name = "ADDRESS", help_heading = "For programs")]
    progress: Option<SocketAddr>,
    /// Write how it ended to this file, as JSON.
    #[arg(long, value_name = "FILE", help_heading = "For programs")]
    result: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// What came of it.
struct Taken {
    manifest: Manifest,
    took: Duration,
    /// What was removed, or why nothing could be; nothing without a policy. The backup is good either way.
    removed: Result<Option<Pruned>>,
}

impl Take {
    pub(super) async fn run(self) -> Result<()> {
        let (output, result) = (self.output.output, self.result.clone());
        let taken = self.work(&until_signalled()?).await;
        let taken = match taken {
            Err(error) => return ending::told(result.as_deref(), Err(error)),
            Ok(taken) => taken,
        };
        ending::told(result.as_deref(), Ok(taken.said()))?;
        let Taken { manifest, removed, .. } = taken;
        match output {
            Some(format) => structured(&manifest, format)?,
            None => say(&format!(
                "{} is stored: revision {}, read back and found whole.\n",
                manifest.id, manifest.revision.at_least
            ))?,
        }
        match removed {
            // Another attempt would take no other backup: whoever started it reads the result.
            Err(error) if result.is_some() => output::complain(&error),
            Err(error) => {
                return Err(error.context("the backup is good, but older ones could not be removed"));
            }
            Ok(removed) => {
                if let Some(why) = removed.and_then(|it| it.history.kept()) {
                    mention(&why);
                }
            }
        }
        Ok(())
    }

    async fn work(self, stop: &CancellationToken) -> Result<Taken> {
        let meter = Arc::new(Meter::default());
        let told = match self.progress {
            None => None,
            Some(address) => Some(serve::serve(address, Meter::pages(&meter)).await?),
        };
        if let Some(most) = self.jitter {
            let seed =
                [self.id.as_deref(), self.cluster_uid.as_deref()].map(Option::unwrap_or_default).join(" ");
            let pause = Duration::from_secs(jitter(&seed, most));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => return Err(Error::Stopped.into()),
            }
        }
        let began = Instant::now();
        self.place.prepare()?;
        let store = self.place.open()?;
        let manifest = self.take(&store, &meter, stop).await?;
        let took = began.elapsed();
        let removed = match self.keep.policy() {
            None => Ok(None),
            Some(policy) => {
                let whose = Whose { cluster_uid: &manifest.cluster.uid, schedule: self.schedule.as_deref() };
                let now = Clock::system().now();
                removal::prune(&store, whose, &policy, now, Mode::Delete).await.map(Some).map_err(Into::into)
            }
        };
        if let Some(told) = told {
            told.abort();
        }
        Ok(Taken { manifest, took, removed })
    }

    async fn take(&self, store: &Store, meter: &Meter, stop: &CancellationToken) -> Result<Manifest> {
        // Before etcd is asked: it may be gone by now.
        if let (Some(id), Some(uid)) = (&self.id, &self.cluster_uid)
            && let Some(earlier) = store.manifest(id).await?.filter(|earlier| earlier.cluster.uid == *uid)
        {
            return Ok(earlier);
        }
        let key = self.place.key()?;
        let source = Source { endpoints: self.endpoints.clone(), tls: certificates(self.tls.as_deref())? };
        let load = if self.hash { Load::SnapshotAndHash } else { Load::Snapshot };
        let giver = source.giver(load).await?;
        if let Some(found) = &giver.corruption {
            let differ: Vec<_> =
                found.differ.iter().map(|it| format!("{} ({})", it.member, it.found)).collect();
            mention(&format!(
                "etcd: the alarm CORRUPT is raised; the snapshot is taken from {}, whose data at revision {} is that of {}. Different: {}",
                giver.name,
                found.revision,
                found.agree.join(", "),
                differ.join(", ")
            ));
        }
        let now = Clock::system().now();
        let cluster = giver.status.cluster.to_string();
        let about = About {
            id: self.id.clone().unwrap_or_else(|| now.strftime("%Y%m%d-%H%M%S").to_string()),
            producer: concat!("capstan ", env!("CARGO_PKG_VERSION")).to_owned(),
            cluster: Cluster {
                namespace: self.cluster_namespace.clone(),
                name: self.cluster.clone(),
                uid: self.cluster_uid.clone().unwrap_or_else(|| cluster.clone()),
                id: cluster,
                member: giver.name.clone(),
            },
            etcd_version: giver.status.version.clone(),
            taken_at: now,
            schedule: self.schedule.clone(),
            corruption: giver.corruption.clone(),
            hash: match self.hash {
                false => None,
                true => Some(giver.hash().await.map_err(Error::Etcd)?),
            },
        };
        let chunks =
            giver.snapshot().await.map_err(|why| Error::Etcd(format!("{} gives none: {why}", giver.name)))?;
        let total = u64::try_from(giver.status.db_size).unwrap_or_default();
        let progress = Progress::start("taking", total);
        meter.begin(total);
        let revisions = async || giver.revisions().await.map_err(Error::Etcd);
        let chunks = until(chunks, stop.clone());
        let manifest = save::save(store, about, key.as_ref(), chunks, revisions, |it| {
            progress.at(it.read);
            meter.at(it.read);
        })
        .await?;
        progress.end(manifest.database.bytes);
        Ok(manifest)
    }
}

impl Taken {
    /// For whoever started it.
    fn said(&self) -> Value {
        let (removed, history_kept, not_removed) = match &self.removed {
            Ok(None) => (0, None, None),
            Ok(Some(pruned)) => (pruned.backups.len(), pruned.history.kept(), None),
            Err(error) => (0, None, Some(format!("{error:#}"))),
        };
        json!({
            "manifest": self.manifest,
            "milliseconds": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            "removed": removed,
            "historyKept": history_kept,
            "notRemoved": not_removed,
        })
    }
}

/// The stream, ended with an error when the process has to stop: so that what was uploaded so far is taken back.
fn until<T>(
    chunks: impl Stream<Item = Result<T, String>>,
    stop: CancellationToken,
) -> impl Stream<Item = Result<T, String>> {
    let stopped = stop.clone();
    let end = stream::once(async move { stopped.is_cancelled() })
        .filter_map(async |is_stopped| is_stopped.then(|| Err("this process was told to stop".to_owned())));
    chunks.take_until(stop.cancelled_owned()).chain(end)
}

/// A number of seconds up to `most` that is the same for the same name, and spread over all of them for many names.
fn jitter(name: &str, most: u64) -> u64 {
    let hash = Sha256::of(name.as_bytes()).to_string();
    let number = hash.get(..15).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default();
    number % (most + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backups_of_one_minute_are_spread_and_each_keeps_its_place() {
        let of = |number: u32| jitter(&format!("nightly-{number}"), 300);
        let all: std::collections::BTreeSet<u64> = (0..100).map(of).collect();
        assert!(all.len() > 60 && all.iter().all(|seconds| *seconds <= 300), "{all:?}");
        assert_eq!(of(7), of(7));
        assert_eq!(jitter("one", 0), 0);
    }

    #[tokio::test]
    async fn a_process_that_is_told_to_stop_ends_the_stream_with_an_error() {
        let stop = CancellationToken::new();
        let (sender, receiver) = tokio::sync::mpsc::channel::<Result<u8, String>>(1);
        let receiver = stream::unfold(receiver, async |mut it| it.recv().await.map(|chunk| (chunk, it)));
        let mut chunks = std::pin::pin!(until(receiver, stop.clone()));
        sender.send(Ok(1)).await.unwrap();
        assert_eq!(chunks.next().await, Some(Ok(1)));
        stop.cancel();
        assert!(matches!(chunks.next().await, Some(Err(_))));
        assert_eq!(chunks.next().await, None);
        let whole: Vec<_> =
            until(stream::iter([Ok::<u8, String>(1)]), CancellationToken::new()).collect().await;
        assert_eq!(whole, [Ok(1)], "one that ended by itself has no error");
    }
}
