//! The measurements. Each is made in a process of its own, so that none finds what another left behind.

use std::any::Any;

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

/// Fills a cache, then makes it list anew.
pub async fn memory(subject: Subject, objects: usize) -> Result<Memory> {
    let server = Server::new(Objects::generate(objects, SEED));
    let before = measure::resident()?;
    let cache = subject.cache(&server);
    server.listed(1).await;
    let resident = measure::resident()?;
    measure::forget_peak()?;
    server.expire();
    server.listed(2).await;
    let peak = measure::peak()?;
    drop(cache);
    Ok(Memory { resident: resident.saturating_sub(before), relist: peak.saturating_sub(resident) })
}

/// What an event costs. Nanoseconds of CPU time.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Cost {
    pub per_event: u64,
}

/// Changes objects, each followed by a reconcile that does nothing. Without a subject, the server alone is measured.
pub async fn cost(subject: Option<Subject>, objects: usize, events: usize) -> Result<Cost> {
    let server = Server::new(Objects::generate(objects, SEED));
    let reconciled = Progress::default();
    let mut expected = 0;
    match subject {
        Some(subject) => {
            subject.operator(&server, reconciled.clone())?;
            expected = objects;
        }
        None => drain(&server, reconciled.clone()),
    }
    server.listed(1).await;
    reconciled.reach(expected).await;
    let mut rng = fastrand::Rng::with_seed(SEED);
    let before = measure::cpu()?;
    for _ in 0..events / BURST {
        let first = rng.usize(..objects);
        for step in 0..BURST {
            server.modify((first + step * objects / BURST) % objects);
        }
        expected += BURST;
        reconciled.reach(expected).await;
    }
    let spent = measure::cpu()?.saturating_sub(before);
    Ok(Cost { per_event: u64::try_from(spent.as_nanos())? / u64::try_from(events)? })
}

/// Takes events from the server and throws them away.
fn drain(server: &Server, taken: Progress) {
    let events = server.watch(Projection::Whole);
    tokio::spawn(events.for_each(move |_| {
        taken.step();
        std::future::ready(())
    }));
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
            cost(Some(subject), 100, 100).await.unwrap();
        }
        cost(None, 100, 100).await.unwrap();
    }

    #[tokio::test]
    async fn keys_pass_both_queues() {
        let Throughput { kit, peer } = throughput(1_000).await;
        assert!(kit > 0 && peer > 0);
    }
}
