//! The requests of the load, each begun when it is due, and what is recorded of their answers.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use etcd_api::pb::KeyValue;
use lab_tests::oracle::{
    availability,
    counter::{End, Value},
    leases::During,
};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, MissedTickBehavior, interval},
};

use super::{
    History,
    client::{Answer, Endpoints, Request},
};

/// Gentle enough for several scenarios on two cores.
const WRITE_EVERY: Duration = Duration::from_millis(25);
const READ_EVERY: Duration = Duration::from_millis(50);
/// Two clients at the same time, so that they are in each other's way.
const SWAP_EVERY: Duration = Duration::from_millis(200);
const LOOK_AT_LEASE_EVERY: Duration = Duration::from_millis(500);
/// Longer than an election, a restart of a member and a client's deadline together: a lease that is renewed outlives all of them.
const KEPT_TTL: i64 = 20;
/// Of the lease that is not renewed; etcd grants no less than 2 s.
const BRIEF_TTL: i64 = 4;
/// Of the looks at a lease, every so many renews it: as often as etcd's own client does, three times per TTL.
const RENEW_EVERY: u64 = 13;
/// So many requests of a kind at a time.
const UNDER_WAY: usize = 64;

/// What a request needs.
#[derive(Clone)]
pub(super) struct Clients {
    pub(super) endpoints: Arc<Endpoints>,
    pub(super) history: Arc<Mutex<History>>,
    pub(super) prefix: String,
    pub(super) began: Instant,
    pub(super) closing: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewal {
    Kept,
    /// Granted, and left to expire.
    Brief,
}

impl Clients {
    pub(super) fn begin(&self) -> Vec<JoinHandle<()>> {
        vec![
            self.every(WRITE_EVERY, Self::write),
            self.every(READ_EVERY, Self::read),
            self.every(SWAP_EVERY, Self::swap),
            self.every(SWAP_EVERY, Self::swap),
            tokio::spawn(self.clone().leases(Renewal::Kept)),
            tokio::spawn(self.clone().leases(Renewal::Brief)),
        ]
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

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
            while !clients.is_closing() {
                due.tick().await;
                while under_way.try_join_next().is_some() {}
                if under_way.len() < UNDER_WAY {
                    under_way.spawn(request(clients.clone()));
                }
            }
            under_way.join_all().await;
        })
    }

    /// Sends a request, with its one retry, and records what concerns every request.
    async fn ask(&self, what: &str, request: &Request) -> (During, Result<Answer, String>) {
        let sent = self.began.elapsed();
        let done = self.endpoints.ask(request).await;
        let ended = self.began.elapsed();
        let mut history = self.history.lock().unwrap();
        let refused =
            done.as_ref().is_err_and(|why| matches!(request, Request::PutLeased { .. }) && is_over(why));
        let answered = done.is_ok() || refused;
        history.availability.request(availability::Request { sent, ended, answered });
        match &done {
            Ok(answer) => {
                history.retried += u64::from(answer.tries > 1);
                history.answered(answer.stamp, ended);
            }
            // A client renews a lease several times per TTL, so that one renewal may fail.
            Err(_) if matches!(request, Request::KeepAlive(_)) => {}
            // The first try took longer than the lease lives. Whether it did is judged by `unknown_to_etcd`.
            Err(_) if refused => {}
            Err(why) => history.failed.push(format!("{what} after {:.2} s: {why}", sent.as_secs_f32())),
        }
        (During { sent, ended }, done)
    }

    async fn write(self) {
        let write = self.history.lock().unwrap().writes.write_begins();
        let put = Request::Put(key(&self.prefix, write.number), value(write.number));
        if let (during, Ok(answer)) = self.ask("write", &put).await {
            self.history.lock().unwrap().writes.written(write, answer.stamp, answer.tries, during.ended);
        }
    }

    async fn read(self) {
        let begun = self.history.lock().unwrap().writes.read_begins();
        let Some(read) = begun else { return };
        if let (_, Ok(answer)) = self.ask("read", &Request::Get(key(&self.prefix, read.number))).await {
            let there = answer.value == Some(value(read.number));
            let history = &mut *self.history.lock().unwrap();
            history.writes.read(read, answer.revision, there, &history.identity);
        }
    }

    async fn swap(self) {
        let key = counter(&self.prefix);
        let begun = self.history.lock().unwrap().counter.begin();
        let (_, Ok(answer)) = self.ask("read of the counter", &Request::Get(key.clone())).await else {
            return;
        };
        let swap = {
            let history = &mut *self.history.lock().unwrap();
            let Some(found) = counted(answer.kv.as_ref()) else {
                history.wrong.push(format!("the counter has a value that no swap wrote: {:?}", answer.value));
                return;
            };
            history.counter.read(begun, found, answer.stamp, &history.identity);
            history.counter.swap(found)
        };
        let next = (swap.from.number + 1).to_string();
        let (_, done) =
            self.ask("swap", &Request::Swap { key, compared: swap.from.revision, value: next }).await;
        let (end, tries) = match done {
            Ok(answer) if answer.succeeded => (End::Swapped(answer.stamp), answer.tries),
            Ok(answer) => (End::Refused, answer.tries),
            Err(_) => (End::Unknown, 2),
        };
        self.history.lock().unwrap().counter.ended(swap, end, tries);
    }

    /// One lease with one key after another.
    async fn leases(self, renewal: Renewal) {
        let mut due = interval(LOOK_AT_LEASE_EVERY);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.is_closing() {
            due.tick().await;
            let ttl = if renewal == Renewal::Kept { KEPT_TTL } else { BRIEF_TTL };
            let (during, Ok(granted)) = self.ask("grant of a lease", &Request::Grant(ttl)).await else {
                continue;
            };
            let id = granted.lease;
            let cluster = granted.stamp.cluster;
            let lives = Duration::from_secs(granted.ttl.unsigned_abs());
            self.history.lock().unwrap().leases.granted(id, lives, cluster, during);
            let key = format!("{}lease/{id:x}", self.prefix);
            let put = Request::PutLeased { key: key.clone(), lease: id };
            match self.ask("write with a lease", &put).await {
                (_, Ok(_)) => self.follow_lease(renewal, id, &key, &mut due).await,
                (during, Err(why)) if is_over(&why) => {
                    self.history.lock().unwrap().leases.unknown_to_etcd(id, cluster, during);
                }
                // It may be written or not: nothing can be said of it.
                _ => {}
            }
            // What a load leaves behind expires by itself; this is quicker.
            let _ = self.endpoints.ask(&Request::Revoke(id)).await;
        }
    }

    /// Looks at the key of a lease until it is gone, and renews the lease if it is to be kept.
    async fn follow_lease(&self, renewal: Renewal, id: i64, key: &str, due: &mut tokio::time::Interval) {
        for look in 1.. {
            due.tick().await;
            if self.is_closing() {
                return;
            }
            if renewal == Renewal::Kept && look % RENEW_EVERY == 0 {
                let (during, done) = self.ask("renewal", &Request::KeepAlive(id)).await;
                let leases = &mut self.history.lock().unwrap().leases;
                match done {
                    Ok(answer) if answer.ttl > 0 => leases.renewed(id, answer.stamp.cluster, during),
                    Ok(answer) => return leases.unknown_to_etcd(id, answer.stamp.cluster, during),
                    Err(_) => leases.renewal_failed(id, during),
                }
            }
            let (during, Ok(answer)) = self.ask("read of a leased key", &Request::Get(key.to_owned())).await
            else {
                continue;
            };
            let leases = &mut self.history.lock().unwrap().leases;
            match answer.kv {
                Some(_) => leases.found(id, answer.stamp.cluster, during),
                None if renewal == Renewal::Kept => {
                    return leases.unknown_to_etcd(id, answer.stamp.cluster, during);
                }
                None => return leases.gone(id, answer.stamp.cluster, during),
            }
        }
    }
}

pub(super) fn key(prefix: &str, number: u64) -> String {
    format!("{prefix}{number:08}")
}

/// The number of a write, from its key.
pub(super) fn number_of(prefix: &str, key: &str) -> Option<u64> {
    key.strip_prefix(prefix)?.parse().ok()
}

pub(super) fn value(number: u64) -> String {
    format!("value {number} of a load")
}

pub(super) fn counter(prefix: &str) -> String {
    format!("{prefix}counter")
}

/// The counter as it was found; `None` if its value is not a number.
pub(super) fn counted(kv: Option<&KeyValue>) -> Option<Value> {
    let Some(kv) = kv else { return Some(Value::default()) };
    let number = std::str::from_utf8(&kv.value).ok()?.parse().ok()?;
    Some(Value { number, revision: kv.mod_revision, version: kv.version })
}

/// Whether etcd refused a write because its lease is over.
fn is_over(why: &str) -> bool {
    why.contains("requested lease not found")
}
