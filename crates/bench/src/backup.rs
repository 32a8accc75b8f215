//! Backups of a real etcd: ours against `etcdctl snapshot save`, zstd and an upload by hand, to the same S3 server; and continuous capture under
//! writes, against none.
//!
//! ```text
//! this process: S3 server, writers            by_hand: etcdctl, zstd, curl, etcdutl      ours: this program again, in a role, and etcdutl
//! ```
//!
//! Whatever is measured is a process of its own. By hand, nothing is read back or checked; ours does both.

mod by_hand;
mod etcd;
mod ours;
mod recovery;
mod report;
mod world;

use std::time::Duration;

use anyhow::Result;
use tokio::time::Instant;

use ours::Form::{Plain, Sealed};
pub use ours::{Role, play};
pub use recovery::{Cost, Recovery};
pub use report::{Backups, Peaks};
use world::World;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub database: u64,
    pub rounds: usize,
    pub writing: Duration,
    pub writes_per_second: u32,
}

impl Size {
    pub const FULL: Self =
        Self { database: 2 << 30, rounds: 3, writing: Duration::from_secs(20), writes_per_second: 1000 };
    pub const QUICK: Self =
        Self { database: 64 << 20, rounds: 1, writing: Duration::from_secs(5), writes_per_second: 1000 };
}

/// The same work, done twice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pair {
    pub by_hand: Duration,
    pub ours: Duration,
}

impl Pair {
    pub fn ratio(&self) -> f64 {
        self.ours.as_secs_f64() / self.by_hand.as_secs_f64().max(1e-9)
    }
}

pub async fn measure(size: Size) -> Result<Backups> {
    let world = World::new().await?;
    let (mut take, mut fetch) = (Vec::new(), Vec::new());
    let mut peaks = Peaks::default();
    let last = format!("round-{}", size.rounds.saturating_sub(1));
    let database = {
        let etcd = world.filled(size.database).await?;
        for round in 0..size.rounds {
            let began = Instant::now();
            by_hand::take(&world, &etcd).await?;
            let by_hand = began.elapsed();
            let began = Instant::now();
            let id = format!("round-{round}");
            peaks.saw("backup", Plain, ours::take(&world, &etcd, &id, Plain).await?);
            take.push(Pair { by_hand, ours: began.elapsed() });
            if id != last {
                world.forget(&id)?;
            }
        }
        peaks.saw("backup", Sealed, ours::take(&world, &etcd, "sealed", Sealed).await?);
        let database = etcd.database().await?;
        etcd.stop().await?;
        database
    };
    world.forget_etcd()?;
    for _ in 0..size.rounds {
        let began = Instant::now();
        by_hand::restore(&world).await?;
        let by_hand = began.elapsed();
        world.forget_restored()?;
        let began = Instant::now();
        peaks.saw("restore", Plain, ours::fetch(&world, &last, Plain).await?);
        world.unpack().await?;
        fetch.push(Pair { by_hand, ours: began.elapsed() });
        world.forget_restored()?;
    }
    peaks.saw("restore", Sealed, ours::fetch(&world, "sealed", Sealed).await?);
    peaks.saw("verify", Plain, ours::verify(&world, &last, Plain).await?);
    peaks.saw("verify", Sealed, ours::verify(&world, "sealed", Sealed).await?);
    let recovery = recovery::measure(&world, size).await?;
    peaks.saw("capture", Sealed, recovery.peak);
    Ok(Backups { size, database, take: median(take), fetch: median(fetch), peaks, recovery })
}

/// The round whose ratio is in the middle.
fn median(mut rounds: Vec<Pair>) -> Pair {
    rounds.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    rounds.get(rounds.len() / 2).copied().unwrap_or_default()
}
