//! Deleting backups: by a policy, or one by its id. Only what a manifest or a marker of ours names is deleted.
//!
//! Order: the manifest first, so that what is left after an interruption is not a backup; the marker last, so that what is left can still be
//! proven to be ours. Before anything is deleted the manifest is read again: a list may be stale.

use jiff::Timestamp;

use crate::{
    Error, Manifest, Result, Store,
    attempt::{self, Attempt},
    catalogue::{self, Entry, REFUTED, VERIFIED, Whose},
    manifest,
    retention::Policy,
    store::Found,
    wal,
};

/// Whether anything is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Delete,
    /// Only say what would be.
    DryRun,
}

/// What a policy removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// Backups, and what was left of attempts.
    pub backups: Vec<String>,
    pub history: History,
}

/// What became of captured history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum History {
    /// So many chunks of each chain were removed.
    Pruned(Vec<(String, usize)>),
    /// Nothing was removed: these manifests cannot be read, and their backups may need it.
    Kept(Vec<String>),
}

impl History {
    /// Why nothing was removed.
    pub fn kept(&self) -> Option<String> {
        match self {
            Self::Pruned(_) => None,
            Self::Kept(unreadable) => Some(format!(
                "captured history: none was removed, because these manifests cannot be read and their backups may need it: {}",
                unreadable.join("; ")
            )),
        }
    }
}

/// Removes what `policy` does not keep of `whose` backups, then the captured history that no remaining backup needs.
pub async fn prune(
    store: &Store,
    whose: Whose<'_>,
    policy: &Policy,
    now: Timestamp,
    mode: Mode,
) -> Result<Pruned> {
    let entries = catalogue::list(store).await?;
    let (mut gone, mut changed) = (Vec::new(), Vec::new());
    for entry in catalogue::superfluous(&entries, whose, policy, now) {
        if mode == Mode::Delete {
            match remove(store, entry, Some(whose)).await {
                // It is no longer what was listed: left for the next run.
                Err(error @ Error::Taken { .. }) => {
                    changed.push(error.to_string());
                    continue;
                }
                removed => removed?,
            };
        }
        gone.push(entry.found().id.clone());
    }
    let unreadable: Vec<String> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Unreadable(_, why) => Some(why.to_string()),
            Entry::Incomplete(manifest, _) => Some(catalogue::incomplete(manifest).to_string()),
            Entry::Backup(..) | Entry::Unfinished(..) | Entry::Foreign(_) => None,
        })
        .chain(changed)
        .collect();
    let history = if unreadable.is_empty() {
        // Backups of other schedules need their history, too.
        let kept: Vec<&Manifest> = entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Backup(manifest, found) if !gone.contains(&found.id) => Some(&**manifest),
                _ => None,
            })
            .collect();
        History::Pruned(wal::prune::prune(store, whose.cluster_uid, &kept, mode).await?)
    } else {
        History::Kept(unreadable)
    };
    Ok(Pruned { backups: gone, history })
}

/// Removes the backup `id`, or what is left of attempts at it, and says how many objects were deleted. One that is not there is fine. Without a
/// manifest and without a marker of ours the directory is somebody else's, and is refused.
pub async fn remove_by_id(store: &Store, id: &str, cluster_uid: Option<&str>) -> Result<usize> {
    let Some(found) = store.found_one(id).await? else { return Ok(0) };
    let entry = catalogue::entry(store, found).await;
    let owner = match &entry {
        Entry::Backup(manifest, _) | Entry::Incomplete(manifest, _) => Some(&manifest.cluster.uid),
        _ => None,
    };
    if let (Some(owner), Some(uid)) = (owner, cluster_uid)
        && owner != uid
    {
        let why = format!("it is a backup of the cluster with the UID {owner}, not {uid}; it stays");
        return Err(Error::Taken { id: id.to_owned(), why });
    }
    let whose = cluster_uid.map(|cluster_uid| Whose { cluster_uid, schedule: None });
    remove(store, &entry, whose).await
}

/// Deletes what is ours of a directory, and says how many objects that were.
async fn remove(store: &Store, entry: &Entry, whose: Option<Whose<'_>>) -> Result<usize> {
    let refused = |found: &Found, why: String| Error::Taken { id: found.id.clone(), why };
    match entry {
        Entry::Backup(manifest, found) | Entry::Incomplete(manifest, found) => {
            remove_backup(store, manifest, found).await
        }
        Entry::Unfinished(found, attempts) => {
            let own: Vec<&Attempt> =
                attempts.iter().filter(|it| whose.is_none_or(|whose| whose.began(it))).collect();
            if own.is_empty() {
                let why = "its attempts are those of another cluster or schedule; it stays".to_owned();
                return Err(refused(found, why));
            }
            remove_attempts(store, &found.id, &own).await
        }
        Entry::Unreadable(found, why) => {
            Err(refused(found, format!("its manifest cannot be read ({why}); it stays")))
        }
        Entry::Foreign(found) => Err(refused(
            found,
            "the directory has neither a manifest nor a marker of Capstan; it stays. If it is the rest of a backup, delete it with the store's own tools".to_owned(),
        )),
    }
}

async fn remove_backup(store: &Store, manifest: &Manifest, found: &Found) -> Result<usize> {
    let id = &found.id;
    let mut attempts = attempt::all(store, found).await?;
    attempts.retain(|it| it.cluster.uid == manifest.cluster.uid);
    if store.manifest(id).await?.is_some_and(|now| now != *manifest) {
        let why = "its manifest has changed meanwhile; it stays".to_owned();
        return Err(Error::Taken { id: id.clone(), why });
    }
    // A backup of an earlier Capstan gets its marker now: without one, an interruption would leave a snapshot that nothing proves to be ours.
    if let Some(marker) = Attempt::of(manifest)
        && !attempts.iter().any(|it| it.object == marker.object)
    {
        marker.announce(store).await?;
        attempts.push(marker);
    }
    store.remove_object(id, manifest::OBJECT).await?;
    let mut count = 1;
    if attempt::is_snapshot(&manifest.stored.object)
        && !attempts.iter().any(|it| it.object == manifest.stored.object)
    {
        store.remove_object(id, &manifest.stored.object).await?;
        count += 1;
    }
    Ok(count + remove_objects(store, id, &attempts.iter().collect::<Vec<_>>()).await?)
}

async fn remove_attempts(store: &Store, id: &str, attempts: &[&Attempt]) -> Result<usize> {
    // The list may be older than the manifest; and one that cannot be read may be of a backup.
    if store.manifest(id).await?.is_some() {
        let why = "it is a backup by now; it stays".to_owned();
        return Err(Error::Taken { id: id.to_owned(), why });
    }
    remove_objects(store, id, attempts).await
}

/// What attempts have written, their markers last.
async fn remove_objects(store: &Store, id: &str, attempts: &[&Attempt]) -> Result<usize> {
    for verdict in [VERIFIED, REFUTED] {
        store.remove_object(id, verdict).await?;
    }
    for attempt in attempts {
        store.remove_object(id, &attempt.object).await?;
    }
    for attempt in attempts {
        store.remove_object(id, &attempt.marker()).await?;
    }
    Ok(2 * attempts.len())
}
