//! What was measured, as tables for people, and whether the targets are met.

use std::fmt::{self, Write as _};

use crate::runs::{Cost, Memory, Subject, Throughput};

/// All that was measured.
#[derive(Debug)]
pub struct Report {
    pub objects: usize,
    pub events: usize,
    /// The size of a pod's JSON: whole, and its metadata alone.
    pub sizes: (usize, usize),
    pub memory: Vec<(Subject, Memory)>,
    /// CPU time of the server and the harness alone; it is part of all others.
    pub harness: Cost,
    pub cost: Vec<(Subject, Cost)>,
    pub queues: Throughput,
}

/// How much of the peer's use is ours at the most.
struct Target {
    what: &'static str,
    measured: f64,
    at_most: f64,
}

impl Report {
    /// Whether every target is met.
    pub fn passes(&self) -> bool {
        self.targets().iter().all(Target::is_met)
    }

    fn targets(&self) -> [Target; 2] {
        [
            Target {
                what: "memory: kit Slim<Pod> against kube_runtime Pod",
                measured: ratio(self.resident(Subject::KitSlim), self.resident(Subject::PeerPod)),
                at_most: 1.0 / 5.0,
            },
            Target {
                what: "CPU per event: kit Slim<Pod> against kube_runtime Pod",
                measured: ratio(self.per_event(Subject::KitSlim), self.per_event(Subject::PeerPod)),
                at_most: 1.0 / 2.0,
            },
        ]
    }

    fn resident(&self, subject: Subject) -> f64 {
        find(&self.memory, subject).map_or(f64::NAN, |memory| memory.resident as f64)
    }

    fn per_event(&self, subject: Subject) -> f64 {
        find(&self.cost, subject).map_or(f64::NAN, |cost| cost.per_event as f64)
    }
}

fn find<T: Copy>(measured: &[(Subject, T)], subject: Subject) -> Option<T> {
    measured.iter().find_map(|(other, value)| (*other == subject).then_some(*value))
}

/// Nothing measured is no good measurement: it is not a number, and that meets no target.
fn ratio(ours: f64, theirs: f64) -> f64 {
    if theirs > 0.0 { ours / theirs } else { f64::NAN }
}

impl Target {
    fn is_met(&self) -> bool {
        self.measured <= self.at_most
    }
}
