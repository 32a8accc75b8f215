//! What is on the volumes: a few keys and values per claim.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use apiserver::{Follower, Turns};
use k8s_openapi::api::core::v1::Pod;

/// The files of one volume.
pub type Content = BTreeMap<String, String>;

/// The volumes of a cluster, by namespace and claim. A claim that is deleted takes its content with it.
///
/// Names that no claim has are free for what is outside of the cluster, such as a bucket. Clones share the volumes.
#[derive(Debug, Clone)]
pub struct Volumes(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    contents: Mutex<BTreeMap<(String, String), Content>>,
    turn: Turns,
}

impl Default for Volumes {
    fn default() -> Self {
        Self(Arc::new(Shared { contents: Mutex::default(), turn: Turns::new(0) }))
    }
}

impl Volumes {
    fn contents(&self) -> MutexGuard<'_, BTreeMap<(String, String), Content>> {
        self.0.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is on a volume; empty for one that nobody has written to.
    pub fn read(&self, namespace: &str, claim: &str) -> Content {
        self.contents().get(&(namespace.into(), claim.into())).cloned().unwrap_or_default()
    }

    /// Changes a volume as one step. Pods that serve are asked again how they do when it really changed.
    pub fn change<R>(&self, namespace: &str, claim: &str, change: impl FnOnce(&mut Content) -> R) -> R {
        let mut contents = self.contents();
        let content = contents.entry((namespace.into(), claim.into())).or_default();
        let before = content.clone();
        let answer = change(content);
        let changed = *content != before;
        drop(contents);
        if changed {
            self.0.turn.next();
        }
        answer
    }

    /// Empties a volume.
    pub fn erase(&self, namespace: &str, claim: &str) {
        self.change(namespace, claim, Content::clear);
    }

    /// Empties all volumes.
    pub fn clear(&self) {
        self.contents().clear();
        self.0.turn.next();
    }

    /// Counts the changes.
    pub(super) fn turn(&self) -> u64 {
        self.0.turn.now()
    }

    pub(super) fn subscribe(&self) -> Follower {
        self.0.turn.follow()
    }
}

/// The claims that a pod mounts.
pub(crate) fn claims(pod: &Pod) -> impl Iterator<Item = &str> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes
        .filter_map(|volume| volume.persistent_volume_claim.as_ref())
        .map(|claim| claim.claim_name.as_str())
}
