//! The load: clients that write and read all the time beside a scenario; in the end nothing that they were told may be untrue.

mod client;
mod journal;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, MissedTickBehavior, interval},
};

pub(crate) use client::{Endpoints, Place, Request};
pub(crate) use journal::Report;

use crate::{
    patience::{PATIENCE, until, when},
    world::World,
};
use journal::Journal;

/// Gentle enough for several scenarios on two cores.
const WRITE_EVERY: Duration = Duration::from_millis(25);
const READ_EVERY: Duration = Duration::from_millis(50);
/// So many requests of a kind at a time, and no more: nobody is helped by a pile of them.
const UNDER_WAY: usize = 64;
const REFRESH: Duration = Duration::from_millis(250);

/// A load that is going on.
pub(crate) struct Load {
    tasks: Vec<JoinHandle<()>>,
    refresh: JoinHandle<()>,
    clients: Clients,
}

impl Load {
    /// Begins, and returns when the first writes are acknowledged.
    pub(crate) async fn on(world: &World, place: Place) -> Self {
        let endpoints = Arc::new(Endpoints::new(place));
        endpoints.refresh(world).await;
        let prefix = format!("load/{:08x}/", fastrand::u32(..));
        let (journal, closing) = Default::default();
        let clients = Clients { endpoints, journal, prefix, began: Instant::now(), closing };
        let refresh = refresh(world, &clients.endpoints);
        let tasks =
            vec![clients.every(WRITE_EVERY, Clients::write), clients.every(READ_EVERY, Clients::read)];
        let load = Self { tasks, refresh, clients };
        load.grows(10).await;
        load
    }

    /// Waits for so many further acknowledged writes: the cluster serves.
    pub(crate) async fn grows(&self, by: usize) {
        let wanted = self.written() + by;
        until("the cluster takes writes", PATIENCE, async || when(self.written() >= wanted, self.written()))
            .await;
    }

    pub(crate) fn written(&self) -> usize {
        self.clients.journal.lock().unwrap().written_so_far()
    }

    /// Ends it, and looks for every write that was acknowledged. What is wrong fails the scenario; what failed is in the report.
    pub(crate) async fn stop(mut self, what: &str) -> Report {
        self.grows(10).await;
        let Clients { endpoints, journal, prefix, began, closing } = &self.clients;
        closing.store(true, Ordering::Relaxed);
        for task in self.tasks.drain(..) {
            task.await.unwrap();
        }
        let there = until("all can be read", PATIENCE, async || endpoints.all(prefix).await).await;
        let number_of = |key: &[u8]| String::from_utf8_lossy(key).rsplit('/').next()?.parse::<u64>().ok();
        let found: BTreeMap<u64, (bool, i64)> = there
            .kvs
            .iter()
            .filter_map(|kv| {
                let number = number_of(&kv.key)?;
                Some((number, (kv.value == value(number).as_bytes(), kv.mod_revision)))
            })
            .collect();
        let report = std::mem::take(&mut *journal.lock().unwrap()).close(&found);
        println!("    {what}: {report} in {:.1} s", began.elapsed().as_secs_f32());
        for failed in report.failed.iter().take(5) {
            println!("      failed {failed}");
        }
        assert_eq!(report.wrong, Vec::<String>::new(), "{what}: acknowledged, but not true");
        report
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.refresh.abort();
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Report {
    /// For what a client must not notice.
    pub(crate) fn nothing_failed(self) -> Self {
        assert!(
            self.failed.is_empty(),
            "{} requests failed, the first: {}",
            self.failed.len(),
            self.failed[0]
        );
        self
    }
}

fn key(prefix: &str, number: u64) -> String {
    format!("{prefix}{number:08}")
}

fn value(number: u64) -> String {
    format!("value {number} of a load")
}

fn refresh(world: &World, endpoints: &Arc<Endpoints>) -> JoinHandle<()> {
    let (world, endpoints) = (world.elsewhere(&world.namespace), endpoints.clone());
    tokio::spawn(async move {
        let mut due = interval(REFRESH);
        loop {
            due.tick().await;
            endpoints.refresh(&world).await;
        }
    })
}

/// What a request needs.
#[derive(Clone)]
struct Clients {
    endpoints: Arc<Endpoints>,
    journal: Arc<Mutex<Journal>>,
    prefix: String,
    began: Instant,
    closing: Arc<AtomicBool>,
}

impl Clients {
    /// Begins a request whenever one is due, whatever became of those before: one that hangs does not hide that others are served.
    fn every<F: Future<Output = ()> + Send + 'static>(
        &self,
        period: Duration,
        request: impl Fn(Self) -> F + Send + 'static,
    ) -> JoinHandle<()> {
        let clients = self.clone();
        tokio::spawn(async move {
            let mut due = interval(period);
            due.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut under_way = JoinSet::new();
            while !clients.closing.load(Ordering::Relaxed) {
                due.tick().await;
                while under_way.try_join_next().is_some() {}
                if under_way.len() < UNDER_WAY {
                    under_way.spawn(request(clients.clone()));
                }
            }
            under_way.join_all().await;
        })
    }

    async fn write(self) {
        let write = self.journal.lock().unwrap().write_begins();
        let sent = self.began.elapsed();
        let put = Request::Put(key(&self.prefix, write.number), value(write.number));
        let done = self.endpoints.ask(&put).await;
        let mut journal = self.journal.lock().unwrap();
        match done {
            Ok(answer) => journal.written(write, answer.revision, answer.tries, Instant::now()),
            Err(why) => journal.failed(told("write", sent, &why)),
        }
    }

    async fn read(self) {
        let begun = self.journal.lock().unwrap().read_begins();
        let Some(read) = begun else { return };
        let sent = self.began.elapsed();
        let done = self.endpoints.ask(&Request::Get(key(&self.prefix, read.number))).await;
        let mut journal = self.journal.lock().unwrap();
        match done {
            Ok(answer) => {
                let there = answer.value == Some(value(read.number));
                journal.read(read, answer.revision, there, answer.tries);
            }
            Err(why) => journal.failed(told("read", sent, &why)),
        }
    }
}

fn told(what: &str, sent: Duration, why: &str) -> String {
    format!("{what} after {:.2} s: {why}", sent.as_secs_f32())
}
