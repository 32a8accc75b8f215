//! The measurements. Each is made in a process of its own, so that none finds what another left behind.

use std::{any::Any, future::ready};

use anyhow::Result;
use clap::ValueEnum;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kit::{Projection, Slim};
use kube::core::PartialObjectMeta;
use serde::{Deserialize, Serialize};

use crate::{
    kit_side, measure,
    objects::Objects,
    peer_side::{self, drop_managed_fields, keep_all},
    progress::Progress,
    queues,
    server::Server,
};

pub const SEED: u64 = 2026;

/// Events come in bursts, as when a deployment rolls. The next comes when all of one are reconciled: an operator that is slower
/// would otherwise see fewer changes, because more of them fall together.
const BURST: usize = 50;
/// The median of so many counts: what else the machine does disturbs some of them.
const ROUNDS: usize = 10;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    KitSlim,
    KitPod,
    PeerMetadata,
    PeerPodTrimmed,
    PeerPod,
}

impl Subject {
    pub const ALL: [Self; 5] =
        [Self::KitSlim, Self::KitPod, Self::PeerMetadata, Self::PeerPodTrimmed, Self::PeerPod];

    pub fn title(self) -> &'static str {
        match self {
            Self::KitSlim => "kit           Slim<Pod>",
            Self::KitPod => "kit           Pod",
            Self::PeerMetadata => "kube_runtime  PartialObjectMeta<Pod>, managedFields dropped",
            Self::PeerPodTrimmed => "kube_runtime  Pod, managedFields dropped",
            Self::PeerPod => "kube_runtime  Pod",
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn cache(self, server: &Server) -> Box<dyn Any> {
        match self {
            Self::KitSlim => Box::new(kit_side::cache::<Slim<Pod>>(server)),
            Self::KitPod => Box::new(kit_side::cache::<Pod>(server)),
            Self::PeerMetadata => {
                Box::new(peer_side::cache::<PartialObjectMeta<Pod>>(server, drop_managed_fields))
            }
            Self::PeerPodTrimmed => Box::new(peer_side::cache::<Pod>(server, drop_managed_fields)),
            Self::PeerPod => Box::new(peer_side::cache::<Pod>(server, keep_all)),
        }
    }

    fn operator(self, server: &Server, reconciled: Progress) -> Result<()> {
        match self {
            Self::KitSlim => kit_side::operator::<Slim<Pod>>(server, reconciled)?,
            Self::KitPod => kit_side::operator::<Pod>(server, reconciled)?,
            Self::PeerMetadata => {
                peer_side::operator::<PartialObjectMeta<Pod>>(server, drop_managed_fields, reconciled);
            }
            Self::PeerPodTrimmed => peer_side::operator::<Pod>(server, drop_managed_fields, reconciled),
            Self::PeerPod => peer_side::operator::<Pod>(server, keep_all, reconciled),
        }
        Ok(())
    }
}

/// What a cache of everything costs. Bytes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Memory {
    pub resident: u64,
    /// How much more there was for a while, when the history was gone and everything had to be listed anew.
    pub relist: u64,
}

/// Fills a cache, then makes it list anew. A small cache comes first, for what is used once however many objects there are.
pub async fn memory(subject: Subject, objects: usize) -> Result<Memory> {
    let few = Server::new(Objects::generate(1_000, SEED));
    let small = subject.cache(&few);
    few.listed(1).await;

    let server = Server::new(Objects::generate(objects, SEED));
    let before = measure::resident()?;
    let cache = subject.cache(&server);
    server.listed(1).await;
    let resident = measure::resident()?;
    measure::forget_peak()?;
    server.expire();
    server.listed(2).await;
    let peak = measure::peak()?;
    drop((small, cache));
    Ok(Memory { resident: resident.saturating_sub(before), relist: peak.saturating_sub(resident) })
}

/// What an event costs. Nanoseconds of CPU time.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Cost {
    pub per_event: u64,
}

/// Changes objects, each followed by a reconcile that does nothing.
pub async fn cost(subject: Subject, objects: usize, events: usize) -> Result<Cost> {
    let server = Server::new(Objects::generate(objects, SEED));
    let reconciled = Progress::default();
    subject.operator(&server, reconciled.clone())?;
    server.listed(1).await;
    reconciled.reach(objects).await;
    change(&server, events, &reconciled).await
}

/// What the server alone costs, with somebody who throws its events away: a part of every other cost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ServerCost {
    pub metadata: Cost,
    pub whole: Cost,
}

pub async fn server_cost(objects: usize, events: usize) -> Result<ServerCost> {
    let server = Server::new(Objects::generate(objects, SEED));
    let metadata = discard(&server, Projection::Metadata, events).await?;
    let whole = discard(&server, Projection::Whole, events).await?;
    Ok(ServerCost { metadata, whole })
}

async fn discard(server: &Server, view: Projection, events: usize) -> Result<Cost> {
    let taken = Progress::default();
    let count = taken.clone();
    tokio::spawn(server.watch(view).for_each(move |_| {
        count.step();
        ready(())
    }));
    change(server, events, &taken).await
}

async fn change(server: &Server, events: usize, followed: &Progress) -> Result<Cost> {
    let mut rng = fastrand::Rng::with_seed(SEED);
    let (objects, bursts) = (server.len(), events / ROUNDS / BURST);
    let mut per_event = Vec::new();
    for _ in 0..ROUNDS {
        let before = measure::cpu()?;
        for _ in 0..bursts {
            let first = rng.usize(..objects);
            for step in 0..BURST {
                server.modify((first + step * objects / BURST) % objects);
            }
            followed.reach(BURST).await;
        }
        let spent = measure::cpu()?.saturating_sub(before).as_nanos();
        per_event.push(u64::try_from(spent)? / u64::try_from(bursts * BURST)?);
    }
    per_event.sort_unstable();
    Ok(Cost { per_event: per_event.get(ROUNDS / 2).copied().unwrap_or_default() })
}

/// How many keys per second pass a queue.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Throughput {
    pub kit: u64,
    pub peer: u64,
}

pub async fn throughput(keys: usize) -> Throughput {
    Throughput { kit: queues::kit(keys).await, peer: queues::peer(keys).await }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn every_subject_fills_its_cache_lists_anew_and_reconciles_every_change() {
        for subject in Subject::ALL {
            memory(subject, 100).await.unwrap();
            cost(subject, 100, BURST * ROUNDS).await.unwrap();
        }
        server_cost(100, BURST * ROUNDS).await.unwrap();
    }

    #[tokio::test]
    async fn keys_pass_both_queues() {
        let Throughput { kit, peer } = throughput(1_000).await;
        assert!(kit > 0 && peer > 0);
    }
}
