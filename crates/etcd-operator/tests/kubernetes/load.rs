//! The load: clients that write and read all the time beside a scenario; in the end nothing that they were told may be untrue.

mod client;
mod journal;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval},
};

pub(crate) use client::{Endpoints, Place, Request};
pub(crate) use journal::Report;

use crate::{
    patience::{PATIENCE, until, when},
    world::World,
};
use journal::Journal;

/// Two that write and one that reads, each this often: gentle enough for several scenarios on two cores.
const WRITERS: usize = 2;
const PERIOD: Duration = Duration::from_millis(40);
const REFRESH: Duration = Duration::from_millis(250);

/// A load that is going on.
pub(crate) struct Load {
    tasks: Vec<JoinHandle<()>>,
    endpoints: Arc<Endpoints>,
    journal: Arc<Mutex<Journal>>,
    prefix: String,
    began: Instant,
}

impl Load {
    /// Begins, and returns when the first writes are acknowledged.
    pub(crate) async fn on(world: &World, place: Place) -> Self {
        let endpoints = Arc::new(Endpoints::new(place));
        endpoints.refresh(world).await;
        let journal: Arc<Mutex<Journal>> = Arc::default();
        let prefix = format!("load/{:08x}/", fastrand::u32(..));
        let began = Instant::now();
        let mut tasks = vec![refresh(world, &endpoints)];
        tasks.extend((0..WRITERS).map(|_| write(&endpoints, &journal, &prefix, began)));
        tasks.push(read(&endpoints, &journal, &prefix, began));
        let load = Self { tasks, endpoints, journal, prefix, began };
        load.grows(10).await;
        load
    }

    /// Waits for so many further acknowledged writes: the cluster serves.
    pub(crate) async fn grows(&self, by: usize) {
        let wanted = self.written() + by;
        until("the cluster takes writes", PATIENCE, async || when(self.written() >= wanted, self.written())).await;
    }

    pub(crate) fn written(&self) -> usize {
        self.journal.lock().unwrap().written_so_far()
    }

    /// Ends it, and looks for every write that was acknowledged. What is wrong fails the scenario; what failed is in the report.
    pub(crate) async fn stop(mut self, what: &str) -> Report {
        self.grows(10).await;
        self.end();
        let there = until("all can be read", PATIENCE, async || self.endpoints.all(&self.prefix).await).await;
        let number_of = |key: &[u8]| String::from_utf8_lossy(key).rsplit('/').next()?.parse::<u64>().ok();
        let found: BTreeMap<u64, (bool, i64)> = there
            .kvs
            .iter()
            .filter_map(|kv| {
                let number = number_of(&kv.key)?;
                Some((number, (kv.value == value(number).as_bytes(), kv.mod_revision)))
            })
            .collect();
        let report = std::mem::take(&mut *self.journal.lock().unwrap()).close(&found);
        println!("    {what}: {report} in {:.1} s", self.began.elapsed().as_secs_f32());
        for failed in report.failed.iter().take(5) {
            println!("      failed {failed}");
        }
        assert_eq!(report.wrong, Vec::<String>::new(), "{what}: acknowledged, but not true");
        report
    }

    fn end(&mut self) {
        self.tasks.drain(..).for_each(|task| task.abort());
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}

impl Report {
    /// For what a client must not notice.
    pub(crate) fn nothing_failed(self) -> Self {
        assert!(self.failed.is_empty(), "{} requests failed, the first: {}", self.failed.len(), self.failed[0]);
        self
    }
}

fn key(prefix: &str, number: u64) -> String {
    format!("{prefix}{number:08}")
}

fn value(number: u64) -> String {
    format!("value {number} of a load")
}

fn paced() -> tokio::time::Interval {
    let mut due = interval(PERIOD);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    due
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

fn write(
    endpoints: &Arc<Endpoints>,
    journal: &Arc<Mutex<Journal>>,
    prefix: &str,
    began: Instant,
) -> JoinHandle<()> {
    let (endpoints, journal, prefix) = (endpoints.clone(), journal.clone(), prefix.to_owned());
    tokio::spawn(async move {
        let mut due = paced();
        loop {
            due.tick().await;
            let write = journal.lock().unwrap().write_begins();
            let sent = began.elapsed();
            let done = endpoints.ask(&Request::Put(key(&prefix, write.number), value(write.number))).await;
            let mut journal = journal.lock().unwrap();
            match done {
                Ok(answer) => journal.written(write, answer.revision, answer.tries, Instant::now()),
                Err(why) => journal.failed(told("write", sent, &why)),
            }
        }
    })
}

fn read(
    endpoints: &Arc<Endpoints>,
    journal: &Arc<Mutex<Journal>>,
    prefix: &str,
    began: Instant,
) -> JoinHandle<()> {
    let (endpoints, journal, prefix) = (endpoints.clone(), journal.clone(), prefix.to_owned());
    tokio::spawn(async move {
        let mut due = paced();
        loop {
            due.tick().await;
            let begun = journal.lock().unwrap().read_begins();
            let Some(read) = begun else { continue };
            let sent = began.elapsed();
            let done = endpoints.ask(&Request::Get(key(&prefix, read.number))).await;
            let mut journal = journal.lock().unwrap();
            match done {
                Ok(answer) => {
                    let there = answer.value == Some(value(read.number));
                    journal.read(read, answer.revision, there, answer.tries);
                }
                Err(why) => journal.failed(told("read", sent, &why)),
            }
        }
    })
}

fn told(what: &str, sent: Duration, why: &str) -> String {
    format!("{what} after {:.2} s: {why}", sent.as_secs_f32())
}
