//! The claim for a member's volume.
//!
//! Nobody owns it: it survives its member, and the EtcdCluster, and is deleted by a decision only. What the volume holds is written
//! on it, so that it can be taken back.

use etcd_core::ClaimWish;
use etcd_types::{EtcdCluster, Storage, TlsMode};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kit::parts;
use kube::ResourceExt as _;

use crate::names;

/// What `wish` says. Of a claim that exists, the class stays as it is, and the size unless it is to be another one.
pub(crate) fn claim(
    cluster: &EtcdCluster,
    wish: &ClaimWish,
    storage: &Storage,
    live: Option<&PersistentVolumeClaim>,
) -> PersistentVolumeClaim {
    let ClaimWish { serial, create: _, detached, cluster_id, version, started, resize, seed } = wish;
    let mut metadata = names::member_meta(cluster, &names::of(cluster).get().member(*serial));
    let said = [
        (names::CLUSTER_UID, cluster.uid()),
        (names::CLUSTER_ID, cluster_id.map(|id| id.to_string())),
        (names::VERSION, version.as_ref().map(ToString::to_string)),
        (names::STARTED, started.as_ref().map(ToString::to_string)),
        (names::TLS, Some((cluster.spec.tls.mode != TlsMode::Off).to_string())),
        (names::DETACHED, detached.map(|since| since.to_string())),
        (names::SEED, seed.clone()),
    ];
    let said = said.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    metadata.annotations = Some(said.collect());
    let live = live.and_then(|live| live.spec.as_ref());
    let before = live.and_then(|spec| spec.resources.as_ref()?.requests.as_ref()?.get("storage").cloned());
    let size = resize.clone().or(before);
    let class = match live {
        Some(spec) => spec.storage_class_name.clone(),
        None => storage.storage_class_name.clone(),
    };
    let size = size.unwrap_or_else(|| storage.size.clone());
    parts::claim(metadata, parts::words(["ReadWriteOnce"]), class, size)
}
