//! Simulated etcd: clusters with etcd's rules about quorums, members, versions and empty disks, in virtual time.
//!
//! ```text
//! Pod with etcd's arguments ──Behaviour──> Model: processes, clusters <──settle── time
//!      ▲ ready, exit code                    ▲
//!      └── kubelet, volumes                  └── Endpoint (etcd-api's) <── faults ── operator
//! ```
//!
//! The pods of [`workloads`](crate::workloads) are its members: who they are is on the volume of their claim, so that a volume that
//! is erased is a member that lost its data. Messages and exit codes are etcd's own.
//!
//! Raft is taken for granted (see `cluster.rs`): this is for finding errors of operators, not of etcd. Left out: authentication,
//! keys and values (a write is a revision), `--force-new-cluster`, discovery.

mod answer;
mod backup;
mod call;
mod cluster;
mod dial;
mod faults;
mod model;
mod pods;
mod settings;
mod start;
mod tls;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use apiserver::{Follower, Server, Turns};
use etcd_api::{Alarm, AlarmKind, ClusterId, Dial, EtcdError, Membership};
use tokio::{sync::Notify, time::Instant};

pub use backup::{OUTSIDE, TROUBLE};
pub use call::{Call, Made};
pub use faults::{EtcdFault, Nth};
pub use model::Trouble;

use crate::{OPERATOR, workloads::Volumes};
use answer::No;
use cluster::Size;
use faults::Faults;
use model::Model;

/// The etcd processes of a world. Clones share them.
#[derive(Clone)]
pub struct Etcd(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changes: Turns,
    crashed: Notify,
}

struct State {
    model: Model,
    faults: Faults,
    /// Whose operator dies at a crash.
    server: Option<Server>,
    /// Operators before this one are dead.
    generation: u64,
    crashes: usize,
    /// The world's beginning.
    since: Instant,
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Etcd")
    }
}

impl Default for Etcd {
    fn default() -> Self {
        let state = State {
            model: Model::default(),
            faults: Faults::default(),
            server: None,
            generation: 0,
            crashes: 0,
            since: Instant::now(),
        };
        Self(Arc::new(Shared { state: Mutex::new(state), changes: Turns::new(0), crashed: Notify::new() }))
    }
}

