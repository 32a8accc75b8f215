//! Prune: delete what an owner has and no longer wants.
//!
//! Invariants: only objects whose controlling owner reference has the owner's UID; only the very object that the decision was
//! made on (UID and resourceVersion); nothing that holds data unless the caller says so.

use std::{collections::BTreeSet, sync::Arc};

use kube::api::{DeleteParams, Preconditions};

use crate::{Context, Key, KindId, Result, Row, call::Target};

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
            let target = Target { kind: R::kind(), key: doomed.key };
            if precious == Precious::Spare && is_precious(&target.kind) {
                pruned.spared.push(target.key);
                continue;
            }
            let params = DeleteParams::background().preconditions(doomed.preconditions);
            let request = target.request().delete(target.key.name(), &params);
            match self.write("delete", &target, request).await {
                Ok(_) => {
                    self.applied.forget(&doomed.uid);
                    pruned.deleted.push(target.key);
                }
                Err(error) if error.code() == Some(404) => pruned.deleted.push(target.key),
                Err(error) if error.code() == Some(409) => pruned.later.push(target.key),
                Err(error) => return Err(error),
            }
        }
        Ok(pruned)
    }
}

struct Doomed {
    key: Key,
    uid: String,
    preconditions: Preconditions,
}

fn unwanted<R: Row>(owner_uid: &str, children: &[Arc<R>], keep: &[Key]) -> Vec<Doomed> {
    let keep: BTreeSet<&Key> = keep.iter().collect();
    let mut doomed: Vec<Doomed> = children
        .iter()
        .filter(|row| !owner_uid.is_empty() && row.controller().is_some_and(|owner| owner.uid == owner_uid))
        .map(|row| Doomed {
            key: row.key(),
            uid: row.uid().to_owned(),
            preconditions: Preconditions {
                uid: Some(row.uid().to_owned()),
                resource_version: Some(row.resource_version()).filter(|v| *v != 0).map(|v| v.to_string()),
            },
        })
        .filter(|doomed| !keep.contains(&doomed.key))
        .collect();
    doomed.sort_by(|a, b| a.key.cmp(&b.key));
    doomed
}

fn is_precious(kind: &KindId) -> bool {
    PRECIOUS.contains(&(&*kind.group, &*kind.kind))
}

#[cfg(test)]
mod tests;
