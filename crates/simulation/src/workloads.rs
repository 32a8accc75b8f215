//! What kube-controller-manager, the scheduler and a kubelet do about workloads: on `apiserver`, in virtual time.
//!
//! ```text
//! store ──log──> Picture ──┬─> controllers (pure) ──> Turn: actions, and when to look again ──> store
//!                          └─> Kubelet ──asks──> Behaviour (what a pod's processes do) <──> Volumes
//! ```
//!
//! Invariants: all names follow from what is in the store, never from chance, so that two runs of one story can be compared;
//! when nothing is left to do, nothing is written.
//!
//! Left out: ReplicaSets (a Deployment owns its Pods), nodes (there is one, and it has room), PersistentVolumes (a claim is bound to
//! a volume that only [`Volumes`] knows), failing init containers, paused rollouts, indexed Jobs, claims that go when a
//! StatefulSet shrinks, Events.

mod act;
mod claim;
mod cron_job;
mod deployment;
mod job;
mod kubelet;
mod picture;
mod pods;
mod schedule;
mod stateful_set;
mod turn;
mod volumes;

use std::{sync::Arc, time::Duration};

use apiserver::Server;
use jiff::Timestamp;

use kubelet::Kubelet;
pub use kubelet::{Behaviour, Outcome};
use picture::Picture;
pub(crate) use pods::fnv;
use turn::Turn;
pub(crate) use volumes::claims;
pub use volumes::{Content, Volumes};

/// In the order in which they look: what is written by one is seen by all in the next turn.
const CONTROLLERS: &[fn(&Picture, &mut Turn)] =
    &[claim::decide, cron_job::decide, job::decide, deployment::decide, stateful_set::decide];

/// Runs the controllers and the kubelet for `server` until the runtime ends. They are neither recorded nor broken.
///
/// Called in a scenario's `prepare`, which each run calls anew; `volumes` may be shared with its steps and is emptied.
pub fn start(server: &Server, behaviour: impl Behaviour, volumes: &Volumes) {
    volumes.clear();
    let kubelet = Kubelet::new(Arc::new(behaviour), volumes.clone());
    tokio::spawn(run(server.clone(), kubelet, volumes.clone()));
}

async fn run(server: Server, mut kubelet: Kubelet, volumes: Volumes) {
    let client = server.controller_client();
    let (mut revisions, mut contents) = (server.store().subscribe(), volumes.subscribe());
    let mut picture = Picture::of(server.store());
    loop {
        let mut turn = Turn::at(server.now());
        for decide in CONTROLLERS {
            decide(&picture, &mut turn);
        }
        kubelet.decide(&picture, &mut turn);
        let wake = turn.wake();
        for action in turn.into_actions() {
            act::carry_out(&client, action).await;
        }
        // What concerns nobody here is slept through.
        while !picture.catch_up(&volumes) && !contents.has_changed() {
            tokio::select! {
                biased;
                changed = revisions.changed() => if changed.is_err() { return },
                _ = contents.changed() => break,
                () = sleep_until(wake, server.now()) => break,
            }
        }
        contents.mark_unchanged();
    }
}

async fn sleep_until(wake: Option<Timestamp>, now: Timestamp) {
    match wake {
        Some(wake) => {
            tokio::time::sleep(Duration::try_from(wake.duration_since(now)).unwrap_or_default()).await;
        }
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
