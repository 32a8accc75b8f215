//! Act: carries a plan out. The latch before everything, claims before the pods that use them, then the one step; last what is no part
//! of etcd.
//!
//! Invariants: nothing is made for the first time, and no step is taken, on an old picture of the EtcdCluster; an object that
//! is not ours is never touched; what is no part of etcd keeps nothing else from being done.

pub(crate) mod found;
mod step;

use std::fmt::Debug;

use etcd_core::{ClaimWish, MemberWish, Objects, Plan, Serial};
use etcd_types::{EtcdCluster, Storage};
use futures::future::{join, try_join_all, try_join5};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        apps::v1::StatefulSet,
        core::v1::{PersistentVolumeClaim, Pod},
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use kit::{Context, Error, Key, KindId, Result, Row as _, telemetry::chain};
use kube::{
    Api, Resource, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;

pub(crate) use step::Took;

use crate::{build, certificates::Trust, names, observe::World, outside};

/// What acting needs beside the plan.
pub(crate) struct Surroundings {
    /// The operator's own namespace.
    pub(crate) home: String,
    /// The image of Jobs: ours.
    pub(crate) image: String,
    /// What has been applied of kinds that are not watched.
    pub(crate) outside: outside::Done,
}

/// What became of a plan.
#[derive(Debug)]
pub(crate) struct Did {
    /// What became of the step.
    pub(crate) took: Took,
    /// What could not be done of that which is no part of etcd: monitors, larger volumes.
    pub(crate) left: Option<Error>,
}

pub(crate) async fn act(cx: &Context, world: &World, plan: &Plan, around: &Surroundings) -> Result<Did> {
    let cluster = &*world.cluster;
    if plan.hold {
        cx.ensure_finalizer(cluster, names::FINALIZER).await?;
    } else if cluster.finalizers().iter().any(|name| name == names::FINALIZER) {
        cx.confirm(cluster).await?;
        cx.remove_finalizer(cluster, names::FINALIZER).await?;
    }
    let mut fresh = Vec::new();
    if let Some(objects) = &plan.objects {
        if plan.step.is_some() || makes_something(cx, world, objects) {
            cx.confirm(cluster).await?;
        }
        fresh = ensure_objects(cx, world, objects, around).await?;
    } else if plan.step.is_some() {
        cx.confirm(cluster).await?;
    }
    let took = match &plan.step {
        None => Took::Nothing,
        Some(step) => step::take(cx, world, step, &fresh).await?,
    };
    let left = match &plan.objects {
        Some(objects) => last(cx, world, objects, around).await?,
        None => None,
    };
    Ok(Did { took, left })
}

/// What somebody may refuse for ever: another size of a volume, an object of a kind that is not installed. Returns what could not be done.
async fn last(
    cx: &Context,
    world: &World,
    objects: &Objects,
    around: &Surroundings,
) -> Result<Option<Error>> {
    let grow = objects.claims.iter().filter(|wish| wish.resize.is_some());
    let grow = try_join_all(grow.map(|wish| ensure_claim(cx, world, wish, &objects.wanted.storage)));
    let (grown, monitored) = join(grow, around.outside.monitors(cx, &world.cluster)).await;
    let mut left = None;
    for failed in [grown.err(), monitored.err()].into_iter().flatten() {
        if matches!(failed, Error::Stale { .. } | Error::NotLeader { .. }) {
            return Err(failed);
        }
        tracing::warn!(error = %chain(&failed), "left undone, will try again");
        left = left.or(Some(failed));
    }
    Ok(left)
}

/// Whether an object is made for the first time. What is made for an EtcdCluster that is gone would be removed and made again for ever.
fn makes_something(cx: &Context, world: &World, objects: &Objects) -> bool {
    let live = &world.live;
    let basics = live.identity.is_some()
        && live.account.is_some()
        && live.client_service.is_some()
        && live.peer_service.is_some();
    !basics
        || (objects.min_available.is_some() && live.budget.is_none())
        || (objects.wanted.network_policy.is_some() && live.policy.is_none())
        || !world.certificates.tasks(&Trust::of(live), cx.now()).is_empty()
        || objects.members.iter().any(|wish| !live.stateful_sets.contains_key(&wish.serial))
        || objects.claims.iter().any(|wish| wish.create && !live.claims.contains_key(&wish.serial))
        || objects.seed.as_ref().is_some_and(|wish| !live.jobs.seeds.contains_key(&wish.serial))
        || objects.replay.as_ref().is_some_and(|wish| !live.jobs.replays.contains_key(&wish.serial))
}

/// Makes everything as it should be. Returns the StatefulSets that were changed.
async fn ensure_objects(
    cx: &Context,
    world: &World,
    objects: &Objects,
    around: &Surroundings,
) -> Result<Vec<StatefulSet>> {
    let (cluster, live) = (&*world.cluster, &world.live);
    ensure(cx, &build::identity(cluster, &objects.latch), live.identity.as_deref()).await?;
    let tasks = world.certificates.tasks(&Trust::of(live), cx.now());
    let access = if objects.closed { build::Access::Closed } else { build::Access::Open };
    let (account, client, peer) =
        (build::account(cluster), build::client_service(cluster, access), build::peer_service(cluster));
    try_join5(
        ensure(cx, &account, live.account.as_deref()),
        ensure(cx, &client, live.client_service.as_deref()),
        ensure(cx, &peer, live.peer_service.as_deref()),
        world.certificates.act(cx, cluster, &tasks),
        optional_objects(cx, world, objects, &around.home),
    )
    .await?;
    around.outside.certificates(cx, cluster).await?;
    let storage = &objects.wanted.storage;
    let claims = objects.claims.iter().map(|wish| ClaimWish { resize: None, ..wish.clone() });
    try_join_all(claims.map(async |wish| ensure_claim(cx, world, &wish, storage).await)).await?;
    restore_jobs(cx, world, objects, &around.image).await?;
    // A pod without its certificates would only hang; and as long as there is none, a new CA can be made.
    let startable = world.certificates.are_there(&tasks);
    let members =
        objects.members.iter().filter(|wish| startable || live.stateful_sets.contains_key(&wish.serial));
    let sets = try_join_all(members.map(|wish| ensure_member(cx, world, wish))).await?;
    let serving = objects.members.iter().filter(|wish| wish.serves);
    try_join_all(serving.map(|wish| let_in(cx, world, wish.serial))).await?;
    Ok(sets.into_iter().flatten().collect())
}

async fn optional_objects(cx: &Context, world: &World, objects: &Objects, home: &str) -> Result<()> {
    let (cluster, live) = (&*world.cluster, &world.live);
    match (objects.min_available, &live.budget) {
        (Some(least), _) => {
            drop(ensure(cx, &build::budget(cluster, least), live.budget.as_deref()).await?);
        }
        (None, Some(budget)) if names::is_owned(cluster, &**budget) => drop(cx.delete(&**budget).await?),
        (None, _) => {}
    }
    match (&objects.wanted.network_policy, &live.policy) {
        (Some(options), _) => {
            let wanted = build::network_policy(cluster, options, home);
            drop(ensure(cx, &wanted, live.policy.as_deref()).await?);
        }
        (None, Some(policy)) if names::is_owned(cluster, &**policy) => drop(cx.delete(&**policy).await?),
        (None, _) => {}
    }
    Ok(())
}

/// Jobs are made once: what they are made from cannot change. One of that name that is somebody else's is not touched.
async fn restore_jobs(cx: &Context, world: &World, objects: &Objects, image: &str) -> Result<()> {
    let (cluster, jobs) = (&*world.cluster, &world.live.jobs);
    let Some(source) = &world.source else { return Ok(()) };
    if let Some(wish) = objects.seed.as_ref().filter(|wish| !jobs.seeds.contains_key(&wish.serial)) {
        cx.create(&build::seed(cluster, wish, source, image)).await?;
    }
    if let Some(wish) = objects.replay.as_ref().filter(|wish| !jobs.replays.contains_key(&wish.serial)) {
        cx.create(&build::replay(cluster, wish, source, image)).await?;
    }
    Ok(())
}

async fn ensure_claim(cx: &Context, world: &World, wish: &ClaimWish, storage: &Storage) -> Result<()> {
    let live = world.live.claims.get(&wish.serial).map(|live| &**live);
    let wanted = build::claim(&world.cluster, wish, storage, live);
    if live.is_none() && !wish.create {
        return found::look_for(cx, &wanted).await;
    }
    if !live.is_some_and(|live| waits_for_volume(live, &wanted)) {
        ensure(cx, &wanted, live).await?;
    }
    Ok(())
}

/// While a claim waits for its volume, the scheduler and the provisioner write to it, and start over when somebody else has. So it is
/// left alone unless it has something new to remember.
fn waits_for_volume(live: &PersistentVolumeClaim, wanted: &PersistentVolumeClaim) -> bool {
    let bound = live.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound");
    let said = |name: &String| live.annotations().get(name) == wanted.annotations().get(name);
    let known = live.annotations().keys().filter(|name| name.starts_with(names::OWN_ANNOTATIONS));
    !bound && wanted.annotations().keys().chain(known).all(said)
}

async fn ensure_member(cx: &Context, world: &World, wish: &MemberWish) -> Result<Option<StatefulSet>> {
    let live = world.live.stateful_sets.get(&wish.serial);
    let mut wanted = build::stateful_set(&world.cluster, wish.serial, &wish.template);
    build::record_trust(&mut wanted, live.map(|live| &**live), world.certificates.record());
    ensure(cx, &wanted, live.map(|live| &**live)).await
}

/// Says of a pod that waits for it that its member answers. One of the same name that came meanwhile is looked at first: the server calls
/// another UID invalid.
async fn let_in(cx: &Context, world: &World, serial: Serial) -> Result<()> {
    let Some(pod) = world.live.pods.get(&serial).filter(|pod| pod.seen.gated) else { return Ok(()) };
    let key = pod.key();
    let condition = json!({"type": names::SERVES, "status": "True", "lastTransitionTime": Time(cx.now())});
    let patch = json!({"metadata": {"uid": pod.uid()}, "status": {"conditions": [condition]}});
    let pods: Api<Pod> = Api::namespaced(cx.client(), key.namespace());
    match pods.patch_status(key.name(), &PatchParams::default(), &Patch::Strategic(patch)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, 409 | 422) => {
            Err(Error::Stale { kind: Box::new(KindId::of::<Pod>()), key })
        }
        Err(error) => Err(Error::api("write the status of", KindId::of::<Pod>(), key, error)),
    }
}

