//! A backup as a file: for a person, or for the Job that brings it to the volume of a member.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use etcd_backup::{
    Manifest, Store,
    catalogue::{self, Entry},
    load, manifest,
    wal::{
        Point,
        point::{choose, plan},
    },
};
use etcd_core::Version;
use jiff::Timestamp;
use serde_json::{Map, json};

use super::{
    Place, chosen,
    ending::{Ending, HOPELESS, told},
    progress::Progress,
    root,
};
use crate::output::say;

/// What the snapshot is called in the directory of `--into`.
pub(super) const SNAPSHOT: &str = "snapshot.db";

#[derive(Debug, Args)]
pub(super) struct Fetch {
    #[command(flatten)]
    place: Place,
    /// The backup.
    #[arg(required_unless_present = "newest_of")]
    id: Option<String>,
    /// Take the backup even if a restore has found it bad (`refuted.json`). Only one that is named; a refuted backup is never chosen.
    #[arg(long, requires = "id")]
    allow_refuted: bool,
    /// Instead of a name: the newest whole backup of the cluster of this name that no restore has found bad.
    #[arg(long, value_name = "CLUSTER", conflicts_with = "id")]
    newest_of: Option<String>,
    /// Of several clusters of that name, the one with this UID, if there are backups of it.
    #[arg(long, value_name = "UID", requires = "newest_of")]
    cluster_uid: Option<String>,
    /// Else, the one of this namespace, if there are backups of it.
    #[arg(long, value_name = "NAME", requires = "newest_of")]
    cluster_namespace: Option<String>,
    /// The file to write. It must not exist yet, and is only there when all of it was checked.
    #[arg(long, value_name = "FILE", required_unless_present = "into")]
    to: Option<PathBuf>,
    /// Instead of a file: a directory for snapshot.db and manifest.json. What is in it is removed first.
    #[arg(long, value_name = "DIR", conflicts_with = "to")]
    into: Option<PathBuf>,
    /// Refuse a backup that etcd of this version cannot begin with.
    #[arg(long, value_name = "VERSION")]
    for_version: Option<Version>,
    /// Refuse a backup of a cluster of another name.
    #[arg(long, value_name = "CLUSTER")]
    only_of: Option<String>,
    /// The backup is to be gone on from to this revision: refuse one from which it cannot be reached.
    #[arg(long, value_name = "NUMBER")]
    revision: Option<i64>,
    /// The same for a time, such as 2026-11-16T08:15:00Z.
    #[arg(long, value_name = "TIME", conflicts_with = "revision")]
    time: Option<Timestamp>,
    /// Also write ca.crt, tls.crt and tls.key to this directory: a certificate for an etcd on this machine, and for its user root.
    #[arg(long, value_name = "DIR")]
    root_certificate: Option<PathBuf>,
    /// Where to write how it ended, as one line of JSON.
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
}

impl Fetch {
    pub(super) async fn run(self) -> Result<()> {
        let file = self.result.clone();
        let done = self.fetch().await;
        told(file.as_deref(), done.map(|manifest| json!({ "manifest": manifest })))
    }

    async fn fetch(self) -> Result<Manifest> {
        let store = self.place.open()?;
        let key = self.place.key()?;
        let mut manifest = match (&self.id, &self.newest_of) {
            (Some(id), _) => {
                let manifest = chosen(&store, id).await?;
                if !self.allow_refuted {
                    catalogue::refuse_refuted(&store, id).await?;
                }
                manifest
            }
            (None, Some(cluster)) => self.newest(&store, cluster).await?,
            (None, None) => bail!("name a backup, or give --newest-of"),
        };
        let point = self.revision.map(Point::Revision).or_else(|| self.time.map(Point::Time));
        if let Some(point) = point {
            // All that is needed is read and checked now, while whatever runs still runs.
            let way = match self.id {
                Some(_) => plan(&store, &manifest, point, key.as_ref()).await?,
                None => choose(&store, Some(&manifest.cluster.uid), point, key.as_ref()).await?,
            };
            manifest = way.manifest;
        }
        self.judge(&manifest)?;
        if let Some(directory) = &self.root_certificate {
            root::write(directory)?;
        }
        let to = match (&self.to, &self.into) {
            (Some(to), _) => to.clone(),
            (None, Some(directory)) => emptied(directory)?.join(SNAPSHOT),
            (None, None) => bail!("give --to or --into"),
        };
        anyhow::ensure!(!to.exists(), "{} exists: it is not overwritten", to.display());
        let unfinished = to.with_extension("unfinished");
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
            .and_then(|()| fs::rename(&unfinished, &to))
            .with_context(|| format!("cannot finish {}", to.display()))?;
        if let Some(directory) = &self.into {
            let beside = directory.join(manifest::OBJECT);
            fs::write(&beside, manifest.text())
                .with_context(|| format!("cannot write {}", beside.display()))?;
        }
        say(&format!(
            "{} is {} as etcd {} gave it; `etcdutl snapshot restore` takes it.\n",
            to.display(),
            manifest.id,
            manifest.etcd_version
        ))?;
        Ok(manifest)
    }

    async fn newest(&self, store: &Store, cluster: &str) -> Result<Manifest> {
        let entries = catalogue::list(store).await?;
        let manifests = entries.iter().filter_map(Entry::usable).cloned();
        let rather = [
            self.cluster_uid.as_deref().map(Is::Uid),
            self.cluster_namespace.as_deref().map(Is::InNamespace),
        ];
        newest(manifests.collect(), cluster, &rather, store.location()).map_err(hopeless)
    }