impl Etcd {
    /// Begins anew, without any process, and tells time to what is there until the runtime ends. Called in a scenario's `prepare`, beside
    /// [`workloads::start`](crate::workloads::start) with this as its behaviour and the same volumes.
    pub fn start(&self, server: &Server, volumes: &Volumes) {
        let mut state = self.state();
        *state = State {
            model: Model::default(),
            faults: Faults::default(),
            server: Some(server.clone()),
            generation: state.generation + 1,
            crashes: 0,
            since: Instant::now(),
        };
        drop(state);
        tokio::spawn(pass_time(self.clone(), volumes.clone()));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes(&self) -> Follower {
        self.0.changes.follow()
    }

    /// Looks at what is the case now, or changes it. Whoever waits looks again when it did.
    fn change<T>(&self, change: impl FnOnce(&mut Model, Instant) -> T) -> T {
        let now = Instant::now();
        let mut state = self.state();
        state.model.settle(now);
        let answer = change(&mut state.model, now);
        state.model.settle(now);
        let moved = std::mem::take(&mut state.model.moved) || state.model.pods_moved;
        drop(state);
        if moved {
            self.0.changes.next();
        }
        answer
    }

    /// A way to the members, for an operator that starts now.
    pub fn dial(&self) -> Arc<dyn Dial> {
        Arc::new(dial::Line { etcd: self.clone(), generation: self.state().generation })
    }

    fn is_dead(&self, generation: u64) -> bool {
        generation < self.state().generation
    }

    fn second(&self) -> u64 {
        self.state().since.elapsed().as_secs()
    }

    fn meet(&self, url: &str, call: &Call) -> Option<EtcdFault> {
        let mut state = self.state();
        let revision = state.server.as_ref().map_or(0, Server::revision);
        state.faults.meet(url, call, revision)
    }

    /// The operator dies, here and at the API server.
    fn crash(&self) {
        let mut state = self.state();
        state.generation += 1;
        state.crashes += 1;
        let server = state.server.clone();
        drop(state);
        if let Some(server) = server {
            server.faults().kill(OPERATOR);
        }
        self.0.crashed.notify_one();
    }

    /// The operator was ended by somebody else: what it dialed is dead.
    pub(crate) fn hang_up(&self) {
        self.state().generation += 1;
    }

    /// Waits for a crash that a fault brings.
    pub(crate) async fn crashed(&self) {
        self.0.crashed.notified().await;
    }

    /// Breaks these calls, counted from now.
    pub fn plan(&self, rules: Vec<(Nth, EtcdFault)>) {
        self.state().faults.plan(rules);
    }

    /// How often a fault hit.
    pub fn hits(&self) -> usize {
        self.state().faults.hits()
    }

    /// The calls since the plan was made.
    pub fn calls(&self) -> Vec<Made> {
        self.state().faults.made().to_vec()
    }

    /// How often the operator crashed at a call.
    pub fn crashes(&self) -> usize {
        self.state().crashes
    }

    /// Something is wrong with the member at `url`, until [`Etcd::heal`].
    pub fn trouble(&self, url: &str, trouble: Trouble) {
        self.change(|model, _| {
            model.troubles.insert(url.to_owned(), trouble);
            model.touch_at(url);
        });
    }

    pub fn heal(&self, url: &str) {
        self.change(|model, now| {
            model.troubles.remove(url);
            if let Some(process) = model.processes.get_mut(url) {
                process.since = now;
            }
            model.touch_at(url);
        });
    }

    /// From now on this version does not start.
    pub fn break_version(&self, version: &str) {
        if let Ok(version) = version.parse() {
            self.change(|model, _| model.broken.insert(version));
        }
    }

    /// An alarm of the member at `url`.
    pub fn alarm(&self, url: &str, kind: AlarmKind) {
        self.change(|model, _| {
            let Some(process) = model.processes.get(url) else { return };
            let (founding, member) = (process.founding, process.member);
            if let Some(cluster) = model.clusters.get_mut(&founding) {
                cluster.alarms.insert(Alarm { member, kind });
            }
            model.touch(founding);
        });
    }

    /// Bytes of the data of the member at `url` change, and nobody notices.
    pub fn damage(&self, url: &str) {
        self.change(|model, _| {
            let Some(process) = model.processes.get(url) else { return };
            let (founding, member) = (process.founding, process.member);
            if let Some(cluster) = model.clusters.get_mut(&founding) {
                cluster.damaged.insert(member, member.0);
            }
        });
    }

    /// Alarms that are raised, as the member at `url` knows.
    pub fn alarms(&self, url: &str) -> Option<Vec<Alarm>> {
        self.change(|model, _| model.alarms(url)).ok()
    }

    /// How big the file of the member at `url` is, and how much of it is in use.
    pub fn resize(&self, url: &str, file: i64, in_use: i64) {
        self.change(|model, _| {
            let Some(process) = model.processes.get(url) else { return };
            let (founding, member) = (process.founding, process.member);
            if let Some(cluster) = model.clusters.get_mut(&founding) {
                cluster.sizes.insert(member, Size { file, in_use });
            }
        });
    }

    /// A client's write through the member at `url`, now or never: the revision that was acknowledged.
    pub fn put(&self, url: &str) -> Result<i64, EtcdError> {
        self.change(|model, _| model.put(url)).map_err(|no| match no {
            No::Refused(refusal) => EtcdError::Refused(refusal),
            No::Later => EtcdError::Deadline(std::time::Duration::ZERO),
            No::Failed(error) => error,
        })
    }

    /// Every cluster that was ever founded, in that order. One ID may be there twice: that is what must never happen.
    pub fn foundings(&self) -> Vec<ClusterId> {
        self.state().model.clusters.values().map(|cluster| cluster.id).collect()
    }

    /// What the member at `url` knows of its cluster.
    pub fn members(&self, url: &str) -> Option<Membership> {
        self.change(|model, _| model.members(url, etcd_api::Consistency::Serializable)).ok()
    }

    /// The client URL of the leader of the member at `url`.
    pub fn leader(&self, url: &str) -> Option<String> {
        self.change(|model, _| {
            let process = model.processes.get(url)?;
            model.leader_of(process).map(|leader| leader.url().to_owned())
        })
    }

    /// Each cluster that was ever founded: who is in it, as what.
    pub fn summary(&self) -> Vec<String> {
        let state = self.state();
        let member = |member: &etcd_api::Member| format!("{} {:?}", member.name, member.role);
        let clusters = state.model.clusters.values();
        clusters
            .map(|cluster| cluster.members.values().map(member).collect::<BTreeSet<_>>())
            .map(|members| members.into_iter().collect::<Vec<_>>().join(", "))
            .collect()
    }

    /// The client URLs of all processes that run.
    pub fn running(&self) -> Vec<String> {
        self.state().model.processes.keys().cloned().collect()
    }
}

/// Looks at the model when its time has come; the kubelet looks at the pods when that changed something for them.
async fn pass_time(etcd: Etcd, volumes: Volumes) {
    let mut changes = etcd.changes();
    let world = etcd.state().since;
    for looks in 0_u64.. {
        changes.mark_unchanged();
        let wake = etcd.change(|model, _| model.wake());
        changes.mark_unchanged();
        let pods_moved = {
            let mut state = etcd.state();
            if state.since != world {
                return;
            }
            std::mem::take(&mut state.model.pods_moved)
        };
        if pods_moved {
            volumes.change("", "etcd", |seen| seen.insert("looks".to_owned(), looks.to_string()));
        }
        match wake {
            Some(wake) => drop(tokio::time::timeout_at(wake, changes.changed()).await),
            None => drop(changes.changed().await),
        }
    }
}

#[cfg(test)]
mod tests;
