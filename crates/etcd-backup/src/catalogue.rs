//! What backups there are, without Kubernetes: the store alone knows.

use futures::{StreamExt as _, stream};
use jiff::{Timestamp, ToSpan as _};
use object_store::ObjectStoreExt as _;

use crate::{
    Error, Manifest, Result, Store,
    attempt::{self, Attempt},
    manifest,
    retention::{Backup, Policy},
    store::Found,
};

/// Manifests that are read at once.
const AT_ONCE: usize = 8;
/// How long the rest of an attempt is left alone: it may still be going on.
const ABANDONED_AFTER_HOURS: i64 = 24;

/// Beside a manifest: what came of restoring the backup into an etcd of its own. The name alone tells, so that a listing is enough.
pub(crate) const VERIFIED: &str = "verified.json";
pub(crate) const REFUTED: &str = "refuted.json";

/// A directory of the store.
#[derive(Debug)]
pub enum Entry {
    Backup(Box<Manifest>, Found),
    /// No manifest, but markers of ours: attempts that still run, or that ended in the middle.
    Unfinished(Found, Vec<Attempt>),
    /// A manifest of ours whose snapshot is missing.
    Incomplete(Box<Manifest>, Found),
    /// A manifest that may be ours and cannot be read. It is shown, and never removed.
    Unreadable(Found, Error),
    /// Neither a manifest nor a marker of ours. It is shown, and never touched.
    Foreign(Found),
}

impl Entry {
    pub fn found(&self) -> &Found {
        match self {
            Self::Backup(_, found)
            | Self::Unfinished(found, _)
            | Self::Incomplete(_, found)
            | Self::Unreadable(found, _)
            | Self::Foreign(found) => found,
        }
    }

    /// The backup, unless a restore has refuted it: what may be chosen without being named.
    pub fn usable(&self) -> Option<&Manifest> {
        match self {
            Self::Backup(manifest, found) if !found.is_refuted() => Some(manifest),
            _ => None,
        }
    }
}

impl Found {
    /// Whether the backup was restored and found bad.
    pub fn is_refuted(&self) -> bool {
        has(self, REFUTED)
    }

    /// Whether the backup was restored and found good.
    pub fn is_verified(&self) -> bool {
        has(self, VERIFIED)
    }
}

/// Everything below the place, newest backup first, then what is none.
pub async fn list(store: &Store) -> Result<Vec<Entry>> {
    let found = store.found().await?;
    let mut entries: Vec<Entry> =
        stream::iter(found.into_iter().map(|found| entry(store, found))).buffered(AT_ONCE).collect().await;
    entries.sort_by_key(|entry| match entry {
        Entry::Backup(manifest, _) => (0, std::cmp::Reverse(manifest.taken_at)),
        Entry::Unfinished(found, _) => (1, std::cmp::Reverse(found.newest)),
        Entry::Incomplete(_, found) | Entry::Unreadable(found, _) => (2, std::cmp::Reverse(found.newest)),
        Entry::Foreign(found) => (3, std::cmp::Reverse(found.newest)),
    });
    Ok(entries)
}

pub(crate) async fn entry(store: &Store, found: Found) -> Entry {
    let is_listed = has(&found, manifest::OBJECT);
    let has_our_names = found.objects.iter().any(|it| attempt::is_snapshot(it) || attempt::is_marker(it));
    if !is_listed && !has_our_names {
        return Entry::Foreign(found);
    }
    // Read also if it is not listed: a list may be older than the manifest.
    match store.manifest(&found.id).await {
        Ok(Some(manifest)) if has(&found, &manifest.stored.object) => {
            Entry::Backup(Box::new(manifest), found)
        }
        Ok(Some(manifest)) => Entry::Incomplete(Box::new(manifest), found),
        Ok(None) if is_listed => {
            let why = "its manifest is listed, and is not there".to_owned();
            let id = found.id.clone();
            Entry::Unreadable(found, Error::Manifest { id, why })
        }
        Ok(None) => match attempt::all(store, &found).await {
            Ok(attempts) if attempts.is_empty() => Entry::Foreign(found),
            Ok(attempts) => Entry::Unfinished(found, attempts),
            Err(error) => Entry::Unreadable(found, error),
        },
        // Other programs have manifests, too. One beside an object with a name of ours may be ours, and damaged.
        Err(Error::NotOurs { .. }) if !has_our_names => Entry::Foreign(found),
        Err(error) => Entry::Unreadable(found, error),
    }
}