    /// Whether it is one that may be restored, before a byte of it is fetched.
    fn judge(&self, manifest: &Manifest) -> Result<()> {
        let id = &manifest.id;
        if let Some(name) = self.only_of.as_ref().filter(|name| **name != manifest.cluster.name) {
            let own = &manifest.cluster.name;
            return Err(hopeless(format!(
                "the backup {id} is of the cluster {own}, and {name} is to be restored. If that is meant, name the store and the id instead of the EtcdBackup"
            )));
        }
        let Some(version) = self.for_version else { return Ok(()) };
        let data = manifest.etcd_version.parse::<Version>();
        let data = data.map_err(|error| hopeless(format!("the backup {id}: {error}")))?;
        etcd_core::readable(data, version)
            .map_err(|why| hopeless(format!("the backup {id} cannot be used: {why}")))
    }
}

fn hopeless(error: String) -> anyhow::Error {
    Ending { code: HOPELESS, error, more: Map::new() }.into()
}

/// What tells clusters of one name apart.
#[derive(Clone, Copy)]
enum Is<'a> {
    Uid(&'a str),
    InNamespace(&'a str),
}

impl Is<'_> {
    fn met_by(self, manifest: &Manifest) -> bool {
        match self {
            Self::Uid(uid) => manifest.cluster.uid == uid,
            Self::InNamespace(namespace) => manifest.cluster.namespace == namespace,
        }
    }
}

/// The newest of a cluster, of those that are listed newest first. Which cluster is meant is never guessed: a place may hold backups of
/// several namespaces' clusters of one name.
fn newest(
    mut all: Vec<Manifest>,
    cluster: &str,
    rather: &[Option<Is<'_>>],
    location: &str,
) -> Result<Manifest, String> {
    all.retain(|manifest| manifest.cluster.name == cluster);
    let met = |it: &Is<'_>| all.iter().any(|manifest| it.met_by(manifest));
    if let Some(it) = rather.iter().copied().flatten().find(met) {
        all.retain(|manifest| it.met_by(manifest));
    }
    let homes: BTreeSet<&str> = all.iter().map(|manifest| manifest.cluster.namespace.as_str()).collect();
    if homes.len() > 1 {
        let homes = homes.into_iter().collect::<Vec<_>>().join(", ");
        return Err(format!(
            "at {location} there are backups of several clusters {cluster}, of the namespaces {homes}: name the backup that is meant; `capstan backup ls` lists them"
        ));
    }
    all.into_iter().next().ok_or_else(|| {
        format!("there is no whole backup of the cluster {cluster} at {location}; `capstan backup ls` lists what there is")
    })
}

/// What an earlier attempt has left is not used: it may be half of something.
fn emptied(directory: &Path) -> Result<&Path> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("cannot empty {}", directory.display()))?;
    }
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    Ok(directory)
}

/// For nobody else to read: it holds all that is in etcd.
fn create(file: &Path) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file)
        .with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Backups of clusters `db`, newest first: namespace, UID, name of the backup.
    fn stored(all: &[(&str, &str, &str)]) -> Vec<Manifest> {
        let manifest = |(namespace, uid, id): &(&str, &str, &str)| {
            serde_json::from_value(json!({
                "format": "capstan.dev/etcd-backup/v1", "id": id, "producer": "capstan", "takenAt": "2026-01-01T00:00:00Z",
                "cluster": {"namespace": namespace, "name": "db", "uid": uid, "id": "8e9e", "member": "db-1"}, "etcdVersion": "3.6.16",
                "revision": {"atLeast": 40, "atMost": 42}, "database": {"bytes": 1024, "sha256": "00".repeat(32)},
                "stored": {"object": "snapshot.zst", "bytes": 77, "sha256": "00".repeat(32), "compression": "zstd"}}))
            .unwrap()
        };
        all.iter().map(manifest).collect()
    }

    #[test]
    fn the_newest_is_that_of_the_cluster_that_is_meant() {
        let all = [("test", "u3", "theirs"), ("prod", "u2", "ours"), ("prod", "u1", "of-one-before")];
        let (uid, home) = (Is::Uid("u1"), Is::InNamespace("prod"));
        let of = |rather: &[Option<Is<'_>>]| newest(stored(&all), "db", rather, "s3://b").map(|it| it.id);
        assert_eq!(of(&[Some(uid), Some(home)]).as_deref(), Ok("of-one-before"));
        assert_eq!(of(&[Some(Is::Uid("new")), Some(home)]).as_deref(), Ok("ours"), "of one that is gone");
        let said = of(&[Some(Is::Uid("new")), Some(Is::InNamespace("dev"))]).unwrap_err();
        assert!(said.contains("of the namespaces prod, test: name the backup"), "{said}");
        let moved = newest(stored(&all[1..]), "db", &[Some(Is::InNamespace("dev"))], "s3://b");
        assert_eq!(moved.unwrap().id, "ours", "from elsewhere, where there is no doubt");
        let none = newest(stored(&all), "other", &[], "s3://b").unwrap_err();
        assert!(none.contains("no whole backup of the cluster other at s3://b"), "{none}");
    }
}
