//! The one step of a plan. Each asks "is it done already?" of the answer that it gets, so that it can be repeated after a crash
//! or a lost answer; each deletion names exactly the object that it was decided about.

use std::{sync::Arc, time::Duration};

use etcd_api::{Alarm, AlarmKind, Downgrade, EtcdError, Refusal, Role};
use etcd_core::{DowngradeAction, MemberId, Serial, Step, Task};
use etcd_types::{EtcdBackup, EtcdCluster};
use k8s_openapi::api::{apps::v1::StatefulSet, batch::v1::Job, core::v1::PersistentVolumeClaim};
use kit::{Context, Error, Result, Row as _};
use kube::Resource as _;

use super::stale;
use crate::{build, observe::World};

/// How long a member that is restarted may take to stop. etcd waits for open streams, such as clients' watches, for up to 7 s before it
/// ends (`stopServers` in server/embed/etcd.go); other requests have been answered by then, and a leader has handed over before. The
/// kubelet gives every container at least 2 s.
const STOP: Duration = Duration::from_secs(2);

/// What became of the step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Took {
    /// There was none.
    Nothing,
    /// It was taken; nobody but us knows, so look at what came of it.
    InEtcd,
    /// It was taken; Kubernetes will tell.
    InKubernetes,
    /// Not now, because of this.
    Held(String),
}

/// `fresh` are StatefulSets that were changed a moment ago: Kubernetes may not have heard of it yet.
pub(super) async fn take(cx: &Context, world: &World, step: &Step, fresh: &[StatefulSet]) -> Result<Took> {
    let took = carry_out(cx, world, step, fresh).await?;
    match &took {
        Took::Held(why) => tracing::debug!(%step, why, "a step has to wait"),
        Took::Nothing | Took::InEtcd | Took::InKubernetes => tracing::info!(%step, "a step was taken"),
    }
    Ok(took)
}

async fn carry_out(cx: &Context, world: &World, step: &Step, fresh: &[StatefulSet]) -> Result<Took> {
    match step {
        Step::AddLearner { peer_url, .. } => {
            let asked = any_voter(world)?;
            let answer = asked.add_member(std::slice::from_ref(peer_url), Role::Learner).await;
            settle(answer.map(drop), &[Refusal::PeerUrlExists, Refusal::MemberExists])
        }
        Step::Promote { id, leader, .. } => {
            let answer = member(world, *leader)?.promote_member(api_id(*id)).await;
            settle(answer.map(drop), &[Refusal::MemberNotLearner])
        }
        Step::RemoveMember { id, ask, .. } => {
            let answer = member(world, *ask)?.remove_member(api_id(*id)).await;
            settle(answer.map(drop), &[Refusal::MemberNotFound])
        }
        Step::MoveLeader { from, to_id, .. } => {
            settle(member(world, *from)?.move_leader(api_id(*to_id)).await, &[Refusal::NotLeader])
        }
        Step::Disarm { members, ask } => {
            let asked = member(world, *ask)?;
            for named in members {
                let alarm = Alarm { member: api_id(*named), kind: AlarmKind::Corrupt };
                match settle(asked.disarm(alarm).await, &[])? {
                    Took::InEtcd => {}
                    held => return Ok(held),
                }
            }
            Ok(Took::InEtcd)
        }
        Step::Downgrade { action, target, leader } => downgrade(world, *action, target, *leader).await,
        Step::RestartPod { serial, pod_uid, .. } => restart_pod(cx, world, *serial, pod_uid, fresh).await,
        Step::DeleteJob { serial, task, uid, .. } => {
            let jobs = match task {
                Task::Seed => &world.live.jobs.seeds,
                Task::Replay => &world.live.jobs.replays,
            };
            let live = jobs.get(serial).filter(|job| kit::Row::uid(&***job) == uid);
            let live = live.ok_or_else(|| stale::<Job>(&world.cluster))?;
            cx.delete(&**live).await?;
            Ok(Took::InKubernetes)
        }
        Step::TakeBackup { name, store } => {
            cx.create(&build::upgrade_backup(&world.cluster, name, store)).await?;
            Ok(Took::InKubernetes)
        }
        Step::DeleteBackup { uid, .. } => {
            let live =
                world.live.upgrade_backup.as_ref().filter(|live| live.meta().uid.as_ref() == Some(uid));
            let live = live.ok_or_else(|| stale::<EtcdBackup>(&world.cluster))?;
            cx.delete(&**live).await?;
            Ok(Took::InKubernetes)
        }
        Step::DeleteStatefulSet { serial, uid, .. } => {
            let live = world.live.stateful_sets.get(serial).filter(|set| set.uid() == uid);
            let live = live.ok_or_else(|| stale::<StatefulSet>(&world.cluster))?;
            cx.delete(&**live).await?;
            Ok(Took::InKubernetes)
        }
        Step::DeleteClaim { serial, uid, .. } => {
            let live = world.live.claims.get(serial).filter(|claim| claim.uid() == uid);
            let live = live.ok_or_else(|| stale::<PersistentVolumeClaim>(&world.cluster))?;
            cx.delete(&**live).await?;
            Ok(Took::InKubernetes)
        }
    }
}