/// What is wrong with a backup whose snapshot is missing.
pub fn incomplete(manifest: &Manifest) -> Error {
    let why = format!("its object {} is missing", manifest.stored.object);
    Error::Manifest { id: manifest.id.clone(), why }
}

/// Refuses a backup that a restore has refuted.
pub async fn refuse_refuted(store: &Store, id: &str) -> Result<()> {
    let path = store.path(id, REFUTED);
    match store.objects().head(&path).await {
        Ok(_) => Err(Error::Refuted { id: id.to_owned() }),
        Err(object_store::Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(store.failed("read", &path)(error)),
    }
}

/// Whose backups a policy is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whose<'a> {
    pub cluster_uid: &'a str,
    /// Only those of this schedule; else all of the cluster's.
    pub schedule: Option<&'a str>,
}

impl Whose<'_> {
    fn are(&self, manifest: &Manifest) -> bool {
        manifest.cluster.uid == self.cluster_uid
            && self.schedule.is_none_or(|schedule| manifest.schedule.as_deref() == Some(schedule))
    }

    pub(crate) fn began(&self, attempt: &Attempt) -> bool {
        attempt.cluster.uid == self.cluster_uid
            && self.schedule.is_none_or(|schedule| attempt.schedule.as_deref() == Some(schedule))
    }
}

/// Puts on record what came of restoring a backup: of those that were restored, the newest good one stays, too.
pub async fn record(store: &Store, id: &str, good: bool, verdict: Vec<u8>) -> Result<()> {
    let (said, unsaid) = if good { (VERIFIED, REFUTED) } else { (REFUTED, VERIFIED) };
    let path = store.path(id, said);
    store.objects().put(&path, verdict.into()).await.map_err(store.failed("write", &path))?;
    store.remove_object(id, unsaid).await
}

fn has(found: &Found, object: &str) -> bool {
    found.objects.iter().any(|it| it == object)
}

/// What may be removed: the backups of `whose` that the policy does not keep, and what is left of its attempts after a day. Everything else
/// stays; so does the newest backup that was restored and found good, whatever the policy says.
pub fn superfluous<'a>(
    entries: &'a [Entry],
    whose: Whose<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Vec<&'a Entry> {
    let ours: Vec<(&Manifest, &Found)> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Backup(manifest, found) if whose.are(manifest) => Some((&**manifest, found)),
            _ => None,
        })
        .collect();
    let backup = |(manifest, found): &(&Manifest, &Found)| Backup {
        id: manifest.id.clone(),
        taken_at: manifest.taken_at,
        good: !found.is_refuted(),
    };
    let mut gone = policy.superfluous(&ours.iter().map(backup).collect::<Vec<_>>(), now);
    let proven = ours.iter().filter(|(_, found)| found.is_verified());
    if let Some((proven, _)) = proven.max_by_key(|(manifest, _)| manifest.taken_at) {
        gone.retain(|id| *id != proven.id);
    }
    let abandoned = now.checked_sub(ABANDONED_AFTER_HOURS.hours()).unwrap_or(Timestamp::MIN);
    let is_superfluous = |entry: &&Entry| match entry {
        Entry::Backup(manifest, found) => whose.are(manifest) && gone.contains(&found.id),
        Entry::Unfinished(found, attempts) => {
            found.newest < abandoned && attempts.iter().any(|attempt| whose.began(attempt))
        }
        Entry::Incomplete(..) | Entry::Unreadable(..) | Entry::Foreign(_) => false,
    };
    entries.iter().filter(is_superfluous).collect()
}
