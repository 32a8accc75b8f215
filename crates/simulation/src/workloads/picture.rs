//! The workloads as they are now, parsed once per change.

use std::collections::BTreeMap;

use apiserver::{Change, ObjectId, Store};
use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    batch::v1::{CronJob, Job},
    core::v1::{PersistentVolumeClaim, Pod, PodTemplateSpec},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Volumes, pods};

/// By namespace and name.
pub(super) type Kept<K> = BTreeMap<(String, String), K>;

#[derive(Debug)]
pub(super) struct Picture {
    store: Store,
    /// The last revision that is in the picture.
    seen: u64,
    pub(super) deployments: Kept<Deployment>,
    pub(super) stateful_sets: Kept<StatefulSet>,
    pub(super) jobs: Kept<Job>,
    pub(super) cron_jobs: Kept<CronJob>,
    pub(super) claims: Kept<PersistentVolumeClaim>,
    pub(super) pods: Kept<Pod>,
    /// Every template that a StatefulSet ever had, by its hash: what ControllerRevisions are for.
    pub(super) templates: BTreeMap<String, PodTemplateSpec>,
}

impl Picture {
    pub(super) fn of(store: &Store) -> Self {
        let mut picture = Self {
            store: store.clone(),
            seen: 0,
            deployments: Kept::new(),
            stateful_sets: Kept::new(),
            jobs: Kept::new(),
            cron_jobs: Kept::new(),
            claims: Kept::new(),
            pods: Kept::new(),
            templates: BTreeMap::new(),
        };
        picture.take_everything();
        picture
    }

    fn take_everything(&mut self) {
        self.seen = self.store.revision();
        for (id, object) in self.store.everything() {
            self.take(&id, Some(object.value()));
        }
    }

    /// Takes in what has happened since; was there anything that concerns workloads?
    pub(super) fn catch_up(&mut self, volumes: &Volumes) -> bool {
        let Ok(events) = self.store.events_since(self.seen, usize::MAX) else {
            let fresh = Self::of(&self.store);
            *self = Self { templates: std::mem::take(&mut self.templates), ..fresh };
            return true;
        };
        let mut concerned = false;
        for event in events {
            self.seen = event.revision;
            let present = event.change != Change::Deleted;
            concerned |= self.take(&event.id, present.then(|| event.object.value()));
            if !present && &*event.id.plural == "persistentvolumeclaims" {
                volumes.erase(&event.id.namespace, &event.id.name);
            }
        }
        concerned
    }

    fn take(&mut self, id: &ObjectId, object: Option<&Value>) -> bool {
        match (&*id.group, &*id.plural) {
            ("apps", "deployments") => keep(&mut self.deployments, id, object),
            ("apps", "statefulsets") => {
                keep(&mut self.stateful_sets, id, object);
                if let Some(set) = self.stateful_sets.get(&key(id)) {
                    let template = &set.spec.template;
                    self.templates.insert(pods::hash(template), template.clone());
                }
            }
            ("batch", "jobs") => keep(&mut self.jobs, id, object),
            ("batch", "cronjobs") => keep(&mut self.cron_jobs, id, object),
            ("", "persistentvolumeclaims") => keep(&mut self.claims, id, object),
            ("", "pods") => keep(&mut self.pods, id, object),
            // Pods wait for them.
            ("", "secrets" | "configmaps") => {}
            _ => return false,
        }
        true
    }

    /// Is there such a Secret or ConfigMap?
    pub(super) fn has(&self, plural: &str, namespace: &str, name: &str) -> bool {
        self.store.get(&ObjectId::new("", plural, namespace, name)).is_some()
    }
}

fn key(id: &ObjectId) -> (String, String) {
    (id.namespace.to_string(), id.name.to_string())
}

fn keep<K: DeserializeOwned>(kept: &mut Kept<K>, id: &ObjectId, object: Option<&Value>) {
    match object.map(K::deserialize) {
        Some(Ok(object)) => drop(kept.insert(key(id), object)),
        Some(Err(error)) => tracing::error!(%id, %error, "the store has what its kind cannot be"),
        None => drop(kept.remove(&key(id))),
    }
}