/// The pod comes back from its StatefulSet's template: not before Kubernetes has seen the template that it should come back from.
async fn restart_pod(
    cx: &Context,
    world: &World,
    serial: Serial,
    uid: &str,
    fresh: &[StatefulSet],
) -> Result<Took> {
    let set = world.live.stateful_sets.get(&serial);
    let observed = set.and_then(|set| set.status.as_ref()?.observed_generation).unwrap_or_default();
    let unseen = set.is_some_and(|set| set.meta().generation.unwrap_or_default() > observed);
    let changed = set.is_some_and(|set| fresh.iter().any(|fresh| fresh.uid() == set.uid()));
    if unseen || changed {
        return Ok(Took::Held(format!("Kubernetes has not yet seen the new template of member {serial}")));
    }
    let pod = world.live.pods.get(&serial).filter(|pod| pod.uid() == uid);
    let pod = pod.ok_or_else(|| stale::<EtcdCluster>(&world.cluster))?;
    cx.delete_within(&**pod, STOP).await?;
    Ok(Took::InKubernetes)
}

async fn downgrade(world: &World, action: DowngradeAction, target: &str, leader: Serial) -> Result<Took> {
    let leader = member(world, leader)?;
    match action {
        DowngradeAction::Enable => {
            if let Err(error) = leader.downgrade(Downgrade::Validate(target)).await
                && error.refusal() != Some(Refusal::DowngradeInProgress)
            {
                return Err(Error::other(error));
            }
            settle(
                leader.downgrade(Downgrade::Enable(target)).await.map(drop),
                &[Refusal::DowngradeInProgress],
            )
        }
        DowngradeAction::Cancel => {
            settle(leader.downgrade(Downgrade::Cancel).await.map(drop), &[Refusal::NoDowngrade])
        }
    }
}

/// What an answer means; `done` are refusals that say that it had been done before.
fn settle(answer: Result<(), EtcdError>, done: &[Refusal]) -> Result<Took> {
    /// Refusals of which the cause passes by itself.
    const LATER: &[Refusal] = &[
        Refusal::LearnerNotReady,
        Refusal::Unhealthy,
        Refusal::NoLeader,
        Refusal::LeaderChanged,
        Refusal::TooManyRequests,
    ];
    match answer {
        Ok(()) => Ok(Took::InEtcd),
        Err(error) => match error.refusal() {
            Some(refusal) if done.contains(&refusal) => Ok(Took::InEtcd),
            Some(refusal) if LATER.contains(&refusal) => Ok(Took::Held(error.to_string())),
            // Nobody knows whether it happened: the next picture will.
            _ if error.leaves_doubt() => Ok(Took::Held(error.to_string())),
            _ => Err(Error::other(error)),
        },
    }
}

fn member(world: &World, serial: Serial) -> Result<&Arc<dyn etcd_api::Endpoint>> {
    world.endpoints.get(&serial).ok_or_else(|| stale::<EtcdCluster>(&world.cluster))
}

/// Whoever serves, the leader if possible.
fn any_voter(world: &World) -> Result<&Arc<dyn etcd_api::Endpoint>> {
    let answers = world.picture.etcd.endpoints.iter();
    let serving = answers.filter_map(|(serial, answer)| Some((serial, answer.as_ref().ok()?)));
    let best = serving.filter(|(_, it)| it.serves).max_by_key(|(_, it)| it.leader == Some(it.member_id));
    best.map_or_else(|| Err(stale::<EtcdCluster>(&world.cluster)), |(serial, _)| member(world, *serial))
}

fn api_id(id: MemberId) -> etcd_api::MemberId {
    etcd_api::MemberId(id.0)
}