/// Kinds that live in namespaces.
pub(crate) trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}
impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// Makes the object what it should be: not if somebody has changed it since it was looked at. A StatefulSet or a latch that went back to
/// what it was would last until a cache has caught up, and a pod may start from it meanwhile. One that the cache does not have, but the
/// server does, is left alone.
async fn ensure<K: Kind>(cx: &Context, wanted: &K, live: Option<&K>) -> Result<Option<K>> {
    if let Some(live) = live {
        return cx.apply_exactly(wanted, live).await;
    }
    let mut there = None;
    let applied = cx.apply_new(wanted, |found| {
        there = Some(found.clone());
        Error::Stale { kind: Box::new(KindId::of::<K>()), key: Key::of(wanted) }
    });
    let applied = applied.await;
    match there {
        Some(there) => Err(found::instead(cx, wanted, &there).await),
        None => applied,
    }
}

/// Refuses what was decided on an old picture.
fn stale<K: Resource<DynamicType = ()>>(cluster: &EtcdCluster) -> Error
where
    K::Scope: 'static,
{
    Error::Stale { kind: Box::new(KindId::of::<K>()), key: Key::of(cluster) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn claim(annotations: Value, phase: &str) -> PersistentVolumeClaim {
        let object = json!({"metadata": {"annotations": annotations}, "status": {"phase": phase}});
        serde_json::from_value(object).unwrap()
    }

    /// Seen on a real Kubernetes: the class that the server has filled in was written back, the scheduler's own write of the same moment
    /// failed for it, and the pod waited for its next turn.
    #[test]
    fn a_claim_that_waits_for_its_volume_is_left_alone_unless_it_has_something_to_remember() {
        let (uid, left) = ("etcd.capstan.dev/cluster-uid", "etcd.capstan.dev/detached-at");
        let wanted = claim(json!({uid: "u-1"}), "");
        let cases = [
            (json!({uid: "u-1", "capstan.dev/applied": "1"}), "Pending", true),
            (json!({uid: "u-1", "volume.kubernetes.io/selected-node": "n"}), "Pending", true),
            (json!({uid: "u-1"}), "Bound", false),
            (json!({uid: "u-0"}), "Pending", false),
            (json!({uid: "u-1", left: "2026-11-16T03:00:00Z"}), "Pending", false),
        ];
        for (annotations, phase, alone) in cases {
            let live = claim(annotations.clone(), phase);
            assert_eq!(waits_for_volume(&live, &wanted), alone, "{annotations} {phase}");
        }
    }
}
