//! One operator with hundreds of etcd clusters: what it asks for, what it uses, and how soon it acts while others hang.
//!
//! ```text
//! threads "world": apiserver, workloads, simulated etcd <── Across ── threads "operator": etcd-operator
//! ```
//!
//! CPU time is that of the operator's threads; asking a simulated member is among it, TLS and HTTP/2 to a real one are not. Memory is
//! what a second operator adds to the process, started when the world is at rest.

mod across;
mod report;
mod world;

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result, bail};
use apiserver::Verb;
use serde_json::json;
use tokio::time::{Instant, sleep};

pub use report::Fleet;
use world::{Operator, World};

use crate::measure;

/// Nobody asked for anything for so long: the operator rests.
const QUIET: Duration = Duration::from_secs(10);
/// For all of them to be well. (A machine may be busy.)
const PATIENCE: Duration = Duration::from_secs(1_800);
/// How many clusters hang, at first and then.
const FEW: usize = 1;
const MANY: usize = 20;

/// What an operator asked for in a while, by verb, and how much CPU time that took.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub requests: BTreeMap<String, usize>,
    pub etcd_calls: usize,
    pub cpu: Duration,
    pub took: Duration,
}

/// From an edit until the operator has done something about it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delay {
    pub median: Duration,
    pub p99: Duration,
}

/// Measures `count` clusters of three members each, and what is asked for in a time of `rest`.
pub fn measure(count: usize, rest: Duration) -> Result<Fleet> {
    let world = World::new()?;
    let operator = Operator::start(&world)?;
    let created = world.block_on(create(&world, count))?;
    let resting = world.block_on(async {
        quiet(&world).await?;
        asked_for(&world, async {
            sleep(rest).await;
            Ok(())
        })
        .await
    })?;
    drop(operator);
    world.block_on(async { sleep(QUIET).await });

    let before = measure::resident()?;
    let operator = Operator::start(&world)?;
    let restarted = world.block_on(asked_for(&world, quiet(&world)))?;
    let resident = measure::resident()?.saturating_sub(before);

    let (edits, hanging) = (count * 3 / 10, MANY.min(count / 20).max(FEW));
    let delays = world.block_on(async {
        let alone = edit(&world, 0..edits).await?;
        world.hang(count - FEW..count);
        let few = edit(&world, edits..2 * edits).await?;
        world.hang(count - hanging..count);
        let many = edit(&world, 2 * edits..3 * edits).await?;
        anyhow::Ok([(0, alone), (FEW, few), (hanging, many)])
    })?;
    drop(operator);
    Ok(Fleet { count, edits, created, resting, restarted, resident, delays })
}

/// All at once, as `kubectl apply` of a directory does, until all are well.
async fn create(world: &World, count: usize) -> Result<Asked> {
    asked_for(world, async {
        for nth in 0..count {
            world.create(nth).await?;
        }
        let begin = Instant::now();
        while world.healthy() < count {
            if begin.elapsed() > PATIENCE {
                bail!("{} of {count} clusters are well after {PATIENCE:?}", world.healthy());
            }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    })
    .await
}

/// Waits until the operator asks for nothing more.
async fn quiet(world: &World) -> Result<()> {
    let begin = Instant::now();
    loop {
        let before = world.server.request_count();
        sleep(QUIET).await;
        let asked = world.requests_since(before);
        if asked.iter().all(|request| request.verb == Some(Verb::Watch)) {
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            bail!("the operator does not come to rest; it asks for {:?}", asked.told().last());
        }
    }
}

/// What the operator asks for while `doing` is done.
async fn asked_for(world: &World, doing: impl Future<Output = Result<()>>) -> Result<Asked> {
    let (first, calls, cpu, begin) = (
        world.server.request_count(),
        world.etcd.calls().len(),
        measure::cpu_of(Operator::THREADS)?,
        Instant::now(),
    );
    doing.await?;
    let mut requests: BTreeMap<String, usize> = BTreeMap::new();
    for request in world.requests_since(first).iter() {
        let verb =
            request.verb.map_or_else(|| "discovery".to_owned(), |verb| format!("{verb:?}").to_lowercase());
        *requests.entry(verb).or_default() += 1;
    }
    Ok(Asked {
        requests,
        etcd_calls: world.etcd.calls().len() - calls,
        cpu: measure::cpu_of(Operator::THREADS)?.saturating_sub(cpu),
        took: begin.elapsed(),
    })
}

/// Edits one cluster after the other, so that each gets a NetworkPolicy.
async fn edit(world: &World, which: std::ops::Range<usize>) -> Result<Delay> {
    let mut delays = Vec::new();
    for nth in which {
        let mut revisions = world.server.store().subscribe();
        let begin = Instant::now();
        world.patch(nth, json!({"spec": {"networkPolicy": {}}})).await?;
        while !world.has_policy(nth) {
            let changed = tokio::time::timeout(PATIENCE, revisions.changed()).await;
            changed.with_context(|| format!("nothing was done about the edit of cluster {nth}"))??;
        }
        delays.push(begin.elapsed());
    }
    delays.sort_unstable();
    let at = |percent: usize| delays.get((delays.len() * percent).div_ceil(100).saturating_sub(1)).copied();
    Ok(Delay { median: at(50).unwrap_or_default(), p99: at(99).unwrap_or_default() })
}
