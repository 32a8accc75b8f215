//! Operators on a breakable API server, in virtual time.
//!
//! ```text
//! Scenario (what the user does) ──> World (server + operator, one fault) ──> Run (what became of it)
//!                                        ▲                                       │
//!                       Campaign: every fault there is ◄── compared with the run without faults
//! ```
//!
//! A [`Scenario`] is a world to start from, an operator, and the steps of a user. A [`Run`] of it meets at most one [`Injected`]
//! fault. A [`Campaign`] runs it with every fault of a kind, at every place, and demands each time what the run without faults
//! ended in: the same objects with the same content, none of them created or deleted more often, and then silence.
//!
//! [`workloads`] runs Pods, Deployments, StatefulSets, Jobs, CronJobs and claims on the server, so that operators see theirs
//! come up, fail and end.
//!
//! [`etcd`] makes those pods that run etcd into members of clusters, which operators reach through `etcd-api`'s traits.
//!
//! The operator is any future over a [`Connection`](apiserver::Connection); this crate does not know the kit.

mod campaign;
pub mod etcd;
mod fault;
mod record;
mod rights;
mod scenario;
pub mod workloads;
mod world;

pub use campaign::{Campaign, Extent, Finding};
pub use fault::{AtCall, Injected, NoSuchFault};
pub use record::{Count, Record};
pub use rights::asked;
pub use scenario::{Operator, Scenario, Step};
pub use world::{OPERATOR, Run, pass, run};
