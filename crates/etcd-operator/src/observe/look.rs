//! The picture that a user can have of a cluster, with their own rights: Kubernetes as it is, etcd as the operator reported it.
//!
//! `capstan etcd plan` decides on it as the operator does on its own. What it does not show is said.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::Arc,
};

use etcd_core::{Node as Place, NodeState, Picture};
use etcd_types::{EtcdBackup, EtcdCluster, EtcdRestore};
use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    batch::v1::Job,
    core::v1::{ConfigMap, Node, PersistentVolume, PersistentVolumeClaim, Pod},
    storage::v1::StorageClass,
};
use kube::{Api, Client, Resource, ResourceExt as _, api::ListParams};
use serde::de::DeserializeOwned;

use super::{
    kubernetes::{self, Places},
    reported,
    work::Jobs,
};
use crate::{
    glimpse::{ClassGrowth, Glimpse, Look as _, MemberPod, NodeHealth, VolumePlace},
    names, recovery,
};

/// A picture, and what it takes for granted.
#[derive(Debug, Clone)]
pub struct Looked {
    /// The picture.
    pub picture: Picture,
    /// What is not known from here, a sentence each.
    pub assumed: Vec<String>,
}

/// What is known about `cluster`, asked of the API server once.
pub async fn look(client: &Client, cluster: &EtcdCluster, now: Timestamp) -> Result<Looked, kube::Error> {
    let namespace = cluster.namespace().unwrap_or_default();
    let name = names::of(cluster);
    let ours = ListParams::default().labels(&format!("{}={}", names::CLUSTER, cluster.name_any()));
    let sets: Vec<Arc<StatefulSet>> = list(Api::namespaced(client.clone(), &namespace), &ours).await?;
    let claims: Vec<Arc<PersistentVolumeClaim>> =
        list(Api::namespaced(client.clone(), &namespace), &ours).await?;
    let pods: Vec<Arc<Pod>> = list(Api::namespaced(client.clone(), &namespace), &ours).await?;
    let pods = pods.iter().filter_map(|pod| Glimpse::<MemberPod>::of(pod).ok()).map(Arc::new).collect();
    let mut live = kubernetes::members(cluster, sets, pods, claims);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    live.identity = maps.get_opt(&name.get().latch()).await?.map(Arc::new);
    if let Some(backup) = names::upgrade_backup(cluster) {
        let backups: Api<EtcdBackup> = Api::namespaced(client.clone(), &namespace);
        live.upgrade_backup = allowed(backups.get_opt(&backup).await)?.flatten().map(Arc::new);
    }

    let reported = "what etcd says is taken from the status: as the operator saw it last";
    let mut assumed: Vec<String> = cluster.status.iter().map(|_| reported.to_owned()).collect();
    let places = Seen {
        nodes: allowed(list::<Node>(Api::all(client.clone()), &ListParams::default()).await)?
            .map(|nodes| nodes.iter().map(|node| (node.name_any(), NodeHealth::at(node))).collect()),
        volumes: allowed(list::<PersistentVolume>(Api::all(client.clone()), &ListParams::default()).await)?
            .unwrap_or_default()
            .iter()
            .filter_map(|volume| Some((volume.name_any(), VolumePlace::at(volume).host?)))
            .collect(),
        classes: allowed(list::<StorageClass>(Api::all(client.clone()), &ListParams::default()).await)?.map(
            |classes| classes.iter().filter(|it| ClassGrowth::at(it).grows).map(|it| it.name_any()).collect(),
        ),
    };
    if places.classes.is_none() {
        assumed.push("you may not list storage classes: volumes are taken to be able to grow".to_owned());
    }
    if places.nodes.is_none() {
        assumed.push("you may not list nodes: they are taken to be well".to_owned());
    }
    let restores: Vec<Arc<EtcdRestore>> =
        allowed(list(Api::namespaced(client.clone(), &namespace), &ListParams::default()).await)?
            .unwrap_or_default();
    let backups: Vec<Arc<EtcdBackup>> =
        allowed(list(Api::namespaced(client.clone(), &namespace), &ListParams::default()).await)?
            .unwrap_or_default();
    let backup = |name: &str| backups.iter().find(|backup| backup.name_any() == name).cloned();
    let asked = recovery::asked(cluster, live.identity.as_deref(), &restores, backup);
    let jobs = allowed(list::<Job>(Api::namespaced(client.clone(), &namespace), &ours).await)?;
    if jobs.is_none() && asked.is_some() {
        assumed.push("you may not list jobs: how far those of the restore are is not known".to_owned());
    }
    let job_pods: Vec<Arc<Pod>> = list(Api::namespaced(client.clone(), &namespace), &ours).await?;
    live.jobs = Jobs::of(cluster, jobs.unwrap_or_default());
    live.jobs.safety = asked.as_ref().and_then(|asked| asked.recovery.safety()).and_then(|it| backup(&it));
    let mut picture = kubernetes::picture(&places, cluster, &live, now);
    picture.work = live.jobs.works(&job_pods, asked.as_ref().and_then(|asked| asked.source.as_ref()));
    picture.recovery = asked.map(|asked| asked.recovery);
    picture.etcd = reported::etcd(cluster);
    Ok(Looked { picture, assumed })
}

/// Nodes and volumes, as far as the user may see them.
struct Seen {
    /// How they are; nothing if that is not for them to know.
    nodes: Option<BTreeMap<String, NodeHealth>>,
    volumes: BTreeMap<String, String>,
    /// Those that let volumes grow; nothing if that is not for them to know.
    classes: Option<BTreeSet<String>>,
}

impl Places for Seen {
    fn node(&self, name: &str) -> NodeState {
        match self.nodes.as_ref().map(|nodes| nodes.get(name)) {
            None => NodeState::Ready,
            Some(Some(node)) if node.ready => NodeState::Ready,
            Some(Some(_)) => NodeState::NotReady,
            Some(None) => NodeState::Gone,
        }
    }

    fn node_with_host(&self, host: &str) -> Option<Place> {
        let Some(nodes) = &self.nodes else {
            return Some(Place { name: host.to_owned(), state: NodeState::Ready });
        };
        let on_it = || nodes.iter().filter(|(_, node)| node.host.as_deref() == Some(host));
        let (name, _) = on_it().find(|(_, node)| node.ready).or_else(|| on_it().next())?;
        Some(Place { name: name.clone(), state: self.node(name) })
    }

    fn host_of_volume(&self, name: &str) -> Option<String> {
        self.volumes.get(name).cloned()
    }

    fn class_grows(&self, name: &str) -> bool {
        self.classes.as_ref().is_none_or(|grow| grow.contains(name))
    }
}

async fn list<K>(api: Api<K>, which: &ListParams) -> Result<Vec<Arc<K>>, kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    Ok(api.list(which).await?.items.into_iter().map(Arc::new).collect())
}

/// What the user may not see is no error; nor is a kind that is not installed.
fn allowed<T>(listed: Result<T, kube::Error>) -> Result<Option<T>, kube::Error> {
    match listed {
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(None),
        listed => listed.map(Some),
    }
}
