//! The recovery point: how old the oldest acknowledged write is that would be lost with etcd, and what it costs etcd that it is not older.
//!
//! It is looked up in the store, not asked of the process that captures: what is there is there.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use etcd_api::{Client, Endpoint as _, pb};
use etcd_backup::{Store, wal::shelf::Shelf};
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, sleep},
};

use super::{
    Size,
    etcd::{Etcd, cpu_of},
    ours,
    world::World,
};

/// How often the store is looked at.
const LOOK: Duration = Duration::from_millis(250);
const VALUE: usize = 1024;
const ROUNDS: usize = 2;

/// What writes cost, at the same rate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    pub median: Duration,
    pub p99: Duration,
    /// What etcd used for each write.
    pub cpu: Duration,
    pub per_second: f64,
}

#[derive(Debug, Clone, Default)]
pub struct Recovery {
    pub without: Cost,
    pub with: Cost,
    /// How old the oldest write was that was not in the store, whenever it was looked at.
    pub behind_median: Duration,
    pub behind_most: Duration,
    pub peak: u64,
    pub capture_cpu: Duration,
}

/// When a revision was acknowledged, in their order.
type Acknowledged = Arc<Mutex<Vec<(i64, Instant)>>>;
/// How far behind the store was, whenever it was looked at.
type Seen = Arc<Mutex<Vec<Duration>>>;

pub(super) async fn measure(world: &World, size: Size) -> Result<Recovery> {
    let etcd = Etcd::start(&world.programs, &world.path("busy"), &[]).await?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let seen = Seen::default();
    let (mut peak, mut capture_cpu) = (0, Duration::ZERO);
    for round in 0..ROUNDS {
        without.push(write(&etcd, size, &Acknowledged::default()).await?);

        let prefix = format!("capture-{round}");
        let store = world.store(&prefix)?;
        ours::save(&store, etcd.url.clone(), "first".to_owned(), None).await?;
        let capture = ours::capture(world, &etcd, &prefix)?;
        // Its beginning is not what is measured.
        sleep(Duration::from_secs(2)).await;
        let acknowledged = Acknowledged::default();
        let cluster = etcd.client().await?.status().await?.cluster.to_string();
        let looking = tokio::spawn(look(store, cluster, acknowledged.clone(), seen.clone()));
        with.push(write(&etcd, size, &acknowledged).await?);
        looking.abort();
        if let Ok(Err(error)) = looking.await {
            return Err(error);
        }
        capture_cpu = capture_cpu.max(cpu_of(capture.id().context("capture has ended")?)?);
        peak = peak.max(ours::stop(capture).await?);
    }
    let mut behind = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    behind.sort_unstable();
    Ok(Recovery {
        without: better(without),
        with: better(with),
        behind_median: behind.get(behind.len() / 2).copied().unwrap_or_default(),
        behind_most: behind.last().copied().unwrap_or_default(),
        peak,
        capture_cpu,
    })
}

/// Of two rounds, the one that others on the machine disturbed less.
fn better(rounds: Vec<Cost>) -> Cost {
    rounds.into_iter().min_by_key(|cost| cost.p99).unwrap_or_default()
}

/// Writes at a rate, whether or not the ones before were answered.
async fn write(etcd: &Etcd, size: Size, acknowledged: &Acknowledged) -> Result<Cost> {
    let client = etcd.client().await?;
    let total = size.writes_per_second * u32::try_from(size.writing.as_secs())?;
    let mut due = interval(Duration::from_secs(1) / size.writes_per_second);
    due.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let (cpu, began) = (etcd.cpu()?, Instant::now());
    let mut writes = JoinSet::new();
    for number in 0..total {
        due.tick().await;
        writes.spawn(put(client.clone(), number, acknowledged.clone()));
    }
    let mut took = Vec::new();
    while let Some(done) = writes.join_next().await {
        took.push(done??);
    }
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).copied().unwrap_or_default();
    Ok(Cost {
        median: at(50),
        p99: at(99),
        cpu: etcd.cpu()?.saturating_sub(cpu) / total,
        per_second: f64::from(total) / began.elapsed().as_secs_f64(),
    })
}

async fn put(client: Client, number: u32, acknowledged: Acknowledged) -> Result<Duration> {
    let request = pb::PutRequest {
        key: Bytes::from(format!("/registry/leases/{:05}", number % 10_000)),
        value: Bytes::from(vec![b'v'; VALUE]),
        ..pb::PutRequest::default()
    };
    let began = Instant::now();
    let answer = client.call(client.kv().put(request)).await?;
    let revision = answer.header.unwrap_or_default().revision;
    let now = Instant::now();
    acknowledged.lock().unwrap_or_else(PoisonError::into_inner).push((revision, now));
    Ok(now - began)
}

/// Looks at the newest chunk in the store again and again.
async fn look(store: Store, cluster: String, acknowledged: Acknowledged, seen: Seen) -> Result<()> {
    let shelf = Shelf { store: &store, cluster_uid: &cluster };
    loop {
        sleep(LOOK).await;
        let now = Instant::now();
        let chains = shelf.list().await?;
        let newest = chains.first().and_then(|chain| Some((chain, chain.sequences.last()?)));
        let stored = match newest {
            None => 0,
            Some((chain, sequence)) => shelf.header(&chain.chain, *sequence).await?.last,
        };
        let acknowledged = acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = acknowledged
            .iter()
            .filter(|(revision, at)| *revision > stored && *at <= now)
            .map(|it| it.1)
            .min();
        let age = oldest.map_or(Duration::ZERO, |oldest| now - oldest);
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(age);
    }
}
