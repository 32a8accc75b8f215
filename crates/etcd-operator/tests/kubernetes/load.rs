//! The load: clients that write, read, swap, lease and watch all the time beside a scenario. In the end all that they were told must
//! be true, and the status must not have claimed health while they were not served: `lab_tests::oracle` has the checks.

mod client;
mod requests;
mod status;
mod watch;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use etcd_api::pb::{KeyValue, RangeResponse};
use lab_tests::oracle::{
    Stamp, availability::Availability, counter::Counter, events::Events, identity::Identity, leases::Leases,
    writes::Writes,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, interval},
};

pub(crate) use client::{Endpoints, Place, Request};

use crate::{
    patience::{PATIENCE, until, when},
    world::World,
};
use requests::Clients;

const REFRESH: Duration = Duration::from_millis(250);

/// A load that is going on.
pub(crate) struct Load {
    tasks: Vec<JoinHandle<()>>,
    /// What goes on until the last answer is checked.
    beside: Vec<JoinHandle<()>>,
    clients: Clients,
}

impl Load {
    /// Begins, and returns when the first writes are acknowledged.
    pub(crate) async fn on(world: &World, place: Place) -> Self {
        let cluster = place.cluster.clone();
        let endpoints = Arc::new(Endpoints::new(place));
        let prefix = format!("load/{:08x}/", fastrand::u32(..));
        let start = until("the cluster answers", PATIENCE, async || {
            endpoints.refresh(world).await;
            endpoints.ask(&Request::Get(prefix.clone())).await
        })
        .await;
        let history = History { events: Events::after(start.revision), ..History::default() };
        let (history, closing) = (Arc::new(Mutex::new(history)), Arc::<AtomicBool>::default());
        let clients = Clients { endpoints, history, prefix, began: Instant::now(), closing };
        let mut beside = vec![refresh(world, &clients.endpoints), watch::follow(clients.clone())];
        beside.extend(cluster.map(|name| status::follow(world, name, clients.clone())));
        let load = Self { tasks: clients.begin(), beside, clients };
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
        self.clients.history.lock().unwrap().writes.written_so_far()
    }

    /// Announces a restore in place: the next cluster ID is a new one, with the data up to and including this revision of the backup.
    pub(crate) fn expects_restore_to(&self, revision: i64) {
        self.clients.history.lock().unwrap().identity.announce_restore(revision);
    }

    /// Ends it, and looks for every write that was acknowledged. What is wrong fails the scenario; what failed is in the report.
    pub(crate) async fn stop(mut self, what: &str) -> Report {
        self.grows(10).await;
        let Clients { endpoints, history, prefix, began, closing } = &self.clients;
        closing.store(true, Ordering::Relaxed);
        for task in self.tasks.drain(..) {
            task.await.unwrap();
        }
        let there = until("all can be read", PATIENCE, async || endpoints.all(prefix).await).await;
        let newest = there.kvs.iter().map(|kv| kv.mod_revision).max().unwrap_or_default();
        until("the watch has delivered everything", PATIENCE, async || {
            let last = history.lock().unwrap().events.last();
            when(last >= newest, format!("it is at revision {last}, the newest is {newest}"))
        })
        .await;
        let report = std::mem::take(&mut *history.lock().unwrap()).close(prefix, &there);
        println!("    {what}: {report} in {:.1} s", began.elapsed().as_secs_f32());
        for failed in report.failed.iter().take(5) {
            println!("      failed {failed}");
        }
        assert!(
            report.wrong.is_empty(),
            "{what}: these answers cannot be true:\n{}",
            report.wrong.join("\n")
        );
        report
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.beside.iter().chain(&self.tasks).for_each(JoinHandle::abort);
    }
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

/// What the clients of a load were told.
#[derive(Default)]
struct History {
    identity: Identity,
    writes: Writes,
    counter: Counter,
    leases: Leases,
    events: Events,
    availability: Availability,
    retried: u64,
    failed: Vec<String>,
    wrong: Vec<String>,
}

impl History {
    /// Records the header of an answer.
    fn answered(&mut self, stamp: Stamp, now: Duration) {
        self.wrong.extend(self.identity.see(stamp.cluster).err());
        self.leases.answered(stamp, now);
    }

    /// Compares with what is there in the end.
    fn close(self, prefix: &str, there: &RangeResponse) -> Report {
        let Self { identity, writes, counter, leases, events, availability, retried, failed, mut wrong } =
            self;
        let key_of = |kv: &KeyValue| String::from_utf8_lossy(&kv.key).into_owned();
        let found: BTreeMap<u64, (bool, i64)> = there
            .kvs
            .iter()
            .filter_map(|kv| {
                let number = requests::number_of(prefix, &key_of(kv))?;
                Some((number, (kv.value == requests::value(number).as_bytes(), kv.mod_revision)))
            })
            .collect();
        let counter_key = requests::counter(prefix);
        let counted = there.kvs.iter().find(|kv| key_of(kv) == counter_key);
        let mut written: BTreeMap<i64, String> =
            there.kvs.iter().map(|kv| (kv.mod_revision, key_of(kv))).collect();
        let acknowledged = writes.sent_once(&identity).into_iter();
        written.extend(acknowledged.map(|(revision, number)| (revision, requests::key(prefix, number))));
        let swapped = counter.revisions(&identity).into_iter();
        written.extend(swapped.map(|revision| (revision, counter_key.clone())));

        let writes = writes.close(&found, &identity);
        let counter = counter.close(requests::counted(counted).unwrap_or_default(), &identity);
        let (leases, events) = (leases.close(), events.close(&written));
        wrong
            .extend([writes.wrong, counter.wrong, leases.wrong, events.wrong, availability.judge()].concat());
        Report {
            requests: availability.requests(),
            writes: writes.writes,
            reads: writes.reads,
            swaps: counter.swaps,
            renewals: leases.renewals,
            expired: leases.expired,
            lapsed: leases.lapsed,
            events: events.events,
            resumed: events.resumed,
            retried,
            failed,
            wrong,
            gap: writes.gap,
        }
    }
}

/// What clients of the cluster experienced.
#[derive(Debug)]
pub(crate) struct Report {
    /// All requests, those that failed included.
    pub(crate) requests: usize,
    pub(crate) writes: usize,
    pub(crate) reads: u64,
    /// Successful increments by compare-and-swap.
    pub(crate) swaps: usize,
    pub(crate) renewals: u64,
    /// Leases that were not renewed, and expired in time.
    pub(crate) expired: u64,
    /// Leases that were renewed too late, because renewals failed.
    pub(crate) lapsed: u64,
    pub(crate) events: usize,
    /// How often the watch was opened again.
    pub(crate) resumed: u64,
    /// Requests that needed their second try.
    pub(crate) retried: u64,
    /// Requests that failed with their second try, too.
    pub(crate) failed: Vec<String>,
    /// What cannot be true, see `lab_tests::oracle`.
    wrong: Vec<String>,
    /// The longest time without an acknowledged write.
    pub(crate) gap: Duration,
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

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { writes, reads, swaps, renewals, expired, lapsed, events, resumed, retried, .. } = self;
        let (failed, gap) = (self.failed.len(), self.gap.as_secs_f32());
        write!(
            f,
            "{writes} writes, {reads} reads and {swaps} swaps, {retried} retried, {failed} failed, longest gap {gap:.2} s; \
             leases renewed {renewals}, expired {expired}, lapsed {lapsed}; {events} events, watch resumed {resumed}"
        )
    }
}
