//! Secrets that users name in `spec.tls.secrets`, or that cert-manager writes: read when they are needed, and again when they have changed.
//!
//! Of all Secrets only metadata is watched: what is in others' Secrets is never in this process.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use etcd_types::EtcdCluster;
use k8s_openapi::api::core::v1::Secret;
use kit::{Change, Context, Error, Key, KindId, Result, Slim, Store};
use kube::{Api, ResourceExt as _};

use crate::tls::{self, Role};

/// What users and cert-manager provide.
pub(crate) struct Given {
    all: Store<Slim<Secret>>,
    /// With the resourceVersion that it was read at.
    read: Mutex<BTreeMap<Key, (u64, Arc<Secret>)>>,
}

impl Given {
    pub(crate) fn new(all: Store<Slim<Secret>>) -> Self {
        Self { all, read: Mutex::default() }
    }

    /// Whether there is a Secret of this name, whoever made it.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.all.get(key).is_some()
    }

    /// The Secrets that the cluster takes certificates from, as far as they exist.
    pub(crate) async fn read(
        &self,
        cx: &Context,
        cluster: &EtcdCluster,
    ) -> Result<BTreeMap<String, Arc<Secret>>> {
        let namespace = cluster.namespace().unwrap_or_default();
        let mut found = BTreeMap::new();
        for name in names(cluster) {
            if let Some(secret) = self.get(cx, Key::new(namespace.as_str(), name.as_str())).await? {
                found.insert(name, secret);
            }
        }
        Ok(found)
    }

    async fn get(&self, cx: &Context, key: Key) -> Result<Option<Arc<Secret>>> {
        let Some(version) = self.all.get(&key).map(|seen| seen.meta().resource_version()) else {
            self.read.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            return Ok(None);
        };
        let known = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some((_, secret)) = known.filter(|(read, _)| *read >= version) {
            return Ok(Some(secret));
        }
        let api: Api<Secret> = Api::namespaced(cx.client(), key.namespace());
        let failed = |error| Error::api("get", KindId::of::<Secret>(), key.clone(), error);
        let Some(secret) = api.get_opt(key.name()).await.map_err(failed)? else { return Ok(None) };
        let secret = Arc::new(secret);
        let version = kit::Row::resource_version(&*secret);
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(key, (version, secret.clone()));
        Ok(Some(secret))
    }
}

/// Which clusters take a certificate from a Secret.
pub(crate) fn concerns(
    clusters: &Store<EtcdCluster>,
) -> impl Fn(&Change<'_, Slim<Secret>>) -> Vec<Key> + Send + Sync + 'static {
    let clusters = clusters.clone();
    move |change| {
        let near = clusters.in_namespace(change.key.namespace());
        near.iter().filter(|it| names(it).contains(change.key.name())).map(|it| Key::of(&**it)).collect()
    }
}

fn names(cluster: &EtcdCluster) -> BTreeSet<String> {
    let name = cluster.name_any();
    Role::ALL.into_iter().filter_map(|role| tls::input(&name, &cluster.spec.tls, role)).collect()
}
