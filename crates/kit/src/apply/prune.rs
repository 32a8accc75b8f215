//! Prune: delete what an owner has and no longer wants.
//!
//! Invariants: only objects whose controlling owner reference has the owner's UID; only the very object that the decision was
//! made on (UID and resourceVersion); nothing that holds data unless the caller says so.

use std::{collections::BTreeSet, sync::Arc};

use crate::{Context, Error, Key, KindId, Result, Row};

/// Kinds whose objects hold what cannot be made again.
const PRECIOUS: &[(&str, &str)] = &[
    ("", "PersistentVolumeClaim"),
    ("", "PersistentVolume"),
    ("", "Secret"),
    ("", "Namespace"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("snapshot.storage.k8s.io", "VolumeSnapshot"),
];

/// What to do with objects that hold data: PersistentVolumeClaims, Secrets and the like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precious {
    /// Spare them: they are only counted.
    Spare,
    /// Delete them like any other.
    Delete,
}

/// What became of the objects that are no longer wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Deleted, or gone already.
    pub deleted: Vec<Key>,
    /// Changed since the cache saw them: decide again when it has caught up.
    pub later: Vec<Key>,
    /// Left alone, because they hold data.
    pub spared: Vec<Key>,
}

impl Context {
    /// Deletes those of `children` that `owner_uid` controls and that are not in `keep`. `children` is what the cache has, for
    /// example an index by owner; it may hold more than the owner's objects.
    pub async fn prune<R: Row>(
        &self,
        owner_uid: &str,
        children: &[Arc<R>],
        keep: &[Key],
        precious: Precious,
    ) -> Result<Pruned> {
        let mut pruned = Pruned::default();
        for doomed in unwanted(owner_uid, children, keep) {
            let key = doomed.key();
            if precious == Precious::Spare && is_precious(&R::kind()) {
                pruned.spared.push(key);
                continue;
            }
            match self.delete(doomed).await {
                Ok(_) => pruned.deleted.push(key),
                Err(Error::Stale { .. }) => pruned.later.push(key),
                Err(error) => return Err(error),
            }
        }
        Ok(pruned)
    }
}

fn unwanted<'a, R: Row>(owner_uid: &str, children: &'a [Arc<R>], keep: &[Key]) -> Vec<&'a R> {
    let keep: BTreeSet<&Key> = keep.iter().collect();
    let ours = |row: &&R| row.controller().is_some_and(|owner| owner.uid == owner_uid);
    let mut doomed: Vec<&R> = children.iter().map(|row| &**row).filter(ours).collect();
    doomed.retain(|row| !owner_uid.is_empty() && !keep.contains(&row.key()));
    doomed.sort_by_key(|row| row.key());
    doomed
}

fn is_precious(kind: &KindId) -> bool {
    PRECIOUS.contains(&(&*kind.group, &*kind.kind))
}

#[cfg(test)]
mod tests;
