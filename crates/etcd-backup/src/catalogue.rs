//! What backups there are, without Kubernetes: the store alone knows.

use futures::{StreamExt as _, stream};
use jiff::{Timestamp, ToSpan as _};
use object_store::ObjectStoreExt as _;

use crate::{
    Manifest, Result, Store, manifest,
    retention::{Backup, Policy},
    store::Found,
};

/// Manifests that are read at once.
const AT_ONCE: usize = 8;
/// How long the rest of an attempt is left alone: it may still be going on.
const ABANDONED_AFTER_HOURS: i64 = 24;

/// Beside a manifest: what came of restoring the backup into an etcd of its own. The name alone tells, so that a listing is enough.
const VERIFIED: &str = "verified.json";
const REFUTED: &str = "refuted.json";

/// A directory of the store.
#[derive(Debug)]
pub enum Entry {
    Backup(Box<Manifest>, Found),
    /// No manifest: an attempt that goes on, or that ended in the middle.
    Unfinished(Found),
    /// A manifest that cannot be read. It is shown, and never removed by itself.
    Unreadable(Found, crate::Error),
}

/// Everything below the place, newest backup first, then what is none.
pub async fn list(store: &Store) -> Result<Vec<Entry>> {
    let found = store.found().await?;
    let mut entries: Vec<Entry> =
        stream::iter(found.into_iter().map(|found| entry(store, found))).buffered(AT_ONCE).collect().await;
    entries.sort_by_key(|entry| match entry {
        Entry::Backup(manifest, _) => (0, std::cmp::Reverse(manifest.taken_at)),
        Entry::Unfinished(found) => (1, std::cmp::Reverse(found.newest)),
        Entry::Unreadable(found, _) => (2, std::cmp::Reverse(found.newest)),
    });
    Ok(entries)
}

async fn entry(store: &Store, found: Found) -> Entry {
    if !has(&found, manifest::OBJECT) {
        return Entry::Unfinished(found);
    }
    match store.manifest(&found.id).await {
        Ok(Some(manifest)) if has(&found, &manifest.stored.object) => {
            Entry::Backup(Box::new(manifest), found)
        }
        Ok(Some(manifest)) => {
            let why = format!("its object {} is missing", manifest.stored.object);
            let id = found.id.clone();
            Entry::Unreadable(found, crate::Error::Manifest { id, why })
        }
        Ok(None) => Entry::Unfinished(found),
        Err(error) => Entry::Unreadable(found, error),
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

/// What may go: what the policy does not want of those that it is about, and what was left of attempts long ago. All others stay; so
/// does the newest that is known to be good because it was restored, whatever the policy says.
pub fn superfluous<'a>(
    entries: &'a [Entry],
    whose: Whose<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Vec<&'a Found> {
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
        good: !has(found, REFUTED),
    };
    let mut gone = policy.superfluous(&ours.iter().map(backup).collect::<Vec<_>>(), now);
    let proven = ours.iter().filter(|(_, found)| has(found, VERIFIED));
    if let Some((proven, _)) = proven.max_by_key(|(manifest, _)| manifest.taken_at) {
        gone.retain(|id| *id != proven.id);
    }
    let abandoned = now.checked_sub(ABANDONED_AFTER_HOURS.hours()).unwrap_or(Timestamp::MIN);
    entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Backup(_, found) => gone.contains(&found.id).then_some(found),
            Entry::Unfinished(found) => (found.newest < abandoned).then_some(found),
            Entry::Unreadable(..) => None,
        })
        .collect()
}
